# Derivatives and batches that are exported, in XLA: see test-xla.R, and helper-transforms.R for the programs
# and how near their results are.

test_that("XLA and anvil agree on derivatives and batches", {
  python <- python_with_jax()
  data <- read_transforms()
  expect_same_in_xla(python, lapply(setNames(nm = names(transform_programs)), function(name) {
    program <- transform_programs[[name]]
    args <- typed_tensors(data[data$program == name, ], "argument")
    do.call(in_both, c(list(program$f), args, ulps = program$roundings))
  }))
})

test_that("XLA and anvil agree on transformations of one another", {
  python <- python_with_jax()
  wave <- function(...) nv_tensor(array(sin(seq_len(prod(...))), c(...)), dtype = "f64")
  root <- function(a) {
    a <- abs(a) + 1
    nv_while(a, function(x) abs(x * x - a) > 1e-10, function(x) (x + a / x) / 2)
  }
  folded <- function(x, w) {
    sum(nv_scan(function(s, x) list(sin(s + x * w), s * x), nv_scalar(0.5, "f64"), x)$ys)
  }
  rows <- list(x = 1L)
  # Orders of jvp(), gradient(), hessian() and vmap() around each other, through loops.
  along <- function(f) function(x, w) jvp(f, list(x, w), list(nv_fill(1, shape(x), "f64"), NULL))$tangent
  programs <- list(
    "jvp of while" = list(function(x) jvp(root, list(x[1]), list(x[2])), wave(2L)),
    "vmap of jvp of while" = list(
      vmap(function(a, v) jvp(root, list(a), list(v))$tangent), wave(4L), wave(4L)
    ),
    "jvp of vmap of while" = list(function(a, v) jvp(vmap(root), list(a), list(v)), wave(4L), wave(4L)),
    "gradient of vmap of scan" = list(
      gradient(function(x, w) sum(vmap(folded, rows)(x, w)^2L)), wave(3L, 5L), nv_scalar(0.7, "f64")
    ),
    "vmap of gradient of scan" = list(vmap(gradient(folded), rows), wave(3L, 5L), nv_scalar(0.7, "f64")),
    "vmap of vmap of scan" = list(
      vmap(vmap(folded, rows), list(w = 1L), out_axes = 2L), wave(3L, 5L), wave(2L)
    ),
    "vmap of hessian of scan" = list(vmap(hessian(folded), rows), wave(3L, 5L), nv_scalar(0.7, "f64")),
    "hessian of jvp" = list(hessian(along(folded)), wave(5L), nv_scalar(0.7, "f64")),
    "jvp of jvp of vmap" = list(along(along(vmap(folded, rows))), wave(3L, 5L), nv_scalar(0.7, "f64")),
    "jacobian of jacobian" = list(
      jacobian(jacobian(function(x) list(exp(x) * rev(x), prod(x))), mode = "reverse"), wave(3L)
    ),
    "vmap of reads and writes at indices" = list(
      vmap(function(x, i) {
        x[i] <- x[[i]] * 2
        x
      }), wave(3L, 5L), nv_tensor(c(2L, 5L, 1L))
    ),
    "gradient of vmap of branches" = list(
      gradient(function(x, y) sum(vmap(function(x, y) nv_if(x > 0, x * sum(y), y[1] * 2))(x, y)^2L)),
      wave(4L), wave(4L, 2L)
    )
  )
  # Some dozens of roundings, at most 40 in a loop that follow one another.
  expect_same_in_xla(python, lapply(programs, function(p) do.call(in_both, c(p, ulps = 64))))
})
