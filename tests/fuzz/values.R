# Values that functions are called with, as expressions, so that a failure can be shown as code: `pool` by
# kind. What an expression needs beside R and anvil is defined here.

dtype_names <- c(
  "i1", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64", "bf16", "f16", "f32", "f64", "c64", "c128"
)
real_names <- setdiff(dtype_names, c("c64", "c128"))

# ---- what expressions need ----

# A small tensor of some dtype and shape, with the values 0, 1, 2 and so on, modulo what `i1` holds.
tensor <- function(dtype = "f32", shape = 3L, ambiguous = FALSE) {
  count <- prod(shape)
  # Evaluated here: what fails is this function, not the one of anvil that looks at its argument.
  data <- if (dtype == "i1") seq_len(count) %% 2 == 0 else as.double(seq_len(count) - 1)
  nv_tensor(data, dtype, shape, ambiguous)
}

# A tensor that was given away. The argument is used, so that the call may take its memory.
donated <- function(dtype = "f64") {
  x <- tensor(dtype)
  jit(function(x) nv_add(x, x), donate = "x")(x)
  x
}

# A tracer of a trace that has ended.
leaked <- function(shape = 3L) {
  kept <- NULL
  trace_fn(function(x) kept <<- x * 2, nv_abstract("f32", shape))
  kept
}

# Tracers of a trace that has failed.
leaked_of_failed <- function() {
  kept <- NULL
  try(trace_fn(function(x) {
    kept <<- x
    stop("on purpose")
  }, nv_abstract("f32", 2L)), silent = TRUE)
  kept
}

graph <- function() trace_fn(function(x) x * 2 + 1, nv_abstract("f32", 3L))

bytes_string <- function() `Encoding<-`("f32\xff", "bytes")
latin1_string <- function() `Encoding<-`("f\xfc32", "latin1")
invalid_string <- function() `Encoding<-`("f\xff\xfe", "UTF-8")

# A list in a list, `depth` times.
nested <- function(depth) {
  x <- list(1)
  for (i in seq_len(depth)) x <- list(x)
  x
}

# What has passed through a file or another process.
again <- function(x) unserialize(serialize(x, NULL))

# An external pointer that is none of anvil's.
foreign_pointer <- function() attr(stdin(), "conn_id")

if (!methods::isClass("FuzzS4")) methods::setClass("FuzzS4", representation(a = "numeric"))
s4_object <- function() methods::new("FuzzS4", a = 1)

# An object whose methods fail.
length.fuzz_hostile <- function(x) stop("length() on purpose")
dim.fuzz_hostile <- function(x) stop("dim() on purpose")
as.character.fuzz_hostile <- function(x, ...) stop("as.character() on purpose")
length.fuzz_liar <- function(x) 7L
dim.fuzz_liar <- function(x) c(3L, 4L)

# ---- the pools ----

pool <- list(
  nothing = alist(
    NULL, NA, list(), character(0), integer(0), double(0), logical(0), complex(0), raw(0), emptyenv()
  ),
  number = alist(
    0, 1, 2L, -1L, 3, 0.5, -0, 1e-320, 1e300, -1e300, Inf, -Inf, NaN, NA_real_, NA_integer_,
    .Machine$integer.max, -.Machine$integer.max, 2^31, 2^32, 2^53, 2^53 + 2, 2^63, 2^64, 1e10, 1i,
    NA_complex_, complex(real = NaN, imaginary = Inf),
    as.raw(7), 1L:3L, c(2, 1), c(1, NA), c(NaN, Inf), -3:-1, c(0L, 0L), seq(0.5, 3), 1e5, c(1e5, 1e5),
    c(65536, 65536, 65536),
    c(2^31, 2^31, 2^31), rep(1L, 40L), rep(2, 70L), matrix(1:4, 2), matrix(c(1.5, NA), 1),
    array(1:8, c(2, 2, 2)), matrix(0, 0, 3),
    array(1, c(1, 1, 1, 1)), structure(1:3, names = c("a", "b", "a")), structure(1, dim = 1L), 1:100000
  ),
  logical = alist(TRUE, FALSE, NA, c(TRUE, FALSE), c(TRUE, NA, FALSE), matrix(c(TRUE, FALSE), 1)),
  string = alist(
    "", "a", "f32", "i1", "F32", "float32", " f32", "f32 ", NA_character_, c("f32", "i8"), "cpu", "x",
    "\u00e9\u4e2d", "\n", "%s%n",
    strrep("x", 100000), bytes_string(), latin1_string(), invalid_string(), c(a = "f32"), letters, "1",
    "-9223372036854775809",
    strrep("9", 400), "1e999", "TRUE", "...", "`"
  ),
  dtype = alist(
    "i1", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64", "bf16", "f16", "f32", "f64", "c64",
    "c128",
    as_dtype("f32"),
    as_dtype("i8"), dtype(tensor("ui64")),
    structure(list(name = "f99", value = 3L), class = c("FloatType", "AnvilDtype")),
    structure(list(), class = "AnvilDtype"), structure(list(name = NA_character_), class = "AnvilDtype"),
    structure(list(name = bytes_string(), value = 32L), class = c("FloatType", "AnvilDtype")),
    structure("f32", class = "AnvilDtype")
  ),
  object = alist(
    factor(c("u", "v")), as.Date("2024-02-29"), Sys.time(), data.frame(a = 1:2, b = c("x", "y")),
    data.frame(), s4_object(),
    structure(list(), class = "fuzz_hostile"), structure(1, class = "fuzz_hostile"),
    structure(1:2, class = "fuzz_liar"),
    structure(list(1), class = "fuzz_liar"), as.POSIXlt("2024-01-01"), numeric_version("1.2"),
    table(c(1, 1, 2)), ts(1:3),
    structure(c(1, 2), class = "integer64"), structure(1:3, class = "AnvilTensor"),
    structure(list(), class = "AnvilTensor"),
    structure(list(1), class = c("AnvilTensor", "AnvilValue")),
    structure(1, class = c("AnvilTracer", "AnvilValue")), structure(function(x) x + 1, class = "JitFunction"),
    structure(list(), class = "AnvilGraph"), structure(1, class = "AnvilStablehlo"),
    y ~ x, I(1:3), stdin(), .leap.seconds[1:2]
  ),
  language = alist(
    quote(x), quote(x + 1), quote(f(x)), expression(a, b), as.name("f32"), quote({}), quote(function(x) x),
    pairlist(1, 2),
    pairlist(a = 1)
  ),
  closure = alist(
    identity, function(x) x + 1, function(...) NULL, function() stop("on purpose"), sum, c, `if`, `[[`,
    function(x) x, mean, quote,
    function(x, y) x * y, function(i, state) state, function(state) state + 1, function(x) list(x, x),
    function(state, x) list(state, x),
    function(x) sum(x), function(x) sum(x * x), function(x) if (x > 0) 1 else 2, function(x) "a",
    function(x) NULL, function(x) leaked(),
    function(x = stop("on purpose")) 1, jit(function(x) x * 2), jit(function(x) x * 2, donate = "x"),
    gradient(function(x) sum(x)),
    function(x) globalenv(), function(x) list(a = x, a = x), Vectorize(function(x) x),
    function(x) nv_for(3L, x, function(i, s) s + i),
    function(x) invisible(), nv_add, nv_abs, function(x) factor("a"), function(x) nested(100),
    function(g) list(g), nv_reduce_sum,
    again(jit(function(x) x + 1))
  ),
  strange = alist(
    globalenv(), new.env(), environment(), foreign_pointer(), .Machine, nested(50L), nested(3000L),
    base::T, # nolint: T_and_F_symbol_linter.
    list(1, "a", NULL), list(a = 1, a = 2),
    list(tensor(), list(tensor("i8"), NULL)), list(1:3), list(NULL), rep(list(1), 5000L),
    list(a = tensor(), b = list(c = 1)),
    setNames(list(1, 2), c("", NA)), structure(list(1), names = bytes_string()), list(function(x) x),
    new.env(parent = emptyenv()), as.list(1:3)
  ),
  tensor = c(
    lapply(dtype_names, function(dtype) bquote(tensor(.(dtype)))),
    alist(
      tensor("f32", c(2L, 3L)), tensor("f64", c(2L, 2L)), tensor("i32", c(3L, 3L)), tensor("f32", integer()),
      tensor("i1", integer()),
      tensor("i32", integer()), tensor("f32", 0L), tensor("f64", c(0L, 3L)), tensor("i1", c(2L, 0L, 2L)),
      nv_scalar(1), nv_scalar(2L),
      nv_scalar(NaN), nv_scalar(TRUE), nv_tensor(c(NaN, Inf, -Inf, 0)), tensor("f32", c(1L, 3L)),
      tensor("f32", c(3L, 1L)),
      nv_fill(1, c(100L, 1000L)), nv_fill(2L, 70000L), tensor("f16", rep(1L, 20L)), tensor("c64", c(2L, 2L)),
      nv_rng_state(1L),
      nv_tensor(c("18446744073709551615", "0"), "ui64"), nv_tensor(.Machine$integer.max),
      tensor("i8", c(2L, 3L, 4L)), again(tensor("f64")),
      again(nv_fill(1, c(100L, 1000L))), tensor("f32", 3L, TRUE), nv_iota(1L, "i64", 5L),
      asS4(tensor(), FALSE, FALSE)
    )
  ),
  anvil = alist(
    donated("f64"), donated("f32"), list(donated("f64")), leaked(), leaked(integer()), leaked_of_failed(),
    list(leaked()), graph(), again(graph()),
    nv_abstract("f32", 2L), nv_abstract("i1"), nv_abstract("f64", c(2L, 0L)),
    stablehlo(function(x) x + 1, nv_abstract("f32", 2L)),
    promotion_table("numpy"), again(leaked()), jit(function(x) leaked()), unclass(tensor()), as_dtype("bf16"),
    memory_plan(function(x) x + 1, tensor()), explain_dtypes(function(x) x + 1, tensor("i8"))
  )
)

# What arguments of some names usually are; others may be anything. Only to get further than the first check.
usual <- list(
  operand = "tensor", lhs = "tensor", rhs = "tensor", x = "tensor", input = "tensor", update = "tensor",
  start_indices = "tensor",
  scatter_indices = "tensor", pred = c("tensor", "logical"), true_value = "tensor", false_value = "tensor",
  min_val = "tensor",
  max_val = "tensor", re = "tensor", im = "tensor", init = c("tensor", "strange"),
  xs = c("tensor", "strange"), state = "tensor",
  data = c("number", "tensor", "string", "logical"), value = c("number", "tensor"),
  `...` = c("tensor", "number"), n = "number",
  dtype = "dtype", from = "dtype", to = "dtype", lhs_dtype = "dtype", rhs_dtype = "dtype", shape = "number",
  axes = "number",
  axis = "number", f = "closure", cond = "closure", body = "closure", forward = "closure",
  backward = "closure", graph = "anvil",
  update_computation = "closure", path = "string", label = "string", static = "string", donate = "string",
  rules = "string",
  drop = "logical", ambiguous = "logical", checkpoint = "logical", reverse = "logical",
  has_aux = "logical"
)

# One of a list.
one_of <- function(x) x[[sample.int(length(x), 1L)]]

# A nasty value, as an expression; `kinds` of the pool.
draw_value <- function(kinds = names(pool)) one_of(pool[[one_of(kinds)]])

# A value for an argument of this name: often one of the usual kind.
draw_argument <- function(name) {
  kinds <- usual[[name]]
  if (is.null(kinds) || stats::runif(1L) < 0.35) draw_value() else draw_value(kinds)
}
