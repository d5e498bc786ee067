# Objects that are not as anvil made them: tensors with fields and attributes replaced, tracers, graphs,
# dtypes, jitted functions with another body, handles of another kind, of another package, or that have been
# through a file. Whatever is done with them, the answer is an error or a value, and what was not touched
# still works.

# A tensor with one of its parts replaced, past the methods that would refuse it.
with_field <- function(x, field, value) {
  parts <- unclass(x)
  attrs <- attributes(x)
  parts <- asS4(parts, FALSE, FALSE)
  parts[[field]] <- value
  if (length(parts) == length(attrs$names)) attributes(parts) <- attrs else class(parts) <- attrs$class
  asS4(parts, isS4(x), FALSE)
}

without_field <- function(x, field) {
  parts <- asS4(unclass(x), FALSE, FALSE)
  parts[[field]] <- NULL
  class(parts) <- c("AnvilTensor", "AnvilValue")
  parts
}

# An attribute set without asking methods.
with_attribute <- function(x, name, value) {
  attrs <- attributes(x)
  attrs[name] <- list(value)
  x <- unclass_any(x)
  tryCatch(attributes(x) <- attrs, error = function(e) NULL)
  x
}

# A list without its class; of a pointer a new one would need C.
unclass_any <- function(x) if (typeof(x) == "externalptr") x else asS4(unclass(x), FALSE, FALSE)

# An external pointer of ours or not, in a coat of another class. Pointers are not copied: what it was has
# another class now.
in_coat <- function(x, class) structure(x, class = class)

# A jitted function with another third element of its call, or another body.
with_handle <- function(f, value) {
  b <- body(f)
  b[3L] <- list(value)
  with_body(f, b)
}

with_body <- function(f, b) {
  class <- attr(f, "class")
  g <- f
  class(g) <- NULL
  body(g) <- b
  class(g) <- class
  g
}

with_formals <- function(f, fm) {
  g <- f
  class(g) <- NULL
  formals(g) <- fm
  class(g) <- "JitFunction"
  g
}

# Loaded from a file of another session.
from_file <- function(x) {
  path <- tempfile()
  on.exit(unlink(path))
  saveRDS(x, path)
  readRDS(path)
}

handle <- function(f = jit(function(x) x + 1)) body(f)[[3L]]

own_values <- alist(
  as.raw(1:12), as.raw(1:3), as.raw(c(2, 3, 255)), raw(16), 1:10, c(1.5, 2.5), c(TRUE, NA, FALSE), "f64",
  "i1", 4L, c(3L, 1L), -3L, c(3L, NA),
  c(2L, 6L), 12L, c(.Machine$integer.max, .Machine$integer.max, .Machine$integer.max), tensor(), NA, "TRUE",
  c(TRUE, FALSE), 3, 3.5,
  unclass(tensor("f64"))$data, unclass(nv_fill(1, c(100L, 1000L)))$data, handle(), graph(), leaked()
)
field_values <- c(
  pool$nothing, pool$number, pool$string, pool$dtype, pool$strange, pool$language,
  pool$closure[1:5], own_values
)

attribute_names <- list("names", "class", "dim", "levels", "row.names", "tsp", "dimnames")

object_makers <- list(
  tensor = function() {
    more <- alist(donated("f64"), tensor("i32", 3L), tensor("f64", c(2L, 3L)), nv_fill(1L, 70000L))
    base <- one_of(c(pool$tensor, more))
    field <- one_of(alist("data", "dtype", "shape", "ambiguous", 1L, 2L, 3L, 4L, 5L, "extra"))
    value <- one_of(field_values)
    switch(sample.int(4L, 1L),
      bquote(with_field(.(base), .(field), .(value))),
      bquote(with_field(with_field(.(base), .(field), .(value)), "shape", .(one_of(field_values)))),
      bquote(without_field(.(base), .(one_of(list("data", "dtype", "shape", "ambiguous"))))),
      bquote(with_attribute(.(base), .(one_of(attribute_names)), .(one_of(c(field_values, alist(
        c("AnvilTensor", "AnvilValue"), "AnvilTensor", "AnvilValue", c("AnvilValue", "AnvilTensor"),
        c("AnvilTracer", "AnvilValue"), "factor", "data.frame",
        c("shape", "dtype", "data", "ambiguous"), c("data", "data", "data", "data"),
        c("data", "dtype", "shape", NA), 4L, c(2L, 2L)
      ))))))
    )
  },
  coat = function() {
    classes <- list(
      c("AnvilTracer", "AnvilValue"), "AnvilGraph", c("AnvilTensor", "AnvilValue"), "AnvilStablehlo",
      "JitFunction", "AnvilAbstract", "AnvilPlan",
      "AnvilValue", c("FloatType", "AnvilDtype"), "AnvilMemoryPlan", "AnvilPromotionTable"
    )
    more <- alist(foreign_pointer(), handle(), again(handle()), graph(), leaked(), list(), function(x) x)
    inside <- one_of(c(pool$anvil, more, pool$nothing))
    bquote(in_coat(.(inside), .(one_of(classes))))
  },
  jitted = function() {
    f <- one_of(alist(
      jit(function(x) x + 1), jit(function(x, n) x * n, static = "n"), jit(function(x) x * 2, donate = "x"),
      jit(function(...) ..1),
      local({
        f <- jit(function(x) x + 1)
        f(tensor())
        f
      })
    ))
    # What takes the place of the handle has its own kinds.
    handles <- c(field_values, alist(
      again(handle()), from_file(handle()), foreign_pointer(), leaked(), graph(), "anvil_jit_call", emptyenv()
    ))
    switch(sample.int(6L, 1L),
      bquote(with_handle(.(f), .(one_of(handles)))),
      bquote(with_handle(.(f), .(one_of(handles)))),
      bquote(with_body(.(f), .(one_of(list(
        quote(x + 1), NULL, quote(.External("anvil_jit_call")),
        quote(.External("anvil_jit_call", PACKAGE = "anvil")),
        bquote(.External("anvil_jit_call", .(quote(handle())), PACKAGE = "anvil")),
        bquote(.External("anvil_jit_call", handle(), x, x, x, x, PACKAGE = "anvil")), quote({}), 1,
        quote(f(1, 2, 3))
      ))))),
      bquote(with_formals(
        .(f), .(one_of(list(NULL, alist(x = , y = ), alist(x = 3), alist(... = ), alist(y = ))))
      )),
      bquote(.(one_of(alist(again, from_file)))(.(f))),
      bquote(in_coat(.(one_of(c(pool$closure, pool$nothing))), "JitFunction"))
    )
  },
  dtype = function() {
    parts <- bquote(list(name = .(one_of(field_values)), value = .(one_of(field_values))))
    bquote(structure(.(one_of(list(parts, quote(list()), quote(list(name = "f32"))))), class = .(one_of(list(
      c("FloatType", "AnvilDtype"), "AnvilDtype", c("IntegerType", "AnvilDtype"),
      c("BooleanType", "AnvilDtype")
    )))))
  },
  abstract = function() {
    shape <- one_of(c(alist(3L), field_values))
    ambiguous <- one_of(c(alist(FALSE), field_values))
    bquote(structure(
      list(dtype = .(one_of(field_values)), shape = .(shape), ambiguous = .(ambiguous)),
      class = "AnvilAbstract"
    ))
  },
  list_object = function() {
    # Lists with a class of ours, with a part replaced.
    object <- one_of(alist(
      stablehlo(function(x) x + 1, nv_abstract("f32", 2L)), promotion_table("numpy"),
      memory_plan(function(x) x + 1, tensor()),
      explain_dtypes(function(x) x + 1, tensor("i8")), explain_cache(jit(function(x) x + 1)),
      explain_plan(function(x) x + 1, tensor()),
      compare_promotion("anvil", "jax"), nv_abstract("f32", 2L), as_dtype("i8")
    ))
    bquote(with_part(.(object), .(sample.int(6L, 1L)), .(one_of(field_values))))
  },
  again = function() bquote(.(one_of(alist(again, from_file)))(.(one_of(c(pool$anvil, pool$tensor)))))
)

with_part <- function(x, i, value) {
  parts <- unclass(x)
  if (!is.list(parts)) return(structure(value, class = class(x)))
  parts[[min(i, length(parts))]] <- value
  attributes(parts) <- attributes(x)
  parts
}

# What is done with an object.
object_uses <- alist(
  x + 1, x * x, x[1], x[[1]], print(x), format(x), str(x), summary(x), as_array(x), as.vector(x),
  as.double(x), dim(x), length(x), shape(x), dtype(x),
  ambiguous(x), device(x), ndims(x), identical(x, x), all.equal(x, tensor()), sum(x), mean(x), t(x), c(x, 1),
  rev(x), nv_reshape(x, c(3L, 1L)),
  nv_convert(x, "f64"), nv_abs(x), jit(function(z) z * 2)(x), jit(function(z) z * 2, donate = "z")(x),
  trace_fn(function(z) z, x),
  gradient(function(z) sum(z))(x), x(tensor()), x(1), x(), x(tensor(), tensor()), cache_info(x),
  explain_cache(x), explain_plan(x, tensor()), graph_text(x),
  memory_plan(x, tensor()), stablehlo(x, nv_abstract("f32", 3L)), jit(x), jit(x)(tensor()), again(x),
  object.size(x), x$data, x == x, tensor("f32", dtype = x),
  nv_convert(tensor(), x), as_dtype(x), nv_fill(1, 3L, x), common_dtype(x, "f32"),
  nv_write_npy(x, tempfile()), nv_write_stablehlo(x, tempfile()),
  as.data.frame(x), nv_for(3L, x, function(i, s) s + i),
  nv_scan(function(s, v) list(s, v), tensor("f32", integer()), x),
  nv_while(x, function(s) FALSE, function(s) s), nv_if(x, 1, 2), x %*% x, nv_concatenate(x, x), tensor()[x],
  `[<-`(x, 1, value = 2), `[<-`(tensor(), x, value = 2), nv_rng_bits(x, 3L), as.list(x), sort(x),
  nv_print(x), is_dtype(x), as.character(x), nv_tensor(x), as_nv_tensor(x), value_and_gradient(x)(tensor()),
  vjp(x, tensor()), nv_abstract(x), nv_subset(x, 1L),
  nv_promote_to_common(x, 1), print(x, header = FALSE), head(x), unique(x), is.na(x), rep(x, 2), rbind(x, x),
  x & x, -x, !x, nv_gather(x, x, 1L),
  jit(function() x + 1)(), jit(function(z, k) z, static = "k")(tensor(), x), nv_bitcast_convert(x, "ui8"),
  length(x) <- 2, plot(x), as.matrix(x)
)

generate_objects <- function(n) {
  maker <- one_of(object_makers)
  setup <- list(x = maker())
  code <- one_of(object_uses)
  if (stats::runif(1L) < 0.15) {
    setup$y <- one_of(object_makers)()
    code <- one_of(alist(
      x + y, nv_concatenate(x, y), jit(function(a, b) a + b)(x, y), x[y], `[<-`(x, 1, value = y),
      identical(x, y), all.equal(x, y), nv_ifelse(x, y, x),
      x(y), x %*% y, nv_fill(x, y), nv_tensor(1:3, x, y), common_dtype(x, y), list(x, y) == 1,
      nv_write_npy(x, y), jit(function(l) l$a)(list(a = x, b = y))
    ))
  }
  list(setup = setup, code = code)
}
