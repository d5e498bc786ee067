kinds <- c(
  i1 = "BooleanType", i8 = "IntegerType", i16 = "IntegerType", i32 = "IntegerType", i64 = "IntegerType",
  ui8 = "UnsignedType", ui16 = "UnsignedType", ui32 = "UnsignedType", ui64 = "UnsignedType",
  bf16 = "BFloatType", f16 = "FloatType", f32 = "FloatType", f64 = "FloatType", c64 = "ComplexType",
  c128 = "ComplexType"
)

test_that("a dtype has a name, a class, a width and a text", {
  for (name in dtypes) {
    dtype <- as_dtype(name)
    expect_s3_class(dtype, c(kinds[[name]], "AnvilDtype"), exact = TRUE)
    expect_equal(dtype$value, bits(name))
    expect_identical(as.character(dtype), name)
    expect_identical(paste(dtype), name)
    text <- if (name == "i1") "<BooleanType>" else sprintf("<%s: %d>", kinds[[name]], bits(name))
    expect_identical(format(dtype), text)
    expect_output(expect_identical(print(dtype), dtype), paste0("^", text, "$"))
    expect_identical(as_dtype(dtype), dtype)
    expect_true(is_dtype(dtype))
  }
  expect_false(is_dtype("f32"))
  expect_false(is_dtype(NULL))
  expect_false(is_dtype(nv_scalar(1)))
})

test_that("dtypes are equal or not, to each other and to names", {
  for (name in dtypes) {
    for (other in dtypes) {
      expect_identical(as_dtype(name) == as_dtype(other), name == other)
      expect_identical(as_dtype(name) == other, name == other)
      expect_identical(name != as_dtype(other), name != other)
      expect_identical(identical(as_dtype(name), as_dtype(other)), name == other)
    }
  }
  expect_error(as_dtype("f32") == "float", class = "anvil_error_dtype")
  expect_error(as_dtype("f32") != "float", class = "anvil_error_dtype")
  expect_error(as_dtype("f32") == 32, class = "anvil_error_arg")
  expect_error(as_dtype("f32") == c("f32", "f64"), class = "anvil_error_arg")
  for (op in list(`<`, `>`, `<=`, `>=`, `+`, `&`)) {
    expect_error(op(as_dtype("f32"), as_dtype("f64")), class = "anvil_error_unsupported")
  }
  expect_error(!as_dtype("f32"), class = "anvil_error_unsupported")
})

test_that("what is no dtype is refused with the list of those that are", {
  for (bad in c("float", "F32", " f32", "", "bool", "int32", "NA")) {
    error <- expect_fields(as_dtype(bad), "anvil_error_dtype", got = paste0("\"", bad, "\""))
    expect_match(conditionMessage(error), paste(dtypes, collapse = ", "), fixed = TRUE)
  }
  expect_error(as_dtype(NA_character_), class = "anvil_error_dtype")
  for (bad in list(1, 32L, NULL, NA, c("f32", "f64"), character(), list("f32"), mean, nv_scalar(1))) {
    error <- expect_fields(as_dtype(bad), "anvil_error_arg", arg = "dtype")
    expect_match(conditionMessage(error), paste(dtypes, collapse = ", "), fixed = TRUE)
  }
  expect_error(as_dtype(structure(list("zz"), class = "AnvilDtype")), class = "anvil_error_arg")
  expect_error(as_dtype(structure(list(), class = "AnvilDtype")), class = "anvil_error_arg")
})

test_that("tensors, R numbers and abstract tensors have a type", {
  type <- function(x) list(as.character(dtype(x)), shape(x), ndims(x), ambiguous(x), device(x))
  for (name in dtypes) {
    expect_identical(type(nv_tensor(1, name, c(1, 2))), list(name, 1:2, 2L, FALSE, "cpu"))
    expect_identical(type(nv_scalar(1, name, ambiguous = TRUE)), list(name, integer(), 0L, TRUE, "cpu"))
    expect_identical(type(nv_abstract(name, c(3, 0), TRUE)), list(name, c(3L, 0L), 2L, TRUE, "cpu"))
    expect_identical(dtype(nv_tensor(1, name)), as_dtype(name))
  }
  expect_identical(type(nv_abstract("f32")), list("f32", integer(), 0L, FALSE, "cpu"))
  expect_identical(type(1), list("f32", integer(), 0L, TRUE, "cpu"))
  expect_identical(type(1L), list("i32", integer(), 0L, TRUE, "cpu"))
  expect_identical(type(TRUE), list("i1", integer(), 0L, FALSE, "cpu"))
  expect_identical(type(1i), list("c64", integer(), 0L, TRUE, "cpu"))
  expect_identical(type(matrix(1i, 1, 2)), list("c64", 1:2, 2L, TRUE, "cpu"))
  expect_identical(type(c(1i, 2i)), list("c64", 2L, 1L, TRUE, "cpu"))
  expect_identical(type(1:3), list("i32", 3L, 1L, TRUE, "cpu"))
  expect_identical(type(array(1, c(2, 3, 4))), list("f32", 2:4, 3L, TRUE, "cpu"))
  expect_identical(type(matrix(FALSE, 0, 2)), list("i1", c(0L, 2L), 2L, FALSE, "cpu"))
  # Tracers too: what is seen inside is what the arguments are.
  seen <- NULL
  jit(function(x, y) {
    seen <<- c(type(x), type(y))
    x
  })(nv_tensor(1:3, "i8"), 2)
  expect_identical(seen, list("i8", 3L, 1L, FALSE, "cpu", "f32", integer(), 0L, TRUE, "cpu"))
  for (get in list(dtype, shape, ndims, ambiguous, device)) {
    for (bad in list("a", NULL, list(1), factor("a"), mean, as.raw(1))) {
      expect_error(get(bad), class = "anvil_error_arg")
    }
  }
})

test_that("abstract tensors print, and are checked when they are made", {
  expect_output(print(nv_abstract("f32", c(2, 3))), "^AnvilAbstract\\(dtype=f32, shape=2x3\\)$")
  expect_identical(format(nv_abstract("i8", ambiguous = TRUE)), "AnvilAbstract(dtype=i8?, shape=)")
  expect_identical(nv_abstract("f32", c(2, 3)), nv_abstract(as_dtype("f32"), 2:3))
  expect_error(nv_abstract("float"), class = "anvil_error_dtype")
  expect_error(nv_abstract(1), class = "anvil_error_arg")
  for (bad in list(NA, "yes", NULL, 1)) {
    expect_fields(nv_abstract("f32", 2, bad), "anvil_error_arg", arg = "ambiguous")
  }
})
