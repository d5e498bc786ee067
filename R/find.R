#' Find a function by the name that other systems have for it
#'
#' Which function here is `einsum`, `rowSums()`, `lax.scan` or `torch.topk`: a search among all exported
#' functions, in their names and those of base R, NumPy (with SciPy), JAX and PyTorch.
#' `vignette("reference", "anvil")` shows the same table by subject, with dtypes, derivatives, accuracy and
#' cost.
#'
#' Names of other systems are those of functions that do the same, or that are used for the same; how
#' arguments are counted and named, and which dtype a result has, is said on the help page of the function
#' here. Modules are abbreviated as is usual: `np` for NumPy, `sp` SciPy, `jnp` `jax.numpy`, `lax` `jax.lax`,
#' `nn` `jax.nn`, `jsp` `jax.scipy`, `F` `torch.nn.functional`.
#'
#' @param name A string: a name or a part of one, in upper or lower case, such as `"einsum"` or `"lax."`.
#' @return A data frame with a row for each function that is found, those first of which a name is `name` as a
#'   whole, and the columns `function`; `generic`: R's functions that have methods for tensors; `base`: other
#'   functions of R that do the same on R's vectors; `numpy`, `jax` and `torch`. Without a name that fits it
#'   has no rows.
#' @section Errors: `anvil_error_arg` if `name` is not a string with at least one character.
#' @examples
#' anvil_find("einsum")
#' anvil_find("rowSums")$"function"
#' anvil_find("where")[, c("function", "numpy")]
#' @export
anvil_find <- function(name) {
  if (!is.character(name) || length(name) != 1L || is.na(name) || !nzchar(name)) {
    abort_arg("name", "a string: a name or a part of one", describe(name))
  }
  table <- utils::read.delim(
    system.file("catalogue", "functions.tsv", package = "anvil", mustWork = TRUE), quote = "",
    colClasses = "character", check.names = FALSE
  )
  table <- table[c("function", "generic", "base", "numpy", "jax", "torch")]
  names <- lapply(seq_len(nrow(table)), function(i) {
    tolower(unlist(strsplit(unlist(table[i, ]), " ", fixed = TRUE)))
  })
  name <- tolower(name)
  fits <- vapply(names, function(x) any(grepl(name, x, fixed = TRUE)), NA)
  # `sort` is all of `sort`, and the last part of `np.sort` and of `nv_sort`.
  whole <- vapply(names, function(x) any(name == x | name == sub("^(nv_|.*[.:])", "", x)), NA)
  found <- c(which(whole), which(fits & !whole))
  out <- table[found, ]
  rownames(out) <- NULL
  out
}
