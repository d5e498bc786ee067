# Arguments that are left out, and arguments of names that nobody has: of every function, so that a new one is
# tested too.

# Generics of the methods package, as crossprod() before R 4.4, are base R's functions, and those in the place
# of base R's functions say what these say.
exports <- Filter(
  function(f) is.function(f) && !methods::is(f, "genericFunction"),
  sapply(setdiff(getNamespaceExports("anvil"), unlist(own_generics())), getExportedValue, ns = "anvil")
)
needed <- function(f) {
  arguments <- formals(f)
  setdiff(names(arguments)[vapply(arguments, identical, NA, quote(expr = ))], "...")
}

test_that("every exported function says which argument is missing", {
  expect_gt(length(exports), 130L)
  for (name in names(exports)) {
    all <- needed(exports[[name]])
    for (arg in all) {
      # No other argument is evaluated before.
      others <- lapply(setNames(nm = setdiff(all, arg)), function(other) quote(stop("evaluated")))
      call <- as.call(c(call("::", quote(anvil), as.name(name)), others))
      error <- tryCatch(eval(call, globalenv()), error = identity)
      expect_s3_class(error, "anvil_error_arg")
      expect_identical(
        unclass(error)[c("arg", "got")], list(arg = arg, got = "left out"), label = paste(name, arg)
      )
      expect_identical(conditionCall(error), call, label = paste("the call of", name))
    }
  }
})

test_that("an argument that a caller did not get is missing; one with a default is not", {
  f <- user(function(x) anvil::nv_sin(x))
  expect_fields(f(), "anvil_error_arg", arg = "operand")
  expect_identical(call_of(f()), "anvil::nv_sin(x)")
  g <- user(function(x = 0) anvil::nv_cos(x))
  expect_identical(as.double(g()), 1)
  expect_identical(as.double(jit(nv_cos)(nv_scalar(0))), 1)
  expect_fields(jit(nv_cos)(), "anvil_error_arg", arg = "operand")
})

test_that("the functions keep their formals, and are compiled as R compiles others", {
  expect_identical(formals(nv_add), as.pairlist(alist(lhs = , rhs = )))
  expect_identical(
    formals(nv_reduce_sum), as.pairlist(alist(operand = , axes = NULL, drop = TRUE, na_rm = FALSE))
  )
})

# ---- arguments of other names ----

x <- nv_tensor(c(1, 4, 2))
m <- nv_matrix(1:6, 2)
f <- function(a) a * 2
report <- explain_dtypes(function(a) a + 1L, nv_scalar(1))
values <- list(
  AnvilTensor = x, AnvilValue = x, AnvilDtype = dtype(x), AnvilAbstract = nv_abstract("f32", 2),
  AnvilGraph = trace_fn(f, x), AnvilMemoryPlan = memory_plan(f, x), AnvilPlan = explain_plan(f, x),
  AnvilStablehlo = stablehlo(f, x), AnvilPromotionTable = promotion_table("jax"),
  AnvilPromotionComparison = compare_promotion("jax", "torch"), AnvilDtypeReport = report,
  JitFunction = jit(f), AnvilCacheExplanation = explain_cache(jit(f)), AnvilOp = new_op("f", eval_r = f),
  AnvilModel = nv_model(dist ~ speed, cars), AnvilSitrep = anvil_sitrep(),
  AnvilQr = qr(m), AnvilRows = frame_rows(list(u = x))
)
# Methods by name and class, as R has registered them.
methods <- local({
  table <- as.data.frame(asNamespace("anvil")[[".__NAMESPACE__."]]$S3methods)
  setNames(table[[3L]], paste(table[[1L]], table[[2L]], sep = "|"))
})
any_name <- c("c", "cbind", "rbind", "pmax", "pmin", "order")
plots <- c("as.raster", "boxplot", "contour", "hist", "image", "mosaicplot", "persp")
with_dots <- function(name) "..." %in% names(formals(get(name, asNamespace("anvil"))))

test_that("no method swallows an argument that it does not know", {
  seen <- 0L
  for (key in names(methods)) {
    # Arguments of c(), cbind(), pmax() and order() may have any name; rep(), outer(), sweep(), by() and
    # functions of one argument hand theirs on, and so do plots to graphics, which takes parameters under many
    # names. R's own rep.int() takes no others.
    if (!with_dots(methods[[key]]) || startsWith(key, "Math|") ||
      key %in% paste0(c(any_name, "rep", "rep.int", "xtfrm", "outer", "sweep", plots), "|AnvilValue") ||
      key %in% paste0(c("pmax", "pmin", "sweep"), "|AnvilSelection") || key == "by|AnvilTensor") next
    parts <- strsplit(key, "|", fixed = TRUE)[[1L]]
    generics <- switch(
      parts[1L], Summary = c("sum", "prod", "max", "min", "range", "any", "all"), parts[1L]
    )
    call_with <- function(generic, value) {
      others <- switch(
        generic, "[<-" = , "[[<-" = , "split<-" = list(1, value = 1), "[" = , "[[" = list(1),
        quantile = list(0.5),
        all.equal = list(value), rowsum = list(rep(1, NROW(value))), findInterval = list(1),
        mahalanobis = list(0, diag(3)), split = list(1)
      )
      capture.output(do.call(generic, c(list(value), others, nonsense_argument = 1)))
    }
    for (generic in generics) {
      if (parts[2L] == "AnvilTracer") {
        call <- function(a) call_with(generic, a)
        expect_fields(jit(call)(x), "anvil_error_arg", arg = "nonsense_argument")
      } else if (parts[2L] == "AnvilSelection") {
        call <- function(a) call_with(generic, if (generic %in% c("any", "all")) a[a > 0] > 1 else a[a > 0])
        # What takes no selection says so first.
        never <- generic %in% c("[[", "[[<-")
        class <- if (never) "anvil_error_concrete" else "anvil_error_arg"
        expect_error(jit(call)(x), class = class, label = key)
      } else {
        # What there is for no tensor says so first.
        never <- parts[2L] == "AnvilAbstract" && generic %in% c("mean", getGroupMembers("Summary"))
        class <- if (never) "anvil_error_unsupported" else "anvil_error_arg"
        value <- if (generic %in% c("any", "all") && parts[2L] != "AnvilAbstract") {
          x > 1
        } else {
          values[[parts[2L]]]
        }
        error <- tryCatch(call_with(generic, value), error = identity)
        expect_identical(class(error)[1L], class, label = paste("the error of", key))
        if (!never) {
          expect_identical(error$arg, "nonsense_argument", label = paste("the argument that", key, "names"))
        }
      }
      seen <- seen + 1L
    }
  }
  expect_gt(seen, 50L)
})

test_that("no exported function swallows an argument that it does not know", {
  given <- list(
    explain_dtypes = list(f, x), explain_plan = list(f, x), memory_plan = list(f, x), stablehlo = list(f, x),
    vjp = list(f, x), linearize = list(f, x), trace_fn = list(f, x), eval_shape = list(f, x),
    compile_for = list(jit(f), x), tree_map = list(f, x), nv_broadcast_scalars = list(x),
    nv_broadcast_tensors = list(x),
    nv_concatenate = list(x), nv_stack = list(x), nv_meshgrid = list(x), nv_einsum = list("i", x),
    nv_promote_to_common = list(x), nv_dynamic_slice = list(x, 1, slice_sizes = 1),
    nv_dynamic_update_slice = list(x, nv_tensor(1), 1), nv_subset = list(x, 1),
    nv_subset_assign = list(x, 1, value = 0), nv_switch = list(1L, x), nv_order = list(x)
  )
  # nv_callback() hands its own on to the function.
  expect_setequal(c(names(given), "nv_callback"), Filter(with_dots, names(exports)))
  for (name in names(given)) {
    expect_error(do.call(name, given[[name]]), NA)
    error <- tryCatch(do.call(name, c(given[[name]], nonsense_argument = 1)), error = identity)
    expect_s3_class(error, "anvil_error_arg")
    expect_match(conditionMessage(error), "nonsense_argument", fixed = TRUE, label = name)
  }
})

test_that("the arguments that there are are named", {
  error <- expect_fields(
    sum(x, dims = 1L), "anvil_error_arg", arg = "dims", expected = c("na.rm", "axes", "drop")
  )
  expect_match(
    conditionMessage(error),
    "`sum()` has no argument `dims`.\ni Its arguments are `na.rm`, `axes`, `drop`.\ni Values", fixed = TRUE
  )
  expect_identical(call_of(sum(x, dims = 1L)), "sum(x, dims = 1L)")
  expect_fields(max(x, axis = 9), "anvil_error_arg", arg = "axis")
  expect_fields(
    mean(x, dims = 1L), "anvil_error_arg", arg = "dims", expected = c("x", "axes", "drop", "trim", "na.rm")
  )
  expect_fields(nv_concatenate(m, m, dim = 2), "anvil_error_arg", arg = "dim", expected = "axis")
  expect_fields(x[i = 1], "anvil_error_arg", arg = "i")
  expect_fields(m[1, , dorp = FALSE], "anvil_error_arg", arg = "dorp")
  expect_fields(trunc(x, 5), "anvil_error_arg", arg = "...", got = "")
  expect_fields(jit(function(a) mean(a, dims = 1L))(x), "anvil_error_arg", arg = "dims")
  expect_fields(trace_fn(f, x, b = x), "anvil_error_arg", got = "\"b\"")
})

test_that("what R hands on to methods is taken", {
  old <- options(digits = 5)
  on.exit(options(old))
  expect_output(print(list(x, dtype(x)), digits = 3), "AnvilTensor")
  expect_output(str(list(x, a = m)), "f32")
  expect_output(str(list(a = list(x)), max.level = 2, vec.len = 3), "f32")
  expect_length(format(list(x)), 1L)
  expect_true(all.equal(list(x, list(x)), list(x, list(x))))
  expect_true(all.equal(x, x, check.attributes = FALSE, scale = 1))
  expect_s3_class(data.frame(m), "data.frame")
  expect_s3_class(as.data.frame(m, row.names = c("a", "b")), "data.frame")
  expect_length(summary(x, digits = 3), 6L)
  expect_identical(sapply(list(x, x), sum), rep(as.vector(sum(x)), 2))
  expect_identical(vapply(c(2, 3), function(i) as.double(x[i]), 0), c(4, 2))
})

test_that("a variable that was left out of the caller's arguments is named", {
  f <- user(function(x, y) nv_matmul(x, y))
  error <- expect_fields(f(nv_matrix(1:4, 2)), "anvil_error_arg", arg = "rhs", variable = "y")
  expect_match(conditionMessage(error), "`rhs` must be given, not `y`, which was left out.", fixed = TRUE)
})

test_that("methods say which argument is missing", {
  x <- nv_scalar(1)
  expect_fields(all.equal(x), "anvil_error_arg", arg = "current", got = "left out")
  expect_identical(call_of(all.equal(x)), "all.equal(x)")
  expect_fields(all.equal(nv_abstract("f32")), "anvil_error_arg", arg = "current")
  # Before R 4.4 anvil's own; base R's takes arguments by position.
  if (getRversion() < "4.4.0") expect_error(crossprod(y = x), class = "anvil_error_arg")
  expect_identical(as.double(-x), -1)
})

test_that("an empty argument among those of a function is missing", {
  f <- function(x, y) x
  x <- nv_scalar(1)
  for (call in list(function() explain_plan(f, x, ), function() memory_plan(f, x, ),
                    function() stablehlo(f, x, ),
                    function() vjp(f, x, ), function() explain_dtypes(f, x, ))) {
    environment(call) <- list2env(list(x = x, f = f), parent = globalenv())
    expect_fields(call(), "anvil_error_arg", arg = "..2", got = "left out")
  }
})
