# The catalogue in Rust and the functions in R are one thing: names cannot drift.

table <- as.data.frame(.Call(anvil:::wrap__anvil_ops_table))
exports <- getNamespaceExports("anvil")

# Functions that are no ops: they make values, or are made of ops, or write files. Anything else called nv_*
# needs a row.
creators <- c(
  "nv_tensor", "nv_scalar", "nv_matrix", "nv_empty", "nv_seq", "nv_abstract", "nv_rng_state", "nv_eye",
  "nv_linspace", "nv_tensor_like", "nv_scalar_like", "nv_fill_like", "nv_empty_like", "nv_iota_like",
  "nv_seq_like", "nv_eye_like", "nv_from_raw"
)
compositions <- c(
  "nv_eigvalsh", "nv_solve", "nv_inv", "nv_det", "nv_slogdet", "nv_lstsq", "nv_pinv", "nv_matrix_rank",
  "nv_cond", "nv_norm", "nv_matrix_power", "nv_expm",
  "nv_diff", "nv_associative_scan", "nv_reduce",
  "nv_segment_sum", "nv_segment_mean", "nv_segment_max", "nv_segment_min",
  "nv_flatten", "nv_mean", "nv_var", "nv_matmul", "nv_promote_to_common", "nv_broadcast_scalars",
  "nv_broadcast_tensors", "nv_broadcast_to", "nv_squeeze", "nv_unsqueeze", "nv_stack", "nv_split", "nv_tile",
  "nv_repeat", "nv_roll", "nv_meshgrid", "nv_diag", "nv_extract_diag", "nv_trace", "nv_tril", "nv_triu",
  "nv_outer", "nv_kronecker", "nv_einsum", "nv_tensordot", "nv_take", "nv_put", "nv_one_hot", "nv_sd",
  "nv_weighted_mean", "nv_moment", "nv_skewness", "nv_kurtosis", "nv_cov", "nv_cor", "nv_scale",
  "nv_normalize", "nv_logsumexp", "nv_softmax", "nv_log_softmax",
  "nv_split_state", "nv_runif", "nv_rnorm", "nv_rbinom", "nv_sample_int",
  "nv_logit", "nv_log1mexp",
  "nv_subset", "nv_subset_assign", "nv_select", "nv_for", "nv_switch", "nv_map",
  "nv_rank_of", "nv_argmax", "nv_argmin", "nv_which", "nv_unique", "nv_isin", "nv_search_sorted", "nv_tabulate",
  "nv_histogram", "nv_quantile", "nv_median"
)
files <- c(
  "nv_write_stablehlo", "nv_write_npy", "nv_read_npy", "nv_write_npz", "nv_read_npz", "nv_save", "nv_load",
  "nv_serialize", "nv_unserialize"
)

test_that("the table has a row for each op of the catalogue, and no name twice", {
  expect_gt(nrow(table), 70)
  expect_false(anyDuplicated(table$name) > 0)
  expect_false(any(table$fun == "" | table$accepts == ""))
  expect_setequal(
    unique(table$accepts),
    c("any dtype", "booleans", "floats", "integers", "integers and floats", "booleans and integers",
      "any dtype but complex", "integers, floats and complex numbers", "floats and complex numbers",
      "signed integers, floats and complex numbers", "signed integers and floats")
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

test_that("every exported nv_* is the function of a row, a creator, a composition or one for files", {
  functions <- grep("^nv_", exports, value = TRUE)
  # It makes functions, as gradient() does.
  rows <- setdiff(table$fun, c("custom_gradient", "custom_jvp"))
  expect_setequal(functions, c(rows, creators, compositions, files))
  # The lists hold no row's function.
  expect_length(intersect(c(creators, compositions, files), table$fun), 0L)
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
    "floats" = real_dtypes, "floats and complex numbers" = dtypes
  )
  for (i in which(table$generated)) {
    row <- table[i, ]
    op <- getExportedValue("anvil", row$fun)
    count <- length(strsplit(row$operands, ", ", fixed = TRUE)[[1L]])
    accepted <- classes[[row$accepts]]
    for (dtype in dtypes) {
      x <- rep(list(nv_fill(1L, 2L, dtype)), count)
      if (dtype %in% accepted) {
        expect_error(do.call(op, x), NA, label = paste(row$fun, "on", dtype))
      } else {
        e <- expect_error(do.call(op, x), class = "anvil_error_dtype", label = paste(row$fun, "on", dtype))
        expect_identical(e[c("op", "got", "accepts")], list(op = row$fun, got = dtype, accepts = row$accepts))
      }
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
