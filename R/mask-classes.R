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
    first <- first_traced(...)
    if (exists(own, parent.frame(), mode = "function")) {
      structure(list(), class = "AnvilValue")
    } else if (length(users_classes(first))) {
      # R looks for no other method after those of classes that are given.
      structure(list(), class = "default")
    } else {
      vector_like(first)
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

is_numeric_mode <- function(mode) {
  is.character(mode) && mode[1L] %in% c("double", "numeric", "integer", "logical", "complex")
}

# A value with elements of another mode, as R's vectors take one.
with_mode <- function(x, mode, what) {
  check_no_factor(x)
  if (!is_numeric_mode(mode)) abort_concrete(what, x)
  with_names_of(nv_reshape(traced_vector(x, mode[1L], what), dim(x)), x)
}

# The classes that the user has given to a traced value, before those that it has.
users_classes <- function(x) {
  if (is_traced(x)) setdiff(oldClass(x), c("AnvilTracer", "AnvilValue")) else character()
}

# A traced value without classes of the user's; of a factor, its codes.
without_class <- function(x) {
  if (!is.null(levels(x))) x <- as.integer(x)
  given <- users_classes(x)
  if (length(given)) oldClass(x) <- setdiff(oldClass(x), given)
  x
}

# As `class<-` does it: those of R's vectors say how the elements are stored, or ask for a shape.
with_class <- function(x, value) {
  if (is.null(value)) return(without_class(x))
  value <- setdiff(value, c("AnvilTracer", "AnvilValue"))
  if (length(value) == 1L && value %in% c("numeric", "integer", "logical", "complex")) {
    return(with_mode(without_class(x), value, "`class<-`"))
  }
  own <- class(vector_like(x))
  if (!length(setdiff(value, own))) return(x)
  known <- setdiff(intersect(value, c("matrix", "array", "factor", "ordered", "data.frame", "function")), own)
  if (length(known)) {
    abort_arg(
      "value", "a class of R that the traced value has, or one of your own", paste0("\"", known[1L], "\""),
      "`dim(x) <- ` makes a matrix, `factor(x, levels = 1:k)` a factor."
    )
  }
  oldClass(x) <- c(value, setdiff(oldClass(x), users_classes(x)))
  x
}

# One attribute, as `attr<-` sets it.
with_attribute <- function(x, name, value) {
  switch(
    name,
    class = with_class(x, value), names = `names<-`(x, value), dim = `dim<-`(x, value),
    dimnames = `dimnames<-`(x, value), `attr<-`(x, name, value)
  )
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
  if (inherits(x, taken_classes) && !length(users_classes(x)) || is_selection(x)) return(FALSE)
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
    if (is_traced(x)) of_mode(x, value, "`storage.mode<-`") else `storage.mode<-`(x, value)
  },

  `mode<-` = function(x, value) {
    if (is_traced(x)) of_mode(x, value, "`mode<-`") else `mode<-`(x, value)
  },

  class = function(x) {
    if (!stands_for_vector(x)) return(called_from("class", parent.frame())(x))
    given <- users_classes(x)
    if (length(given)) given else class(vector_like(x))
  },

  `class<-` = function(x, value) if (is_traced(x)) with_class(x, value) else `class<-`(x, value),

  `oldClass<-` = function(x, value) if (is_traced(x)) with_class(x, value) else `oldClass<-`(x, value),

  unclass = function(x) if (is_traced(x)) without_class(x) else unclass(x),

  `attributes<-` = function(x, value) {
    if (!is_traced(x)) return(`attributes<-`(x, value))
    x <- as_flat(unname(without_class(x)))
    # Names fit the shape.
    value <- value[order(names(value) != "dim")]
    for (i in seq_along(value)) x <- with_attribute(x, names(value)[i], value[[i]])
    x
  },

  structure = function(.Data, ...) {
    names <- ...names() %||% ""
    if (!is_traced(.Data) || !...length() || !all(nzchar(names))) return(structure(.Data, ...))
    given <- list(...)
    for (i in seq_along(given)) {
      name <- switch(names[i], .Dim = "dim", .Dimnames = "dimnames", .Names = "names", names[i])
      .Data <- with_attribute(.Data, name, given[[i]])
    }
    .Data
  },

  inherits = function(x, what, which = FALSE) {
    if (!stands_for_vector(x) || !isFALSE(which)) return(base::inherits(x, what, which))
    base::inherits(x, what) || !length(users_classes(x)) && base::inherits(vector_like(x), what)
  },

  is = function(object, class2) {
    if (missing(class2) || !stands_for_vector(object)) {
      return(own_call("is", sys.call(), parent.frame()))
    }
    methods::is(object, class2) || !length(users_classes(object)) && methods::is(vector_like(object), class2)
  }
)

# nolint end
