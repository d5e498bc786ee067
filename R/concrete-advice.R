# What to write instead of functions of R that read the elements of traced values, see concrete.R.

number_known <- paste(
  "The number must be known when the function is traced: `shape(x)` and `length(x)` are, and so is an",
  "argument that `static = ` names."
)

advice_on_ranges <- paste(
  "How many elements it takes must be known when the function is traced: `x[a + 0:2]` are three from a",
  "computed place on, `x[seq_along(x) >= a & seq_along(x) <= b]` those of a range."
)

known_groups <- paste(
  "Use `g <- factor(g, levels = 1:k)`, of logicals `levels = c(FALSE, TRUE)`, which says which groups there",
  "are: `tapply(x, g, sum)`, `table(g)`, `split(x, g)` and `ave(x, g)` take it."
)

advice_on_series <- paste(
  "A program knows no times: subscript the values before `ts()`, as `x[2:4]`, or let `nv_scan()` go over",
  "them."
)

advice_on_times <- paste(
  "The times of a series stay outside: take them there, and give them as an argument, `f(x, time(x))`. The",
  "positions of elements are `seq_along(x)`."
)

advice_on_dates <- paste(
  "A program has no dates: make a column of them outside, `d$month <- factor(months(d$date))`, and group by",
  "that."
)

labels_of_factor <- paste(
  "A program has no text: `f == \"a\"` is where a factor has this label, `as.integer(f)` are the numbers of",
  "its `levels(f)`, and `as.numeric(levels(f))[f]` the numbers that these say."
)

spline_basis <- paste(
  "Powers at known knots span the same curves: `outer(x, knots, function(x, k) pmax(x - k, 0)^3)` beside",
  "`poly(x, 3)`; or make the basis outside."
)

local_line <- paste(
  "A line at each place is weighted least squares: `lm.wfit(cbind(1, x - at), y, w)` with weights such as",
  "`w <- dnorm((x - at) / h)`."
)

yule_walker <- paste(
  "`solve(toeplitz(r[1:p]), r[2:(p + 1)])` has the coefficients of order `p`, with",
  "`r <- drop(acf(x, plot = FALSE)$acf)`."
)

steps_of_optimiser <- paste(
  "Call it outside, with the jitted function and its gradient; in a program, use steps with `gradient()` in",
  "`nv_for()` or `nv_while()`."
)

# What to write instead of a function that reads elements.
instead_of <- c(
  `if` = paste(
    "Use `nv_if()` to choose what is computed, `nv_ifelse()` to choose elements, or name the argument in",
    "`static = ` to trace a function for each value."
  ),
  `while` = "Use `nv_while()`, or name the argument in `static = ` to trace a function for each value.",
  `repeat` = paste(
    "A loop that ends by a computed condition is `nv_while()`, with the condition to go on; `nv_if()`",
    "chooses what is computed."
  ),
  `for` = "Use `nv_for()` or `nv_scan()`, or `seq_len(length(x))` to unroll it.",
  `&&` = "Use `&` and `|` for each element, and `nv_if()` for the branch.",
  `||` = "Use `&` and `|` for each element, and `nv_if()` for the branch.",
  isTRUE = "Use `nv_if()` or `nv_ifelse()` on the condition itself.",
  isFALSE = "Use `nv_if()` or `nv_ifelse()` on the condition itself.",
  weekdays = advice_on_dates, months = advice_on_dates, quarters = advice_on_dates, julian = advice_on_dates,
  time = advice_on_times, start = advice_on_times, end = advice_on_times, frequency = advice_on_times,
  deltat = advice_on_times, cycle = advice_on_times,
  window = advice_on_series, lag = advice_on_series, decompose = advice_on_series, stl = advice_on_series,
  HoltWinters = advice_on_series, arima = advice_on_series,
  stopifnot = "A program cannot stop on a value: check arguments before it runs.",
  ifelse = "Use `nv_ifelse()`.",
  switch = paste(
    "Use `nv_switch()`, which takes the number of a branch, or name the argument in `static = ` to trace a",
    "function for each value."
  ),
  c = "Use `nv_concatenate()`, or begin with the traced value: `c(x, 1)`.",
  unlist = "Use `nv_concatenate()` with the elements of the list.",
  append = "Use `nv_concatenate()`.",
  fft = "Use `nv_fft()`, or `nv_fft2()` for a matrix.",
  mvfft = "Use `nv_fft(x, axis = 1)`.",
  convolve = "Use `nv_convolve()`.",
  approx = "Use `nv_interp()`.",
  svd = "Use `nv_svd()`.",
  eigen = "Use `nv_eigh()`.",
  backsolve = "Use `nv_triangular_solve(..., lower = FALSE)`.",
  forwardsolve = "Use `nv_triangular_solve()`.",
  chol2inv = "Use `nv_inv()`, or `nv_triangular_solve()` with the factor.",
  norm = "Use `nv_norm()`.",
  kappa = "Use `nv_cond()`.",
  matrix = paste("Use `nv_reshape()`.", number_known),
  array = paste("Use `nv_reshape()`, or `nv_broadcast_to()` to repeat a value.", number_known),
  rep = paste("Use `nv_broadcast_to()`, or `x[index]` with positions.", number_known),
  replicate = number_known, vector = number_known, combn = number_known,
  numeric = number_known,
  seq_len = number_known,
  `[` = "Make a tensor of what is subscripted: `nv_tensor(x)[i]`.",
  `[[` = "Make a tensor of a vector, `nv_tensor(x)[i]`; choose an element of a list with `nv_switch()`.",
  seq = paste("Use `nv_seq()` or `nv_iota()`.", number_known),
  beta = "Use `nv_beta()`.",
  lbeta = "Use `nv_lbeta()`.",
  choose = "Use `nv_choose()`.",
  lchoose = "Use `nv_lchoose()`.",
  besselI = "Use `nv_bessel_i()`.",
  besselJ = "Use `nv_bessel_j()`.",
  besselK = "Use `nv_bessel_k()`.",
  besselY = "Use `nv_bessel_y()`.",
  max.col = "Use `nv_argmax(x, axis = 2)`, the first of equal elements.",
  pmax.int = "Use `pmax()`.",
  pmin.int = "Use `pmin()`.",
  pmax = "Use `nv_max()`.",
  pmin = "Use `nv_min()`.",
  max = "Begin with the traced value: `max(x, 1)`.",
  min = "Begin with the traced value: `min(x, 1)`.",
  sum = "Begin with the traced value: `sum(x, 1)`.",
  range = "Begin with the traced value: `range(x, 1)`.",
  rowSums = "Use `nv_reduce_sum(x, axes = 2)`.",
  colSums = "Use `nv_reduce_sum(x, axes = 1)`.",
  rowMeans = "Use `nv_mean(x, axes = 2)`.",
  colMeans = "Use `nv_mean(x, axes = 1)`.",
  apply = "Use reductions with `axes = `, such as `nv_reduce_sum(x, axes = 2)`.",
  sapply = "Use ops on the whole tensor, `nv_scan()`, or a list of tensors.",
  vapply = "Use ops on the whole tensor, `nv_scan()`, or a list of tensors.",
  lapply = "Use ops on the whole tensor, `nv_scan()`, or a list of tensors.",
  Map = "Use ops on the whole tensor, `nv_scan()`, or a list of tensors.",
  Reduce = "Use `nv_scan()`, or a list of tensors.",
  outer = "Use `nv_outer()`.",
  diag = "Use `nv_diag()` or `nv_extract_diag()`.",
  which = "Use `nv_which(mask, size = )`, or `nv_ifelse()` with the mask.",
  identical = "Compare with `==`; `nv_reduce_all(x == y)` is one value.",
  all.equal = "Compare with `==`, or `abs(x - y) < tolerance`.",
  var = "Use `nv_var()`, or `nv_cov()` for columns.",
  sd = "Use `nv_sd()`.",
  cov = "Use `nv_cov()`.",
  `[<-` = "Make the target a tensor first, with `nv_tensor()` or `nv_fill()`.",
  `[[<-` = "Make the target a tensor first, with `nv_tensor()` or `nv_fill()`.",
  `%in%` = "Use `nv_isin(x, table)`.",
  match = "Use `nv_isin(x, table)`, or `nv_search_sorted()` in a sorted table.",
  rcond = "Use `1 / nv_cond()`.",
  order = "Use `nv_order(x)`.",
  sort.list = "Use `nv_order(x)`.",
  sort.int = "Use `nv_sort(x)`.",
  rank = "Use `nv_rank_of(x)`.",
  xtfrm = "Use `nv_order(x)` or `nv_rank_of(x)`.",
  tabulate = "Use `nv_tabulate(bin, nbins)`.",
  findInterval = "Use `nv_search_sorted(vec, x, side = \"right\")`.",
  cut = "Use `nv_search_sorted(breaks, x)`, which gives the number of the interval.",
  factor = paste(known_groups, "Of a factor they are `levels(f)`."),
  as.factor = known_groups,
  table = known_groups,
  by = known_groups,
  interaction = known_groups,
  unsplit = known_groups,
  `split<-` = known_groups,
  droplevels = "Which levels have elements is not known while tracing: all are kept.",
  aggregate = known_groups, xtabs = known_groups, kruskal.test = known_groups, bartlett.test = known_groups,
  oneway.test = known_groups, ordered = known_groups,
  ns = spline_basis, bs = spline_basis,
  setdiff = "Use `unique(x[!x %in% y])`, a selection, see `?selections`.",
  intersect = "Use `unique(x[x %in% y])`, a selection, see `?selections`.",
  model.frame = paste(
    "A formula is for R's data: write what it means, such as `cbind(1, x)` or `tapply(y, g, mean)`, or make",
    "the matrix outside of the program, with `nv_model()`."
  ),
  model.matrix = paste(
    "Write its columns, such as `cbind(1, x)`, or make it outside of the program, with `nv_model()`."
  ),
  rowsum = known_groups,
  tapply = known_groups,
  split = known_groups,
  ave = known_groups,
  hist = "Use `nv_histogram(x, breaks)`.",
  fivenum = "Use `nv_quantile()`.",
  is.unsorted = "Use `all(nv_sort(x) == x)`.",
  rep_len = paste("Begin with the traced value: `rep_len(x, 4)`.", number_known),
  `:` = number_known,
  which.max = "Use `nv_argmax(x)`.",
  which.min = "Use `nv_argmin(x)`.",
  any = "Begin with the traced value: `any(x, TRUE)`.",
  all = "Begin with the traced value: `all(x, TRUE)`.",
  prod = "Begin with the traced value: `prod(x, 2)`.",
  as.vector = "Use `nv_reshape()` or the traced value itself, or name the argument in `static = `.",
  as.numeric = "Use `nv_convert()` or the traced value itself, or name the argument in `static = `.",
  as.double = "Use `nv_convert()` or the traced value itself, or name the argument in `static = `.",
  as.integer = "Use `nv_convert(x, \"i32\")`, or name the argument in `static = `.",
  as.logical = "Use `nv_convert(x, \"i1\")` or a comparison, or name the argument in `static = `.",
  as.complex = "Use `nv_convert(x, \"c64\")`, or name the argument in `static = `.",
  as.character = paste(
    "A program has no text: of a factor `as.integer(f)` are the numbers of its `levels(f)`. Make strings",
    "outside, or name the argument in `static = `."
  ),
  "a file" = "Return it, and write the result of the call. `nv_callback()` writes it when the program runs.",
  `storage.mode<-` = "Use `nv_convert()`.",
  `mode<-` = "Use `nv_convert()`.",
  `length<-` = "Use `head()`, or `nv_concatenate()` to make it longer.",
  cat = "Use `nv_print()` for its elements when the program runs, or `nv_callback()`.",
  paste = "Use `nv_print()` for its elements when the program runs, or `nv_callback()`.",
  sprintf = "Use `nv_print()` for its elements when the program runs, or `nv_callback()`.",
  message = "Use `nv_print()` for its elements when the program runs, or `nv_callback()`.",
  `diag<-` = "Use `nv_ifelse()` with `row(x) == col(x)`.",
  crossprod = "Use `t(x) %*% y`.",
  tcrossprod = "Use `x %*% t(y)`.",
  mapply = "Use ops on the whole tensor, `nv_scan()`, or a list of tensors.",
  Filter = "Use `nv_ifelse()` with a mask: the number of elements must be known.",
  cor = "Use `nv_cor()`.",
  kronecker = "Use `nv_kronecker()`.",
  dist = paste(
    "With `s <- rowSums(x^2)`, the squared distances of all rows are `outer(s, s, \"+\") - 2 *",
    "tcrossprod(x)`."
  ),
  optim = steps_of_optimiser, optimHess = "Use `hessian()`.", nlm = steps_of_optimiser,
  nlminb = steps_of_optimiser, constrOptim = steps_of_optimiser,
  ks.test = paste(
    "The statistic is `max(p - (seq_len(n) - 1) / n, seq_len(n) / n - p)` with `p <- pnorm(sort(x))`; take",
    "its probability outside."
  ),
  fisher.test = "`chisq.test()` and `phyper()` take traced counts; the exact test is for outside.",
  step = "Fit each model, and compare `AIC()`: `which.min(c(AIC(a), AIC(b)))`.",
  drop1 = "Fit the smaller models, and compare them: `anova(smaller, larger)`, `AIC()`.",
  add1 = "Fit the larger models, and compare them: `anova(smaller, larger)`, `AIC()`.",
  lm.influence = "Use `hatvalues()`, `rstudent()`, `cooks.distance()`.",
  influence.measures = "Use `hatvalues()`, `rstudent()`, `cooks.distance()`.",
  lowess = local_line, loess = local_line, smooth.spline = spline_basis, ksmooth = local_line,
  ar.yw = yule_walker, ar = yule_walker, ar.ols = yule_walker,
  poisson.test = "Use `ppois()`, which takes traced values.",
  power.t.test = "It needs noncentral distributions, which a program lacks: call it outside.",
  cmdscale = paste(
    "Use `eigen(b, symmetric = TRUE)` with `b <- -0.5 * h %*% d^2 %*% h`, `d <- as.matrix(dist(x))` and",
    "`h <- diag(n) - 1 / n`."
  ),
  boxplot.stats = "`fivenum(x)` has the hinges and the median.",
  pairwise.t.test = "Call `t.test()` for each pair, and `p.adjust()`.",
  hclust = "It joins by what is computed: call it outside, with the distances.",
  kmeans = paste(
    "A number of steps in `nv_for()`, or `nv_while()` until nothing changes: the nearest centre of each row,",
    "then `nv_segment_mean(x, codes, k)`."
  ),
  polyroot = "Use Newton's steps in `nv_while()`, or call it outside of the traced function.",
  runmed = "Use `apply(embed(x, k), 1, median)` with a known `k`, which leaves out the ends.",
  isSymmetric = "Use `all(abs(x - t(x)) < tolerance)`, a traced value.",
  Find = "Use `x[nv_argmax(condition)]` with the condition for all elements.",
  Position = "Use `nv_argmax(condition)` with the condition for all elements.",
  merge = "Use `match()` with known keys, and subscript with what it gives.",
  subset = "Subscript the columns: `d$x[d$y > 0]` is a selection, see `?selections`.",
  spectrum = "Use `Mod(fft(x))^2 / length(x)`.", spec.pgram = "Use `Mod(fft(x))^2 / length(x)`.",
  sample = "Use `nv_sample()` or `nv_permutation()`, which draw from a state, see `nv_rng_state()`.",
  rle = paste(
    "How many runs there are is not known while tracing: `c(TRUE, diff(x) != 0)` says where one begins,",
    "`cumsum()` of that numbers them."
  ),
  Ops.data.frame = "Use the matrix of its columns, `as.matrix(d)`, or the columns, as `d$x`.",
  print.default = "Use `print(x)` for its type, or `nv_print()` for its elements when the program runs."
)

# R's own random numbers have no state that a program could carry.
random_functions <- c(
  "rnorm", "runif", "rlnorm", "rt", "rchisq", "rf", "rgamma", "rbeta", "rexp",
  "rweibull", "rlogis", "rcauchy", "rbinom", "rnbinom", "rpois", "rgeom", "rhyper", "rmultinom"
)
instead_of[random_functions] <- paste0(
  "Use `nv_", random_functions, "()`, which draws from a state, see `nv_rng_state()`."
)

# What to write instead of an `if`: it may end a loop, or only complain of a value.
advice_on_if <- function(call) {
  if (!is.call(call)) return(instead_of[["if"]])
  if ("break" %in% all.names(call)) return(instead_of[["repeat"]])
  then <- if (length(call) == 3L) call[[3L]]
  while (is.call(then) && identical(then[[1L]], quote(`{`)) && length(then) > 1L) then <- then[[length(then)]]
  if (!is.call(then) || !name_of_call(then) %in% c("stop", "warning", "stopifnot")) return(instead_of[["if"]])
  paste(
    "A program cannot stop or warn because of a value: check arguments before it runs, or what it gives",
    "after it."
  )
}
