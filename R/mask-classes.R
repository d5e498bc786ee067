# Classes in a traced function, see mask.R: what asks for the class of a traced value, or looks for a method
# of the user's by it, sees that of the R vector which it stands for.

# nolint start: object_name_linter. Names are those of R.

# An R vector, without elements, of the class that a traced value stands for.
vector_like <- function(x) {
  if (inherits(x, "AnvilRows")) return(data.frame())
  if (!is.null(levels(x))) return(factor(character(), levels(x), ordered = is_ordered(x)))
  values <- if (is_selection(x)) selected(x)$values else x
  out <- switch(
    mode(values), logical = logical(), complex = complex(),
    if (is_float(dtype(values))) double() else integer()
  )
  sizes <- length(dim(values))
  if (sizes < 2L) out else array(out, integer(sizes))
}

stands_for_vector <- function(x) is_traced(x) || is_selection(x) || inherits(x, "AnvilRows")

# All classes that R looks for a method of.
classes_of <- function(x) .class2(if (stands_for_vector(x)) vector_like(x) else x)

# A method that looks for another one, of the class that its first traced argument stands for, unless there is
# one of tensors. The arguments stay as they are.
by_vector <- function(generic) {
  function(...) UseMethod(generic, {
    own <- paste0(generic, ".AnvilValue")
    if (exists(own, parent.frame(), mode = "function")) structure(list(), class = "AnvilValue") else {
      vector_like(first_traced(...))
    }
  })
}

first_traced <- function(...) {
  for (i in seq_len(...length())) if (stands_for_vector(...elt(i))) return(...elt(i))
}

# Binds such methods of the generics that code defines, where R finds them before the default ones.
bind_by_vector <- function(mask, generics) {
  for (name in outer(generics, c(".AnvilTracer", ".AnvilSelection", ".AnvilRows"), paste0)) {
    generic <- sub("[.]Anvil[A-Za-z]+$", "", name)
    is_known <- exists(name, mask) || !is.null(utils::getS3method(generic, "AnvilValue", TRUE, topenv()))
    if (!is_known) assign(name, by_vector(generic), mask)
  }
}

# A traced value with elements of another mode, as R's vectors take one.
with_mode <- function(x, mode, what) {
  check_no_factor(x)
  if (!is.character(mode) || !mode[1L] %in% c("double", "numeric", "integer", "logical", "complex")) {
    abort_concrete(what, x)
  }
  with_names_of(nv_reshape(traced_vector(x, mode[1L], what), dim(x)), x)
}

# ---- methods of the user's for what is masked --------------------------------------------------------------

# Masked functions for which R looks for a method of the first argument, and which do not do so themselves.
# R finds methods that a function defines in calls of that function alone.
with_local_methods <- c(
  "[<-", "[[<-", "c", "unlist", "as.numeric", "as.double", "sum", "prod", "max", "min", "range", "any", "all",
  "as.matrix", "t", "scale", "log", "seq", "rowsum", "relevel", "droplevels", "cut", "split", "split<-", "by",
  "prcomp", "princomp", "pacf"
)

groups_of_generics <- c(
  log = "Math", sum = "Summary", prod = "Summary", max = "Summary", min = "Summary", range = "Summary",
  any = "Summary", all = "Summary"
)

# Whether there is a method that is neither R's nor ours.
is_users_class <- function(name, x, frame) {
  if (inherits(x, taken_classes) || is_selection(x)) return(FALSE)
  names <- c(name, if (name %in% c("as.numeric", "as.double")) c("as.double", "as.numeric"))
  names <- c(names, groups_of_generics[name][name %in% names(groups_of_generics)])
  for (class in outer(names, class(x), paste, sep = ".")) {
    method <- get0(class, frame, mode = "function")
    if (is.null(method)) next
    if (is.primitive(method)) next
    home <- topenv(environment(method))
    if (!isNamespace(home) || !is_of_r(home)) return(TRUE)
  }
  FALSE
}

# R's own generic, called where the user calls it. What the first argument is, has been found already.
by_users_method <- function(name, arg, x, call, frame) {
  is_first <- arg == "..." || (names(call)[2L] %||% "") %in% c("", arg)
  if (is_first && is.call(call[[2L]])) call[[2L]] <- call("quote", x)
  own_call(name, call, frame)
}

# Masked functions with this before what they do.
with_users_methods <- function(functions) {
  for (name in intersect(with_local_methods, names(functions))) {
    f <- functions[[name]]
    arg <- names(formals(f))[1L]
    is_given <- if (arg == "...") quote(...length()) else call("!", call("missing", as.name(arg)))
    first <- as.name(if (arg == "...") "..1" else arg)
    body(f) <- bquote({
      if (.(is_given) && is.object(.(first)) && is_users_class(.(name), .(first), parent.frame())) {
        return(by_users_method(.(name), .(arg), .(first), sys.call(), parent.frame()))
      }
      .(body(f))
    })
    functions[[name]] <- f
  }
  functions
}

mask_classes <- list(
  `storage.mode<-` = function(x, value) {
    if (is_traced(x)) with_mode(x, value, "`storage.mode<-`") else `storage.mode<-`(x, value)
  },

  `mode<-` = function(x, value) {
    if (is_traced(x)) with_mode(x, value, "`mode<-`") else `mode<-`(x, value)
  },

  class = function(x) {
    if (stands_for_vector(x)) class(vector_like(x)) else called_from("class", parent.frame())(x)
  },

  inherits = function(x, what, which = FALSE) {
    if (!stands_for_vector(x) || !isFALSE(which)) return(base::inherits(x, what, which))
    base::inherits(x, what) || base::inherits(vector_like(x), what)
  },

  is = function(object, class2) {
    if (missing(class2) || !stands_for_vector(object)) {
      return(own_call("is", sys.call(), parent.frame()))
    }
    methods::is(object, class2) || methods::is(vector_like(object), class2)
  }
)

# nolint end
