expect_design <- function(m, formula, data, ...) {
  frame <- model.frame(formula, data)
  want <- model.matrix(formula, frame, ...)
  expect_identical(m$columns, as.character(colnames(want)))
  expect_identical(as_array(m$design), array(as.double(want), dim(want), list(NULL, colnames(want))))
  expect_identical(m$assign, attr(want, "assign"))
  expect_identical(m$contrasts, attr(want, "contrasts"))
  expect_identical(as.double(m$response), as.double(model.response(frame)))
}

test_that("designs are those of model.matrix(), bit by bit", {
  formulas <- list(
    breaks ~ wool * tension, log(breaks) ~ tension, breaks ~ wool + tension - 1, breaks ~ wool:tension,
    breaks ~ 1, breaks ~ 0 + poly(seq_along(breaks), 3), breaks ~ ., breaks ~ wool %in% tension
  )
  for (formula in formulas) expect_design(nv_model(formula, warpbreaks, dtype = "f64"), formula, warpbreaks)
  formula <- mpg ~ factor(cyl) * wt + I(hp / 100)
  expect_design(nv_model(formula, mtcars, dtype = "f64"), formula, mtcars)
  sums <- list(tension = "contr.sum", wool = contr.helmert(2))
  expect_design(
    nv_model(breaks ~ wool + tension, warpbreaks, contrasts = sums, dtype = "f64"), breaks ~ wool + tension,
    warpbreaks, contrasts.arg = sums
  )
  m <- nv_model(breaks ~ wool, warpbreaks)
  expect_identical(as.character(dtype(m$design)), "f32")
  expect_identical(levels(warpbreaks$wool), m$levels$wool)
})

test_that("responses are numbers, codes, logicals or matrices", {
  type <- function(m) as.character(dtype(m$response))
  expect_identical(type(nv_model(Species ~ Sepal.Length, iris)), "i32")
  expect_identical(nv_model(Species ~ Sepal.Length, iris)$response_levels, levels(iris$Species))
  expect_identical(type(nv_model(mpg > 20 ~ wt, mtcars, dtype = "f64")), "i1")
  cars_with_counts <- transform(mtcars, carb = as.integer(carb))
  expect_identical(type(nv_model(carb ~ wt, cars_with_counts, dtype = "f64")), "i32")
  m <- nv_model(cbind(ncases, ncontrols) ~ agegp, esoph, dtype = "f64")
  expect_identical(as.double(m$response), as.double(c(esoph$ncases, esoph$ncontrols)))
  expect_identical(colnames(m$response), c("ncases", "ncontrols"))
  expect_null(nv_model(~ speed, cars)$response)
  expect_identical(shape(nv_model(dist ~ 0, cars)$design), c(50L, 0L))
  expect_error(nv_model(name ~ x, data.frame(name = c("a", "b"), x = 1:2)), class = "anvil_error_arg")
})

test_that("weights, offsets and subsets are expressions in the data", {
  m <- nv_model(
    dist ~ speed + offset(speed / 2), cars, subset = speed > 10, weights = dist, offset = log(speed),
    dtype = "f64"
  )
  used <- cars[cars$speed > 10, ]
  expect_identical(as.double(m$offset), used$speed / 2 + log(used$speed))
  expect_identical(as.double(m$weights), used$dist)
  expect_identical(m$rows, attr(used, "row.names"))
  by_hand <- function(data, w) nv_model(dist ~ speed, data, weights = w, dtype = "f64")
  w <- c(2, 3)
  expect_error(by_hand(cars, w), class = "anvil_error_arg")
  speed <- c(4, 5)
  dist <- c(1, 2)
  expect_identical(as.double(nv_model(dist ~ speed, dtype = "f64")$design[, 2]), speed)
})

test_that("na says what becomes of missing values", {
  error <- expect_error(nv_model(Ozone ~ Solar.R + Wind, airquality), class = "anvil_error_value")
  expect_match(conditionMessage(error), "44 missing values, in `Ozone` (37), `Solar.R` (7)", fixed = TRUE)
  expect_match(deparse1(conditionCall(error)), "nv_model(Ozone ~ Solar.R + Wind, airquality)", fixed = TRUE)
  m <- nv_model(Ozone ~ Solar.R + Wind, airquality, na = "omit", dtype = "f64")
  kept <- na.omit(airquality[c("Ozone", "Solar.R", "Wind")])
  expect_identical(as.double(m$design[, 2]), as.double(kept$Solar.R))
  expect_identical(m$omitted, as.vector(attr(kept, "na.action")))
  expect_output(print(m), "111 rows (42 left out)", fixed = TRUE)
  m <- nv_model(Ozone ~ Solar.R, airquality, na = "nan", dtype = "f64")
  expect_identical(which(is.nan(as.double(m$response))), which(is.na(airquality$Ozone)))
  expect_identical(which(is.nan(as.double(m$design[, 2]))), which(is.na(airquality$Solar.R)))
  data <- data.frame(y = c(1, 2, 3), f = factor(c("a", NA, "b")))
  expect_error(nv_model(y ~ f, data), "`f` (1)", fixed = TRUE, class = "anvil_error_value")
  expect_identical(is.na(as.double(nv_model(y ~ f, data, na = "nan")$design[, 2])), c(FALSE, TRUE, FALSE))
  expect_error(
    nv_model(dist ~ speed, cars, weights = ifelse(speed > 20, NA, 1)), "(weights)", fixed = TRUE,
    class = "anvil_error_value"
  )
})

test_that("a model is an argument and a result of programs", {
  fit <- function(m) {
    w <- m$weights
    nv_solve(crossprod(m$design, w * m$design), crossprod(m$design, w * m$response))
  }
  m <- nv_model(dist ~ speed + I(speed^2), cars, weights = speed, dtype = "f64")
  want <- coef(lm(dist ~ speed + I(speed^2), cars, weights = speed))
  jitted <- jit(fit)
  expect_equal(as.double(jitted(m)), unname(want))
  expect_equal(as.double(fit(m)), unname(want))
  further <- transform(cars, dist = dist + 1)
  other <- nv_model(dist ~ speed + I(speed^2), further, weights = speed, dtype = "f64")
  jitted(other)
  expect_identical(cache_info(jitted)$entries, 1L)
  loss <- function(beta, m) sum((m$response - (m$design %*% beta)[, 1])^2)
  beta <- nv_tensor(c(1, 2, 0.5), "f64")
  x <- as_array(m$design)
  g <- jit(gradient(loss, wrt = "beta"))(beta, m)$beta
  expect_equal(as.double(g), as.double(-2 * t(x) %*% (cars$dist - x %*% c(1, 2, 0.5))))
  back <- jit(function(m) m)(m)
  expect_s3_class(back, "AnvilModel")
  expect_identical(back$columns, m$columns)
  expect_identical(as.double(back$response), cars$dist)
})

test_that("new data take the terms and levels of a model", {
  m <- nv_model(breaks ~ wool * tension, warpbreaks, dtype = "f64")
  new <- warpbreaks[c(1, 30), ]
  p <- nv_model(delete.response(m$terms), new, levels = m$levels, contrasts = m$contrasts, dtype = "f64")
  whole <- model.matrix(breaks ~ wool * tension, warpbreaks)
  expect_identical(as.double(p$design), as.double(whole[c(1, 30), ]))
  expect_null(p$response)
})

test_that("errors are about arguments, with R's message", {
  error <- expect_error(nv_model(nothing ~ speed, cars), class = "anvil_error_arg")
  expect_match(conditionMessage(error), "'nothing' not found", fixed = TRUE)
  expect_error(nv_model("dist ~ speed", cars), class = "anvil_error_arg")
  expect_error(nv_model(dist ~ speed, cars, na = "fail"), class = "anvil_error_arg")
  expect_error(nv_model(dist ~ speed, cars, dtype = "f23"), class = "anvil_error_dtype")
  expect_error(nv_model(), class = "anvil_error_arg")
  m <- nv_model(dist ~ speed, cars)
  expect_output(print(m), "AnvilModel dist ~ speed, 50 rows", fixed = TRUE)
  expect_identical(sum(nzchar(format(nv_model(~ 0, cars)))), 2L)
  expect_error(print(m, wide = 3), class = "anvil_error_arg")
  wide <- with_default_dtypes(float = "f64", nv_model(dist ~ speed, cars))
  expect_identical(as.character(dtype(wide$design)), "f64")
})
