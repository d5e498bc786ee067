# What a traced function sees in the place of functions of base R's that look at their first argument alone,
# or read what a function gives that they call. The function is evaluated as a copy whose environment is a
# mask between its own environment and its calls. What the mask binds, is in mask-functions.R.

#' R code in a traced function
#'
#' Functions of base R look for a method for their first argument: `c(1, x)`, `y[2] <- x[1]` with an R vector
#' `y`, `sapply(1:3, function(i) x[i])` see no tensor there. Eagerly that is right, since a tensor is an R
#' vector whose elements they take. In a traced function there are no elements yet. So what is traced sees
#' other functions of these names, which look at all arguments and at what functions give, and make tensors
#' of them. Without a traced value among these, they call base R's own.
#'
#' @section What is masked:
#' * subscripts: `[`. R's vectors and arrays have elements at computed places: `c(10, 20, 30)[g]`,
#'   `beta[order(x), ]`; names are dropped. A list or strings have none;
#' * names: `names unname`. Where values decide which names there are, as of `sort(x)`, `x[order(x)]` and
#'   `which.max(x)`, `names()` is an error;
#' * assignment: `[<- [[<- diag<- replace`. An R vector or array that is assigned a traced value becomes a
#'   traced value: of the dtype that [common_dtype()] gives its numbers, which are ambiguous as those of other
#'   R data, and the value. A list stays a list. `NULL` and vectors grow as R's do, values are recycled, a
#'   matrix of logicals and a matrix with a row of positions for each element select elements. `NA` becomes
#'   NaN; it is an error where integers or logicals are assigned.
#' * what joins values: `c append unlist as.numeric sum prod max min range any all do.call`, and `relist`.
#' * what calls a function: `lapply sapply vapply mapply rapply Map Reduce Filter apply asplit replicate
#'   Vectorize simplify2array deriv deriv3`. `sapply()` and its like call it for each element of a traced
#'   vector too: the program holds each of these calls. For eight lines of an array or elements and more,
#'   `apply sapply vapply mapply` trace a function once for all, as [vmap()] does, if its code shows no
#'   effects: it draws and prints nothing, and assigns nothing outside of itself. Where what it gives is
#'   traced, it is joined to a vector, or to a matrix with a column for each call, as R does. `Filter()` of
#'   a traced vector gives a selection.
#' * groups: `factor as.factor ordered as.ordered relevel interaction cut match is.element table split subset
#'   unsplit tapply by ave rowsum aggregate xtabs addmargins contrasts`, and `as.data.frame()` of counts. A
#'   traced value becomes a factor by `factor(g, levels = 1:k)`, or by `cut()` at breaks: codes that know
#'   their levels, as the columns of data frames are. Logicals are groups with the levels `FALSE` and `TRUE`:
#'   `tapply(y, x > 1, mean)`. `tapply(x, g, mean)`, `table(g)` and `ave(x, g)`
#'   have values for all levels; a group without elements has NaN where R has `NA`. `rowsum(x, g)` and
#'   `aggregate(y ~ g, d, mean)` of traced groups have rows for all levels, or combinations of levels, where R
#'   leaves out those without elements: their sum is 0, and what `aggregate()` gives is NaN. `split(x, g)` and
#'   `subset()` give [selections], of data frames their columns, which `lm()` takes. What is none of the
#'   levels is in no group; its code is 0, and an `anvil_error_index` where it is used as a number.
#'   `droplevels()` is an error. A factor is no number, as in R: `f + 1`, `+f`, `max(f)` and `matrix(f)` are
#'   errors, `as.integer(f)` are its codes, and `as.numeric(levels(f))[f]` the numbers that its labels say;
#'   there is no text, of `as.vector(f)` either. Beside other values it is its labels: `f == g`, `f %in% g`,
#'   `match(f, g)` and `f[2] <- g[1]` of two factors, `f == x` of numbers where the labels are numbers. It
#'   takes labels, `f[2] <- "a"`, names, `levels(f) <- c("p", "q")`, and contrasts. An ordered factor has an
#'   order, `f > "low"`, `f < g`, `max(f)`, of which what is none of the levels is no part;
#' * data frames of traced columns: `d[d$y > 0, ]` gives selections as `subset()` does, `d[order(d$x), ]` a
#'   data frame, both without names of rows; `d[d$y > 0, "x"] <- 0`, `d[2, ] <- v` and `d[d < 0] <- 0` assign,
#'   `d > 0` is a matrix; `rbind stack data.frame transform na.omit complete.cases`. Strings become factors
#'   where computed rows are taken;
#' * formulas: `model.frame model.matrix lm aov`, and of what `lm()` gives `coef resid fitted predict summary
#'   vcov confint confint.default logLik AIC BIC deviance anova hatvalues rstandard rstudent cooks.distance`.
#'   Variables are evaluated as R does, factors by their contrasts, and so is `subset`; `model.frame()` takes
#'   one that is known. Rows with NaN stay, which R leaves out: `lm(y ~ x, na.omit(d))`. Where columns depend
#'   on others, all coefficients are NaN. `predict()` has `se.fit` and `interval`, and takes
#'   new data for terms `poly(x, 2)` and `scale(x)`. What `aov()` gives is that too, with the table of
#'   variances for a summary: `summary(aov(y ~ g, d))[[1]]`. A program gives parts of a model, such as
#'   `coef(lm(y ~ x, d))`, not it;
#' * generalized linear models: `glm glm.fit` of R's families but for `quasi()`, with their links but for
#'   those of `power()`, and of what `glm()` gives the same functions, but for `confint()`, which is of the
#'   likelihood, and `anova()` of one model. The fit takes R's steps, as many as `control` says. Where R
#'   stops with an error, such as for a response below 0 of `poisson()`, all is NaN; where it warns that
#'   the steps did not converge, `fit$converged` is `FALSE`;
#' * nonlinear models: `nls` by R's steps, with derivatives in the place of differences, and of what it gives
#'   `coef resid fitted predict summary vcov confint.default logLik AIC BIC deviance`. Where R stops, all is
#'   NaN;
#' * what makes arrays: `matrix array`, `seq` with a known `length.out`, and of data frames with traced
#'   columns their matrix: `as.matrix data.matrix t scale`;
#' * what looks at its first argument, as in `log(8, x)`: `log`; and what R has for its own vectors alone:
#'   `sort.int sort.list pmax.int pmin.int`;
#' * functions of stats and utils that read elements: `filter acf pacf ccf p.adjust combn max.col approxfun
#'   stepfun ecdf spline splinefun mad complete.cases`, and `quantile()` of what `ecdf()` gives. `acf()` and
#'   its like take `plot = FALSE` and give a list, in which lags count elements; `max.col()` takes the first
#'   of equal elements or the last, `p.adjust()` all methods but `"hommel"`. `spline()` and `splinefun()` take
#'   traced values at known points. What `approxfun()`, `stepfun()`, `ecdf()` and `splinefun()` give takes
#'   traced values, also if it was made outside of the traced function, of known points;
#' * tests: `t.test var.test cor.test wilcox.test kruskal.test bartlett.test oneway.test chisq.test prop.test
#'   binom.test mcnemar.test friedman.test Box.test shapiro.test`. They give lists of what R's give, such as
#'   `cor.test(x, y)$p.value`, without a class and without text. `wilcox.test()` has R's exact p-value where
#'   no elements are equal, and elsewhere the normal one, as R before 4.6; of selections, and in `cor.test()`
#'   by ranks, it takes `exact = FALSE`. Missing values are not left out;
#' * `uniroot optimize integrate density zapsmall` of functions and elements that are traced. `uniroot()` and
#'   `optimize()` take R's steps, each with one call of the function in a loop of the program; what they find
#'   has derivatives with respect to what the function uses, as its equation says them. `integrate()` halves
#'   the interval with the largest error until its tolerance is met, without the extrapolation that R has
#'   beside that. Where R stops, such as at ends of one sign, the result is NaN;
#' * least squares and their like: `lm.fit lm.wfit .lm.fit lsfit prcomp princomp cov.wt poly dist as.dist
#'   bw.nrd0 bw.nrd`. They give lists of what R's give, without classes, for columns that are independent.
#'   Components of `prcomp()` are unique up to their signs; `predict()` takes them, with new data, and
#'   `summary()`.
#'   `dist()` and `as.dist()` give distances of which `as.matrix()` makes a matrix, also after operators:
#'   `as.matrix(exp(-dist(x)^2))`;
#' * what asks: `class inherits is`, which see the class of the R vector, as do the user's own generics that
#'   look for methods such as `area.numeric()` and `area.matrix()`; `seq_along %in% is.vector is.factor which
#'   arrayInd`, `storage.mode<-` and `mode<-`, and `identical all.equal`, which are errors where
#'   elements decide that are not known;
#' * classes and attributes: `unclass class<- oldClass<- attributes<- structure`. A traced value keeps a class
#'   of the user's until it is computed with, and methods for that class are found. Tensors that a program
#'   gives have none;
#' * `tryCatch()` and `try()`: a handler of errors does not take that a function reads a traced value, an
#'   `anvil_error_concrete`, unless it is one of that class. The program would be what the code does after a
#'   failure. That holds for R's own words about a traced value that a function is given, too.
#'
#' What is made of R vectors so, keeps R's meaning of `A[2]` with a matrix `A`: an element. See
#' [nv_subset()].
#'
#' @section Reach:
#' Masked are the function that is traced, what is defined in it, and the functions that it calls by name and
#' that are defined in the workspace, in other functions or, for a function of a package, in the same package;
#' S3 methods among them. A function in a list or an environment is reached where it is called as
#' `model$loss(x)` or `losses[[i]](x)`, where it is an argument, and where a masked function, such as
#' `sapply()`, is given it. So is one that `get()` or `match.fun()` takes by its name, and one of which
#' `Vectorize()` or `Negate()` made another outside of the traced function. Functions of links and families,
#' such as `binomial()$linkinv`, take traced values where `glm()` does. `stats::filter()` is what `filter()`
#' is, and `stats::sd()` anvil's `sd()`; so is a function of R's under another name, such as `spread` after
#' `spread <- stats::mad`, or in a list, as `lapply(list(stats::mad, stats::sd), function(f) f(x))`.
#' Functions of other packages see base R's functions: where they read a traced value, it is an error of
#' class `anvil_error_concrete`, which names the function. A function of
#' these names that is the user's own is never masked. A variable of the name hides no function in R, and
#' none here, unless the code of the function reads the variable as well. A name is looked up when the
#' function is traced.
#'
#' `for`, `if`, `while` and `switch` cannot be masked: `for (i in seq_along(x))` with `x[i]` works, and
#' [nv_for()], [nv_if()] and [nv_while()] say the others.
#'
#' A masked function is a copy: `sys.function()` has the environment of the mask. All else is as in the
#' original: its source references, its default arguments, `<<-`, recursion, `missing()`, `match.arg()`,
#' `match.call()`, `on.exit()`.
#'
#' @examples
#' f <- jit(function(x) {
#'   e <- numeric(3)
#'   for (t in 2:3) e[t] <- x[t] - 0.5 * e[t - 1]
#'   c(0, e, sapply(1:2, function(i) x[i]^2))
#' })
#' f(nv_tensor(c(1, 2, 3)))
#' L <- jit(function(x) {
#'   L <- matrix(0, 2, 2)
#'   L[lower.tri(L, diag = TRUE)] <- x
#'   diag(L) <- exp(diag(L))
#'   L
#' })
#' L(nv_tensor(c(1, 2, 3)))
#' slope <- jit(function(d) coef(lm(dist ~ speed, d[d$speed > 10, ]))["speed"])
#' slope(cars)
#' @seealso [selections] for `x[mask]` with a mask that the program computes, [base-functions] for what the
#'   functions of R give for tensors
#' @name masked-functions
NULL

mask_functions <- with_users_methods(c(
  mask_base, mask_calls, mask_classes, mask_conditions, mask_counts, mask_diagnostics, mask_formulas,
  mask_frames, mask_glm, mask_groups, mask_interpolation, mask_models, mask_nls, mask_numerics,
  mask_statistics, mask_tests
))

# A user's function with a mask, and so what it calls; one that R made of points, see interpolating(), or of a
# user's function. Any other function as it is. `masks` are those that there are, one for each enclosure.
masked <- function(f, masks = new_masks(f)) {
  home <- environment(f)
  if (!is_masked_kind(f, masks)) {
    if (is_wrapper(f)) return(masked_wrapper(f, masks))
    return(in_place_of(f) %||% interpolating(f))
  }
  if (!is.null(masks_of(home))) return(f)
  seen <- seen_from(home)
  mask <- mask_of(home, masks, variables_in(f, seen), seen)
  bind_callees(f, mask, masks)
  is_debugged <- isdebugged(f)
  # Its compiled code, in which calls of base R's functions are inlined, is dropped by this.
  environment(f) <- mask
  if (is_debugged) debug(f)
  f
}

# `homes` are the packages whose functions are masked: those of functions that are traced.
new_masks <- function(f) {
  masks <- new.env(parent = emptyenv())
  masks$all <- list()
  masks$homes <- list()
  if (!is.primitive(f)) {
    top <- topenv(environment(f))
    if (is_of_package(f) && !is_of_r(top)) masks$homes <- list(top)
  }
  masks
}

# The masks that a function defined here sees.
masks_of <- function(env) get0(".anvil_masks", env)

# Whether a package is part of R, or this one: their functions are never masked.
is_of_r <- function(namespace) {
  if (identical(namespace, baseenv()) || !isNamespace(namespace)) return(TRUE)
  getNamespaceName(namespace) %in% c(
    "base", "stats", "utils", "methods", "graphics", "grDevices", "tools", "parallel", "compiler", "splines",
    "stats4", "tcltk", "grid", getNamespaceName(topenv())
  )
}

# Whether what is called, in whose body this is asked, is called by a function of R's, or by one of ours;
# `frame` is that of the caller. What `lapply()` calls and its like, it calls for the user.
is_called_by_r <- function(frame, or_by_us = FALSE, for_user = list(lapply, base::vapply, mapply)) {
  top <- topenv(frame)
  if (identical(top, globalenv()) || !isNamespace(top)) return(FALSE)
  # Tests are below a copy of a namespace.
  is_package <- is_of_r(top) && identical(top, .getNamespace(getNamespaceName(top)))
  if (!is_package || !or_by_us && identical(top, topenv())) return(FALSE)
  caller <- sys.function(sys.parent(2L))
  !any(vapply(for_user, identical, NA, caller))
}

is_masked_kind <- function(f, masks) {
  if (typeof(f) != "closure" || isS4(f) || is_jitted(f)) return(FALSE)
  if (!is_of_package(f)) return(TRUE)
  any(vapply(masks$homes, identical, NA, topenv(environment(f))))
}

# Whether R's Vectorize() or Negate() made a function of another one, outside of what is masked.
is_wrapper <- function(f) {
  if (typeof(f) != "closure") return(FALSE)
  home <- environment(f)
  if (identical(home, emptyenv()) || !identical(parent.env(home), .BaseNamespaceEnv)) return(FALSE)
  if (identical(body(f), quote(!f(...)))) return(is.function(home$f))
  is.function(home$FUN) && all(c("vectorize.args", "SIMPLIFY", "USE.NAMES") %in% names(home))
}

# A copy of it that calls the masked function, and for Vectorize() the mask's mapply().
masked_wrapper <- function(f, masks) {
  home <- list2env(as.list(environment(f), all.names = TRUE), parent = .BaseNamespaceEnv)
  if (is.null(home$FUN)) home$f <- masked(home$f, masks) else {
    home$FUN <- masked(home$FUN, masks)
    home$mapply <- mask_functions$mapply
  }
  environment(f) <- home
  f
}

# What the names of masked functions are to a function that is defined here.
seen_from <- function(home) {
  names <- names(mask_functions)
  if_it_fails(
    mget(names, envir = home, inherits = TRUE, ifnotfound = list(identity)),
    # A variable that cannot be read, such as a missing argument, is no function.
    lapply(names, function(name) if_it_fails(get0(name, home, ifnotfound = identity), NULL))
  )
}

# Names of masked functions that are variables to a function: what is assigned by `<<-`, and what is no
# function where it is defined, if the code does more with the name than call it. R passes over variables
# where it looks for what is called.
variables_in <- function(f, seen) {
  names <- names(mask_functions)
  hidden <- names[!vapply(seen, is.function, NA)]
  assigns <- "<<-" %in% all.names(body(f))
  if (!length(hidden) && !assigns) return(character())
  code <- code_facts(f)
  # By its name as a string, too: get("c").
  c(intersect(hidden, c(code$read, code$strings)), setdiff(intersect(names, code$assigned), hidden))
}

# The mask between an environment and functions that are defined in it, all but those with other `variables`.
mask_of <- function(home, masks, variables, seen) {
  for (mask in masks$all) {
    if (identical(parent.env(mask), home) && setequal(mask$.anvil_variables, variables)) return(mask)
  }
  mask <- new.env(parent = home)
  mask$.anvil_masks <- masks
  mask$.anvil_variables <- variables
  known <- unmasked_functions()
  if (!all(vapply(seen, is.function, NA))) {
    # As R finds what is called: variables are passed over.
    seen <- if_it_fails(
      mget(known$names, envir = home, mode = "function", inherits = TRUE, ifnotfound = list(NULL)),
      lapply(known$names, function(name) if_it_fails(get0(name, home, mode = "function"), NULL))
    )
  }
  is_base <- logical(length(seen))
  for (i in seq_along(seen)) {
    is_base[i] <- identical(seen[[i]], known$own[[i]]) || identical(seen[[i]], known$generics[[i]])
  }
  list2env(mask_functions[is_base & !known$names %in% variables], mask)
  masks$all <- c(masks$all, list(mask))
  mask
}

# What a program has in the place of a function of R's that has another name here, as `test <- stats::t.test`,
# or none, as an element of a list; NULL for any other function. Primitive functions are what they are to R's
# code.
in_place_of <- function(f) {
  if (typeof(f) != "closure" || !isNamespace(environment(f)) || !is_of_r(environment(f))) return(NULL)
  known <- closures_of_r()
  for (i in seq_along(known)) {
    if (identical(f, known[[i]])) {
      name <- names(known)[i]
      return(mask_functions[[name]] %||% get(name, topenv()))
    }
  }
}

# R's functions for which a program has others. They are looked up once in a session.
closures_of_r <- local({
  found <- NULL
  function() {
    if (is.null(found)) {
      names <- unique(c(names(mask_functions), unlist(own_generics(), use.names = FALSE)))
      found <<- Filter(function(f) typeof(f) == "closure", sapply(names, r_function, simplify = FALSE))
    }
    found
  }
})

# R's own function of a name, of base R, stats, methods or utils.
r_function <- function(name) {
  get0(name, baseenv(), mode = "function", inherits = FALSE) %||%
    get0(name, asNamespace("stats"), mode = "function", inherits = FALSE) %||%
    get0(name, asNamespace("methods"), mode = "function", inherits = FALSE) %||%
    get(name, asNamespace("utils"), mode = "function")
}

# R's functions and our generics of the names that masks bind. They are looked up once in a session.
unmasked_functions <- local({
  found <- NULL
  function() {
    if (is.null(found)) {
      names <- names(mask_functions)
      found <<- list(
        names = names, own = lapply(names, r_function),
        generics = lapply(names, function(name) get0(name, topenv(), inherits = FALSE) %||% r_function(name))
      )
    }
    found
  }
})

# Binds masked copies of the functions that a function calls: they are made when they are first called.
bind_callees <- function(f, mask, masks) {
  names <- unique(c(all.names(body(f), unique = TRUE), unlist(lapply(formals(f), all.names, unique = TRUE))))
  # `second(x) <- 1` calls `second<-`.
  if (any(c("<-", "=") %in% names)) names <- c(names, paste0(names, "<-"))
  # Of masked functions and of operators there may be methods of the user's, too.
  generics <- c(names, "Ops", "Math", "Summary")
  names <- names[!names %in% ls(mask, all.names = TRUE, sorted = FALSE)]
  code <- if (any(c("<<-", "UseMethod", "$", "[[", "@") %in% names)) code_facts(f)
  # What is assigned by `<<-` is a variable of the enclosure's.
  names <- names[!names %in% code$assigned]
  if (isTRUE(code$calls_parts)) bind_unless_own(mask_parts, mask)
  if (any(names(mask_packages) %in% names)) bind_unless_own(mask_packages, mask)
  if (length(code$generics)) bind_by_vector(mask, code$generics)
  bind <- function(name, value) {
    force(value)
    delayedAssign(name, masked(value, masks), environment(), mask)
  }
  at <- parent.env(mask)
  repeat {
    if (is_outside(at, masks)) break
    methods <- setdiff(methods_in(at, generics), ls(mask, all.names = TRUE, sorted = FALSE))
    here <- c(.Call(anvil_bound, names, at), methods)
    still <- here[!vapply(here, function(name) bindingIsActive(as.name(name), at), NA)]
    functions <- functions_in(at, still)
    for (name in names(functions)) {
      value <- functions[[name]]
      is_masked <- if (is_masked_kind(value, masks)) {
        is.null(masks_of(environment(value)))
      } else {
        is_wrapper(value) || !is.null(interpolation_of(value)) || !is.null(in_place_of(value))
      }
      if (is_masked) bind(name, value)
    }
    names <- names[!names %in% here]
    if (identical(at, topenv(at))) break
    at <- parent.env(at)
  }
}

# The functions among these variables of an environment.
functions_in <- function(env, names) {
  if (!length(names)) return(NULL)
  functions <- function(x) x[vapply(x, is.function, NA)]
  # If one fails, as a missing argument does, it will do so again where it is used, with the user's call.
  read <- function(name) if_it_fails(get(name, envir = env, inherits = FALSE), NULL)
  if_it_fails(functions(mget(names, envir = env)), functions(lapply(setNames(nm = names), read)))
}

# Whether an environment is beyond the mask's reach.
is_outside <- function(env, masks) {
  top <- topenv(env)
  if (identical(env, emptyenv())) return(TRUE)
  !identical(top, globalenv()) && identical(top, env) && !any(vapply(masks$homes, identical, NA, top))
}

# S3 methods of the user's, of generics among these names.
methods_in <- function(env, names) {
  all <- ls(env, all.names = TRUE, sorted = FALSE)
  # A workspace may hold thousands.
  all <- all[grepl(".", all, fixed = TRUE)]
  if (!length(all)) return(character())
  first <- function(x) substr(x, 1L, regexpr(".", x, fixed = TRUE) - 1L)
  all <- all[first(all) %in% c(names, first(names))]
  if (!length(all)) return(character())
  generics <- paste0(names, ".")
  of_generic <- function(name) any(startsWith(name, generics))
  setdiff(all[vapply(all, of_generic, NA)], names)
}

# What the code of a function says: the variables that it reads, but for its arguments, those that it assigns
# by `<<-`, its strings, the generics in it, and whether it calls parts of lists or of environments, as
# `model$loss(x)` or `loss <- model$loss; loss(x)`.
code_facts <- function(f) {
  assigned <- read <- strings <- generics <- called <- from_parts <- character()
  calls_parts <- FALSE
  is_part <- function(code) is.call(code) && as.character(code[[1L]])[1L] %in% c("$", "[[", "@")
  visit <- function(code) {
    if (is.character(code)) strings <<- c(strings, code)
    if (is.symbol(code)) read <<- c(read, as.character(code))
    if (!is.call(code)) return()
    head <- code[[1L]]
    if (is.symbol(head)) called <<- c(called, as.character(head))
    if (is.call(head)) {
      if (is_part(head)) calls_parts <<- TRUE
    } else if (identical(head, quote(`<<-`))) {
      target <- code[[2L]]
      while (is.call(target)) target <- target[[2L]]
      assigned <<- c(assigned, as.character(target))
    } else if (identical(head, quote(UseMethod)) && length(code) > 1L && is.character(code[[2L]])) {
      generics <<- c(generics, code[[2L]])
    }
    # Neither the name of what is called is read, nor that of a variable which is assigned.
    parts <- as.list(code)
    if (is.symbol(head)) {
      assigns <- as.character(head) %in% c("<-", "=", "<<-", "for") && is.symbol(code[[2L]])
      if (assigns && is_part(code[[3L]])) from_parts <<- c(from_parts, as.character(code[[2L]]))
      parts <- parts[if (assigns) -(1:2) else -1L]
    }
    for (part in parts) if (!missing(part)) visit(part)
  }
  visit(body(f))
  for (default in as.list(formals(f))) if (!missing(default)) visit(default)
  read <- setdiff(read, names(formals(f)))
  list(
    assigned = assigned, read = read, strings = strings, generics = unique(generics),
    calls_parts = calls_parts || any(from_parts %in% called)
  )
}

# What takes a function from a list or from a package, in code that does: it is masked when it is taken.
bind_unless_own <- function(functions, mask) {
  for (name in names(functions)) {
    if (identical(get(name, parent.env(mask)), get(name, baseenv()))) assign(name, functions[[name]], mask)
  }
}

is_mask_function <- function(f) any(vapply(c(mask_functions, mask_parts, mask_packages), identical, NA, f))

# Functions among arguments, alone or in a list.
masked_arguments <- function(args, masks) {
  lapply(args, function(x) {
    if (is.function(x)) return(masked(x, masks))
    if (is.list(x) && !is.object(x)) masked_elements(x, masks) else x
  })
}

masked_elements <- function(x, masks) {
  functions <- vapply(x, is.function, NA)
  x[functions] <- lapply(x[functions], masked, masks)
  x
}

# For masked functions: what they are given, with the masks of the function that calls them.
reached <- function(f, frame) {
  masks <- masks_of(frame)
  if (is.null(masks)) f else masked(f, masks)
}

reached_elements <- function(x, frame) {
  masks <- masks_of(frame)
  if (is.null(masks) || !is.list(x) || is.object(x)) x else masked_elements(x, masks)
}
