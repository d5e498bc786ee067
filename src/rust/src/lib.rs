//! The R side of anvil: the entry points that R calls. Nothing here computes on elements.
//!
//! | module | what it is |
//! |---|---|
//! | `ffi` | R's C interface, as far as it is used |
//! | `guard` | the boundary: panics, errors, jumps |
//! | `handle` | external pointers, checked before they are read |
//! | `altrep` | R's interface for vectors that hold their elements in another way |
//! | `narrow` | tensors of dtypes that R has no vectors of |
//! | `large` | large results, over memory blocks |
//! | `tracer` | tracers as R sees them |
//! | `value` | tensors and tracers, read and made |
//! | `globals` | R objects that are made once |
//! | `templates` | the attributes of tensors, for new ones |
//! | `vector` | elements of R's vectors; R numbers |
//! | `trace` | open traces and their tracers |
//! | `inner` | inner nodes of nested lists: lists, objects of registered classes |
//! | `tree` | nested lists, flattened and rebuilt |
//! | `program` | a compiled graph, called on R values |
//! | `printing` | printing from running programs |
//! | `callback` | functions of R that running programs call |
//! | `op` | calls of ops, eager or traced |
//! | `axis_names` | names along axes: of vectors, `dimnames` of arrays |
//! | `op_names` | the names of what ops give |
//! | `subset` | `x[...]` and `x[...] <- value` |
//! | `single_subscript` | what to write in place of `x[i]` where `x` has several axes |
//! | `cache` | programs by the signature of their arguments |
//! | `jit` | jitted functions |
//! | `statics` | static arguments as parts of a signature |
//! | `export` | traced functions as StableHLO |
//! | `transform` | derivatives and control flow, from nested traces |
//! | `tensor` | tensors from R data, R data from tensors, their text |
//! | `info` | types, promotion, texts of graphs |
//! | `options` | R's options that are read at every call |
//! | `settings` | the rules of promotion and the default dtypes in force |
//! | `audit` | records of what promotion converted, and where |
//! | `extent` | dynamic extents of R functions: traces, settings, audits |
//! | `path` | paths of values in nested lists, for messages |
//! | `files` | files and links, for functions that write |
//! | `mixer` | the hash of signatures |
//!
//! The hot entry points are plain C functions: extendr's conversion of an argument costs more than a small
//! op. extendr carries the entry points that are called once (the tables), and the registration of all.
//! `entrypoint.c` holds the C side of each.

// An `SEXP` is an opaque pointer; extendr declares its target without a C layout.
#![allow(improper_ctypes, improper_ctypes_definitions)]
// Functions that extendr generates have no docs.
#![allow(missing_docs)]

mod altrep;
mod audit;
mod axis_names;
mod bindings;
mod cache;
mod callback;
mod compact;
mod distances;
mod export;
mod extent;
mod factor;
mod ffi;
mod files;
mod globals;
mod guard;
mod handle;
mod info;
mod inner;
mod jit;
mod large;
mod mixer;
mod narrow;
mod nested;
mod op;
mod op_names;
mod operands;
mod options;
mod path;
mod plan;
mod printing;
mod program;
mod reserve;
mod settings;
mod single_subscript;
mod statics;
mod subscript_value;
mod subset;
mod templates;
mod tensor;
mod tensor_files;
mod threads;
mod trace;
mod tracer;
mod transform;
mod tree;
mod value;
mod vector;
mod written;

use anvil_core::dtype::{promote, DType, Ranked};
use anvil_core::exec::vm::native;
use anvil_core::kernels::math::Level;
use anvil_core::kernels::memory::block_allocator::usage;
use anvil_core::ops;
use anvil_core::COMPILER;
use extendr_api::metadata::{Arg, Func};
use extendr_api::prelude::*;
use ffi::SEXP;
use guard::guard;
use std::ffi::CStr;
use std::os::raw::{c_char, c_int, c_void};

/// Defines the Rust half of an entry point: `name(arguments..., status)`.
macro_rules! entry {
    ($($name:ident ( $($arg:ident),* ) $scope:ident => $body:expr;)+) => {$(
        #[no_mangle]
        extern "C" fn $name($($arg: SEXP,)* status: *mut c_int) -> SEXP {
            guard(status, |$scope| $body)
        }
    )+};
}

entry! {
    rs_op(args) scope => op::call(args, false, scope);
    rs_ops(args) scope => op::call(args, true, scope);
    rs_subset(args) scope => subset::read(args, scope);
    rs_subset_assign(args) scope => subset::assign(args, scope);
    rs_jit_call(args) scope => jit::call(args, scope);
    rs_jit_new(spec) scope => jit::create(spec, scope);
    rs_jit_spec(handle) _scope => jit::spec(handle);
    rs_jit_snapshot(handle, args) scope => jit::snapshot(handle, args, scope);
    rs_jit_find(args) scope => jit::find(args, scope);
    rs_jit_store(handle, args, graph, description, statics, run) scope =>
        jit::store([handle, args, graph, description, statics, run], scope);
    rs_jit_info(handle) scope => jit::info(handle, scope);
    rs_code(x) scope => statics::code(x, scope);
    rs_deeper(depth, arg) scope => info::deeper(depth, arg, scope);
    rs_leaves(x) scope => nested::leaves(x, scope);
    rs_paths(x, root) scope => nested::paths(x, root, scope);
    rs_refill(x, leaves) scope => nested::refill(x, leaves, scope);
    rs_items(x) scope => nested::items(x, scope);
    rs_with_items(x, items) scope => nested::with_items(x, items, scope);
    rs_handles() scope => info::handles(scope);
    rs_trace_open(name, nested) scope => trace::open(name, nested, scope);
    rs_trace_inputs(handle, x) scope => info::trace_inputs(handle, x, scope);
    rs_trace_finish(handle, result) scope => jit::finish(handle, result, scope);
    rs_trace_lift(x, path) scope => info::lift(x, path, scope);
    rs_same(x, y) _scope => trace::same(x, y);
    rs_equal(x, y) _scope => trace::equal(x, y);
    rs_is_own_object(x) _scope => Ok(value::flag(ffi::is_own_object(x)));
    rs_bound(names, env) scope => bindings::bound(names, env, scope);
    rs_trace_depth() scope => info::depth(scope);
    rs_graph_text(graph, optimised) scope => info::graph_text(graph, optimised, scope);
    rs_tensor(data, dtype, shape, ambiguous, order) scope => tensor::create(data, dtype, shape, ambiguous, order, scope);
    rs_tensor_around(data, dtype, shape) scope => tensor::around(data, dtype, shape, scope);
    rs_tensor_data(x) scope => tensor::data(x, scope);
    rs_to_r(x, integer64) scope => tensor::to_r(x, integer64, scope);
    rs_lines(x, limits) scope => tensor::lines(x, limits, scope);
    rs_footer(x, platform) scope => tensor::foot(x, platform, scope);
    rs_summary(x) scope => tensor::one_line(x, scope);
    rs_dtype(x) scope => info::dtype(x, scope);
    rs_shape(x) scope => info::shape(x, scope);
    rs_ambiguous(x) scope => info::ambiguous(x, scope);
    rs_select(parts) scope => info::select(parts, scope);
    rs_selected(x) _scope => info::selected(x);
    rs_dtype_name(x) _scope => info::dtype_name(x);
    rs_common_dtype(lhs, rhs, lhs_ambiguous, rhs_ambiguous, rules) scope =>
        info::common([lhs, rhs, lhs_ambiguous, rhs_ambiguous, rules], scope);
    rs_rules_name(rules) scope => info::rules_name(rules, scope);
    rs_settings_open(settings, frame) _scope => settings::open(settings, frame);
    rs_settings_choose(settings, number, frame) _scope => settings::choose(settings, number, frame);
    rs_settings_forget(number) _scope => Ok(settings::forget(number));
    rs_default_dtypes() scope => info::default_dtypes(scope);
    rs_promotable(from, to, rules) _scope => info::promotable(from, to, rules);
    rs_promotion_path(from, to, rules) scope => info::promotion_path(from, to, rules, scope);
    rs_audit_open() scope => audit::open(scope);
    rs_audit_entries(from) scope => audit::entries(from, scope);
    rs_graph_types(graph) scope => info::graph_types(graph, scope);
    rs_pull_back(graph, leaves, gradients) scope => transform::pull_back(graph, leaves, gradients, scope);
    rs_push_forward(graph, leaves, tangents) scope => transform::push_forward(graph, leaves, tangents, scope);
    rs_linearize(graph, leaves) scope => transform::linearize(graph, leaves, scope);
    rs_inline(graph, leaves) scope => transform::inline(graph, leaves, scope);
    rs_stack(graph, leaves, size, repeated) scope => transform::stack(graph, leaves, size, repeated, scope);
    rs_branch(pred, yes, no) scope => transform::branch(pred, yes, no, scope);
    rs_repeat(cond, body, init, bound) scope => transform::repeat(cond, body, init, bound, scope);
    rs_scan(body, init, xs, options) scope => transform::scan(body, init, xs, options, scope);
    rs_callback(f, arguments, result, vectorized) scope =>
        callback::record([f, arguments, result, vectorized], scope);
    rs_custom(graphs, arguments, targets) scope => transform::custom(graphs, arguments, targets, scope);
    rs_stablehlo(graph, donated, mesh, split, limit) scope => export::stablehlo([graph, donated, mesh, split, limit], scope);
    rs_plan(graph, donated) scope => plan::plan(graph, donated, scope);
    rs_threads() scope => threads::in_force(scope);
    rs_threads_ignored() scope => threads::ignored(scope);
    rs_file_target(path) scope => files::target(path, scope);
    rs_file_like(file, other) _scope => files::like(file, other);
    rs_crc32(x, before) scope => files::crc32(x, before, scope);
    rs_fail(what) _scope => info::fail(what);
    rs_init(s4) _scope => {
        // The text of a panic reaches the user as an R error; nothing is printed beside it.
        std::panic::set_hook(Box::new(|_| {}));
        globals::initialise(info::flag_argument("s4", s4)?)?;
        compact::initialise()?;
        options::initialise()?;
        printing::initialise();
        Ok(ffi::nil())
    };
}

/// The dtypes: name, class of the dtype object, bits.
#[extendr]
fn anvil_dtypes() -> List {
    let all = DType::ALL;
    list!(
        name = all.iter().map(|d| d.name()).collect::<Vec<_>>(),
        class = all.iter().map(|d| d.r_class()).collect::<Vec<_>>(),
        bits = all.iter().map(|d| d.bits() as i32).collect::<Vec<_>>()
    )
}

/// The engine on this machine, for reports: the level of instructions in use and those that there are,
/// whether native code can be run, processors, and bytes of memory: what the process may use, what large
/// results have taken from the system, and what of it they hold; the compiler that built it, and how; whether
/// arguments can be donated.
#[extendr]
fn anvil_engine() -> List {
    let usage = usage();
    let memory = [usage.limit, usage.taken, usage.held].map(|bytes| bytes as f64);
    let processors = std::thread::available_parallelism().map_or(1, |n| n.get() as i32);
    let levels = Level::ALL.iter().filter(|level| level.is_here()).map(|level| level.name());
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    list!(
        simd = Level::current().name(),
        levels = levels.collect::<Vec<_>>(),
        native = native::can_run(),
        processors = processors,
        memory = memory.to_vec(),
        compiler = format!("{COMPILER}, {build} build"),
        // SAFETY: reads a variable.
        donates = unsafe { ffi::anvil_counts_references() } != 0
    )
}

/// The systems of promotion: their names, the default first.
#[extendr]
fn anvil_promotion_rules() -> Vec<&'static str> {
    promote::names().to_vec()
}

/// A system of promotion by its name, which is checked: all ranked types, the promotion of each pair as a
/// matrix by columns (`-` for a refusal), and the diagram: the types that it has, with their kinds, and its
/// edges as 1-based positions among them.
#[extendr]
fn anvil_promotion(name: &str) -> List {
    let rules = promote::by_name(name).expect("R has checked the name");
    let types: Vec<Ranked> = promote::ranked().collect();
    let pairs = types.iter().flat_map(|&rhs| types.iter().map(move |&lhs| (lhs, rhs)));
    let (nodes, edges) = (rules.types(), rules.edges());
    let position = |x: Ranked| nodes.iter().position(|&node| node == x).map_or(0, |i| i as i32 + 1);
    list!(
        types = types.iter().map(Ranked::to_string).collect::<Vec<_>>(),
        joins =
            pairs.map(|(l, r)| rules.join(l, r).map_or("-".into(), |x| x.to_string())).collect::<Vec<_>>(),
        nodes = nodes.iter().map(|&x| rules.label(x)).collect::<Vec<_>>(),
        kinds = nodes.iter().map(|x| x.dtype.kind().name()).collect::<Vec<_>>(),
        ambiguous = nodes.iter().map(|x| x.ambiguous).collect::<Vec<_>>(),
        from = edges.iter().map(|edge| position(edge.0)).collect::<Vec<_>>(),
        to = edges.iter().map(|edge| position(edge.1)).collect::<Vec<_>>()
    )
}

/// The catalogue of ops, column by column.
#[extendr]
fn anvil_ops_table() -> List {
    let rows: Vec<&ops::Row> = ops::rows().collect();
    list!(
        name = rows.iter().map(|r| r.name).collect::<Vec<_>>(),
        fun = rows.iter().map(|r| r.function).collect::<Vec<_>>(),
        operands = rows.iter().map(|r| r.operands.join(", ")).collect::<Vec<_>>(),
        accepts = rows.iter().map(|r| r.accepts.name).collect::<Vec<_>>(),
        generic = rows.iter().map(|r| r.generic.unwrap_or("")).collect::<Vec<_>>(),
        generated = rows.iter().map(|r| r.generated).collect::<Vec<_>>()
    )
}

extendr_module! {
    mod anvil;
    use tensor_files;
    fn anvil_dtypes;
    fn anvil_engine;
    fn anvil_promotion_rules;
    fn anvil_promotion;
    fn anvil_ops_table;
}

/// A row of the table of C entry points in `entrypoint.c`.
#[repr(C)]
struct CallEntry {
    name: *const c_char,
    function: *const c_void,
    arguments: c_int,
}

/// Registers extendr's functions and those of the C table together: R keeps one table of `.Call` routines,
/// and a second registration would replace the first.
///
/// # Safety
/// Called by R when the library is loaded; `table` ends with a row without a name.
#[no_mangle]
unsafe extern "C" fn anvil_register(info: *mut extendr_api::DllInfo, mut table: *const CallEntry) {
    let mut metadata = get_anvil_metadata();
    // Functions that extendr adds to generate R code are left out: nothing calls them, and with bad arguments
    // they abort.
    metadata.functions.retain(|f| f.r_name.starts_with("anvil_"));
    // SAFETY: by the caller; names are string literals of C.
    unsafe {
        while !(*table).name.is_null() {
            let name: &'static str = CStr::from_ptr((*table).name).to_str().expect("C names are ASCII");
            let argument = || Arg { name: "x", arg_type: "Robj", default: None };
            metadata.functions.push(Func {
                doc: "",
                rust_name: name,
                r_name: name,
                c_name: name,
                mod_name: "anvil",
                args: (0..(*table).arguments).map(|_| argument()).collect(),
                return_type: "Robj",
                func_ptr: (*table).function.cast(),
                hidden: true,
                invisible: None,
            });
            table = table.add(1);
        }
        extendr_api::register_call_methods(info, metadata);
        large::initialise();
        narrow::initialise();
        tracer::initialise();
    }
}
