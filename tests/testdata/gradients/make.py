"""Gradients of 20 programs, computed by JAX in f64.

    pip install "jax[cpu]" numpy
    python3 make.py        writes gradients.csv next to this script

Not run by any test: tests/testthat/test-gradient-jax.R holds the same programs, written in R, to what is in the file. Its
columns are program, part, name, shape, values. Parts are `fixed` (an argument that is not derived by), `input` (one that
is), `value` (the result) and `gradient` (by the input of that name). Shapes are sizes joined by x, none is 0-d; values are
in column-major order, with the 17 digits that tell all f64 apart, or whole numbers.
"""

import os
import platform

import jax

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import digamma, erf, gammaln

HERE = os.path.dirname(os.path.abspath(__file__))
rng = np.random.default_rng(20)
normal = lambda *shape: rng.normal(size=shape)
PROGRAMS = {}


def program(inputs, **fixed):
    def keep(f):
        PROGRAMS[f.__name__] = (f, inputs, fixed)
        return f

    return keep


@program({"w": normal(3), "b": normal()}, x=normal(8, 3), y=rng.integers(0, 2, 8))
def logistic_regression(w, b, x, y):
    logit = x @ w + b
    return jnp.mean(jnp.log1p(jnp.exp(logit)) - y * logit)


@program({"w1": normal(3, 5), "b1": normal(5), "w2": normal(5, 2), "b2": normal(2)}, x=normal(7, 3), y=normal(7, 2))
def mlp(w1, b1, w2, b2, x, y):
    return jnp.mean((jnp.tanh(x @ w1 + b1) @ w2 + b2 - y) ** 2)


@program({"w": normal(4, 3)}, x=normal(6, 4), label=rng.integers(1, 4, 6))
def softmax_cross_entropy(w, x, label):
    logits = x @ w
    logits = logits - jnp.max(logits, axis=1, keepdims=True)
    logs = logits - jnp.log(jnp.sum(jnp.exp(logits), axis=1, keepdims=True))
    return -jnp.mean(jnp.take_along_axis(logs, (label - 1)[:, None], axis=1))


@program({"mu": normal(2), "log_sigma": normal(2)}, x=normal(5, 2))
def gaussian_log_likelihood(mu, log_sigma, x):
    z = (x - mu) / jnp.exp(log_sigma)
    return jnp.sum(-0.5 * z**2 - log_sigma - 0.5 * np.log(2 * np.pi))


@program({"x": normal(6)}, w=normal(6))
def cumulative(x, w):
    step = lambda sum, x: ((sum + x) * 0.9, (sum + x) ** 2)
    last, all = lax.scan(step, jnp.zeros(()), x)
    return last + jnp.sum(w * all)


@program({"x": normal(), "y": normal()})
def conditional(x, y):
    inner = lambda x: lax.cond(x > 10, lambda: x, lambda: jnp.sin(x) * y)
    return lax.cond(y > x, lambda: inner(x * y), lambda: inner(x - y)) + x


@program({"x": np.array([0.0, 0.5, 2.0, -1.5, 3.0]), "p": np.array([2.0, -1.5, 0.3, 3.0, 0.0])})
def power(x, p):
    # Negative bases have powers with whole exponents alone: `p` is not derived by there.
    return jnp.sum(x**2 + jnp.abs(x) ** 3) + jnp.sum(jnp.where(x > 0, x, 1.0) ** p)


@program({"table": normal(4, 3)}, at=np.array([2, 4, 2, 1, 2]), w=normal(5, 3))
def gather_with_duplicates(table, at, w):
    return jnp.sum(jnp.exp(table[at - 1]) * w)


@program({"x": rng.uniform(0.2, 0.8, 3), "r": np.array(3.2)})
def logistic_map(x, r):
    return jnp.sum(lax.fori_loop(1, 13, lambda i, x: r * x * (1 - x) + 0.01 * i, x))


@program({"x": np.array([[1.5, 0.0, 2.0], [0.0, 0.0, 3.0], [0.5, -1.0, 2.0]])}, w=normal(3))
def products_with_zeros(x, w):
    return jnp.sum(w * jnp.prod(x, axis=1)) + jnp.prod(x[2] + 1)


@program({"x": np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0], [0.5, -1.0, -1.0]])}, w=normal(3))
def tied_maxima(x, w):
    pairs = jnp.maximum(x[0], x[1]) - jnp.minimum(x[1], x[2])
    return jnp.sum(w * jnp.max(x, axis=1) * jnp.min(x, axis=0)) + jnp.sum(pairs)


@program({"x": np.array([-2.0, -0.5, 0.3, 1.7]), "low": np.array(-1.0), "high": np.array(1.0)})
def clamp(x, low, high):
    return jnp.sum(jnp.exp(jnp.minimum(jnp.maximum(x, low), high)))


@program({"x": normal(5), "update": normal(4)}, at=np.array([2, 5, 2, 1]), w=normal(5))
def scatter_add(x, update, at, w):
    return jnp.sum(w * jnp.tanh(x.at[at - 1].add(update**2)))


@program({"x": normal(5, 4)})
def slices_and_padding(x):
    wide = lax.pad(x[0:5:2, 1:4], jnp.array(0.5), ((1, 2, 1), (-1, 0, 0)))
    return jnp.sum(jnp.concatenate([wide, jnp.flip(wide, 0)], axis=1) ** 3)


@program({"log_mu": normal(4), "log_r": normal()}, y=rng.integers(0, 9, 4))
def negative_binomial(log_mu, log_r, y):
    mu, r = jnp.exp(log_mu), jnp.exp(log_r)
    log_p = gammaln(y + r) - gammaln(r) - gammaln(y + 1.0) + r * jnp.log(r / (r + mu)) + y * jnp.log(mu / (r + mu))
    return jnp.sum(log_p) + digamma(r)


@program({"beta": normal(2)}, x=normal(6, 2), y=rng.integers(0, 2, 6))
def probit(beta, x, y):
    p = 0.5 * (1 + erf(x @ beta / np.sqrt(2.0)))
    return -jnp.sum(y * jnp.log(p) + (1 - y) * jnp.log(1 - p))


@program({"log_q": normal(), "log_r": normal()}, y=normal(10))
def kalman_filter(log_q, log_r, y):
    q, r = jnp.exp(log_q), jnp.exp(log_r)

    def step(state, y):
        m, p, count = state
        s = p + q + r
        k = (p + q) / s
        e = y - m
        return (m + k * e, (1 - k) * (p + q), count + 1), jnp.log(s) + e**2 / s

    (m, _, count), terms = lax.scan(step, (jnp.zeros(()), jnp.ones(()), 0), y)
    return 0.5 * jnp.sum(terms) + m * count


@program({"x": normal(4)}, v=normal(4))
def hessian_vector_product(x, v):
    rosenbrock = lambda x: jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    return jnp.sum(jax.grad(rosenbrock)(x) * v)


@program({"x": normal(5)}, w=rng.uniform(0.5, 1.5, 5))
def spectrum(x, w):
    t = jnp.arange(5) * (2 * np.pi / 5)
    turn = jnp.exp(lax.complex(jnp.zeros((5, 5)), -jnp.outer(t, jnp.arange(5.0))))
    z = turn @ lax.complex(x, x**2)
    return jnp.sum(w * jnp.abs(z)) + jnp.sum(jnp.real(z * jnp.conj(z) / (1 + z))) + jnp.angle(z[1])


@program({"q": normal(2, 3, 4), "k": normal(2, 5, 4), "v": normal(2, 5, 2)}, w=normal(2, 3, 2))
def attention(q, k, v, w):
    scores = lax.dot_general(q, k, (((2,), (2,)), ((0,), (0,)))) / 2
    weights = jnp.exp(scores - jnp.max(scores, axis=2, keepdims=True))
    weights = weights / jnp.sum(weights, axis=2, keepdims=True)
    return jnp.sum(w * lax.dot_general(weights, v, (((2,), (1,)), ((0,), (0,)))))


def row(program, part, name, x):
    x = np.asarray(x)
    digits = "%d" if np.issubdtype(x.dtype, np.integer) else "%.17g"
    values = " ".join(digits % v for v in x.ravel(order="F"))
    return ",".join([program, part, name, "x".join(map(str, x.shape)), values])


assert len(PROGRAMS) == 20
with open(os.path.join(HERE, "gradients.csv"), "w") as out:
    out.write(f"# python3 make.py; jax {jax.__version__}, numpy {np.__version__}, python {platform.python_version()}; f64\n")
    out.write("program,part,name,shape,values\n")
    for name, (f, inputs, fixed) in PROGRAMS.items():
        given = [jnp.asarray(x) for x in (*inputs.values(), *fixed.values())]
        value, gradients = jax.value_and_grad(f, argnums=tuple(range(len(inputs))))(*given)
        lines = [row(name, "fixed", k, x) for k, x in fixed.items()]
        lines += [row(name, "input", k, x) for k, x in inputs.items()]
        lines += [row(name, "value", "", value)]
        lines += [row(name, "gradient", k, g) for k, g in zip(inputs, gradients)]
        out.write("\n".join(lines) + "\n")
