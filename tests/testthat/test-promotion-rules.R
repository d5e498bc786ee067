all_rules <- c("anvil", "jax", "jax_lax", "numpy", "torch", "tensorflow", "array_api", "strict")
all_dtypes <- rownames(promotion_table())

# The type of a common dtype: "-" if the rules refuse the pair.
joined <- function(lhs, rhs, rules) {
  # Scalars have our default widths.
  parse <- function(x) switch(x, `i?` = "i32?", `f?` = "f32?", `c?` = "c64?", x)
  lhs <- parse(lhs)
  rhs <- parse(rhs)
  name <- function(x) sub("?", "", x, fixed = TRUE)
  tryCatch({
    common <- common_dtype(name(lhs), name(rhs), endsWith(lhs, "?"), endsWith(rhs, "?"), rules)
    paste0(as.character(common$dtype), if (common$ambiguous) "?")
  }, anvil_error_promotion = function(e) "-")
}

# A published table with scalars at their default widths.
read_rules <- function(file) {
  table <- read_promotion(file)
  table[] <- vapply(table, function(x) switch(x, `i?` = "i32?", `f?` = "f32?", `c?` = "c64?", x), "")
  table
}

# ---- the rules ----

test_that("there are eight rules, and anvil's come first", {
  expect_identical(promotion_rules(), all_rules)
  expect_identical(all_dtypes, rownames(read_promotion("anvil-known-extended")))
  expect_identical(formals(common_dtype)$rules, NULL)
  expect_identical(common_dtype("i8", "ui8"), common_dtype("i8", "ui8", rules = "anvil"))
})

test_that("every published cell holds", {
  files <- c(
    jax = "jax", jax_lax = "jax-lax", numpy = "numpy", torch = "torch", tensorflow = "tensorflow",
    array_api = "array-api"
  )
  for (rules in names(files)) {
    table <- read_rules(files[[rules]])
    got <- table
    for (lhs in rownames(table)) for (rhs in colnames(table)) got[lhs, rhs] <- joined(lhs, rhs, rules)
    expect_identical(got, table, label = rules)
    # As a table, too, where all operands have a width.
    shown <- intersect(rownames(table), all_dtypes)
    expect_identical(promotion_table(rules)[shown, shown], table[shown, shown], label = rules)
  }
  known <- read_promotion("anvil-known-extended")
  expect_identical(promotion_table()[all_dtypes, all_dtypes], known)
  small <- read_promotion("anvil-known")
  expect_identical(promotion_table()[rownames(small), colnames(small)], small)
  row <- promotion_table(ambiguous = "row")
  expect_identical(rownames(row), paste0(all_dtypes, "?"))
  expect_identical(unname(row[, all_dtypes]), unname(read_promotion("anvil-ambiguous-extended")))
  small <- read_promotion("anvil-ambiguous")
  expect_identical(
    unname(sub("?", "", row[paste0(rownames(small), "?"), colnames(small)], fixed = TRUE)), unname(small)
  )
  both <- promotion_table(ambiguous = "both")
  expect_identical(unname(both[, paste0(all_dtypes, "?")]), unname(matrix(paste0(known, "?"), 15)))
})

test_that("a table and common_dtype() say the same", {
  for (rules in all_rules) {
    for (ambiguous in c("none", "row", "both")) {
      table <- promotion_table(rules, ambiguous)
      got <- outer(rownames(table), colnames(table), Vectorize(function(lhs, rhs) joined(lhs, rhs, rules)))
      expect_identical(c(got), c(table[, ]), label = paste(rules, ambiguous))
    }
  }
})

test_that("strict rules take scalars where they are safe, and nothing else", {
  table <- promotion_table("strict")[, ]
  expect_identical(unname(diag(table)), all_dtypes)
  expect_true(all(table[row(table) != col(table)] == "-"))
  scalars <- promotion_table("strict", "row")[c("i1?", "i32?", "f32?", "c64?"), ]
  takes <- function(scalar) colnames(scalars)[scalars[scalar, ] != "-"]
  expect_identical(takes("i1?"), "i1")
  expect_identical(takes("i32?"), setdiff(all_dtypes, "i1"))
  expect_identical(takes("f32?"), c("bf16", "f16", "f32", "f64", "c64", "c128"))
  expect_identical(takes("c64?"), c("c64", "c128"))
  both <- promotion_table(
    "strict", "both"
  )[c("i1?", "i32?", "f32?", "c64?"), c("i1?", "i32?", "f32?", "c64?")]
  expect_identical(unname(both), rbind(
    c("i1", "-", "-", "-"), c("-", "i32?", "f32?", "c64?"), c("-", "f32?", "f32?", "c64?"),
    c("-", "c64?", "c64?", "c64?")
  ))
})

test_that("only TensorFlow cares about the order of operands", {
  for (rules in setdiff(all_rules, "tensorflow")) {
    for (ambiguous in c("none", "both")) {
      table <- unname(promotion_table(rules, ambiguous)[, ])
      expect_true(isSymmetric(table), label = paste(rules, ambiguous))
    }
  }
  expect_identical(joined("i8", "i?", "tensorflow"), "i8")
  expect_identical(joined("i?", "i8", "tensorflow"), "-")
})

# ---- refusals and bad arguments ----

test_that("a refusal names the types, the rules, and what to do", {
  error <- expect_fields(
    common_dtype("i32", "f32", rules = "strict"), "anvil_error_promotion", lhs = "i32", rhs = "f32",
    rules = "strict"
  )
  expect_identical(conditionMessage(error), paste0(
    "No implicit promotion of i32 and f32 under the rules \"strict\".\n",
    "i Convert the i32 operand with `nv_convert(x, \"f32\")`, or choose other rules, see `promotion_rules()`."
  ))
  error <- expect_fields(
    common_dtype("ui16", "ui16", rules = "torch"), "anvil_error_promotion", lhs = "ui16", rhs = "ui16",
    rules = "torch"
  )
  expect_identical(conditionMessage(error), paste0(
    "No implicit promotion of ui16 and ui16 under the rules \"torch\".\n",
    "x They do not have ui16.\n",
    "i Convert both operands with `nv_convert(x, \"i32\")`, or choose other rules, see `promotion_rules()`."
  ))
  expect_fields(
    common_dtype("i8", "f64", TRUE, TRUE, "jax_lax"), "anvil_error_promotion", lhs = "i8?", rhs = "f64?",
    rules = "jax_lax"
  )
  error <- expect_error(common_dtype("c64", "c64", rules = "array_api"), class = "anvil_error_promotion")
  expect_match(
    conditionMessage(error), "x They do not have c64.\ni They have no dtype that holds both; choose other",
    fixed = TRUE
  )
  call <- user(function() anvil::common_dtype("i32", "f32", rules = "strict"))
  expect_match(call_of(call()), "common_dtype(\"i32\", \"f32\", rules = \"strict\")", fixed = TRUE)
})

test_that("what a refusal advises is accepted", {
  for (rules in setdiff(all_rules, c("anvil", "jax", "array_api"))) {
    for (lhs in all_dtypes) {
      for (rhs in all_dtypes) {
        error <- condition_of(common_dtype(lhs, rhs, rules = rules))
        if (!inherits(error, "error")) next
        message <- conditionMessage(error)
        to <- sub(".*nv_convert\\(x, \"([a-z0-9]+)\"\\).*", "\\1", message)
        which <- sub(".*Convert (the )?([a-z0-9]+) operand.*", "\\2", message)
        if (which %in% c("both", lhs)) left <- to else left <- lhs
        if (which %in% c("both", rhs)) right <- to else right <- rhs
        expect_identical(joined(left, right, rules), to, label = paste(rules, lhs, rhs))
      }
    }
  }
})

test_that("rules are given by one name", {
  expect_fields(common_dtype("i8", "i8", rules = "R"), "anvil_error_arg", arg = "rules", got = "\"R\"")
  expect_match(
    conditionMessage(condition_of(promotion_table("R"))), "The rules are anvil, jax, jax_lax,", fixed = TRUE
  )
  for (bad in list(
    "", "ANVIL", NA_character_, 1, TRUE, character(), all_rules, list("jax"), factor("jax"), mean
  )) {
    expect_fields(common_dtype("i8", "i8", rules = bad), "anvil_error_arg", arg = "rules")
    expect_fields(promotion_table(bad), "anvil_error_arg", arg = "rules")
    expect_fields(compare_promotion(bad, "jax"), "anvil_error_arg", arg = "rules")
    expect_fields(compare_promotion("jax", bad), "anvil_error_arg", arg = "rules")
    expect_fields(is_promotable("i8", "i16", bad), "anvil_error_arg", arg = "rules")
    expect_fields(promotion_path("i8", "i16", bad), "anvil_error_arg", arg = "rules")
  }
  for (bad in list(NA, 1, "TRUE", NULL, c(TRUE, FALSE))) {
    expect_fields(common_dtype("f32", "f32", bad, rules = "jax"), "anvil_error_arg", arg = "lhs_ambiguous")
    expect_fields(common_dtype("f32", "f32", FALSE, bad, "jax"), "anvil_error_arg", arg = "rhs_ambiguous")
  }
  # What there is in no rules at all is an unknown dtype first.
  expect_error(common_dtype("f8", "f32", rules = "strict"), class = "anvil_error_dtype")
  expect_identical(promotion_table(NULL), promotion_table("anvil"))
})

test_that("choices are checked", {
  for (bad in list("rows", NA, 1, NULL, c("none", "row"))) {
    expect_fields(promotion_table("jax", bad), "anvil_error_arg", arg = "ambiguous")
    expect_fields(format(promotion_table(), bad), "anvil_error_arg", arg = "style")
  }
})

# ---- two types ----

test_that("is_promotable() tells whether a type holds another", {
  expect_true(is_promotable("i32", "f16"))
  expect_false(is_promotable("f16", "i32"))
  expect_false(is_promotable("i32", "f16", "numpy"))
  expect_true(is_promotable("i32", "f64", "numpy"))
  expect_true(is_promotable("f64?", "bf16"))
  expect_false(is_promotable("bf16", "f64?"))
  expect_true(is_promotable("f64?", "f?", "jax"))
  expect_true(is_promotable(as_dtype("i8"), as_dtype("i8")))
  expect_false(is_promotable("ui16", "ui16", "torch"))
  # On one side only is not enough.
  expect_false(is_promotable("i?", "i8", "tensorflow"))
  # In a lattice it is an order: reflexive, antisymmetric, transitive.
  types <- c(all_dtypes, paste0(all_dtypes, "?"))
  below <- outer(types, types, Vectorize(is_promotable))
  expect_true(all(diag(below)))
  expect_false(any(below & t(below) & row(below) != col(below)))
  expect_identical((below %*% below) > 0, below)
  expect_error(is_promotable("f8", "f32"), class = "anvil_error_dtype")
  expect_error(is_promotable("f32", "f8?"), class = "anvil_error_dtype")
  expect_fields(is_promotable(1, "f32"), "anvil_error_arg", arg = "from")
  expect_fields(is_promotable("f32", NULL), "anvil_error_arg", arg = "to")
})

test_that("promotion_path() climbs a lattice step by step", {
  expect_identical(promotion_path("i32", "i32"), "i32")
  expect_identical(promotion_path("i16", "i64"), c("i16", "i32", "i64"))
  expect_identical(promotion_path("ui32", "f16?"), c("ui32", "ui64", "i64", "f16?"))
  expect_identical(promotion_path("i32", "f32", "jax"), c("i32", "i64", "f?", "bf16", "f32"))
  expect_identical(promotion_path("i8?", "c64", "strict"), c("i?", "f?", "c?", "c64"))
  expect_identical(promotion_path("f32", "i8"), character())
  expect_identical(promotion_path("i8", "i16", "strict"), character())
  for (rules in c("anvil", "jax", "strict")) {
    for (from in c("i1", "ui8", "i64?", "f16")) {
      for (to in c("i1", "i16", "f?", "c128")) {
        path <- promotion_path(from, to, rules)
        expect_identical(length(path) > 0L, is_promotable(from, to, rules), label = paste(rules, from, to))
        steps <- vapply(seq_along(path)[-1L], function(i) is_promotable(path[i - 1L], path[i], rules), NA)
        expect_true(all(steps))
      }
    }
  }
  for (rules in setdiff(all_rules, c("anvil", "jax", "strict"))) {
    error <- expect_fields(promotion_path("i8", "i16", rules), "anvil_error_arg", arg = "rules")
    expect_match(conditionMessage(error), "must be rules that are a lattice.*Lattices are anvil, jax, strict")
  }
  expect_error(promotion_path("f8", "f32"), class = "anvil_error_dtype")
  expect_fields(promotion_path("f32", 1), "anvil_error_arg", arg = "to")
})

# ---- two rules ----

test_that("compare_promotion() gives the pairs that differ", {
  difference <- compare_promotion("anvil", "jax")
  expect_s3_class(difference, c("AnvilPromotionComparison", "data.frame"), exact = TRUE)
  expect_named(difference, c("lhs", "rhs", "anvil", "jax"))
  known <- difference[!endsWith(difference$lhs, "?") & !endsWith(difference$rhs, "?"), ]
  expect_identical(rownames(known), as.character(1:4))
  expect_identical(known$lhs, c("i8", "i16", "i32", "i64"))
  expect_identical(known$rhs, rep("ui64", 4))
  expect_identical(known$anvil, rep("i64", 4))
  expect_identical(known$jax, rep("f32?", 4))
  for (pair in list(c("anvil", "jax"), c("numpy", "torch"), c("tensorflow", "strict"))) {
    difference <- compare_promotion(pair[1], pair[2])
    for (i in 1:2) {
      got <- mapply(joined, difference$lhs, difference$rhs, pair[i], USE.NAMES = FALSE)
      expect_identical(difference[[pair[i]]], got)
    }
    expect_true(all(difference[[3]] != difference[[4]]))
    # None is left out.
    differs <- 0
    for (ambiguous in c("none", "row", "both")) {
      cells <- sum(promotion_table(pair[1], ambiguous) != promotion_table(pair[2], ambiguous))
      differs <- differs + cells
    }
    both_ways <- if ("tensorflow" %in% pair) difference else {
      rbind(
        difference, setNames(difference[difference$lhs != difference$rhs, c(2, 1, 3, 4)], names(difference))
      )
    }
    expect_equal(sum(!(endsWith(both_ways$rhs, "?") & !endsWith(both_ways$lhs, "?"))), differs)
  }
  same <- compare_promotion("jax", "jax")
  expect_identical(dim(same), c(0L, 4L))
  expect_identical(
    capture.output(print(same)), "0 pairs of types differ between the rules \"jax\" and \"jax\""
  )
})

# ---- what they look like ----

# What is printed in a console of this width.
printed <- function(x, width = 120, ...) {
  old <- options(width = width)
  on.exit(options(old))
  capture.output(print(x, ...))
}

test_that("tables print aligned", {
  expect_identical(class(promotion_table()), "AnvilPromotionTable")
  expect_true(is.matrix(promotion_table()))
  expect_equal(printed(promotion_table("torch")), c(
    "Promotion by the rules \"torch\"",
    "     i1   i8   i16  i32  i64  ui8  ui16 ui32 ui64 bf16 f16  f32  f64  c64  c128",
    "i1   i1   i8   i16  i32  i64  ui8  -    -    -    bf16 f16  f32  f64  c64  c128",
    "i8   i8   i8   i16  i32  i64  i16  -    -    -    bf16 f16  f32  f64  c64  c128",
    "i16  i16  i16  i16  i32  i64  i16  -    -    -    bf16 f16  f32  f64  c64  c128",
    "i32  i32  i32  i32  i32  i64  i32  -    -    -    bf16 f16  f32  f64  c64  c128",
    "i64  i64  i64  i64  i64  i64  i64  -    -    -    bf16 f16  f32  f64  c64  c128",
    "ui8  ui8  i16  i16  i32  i64  ui8  -    -    -    bf16 f16  f32  f64  c64  c128",
    "ui16 -    -    -    -    -    -    -    -    -    -    -    -    -    -    -",
    "ui32 -    -    -    -    -    -    -    -    -    -    -    -    -    -    -",
    "ui64 -    -    -    -    -    -    -    -    -    -    -    -    -    -    -",
    "bf16 bf16 bf16 bf16 bf16 bf16 bf16 -    -    -    bf16 f32  f32  f64  c64  c128",
    "f16  f16  f16  f16  f16  f16  f16  -    -    -    f32  f16  f32  f64  c64  c128",
    "f32  f32  f32  f32  f32  f32  f32  -    -    -    f32  f32  f32  f64  c64  c128",
    "f64  f64  f64  f64  f64  f64  f64  -    -    -    f64  f64  f64  f64  c128 c128",
    "c64  c64  c64  c64  c64  c64  c64  -    -    -    c64  c64  c64  c128 c64  c128",
    "c128 c128 c128 c128 c128 c128 c128 -    -    -    c128 c128 c128 c128 c128 c128"
  ))
  row <- printed(promotion_table(ambiguous = "row"))
  expect_equal(row[c(1:3, 5, 14)], c(
    "Promotion by the rules \"anvil\"",
    "      i1    i8    i16   i32   i64   ui8   ui16  ui32  ui64  bf16 f16 f32 f64  c64 c128",
    "i1?   i1    i8    i16   i32   i64   ui8   ui16  ui32  ui64  bf16 f16 f32 f64  c64 c128",
    "i16?  i16?  i8    i16   i32   i64   ui8   ui16  ui32  ui64  bf16 f16 f32 f64  c64 c128",
    "f32?  f32?  f32?  f32?  f32?  f32?  f32?  f32?  f32?  f32?  bf16 f16 f32 f64  c64 c128"
  ))
  # In a narrow console, in windows of columns.
  expect_length(printed(promotion_table(), 60), 1 + 2 * 16)
  table <- promotion_table("jax")
  capture.output(value <- withVisible(print(table)))
  expect_false(value$visible)
  expect_identical(value$value, table)
})

test_that("tables are Markdown for documents", {
  lines <- format(promotion_table("array_api"), "markdown")
  expect_length(lines, 17)
  expect_equal(lines[c(1:4, 13)], c(
    "|    |i1  |i8  |i16 |i32 |i64 |ui8 |ui16|ui32|ui64|bf16|f16 |f32 |f64 |c64 |c128|",
    "|:---|:---|:---|:---|:---|:---|:---|:---|:---|:---|:---|:---|:---|:---|:---|:---|",
    "|i1  |-   |-   |-   |-   |-   |-   |-   |-   |-   |-   |-   |-   |-   |-   |-   |",
    "|i8  |-   |i8  |i16 |i32 |i64 |i16 |i32 |i64 |-   |-   |-   |-   |-   |-   |-   |",
    "|f16 |-   |-   |-   |-   |-   |-   |-   |-   |-   |-   |f16 |f32 |f64 |-   |-   |"
  ))
  skip_if_not_installed("knitr")
  shown <- knitr::knit_print(promotion_table("array_api"))
  expect_s3_class(shown, "knit_asis")
  expect_identical(strsplit(shown, "\n")[[1]], c("", "", lines, ""))
})

test_that("comparisons print the first pairs, and all if asked", {
  difference <- compare_promotion("anvil", "jax")
  expect_equal(printed(difference, n = 6), c(
    "133 pairs of types differ between the rules \"anvil\" and \"jax\"",
    "lhs rhs  anvil jax",
    "i8  ui64 i64   f32?",
    "i16 ui64 i64   f32?",
    "i32 ui64 i64   f32?",
    "i64 ui64 i64   f32?",
    "i1  i8?  i8?   i32?",
    "i1  i16? i16?  i32?",
    "... and 127 more; `print(n = Inf)` shows all"
  ))
  expect_length(printed(difference), 2 + 30 + 1)
  expect_length(printed(difference, n = Inf), 2 + 133)
  expect_length(printed(difference, n = 0), 1 + 1)
  one <- difference[1, ]
  expect_equal(printed(one), c(
    "1 pair of types differs between the rules \"anvil\" and \"jax\"", "lhs rhs  anvil jax",
    "i8  ui64 i64   f32?"
  ))
  expect_equal(printed(difference[1, c("lhs", "jax")]), c("  lhs  jax", "1  i8 f32?"))
  for (bad in list(-1, NA, "a", NULL, 1.5, 1:2)) {
    expect_fields(print(difference, n = bad), "anvil_error_arg", arg = "n")
  }
})

test_that("a table becomes a data frame", {
  table <- promotion_table("numpy", "row")
  data <- as.data.frame(table)
  expect_s3_class(data, "data.frame", exact = TRUE)
  expect_identical(as.matrix(data), table[, ])
})

test_that("a name with ? is ambiguous, whatever the flag", {
  expect_identical(common_dtype("f32?", "i64"), common_dtype("f32", "i64", TRUE, FALSE))
  expect_identical(common_dtype("i64", "f32?"), common_dtype("i64", "f32", FALSE, TRUE))
  expect_identical(common_dtype("f32?", "f64?", TRUE, TRUE), common_dtype("f32", "f64", TRUE, TRUE))
  expect_identical(common_dtype("f?", "i64")$dtype, common_dtype("f32?", "i64")$dtype)
  expect_fields(common_dtype("f32", 3), "anvil_error_arg", arg = "rhs_dtype")
})
