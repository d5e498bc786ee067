library(testthat)
library(anvil)

# CRAN runs the tests of every package on every change of R and of what it imports. There these files run,
# which show that a build is right on its system, in about a minute and a half; all run where NOT_CRAN is set.
cran <- c(
  "as-array", "complex", "conditions", "control", "data-frame", "donate", "gradient", "half", "jit",
  "matmul-methods", "ops-binary", "ops-compare", "ops-linalg", "ops-reduce", "ops-shape", "ops-unary",
  "parallel", "print", "representation", "safetensors", "sitrep", "threads", "trace", "vctrs", "vmap"
)
absent <- setdiff(paste0("test-", cran, ".R"), list.files("testthat"))
if (length(absent)) stop("no such tests: ", toString(absent))
is_cran <- !isTRUE(as.logical(Sys.getenv("NOT_CRAN")))
test_check("anvil", filter = if (is_cran) paste0("^(", paste(cran, collapse = "|"), ")$"))
