# What a traced function sees in the place of base R's functions that look at their first argument alone.
# R code as people write it has names of its own.
# nolint start: object_name_linter.

x <- nv_tensor(c(1.5, -2, 0.5), "f64")
values <- c(1.5, -2, 0.5)

plain <- function(x) {
  if (is.list(x) && !inherits(x, "AnvilValue")) return(lapply(x, plain))
  if (inherits(x, "AnvilValue")) x <- as_array(x)
  if (length(dim(x)) == 1L) dim(x) <- NULL
  unname(x)
}

# A jitted function of a vector gives what it gives for R's vector, and its gradient is that of differences.
expect_as_r <- function(f, at = values, derived = TRUE) {
  f <- user(f)
  label <- paste(deparse(body(f)), collapse = " ")
  want <- f(at)
  got <- jit(f)(nv_tensor(at, "f64"))
  expect_equal(plain(got), plain(want), tolerance = 1e-12, label = label)
  expect_identical(dim(plain(got)), dim(plain(want)), label = label)
  if (!derived) return(invisible())
  weight <- function(y) cos(seq_along(unlist(y)))
  loss <- function(x) sum(unlist(f(x)) * weight(want))
  slopes <- vapply(seq_along(at), function(i) {
    h <- replace(numeric(length(at)), i, 1e-5)
    (loss(at + h) - loss(at - h)) / 2e-5
  }, 0)
  of_loss <- user_env(function(x) {
    y <- of(x)
    sum(unlist(list(y)) * w)
  }, of = f, w = weight(want))
  g <- jit(gradient(of_loss))(nv_tensor(at, "f64"))$x
  expect_equal(as.vector(as_array(g)), slopes, tolerance = 1e-6, label = paste("gradient of", label))
}

test_that("an R vector that is assigned a traced value becomes one", {
  expect_as_r(function(x) { y <- numeric(3); y[2] <- x[1]; y })
  expect_as_r(function(x) { e <- numeric(3); for (t in 2:3) e[t] <- x[t] - 0.5 * e[t - 1]; e })
  expect_as_r(function(x) { e <- rep(0, 3); e[c(TRUE, FALSE, TRUE)] <- x[2:3]; e })
  expect_as_r(function(x) { e <- 1:6; e[2:3] <- x[1:2]; e[-(1:4)] <- x[3]; e })
  expect_as_r(function(x) { e <- c(a = 1, b = 2); e["b"] <- x[3]; e[["a"]] <- x[2]; unname(e) })
  expect_as_r(function(x) { e <- 1:6; e[c(TRUE, FALSE)] <- x; e[1:4] <- x[1:2]; e })
  expect_as_r(function(x) replace(numeric(4), 2:4, x))
  expect_as_r(function(x) { y <- numeric(3); y[] <- x; y })
  expect_as_r(function(x) { y <- numeric(3); y[0] <- x; y[integer()] <- x[1]; y[1] <- x[1]; y })
  # What is known is a number of R's until then.
  f <- function(x) { y <- numeric(2); y[1] <- 3; stopifnot(is.double(y), !is.object(y)); y[2] <- x[1]; y }
  expect_as_r(f)
})

test_that("matrices are filled as R fills them", {
  expect_as_r(function(x) { L <- matrix(0, 2, 2); L[lower.tri(L, diag = TRUE)] <- x; L })
  expect_as_r(function(x) { L <- matrix(0, 3, 3); diag(L) <- x; L })
  expect_as_r(function(x) { L <- matrix(1, 2, 2); diag(L) <- x[1]; L })
  expect_as_r(function(x) { L <- matrix(0, 3, 3); L[1, ] <- x; L[row(L) == col(L) + 1] <- x[1:2]; L })
  expect_as_r(function(x) { G <- diag(2); G[!G] <- exp(x[1:2]); G })
  expect_as_r(function(x) { M <- matrix(0, 2, 2); M[2] <- x[1]; M[4] <- x[2]; M[cbind(1, 2)] <- x[3]; M })
  expect_as_r(function(x) { M <- matrix(0, 2, 3); M[, 2] <- x[1]; M[1, c(1, 3)] <- x[2:3]; M[2, -1] <- 7; M })
  expect_as_r(function(x) { M <- matrix(0, 2, 3); M[1, ] <- matrix(x, 1); M[2, 2:2] <- x[1]; M })
  expect_as_r(function(x) { M <- matrix(0, 2, 3); M[1, 1] <- x[1]; M[3] + M[1] + sum(M[-1]) })
  expect_as_r(function(x) { A <- array(0, c(2, 3, 2)); A[2, , 1] <- x; A[, 1, 2] <- x[1:2]; A })
  expect_as_r(function(x) { out <- matrix(NA, 2, 3); out[1, ] <- x; out[2, ] <- 2 * x; out })
  # Missing values stay so.
  out <- jit(user(function(x) { out <- matrix(NA, 2, 3); out[1, ] <- x; out }))(x)
  expect_identical(is.na(as_array(out)), matrix(c(FALSE, TRUE), 2, 3))
})

test_that("vectors grow, and lists stay lists", {
  expect_as_r(function(x) { out <- c(); for (i in 1:3) out[length(out) + 1] <- x[i]^2; out })
  expect_as_r(function(x) { out <- NULL; for (i in 1:3) out <- c(out, x[i]^2); out })
  expect_as_r(function(x) { out <- numeric(); for (i in 1:3) out[i] <- x[i] + i; out })
  expect_as_r(function(x) { out <- numeric(); for (i in 1:3) out[[i]] <- x[i] + i; out })
  expect_as_r(function(x) { out <- vector("list", 2); out[[1]] <- x; out[[2]] <- x[1]; out })
  expect_as_r(function(x) { out <- list(); out[["a"]] <- x; out$b <- 2 * x; out$a + out$b })
  expect_as_r(function(x) { out <- NULL; out[[1]] <- x; out[[2]] <- x[1]; out })
  expect_as_r(function(x) { out <- vector("list", 3); out[1:3] <- x; do.call("sum", out) })
  f <- user(function(x) { y <- numeric(1); y[4] <- x[1]; y })
  expect_identical(as.vector(is.na(as_array(jit(f)(x)))), c(FALSE, TRUE, TRUE, FALSE))
})

test_that("the dtype is the join of an ambiguous one and that of the value", {
  type <- function(value, y) {
    f <- user_env(function(x) { y[2] <- x[1]; y }, y = y)
    out <- jit(f)(value)
    paste0(dtype(out), if (ambiguous(out)) "?")
  }
  expect_identical(type(nv_tensor(1, "f32"), numeric(2)), "f32")
  expect_identical(type(nv_tensor(1, "f64"), numeric(2)), "f64")
  expect_identical(type(nv_tensor(1, "f16"), numeric(2)), "f16")
  expect_identical(type(nv_tensor(1L, "i8"), integer(2)), "i8")
  expect_identical(type(nv_tensor(1L, "i8"), numeric(2)), "f32?")
  expect_identical(type(nv_tensor(1L, "i8"), logical(2)), "i8")
  expect_identical(type(nv_tensor(TRUE), logical(2)), "i1")
  expect_identical(type(nv_tensor(1, "f64"), c(TRUE, NA)), "f64")
  expect_identical(type(nv_tensor(1i, "c128"), numeric(2)), "c128")
  # A later value may be of a higher dtype.
  f <- user(function(i, x) { y <- integer(2); y[1] <- i; y[2] <- x; y })
  expect_identical(as.character(dtype(jit(f)(nv_scalar(1L, "i32"), nv_scalar(0.5, "f64")))), "f64")
  # 0.1 keeps its digits.
  f <- user(function(x) { y <- c(0.1, 0); y[2] <- x[1]; y })
  expect_identical(as.vector(as_array(jit(f)(x))), c(0.1, 1.5))
})

test_that("a value that the program computes may be a subscript", {
  f <- user(function(x, i) {
    y <- numeric(4)
    y[i] <- x[1]
    y[2] <- 7
    M <- diag(2)
    M[, i] <- x[1:2]
    list(y, M)
  })
  got <- jit(f)(x, nv_scalar(1L))
  expect_identical(plain(got[[1]]), c(1.5, 7, 0, 0))
  expect_identical(plain(got[[2]]), cbind(c(1.5, -2), c(0, 1)))
  f <- user(function(x, i) { y <- c(1, 2, 3); y[i] <- 0; y })
  expect_identical(plain(jit(f)(x, nv_scalar(2L))), c(1, 0, 3))
  f <- user(function(x, y) c(-Inf, x)[y])
  expect_identical(plain(jit(f)(x, nv_tensor(c(1L, 2L, 2L)))), c(-Inf, 1.5, 1.5))
})

test_that("what joins values looks at all of them", {
  expect_as_r(function(x) c(1, x))
  expect_as_r(function(x) c(1L, TRUE, x, NULL))
  expect_as_r(function(x) unlist(list(x, list(1, x[2]))))
  expect_as_r(function(x) append(1:3, x, 1))
  expect_as_r(function(x) append(1, x))
  expect_as_r(function(x) sum(1, x) + prod(2, x) + max(0, x) * min(1, x))
  expect_as_r(function(x) range(c(0, 0.25), x))
  expect_as_r(function(x) sum(numeric(), x))
  expect_as_r(function(x) as.numeric(list(x[1], 2)))
  expect_as_r(function(x) rbind(1, x))
  expect_as_r(function(x) do.call(rbind, list(1:3, x)))
  expect_as_r(function(x) do.call("c", list(1, x)))
  expect_as_r(function(x) c(list(1), x))
  expect_identical(plain(jit(user(function(x) any(FALSE, x > 1)))(x)), TRUE)
  expect_identical(plain(jit(user(function(x) all(TRUE, x > 1)))(x)), FALSE)
  # Names as R gives them.
  seen <- NULL
  see <- function(names) seen <<- names
  f <- user_env(function(x) { y <- c(a = 1, b = x[1], c = 2); see(names(y)); y[["b"]] }, see = see)
  expect_identical(plain(jit(f)(x)), 1.5)
  expect_identical(seen, c("a", "b", "c"))
})

test_that("relist() gives elements the shapes of a list, and unlist() takes lists of any class", {
  expect_as_r(function(x) {
    p <- relist(c(x, x), list(a = c(0, 0), b = matrix(0, 1, 2), c = list(d = 0, e = 0)))
    p$b %*% p$a + p$c$d * p$c$e
  })
  expect_as_r(function(x) relist(x, c(a = 1, b = 2, c = 3))["b"])
  expect_as_r(function(x) relist(c(x, 1), diag(2)) %*% diag(2))
  expect_as_r(function(x) {
    u <- unlist(as.relistable(list(a = x[1:2], b = x[3])))
    p <- relist(u)
    p$a * p$b
  })
  expect_as_r(function(x) unlist(structure(list(a = x, b = list(1)), class = "par")))
  expect_as_r(function(x) unlist(list(x, structure(list(x[1]), class = "par"))))
  round_trip <- user(function(p) relist(unlist(p) / 2, p))
  p <- list(a = nv_tensor(matrix(1:4 + 0.5, 2), "f64"), b = nv_scalar(3, "f64"))
  for (got in list(round_trip(p), jit(round_trip)(p))) {
    expect_identical(plain(got), list(a = matrix(1:4 + 0.5, 2) / 2, b = 1.5))
  }
  expect_fields(jit(user(function(x) relist(x, list(0, 0))))(x), "anvil_error_arg", arg = "flesh")
  expect_fields(jit(user(function(x) relist(x)))(x), "anvil_error_arg", arg = "skeleton")
})

test_that("what R has for its own vectors alone takes traced ones", {
  expect_as_r(function(x) c(sort.int(x), sort.list(x), pmax.int(0, x), pmin.int(x, 1, 0.5)))
  expect_as_r(function(x) sort.int(x, decreasing = TRUE, index.return = TRUE)$ix)
})

test_that("what functions give is put together as R does", {
  expect_as_r(function(x) sapply(1:3, function(i) x[i]^2))
  expect_as_r(function(x) vapply(1:3, function(i) x[i]^2, numeric(1)))
  expect_as_r(function(x) vapply(1:2, function(i) x * i, numeric(3)))
  expect_as_r(function(x) sapply(1:2, function(i) x * i))
  expect_as_r(function(x) sapply(x, function(v) v^2))
  expect_as_r(function(x) sapply(list(a = x, b = 2 * x), sum))
  expect_as_r(function(x) lapply(1:2, function(i) x[i]))
  expect_as_r(function(x) sapply(1:2, function(i) x[seq_len(i)]))
  expect_as_r(function(x) sapply(1:2, function(i) (x %*% t(x)) * i, simplify = "array"))
  expect_as_r(function(x) mapply(function(a, b) a * b, x, 1:3))
  expect_as_r(function(x) mapply(function(a, b) a * b, 1:3, x))
  expect_as_r(function(x) mapply(function(a, k) a * k, 1:3, MoreArgs = list(k = x)))
  expect_as_r(function(x) do.call(rbind, Map(function(a, b) c(a, b), x, 4:6)))
  expect_as_r(function(x) Reduce(`+`, list(1, x, 2)))
  expect_as_r(function(x) Reduce(function(a, b) a * 0.5 + b, x, accumulate = TRUE))
  expect_as_r(function(x) Reduce(function(a, b) a * 0.5 + b, 1:3, x[1], accumulate = TRUE, right = TRUE))
  expect_as_r(function(x) apply(matrix(1:6, 2), 1, function(r) sum(r * x)))
  expect_as_r(function(x) apply(cbind(x, 2 * x), 2, function(r) sum(r * x)))
  expect_as_r(function(x) apply(cbind(x, 2 * x), 1, max))
  expect_as_r(function(x) apply(cbind(x, 2 * x), 1, function(r) r * 2))
  expect_as_r(function(x) apply(cbind(x, 2 * x), c(1, 2), function(v) v^2))
  expect_as_r(function(x) c(tapply(x, c(1, 2, 1), sum)))
  expect_as_r(function(x) c(tapply(c(4, 5, 6), c("u", "v", "u"), function(v) sum(v) * x[1])))
  expect_as_r(function(x) replicate(2, x[1] + 1))
  expect_as_r(function(x) Vectorize(function(i, j) x[i] * j)(1:3, 2))
  expect_as_r(function(x) matrix(x, 2, 3, byrow = TRUE))
  expect_as_r(function(x) matrix(c(x, 1), nrow = 2))
  expect_as_r(function(x) matrix(x, ncol = 3))
  expect_as_r(function(x) matrix(x[1], 2, 2))
  expect_as_r(function(x) array(x, c(3, 2)))
  expect_as_r(function(x) array(x))
})

test_that("without a traced value they are base R's own", {
  local_same <- function(code) {
    code <- substitute(code)
    inside <- NULL
    f <- user_env(function(x) { keep(eval(code)); x }, code = code, keep = function(v) inside <<- v)
    # As a part of the function, and not by eval(), too.
    body(f)[[2]] <- call("keep", code)
    jit(f)(x)
    expect_identical(inside, eval(code, globalenv()), label = deparse1(code))
  }
  local_same({ m <- matrix(1:6, 2, dimnames = list(NULL, letters[1:3])); m[, 1] <- 9L; m[1, , drop = FALSE] })
  local_same({ m <- matrix(1:6, 2); m[m > 2] <- 0L; m[cbind(1, 2)] <- NA; m })
  local_same({ d <- data.frame(a = 1:2, b = c("u", "v")); d$a[2] <- 5L; d[["c"]] <- 3:4; d })
  local_same({ d <- data.frame(a = 1:2, b = c("u", "v")); d[1, "b"] <- "w"; d[d$a > 1, "a"] <- 0L; d })
  local_same({ f <- factor(c("a", "b")); f[2] <- "a"; f })
  local_same({ l <- list(a = 1, b = 2); l["b"] <- NULL; l[["c"]]$d <- 4; l })
  local_same({ v <- 1:3; v[5] <- 1.5; names(v)[2] <- "b"; v["z"] <- 0; v })
  local_same({ v <- Sys.Date() - Sys.Date(); c(v, v) })
  local_same(c(as.Date("2020-01-01"), as.Date("2020-01-02")))
  local_same(c(a = 1, list(2), recursive = TRUE, use.names = FALSE))
  local_same(unlist(list(a = 1:2, b = list(c = "x", d = 2))))
  local_same(sapply(c(u = 1, v = 2), function(i) c(a = i, b = i^2)))
  local_same(sapply(letters[1:3], toupper))
  local_same(sapply(character(), nchar))
  local_same(sapply(1:2, function(i) diag(i, 2), simplify = "array"))
  local_same(vapply(letters[1:2], function(l) c(n = nchar(l)), c(n = 0L)))
  local_same(vapply(list(), length, 1L))
  local_same(mapply(rep, 1:3, 3:1))
  local_same(mapply(function(x, y) x + y, c(a = 1, b = 2), c(A = 10, B = 0)))
  local_same(Map(function(x, y) x + y, c(a = 1), 2))
  local_same(Reduce(`+`, 1:4, accumulate = TRUE))
  local_same(Reduce(function(a, b) paste0(a, b), letters[1:3], "z", accumulate = TRUE, right = TRUE))
  local_same(Reduce(`+`, list(), accumulate = TRUE))
  local_same(Filter(function(v) v > 1, c(a = 1, b = 2)))
  local_same(apply(matrix(1:6, 2, dimnames = list(c("a", "b"), NULL)), 1, range))
  local_same(apply(matrix(1:6, 2), c(1, 2), function(v) v))
  local_same(apply(matrix(1:6, 2), 1, function(r) list(r)))
  local_same(apply(matrix(0, 0, 3), 1, sum))
  local_same(tapply(c(3, 1, 2), c("a", "b", "a"), mean))
  local_same(tapply(1:4, list(c(1, 1, 2, 2), c("u", "v", "u", "u")), sum))
  local_same(matrix(1:6, ncol = 2, byrow = TRUE, dimnames = list(NULL, c("a", "b"))))
  local_same(matrix(nrow = 2, ncol = 2))
  local_same(array(1:4, c(2, 2)))
  local_same(array(1:3))
  local_same(as.numeric("3"))
  local_same(sum(1:3, na.rm = TRUE))
  local_same(max(c("a", "b")))
  local_same(range(c(3, NA, 1), na.rm = TRUE, finite = TRUE))
  local_same(any(logical()))
  local_same(do.call(paste, list("a", "b", sep = "-")))
  local_same(do.call("rbind", list(1:2, 3:4)))
  local_same(replicate(3, 1))
  local_same(Vectorize(function(a, b) a + b)(1:3, 2))
  local_same(append(1:3, 9, after = 1))
  local_same(append(list(1), list("a")))
  local_same(replace(1:3, 2, 9L))
  local_same({ m <- diag(2); diag(m) <- c(3, 4); m })
  local_same(c())
  local_same(unlist(NULL))
})

test_that("it reaches functions of the user's, and no others", {
  home <- new.env(parent = globalenv())
  local({
    helper <- function(x) c(1, x)
    start <- function(x, n) if (n == 0) x else other(c(0, x), n - 1)
    other <- function(x, n) start(x, n)
    with_default <- function(x, y = helper(x)) sum(0, y)
    make <- function(k) function(x) { y <- numeric(2); y[2] <- k * x[1]; y }
    twice <- make(2)
    area <- function(s, ...) UseMethod("area")
    area.square <- function(s, x, ...) c(s$side, x)
    area.default <- function(s, x, ...) c(0, x)
    model <- list(loss = function(x) sum(c(2, x)), nested = list(f = function(x) c(9, x)))
    losses <- list(function(x) c(1, x), function(x) c(2, x))
    counted <- 0
    count <- function(x) { counted <<- counted + 1; c(counted, x) }
    named <- function(x) do.call("helper", list(x))
    chosen <- function(x, which = c("one", "two")) {
      which <- match.arg(which)
      c(switch(which, one = 1, two = 2), x)
    }
    missed <- function(x, y) if (missing(y)) c(1, x) else y
    again <- function(x) if (length(x) > 5) x else Recall(c(1, x))
    said <- function(x) { on.exit(out <<- c(out, 1)); out <- 0; c(0, x) }
    out <- 0
  }, home)
  as_r <- function(f) {
    environment(f) <- home
    expect_equal(plain(jit(f)(x)), plain(f(values)), tolerance = 1e-12, label = deparse1(body(f)))
  }
  as_r(function(x) helper(x))
  as_r(function(x) start(x, 3))
  as_r(function(x) with_default(x))
  as_r(function(x) twice(x))
  as_r(function(x) make(3)(x))
  as_r(function(x) area(structure(list(side = 4), class = "square"), x))
  as_r(function(x) area(1, x))
  as_r(function(x) model$loss(x))
  as_r(function(x) model$nested$f(x))
  as_r(function(x) losses[[2]](x))
  as_r(function(x) sapply(losses, function(loss) loss(x)))
  as_r(function(x) Reduce(function(value, f) f(value), losses, x))
  as_r(function(x) lapply(list(x), "helper")[[1]])
  as_r(function(x) named(x))
  as_r(function(x) chosen(x, "two"))
  as_r(function(x) missed(x))
  as_r(function(x) again(x))
  as_r(function(x) local({ y <- 1; c(y, x) }))
  as_r(function(x) with(list(a = 2), c(a, x)))
  as_r(function(x) said(x))
  home$counted <- 0
  f <- function(x) count(x)
  environment(f) <- home
  jit(f)(x)
  expect_identical(home$counted, 1)
  # Arguments that are functions, or lists of these.
  f <- function(loss, x) loss(x)
  expect_identical(plain(jit(user(f), static = "loss")(user(function(x) c(1, x)), x)), c(1, values))
  f <- function(model, x) model$loss(x)
  model <- list(loss = user(function(x) c(1, x)))
  expect_identical(plain(jit(user(f), static = "model")(model, x)), c(1, values))
  # A name of the user's own is never masked, nor a variable.
  own <- user_env(function(x) c(1, x), c = function(a, b) b * 2)
  expect_identical(plain(jit(own)(x)), values * 2)
  own <- user_env(function(x) x * max, max = 3)
  expect_identical(plain(jit(own)(x)), values * 3)
  # A variable hides no function.
  own <- user_env(
    function(x) c(sum(1, x), max(0, x), all(TRUE, x > 1)),
    c = 3, sum = 0, max = "no", all = NULL
  )
  expect_identical(plain(jit(own)(x)), c(1 + sum(values), max(values), 0))
  own <- user_env(function(x) sapply(1:2, function(i) min(i, x)) * range, range = 2, min = 1)
  expect_identical(plain(jit(own)(x)), rep(min(values) * 2, 2))
  place <- new.env(parent = globalenv())
  evalq({
    c <- 3
    reads <- function(x) x * c
    calls <- function(x) c(1, reads(x))
    named <- function(x) x * get("c")
  }, place)
  expect_identical(plain(jit(place$calls)(x)), c(1, values * 3))
  expect_identical(plain(jit(place$named)(x)), values * 3)
  place <- new.env(parent = globalenv())
  evalq({ sum <- 0; f <- function(x) { sum <<- sum + 1; c(sum, x) } }, place)
  expect_identical(plain(jit(place$f)(x)), c(1, values))
  expect_identical(place$sum, 1)
  local <- user_env(function(x, c) { min <- 2; c(min(1, x), 2) * c }, c = 5, min = 7)
  expect_identical(plain(jit(local)(x, 3)), c(min(values), 2) * 3)
  # What groups or repeats by a traced value says what to write, or where to read.
  for (f in list(
    function(x) tapply(1:3, x, sum), function(x) rowsum(1:3, x), function(x) replicate(x[1], 1)
  )) {
    error <- expect_error(jit(user(f))(x), class = "anvil_error_concrete")
    expect_match(conditionMessage(error), "\ni (Use|The number|`)")
  }
  # Functions of packages see R's own.
  expect_error(jit(user(function(x) stats::reorder(1:3, x)))(x), class = "anvil_error_concrete")
  # The original is as it was.
  expect_identical(environment(home$helper), home)
})

test_that("a function is what it is without the name of its package", {
  expect_as_r(function(x) stats::sd(x) + stats::median(x))
  expect_as_r(function(x) base::sapply(1:3, function(i) base::sum(1, x[i])))
  expect_as_r(function(x) base::ifelse(x > 0, utils::head(x, 1), x[2]))
  expect_as_r(function(x) sapply(list(x, x^2), stats::var))
  expect_as_r(function(x) do.call(stats::quantile, list(x, 0.2)))
  expect_as_r(function(x) as.vector(stats::filter(x, 0.5, "recursive")))
  expect_as_r(function(x) { h <- stats::approxfun(1:3, x); h(1.5) })
  expect_as_r(function(x) base::pi * x)
  expect_as_r(function(x) { filter <- function(x) x[2]; filter(x) + sum(stats::filter(x, 0.5)) })
  e <- expect_error(jit(user(function(x) stats::no_such(x)))(x))
  expect_match(conditionMessage(e), "no_such", fixed = TRUE)
  # A user's own `::` is theirs.
  own <- user_env(function(x) stats::sd(x), `::` = function(pkg, name) function(x) x * 2)
  expect_identical(plain(jit(own)(x)), 2 * values)
})

test_that("compiled functions are reached", {
  f <- compiler::cmpfun(user(function(x) { y <- numeric(3); for (i in 1:3) y[i] <- x[i]; c(1, y) }))
  expect_identical(plain(jit(f)(x)), c(1, values))
  f <- user(function(x) { y <- numeric(3); for (i in 1:3) y[i] <- x[i]; c(1, y) })
  for (i in 1:4) f(values)
  expect_identical(plain(jit(f)(x)), c(1, values))
  helper <- compiler::cmpfun(user(function(x) c(1, x)))
  f <- user_env(function(x) { for (i in 1:4) y <- helper(x); y }, helper = helper)
  expect_identical(plain(jit(f)(x)), c(1, values))
})

test_that("every way into a trace is masked", {
  f <- user(function(x) { y <- numeric(3); y[2] <- x[1]^2; sum(c(0, y)) })
  expect_identical(plain(gradient(f)(x)$x), c(3, 0, 0))
  expect_identical(plain(value_and_gradient(f)(x)$value), 2.25)
  expect_identical(plain(hessian(f)(x)$x$x), diag(c(2, 0, 0)))
  expect_identical(plain(jvp(f, list(x), list(nv_tensor(c(1, 0, 0), "f64")))$tangent), 3)
  g <- user(function(x) { y <- numeric(3); y[2] <- x[1]; y })
  expect_identical(plain(jacobian(g)(x)$x), rbind(0, c(1, 0, 0), 0))
  expect_identical(plain(vmap(g)(nv_tensor(matrix(1:6, 2), "f64"))), rbind(c(0, 1, 0), c(0, 2, 0)))
  expect_identical(shape(eval_shape(g, x)), 3L)
  expect_s3_class(trace_fn(g, x), "AnvilGraph")
  body <- user(function(i, state) c(0, state)[1:3])
  expect_identical(plain(jit(user_env(function(x) nv_for(2L, x, body), body = body))(x)), c(0, 0, 1.5))
})

test_that("errors and frames are those of the user's function", {
  f <- user(function(x) { y <- numeric(3); y[2] <- x[1:2]; y })
  e <- expect_error(jit(f)(x), class = "anvil_error_arg")
  expect_identical(deparse1(conditionCall(e)), "y[2] <- value")
  e <- expect_error(jit(user(function(x) c(1, x, "a")))(x), class = "anvil_error")
  expect_identical(deparse1(conditionCall(e)), "c(1, x, \"a\")")
  f <- user(function(x) { y <- c("a", "b"); y[1] <- x[1]; y })
  e <- expect_error(jit(f)(x), class = "anvil_error_concrete")
  expect_match(conditionMessage(e), "`[<-`", fixed = TRUE)
  f <- user(function(x) { y <- c(1L, NA); y[1] <- x[1] > 0; y })
  expect_error(jit(f)(x), class = "anvil_error_arg", "NA")
  expect_error(jit(user(function(x) matrix(x, 2, 2)))(x), class = "anvil_error_arg", "`data`")
  f <- user(function(x) vapply(1:2, function(i) x, 0))
  expect_error(jit(f)(x), class = "anvil_error_arg", "FUN.VALUE")
  expect_error(jit(user(function(x) { y <- numeric(3); y[[7]]; x }))(x), "subscript out of bounds")
})

test_that("thousands of assignments are traced and run", {
  f <- user(function(par, y) {
    n <- length(y)
    e <- numeric(n)
    for (t in 2:n) e[t] <- (y[t] - par[1]) - par[2] * (y[t - 1] - par[1]) - par[3] * e[t - 1]
    sum(e^2)
  })
  set.seed(1)
  y <- rnorm(300)
  par <- c(0.1, 0.5, 0.2)
  expect_equal(plain(jit(f)(nv_tensor(par, "f64"), nv_tensor(y, "f64"))), f(par, y), tolerance = 1e-12)
})
test_that("R's vectors and arrays are subscripted by computed positions", {
  expect_as_r(function(x) c(5, 6, 7)[order(x)] * x)
  expect_as_r(function(x) { b <- c(1.5, 2, 3); b[(x > 0) + 1] * x })
  expect_as_r(function(x) matrix(1:6, 3)[which.max(x), ] * x[1])
  expect_as_r(function(x) matrix(1:6, 3)[order(x), 2] * x)
  expect_as_r(function(x) matrix(1:6, 3)[order(x), , drop = FALSE] * x[1])
  expect_as_r(function(x) matrix(1:6, 3)[order(x)] * x)
  expect_as_r(function(x) array(1:8, c(2, 2, 2))[which.max(x[1:2]), , 2] * x[1])
  expect_as_r(function(x) sum((1:3)[x > 0] * x[x > 0]))
  expect_as_r(function(x) { g <- cut(x, c(-3, 0, 1, 4), labels = FALSE); sum(c(0.1, 0.2, 0.3)[g] * x) })
  expect_as_r(function(x) { y <- c(a = 1, b = 2); for (i in 1:3) y <- y + y["a"] * x[i]; y })
  expect_as_r(function(x) matrix(1:6 / 2, 3)[cbind(order(x), c(1, 2, 2))] * x)
  expect_as_r(function(x) matrix(1:6 / 2, 3)[matrix(order(x), 1)] * x)
  out_of <- jit(user(function(x) matrix(1:6, 3)[cbind(1, order(x))]))
  expect_error(out_of(x), class = "anvil_error_index", "out of range")
  # Whatever else is subscripted, is so by R.
  expect_as_r(function(x) { l <- list(a = x, b = 2); sum(unlist(l["a"])) })
  expect_as_r(function(x) nlevels(factor(c("a", "b"))[1, drop = TRUE]) * x)
  expect_as_r(function(x) as.numeric((as.Date("2024-01-01") + 0:3)[2]) * x)
  expect_as_r(function(x) { m <- matrix(1:6, 2); x[1] * m[1, , drop = FALSE] + m[, 2][1] })
  expect_as_r(function(x) sapply(list(x, x^2), "[", 2))
  expect_as_r(function(x) unlist(Map(`[`, list(x, x), 1:2)))
  expect_as_r(function(x) {
    `[.money` <- function(x, i, j) if (missing(i)) unclass(x)[j] else unclass(x)[i] * 100
    s <- structure(c(1, 2, 3), class = "money")
    (s[2] + s[, 3]) * x
  })
  expect_error(jit(user(function(x) letters[order(x)]))(x), class = "anvil_error_concrete", "no text")
  beyond <- jit(user(function(x) c(1, 2)[order(x)]))
  expect_error(beyond(x), class = "anvil_error_index", "out of range")
})

test_that("vapply() gives the type of FUN.VALUE", {
  expect_as_r(function(x) vapply(1:3, function(i) x[i] > 0, 0), derived = FALSE)
  expect_as_r(function(x) vapply(1:3, function(i) x[i] * i, 0))
  expect_true(is_float(dtype(jit(user(function(x) vapply(1:3, function(i) x[i] > 0, 0)))(x))))
  wrong <- user(function(x) vapply(1:3, function(i) x[i], 1L))
  expect_error(jit(wrong)(x), class = "anvil_error_arg", "results of type integer")
})

# nolint end

test_that("identical() refuses to compare a traced value with a number", {
  x <- nv_tensor(c(0, 1))
  expect_error(jit(function(x) if (identical(x[1], 0)) 1 else 2)(x), class = "anvil_error_concrete")
  expect_error(jit(function(x) if (identical(TRUE, x > 0)) 1 else 2)(x), class = "anvil_error_concrete")
  expect_error(jit(function(x) identical(x[1], x[2]))(x), class = "anvil_error_concrete")
  for (compare in list(identical, all.equal)) {
    f <- user_env(function(x) same(list(1, a = list(x)), list(1, a = list(c(0, 1)))), same = compare)
    expect_error(jit(f)(x), class = "anvil_error_concrete")
  }
  # What is no number is not identical to one, and what is not traced is compared as ever.
  f <- jit(function(x) {
    c(identical(x, NULL), identical("a", x), identical(x, sum), identical(1, 1)) + 0 * x[1L]
  })
  expect_identical(as.vector(f(x)), c(0, 0, 0, 1))
})

test_that("functions that assign take their value last, without its name", {
  x <- nv_tensor(c(1, 2, 3), "f64")
  f <- function(x) `[<-`(x, 2, 0)
  expect_equal(as.vector(jit(f)(x)), c(1, 0, 3))
  expect_equal(as.vector(jit(function(x) `[[<-`(numeric(2), 2, x[3]))(x)), c(0, 3))
  expect_equal(as.vector(jit(function(x) `[<-`(diag(2), 1, , x[1:2]))(x)), c(1, 0, 2, 1))
})

test_that("replacement functions of the workspace are masked", {
  x <- nv_tensor(c(1, 2), "f64")
  home <- new.env(parent = globalenv())
  evalq({
    `second<-` <- function(x, value) {
      x[2] <- value
      x
    }
    `last<-` <- function(x, ..., value) UseMethod("last<-")
    `last<-.default` <- function(x, ..., value) {
      second(x) <- value
      x
    }
    f <- function(a) {
      v <- numeric(2)
      second(v) <- a[2]
      last(v) <- v[2] * 3
      v
    }
  }, home)
  expect_equal(as.vector(jit(home$f)(x)), c(0, 6))
})

test_that("vectors grow by names, once and again", {
  programs <- list(
    function(x) { v <- c(a = 1); v["b"] <- x; v["c"] <- 2 * x; v["a"] <- 7; v },
    function(x) { v <- numeric(0); v[["b"]] <- x; v[["c"]] <- 2 * x; v["b"] + v[["c"]] },
    function(x) { v <- c(a = x); v[c("c", "a", "b")] <- c(3, x, 5); v },
    function(x) { v <- c(a = x, b = 1); v[4] <- x; v["e"] <- x; sum(v[c(1, 2, 4, 5)]) * v["e"] }
  )
  for (f in programs) expect_equal(as.vector(jit(f)(nv_scalar(2, "f64"))), unname(f(2)))
})

test_that("%in%, is.vector() and is.factor() answer for traced values", {
  x <- nv_tensor(c(3, 1, NaN, 2), "f64")
  plain <- as.vector(x)
  expect_equal(as.vector(jit(function(x) x %in% c(1, NaN))(x)), plain %in% c(1, NaN))
  expect_equal(as.vector(jit(function(x) c(2, 9) %in% x)(x)), c(2, 9) %in% plain)
  expect_equal(dim(jit(function(m) m %in% 1:2)(nv_tensor(matrix(1:4, 2)))), 4L)
  z <- c(1+1i, 2, 3i)
  expect_equal(as.vector(jit(function(z) z %in% c(2, 3i))(nv_tensor(z))), z %in% c(2, 3i))
  asked <- function(x) c(
    is.vector(x), is.vector(x, "numeric"), is.vector(x, "double"), is.vector(x, "integer"),
    is.vector(x, "list"), is.factor(x)
  )
  expect_identical(as.logical(jit(asked)(x)), asked(plain))
  expect_identical(as.logical(jit(asked)(nv_tensor(1:3))), asked(1:3))
  expect_identical(as.logical(jit(asked)(nv_tensor(diag(2), "f64"))), asked(diag(2)))
  d <- data.frame(f = factor(c("b", "a", "b", "c")), y = c(1, 2, 4, 8))
  expect_equal(as.vector(jit(function(d) sum(d$y * (d$f %in% c("a", "c", "none"))))(d)), 10)
  expect_equal(as.vector(jit(function(d) if (is.factor(d$f) && !is.vector(d$f)) nlevels(d$f) else 0)(d)), 3)
})

test_that("unsplit() puts the parts of split() back", {
  f <- factor(c("a", "b", "a", "b"))
  g <- c(1, 1, 2, 1)
  r <- c(3, 9, 1, 4)
  for (fn in list(
    function(x) unsplit(split(x, f), f), function(x) unsplit(lapply(split(x, f), function(v) v - mean(v)), f),
    function(x) unsplit(lapply(split(x, list(f, g)), cumsum), list(f, g))
  )) expect_equal(as.vector(jit(fn)(nv_tensor(r, "f64"))), fn(r))
  expect_error(jit(function(x) unsplit(list(x, x), f))(nv_tensor(r)), class = "anvil_error_arg", "4 elements")
})

test_that("seq() between traced ends and log() to a traced base are R's", {
  r <- c(1.3, 7.7, 2)
  x <- nv_tensor(r, "f64")
  for (f in list(
    function(x) seq(x[1], x[2], length.out = 5), function(x) seq(x[1], x[2], len = 2),
    function(x) seq(x[1], x[2], length.out = 1), function(x) seq(0, x[2], length.out = 11),
    function(x) seq(x[1], by = x[2], length.out = 4), function(x) seq(to = x[1], by = 2, length.out = 4),
    function(x) seq(x[1], length.out = 4), function(x) seq(to = x[2], length.out = 3),
    function(x) seq(1, x[2], along.with = x), function(x) seq(x) * x,
    function(x) seq(1, 9, along.with = x) * x,
    function(x) log(8, x), function(x) log(x, 2), function(x) log(base = x, 8), function(x) log(x, x[3])
  )) expect_equal(as.vector(jit(f)(x)), f(r), tolerance = 1e-15, label = deparse1(body(f)))
  for (f in list(
    function(x) seq(x[1], x[2]), function(x) seq(1, 5, by = x[1]), function(x) seq(1, 5, length.out = x[3])
  )) expect_error(jit(f)(x), class = "anvil_error_concrete", "nv_seq")
  expect_error(jit(function(x) seq(x[1], 2, length.out = 1.5))(x), class = "anvil_error_arg", "length.out")
  expect_error(jit(function(x) seq(x, 2, length.out = 3))(x), class = "anvil_error_arg", "one number each")
  expect_error(jit(function(x) seq(x[1], 2, 1, 3))(x), class = "anvil_error_arg", "`by`")
})
