# i32 next to f32, which the systems promote differently.
counts <- nv_tensor(1:3, dtype = "i32")
half <- nv_scalar(0.5, dtype = "f32")
product <- function(x, y) dtype_name(x * y)
dtype_name <- function(x) as.character(dtype(x))
rules_now <- function() {
  # What holds, seen from outside: each of these systems answers differently.
  answer <- tryCatch(dtype_name(counts * half), anvil_error_promotion = function(e) "refused")
  c(f32 = "anvil", f64 = "numpy", refused = "strict")[[answer]]
}

# What i32 and f32 promote to by each system; "-" is a refusal. From the tables in tests/testdata/promotion.
expected <- c(
  anvil = "f32", jax = "f32", jax_lax = "-", numpy = "f64", torch = "f32", tensorflow = "-", array_api = "-",
  strict = "-"
)

test_that("every op promotes by the rules that hold", {
  ops <- list(
    nv_add, nv_pow, nv_max, nv_concatenate,
    function(x, y) nv_reshape(x, c(1, 3)) %*% (nv_reshape(x, c(3, 1)) * y),
    function(x, y) nv_ifelse(nv_tensor(c(TRUE, FALSE, TRUE)), x, nv_fill(y, 3)),
    function(x, y) nv_promote_to_common(x, y)[[1L]], `+`, `%%`
  )
  for (rules in promotion_rules()) {
    for (op in ops) {
      call <- function() tryCatch(dtype_name(op(counts, half)), anvil_error_promotion = function(e) "-")
      expect_identical(with_promotion_rules(rules, call()), expected[[rules]])
      # Traced, too.
      traced <- function() {
        tryCatch(dtype_name(jit(op)(counts, half)), anvil_error_promotion = function(e) "-")
      }
      expect_identical(with_promotion_rules(rules, traced()), expected[[rules]])
    }
  }
})

test_that("comparisons, choices of bounds and floats-only ops ask the rules too", {
  refuses <- function(expr) {
    expect_error(with_promotion_rules("strict", expr), class = "anvil_error_promotion")
  }
  refuses(counts < half)
  refuses(nv_clamp(half, counts, half))
  refuses(exp(counts))
  refuses(mean(counts))
  refuses(nv_complex(counts, half))
  # Equal types, and scalars that are safe, are fine.
  expect_nv(with_promotion_rules("strict", counts + counts), c(2, 4, 6), "i32")
  expect_nv(with_promotion_rules("strict", half * 2L), 1, "f32", integer())
  expect_nv(with_promotion_rules("strict", half * 0.5), 0.25, "f32", integer())
  refuses(counts * 0.5)
  refuses(half + TRUE)
  # NumPy and PyTorch differ about the exponential of integers, as they do about a float scalar.
  expect_identical(dtype_name(with_promotion_rules("numpy", exp(counts))), "f64")
  expect_identical(dtype_name(with_promotion_rules("torch", exp(counts))), "f32")
})

test_that("results do not depend on whether a rule or the user converts", {
  x <- nv_tensor(c(1L, 2147483647L), dtype = "i32")
  y <- nv_tensor(c(0.1, 0.2), dtype = "f32")
  expect_identical(with_promotion_rules("numpy", x * y), nv_convert(x, "f64") * nv_convert(y, "f64"))
  expect_identical(x * y, nv_convert(x, "f32") * y)
})

test_that("a scalar result has our default width", {
  x <- nv_convert(nv_tensor(c(1, 2)), "f64", ambiguous = TRUE)
  out <- with_promotion_rules("jax", x + 1)
  expect_nv(out, c(2, 3), "f32", ambiguous = TRUE)
})

test_that("the order of operands counts where a system is no lattice", {
  one <- nv_scalar(1L, dtype = "i64")
  f <- function(x, y) with_promotion_rules("tensorflow", x + y)
  expect_identical(dtype_name(f(one, 2L)), "i64")
  expect_error(f(2L, one), class = "anvil_error_promotion")
})

test_that("dtypes that a system does not have are refused", {
  small <- nv_tensor(1:2, dtype = "i16")
  word <- nv_tensor(1:2, dtype = "ui16")
  expect_nv(with_promotion_rules("torch", small + small), c(2, 4), "i16")
  error <- expect_fields(
    with_promotion_rules("torch", word + word), "anvil_error_promotion", lhs = "ui16", rhs = "ui16",
    rules = "torch"
  )
  expect_match(conditionMessage(error), "do not have ui16")
  expect_error(common_dtype("ui16", "i32", rules = "torch"), class = "anvil_error_promotion")
  expect_identical(as.character(common_dtype("i16", "ui8", rules = "torch")$dtype), "i16")
})

test_that("a refusal names the call, the operands, the rules and the cast that would do", {
  error <- expect_fields(
    with_promotion_rules("strict", counts * half), "anvil_error_promotion", lhs = "i32", rhs = "f32",
    rules = "strict"
  )
  expect_match(conditionMessage(error), "i32 and f32 under the rules \"strict\"", fixed = TRUE)
  expect_match(conditionMessage(error), "nv_convert(x, \"f32\")", fixed = TRUE)
  expect_identical(deparse1(conditionCall(error)), "counts * half")
  # The cast that is named does do.
  expect_nv(with_promotion_rules("strict", nv_convert(counts, "f32") * half), c(0.5, 1, 1.5), "f32")
})

test_that("every refused pair is accepted after the cast that the message names", {
  for (rules in setdiff(promotion_rules(), "anvil")) {
    table <- promotion_table(rules)
    cells <- which(unclass(table) == "-", arr.ind = TRUE)
    for (i in seq_len(nrow(cells))) {
      lhs <- rownames(table)[cells[i, 1L]]
      rhs <- colnames(table)[cells[i, 2L]]
      message <- conditionMessage(condition_of(common_dtype(lhs, rhs, rules = rules)))
      to <- sub(".*nv_convert\\(x, \"([a-z0-9]+)\"\\).*", "\\1", message)
      if (grepl("both operands", message)) {
        lhs <- rhs <- to
      } else if (grepl(paste("Convert the", lhs), message)) {
        lhs <- to
      } else if (grepl(paste("Convert the", rhs), message)) {
        rhs <- to
      } else {
        expect_match(message, "no dtype that holds both")
        next
      }
      expect_identical(as.character(common_dtype(lhs, rhs, rules = rules)$dtype), to)
    }
  }
})

# ---- scopes ----

test_that("scopes nest, and end with the old rules, errors included", {
  expect_identical(rules_now(), "anvil")
  with_promotion_rules("numpy", {
    expect_identical(rules_now(), "numpy")
    with_promotion_rules("strict", expect_identical(rules_now(), "strict"))
    expect_identical(rules_now(), "numpy")
    expect_error(with_promotion_rules("strict", stop("no")), "no")
    expect_identical(rules_now(), "numpy")
    expect_error(with_promotion_rules("strict", counts * half), class = "anvil_error_promotion")
    expect_identical(rules_now(), "numpy")
    expect_error(with_promotion_rules("unknown", stop("never here")), class = "anvil_error_arg")
    expect_identical(rules_now(), "numpy")
  })
  expect_identical(rules_now(), "anvil")
  expect_identical(getOption("anvil.promotion_rules"), "anvil")
})

test_that("with_promotion_rules() gives the value of the code, visible or not", {
  expect_identical(with_promotion_rules("jax", 1 + 1), 2)
  expect_false(withVisible(with_promotion_rules("jax", invisible(3)))$visible)
})

test_that("local_promotion_rules() holds to the end of the function", {
  f <- function() {
    before <- local_promotion_rules("numpy")
    c(before, rules_now(), (function() {
      local_promotion_rules("strict")
      rules_now()
    })(), rules_now())
  }
  expect_identical(f(), c("anvil", "numpy", "strict", "numpy"))
  expect_identical(rules_now(), "anvil")
  g <- function() {
    local_promotion_rules("numpy")
    stop("no")
  }
  expect_error(g(), "no")
  expect_identical(rules_now(), "anvil")
  # Twice in one function: the first to be set is the last to be put back.
  h <- function() {
    local_promotion_rules("numpy")
    local_promotion_rules("strict")
    rules_now()
  }
  expect_identical(h(), "strict")
  expect_identical(rules_now(), "anvil")
  # Beside a handler that the function has already.
  k <- function() {
    on.exit(seen <<- rules_now())
    local_promotion_rules("numpy")
    NULL
  }
  seen <- NULL
  k()
  expect_identical(rules_now(), "anvil")
  expect_identical(local({
    local_promotion_rules("numpy")
    rules_now()
  }), "numpy")
  # On behalf of a caller.
  helper <- function(frame) local_promotion_rules("numpy", frame)
  caller <- function() {
    helper(environment())
    rules_now()
  }
  expect_identical(caller(), "numpy")
  expect_identical(rules_now(), "anvil")
})

rules_named <- function() .Call(anvil:::anvil_rules_name, NULL)

test_that("rules for the rest of a function end with it, whatever becomes of its on.exit()", {
  replaced <- function() {
    local_promotion_rules("numpy")
    on.exit(NULL)
    rules_named()
  }
  expect_identical(replaced(), "numpy")
  expect_identical(rules_named(), "anvil")
  # Another function has the place of the first on R's stack.
  inner <- function() rules_named()
  other <- function() c(rules_named(), inner())
  replaced()
  expect_identical(other(), c("anvil", "anvil"))
  replaced()
  expect_identical(
    with_promotion_rules("jax", c(rules_named(), replaced(), rules_named())), c("jax", "numpy", "jax")
  )
  expect_identical(rules_named(), "anvil")
  # The handler itself fails.
  failing <- function() {
    local_promotion_rules("numpy")
    on.exit(stop("no"), add = TRUE, after = FALSE)
  }
  expect_error(failing(), "no")
  expect_identical(rules_named(), "anvil")
})

test_that("rules for code win over those for the rest of the function around it, and end before", {
  f <- function() {
    seen <- with_promotion_rules("numpy", {
      local_promotion_rules("torch")
      rules_named()
    })
    c(seen, rules_named())
  }
  expect_identical(f(), c("numpy", "torch"))
  expect_identical(rules_named(), "anvil")
  g <- function() {
    local_promotion_rules("torch")
    h <- function() {
      local_promotion_rules("jax")
      rules_named()
    }
    c(with_promotion_rules("numpy", c(rules_named(), h(), rules_named())), h(), rules_named())
  }
  expect_identical(g(), c("numpy", "jax", "numpy", "jax", "torch"))
  expect_identical(rules_named(), "anvil")
})

test_that("code left by a jump leaves its rules", {
  f <- function() {
    with_promotion_rules("numpy", return(rules_named()))
    "never here"
  }
  expect_identical(f(), "numpy")
  expect_identical(callCC(function(leave) with_promotion_rules("numpy", local({
    local_promotion_rules("jax")
    leave(rules_named())
  }))), "jax")
  expect_identical(rules_named(), "anvil")
  endless <- function() with_promotion_rules("numpy", endless())
  expect_identical(tryCatch(endless(), error = function(e) "too deep"), "too deep")
  expect_identical(rules_named(), "anvil")
  endless <- function() {
    local_promotion_rules("numpy")
    endless()
  }
  expect_identical(tryCatch(endless(), error = function(e) "too deep"), "too deep")
  expect_identical(rules_named(), "anvil")
})

test_that("rules for the rest of a function do not keep its values", {
  step <- jit(user(function(x) x + 1), donate = "x")
  make <- function() {
    local_promotion_rules("jax")
    nv_exp(nv_fill(1, 2))
    values <- nv_fill(1, 5, dtype = "f32")
    values
  }
  # What anything else refers to is not given away.
  values <- make()
  stepped <- step(values)
  expect_nv(stepped, rep(2, 5), "f32")
  expect_error(values + 1, class = "anvil_error_donated")
})

test_that("the option holds for the session, and is checked where it is used", {
  old <- options(anvil.promotion_rules = "numpy")
  on.exit(options(old))
  expect_identical(rules_now(), "numpy")
  expect_identical(with_promotion_rules("anvil", rules_now()), "anvil")
  expect_identical(as.character(common_dtype("i32", "f32")$dtype), "f64")
  expect_false(is_promotable("i32", "f32"))
  for (bad in list("unknown", 1, c("jax", "torch"), NA_character_)) {
    options(anvil.promotion_rules = bad)
    error <- expect_error(counts * half, class = "anvil_error_arg")
    expect_match(conditionMessage(error), "anvil.promotion_rules", fixed = TRUE)
    expect_error(jit(user(function(x) x))(counts), class = "anvil_error_arg")
    expect_error(common_dtype("i32", "f32"), class = "anvil_error_arg")
  }
})

test_that("bad scopes are errors that say what to do", {
  expect_fields(with_promotion_rules("R", 1), "anvil_error_arg", arg = "rules", got = "\"R\"")
  expect_fields(with_promotion_rules(3, 1), "anvil_error_arg", arg = "rules")
  expect_fields(local_promotion_rules(c("jax", "numpy")), "anvil_error_arg", arg = "rules")
  expect_fields(local_promotion_rules("jax", 3), "anvil_error_arg", arg = "frame", got = "3")
  error <- expect_fields(local_promotion_rules("jax", globalenv()), "anvil_error_arg", arg = "frame")
  expect_match(conditionMessage(error), "with_promotion_rules")
  # Environments of no function that is running: there is no end to wait for.
  ended <- (function() environment())()
  for (frame in list(new.env(), ended, emptyenv(), baseenv(), asNamespace("stats"), asNamespace("anvil"))) {
    error <- expect_fields(local_promotion_rules("jax", frame), "anvil_error_arg", arg = "frame")
    expect_match(conditionMessage(error), "that is running", fixed = TRUE)
  }
  expect_identical(rules_now(), "anvil")
  expect_identical(local({
    local_promotion_rules("numpy", environment())
    rules_now()
  }, new.env()), "numpy")
  expect_identical(call_of(with_promotion_rules("R", 1)), "with_promotion_rules(\"R\", 1)")
  expect_identical(rules_now(), "anvil")
})

# ---- jitted functions ----

test_that("a jitted function keeps a program for each rules that it is called under", {
  f <- jit(user(function(x, y) x * y))
  expect_identical(dtype_name(f(counts, half)), "f32")
  expect_identical(dtype_name(with_promotion_rules("numpy", f(counts, half))), "f64")
  expect_identical(dtype_name(f(counts, half)), "f32")
  expect_identical(dtype_name(with_promotion_rules("numpy", f(counts, half))), "f64")
  expect_error(with_promotion_rules("strict", f(counts, half)), class = "anvil_error_promotion")
  expect_identical(cache_info(f)[c("entries", "hits", "misses")], list(entries = 2L, hits = 2L, misses = 2L))
  expect_match(explain_cache(f)$reason[2L], "promotion rules are numpy, not anvil (as in 1)", fixed = TRUE)
})

test_that("eager programs are kept for each rules", {
  for (i in 1:2) {
    expect_identical(rules_now(), "anvil")
    expect_identical(with_promotion_rules("numpy", rules_now()), "numpy")
  }
})

test_that("a function may have rules of its own", {
  f <- jit(user(function(x, y) x * y), rules = "numpy")
  expect_identical(dtype_name(f(counts, half)), "f64")
  expect_identical(dtype_name(with_promotion_rules("strict", f(counts, half))), "f64")
  expect_identical(cache_info(f)$entries, 1L)
  expect_identical(rules_now(), "anvil")
  # A trace that fails puts the rules back as well.
  broken <- jit(user(function(x) stop("no")), rules = "numpy")
  expect_error(broken(counts), "no")
  expect_identical(rules_now(), "anvil")
  # So does a copy that was saved.
  path <- tempfile()
  on.exit(unlink(path))
  saveRDS(f, path)
  expect_identical(dtype_name(readRDS(path)(counts, half)), "f64")
  expect_error(jit(user(function(x) x), rules = "R"), class = "anvil_error_arg")
  expect_error(jit(user(function(x) x), rules = NA), class = "anvil_error_arg")
})

test_that("rules of nested functions hold for their own part", {
  inner <- jit(user(function(x, y) x * y), rules = "numpy")
  env <- list2env(list(inner = inner), parent = globalenv())
  outer <- function(x, y) list(inner(x, y), x * y)
  environment(outer) <- env
  out <- jit(outer)(counts, half)
  expect_identical(vapply(out, dtype_name, ""), c("f64", "f32"))
  # Without rules of its own, a function follows those of the one that calls it.
  env$inner <- jit(user(function(x, y) x * y))
  expect_identical(vapply(jit(outer, rules = "numpy")(counts, half), dtype_name, ""), c("f64", "f64"))
})

test_that("a scope inside a traced function holds for its part", {
  f <- jit(user(function(x, y) list(with_promotion_rules("numpy", x * y), x * y)))
  expect_identical(vapply(f(counts, half), dtype_name, ""), c("f64", "f32"))
})

test_that("the graph shows what a rule converts to", {
  graph <- with_promotion_rules(
    "numpy", trace_fn(user(function(x, y) x * y), nv_abstract("i32"), nv_abstract("f32"))
  )
  expect_match(graph_text(graph), "-> f64|f64\\[\\]")
})
