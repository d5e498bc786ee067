# Shapes in which operands of elementwise functions meet: those that R accepts without a warning, and of these
# the ones in which a vector fills whole axes.

# Data of a shape, as base R has it: a vector without `dim` for 1-d.
data_of <- function(shape, from = 1) {
  values <- (seq_len(prod(shape)) * 7) %% 11 / 4 + from
  if (length(shape) > 1L) array(values, shape) else values
}

tensor_like <- function(data) nv_tensor(data, "f64", dim(data) %||% length(data))

# Lengths of the vectors that go with a shape.
leading <- function(shape) unique(cumprod(shape))

shapes <- list(
  c(2, 3), c(3, 2), c(1, 4), c(4, 1), c(1, 1), c(2, 3, 4), c(3, 1, 2), c(1, 1, 3), c(2, 1, 2, 3), c(0, 3),
  c(3, 0), c(2, 0, 3), 5, 1, 0
)

test_that("a 1-d operand recycles down the first axes, as in base R, in operators and functions", {
  operators <- list(
    `+` = nv_add, `-` = nv_sub, `*` = nv_mul, `/` = nv_div, `^` = nv_pow, `%%` = nv_mod, `%/%` = nv_floor_div,
    `==` = nv_eq, `!=` = nv_ne, `<` = nv_lt, `<=` = nv_le, `>` = nv_gt, `>=` = nv_ge
  )
  for (shape in shapes) for (length in leading(shape)) {
    a <- data_of(shape)
    v <- data_of(length, 2)
    x <- tensor_like(a)
    y <- tensor_like(v)
    label <- paste(deparse1(shape), "and", length)
    for (name in names(operators)) {
      f <- get(name, baseenv())
      op <- get(name)
      want <- list(f(a, v), f(v, a))
      got <- list(op(x, y), op(y, x))
      for (i in 1:2) {
        values <- as.vector(as_array(got[[i]]))
        expect_equal(values, as.vector(want[[i]]), tolerance = 1e-14, label = paste(label, name))
        expect_identical(shape(got[[i]]), as.integer(shape), label = paste(label, name))
      }
      expect_identical(operators[[name]](x, y), got[[1L]], label = paste(label, name))
      expect_identical(operators[[name]](y, x), got[[2L]], label = paste(label, name))
    }
    expect_jit_equal(function(x, y) list(x / y, y - exp(x), y < x), x, y)
  }
})

test_that("random shapes: values and gradients are those of base R's recycling", {
  set.seed(16)
  for (case in 1:25) {
    shape <- sample(4L, sample(2:4, 1L), replace = TRUE)
    filled <- sample(length(shape), 1L)
    a <- array(rnorm(prod(shape)), shape)
    v <- rnorm(prod(shape[seq_len(filled)]))
    x <- tensor_like(a)
    y <- tensor_like(v)
    f <- function(x, y) sum(exp(y) * x - x / (2 + y^2))
    label <- paste(deparse1(shape), "and", length(v))
    expect_jit_equal(
      function(x, y) exp(y) * x - x / (2 + y^2), x, y, r = exp(v) * a - a / (2 + v^2), tolerance = 1e-12
    )
    g <- gradient(f)(x, y)
    expect_equal(as_array(g$x), array(exp(v) - 1 / (2 + v^2), shape), tolerance = 1e-12, label = label)
    # Sums over what was repeated.
    by <- rowSums(matrix(a, length(v)))
    want <- exp(v) * by + 2 * v * by / (2 + v^2)^2
    expect_equal(as.vector(as_array(g$y)), want, tolerance = 1e-10, label = label)
    expect_identical(shape(g$y), length(v), label = label)
    expect_identical(jit(function(x, y) gradient(f)(x, y))(x, y), g)
  }
})

test_that("what statisticians write means what it means in R", {
  z <- matrix(c(0.1, -2, 3, 0.4, 1, -0.5), 2)
  x <- tensor_like(z)
  softmax <- function(x) exp(x) / sum(exp(x), axes = 2)
  expect_jit_equal(softmax, x, r = exp(z) / rowSums(exp(z)), tolerance = 1e-14)
  y <- c(1, -1)
  b <- c(0.5, 2, -1)
  residuals <- function(y, x, b) y - x %*% b
  expect_jit_equal(residuals, tensor_like(y), x, tensor_like(b), r = y - z %*% b, tolerance = 1e-14)
  loss <- function(b) sum((tensor_like(y) - x %*% b)^2)
  expect_equal(as_array(loss(tensor_like(b))), sum((y - z %*% b)^2), tolerance = 1e-14)
  g <- gradient(loss)(tensor_like(b))$b
  expect_equal(as.vector(as_array(g)), drop(-2 * crossprod(z, y - z %*% b)), tolerance = 1e-14)
  expect_identical(shape(g), 3L)
  # The same with matrices of one column.
  in_columns <- gradient(loss)(tensor_like(matrix(b)))$b
  expect_identical(as.vector(as_array(in_columns)), as.vector(as_array(g)))
  centre <- function(x) t(t(x) - nv_mean(x, 1))
  expect_jit_equal(centre, x, r = sweep(z, 2, colMeans(z)), tolerance = 1e-14)
  forward <- function(a, g, p) a %*% g * p
  expect_jit_equal(forward, tensor_like(y), x, tensor_like(2), r = 2 * (y %*% z), tolerance = 1e-14)
})

test_that("functions of three operands, complex parts and R arrays follow the same rule", {
  a <- data_of(c(2, 3))
  x <- tensor_like(a)
  v <- c(2, 3)
  y <- tensor_like(v)
  all <- as.double(1:6)
  expect_jit_equal(function(x, y) nv_ifelse(x > y, y, x), x, y, r = ifelse(a > v, v, a))
  expect_jit_equal(function(x, y) nv_ifelse(y > 2, x, 0), x, y, r = ifelse(matrix(v > 2, 2, 3), a, 0))
  expect_jit_equal(function(y, w) nv_ifelse(y > 2, y, w), y, x, r = ifelse(matrix(v > 2, 2, 3), v, a))
  expect_jit_equal(
    function(x, y, w) nv_clamp(y, x, w), x, y, tensor_like(all), r = pmin(pmax(a, v), matrix(all, 2))
  )
  expect_identical(shape(nv_clamp(x, y, 10)), c(2L, 3L))
  expect_jit_equal(function(x, y) nv_complex(x, y), x, y, r = matrix(complex(real = a, imaginary = v), 2))
  expect_jit_equal(function(x, y) list(nv_max(x, y), nv_atan2(y, x)), x, y)
  expect_equal(as_array(nv_max(x, y)), pmax(a, v))
  expect_equal(as_array(x * array(v)), a * v)
  expect_equal(as_array(a * y), a * v)
  # A bare vector too.
  expect_jit_equal(function(x) v - x, x, r = v - a)
  expect_error(x + c(1, 2, 3), class = "anvil_error_shape", "2 or 6, not 3")
  expect_identical(type_of(nv_tensor(1:2, "i8") + nv_tensor(1:6, "i32", c(2, 3))), "i32[2, 3]")
  # Conditions of one axis take part in the gradient of the others.
  g <- gradient(function(x, y) sum(nv_ifelse(y > 2, x * y, y)), c("x", "y"))(x, y)
  expect_equal(as_array(g$x), matrix(c(0, 3), 2, 3))
  expect_equal(as.vector(as_array(g$y)), c(3, sum(a[2, ])))
  expect_identical(
    lapply(nv_broadcast_scalars(x, y, 1), shape), list(c(2L, 3L), c(2L, 3L), c(2L, 3L))
  )
  expect_equal(as_array(nv_broadcast_scalars(x, y)[[2L]]), matrix(v, 2, 3))
  # Joining is no elementwise function: nothing becomes a column.
  expect_error(nv_concatenate(x, y, axis = 2L), class = "anvil_error_shape")
})

test_that("NaN and infinities are repeated too", {
  x <- nv_tensor(matrix(1:6, 2), "f64")
  expect_elements(x * nv_tensor(c(NaN, Inf), "f64"), c(NaN, Inf, NaN, Inf, NaN, Inf), "f64[2, 3]")
})

test_that("a vector of one element goes with any shape, as in R", {
  one <- nv_tensor(2, "f64")
  for (x in list(nv_tensor(c(1, 2, 3), "f64"), nv_tensor(matrix(1:6, 2), "f64"), one)) {
    expect_identical(x - one, x - c(2))
    expect_identical(one - x, 2 - x)
    expect_identical(jit(function(x, y) nv_ifelse(x > y, y, x))(x, one), nv_ifelse(x > 2, 2, x))
  }
  expect_elements(one + nv_tensor(numeric(), "f64"), numeric(), "f64[0]")
  expect_elements(one + one, 4, "f64[1]")
  expect_equal(as_array(gradient(function(b) sum(b * 1:3))(one)$b), array(6))
  # Of one element each, the result has the axes of the first that has some.
  for (y in list(pmax(0.5, one), pmax(one, one, 0.5), pmin(3, one, one))) expect_elements(y, 2, "f64[1]")
  expect_elements(pmin(nv_tensor(matrix(5), "f64"), one), 2, "f64[1, 1]")
  expect_elements(jit(function(s) nv_for(3L, s, function(i, s) pmax(s, s * 2, 0.5)))(one), 16, "f64[1]")
  # What people make numbers with.
  f <- function(x) c(x * c(crossprod(x)), x / as.numeric(sqrt(sum(x^2))), x - quantile(x, 0.5))
  expect_equal(as.vector(jit(f)(nv_tensor(1:3 + 0, "f64"))), unname(f(1:3 + 0)))
  state <- function(x) nv_for(3L, x[1], function(i, s) s + as.numeric(x[1] > 0))
  expect_elements(jit(state)(nv_tensor(c(1, 2), "f64")), 4, "f64[]")
})

test_that("what R recycles in part, for each column, or not at all is an error with advice", {
  x <- nv_tensor(1:6, shape = c(2, 3))
  advice <- list(
    list(c(3, 2), "t()"), list(3, "nv_broadcast_to(x, c(2, 3))"), list(c(2, 1), "nv_broadcast_tensors"),
    list(c(1, 3), "nv_broadcast_tensors"),
    list(c(1, 1), "nv_broadcast_to"), list(c(2, 3, 1), "nv_reshape"), list(0, "2 or 6, not 0"),
    list(4, "2 or 6, not 4"), list(12, "2 or 6, not 12"),
    list(c(6, 1), "nv_reshape"), list(c(4, 5), "nv_broadcast_to")
  )
  for (case in advice) {
    y <- nv_fill(1L, case[[1L]])
    e <- expect_error(x + y, class = "anvil_error_shape")
    expect_identical(e[c("lhs", "rhs")], list(lhs = c(2, 3), rhs = case[[1L]]))
    expect_match(
      conditionMessage(e), sprintf("(2,3) and (%s)", paste(case[[1L]], collapse = ",")), fixed = TRUE
    )
    expect_match(conditionMessage(e), case[[2L]], fixed = TRUE)
    expect_identical(conditionCall(e), quote(x + y))
    e <- expect_error(nv_sub(y, x), class = "anvil_error_shape")
    expect_identical(e[c("op", "lhs", "rhs")], list(op = "nv_sub", lhs = case[[1L]], rhs = c(2, 3)))
    # The same while tracing, and in functions of three operands.
    e <- expect_error(jit(function(x, y) x * y)(x, y), class = "anvil_error_shape")
    expect_identical(conditionCall(e), quote(x * y))
    expect_error(nv_ifelse(x > 1L, y, 0L), class = "anvil_error_shape")
    expect_error(nv_clamp(0L, x, y), class = "anvil_error_shape")
    expect_error(nv_ifelse(y > 1L, 0L, x), class = "anvil_error_shape")
    expect_no_open_trace()
  }
  for (lengths in list(c(2, 3), c(4, 3), c(2, 4), c(0, 2))) {
    expect_error(nv_fill(1, lengths[1L]) + nv_fill(1, lengths[2L]), class = "anvil_error_shape")
  }
  # The advice holds.
  expect_elements(x + nv_broadcast_to(nv_tensor(1:3), c(2, 3)), c(2:3, 5:6, 8:9), "i32[2, 3]")
})

test_that("a repeated vector is read where it is: nothing is copied", {
  plan <- explain_plan(function(x, v) x * v, nv_abstract("f32", c(300, 40)), nv_abstract("f32", 300))
  expect_identical(plan$kind, "group")
  expect_identical(plan$read, 4 * (12000 + 300))
})
