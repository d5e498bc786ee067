#' anvil: tensors with predictable dtypes, tracing and jit
#'
#' Write an ordinary R function over tensors; [jit()] runs it once on tracers, which records a graph, and an
#' engine in Rust simplifies and runs that graph whenever the function is called again with arguments of the
#' same types.
#'
#' * Values: [nv_tensor()], [nv_scalar()], [nv_fill()], [nv_iota()]; [as_array()] goes back to R.
#' * Types: [dtype()], [shape()], [ambiguous()], [common_dtype()], [promotion_rules()].
#' * Functions: [jit()], [jit_eval()], [compile_for()], [trace_fn()], [eval_shape()], [cache_info()],
#'   [explain_cache()], [memory_plan()], [num_threads()].
#' * Nested lists: [tree_map()] and its like, [register_tree_class()] for objects.
#' * Other machines: [stablehlo()], [nv_write_stablehlo()], [nv_save()], [nv_load()], [nv_write_npy()],
#'   [nv_read_npy()].
#'
#' @section Errors: Every error is a condition of class `anvil_error` with a more specific class before it and
#' fields that hold what was expected and what was given:
#'
#' | class | when |
#' |---|---|
#' | `anvil_error_arg` | an argument is not what the function takes |
#' | `anvil_error_value` | data that a dtype cannot hold: missing, out of range |
#' | `anvil_error_dtype` | an unknown dtype, or one that an op does not take |
#' | `anvil_error_promotion` | types that the promotion rules do not combine |
#' | `anvil_error_shape` | shapes or numbers of elements that do not fit, sizes that cannot be addressed |
#' | `anvil_error_axis` | an axis that is out of range or given twice |
#' | `anvil_error_index` | an index out of bounds, in a running program too; too many or too few subscripts |
#' | `anvil_error_structure` | a loop's body, branch, rule or object that has another structure or type |
#' | `anvil_error_concrete` | a traced value where R needs a number, as in `if (x > 0)` |
#' | `anvil_error_leaked_tracer` | a tracer that is used after its trace |
#' | `anvil_error_donated` | a tensor whose memory was given away |
#' | `anvil_error_callback` | a function called by a running program that gives another type than was said |
#' | `anvil_error_static` | a static argument that cannot be part of a cache key |
#' | `anvil_error_grad` | a derivative that does not exist or is not implemented |
#' | `anvil_error_batch` | sizes of a batch that differ, or an op that cannot be batched |
#' | `anvil_error_unsupported` | a base R function without a counterpart for tensors |
#' | `anvil_error_export` | a program that cannot be exported, such as one that prints |
#' | `anvil_error_file` | a file that cannot be read or written |
#' | `anvil_error_memory` | memory for a result or temporary value cannot be allocated |
#' | `anvil_error_internal` | a bug in anvil: please report it |
#'
#' @section Options: `anvil.print_max_rows` (30), `anvil.print_max_width` (85 characters),
#' `anvil.print_max_rows_slice` (as `anvil.print_max_rows`): limits of printed tensors; -1 means no limit.
#' `anvil.threads` (all processors that the process may use): see [num_threads()]. `anvil.promotion_rules`
#' (anvil's own): see [with_promotion_rules()]. `anvil.default_float` (`"f32"`) and `anvil.default_int`
#' (`"i32"`): see [default_dtypes()]. `anvil.rewrite` (`TRUE`): whether formulas in programs become more
#' accurate functions, see [jit()]. `anvil.progress` (in interactive sessions): whether bars are shown, see
#' [anvil_progress()]. `vignette("installation", "anvil")` has them with the variables of the environment.
#'
#' @keywords internal
#' @useDynLib anvil, .registration = TRUE
#' @importFrom methods isClass isVirtualClass setClass setMethod setOldClass show
"_PACKAGE"

# Before the first method is set: files are read in alphabetical order.
setOldClass(c("AnvilTensor", "AnvilValue"))
setOldClass(c("AnvilTracer", "AnvilValue"))
setOldClass(c("AnvilSelection", "AnvilValue"))
setOldClass(c("JitFunction", "function"))
