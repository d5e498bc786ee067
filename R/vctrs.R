# Tensors as vectors of vctrs and columns of tibbles. The methods are registered when these packages are
# loaded, see zzz.R: what vctrs finds to be an R vector, it would slice as one, and lose digits of 64-bit
# integers and the type.

# Methods by package and generic: lists of functions by class.
tidy_methods <- function() {
  tensor <- "AnvilTensor"
  plain <- c("logical", "integer", "double", "complex")
  # For each class on the one side and on the other.
  both <- function(classes, f) setNames(rep(list(f), length(classes)), classes)
  list(
    vctrs = list(
      vec_proxy = both(tensor, function(x, ...) r_data(x)),
      vec_proxy_compare = both(tensor, function(x, ...) in_order(x)),
      vec_proxy_order = both(tensor, function(x, ...) in_order(x)),
      vec_restore = both(tensor, function(x, to, ...) {
        # A missing value is NaN; dtypes that have none leave R's vector as it is. vctrs makes such a vector
        # before it fills it, too.
        if (!is_differentiable(dtype(to)) && anyNA(x)) return(if (length(dim(x)) == 1L) array_names(x) else x)
        nv_tensor(x, dtype(to), ambiguous = ambiguous(to))
      }),
      vec_ptype2 = both(
        c(paste0(tensor, ".", c(tensor, plain)), paste0(plain, ".", tensor)),
        function(x, y, ..., x_arg = "", y_arg = "") joint_prototype(x, y, x_arg, y_arg)
      ),
      vec_cast = c(
        both(paste0(tensor, ".", c(tensor, plain)), function(x, to, ...) cast_like(x, to)),
        both(paste0(plain, ".", tensor), function(x, to, ...) {
          vctrs::vec_cast(concrete_array(x, "vec_cast()"), to, ...)
        })
      ),
      vec_ptype_abbr = both(tensor, function(x, ...) short_type(x)),
      vec_ptype_full = both(tensor, function(x, ...) paste0("tensor<", short_type(x), ">"))
    ),
    pillar = list(
      type_sum = both(tensor, function(x, ...) short_type(x)),
      pillar_shaft = both(tensor, function(x, ...) {
        if (is_wide_integer(x)) return(pillar::new_pillar_shaft_simple(as.character(x), align = "right"))
        pillar::pillar_shaft(as.vector(x), ...)
      })
    )
  )
}

short_type <- function(x) paste0(as.character(dtype(x)), if (ambiguous(x)) "?")

# Integers that R's vectors do not hold in order and all digits.
is_wide_integer <- function(x) as.character(dtype(x)) %in% c("i64", "ui64")

# R's own data of a tensor, without a loss: 64-bit integers are their digits.
r_data <- function(x) {
  out <- if (is_wide_integer(x)) as.character(x) else suppressWarnings(as_array(x), classes = "anvil_warning")
  # A 0-d tensor is a vector of one.
  if (ndims(x) < 2L) return(setNames(as.vector(out), names(x)))
  array(out, dim(x), dimnames(x))
}

# Data that are in order as the elements are.
in_order <- function(x) {
  if (!is_wide_integer(x)) return(r_data(x))
  halves <- halves_of(x)
  data.frame(high = halves$high, low = halves$low)
}

# A tensor without elements, of the dtype and sizes that two vectors have together.
joint_prototype <- function(x, y, x_arg, y_arg) {
  empty <- function(x) {
    is_tensor <- inherits(x, "AnvilTensor")
    type <- if (is_tensor) dtype(x) else dtype(nv_tensor(x[0L]))
    nv_empty(type, 0L, ambiguous = if (is_tensor) ambiguous(x) else !is.logical(x))
  }
  if (!identical(dim(x)[-1L] %||% integer(), dim(y)[-1L] %||% integer())) {
    vctrs::stop_incompatible_type(x, y, x_arg = x_arg, y_arg = y_arg, details = "Their sizes differ.")
  }
  joint <- nv_promote_to_common(empty(x), empty(y))[[1L]]
  nv_empty(dtype(joint), c(0L, dim(x)[-1L]), ambiguous = ambiguous(joint))
}

# Elements in the dtype of another tensor: those that do not fit are refused, as nv_tensor() refuses them.
cast_like <- function(x, to) {
  if (inherits(x, "AnvilTensor")) {
    if (is_differentiable(dtype(to)) || dtype(x) == dtype(to)) return(nv_convert(x, dtype(to), ambiguous(to)))
    x <- r_data(x)
  }
  nv_tensor(x, dtype(to), ambiguous = ambiguous(to))
}
