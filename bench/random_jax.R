# Programs of bench/random_programs.R as a person writes them in JAX: `jax_source(p)` is a module of Python
# with a function `program`, or NULL where JAX has no such function. Names come from the catalogue of
# functions.

# Names of JAX's functions by those of anvil's, of the elementwise ops and of others that take the same
# arguments.
jax_names <- local({
  table <- NULL
  function(name) {
    if (is.null(table)) {
      path <- system.file("catalogue", "functions.tsv", package = "anvil", mustWork = TRUE)
      table <<- utils::read.delim(path, quote = "", colClasses = "character")
    }
    found <- sub(" .*", "", table$jax[match(name, table[["function."]])])
    if (name %in% names(jax_calls)) found <- jax_calls[[name]]
    if (!length(found) || is.na(found) || !nzchar(found)) stop(structure(
      class = c("no_jax", "error", "condition"), list(message = paste("JAX has no", name), call = NULL)
    ))
    sub("^jsp[.]", "jax.scipy.", sub("^nn[.]", "jax.nn.", found))
  }
})

# Calls of those that take their arguments in another way; where there is none, JAX has no such function.
jax_calls <- c(
  nv_dgamma = "jax.scipy.stats.gamma.pdf(%1$s, %2$s, scale=1 / %3$s)",
  nv_pgamma = "jax.scipy.stats.gamma.cdf(%1$s, %2$s, scale=1 / %3$s)",
  nv_dexp = "jax.scipy.stats.expon.pdf(%1$s, scale=1 / %2$s)",
  nv_pexp = "jax.scipy.stats.expon.cdf(%1$s, scale=1 / %2$s)",
  nv_dunif = "jax.scipy.stats.uniform.pdf(%1$s, %2$s, %3$s - %2$s)",
  nv_punif = "jax.scipy.stats.uniform.cdf(%1$s, %2$s, %3$s - %2$s)",
  nv_qunif = "jax.scipy.stats.uniform.ppf(%1$s, %2$s, %3$s - %2$s)",
  nv_dvonmises = "jax.scipy.stats.vonmises.pdf(%1$s - %2$s, %3$s)",
  nv_gammainc = "jax.scipy.special.gammainc(%1$s, %2$s)",
  nv_betainc = "jax.scipy.special.betainc(%1$s, %2$s, %3$s)",
  nv_polygamma = "jax.scipy.special.polygamma(%1$s, %2$s)",
  nv_zeta = "jax.scipy.special.zeta(%1$s, %2$s)",
  # Of whole numbers: JAX has other values between them. Of other arguments, or not of all orders.
  nv_dbinom = NA, nv_dbern = NA, nv_dnbinom = NA, nv_dgeom = NA, nv_dbetabinom = NA, nv_complex = NA,
  nv_expint = NA, nv_bessel_i = NA, nv_bessel_j = NA
)

jax_source <- function(p) {
  state <- list2env(list(functions = 0L))
  tryCatch(
    {
      lines <- python_function(p$f, "program", "", state, p)
      c("import jax", "from jax import lax, numpy as jnp", "", "", lines)
    },
    no_jax = function(e) NULL
  )
}

# `def name(...)` with its body, indented.
python_function <- function(f, name, indent, state, p, change = NULL) {
  names <- names(f[[2L]])
  inner <- paste0(indent, "    ")
  statements <- if (identical(f[[3L]][[1L]], quote(`{`))) as.list(f[[3L]])[-1L] else list(f[[3L]])
  lines <- if (is.null(change)) character() else paste0(inner, change)
  out <- list2env(list(lines = character(), indent = inner, state = state, p = p))
  for (k in seq_along(statements)) {
    s <- statements[[k]]
    if (is.call(s) && identical(s[[1L]], quote(`<-`))) {
      if (is.symbol(s[[2L]])) {
        line <- paste(as.character(s[[2L]]), "=", in_python(s[[3L]], out))
      } else {
        x <- as.character(s[[2L]][[2L]])
        line <- sprintf("%s = %s.at[%s].set(%s)", x, x, python_index(s[[2L]], out), in_python(s[[3L]], out))
      }
    } else {
      line <- paste("return", in_python(s, out))
    }
    out$lines <- c(out$lines, paste0(inner, line))
  }
  c(paste0(indent, "def ", name, "(", paste(names, collapse = ", "), "):"), lines, out$lines)
}

# A function as an argument: defined before the statement, and named.
python_name <- function(f, out, change = NULL) {
  out$state$functions <- out$state$functions + 1L
  name <- paste0("f", out$state$functions)
  out$lines <- c(out$lines, python_function(f, name, out$indent, out$state, out$p, change))
  name
}

python_index <- function(code, out) {
  one <- function(i) {
    if (identical(i, quote(expr = ))) return(":")
    if (is.call(i) && identical(i[[1L]], quote(`:`))) {
      return(paste0(written(i[[2L]] - 1L), ":", written(i[[3L]])))
    }
    if (is.numeric(i)) return(written(i - 1))
    paste(in_python(i, out), "- 1")
  }
  paste(vapply(as.list(code)[-(1:2)], one, ""), collapse = ", ")
}

# A number as Python has it.
written <- function(x) format(x, digits = 15L, scientific = x != 0 && abs(x) < 1e-4)
python_dtype <- function(dtype) paste0("jnp.", c(f32 = "float32", f64 = "float64", i32 = "int32")[[dtype]])
python_tuple <- function(x) paste0("(", paste(x, collapse = ", "), if (length(x) == 1L) ",", ")")

in_python <- function(code, out) {
  if (is.symbol(code)) return(as.character(code))
  if (is.numeric(code)) return(written(code))
  name <- if (is.symbol(code[[1L]])) as.character(code[[1L]]) else ""
  args <- as.list(code)[-1L]
  given <- if (is.null(names(args))) rep("", length(args)) else names(args)
  at <- function(i) in_python(args[[i]], out)
  whole <- function() paste(vapply(seq_along(args), at, ""), collapse = ", ")
  axes <- args$axes
  # `f(x, axis=.., keepdims=..)`, with other arguments.
  folded <- function(f, ...) {
    over <- if (!is.null(axes)) paste0("axis=", axes - 1L)
    kept <- if (isFALSE(args$drop)) "keepdims=True"
    paste0(f, "(", paste(c(at(1L), over, kept, ...), collapse = ", "), ")")
  }
  infix <- c(
    "+" = "+", "-" = "-", "*" = "*", "/" = "/", "^" = "**", "%*%" = "@", "<" = "<", ">" = ">", nv_and = "&",
    nv_xor = "^", nv_shift_left = "<<", nv_shift_right_arithmetic = ">>"
  )
  if (name %in% names(infix)) {
    if (length(args) == 1L) return(paste0("(-", at(1L), ")"))
    return(paste0("(", at(1L), " ", infix[[name]], " ", at(2L), ")"))
  }
  switch(name,
    "(" = at(1L),
    "{" = at(1L),
    "[" = paste0(at(1L), "[", python_index(code, out), "]"),
    "[[" = paste0(at(1L), "[", args[[2L]] - 1L, "]"),
    "$" = paste0(at(1L), if (as.character(args[[2L]]) == "carry") "[0]" else "[1]"),
    list = python_tuple(vapply(seq_along(args), at, "")),
    c = paste0("jnp.stack([", whole(), "])"),
    by_row = paste0(at(1L), "[:, None]"),
    by_column = paste0(at(1L), "[None, :]"),
    along = at(1L),
    t = paste0(at(1L), ".T"),
    crossprod = local({
      x <- at(1L)
      paste0("(", x, ".T @ ", x, ")")
    }),
    sum = , nv_reduce_sum = folded("jnp.sum"),
    nv_mean = folded("jnp.mean"),
    nv_reduce_max = folded("jnp.max"),
    nv_var = folded("jnp.var"),
    nv_softmax = , nv_log_softmax = folded(jax_names(name)),
    nv_cumsum = paste0("jnp.cumsum(", at(1L), ")"),
    nv_shift_right_logical = paste0("lax.shift_right_logical(", at(1L), ", jnp.int32(", at(2L), "))"),
    nv_roll = paste0("jnp.roll(", whole(), ")"),
    nv_clamp = paste0("jnp.clip(", at(2L), ", ", at(1L), ", ", at(3L), ")"),
    nv_ifelse = paste0("jnp.where(", whole(), ")"),
    nv_concatenate = paste0("jnp.concatenate([", at(1L), ", ", at(2L), "], axis=", args$axis - 1L, ")"),
    nv_segment_sum = paste0("jax.ops.segment_sum(", at(1L), ", ", at(2L), " - 1, num_segments=", at(3L), ")"),
    nv_scalar = paste0("jnp.asarray(", at(1L), ", ", python_dtype(args[[2L]]), ")"),
    nv_fill = paste0("jnp.full((", args[[2L]], ",), ", at(1L), ", ", python_dtype(args[[3L]]), ")"),
    nv_scan = paste0("lax.scan(", python_name(args[[1L]], out), ", ", at(2L), ", ", at(3L), ")"),
    nv_for = paste0("lax.fori_loop(1, ", at(1L), " + 1, ", python_name(args[[3L]], out), ", ", at(2L), ")"),
    nv_while = paste0(
      "lax.while_loop(lambda state: ", python_name(args[[2L]], out), "(*state), lambda state: ",
      python_name(args[[3L]], out), "(*state), ", at(1L), ")"
    ),
    if (is.call(code[[1L]])) {
      gradient_in_python(code, out)
    } else {
      f <- jax_names(name)
      if (any(nzchar(given))) stop("an argument of ", name, " by name")
      arguments <- lapply(seq_along(args), at)
      if (name %in% names(jax_calls)) do.call(sprintf, c(list(f), arguments)) else paste0(f, "(", whole(), ")")
    }
  )
}

# gradient(f, wrt)(x1, x2)
gradient_in_python <- function(code, out) {
  f <- code[[1L]][[2L]]
  numbers <- match(eval(code[[1L]][[3L]]), names(f[[2L]])) - 1L
  arguments <- paste(vapply(as.list(code)[-1L], as.character, ""), collapse = ", ")
  paste0("jax.grad(", python_name(f, out), ", ", python_tuple(numbers), ")(", arguments, ")")
}
