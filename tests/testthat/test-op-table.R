# The catalogue in Rust and the functions in R are one thing: names cannot drift.

table <- ops_table()
exports <- getNamespaceExports("anvil")

# All exported functions, with a call of each that computes; see helper-catalogue.R.
catalogue <- read_catalogue("functions.tsv")
calls <- as.list(catalogue$call[nzchar(catalogue$call)])
names(calls) <- catalogue$"function"[nzchar(catalogue$call)]

test_that("the table has a row for each op of the catalogue, and no name twice", {
  expect_gt(nrow(table), 70)
  expect_false(anyDuplicated(table$name) > 0)
  expect_false(any(table$fun == "" | table$accepts == ""))
  expect_setequal(
    unique(table$accepts),
    c("any dtype", "booleans", "floats", "integers", "integers and floats", "booleans and integers",
      "any dtype but complex", "integers, floats and complex numbers", "floats and complex numbers",
      "signed integers, floats and complex numbers", "signed integers and floats", "complex numbers")
  )
})

test_that("each row's function is exported and takes the row's operands first", {
  for (i in seq_len(nrow(table))) {
    row <- table[i, ]
    expect_true(row$fun %in% exports, label = paste(row$fun, "is exported"))
    operands <- if (row$operands == "") character() else strsplit(row$operands, ", ", fixed = TRUE)[[1L]]
    formals <- names(formals(getExportedValue("anvil", row$fun)))
    # The function that nv_scan() repeats comes first, as in Reduce().
    if (row$fun == "nv_scan") formals <- setdiff(formals, "f")
    expect_identical(head(formals, length(operands)), operands, label = paste("operands of", row$fun))
    # The function of an elementwise op has no others.
    if (row$generated) expect_identical(formals, operands, label = paste("formals of", row$fun))
  }
})

test_that("an op's function is called after it; the exceptions are these", {
  # Special functions whose function in R has a tail, a branch or a scale for its arguments.
  special <- grepl("gammainc|betainc|bessel|lambert", table$name)
  expect_setequal(
    unique(table$fun[special]),
    c("nv_gammainc", "nv_gammaincinv", "nv_betainc", "nv_betaincinv", "nv_lambertw", "nv_bessel_i",
      "nv_bessel_j", "nv_bessel_k", "nv_bessel_y")
  )
  other <- table$fun != paste0("nv_", table$name) & !special
  expect_identical(
    paste(table$name[other], "->", table$fun[other]),
    c(
      "round_nearest_even -> nv_round", "round_nearest_afz -> nv_round", "magnitude -> nv_abs",
      "select -> nv_ifelse",
      "custom_gradient -> custom_gradient", "custom_jvp -> custom_jvp"
    )
  )
})

test_that("each row's generic dispatches to the row's op", {
  rows <- table[table$generic != "", ]
  expect_gt(nrow(rows), 40)
  for (i in seq_len(nrow(rows))) {
    row <- rows[i, ]
    op <- getExportedValue("anvil", row$fun)
    generic <- get(row$generic, baseenv())
    count <- length(strsplit(row$operands, ", ", fixed = TRUE)[[1L]])
    complex <- row$name %in% c("real", "imag", "arg", "magnitude", "conj")
    x <- if (complex) list(nv_tensor(c(3+4i, -1i))) else switch(row$accepts,
      "booleans and integers" = list(nv_tensor(c(TRUE, FALSE, TRUE)), nv_tensor(c(TRUE, TRUE, FALSE))),
      list(nv_tensor(c(1, 1.5, 3), dtype = "f64"), nv_tensor(c(2, 0.5, 4), dtype = "f64"))
    )[seq_len(count)]
    expect_identical(do.call(generic, x), do.call(op, x), label = paste0("`", row$generic, "` on tensors"))
    graph <- function(f) graph_text(do.call(trace_fn, c(f, x)))
    expect_identical(graph(generic), graph(op), label = paste0("`", row$generic, "` on tracers"))
    expect_match(graph(op), paste0(" = ", row$name, "("), fixed = TRUE)
  }
})

test_that("each row accepts the dtypes that it says, and refuses the others with a classed error", {
  classes <- list(
    "any dtype" = dtypes, "any dtype but complex" = real_dtypes, "booleans" = "i1", "integers" = integers,
    "integers and floats" = c(integers, floats), "booleans and integers" = c("i1", integers),
    "signed integers and floats" = c(signed, floats),
    "integers, floats and complex numbers" = c(integers, floats, complexes),
    "signed integers, floats and complex numbers" = c(signed, floats, complexes),
    # These convert booleans and integers first.
    "floats" = real_dtypes, "floats and complex numbers" = dtypes, "complex numbers" = complexes
  )
  # Functions that do more than their row, or less.
  other <- list(
    # Real numbers become complex ones, and those of 16 bits and integers wider ones.
    nv_fft = dtypes, nv_ifft = dtypes, nv_rfft = setdiff(dtypes, complexes),
    nv_irfft = setdiff(dtypes, complexes), nv_reduce_window = dtypes,
    nv_sub = dtypes, nv_negate = dtypes, # booleans count
    nv_sort = dtypes, nv_order = dtypes, # complex numbers by two keys
    nv_lu_solve = c(floats, complexes), # of what nv_lu() gives, which is converted
    nv_reduce_squares = floats # nv_var() converts
  )
  for (fun in setdiff(table$fun[table$fun %in% names(calls)], "nv_rng_bits")) {
    row <- table[table$fun == fun, ]
    accepted <- unique(unlist(classes[row$accepts]))
    if (fun %in% names(other)) accepted <- other[[fun]]
    for (dtype in dtypes) {
      values <- example_values(dtype)
      out <- quietly(example_function(calls[[fun]], values, NULL)())
      if (dtype %in% accepted) {
        expect_false(inherits(out, "error"), label = paste(fun, "on", dtype, "is an error"))
      } else if (length(example_operand(calls[[fun]]))) {
        expect_s3_class(out, "anvil_error_dtype")
        if (row$generated[1L]) {
          says <- list(op = fun, got = dtype, accepts = row$accepts[1L])
          expect_identical(out[names(says)], says)
        }
      } else {
        expect_s3_class(out, "anvil_error_arg")
      }
    }
  }
})

# Functions that are ops or made of ops, on all that the walk above does not say.
operands <- lapply(calls, example_operand)
walked <- names(calls)[lengths(operands) > 0L]

# The kinds of dtypes: f64 for most walks, and for those that take no floats one that they take.
dtype_for <- function(fun) {
  takes <- function(dtype) {
    !inherits(quietly(example_function(calls[[fun]], example_values(dtype), NULL)()), "error")
  }
  Find(takes, c("f64", "i32", "i1", "c128"))
}

test_that("each function gives the same eagerly and in a program, in each kind of dtype", {
  for (fun in names(calls)) {
    # It leaves a number of R's alone, which is a tensor in a program.
    if (fun == "nv_promote_to_common") next
    compared <- 0L
    for (dtype in c("i1", "i32", "bf16", "f32", "f64", "c128")) {
      values <- example_values(dtype)
      f <- example_function(calls[[fun]], values)
      of <- unname(values[operands[[fun]]])
      eager <- quietly(do.call(f, of))
      if (inherits(eager, "error")) next
      expect_identical(quietly(do.call(jit(f), of)), eager, label = paste(fun, "of", dtype, "in a program"))
      compared <- compared + 1L
    }
    expect_gt(compared, 0L, label = paste("dtypes of", fun))
  }
})

test_that("each function takes tensors without elements and 0-d ones, or says what it needs", {
  # Where the call of the table has sizes or indices, one that has none; or the class of the error.
  empty <- c(
    nv_tensor_like = "nv_tensor_like(x, numeric())",
    nv_reduce = "nv_reduce(`+`, x, 0)", nv_weighted_mean = "nv_weighted_mean(x, x)",
    nv_segment_sum = "nv_segment_sum(x, integer(), 2L)",
    nv_segment_mean = "nv_segment_mean(x, integer(), 2L)",
    nv_segment_max = "nv_segment_max(x, integer(), 2L)", nv_segment_min = "nv_segment_min(x, integer(), 2L)",
    nv_top_k = "nv_top_k(x, 0L)", nv_argmax = "anvil_error_arg", nv_argmin = "anvil_error_arg",
    nv_one_hot = "nv_one_hot(nv_tensor(integer()), 4L)", nv_unique = "nv_unique(x, 0L)",
    nv_reshape = "nv_reshape(x, c(2L, 0L))", nv_broadcast_to = "nv_broadcast_to(x, c(2L, 0L))",
    nv_broadcast_in_dim = "nv_broadcast_in_dim(x, c(2L, 0L), 2L)",
    nv_split = "nv_split(x, sizes = c(0L, 0L))",
    nv_pad = "nv_pad(x, 1, 1L, 1L)", nv_subset = "nv_subset(x, integer())",
    nv_subset_assign = "nv_subset_assign(x, integer(), value = x)", nv_select = "anvil_error_index",
    nv_take = "nv_take(x, integer())", nv_put = "nv_put(x, integer(), x)",
    nv_static_slice = "nv_static_slice(x, 1L, 0L)",
    nv_dynamic_slice = "nv_dynamic_slice(x, 1L, slice_sizes = 0L)",
    nv_dynamic_update_slice = "nv_dynamic_update_slice(x, x, 1L)",
    nv_gather = "nv_gather(x, matrix(1L, 2L, 1L), slice_sizes = 0L, offset_axes = 2L,
      collapsed_slice_axes = integer(), start_index_map = 1L, index_vector_axis = 2L)",
    nv_scatter = "nv_scatter(x, matrix(1L, 0L, 1L), x, integer(), 1L, scatter_axes_to_operand_axes = 1L,
      index_vector_axis = 2L)",
    nv_rfft = "anvil_error_shape", nv_irfft = "anvil_error_shape", nv_conv = "anvil_error_shape",
    nv_convolve = "anvil_error_shape",
    nv_callback = "nv_callback(function(x) x, x, result = nv_abstract(dtype(x), 0L))",
    nv_dmvnorm = "anvil_error_shape", nv_ddirichlet = "anvil_error_shape", nv_dmultinom = "anvil_error_shape",
    nv_dcategorical = "anvil_error_shape", nv_dwishart = "anvil_error_shape"
  )
  # Functions of an axis, or of elements next to each other, need one.
  scalar <- c(
    nv_iota_like = "anvil_error_axis", nv_softmax = "anvil_error_axis", nv_log_softmax = "anvil_error_axis",
    nv_normalize = "anvil_error_axis", nv_reduce = "anvil_error_arg", nv_associative_scan = "anvil_error_arg",
    nv_segment_sum = "anvil_error_axis", nv_segment_mean = "anvil_error_axis",
    nv_segment_max = "anvil_error_axis", nv_segment_min = "anvil_error_axis", nv_split = "anvil_error_axis",
    nv_reverse = "nv_reverse(x, integer())", nv_diag = "anvil_error_shape", nv_scan = "anvil_error_arg",
    nv_map = "anvil_error_arg", nv_tensor_like = "nv_tensor_like(x, 1)",
    nv_weighted_mean = "nv_weighted_mean(x, x)", nv_top_k = "nv_top_k(x, 1L)",
    nv_reshape = "nv_reshape(x, c(1L, 1L))",
    nv_broadcast_in_dim = "nv_broadcast_in_dim(x, c(2L, 3L), integer())", nv_tile = "nv_tile(x, integer())",
    nv_pad = "nv_pad(x, 1, integer(), integer())", nv_subset = "nv_subset(x)",
    nv_subset_assign = "nv_subset_assign(x, value = 2)", nv_select = "anvil_error_arg",
    nv_take = "nv_take(x, c(1L, 1L))", nv_put = "nv_put(x, 1L, 2)",
    nv_static_slice = "nv_static_slice(x, integer(), integer())",
    nv_dynamic_slice = "nv_dynamic_slice(x, slice_sizes = integer())",
    nv_dynamic_update_slice = "nv_dynamic_update_slice(x, x)",
    nv_gather = "nv_gather(x, matrix(1L, 2L, 0L), slice_sizes = integer(), offset_axes = integer(),
      collapsed_slice_axes = integer(), start_index_map = integer(), index_vector_axis = 2L)",
    nv_scatter = "nv_scatter(x, matrix(1L, 1L, 0L), nv_reshape(x, 1L), integer(), integer(),
      scatter_axes_to_operand_axes = integer(), index_vector_axis = 2L)",
    nv_fft = "anvil_error_axis", nv_ifft = "anvil_error_axis", nv_rfft = "anvil_error_axis",
    nv_irfft = "anvil_error_axis",
    nv_callback = "nv_callback(function(x) x, x, result = nv_abstract(dtype(x), integer()))",
    nv_dmvnorm = "anvil_error_shape", nv_ddirichlet = "anvil_error_shape", nv_dmultinom = "anvil_error_shape",
    nv_dcategorical = "anvil_error_shape", nv_sample = "anvil_error_arg"
  )
  check <- function(fun, x, other) {
    call <- calls[[fun]]
    if (fun %in% names(other)) call <- other[[fun]]
    refused <- startsWith(call, "anvil_error")
    f <- example_function(if (refused) calls[[fun]] else call, example_values("f64"), operands[[fun]])
    eager <- quietly(f(x))
    label <- paste(fun, "of shape", deparse1(shape(x)))
    if (refused) {
      expect_s3_class(eager, call)
    } else {
      expect_false(inherits(eager, "error"), label = paste(label, message_of(eager)))
      if (fun != "nv_promote_to_common") expect_identical(quietly(jit(f)(x)), eager, label = label)
    }
  }
  message_of <- function(x) if (inherits(x, "condition")) conditionMessage(x) else ""
  for (fun in walked) {
    dtype <- dtype_for(fun)
    zero <- if (operands[[fun]] == "m") c(0L, 0L) else 0L
    check(fun, nv_fill(1L, zero, dtype), empty)
    if (operands[[fun]] == "x") check(fun, nv_fill(1L, integer(), dtype), scalar)
  }
})

test_that("each function has one derivative in both modes, and batches are as one example after the other", {
  # Not derived, each with the reason in the error; and of which mode.
  without <- list(nv_callback = c("forward", "reverse"), custom_gradient = "forward")
  # Results that are floats, one after the other.
  numbers <- function(y) {
    leaves <- Filter(function(v) as.character(dtype(v)) %in% c("f32", "f64"), tree_leaves(y))
    do.call(nv_concatenate, lapply(leaves, function(v) nv_convert(nv_flatten(v), "f64")))
  }
  derived <- character()
  for (fun in walked) {
    dtype <- dtype_for(fun)
    values <- example_values(dtype)
    f <- example_function(calls[[fun]], values)
    x <- values[[operands[[fun]]]]
    types <- vapply(tree_leaves(quietly(eval_shape(f, x))), function(v) as.character(dtype(v)), "")
    if (dtype == "f64" && any(types %in% c("f32", "f64"))) {
      jacobians <- lapply(c(forward = "forward", reverse = "reverse"), function(mode) {
        quietly(jacobian(function(x) numbers(f(x)), mode = mode)(x)[[1L]])
      })
      failed <- names(which(vapply(jacobians, inherits, NA, what = "error")))
      expect_identical(failed, as.character(without[[fun]]), label = paste("modes that fail for", fun))
      for (mode in failed) expect_s3_class(jacobians[[mode]], "anvil_error_grad")
      if (!length(failed)) {
        jacobians <- lapply(jacobians, as_array)
        expect_equal(
          jacobians$forward, jacobians$reverse, tolerance = 1e-10, label = paste("derivative of", fun)
        )
      }
      derived <- c(derived, fun)
    }
    examples <- list(x, nv_reverse(x, seq_len(ndims(x))))
    batched <- quietly(vmap(f)(do.call(nv_stack, examples)))
    expect_false(inherits(batched, "error"), label = paste("the batch of", fun, "is an error"))
    each <- lapply(examples, function(x) tree_leaves(quietly(f(x))))
    for (i in seq_along(each[[1L]])) {
      one <- as_array(nv_stack(each[[1L]][[i]], each[[2L]][[i]]))
      got <- as_array(tree_leaves(batched)[[i]])
      expect_equal(got, one, tolerance = 1e-12, label = paste("the batch of", fun))
    }
  }
  expect_gt(length(derived), 180L)
})

test_that("each row has values of another system, or a test that says what holds instead", {
  values <- test_path("..", "testdata", "xla", "values.csv")
  skip_if_not(file.exists(values), "the package has no values of XLA")
  first <- function(...) {
    sub("-.*", "", utils::read.csv(test_path("..", "testdata", ...), comment.char = "#")[[1L]])
  }
  data <- c(first("xla", "values.csv"), first("special", "functions.csv"))
  # What factors have to satisfy, on matrices that are hard: src/rust/core/tests/factors.rs, matrices.rs.
  identities <- c("chol", "triangular_solve", "lu", "lu_solve", "qr", "eigh", "svd")
  # They show and call, and compute nothing: test-nv-print.R, test-callback.R.
  none <- c("print", "callback")
  expect_setequal(table$name, c(intersect(table$name, data), identities, none))
  expect_length(intersect(data, c(identities, none)), 0L)
})

test_that("the table of rules has each row: lowering, derivatives and batches, or a sentence", {
  rules <- readLines(test_path("..", "testdata", "rules.md"))
  rows <- strsplit(grep("^[|] `", rules, value = TRUE), " *[|] *")
  rows <- do.call(rbind, lapply(rows, `[`, 2:6))
  expect_setequal(rows[, 1L], paste0("`", table$name, "`"))
  holes <- rules[seq(grep("^## Holes", rules), length(rules))]
  for (i in seq_along(table$name)) {
    row <- rows[rows[, 1L] == paste0("`", table$name[i], "`"), ]
    # What has no operands is not batched.
    expect_true(all(nzchar(row[-4L])), label = paste("the rules of", table$name[i], "are all there"))
    for (rule in which(grepl("todo|partly", row))) {
      column <- c("op", "vjp", "jvp", "batch", "StableHLO")[rule]
      why <- grep(paste0("^[*] [*][*]", column, "[*][*] of .*", row[1L], ".*: .{20}"), holes)
      expect_gt(length(why), 0L, label = paste("reasons for the hole in", column, "of", table$name[i]))
    }
  }
})

test_that("every export has a help page with examples", {
  rd <- tools::Rd_db("anvil")
  skip_if(length(rd) == 0L, "the package was installed without help pages")
  parts <- function(page, tag) Filter(function(x) identical(attr(x, "Rd_tag"), tag), page)
  aliases <- lapply(rd, function(page) vapply(parts(page, "\\alias"), function(x) as.character(x[[1L]]), ""))
  examples <- vapply(rd, function(page) length(parts(page, "\\examples")) > 0L, NA)
  values <- vapply(rd, function(page) length(parts(page, "\\value")) > 0L, NA)
  for (name in exports[!grepl("^\\.", exports)]) {
    page <- vapply(aliases, function(a) name %in% a, NA)
    expect_identical(sum(page), 1L, label = paste("help pages of", name))
    expect_true(all(examples[page]), label = paste("the page of", name, "has examples"))
    expect_true(all(values[page]), label = paste("the page of", name, "says what is returned"))
  }
})

test_that("the examples of every help page run", {
  # R CMD check runs them too.
  skip_on_cran()
  pages <- list.files(test_path("..", "..", "man"), "[.]Rd$", full.names = TRUE)
  skip_if(!length(pages), "the installed package has no sources of help pages")
  # Errors that an example shows are in try().
  withr::local_options(show.error.messages = FALSE)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  for (page in pages) {
    file <- withr::local_tempfile()
    suppressWarnings(tools::Rd2ex(page, file))
    if (!file.exists(file)) next
    env <- new.env(parent = globalenv())
    run <- function() suppressWarnings(source(file, local = env, echo = TRUE))
    utils::capture.output(out <- tryCatch(run(), error = identity))
    why <- if (inherits(out, "error")) conditionMessage(out)
    expect_null(why, label = paste("the error in the examples of", basename(page)))
  }
})
