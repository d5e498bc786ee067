#' Find a function by the name that other systems have for it
#'
#' Which function here is `einsum`, `rowSums()`, `lax.scan`, `torch_topk()`, `MakeADFun()` or `nvl_add()`: a
#' search among all exported functions, in their names and those of base R, NumPy (with SciPy), JAX, PyTorch
#' and R's torch, RTMB, and the R packages anvil and anvl of r-xla, from which this package has its name.
#' `vignette("reference", "anvil")` shows the same table by subject, with dtypes, derivatives, accuracy and
#' cost; `vignette("coming-from", "anvil")` has code of these systems beside code of this one.
#'
#' Names of other systems are those of functions that do the same, or that are used for the same; how
#' arguments are counted and named, and which dtype a result has, is said on the help page of the function
#' here. Modules are abbreviated as is usual: `np` for NumPy, `sp` SciPy, `jnp` `jax.numpy`, `lax` `jax.lax`,
#' `nn` `jax.nn`, `jsp` `jax.scipy`, `F` `torch.nn.functional`. Names of R's torch are PyTorch's in other
#' letters, and those of r-xla that begin with `nvl_` or `prim_` have `nv_` here.
#'
#' R itself says of a function that it does not know only that it could not find it. In a function that is
#' traced, the error names the function here, if the name is one of these systems'.
#'
#' @param name A string: a name or a part of one, in upper or lower case, such as `"einsum"` or `"lax."`.
#' @return A data frame with a row for each function that is found, those first of which a name is `name` as a
#'   whole, and the columns `function`; `generic`: R's functions that have methods for tensors; `base`: other
#'   functions of R that do the same on R's vectors; `numpy`, `jax`, `torch`, `rtmb`; and `anvl`: names of
#'   r-xla that are not the same here. Without a name that fits it has no rows.
#' @section Errors: `anvil_error_arg` if `name` is not a string with at least one character;
#'   `anvil_error_unsupported` in a traced function that calls a function of these names which is not there.
#' @examples
#' anvil_find("einsum")
#' anvil_find("rowSums")$"function"
#' anvil_find("where")[, c("function", "numpy")]
#' anvil_find("nvl_cosine")$"function"
#' @export
anvil_find <- function(name) {
  if (!is.character(name) || length(name) != 1L || is.na(name) || !nzchar(name)) {
    abort_arg("name", "a string: a name or a part of one", describe(name))
  }
  table <- names_table()
  found <- matches(table, name)
  out <- table[c(found$whole, found$part), ]
  rownames(out) <- NULL
  out
}

# Rows of a table of names of which one is `name`, and others of which it is a part.
matches <- function(table, name) {
  names <- lapply(seq_len(nrow(table)), function(i) {
    tolower(unlist(strsplit(unlist(table[i, ]), " ", fixed = TRUE)))
  })
  spellings <- spellings_of(tolower(name))
  is_part <- function(x) any(vapply(spellings, function(name) any(grepl(name, x, fixed = TRUE)), NA))
  # `sort` is all of `sort`, and the last part of `np.sort` and of `nv_sort`; `nv_cbind` is R's `cbind`.
  all_of <- c(spellings, sub("^nv_", "", spellings))
  is_whole <- function(x) any(all_of %in% c(x, sub("^(nv_|.*[.:])", "", x)))
  whole <- which(vapply(names, is_whole, NA))
  list(whole = whole, part = setdiff(which(vapply(names, is_part, NA)), whole))
}

# All functions with their names elsewhere.
names_table <- function() {
  read <- function(file) {
    path <- system.file("catalogue", file, package = "anvil", mustWork = TRUE)
    utils::read.delim(path, quote = "", colClasses = "character", check.names = FALSE)
  }
  table <- read("functions.tsv")[c("function", "generic", "base", "numpy", "jax", "torch")]
  others <- read("names.tsv")
  for (system in c("rtmb", "anvl")) {
    of_system <- others[others$system == system, ]
    table[[system]] <- vapply(table$"function", function(name) {
      paste(of_system$names[of_system$"function" == name], collapse = " ")
    }, "")
  }
  table
}

# A name as it is, and as those it stands for are written here: without its package, with the one prefix that
# both layers of ops have here, and in the letters of PyTorch.
spellings_of <- function(name) {
  name <- sub("^.*::", "", name)
  prefixes <- c(nvl_ = "nv_", prim_ = "nv_", torch_ = "torch.", nnf_ = "f.", linalg_ = "torch.linalg.")
  begins <- startsWith(name, names(prefixes))
  unique(c(name, paste0(prefixes, substring(name, nchar(names(prefixes)) + 1L))[begins]))
}

# A call of a function that R could not find, in a traced function: an error that names what it is here, if it
# is another system's.
refuse_unknown <- function(e, name) {
  unknown <- gettextf("could not find function \"%s\"", name, domain = "R")
  if (!identical(conditionMessage(e), unknown)) return()
  table <- names_table()
  own <- table$"function"[matches(table, name)$whole][1L]
  if (is.na(own)) return()
  abort(
    "anvil_error_unsupported",
    paste0(
      "There is no function `", name, "()`; `", own, "()` does the same here.\n",
      "i `anvil_find(\"", name, "\")` shows what it is called in other systems, and what is similar."
    ),
    generic = name, call = conditionCall(e)
  )
}
