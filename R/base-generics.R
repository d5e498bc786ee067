# Functions of base R and stats that do not dispatch, as generics: anvil exports a function of the same name
# whose methods take tensors and traced values in any argument that can hold one. All else goes to R's own
# function, as it was called.
#
# They are S3 generics, as tensors are of S3 classes. The generics that methods::setGeneric() makes would
# evaluate the arguments inside of a handler that turns any error in one into a simpleError of another text:
# `rowSums(x[9, ])` would no longer be an `anvil_error_index`. Besides, they evaluate both branches of
# ifelse(), have no dispatch for one tensor among the `...` of pmax(), and cost more. S4 objects are passed on
# to the S4 generic of that name if a package has made one, and such a generic of Matrix gets methods for
# tensors, so that it does not matter which package is attached last.
#
# R's own functions are their default methods, registered in .onLoad() from the R that runs.

# The value that a call dispatches on, of those arguments that can hold a tensor: the first that is one, or
# else a stand-in for other objects; NULL goes to the default method. Later arguments are not looked at.
among <- function(x, y, z, w) {
  found <- NULL
  if (!missing(x) && is.object(x)) {
    if (inherits(x, taken_classes)) return(x)
    found <- stand_in(x) %||% found
    if (is_frame(found)) return(found)
  }
  if (!missing(y) && is.object(y)) {
    if (inherits(y, taken_classes)) return(y)
    found <- stand_in(y) %||% found
    if (is_frame(found)) return(found)
  }
  if (!missing(z) && is.object(z)) {
    if (inherits(z, taken_classes)) return(z)
    found <- stand_in(z) %||% found
    if (is_frame(found)) return(found)
  }
  if (!missing(w) && is.object(w)) {
    if (inherits(w, taken_classes)) return(w)
    found <- stand_in(w) %||% found
    if (is_frame(found)) return(found)
  }
  found
}

among_dots <- function(...) {
  found <- NULL
  # R's own function says of an argument that is left out, such as the second of `order(x, )`, what it says.
  written <- substitute(...())
  for (i in seq_along(written)) if (identical(written[[i]], quote(expr = ))) return(found)
  for (x in list(...)) {
    if (!is.object(x)) next
    if (inherits(x, taken_classes)) return(x)
    found <- stand_in(x) %||% found
    if (is_frame(found)) return(found)
  }
  found
}

taken_classes <- c("AnvilValue", "AnvilQr")

# What an object is dispatched as that is none of these: S4 objects, and data frames of traced columns.
stand_in <- function(x) {
  if (isS4(x)) return(s4_stand_in)
  if (is_traced_frame(x) || inherits(x, "AnvilRows")) frame_stand_in
}

is_frame <- function(found) inherits(found, "AnvilFrame")

s4_stand_in <- structure(list(), class = "AnvilS4")

# The functions, by the packages that R's own are in. inst/catalogue/base-functions.tsv says what each does.
base_generics <- list(
  base = c(
    "rowSums", "colSums", "rowMeans", "colMeans", "outer", "%o%", "diag", "sweep", "append",
    "is.vector", "mode<-", "storage.mode<-", "colnames", "proportions", "prop.table", "marginSums",
    "margin.table", "pmax", "pmin", "ifelse", "atan2", "beta", "lbeta", "choose", "lchoose",
    "besselI", "besselJ", "besselK", "besselY", "psigamma", "bitwAnd", "bitwOr", "bitwXor", "bitwNot",
    "bitwShiftL", "bitwShiftR", "complex", "order", "rank", "which.max", "which.min", "rle", "tabulate",
    "findInterval", "unsplit", "det", "svd", "eigen",
    "qr.Q", "qr.R", "qr.X", "qr.coef", "qr.fitted", "qr.resid", "qr.qty", "qr.qy", "qr.solve", "solve",
    "backsolve", "forwardsolve", "chol2inv", "norm"
  ),
  stats = c(
    "var", "sd", "cov", "cor", "cov2cor", "IQR", "fivenum", "mahalanobis", "embed", "toeplitz", "convolve",
    "fft", "mvfft", "approx", "weighted.mean"
  )
)

# Those, the products that R's own dispatch only from R 4.4 on, I(), which warns of S4 objects, as tensors are
# before 4.3, and the functions of distributions.
own_generics <- function() {
  products <- if (getRversion() < "4.4.0") c("crossprod", "tcrossprod")
  as_is <- if (getRversion() < "4.3.0") "I"
  list(
    base = c(base_generics$base, products, as_is), stats = c(base_generics$stats, names(stats_functions))
  )
}

# Called by .onLoad().
set_default_methods <- function() {
  table <- get(".__S3MethodsTable__.", topenv())
  generics <- own_generics()
  for (package in names(generics)) {
    home <- asNamespace(package)
    for (name in generics[[package]]) {
      assign(paste0(name, ".default"), get(name, home), table)
      assign(paste0(name, ".AnvilS4"), for_s4(name, home), table)
      assign(paste0(name, ".AnvilFrame"), for_frames(get(name, topenv())), table)
    }
  }
  # A data frame has them, whatever its columns are.
  assign("colnames.AnvilFrame", function(x, do.NULL = TRUE, prefix = "col") names(x), table) # nolint
  # R's own functions call these two with tensors, too.
  for (name in c("solve", "weighted.mean")) {
    home <- asNamespace(if (name == "solve") "base" else "stats")
    registerS3method(name, "AnvilValue", get(paste0(name, ".AnvilValue")), home)
  }
  for (name in "Matrix") {
    if (isNamespaceLoaded(name)) set_s4_methods(name)
    setHook(packageEvent(name, "onLoad"), function(name, ...) set_s4_methods(name))
  }
}

# S4 objects go to the function of the package that has their class, or to a generic that somebody has made of
# R's function.
for_s4 <- function(name, home) {
  force(name)
  force(home)
  function(...) {
    # None for an object of R's with the mark of S4, such as a series that was computed of a tensor.
    package <- attr(class(Find(isS4, list(...))), "package") %||% ""
    if (package %in% loadedNamespaces() && name %in% getNamespaceExports(package)) {
      return(getExportedValue(package, name)(...))
    }
    generic <- methods::getGeneric(name, where = globalenv(), package = getNamespaceName(home))
    (generic %||% get(name, home))(...)
  }
}

# Methods for tensors of the S4 generics in a package.
set_s4_methods <- function(package) {
  where <- new.env(parent = asNamespace(package))
  setOldClass(c("AnvilQr", "qr"), where = where)
  for (name in intersect(unlist(own_generics()), getNamespaceExports(package))) {
    generic <- getExportedValue(package, name)
    if (!methods::is(generic, "standardGeneric")) next
    ours <- get(name, topenv())
    method <- function() NULL
    formals(method) <- formals(generic)
    body(method) <- bquote(.(call_given)(.(ours), .(names(formals(generic))), environment()))
    held <- intersect(generic@signature, holders_of(ours))
    choices <- expand.grid(rep(list(c(taken_classes, "ANY")), length(held)), stringsAsFactors = FALSE)
    for (i in seq_len(nrow(choices) - 1L)) {
      setMethod(generic, structure(unlist(choices[i, ]), names = held), method, where = where)
    }
  }
}

# Calls a function with those arguments of a frame that were given to it.
call_given <- function(f, names, frame) do.call(f, given_in(names, frame), quote = TRUE)

given_in <- function(names, frame) {
  is_given <- function(name) name == "..." || !eval(call("missing", as.name(name)), frame)
  values <- lapply(
    Filter(is_given, names),
    function(name) if (name == "...") eval(quote(list(...)), frame) else setNames(list(frame[[name]]), name)
  )
  do.call(base::c, values)
}

# The arguments of a generic of ours that can hold a tensor: those of among().
holders_of <- function(generic) vapply(as.list(body(generic)[[3L]])[-1L], as.character, "")

# A tensor or a traced value.
is_value <- function(x) inherits(x, "AnvilValue")
