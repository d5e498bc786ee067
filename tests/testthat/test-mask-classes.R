# Classes in traced functions: what the class of R's vector says.
# nolint start: object_name_linter, object_usage_linter.

x <- c(1.5, -2, 3.25)
m <- matrix(c(4, 1, 0.5, 3), 2)
d <- data.frame(x = x, f = factor(c("a", "b", "a")))

# What a program gives, and R.
expect_as_r <- function(f, ...) {
  given <- list(...)
  got <- do.call(jit(f), lapply(given, function(v) if (is.data.frame(v)) v else nv_tensor(v)))
  expect_equal(as.vector(got), as.vector(f(...)), label = deparse1(body(f)))
}

test_that("class(), inherits() and is() are of the vector", {
  expect_as_r(user(function(x) switch(class(x)[1], numeric = 1, matrix = 2, 3)), x)
  expect_as_r(user(function(x) switch(class(x)[1], numeric = 1, matrix = 2, 3)), m)
  expect_as_r(user(function(x) switch(class(x)[1], numeric = 1, integer = 2, 3)), 1:3)
  expect_as_r(user(function(d) c(identical(class(d$f), "factor"), identical(class(d), "data.frame"))), d)
  expect_as_r(user(function(x) c(inherits(x, "numeric"), inherits(x, "integer"), inherits(x, "matrix"))), x)
  expect_as_r(user(function(x) c(inherits(x, "numeric"), inherits(x, "integer"), inherits(x, "matrix"))), 1:3)
  expect_as_r(user(function(x) c(inherits(x, "numeric"), inherits(x, "array"), inherits(x, "matrix"))), m)
  expect_as_r(user(function(x) c(is(x, "numeric"), is(x, "matrix"), is(x, "character"))), x)
  expect_as_r(user(function(x) inherits(structure(list(x), class = "mine"), "mine")), x)
  expect_as_r(user(function(x) identical(class(structure(list(x), class = "mine")), "mine")), x)
  # Tensors are still asked for as such.
  expect_true(as.logical(jit(user(function(x) inherits(x, "AnvilTracer")))(x)))
})

test_that("elements take another mode", {
  expect_as_r(user(function(x) { storage.mode(x) <- "double"; x / 2 }), 1:3)
  expect_as_r(user(function(x) { mode(x) <- "numeric"; x / 2 }), m)
  expect_as_r(user(function(x) { storage.mode(x) <- "integer"; x * 2L }), m)
  expect_as_r(user(function(x) { mode(x) <- "logical"; !x }), c(1, 0, 2))
  bad <- user(function(x) { storage.mode(x) <- "character"; x })
  expect_error(jit(bad)(x), class = "anvil_error_concrete", "storage.mode", fixed = TRUE)
})

test_that("classes and attributes are taken away and given", {
  expect_as_r(user(function(x) unclass(x) * 2), x)
  expect_as_r(user(function(m) colSums(unclass(m))), m)
  expect_as_r(user(function(d) unclass(d$f) * 2L), d)
  expect_as_r(user(function(x) { class(x) <- NULL; x + 1 }), x)
  expect_as_r(user(function(x) { oldClass(x) <- NULL; x + 1 }), x)
  expect_as_r(user(function(x) { class(x) <- "numeric"; x / 2 }), 1:3)
  expect_as_r(user(function(x) { class(x) <- "integer"; x * 2L }), x)
  expect_as_r(user(function(m) { class(m) <- "matrix"; rowSums(m) }), m)
  expect_as_r(user(function(m) { attributes(m) <- NULL; c(length(m), is.matrix(m), m) }), m)
  expect_as_r(user(function(m) {
    attributes(m) <- list(dimnames = list(c("a", "b"), NULL), dim = c(2L, 2L))
    m["b", ]
  }), m)
  expect_as_r(user(function(x) { attributes(x) <- list(names = c("a", "b", "c")); x["b"] }), x)
  expect_as_r(user(function(x) is.null(names(structure(c(a = 1, b = 2) * x[1], names = NULL)))), x)
  expect_as_r(user(function(x) {
    structure(c(x, 1), .Dim = c(2L, 2L), .Dimnames = list(NULL, c("a", "b")))[, "a"]
  }), x)
  wrong <- user(function(x) { class(x) <- "matrix"; x })
  expect_fields(jit(wrong)(x), "anvil_error_arg", arg = "value", got = "\"matrix\"")
})

test_that("a traced value may be of a class of the user's, with methods", {
  expect_as_r(user(function(x) {
    Ops.money <- function(e1, e2) {
      out <- get(.Generic)(unclass(e1), unclass(e2))
      if (.Generic == "+") structure(out, class = "money") else out
    }
    m <- structure(x, class = "money")
    c(inherits(m + m, "money"), inherits(m, "numeric"), identical(class(m), "money"), (m + m) * 2)
  }), x)
  expect_as_r(user(function(x) {
    `[.mine` <- function(x, i) structure(unclass(x)[i] + 100, class = "mine")
    c.mine <- function(...) -unlist(lapply(list(...), unclass))
    mean.mine <- function(x, ...) 10 * max(unclass(x))
    m <- structure(x, class = c("mine", class(x)))
    c(unclass(m[2:3]), c(m, m), mean(m), sum(m))
  }), x)
  # After its classes comes the default method, as in R.
  expect_as_r(user(function(x) {
    area <- function(o) UseMethod("area")
    area.square <- function(o) 2 * NextMethod()
    area.numeric <- function(o) o + 50
    area.default <- function(o) unclass(o)
    c(area(structure(x, class = "square")), area(structure(x, class = "other")), area(x))
  }), x)
  expect_as_r(user(function(m) {
    m <- structure(m, class = c("mine", class(m)))
    nrow(m) + colSums(unclass(m))
  }), m)
})

test_that("generics of the user's find the methods of vectors", {
  kind <- function(...) {
    f <- user_env(function(x) size(x), size = NULL)
    env <- environment(f)
    env$size <- function(v, ...) UseMethod("size")
    methods <- list(...)
    for (name in names(methods)) assign(paste0("size.", name), methods[[name]], env)
    for (name in c("size", paste0("size.", names(methods)))) environment(env[[name]]) <- env
    f
  }
  of <- kind(
    numeric = function(v, ...) 1, matrix = function(v, ...) 2, factor = function(v, ...) 3,
    data.frame = function(v, ...) 4, logical = function(v, ...) 5, default = function(v, ...) 6
  )
  for (v in list(x, m, d, x > 0, 1:3, 1i)) expect_as_r(of, v)
  of_column <- user_env(function(d) size(d$f), size = NULL)
  environment(of_column) <- environment(of)
  expect_as_r(of_column, d)
  # Arguments are those of the call, and other methods come after.
  more <- kind(numeric = function(v, k = 2, ...) v * k, matrix = function(v, ...) NextMethod() + 1)
  expect_as_r(more, x)
  expect_as_r(more, m)
  # Also those that are defined in the function.
  expect_as_r(user(function(x) {
    area <- function(s, ...) UseMethod("area")
    area.numeric <- function(s, k = 1, ...) s * k
    area.default <- function(s, ...) 0
    area(k = 3, s = x)
  }), x)
  expect_as_r(user(function(x) {
    area <- function(s) UseMethod("area")
    area.numeric <- function(s) sum(s)
    area.default <- function(s) 0
    area(x[x > 0])
  }), x)
  # One of tensors is before these, and without any R says which classes there are.
  own <- kind(numeric = function(v, ...) 1, AnvilValue = function(v, ...) 2)
  expect_identical(as.vector(jit(own)(x)), 2)
  expect_error(jit(kind(character = function(v, ...) 1))(x), "c('double', 'numeric')", fixed = TRUE)
})

test_that("masked functions find methods of the user's, also those that a function defines", {
  expect_as_r(user(function(x) {
    `[[<-.rec` <- function(x, i, value) { y <- unclass(x); y[[i]] <- value + 1; structure(y, class = "rec") }
    m <- structure(list(v = x), class = "rec")
    m[["v"]] <- x
    unclass(m)$v
  }), x)
  expect_as_r(user(function(x) {
    `[<-.rec` <- function(x, i, value) { y <- unclass(x); y$v[i] <- value * 2; structure(y, class = "rec") }
    m <- structure(list(v = x), class = "rec")
    m[2] <- x[1]
    unclass(m)$v
  }), x)
  expect_as_r(user(function(x) {
    c.rec <- function(...) structure(list(v = c(1, unlist(lapply(list(...), `[[`, "v")))), class = "rec")
    Summary.rec <- function(..., na.rm = FALSE) get(.Generic)(..1$v, 3)
    m <- c(structure(list(v = x), class = "rec"), structure(list(v = 2 * x), class = "rec"))
    sum(m) + max(m)
  }), x)
  # What gives the object is evaluated once.
  expect_as_r(user(function(x) {
    seq.rec <- function(n, by, ...) seq_len(n$v) * by
    made <- 0
    make <- function() { made <<- made + 1; structure(list(v = 3), class = "rec") }
    seq(make(), by = x[1]) * made
  }), x)
  expect_as_r(user(function(x) {
    `$.rec` <- function(x, name) function(v) unclass(x)[[name]] * v
    `[[.rec` <- function(x, i) function(v) unclass(x)[[i]] + v
    m <- structure(list(v = x), class = "rec")
    m$v(2) + m[["v"]](3)
  }), x)
  # A method of the workspace is masked as other functions are.
  f <- user_env(function(x) sum(structure(list(v = x), class = "rec")), sum.rec = NULL)
  method <- function(r, ...) { y <- numeric(2); y[2] <- r$v[1]; sum(1, y) }
  assign("sum.rec", `environment<-`(method, environment(f)), environment(f))
  expect_as_r(f, x)
})

test_that("one element that is assigned to NULL makes what R makes of it", {
  expect_as_r(user(function(x) { v <- NULL; v[["a"]] <- x[1]; v[["b"]] <- x[2]; v$a + v$b }), x)
  expect_as_r(user(function(x) { v <- NULL; v[1] <- x[1]; v[2] <- x[2]; v }), x)
})

# nolint end

test_that("all.equal() does not say that a traced value is no number", {
  x <- nv_tensor(c(0, 1))
  for (y in list(0, c(0, 1), TRUE, 1L)) {
    compare <- list(
      function(x) all.equal(x, y), function(x) all.equal(y, x), function(x) all.equal(sum(x), y)
    )
    for (f in compare) {
      expect_error(jit(user_env(f, y = y))(x), "all.equal", class = "anvil_error_concrete")
    }
  }
  f <- jit(function(x) {
    same <- c(
      all.equal(x, x), all.equal(length(x), 2), all.equal(c(a = 1), c(a = 1 + 1e-9), tolerance = 1e-8)
    )
    c(same, isTRUE(all.equal(x, NULL)), isTRUE(all.equal(1, 2))) + 0 * x[1L]
  })
  expect_identical(as.vector(f(x)), c(1, 1, 1, 0, 0))
})
