# The cheat sheet, which tools/cheatsheet.R sets from this program. What follows `#>` is the value of its line, its type,
# or the class of the error that the line signals; a test runs all of it and compares.

# == Tensors: R values with a dtype and a shape
library(anvil)
m <- nv_tensor(matrix(1:6, 2))    #> i32[2, 3]
x <- nv_tensor(c(1.5, 2, 4))      #> f32[3]
d <- nv_tensor(c(1, 2), "f64")    #> f64[2]
i <- nv_tensor(1:3)               #> i32[3]
k <- nv_scalar(2)                 #> f32[]
nv_fill(0, c(2, 3), "f32")        # nv_eye(), nv_iota()
nv_linspace(0, 1, 5)              #> f32[5]
as_nv_tensor(cars)                # factors and dates, too
nv_model(dist ~ speed, cars)      # $design, $response
shape(m)                          #> 2 3
dtype(x)                          #> f32
as_array(m)                       # R's matrix again
saveRDS(m, tempfile())            # like any R value
nv_save(list(a = x), tempfile())  # safetensors

# == Dtypes: promoted by one written rule
# i1   i8 i16 i32 i64   ui8 ui16 ui32 ui64   bf16 f16 f32 f64   c64 c128
nv_convert(x, "i32")              #> 1 2 4
m + 1L                            #> i32[2, 3]
m + 0.5                           #> f32[2, 3]
x * i                             #> f32[3]
x * nv_scalar(2, "f64")           #> f64[3]
x + 1                             # R's numbers adapt: f32
common_dtype("i64", "f32")$dtype  #> f32
explain_dtypes(`*`, x, i)         # implicit conversions
with_promotion_rules("numpy", x * i)  #> f64[3]

# == Shapes and subsets: columns first, from 1
m[1, ]                            #> 1 3 5
m[, 2:3]                          #> i32[2, 2]
x[-1]                             #> 2 4
nv_take(x, c(3, 1))               #> 4 1.5
x[x > 1.8]                        # in jit(): see ?selections
m[2, 1] <- 9L                     # a new tensor, named m
t(m)                              #> i32[3, 2]
nv_reshape(m, c(3, 2))            # order = "row": as NumPy
nv_unsqueeze(x, 1)                #> f32[1, 3]
c(x, k)                           #> 1.5 2 4 2
rbind(m, m)                       #> i32[4, 3]
m + nv_tensor(c(10L, 20L))        # recycles down columns
nv_broadcast_to(x, c(2, 3))       # the last axis is x's

# ---- column ----

# == Ops: R's own functions, and nv_*() for the rest
exp(x) - sqrt(x)^2 %/% 3          # operators as in R
x > 1.8                           #> FALSE TRUE TRUE
nv_ifelse(x > 2, x, 0)            #> 0 0 4
pmin(x, 2)                        #> 1.5 2 2
nv_softplus(x) + lgamma(x)        # special functions
dnorm(x, log = TRUE)              # d, p, q of stats
sum(x)                            #> 7.5
mean(m)                           # range(), var(), median()
colSums(m)                        #> i32[3]
nv_reduce_max(m, axes = 1)        #> 9 4 6
nv_softmax(m / 2, axes = 2)       #> f32[2, 3]
cumsum(x)                         #> 1.5 3.5 7.5
sort(x, decreasing = TRUE)        # order(), nv_top_k()
diff(x)                           #> 0.5 2
nv_one_hot(c(1, 3), 3)            #> f32[2, 3]
nv_segment_sum(x, c(1, 1, 2), 2)  #> 3.5 4
anvil_find("logsumexp")           # its name elsewhere

# == Linear algebra: products, systems, factorisations
w <- nv_tensor(diag(3) + 0.5)     #> f32[3, 3]
w %*% x                           #> f32[3, 1]
crossprod(w)                      # t(w) %*% w
nv_einsum("ij,j->i", w, x)        #> f32[3]
solve(w, x)                       # qr(), svd(), eigen()
chol(w)                           # of stacks as well
outer(x, x)                       #> f32[3, 3]
nv_fft(x)                         #> c64[3]

# == Random numbers: the state is a value
s <- nv_rng_state(42)             # the same bits anywhere
u <- nv_rnorm(3, s)               # $value, the next $state
v <- nv_runif(c(2, 2), u$state)   # never s again
nv_sample_int(5, v$state, n = 6)$value  #> i32[5]

# == Look inside: what a program becomes
f <- function(w, x) sum(tanh(w %*% x))
trace_fn(f, w, x)                 # the graph
explain_plan(f, w, x)             # the steps that run it
memory_plan(f, w, x)              # what it allocates
eval_shape(f, w, x)               # the type, no work
stablehlo(f, w, x)                # for XLA: GPUs, TPUs

# ---- column ----

# == Programs: traced once for each type, then run
g <- jit(f)
g(w, x)                           # traced and compiled
g(w, x)                           # runs, in microseconds
jit(function(x, n) x^n, static = "n")(x, 2)  # n is R's
jit(function(w, g) w - g, donate = "w")  # in w's memory

# == Transformations: of functions, in any order
loss <- function(w, x) sum((w %*% x - 1)^2)
gradient(loss, wrt = "w")(w, x)$w #> f32[3, 3]
value_and_gradient(loss, wrt = "w")(w, x)$value  #> 86.19
q <- function(x) sum(x^3)
gradient(q)(x)$x                  #> 6.75 12 48
hessian(q, flat = TRUE)(x)        # R's matrix; jacobian()
jvp(q, list(x), list(x))$tangent  # forwards, along x
hvp(q, list(x), list(x))          # Hessian by vector
vmap(q)(w)                        #> f32[3]
vmap(gradient(q))(w)$x            # a gradient of each row
vmap(loss, in_axes = list(NULL, 2))(w, w)  # columns

# == Loops and branches: inside the program
nv_for(10L, x, function(i, x) x / 2 + 1)  #> f32[3]
nv_while(
  list(a = x, n = 0L),
  cond = function(s) max(abs(s$a^2 - 2)) > 1e-4,
  body = function(s) {
    list(a = (s$a + 2 / s$a) / 2, n = s$n + 1L)
  }
)$n                               #> 4
r <- nv_scan(function(s, x) list(s + x, s), k, x)
r$carry                           #> 9.5
r$ys                              #> 2 3.5 5.5
nv_if(sum(x) > 5, x, -x)          # one is computed
# R's for () is unrolled; if () on a traced value is an error

# == Errors: classed, and each says what to do
try(x + d, silent = TRUE)         # names x + d, and why
x + d                             #> anvil_error_shape
nv_tensor(300, "i8")              #> anvil_error_value
x[7]                              #> anvil_error_index
jit(function(x) if (x > 0) x)(k)  #> anvil_error_concrete
gradient(function(x) 2 * x)(x)    #> anvil_error_grad
anvil_sitrep()                    # for a report of a bug
