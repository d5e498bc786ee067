# Type promotion, block by block: each block of code is shown as at R's prompt, run, and what it prints is
# compared line by line with what it has to print. The first difference is an error.
#
# Run it with source(system.file("examples/type-promotion.R", package = "anvil")).

blocks <- new.env(parent = globalenv())
checked <- c(blocks = 0L, lines = 0L)

# Runs `code`, lines of R, in the environment that all blocks share. `shows` is what it must print.
block <- function(code, shows = "") {
  # Spaces at the ends of lines and empty lines around the text cannot be seen.
  lines_of <- function(text) sub(" +$", "", strsplit(trimws(text, whitespace = "\n"), "\n")[[1L]])
  code <- lines_of(code)
  shows <- lines_of(shows)
  old <- options(width = 80L)
  on.exit(options(old))
  expressions <- parse(text = code, keep.source = TRUE)
  printed <- character()
  for (i in seq_along(expressions)) {
    source_lines <- as.character(attr(expressions, "srcref")[[i]])
    cat(paste0(c("> ", rep("+ ", length(source_lines) - 1L)), source_lines), sep = "\n")
    output <- utils::capture.output({
      result <- withVisible(eval(expressions[[i]], blocks))
      if (result$visible) print(result$value)
    })
    if (length(output)) cat(output, sep = "\n")
    printed <- c(printed, output)
  }
  cat("\n")
  printed <- lines_of(paste(printed, collapse = "\n"))
  if (!identical(printed, shows)) {
    n <- max(length(printed), length(shows))
    at <- which(!mapply(identical, printed[seq_len(n)], shows[seq_len(n)], USE.NAMES = FALSE))[1L]
    stop(
      "Line ", at, " of the output of\n", paste0("  ", code, "\n"), "is  ", printed[at], "\nnot ", shows[at],
      call. = FALSE
    )
  }
  checked <<- checked + c(1L, length(shows[nzchar(shows)]))
}

# The common dtypes of all pairs: rows are the left, columns the right operands.
blocks$promotion_table <- function(lhs_ambiguous) {
  dtypes <- c("i1", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64", "f32", "f64")
  common <- function(lhs, rhs) as.character(common_dtype(lhs, rhs, lhs_ambiguous, FALSE)$dtype)
  table <- outer(dtypes, dtypes, Vectorize(common))
  dimnames(table) <- list(dtypes, dtypes)
  noquote(table)
}

cat("---- Two known dtypes: the result is the more general one\n\n")

block("library(anvil)")

block('
jit(nv_add)(
  nv_scalar(1.0, dtype = "f32"),
  nv_scalar(1.0, dtype = "f64")
)
', "
AnvilTensor
 2
[ CPUf64{} ]
")

block('common_dtype("f64", "f32")$dtype', "<FloatType: 64>")

block('common_dtype("i64", "f32")$dtype', "<FloatType: 32>")

block("promotion_table(lhs_ambiguous = FALSE)", "
     i1   i8  i16 i32 i64 ui8  ui16 ui32 ui64 f32 f64
i1   i1   i8  i16 i32 i64 ui8  ui16 ui32 ui64 f32 f64
i8   i8   i8  i16 i32 i64 i16  i32  i64  i64  f32 f64
i16  i16  i16 i16 i32 i64 i16  i32  i64  i64  f32 f64
i32  i32  i32 i32 i32 i64 i32  i32  i64  i64  f32 f64
i64  i64  i64 i64 i64 i64 i64  i64  i64  i64  f32 f64
ui8  ui8  i16 i16 i32 i64 ui8  ui16 ui32 ui64 f32 f64
ui16 ui16 i32 i32 i32 i64 ui16 ui16 ui32 ui64 f32 f64
ui32 ui32 i64 i64 i64 i64 ui32 ui32 ui32 ui64 f32 f64
ui64 ui64 i64 i64 i64 i64 ui64 ui64 ui64 ui64 f32 f64
f32  f32  f32 f32 f32 f32 f32  f32  f32  f32  f32 f64
f64  f64  f64 f64 f64 f64 f64  f64  f64  f64  f64 f64
")

cat("---- R's numbers are ambiguous: they yield to known dtypes\n\n")

block("jit(\\() list(1L, 1.0, TRUE))()", "
[[1]]
AnvilTensor
 1
[ CPUi32?{} ]

[[2]]
AnvilTensor
 1
[ CPUf32?{} ]

[[3]]
AnvilTensor
 1
[ CPUi1{} ]
")

block('common_dtype("f32", "f64", FALSE, TRUE)', "
$dtype
<FloatType: 32>

$ambiguous
[1] FALSE
")

block('common_dtype("f32", "f64", TRUE, TRUE)', "
$dtype
<FloatType: 64>

$ambiguous
[1] TRUE
")

block('common_dtype("f32", "f64", FALSE, FALSE)', "
$dtype
<FloatType: 64>

$ambiguous
[1] FALSE
")

block("promotion_table(lhs_ambiguous = TRUE)", "
     i1   i8  i16 i32 i64 ui8 ui16 ui32 ui64 f32 f64
i1   i1   i8  i16 i32 i64 ui8 ui16 ui32 ui64 f32 f64
i8   i8   i8  i16 i32 i64 ui8 ui16 ui32 ui64 f32 f64
i16  i16  i8  i16 i32 i64 ui8 ui16 ui32 ui64 f32 f64
i32  i32  i8  i16 i32 i64 ui8 ui16 ui32 ui64 f32 f64
i64  i64  i8  i16 i32 i64 ui8 ui16 ui32 ui64 f32 f64
ui8  ui8  i8  i16 i32 i64 ui8 ui16 ui32 ui64 f32 f64
ui16 ui16 i8  i16 i32 i64 ui8 ui16 ui32 ui64 f32 f64
ui32 ui32 i8  i16 i32 i64 ui8 ui16 ui32 ui64 f32 f64
ui64 ui64 i8  i16 i32 i64 ui8 ui16 ui32 ui64 f32 f64
f32  f32  f32 f32 f32 f32 f32 f32  f32  f32  f32 f64
f64  f64  f64 f64 f64 f64 f64 f64  f64  f64  f32 f64
")

cat("---- Which tensors are ambiguous\n\n")

block("
s1 <- nv_scalar(1.0)
ambiguous(s1)
", "[1] TRUE")

block("
t1 <- nv_tensor(c(1.0, 2.0, 3.0))
ambiguous(t1)
", "[1] FALSE")

block('
s2 <- nv_scalar(1.0, dtype = "f32")
ambiguous(s2)
', "[1] FALSE")

block("
s3 <- nv_scalar(1.0, ambiguous = FALSE)
ambiguous(s3)
", "[1] FALSE")

block("
t2 <- nv_tensor(c(1.0, 2.0, 3.0), ambiguous = TRUE)
ambiguous(t2)
", "[1] TRUE")

cat("---- Ambiguity is handed on: z is i32?, which yields to the i16 of y\n\n")

block('
f <- jit(function(x, y) {
  z <- x + 1L
  z * y
})
f(nv_scalar(TRUE), nv_scalar(2L, dtype = "i16"))
', "
AnvilTensor
 4
[ CPUi16{} ]
")

cat("All", checked[["blocks"]], "blocks printed what they have to,", checked[["lines"]], "lines in all.\n")
