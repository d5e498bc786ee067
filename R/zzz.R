# Dtype objects by name; filled by .onLoad() from the table in Rust.
dtype_objects <- new.env(parent = emptyenv())

.onLoad <- function(libname, pkgname) {
  # Before R 4.3, `%*%` dispatches on S4 objects only.
  .Call(anvil_load, topenv(), getRversion() < "4.3.0")
  if (getRversion() < "4.3.0") set_matmul_methods()
  set_default_methods()
  settle_threads()
  settle_options()
  add_tree_class("AnvilModel", flatten_model, unflatten_model)
  table <- .Call(wrap__anvil_dtypes)
  for (i in seq_along(table$name)) {
    assign(table$name[i], new_dtype(table$name[i], table$class[i], table$bits[i]), envir = dtype_objects)
  }
  register_later("knitr", "knit_print", "AnvilPromotionTable", knit_print_table)
  methods <- tidy_methods()
  for (package in names(methods)) {
    for (generic in names(methods[[package]])) {
      of_class <- methods[[package]][[generic]]
      for (class in names(of_class)) register_later(package, generic, class, of_class[[class]])
    }
  }
  register_later("waldo", "compare_proxy", "AnvilTensor", function(x, path) compare_proxy_tensor(x, path))
}

.onUnload <- function(libpath) library.dynam.unload("anvil", libpath)

# Registers a method for a generic of a package that need not be there: now, or when it is loaded.
register_later <- function(package, generic, class, method) {
  list(package, generic, class, method) # evaluated now: they are variables of a loop
  register <- function(...) registerS3method(generic, class, method, envir = asNamespace(package))
  if (isNamespaceLoaded(package)) register()
  setHook(packageEvent(package, "onLoad"), register)
}

# The functions that users call say which argument is missing: here, since this is the last file. So do
# methods of functions that are written in R; operators and other builtin functions count their arguments
# themselves, or may have one alone.
local({
  namespace <- topenv()
  path <- getNamespaceInfo(namespace, "path")
  declared <- parseNamespaceFile(basename(path), dirname(path))
  methods <- declared$S3methods
  # A method of a group serves functions of one argument and of two.
  groups <- c("Math", "Ops", "Summary", "Complex", "matrixOps")
  written_in_r <- vapply(
    methods[, 1L], function(name) typeof(get0(name, parent.env(namespace))) == "closure", NA
  )
  # Those of distributions do so by the arguments of our functions, which R's have more than.
  written_in_r <- written_in_r & !methods[, 1L] %in% c(groups, names(stats_functions))
  # Generics in the place of R's own say what R says.
  exports <- setdiff(declared$exports, unlist(own_generics()))
  for (name in c(exports, paste(methods[, 1L], methods[, 2L], sep = ".")[written_in_r])) {
    f <- get(name, namespace)
    if (is.function(f)) assign(name, saying_what_is_missing(f), namespace)
  }
})

# Methods of classes over lists signal an error if an element was changed, see objects.R.
local({
  namespace <- topenv()
  for (name in ls(namespace, pattern = "^(format|print|summary|plot|as[.][a-z.]+)[.]Anvil")) {
    if (sub("^.*[.]", "", name) %in% listed_classes) {
      assign(name, reading_parts(get(name, namespace)), namespace)
    }
  }
})
