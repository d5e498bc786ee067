# Programs as people write them, those of `make bench-random`, run in all ways as the ones of programs.R.

source(file.path(here, "programs.R"), keep.source = FALSE)
realistic <- new.env(parent = globalenv())
for (file in c("random_elementwise.R", "random_programs.R")) {
  sys.source(file.path(root, "bench", file), realistic)
}

generate_realistic <- function(n) {
  repeat {
    p <- realistic$random_program(sample.int(1e6L, 1L), n)
    # Large data take longer and find nothing more.
    if (!p$large) break
  }
  seed <- sample.int(1000L, 1L)
  inputs <- lapply(p$inputs, function(x) {
    if (x$kind == "numbers") return(bquote(numbers(.(p$dtype), .(x$shape), .(seed))))
    most <- if (x$kind == "index") x$most else 2^30
    bquote(nv_tensor(.(as.integer(1 + (seed * 7919 * seq_len(prod(x$shape))) %% most)), "i32", .(x$shape)))
  })
  # The result of what is checked is a list, as that of a gradient is.
  f <- realistic$r_form(p$f)
  end <- length(f[[3L]])
  result <- f[[3L]][[end]]
  if (!(is.call(result) && (identical(result[[1L]], quote(list)) || is.call(result[[1L]])))) {
    f[[3L]][[end]] <- call("list", result)
  }
  donate <- names(inputs)[stats::runif(length(inputs)) < 0.5]
  list(
    setup = list(),
    code = as.call(list(
      quote(check_program), f, as.call(c(list(quote(alist)), inputs)), donate = donate
    ))
  )
}
