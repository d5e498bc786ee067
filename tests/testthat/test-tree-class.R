linear <- function(w, b, link = "identity") structure(list(w = w, b = b, link = link), class = "linear")
predict_linear <- function(model, x) {
  eta <- x %*% model$w + model$b
  if (model$link == "log") exp(eta) else eta
}
parts_of_linear <- function(x) list(children = list(w = x$w, b = x$b), static = x$link)
new_linear <- function(children, static) linear(children$w, children$b, static)
register_tree_class("linear", parts_of_linear, new_linear)

x <- nv_tensor(matrix(c(1, 2, 3, 4, 5, 6), 3), dtype = "f64")
y <- nv_tensor(matrix(c(1, 0, 1), 3), dtype = "f64")
model <- linear(nv_tensor(matrix(c(0.5, -0.25), 2), dtype = "f64"), nv_scalar(0.125, "f64"))
loss <- function(model) mean((predict_linear(model, x) - y)^2)
# The same of a bare list, which is what an object should agree with.
plain <- function(model) list(w = model$w, b = model$b)
plain_loss <- function(p) loss(linear(p$w, p$b))

test_that("objects are arguments and results of jitted functions", {
  f <- jit(function(model, k) {
    expect_s3_class(model, "linear")
    expect_true(inherits(model$w, "AnvilTracer"))
    linear(model$w * k, model$b + k, model$link)
  })
  out <- f(model, 2)
  expect_identical(out, linear(model$w * 2, model$b + 2))
  expect_identical(f(out, 1), linear(out$w * 1, out$b + 1))
  expect_identical(cache_info(f)[c("entries", "hits")], list(entries = 1L, hits = 1L))
  # Unchanged, deep in lists, twice, and one of constants.
  nest <- list(a = model, list(NULL, model))
  expect_identical(jit(identity)(nest), nest)
  expect_identical(jit(function() nest)(), nest)
  expect_identical(jit(function(m) list(m, m$w))(model)[[1L]], model)
  # In dots, and as the argument of a jitted function in another.
  expect_identical(jit(function(...) list(...)[[2L]])(1, m = model), model)
  expect_identical(jit(function(m) f(m, 2))(model), out)
  # Numbers, and an object in an object.
  expect_elements(jit(function(m) m$b)(linear(1, 2)), 2, "f32?[]")
  inner <- linear(model, list(1, model))
  expect_identical(jit(function(m) m)(inner)$w, model)
  # Without children.
  expect_identical(jit(function(m) m)(linear(NULL, list())), linear(NULL, list()))
})

test_that("the class and the static part are part of the cache key", {
  traces <- 0L
  f <- jit(function(model) {
    traces <<- traces + 1L
    predict_linear(model, x)
  })
  log_model <- linear(model$w, model$b, "log")
  expect_identical(f(model), x %*% model$w + model$b)
  expect_equal(as.double(f(log_model)), as.double(exp(x %*% model$w + model$b)))
  f(model)
  f(log_model)
  expect_identical(traces, 2L)
  # A list of the same parts is another argument, and so is an object of another class.
  g <- jit(function(m) if (inherits(m, "linear")) m$b else m$b * 2)
  expect_identical(g(model), model$b)
  expect_identical(g(plain(model)), model$b * 2)
  register_tree_class(
    "linear2", function(x) list(children = list(w = x$w, b = x$b), static = x$link),
    function(children, static) structure(linear(children$w, children$b, static), class = "linear2")
  )
  expect_identical(g(structure(model, class = "linear2")), model$b * 2)
  expect_identical(cache_info(g)$entries, 3L)
  # Names of children.
  swapped <- 0L
  register_tree_class(
    "named", function(x) list(children = unclass(x)),
    function(children, static) structure(children, class = "named")
  )
  h <- jit(function(x) x$a)
  expect_elements(h(structure(list(a = 1, b = 2), class = "named")), 1, "f32?[]")
  expect_elements(h(structure(list(b = 1, a = 2), class = "named")), 2, "f32?[]")
  # Functions may be static, by their code and variables.
  by <- function(k) function(x) x * k
  apply_link <- jit(function(m) m$link(m$w))
  expect_elements(apply_link(linear(1, 2, by(3))), 3, "f32?[]")
  expect_elements(apply_link(linear(1, 2, by(4))), 4, "f32?[]")
  apply_link(linear(5, 2, by(4)))
  expect_identical(cache_info(apply_link)$hits, 1L)
})

test_that("derivatives have the structure of the object", {
  expect_identical(plain(gradient(loss)(model)$model), gradient(plain_loss)(plain(model))$p)
  expect_s3_class(gradient(loss)(model)$model, "linear")
  expect_identical(gradient(loss)(model)$model$link, "identity")
  expect_identical(jit(gradient(loss))(model), gradient(loss)(model))
  both <- value_and_gradient(loss)(model)
  expect_identical(both$value, loss(model))
  # A path into it.
  expect_identical(gradient(loss, "model$w")(model)$`model$w`, gradient(loss)(model)$model$w)
  deep <- function(p) loss(p$m[[1L]])
  expect_identical(gradient(deep, "p$m[[1]]$b")(list(m = list(model)))[[1L]], gradient(loss)(model)$model$b)
  expect_error(gradient(loss, "model$link")(model), class = "anvil_error_arg", "paths into the arguments")
  expect_error(gradient(loss, c("model", "model$w"))(model), class = "anvil_error_arg", "overlap")
  expect_error(gradient(loss)(linear(1L, 2L)), class = "anvil_error_grad", "model")
  # Second derivatives, and a pullback of an object and to one.
  second <- gradient(function(model) sum(gradient(loss)(model)$model$w))(model)$model
  expect_identical(plain(second), gradient(function(p) sum(gradient(plain_loss)(p)$p$w))(plain(model))$p)
  out <- vjp(function(m) linear(m$w * 2, m$b * m$b), model)
  expect_identical(out$value, linear(model$w * 2, model$b * model$b))
  pulled <- out$pullback(linear(model$w, nv_scalar(1, "f64")))[[1L]]
  expect_identical(pulled, linear(model$w * 2, model$b * 2))
  # With a derivative of its own.
  doubled <- custom_gradient(
    function(m) sum(m$w) * m$b, function(m) list(sum(m$w) * m$b, m),
    function(kept, g) {
      expect_s3_class(kept, "linear")
      list(linear(kept$w * g, kept$b * g * 2))
    }
  )
  expect_identical(gradient(doubled)(model)$m, linear(model$w, model$b * 2))
})

test_that("objects are states of loops, slices and results of branches", {
  step <- function(m) {
    g <- gradient(loss)(m)$model
    linear(m$w - 0.01 * g$w, m$b - 0.01 * g$b, m$link)
  }
  names(formals(step)) <- "m"
  expected <- step(step(model))
  same <- function(out) {
    expect_s3_class(out, "linear")
    expect_equal(as.double(out$w), as.double(expected$w), tolerance = 1e-14)
  }
  loops <- function(model) {
    list(
      nv_for(2L, model, function(i, m) step(m)),
      nv_while(list(i = 0L, m = model), \(i, m) i < 2L, \(i, m) list(i = i + 1L, m = step(m)))$m,
      nv_scan(function(m, i) list(step(m), NULL), model, NULL, length = 2)$carry
    )
  }
  lapply(loops(model), same)
  expect_identical(jit(loops)(model), loops(model))
  # Slices along the first axis of each child, stacked results.
  many <- linear(nv_tensor(c(1, 2, 3)), nv_tensor(c(4, 5, 6)))
  out <- nv_scan(function(s, m) list(s + m$w * m$b, linear(m$b, m$w)), 0, many)
  expect_elements(out$carry, 32, "f32[]")
  expect_identical(out$ys, linear(many$b, many$w))
  chosen <- nv_if(nv_scalar(FALSE), model, step(model))
  expect_identical(chosen, step(model))
  expect_identical(
    gradient(function(m) nv_if(sum(m$w) > 0, loss(m), 0 * loss(m)))(model)$m, gradient(loss)(model)$model
  )
  # What is not the same object is refused.
  for (bad in list(
    function(m) linear(m$w, m$b, "log"), function(m) list(w = m$w, b = m$b),
    function(m) structure(m, class = "linear2")
  )) {
    expect_error(nv_for(2L, model, function(i, m) bad(m)), class = "anvil_error_structure", "linear")
    expect_error(nv_if(TRUE, model, bad(model)), class = "anvil_error_structure", "linear")
  }
})

test_that("tree functions, types, plans and exports take objects", {
  expect_identical(
    tree_paths(list(a = model, model)), c("tree$a$w", "tree$a$b", "tree[[2]]$w", "tree[[2]]$b")
  )
  expect_identical(tree_leaves(model), list(model$w, model$b))
  expect_identical(tree_map(function(p) p * 2, model), linear(model$w * 2, model$b * 2))
  expect_error(tree_map(`+`, model, plain(model)), class = "anvil_error_structure", "linear")
  expect_error(
    tree_map(`+`, model, linear(1, 2, "log")), class = "anvil_error_structure", "static part"
  )
  shapes <- eval_shape(function(m) linear(m$b, m$w, "log"), model)
  expect_identical(shapes, linear(nv_abstract("f64"), nv_abstract("f64", c(2, 1)), "log"))
  f <- jit(loss)
  compile_for(f, linear(nv_abstract("f64", c(2, 1)), nv_abstract("f64")))
  expect_identical(f(model), loss(model))
  expect_identical(cache_info(f)[c("hits", "misses")], list(hits = 1L, misses = 1L))
  program <- stablehlo(loss, model)
  expect_identical(names(program$inputs), c("model$w", "model$b"))
  expect_s3_class(explain_plan(loss, model), "AnvilPlan")
  expect_s3_class(trace_fn(loss, model), "AnvilGraph")
  expect_identical(names(attr(explain_dtypes(loss, model), "inputs")), c("model$w", "model$b"))
  expect_error(f(linear(sum, 1)), class = "anvil_error_arg", "`model$w`", fixed = TRUE)
  expect_error(
    jit(function(m) linear(m$w, sum))(model), class = "anvil_error_arg", "`the result$b`", fixed = TRUE
  )
})

test_that("forward mode, Hessians and batches have the structure of the object", {
  double <- function(m) linear(m$w * m$b, m$b * 2, m$link)
  out <- jvp(double, list(model), list(linear(model$w, nv_scalar(1, "f64"))))
  expect_identical(out$value, double(model))
  expect_identical(out$tangent, linear(model$w * model$b + model$w, nv_scalar(2, "f64")))
  expect_identical(
    as.double(jit(hessian(loss, flat = TRUE))(model)), as.double(hessian(loss, flat = TRUE)(model))
  )
  expect_identical(
    as.double(hessian(loss, flat = TRUE)(model)), as.double(hessian(plain_loss, flat = TRUE)(plain(model)))
  )
  many <- linear(nv_tensor(matrix(c(1, 2, 3, 4, 5, 6), 3)), nv_tensor(c(1, 2, 3)))
  out <- vmap(double)(many)
  expect_s3_class(out, "linear")
  expect_elements(out$b, c(2, 4, 6), "f32[3]")
  expect_elements(out$w, c(1, 4, 9, 4, 10, 18), "f32[3, 2]")
})

test_that("what cannot be registered is refused", {
  flatten <- function(x) list(children = list())
  unflatten <- function(children, static) structure(list(), class = "other")
  for (
    class in list(
      1, "", NA_character_, c("a", "b"), "AnvilTensor", "AnvilAbstract", "JitFunction", "list", "numeric"
    )
  ) {
    expect_fields(register_tree_class(class, flatten, unflatten), "anvil_error_arg", arg = "class")
  }
  expect_fields(register_tree_class("other", 1, unflatten), "anvil_error_arg", arg = "flatten")
  expect_fields(register_tree_class("other", flatten, function(x) x), "anvil_error_arg", arg = "unflatten")
  expect_identical(expect_invisible(register_tree_class("other", flatten, unflatten)), "other")
  methods::setClass("AnS4Tree", representation(w = "numeric"), where = globalenv())
  on.exit(methods::removeClass("AnS4Tree", where = globalenv()))
  expect_error(register_tree_class("AnS4Tree", flatten, unflatten), class = "anvil_error_arg", "S4")
  # Objects that can change in place, and S4 objects of an S3 class.
  reference <- structure(new.env(), class = "other")
  e <- expect_fields(jit(identity)(reference), "anvil_error_structure", tree_class = "other")
  expect_match(conditionMessage(e), "environment, as an R6 object is", fixed = TRUE)
  expect_error(
    jit(identity)(asS4(structure(list(), class = "other"))), class = "anvil_error_structure", "S4 object"
  )
  # Unknown classes, and those that inherit.
  expect_error(
    jit(identity)(structure(list(1), class = "unknown")), class = "anvil_error_arg", "register_tree_class"
  )
  expect_error(
    jit(identity)(structure(list(1), class = c("below", "linear"))), class = "anvil_error_arg", "<below>"
  )
})

test_that("functions that fail or give something else are classed errors", {
  register <- function(flatten = function(x) list(children = list(x$w)), unflatten = function(
    children, static
  ) {
    structure(list(w = children[[1L]]), class = "bad")
  }) {
    register_tree_class("bad", flatten, unflatten)
    jit(function(m) m)
  }
  bad <- structure(list(w = nv_scalar(1)), class = "bad")
  said <- function(f, text) {
    e <- expect_fields(f(bad), "anvil_error_structure", tree_class = "bad")
    expect_match(conditionMessage(e), text, fixed = TRUE)
    expect_identical(deparse1(conditionCall(e)), "f(bad)")
    expect_no_open_trace()
  }
  expect_identical(register()(bad), bad)
  said(register(function(x) stop("no parts")), "`flatten` of <bad> failed.\nx no parts")
  said(register(function(x) x$w), "must give `list(children = , static = )`")
  said(register(function(x) list(x$w)), "must give `list(children = , static = )`")
  said(register(function(x) list(children = x$w)), "children that are an object of class <AnvilTensor>")
  said(register(function(x) list(children = list(x$w), more = 1)), "It gives a list of `children`, `more`.")
  said(register(, function(children, static) stop("no object")), "`unflatten` of <bad> failed.\nx no object")
  said(register(, function(children, static) children), "It gives a list of length 1.")
  said(
    register(, function(children, static) structure(children, class = "linear")), "It gives one of <linear>."
  )
  said(
    register(, function(children, static) structure(list(w = 1, 2), class = c("bad", "worse"))),
    "<bad> <worse>"
  )
  # Other parts than before.
  said(
    register(, function(children, static) structure(list(w = NULL), class = "bad")),
    "Its children have other values."
  )
  said(register(function(x) list(children = list(x$w * 2))), "Its children have other values.")
  n <- 0
  said(register(function(x) list(children = rep(list(x$w), n <<- n + 1))), "takes apart as before")
  said(
    register(function(x) list(children = list(x$w), static = n <<- n + 1)), "Its static part is another one."
  )
  # An error of anvil's is what it was.
  reads <- register(, function(children, static) {
    if (children[[1L]] > 0) structure(list(w = children[[1L]]), class = "bad")
  })
  expect_error(reads(bad), class = "anvil_error_concrete")
  # What can change is no static part, nor is a traced value.
  f <- register(function(x) list(children = list(x$w), static = new.env()))
  e <- expect_error(f(bad), class = "anvil_error_static")
  expect_match(conditionMessage(e), "The static part of an object in `m` must be a value", fixed = TRUE)
  f <- jit(function(w) structure(list(w = w), class = "bad"))
  register(function(x) list(children = list(), static = x$w))
  expect_error(f(nv_scalar(1)), class = "anvil_error_structure", "not a traced value")
  expect_no_open_trace()
})

test_that("a class that is registered again has its new functions, and programs of its own", {
  flatten <- function(x) list(children = list(x$a, x$b))
  unflatten <- function(children, static) structure(
    list(a = children[[1L]], b = children[[2L]]), class = "twice"
  )
  register_tree_class("twice", flatten, unflatten)
  x <- structure(list(a = 1, b = 2), class = "twice")
  f <- jit(function(m) m$a)
  expect_elements(f(x), 1, "f32?[]")
  f(x)
  register_tree_class(
    "twice", function(x) list(children = list(x$b), static = x$a),
    function(children, static) structure(list(a = static, b = children[[1L]]), class = "twice")
  )
  expect_elements(f(x), 1, "f32?[]")
  expect_identical(cache_info(f)[c("entries", "hits")], list(entries = 2L, hits = 1L))
  expect_identical(tree_leaves(x), list(2))
})

test_that("objects survive garbage collections", {
  work <- function() {
    register_tree_class("linear", parts_of_linear, new_linear)
    f <- jit(function(m) list(linear(m$w * 2, m$b), m))
    for (i in 1:2) out <- f(linear(nv_tensor(c(1, 2)), list(nv_scalar(3), i)))
    out
  }
  helpers <- list(linear = linear, parts_of_linear = parts_of_linear, new_linear = new_linear)
  results <- tortured(work, 20, helpers)
  expect_identical(results$got, results$want)
  expect_elements(results$got[[1L]]$w, c(2, 4), "f32[2]")
  expect_s3_class(results$got[[2L]], "linear")
})
