# Text in lists and data frames: a static part of arguments and of results.
# nolint start: object_name_linter.

d <- data.frame(
  a = c(1, 2, 4), id = c("u", "v", "u"), k = c(1L, NA, 3L), b = c(TRUE, NA, FALSE),
  g = factor(c("p", NA, "q")), stringsAsFactors = FALSE
)

test_that("columns of text and missing values refuse no data frame", {
  of <- function(f) {
    f <- user(f)
    got <- jit(f)(d)
    expect_equal(
      as.vector(as_array(got)), as.vector(as.double(f(d))), tolerance = 1e-6, label = deparse1(body(f))
    )
  }
  of(function(d) sum(d$a))
  of(function(d) nrow(d))
  of(function(d) mean(d$k, na.rm = TRUE))
  of(function(d) sum(d$a[!is.na(d$k)]))
  of(function(d) sum(d$b, na.rm = TRUE))
  of(function(d) sum(d$a[d$id == "u"]))
  of(function(d) sum(d$a[d$id %in% c("v", "w")]))
  of(function(d) tapply(d$a, d$id, mean))
  of(function(d) colMeans(d[sapply(d, is.numeric)], na.rm = TRUE)["a"])
  of(function(d) sum(subset(d, id == "u")$a))
  # A comparison with NaN is FALSE.
  expect_identical(as.vector(as_array(jit(function(d) sum(d$a[d$g == "q"]))(d))), 4)
  slope <- gradient(user(function(w, d) sum((w * d$a)[d$id == "u"])), wrt = "w")(nv_scalar(2), d)$w
  expect_equal(as.vector(slope), 5)
  expect_error(
    jit(function(d) d$a)(data.frame(a = 1, b = I(list(sum)))), class = "anvil_error_arg", "`b`", fixed = TRUE
  )
})

test_that("a program is for the text that it was traced with", {
  f <- jit(function(d) list(sum = sum(d$a[d$id == "u"]), id = d$id))
  expect_identical(f(d)$id, d$id)
  other <- transform(d, id = rev(c("u", "u", "w")))
  expect_identical(f(other)$id, other$id)
  expect_equal(as.vector(f(other)$sum), 6)
  expect_equal(as.vector(f(d)$sum), 5)
  expect_identical(cache_info(f)[c("hits", "misses")], list(hits = 2L, misses = 2L))
  out <- f(d)
  out$id[1] <- "z"
  expect_identical(f(d)$id, d$id)
})

test_that("text in a list of results comes back, also through another jitted function", {
  fit <- jit(user(function(x) {
    terms <- list(c(a = "one", b = "two"), NULL)
    list(coef = sum(x), name = "ols", terms = terms, group = factor("b", c("a", "b")))
  }))
  out <- fit(nv_tensor(c(1, 2)))
  expect_identical(out[-1], list(
    name = "ols", terms = list(c(a = "one", b = "two"), NULL), group = factor("b", c("a", "b"))
  ))
  outer <- jit(user_env(function(x) {
    out <- fit(x)
    list(out$coef + 1, paste(out$name, "again"))
  }, fit = fit))
  out <- outer(nv_tensor(c(1, 2)))
  expect_identical(out[[2]], "ols again")
  expect_equal(as.vector(out[[1]]), 4)
  both <- value_and_gradient(user(function(x) list(sum(x^2), list(name = "loss"))), has_aux = TRUE)
  expect_identical(both(nv_tensor(1))$aux, list(name = "loss"))
  shapes <- eval_shape(function(x) list(y = x, name = "a"), nv_abstract("f32", 2))
  expect_identical(shapes, list(y = nv_abstract("f32", 2), name = "a"))
  scaled <- jit(function(l) l$x * nchar(l$name))
  expect_equal(as.vector(scaled(list(x = 2, name = "abc"))), 6)
})

test_that("text alone is neither an argument nor a result, and no part of a state", {
  expect_error(jit(function(x) x)("a"), class = "anvil_error_arg", "static")
  expect_error(jit(function(x) "a")(1), class = "anvil_error_arg", "the result")
  expect_error(jit(function(x) list(x, sum))(1), class = "anvil_error_arg", "`the result[[2]]`", fixed = TRUE)
  expect_error(nv_for(2L, list(i = 0, n = "a"), function(i, s) s), class = "anvil_error_arg", "init")
  expect_error(
    nv_if(nv_scalar(TRUE), function() list("a"), function() list("a")), class = "anvil_error_arg", "true"
  )
})

test_that("a body that drops the names of its state, and operators of other classes, say what to write", {
  expect_error(
    nv_for(2L, list(a = 0, b = 1), function(i, s) list(s$a + 1, s$b)), class = "anvil_error_structure",
    "list(a = , b = )", fixed = TRUE
  )
  skip_if(getRversion() >= "4.3.0")
  for (f in list(function(x) ts(1:2) - x, function(x) x > ts(1:2), function(x) as.Date("2020-01-01") + x)) {
    e <- expect_error(jit(user(f))(nv_tensor(c(1, 2))), class = "anvil_error_unsupported")
    expect_match(conditionMessage(e), "as.numeric(y)", fixed = TRUE)
  }
})

test_that("shapes that R would recycle are refused with what to write", {
  x <- nv_tensor(1:8)
  expect_error(x * c(1, -1), class = "anvil_error_shape", "rep_len(x, 8)", fixed = TRUE)
  m <- nv_tensor(matrix(1:12, 4))
  expect_error(m * c(1, -1), class = "anvil_error_shape", "rep_len(x, 12)", fixed = TRUE)
  expect_equal(as.vector(as_array(x * rep_len(c(1, -1), length(x)))), 1:8 * c(1, -1))
})
# nolint end
