"""Derivatives and batches of 30 programs, computed by JAX in f64 and f32.

    pip install "jax[cpu]" numpy
    python3 make.py        writes transforms.csv next to this script

Not run by any test: tests/testthat/test-transforms-jax.R holds the same programs, written in R, to what is in the file. Its
columns are program, part, name, dtype, shape, values. Parts are `argument` and `result`. Shapes are sizes joined by x, none is
0-d; values are in column-major order, with the digits that tell all numbers of the dtype apart. Random numbers of a program
are its arguments: no two generators draw the same.
"""

import os
import platform

import jax

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.linalg import cho_factor, cho_solve
from jax.scipy.special import gammaln

HERE = os.path.dirname(os.path.abspath(__file__))
rng = np.random.default_rng(30)
normal = lambda *shape: rng.normal(size=shape)
uniform = lambda low, high, *shape: rng.uniform(low, high, shape)
PROGRAMS = {}


def program(floats="f64", **arguments):
    def typed(x):
        x = np.asarray(x)
        return x.astype(np.int32 if np.issubdtype(x.dtype, np.integer) else {"f32": np.float32, "f64": np.float64}[floats])

    def keep(f):
        PROGRAMS[f.__name__] = (f, {k: typed(x) for k, x in arguments.items()})
        return f

    return keep


# ---- Hessians ----


@program(beta=0.3 * normal(3), x=normal(12, 3), offset=normal(12), y=rng.poisson(2.0, 12))
def poisson_regression(beta, x, offset, y):
    loss = lambda beta: jnp.sum(jnp.exp(x @ beta + offset) - y * (x @ beta + offset))
    return {"value": loss(beta), "gradient": jax.grad(loss)(beta), "hessian": jax.hessian(loss)(beta)}


@program("f32", beta=0.5 * normal(4), x=normal(20, 4), y=rng.integers(0, 2, 20))
def logistic_regression(beta, x, y):
    loss = lambda beta: jnp.mean(jax.nn.softplus(x @ beta) - y * (x @ beta))
    return {"gradient": jax.grad(loss)(beta), "hessian": jax.hessian(loss)(beta)}


@program(theta=np.array([0.2, -0.1, -0.7]), x=np.sort(normal(7)), y=normal(7))
def gaussian_process(theta, x, y):
    def loss(theta):
        length, signal, noise = jnp.exp(theta)
        k = signal**2 * jnp.exp(-0.5 * ((x[:, None] - x[None, :]) / length) ** 2) + noise**2 * jnp.eye(7)
        factor = cho_factor(k, lower=True)
        return 0.5 * y @ cho_solve(factor, y) + jnp.sum(jnp.log(jnp.diag(factor[0])))

    return {"value": loss(theta), "gradient": jax.grad(loss)(theta), "hessian": jax.hessian(loss)(theta)}


layers = lambda: {"w1": normal(3, 4), "b1": normal(4), "w2": normal(4, 2), "b2": normal(2)}


def network(p, x):
    return jnp.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]


@program(**layers(), x=normal(5, 3), y=normal(5, 2))
def network_hessian(x, y, **p):
    blocks = jax.hessian(lambda p: jnp.mean((network(p, x) - y) ** 2))(p)
    return {f"{i}_{k}": blocks[i][k] for i, k in [("w1", "w1"), ("w1", "b2"), ("w2", "b1"), ("b2", "b2")]}


@program(**layers(), x=normal(5, 3), y=normal(5, 2), v=normal(3, 4), u=normal(2))
def network_hessian_vector_product(x, y, v, u, **p):
    slope = lambda w1, b2: jax.grad(lambda p: jnp.mean((network(p, x) - y) ** 2))({**p, "w1": w1, "b2": b2})
    product = jax.jvp(slope, (p["w1"], p["b2"]), (v, u))[1]
    return {"w1": product["w1"], "b2": product["b2"]}


@program(theta=np.array([0.3, -1.0, 1.2, -0.2, 0.1]), x=2 * normal(10))
def mixture(theta, x):
    def loss(theta):
        weight = jax.nn.log_sigmoid(jnp.array([1.0, -1.0]) * theta[0])
        z = (x[:, None] - theta[1:3]) / jnp.exp(theta[3:5])
        return -jnp.sum(jax.nn.logsumexp(weight - 0.5 * z**2 - theta[3:5], axis=1))

    return {"gradient": jax.grad(loss)(theta), "hessian": jax.hessian(loss)(theta)}


@program(log_mu=normal(4), log_r=normal(), y=rng.integers(0, 9, 4))
def negative_binomial(log_mu, log_r, y):
    def loss(log_mu, log_r):
        mu, r = jnp.exp(log_mu), jnp.exp(log_r)
        rest = r * jnp.log(r / (r + mu)) + y * jnp.log(mu / (r + mu))
        return -jnp.sum(gammaln(y + r) - gammaln(r) - gammaln(y + 1.0) + rest)

    (mu_mu, mu_r), (r_mu, r_r) = jax.hessian(loss, argnums=(0, 1))(log_mu, log_r)
    return {"mu_mu": mu_mu, "mu_r": mu_r, "r_mu": r_mu, "r_r": r_r}


def kalman_loss(log_q, log_r, y):
    q, r = jnp.exp(log_q), jnp.exp(log_r)

    def step(state, y):
        m, p = state
        s = p + q + r
        k = (p + q) / s
        return (m + k * (y - m), (1 - k) * (p + q)), jnp.log(s) + (y - m) ** 2 / s

    return 0.5 * jnp.sum(lax.scan(step, (jnp.zeros(()), jnp.ones(())), y)[1])


@program(log_q=normal(), log_r=normal(), y=normal(12))
def kalman_filter(log_q, log_r, y):
    (q_q, q_r), (_, r_r) = jax.hessian(kalman_loss, argnums=(0, 1))(log_q, log_r, y)
    return {"q_q": q_q, "q_r": q_r, "r_r": r_r}


@program(x=np.array([[1.5, 0.0, 2.0], [0.0, 0.0, 3.0], [0.5, -1.0, 2.0]]), w=normal(3))
def products_with_zeros(x, w):
    return {"hessian": jax.hessian(lambda x: jnp.sum(w * jnp.prod(x, axis=1)))(x)}


@program(x=normal(3))
def third_derivatives(x):
    f = lambda x: jnp.sum(jnp.sin(x) * jnp.exp(x[::-1])) * x[1] ** 2
    return {"third": jax.jacfwd(jax.hessian(f))(x)}


# ---- Jacobian matrices, products with them ----


def lotka_volterra(start, rates, steps, h):
    def slope(u):
        return jnp.stack([rates[0] * u[0] - rates[1] * u[0] * u[1], rates[2] * u[0] * u[1] - rates[3] * u[1]])

    def step(i, u):
        k1 = slope(u)
        k2 = slope(u + 0.5 * h * k1)
        k3 = slope(u + 0.5 * h * k2)
        return u + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(u + h * k3))

    return lax.fori_loop(0, steps, step, start)


@program(start=np.array([1.0, 0.6]), rates=np.array([1.1, 0.9, 0.7, 1.3]))
def ode_jacobian(start, rates):
    solve = lambda start, rates: lotka_volterra(start, rates, 25, 0.1)
    by_start, by_rates = jax.jacrev(solve, argnums=(0, 1))(start, rates)
    return {"value": solve(start, rates), "start": by_start, "rates": by_rates}


@program("f32", start=uniform(0.5, 1.5, 6, 2), rates=np.array([1.1, 0.9, 0.7, 1.3]))
def batched_ode_jacobian(start, rates):
    return {"start": jax.vmap(jax.jacfwd(lambda u: lotka_volterra(u, rates, 10, 0.1)))(start)}


@program(angle=np.array(1.3), length=np.array(0.8))
def pendulum(angle, length):
    # Steps are shorter where it is faster; how many there are depends on the values.
    def solve(angle, length):
        def step(state):
            t, a, v = state
            h = 0.05 / (1 + v**2)
            v = v - h * 9.81 / length * jnp.sin(a)
            return t + h, a + h * v, v

        return lax.while_loop(lambda s: s[0] < 1, step, (jnp.zeros(()), angle, jnp.zeros(())))

    (t_a, t_l), (a_a, a_l), (v_a, v_l) = jax.jacfwd(solve, argnums=(0, 1))(angle, length)
    return {"angle": jnp.stack([t_a, a_a, v_a]), "length": jnp.stack([t_l, a_l, v_l])}


@program(e=uniform(0.1, 0.8, 5), m=uniform(0.5, 3.0, 5), v=normal(5))
def kepler(e, m, v):
    # Newton's method, until each example has converged.
    def solve(e, m):
        start = (m, jnp.ones(()))
        body = lambda s: (s[0] - (s[0] - e * jnp.sin(s[0]) - m) / (1 - e * jnp.cos(s[0])), jnp.abs(s[0] - e * jnp.sin(s[0]) - m))
        return lax.while_loop(lambda s: s[1] > 1e-9, body, start)[0]

    value, tangent = jax.jvp(jax.vmap(solve), (e, m), (v, jnp.ones(5)))
    return {"value": value, "tangent": tangent}


@program(x=normal(6), decay=np.array(0.8))
def scan_jacobian(x, decay):
    smooth = lambda x, decay: lax.scan(lambda s, x: (decay * s + jnp.sin(x), s * x), jnp.zeros(()), x, reverse=True)[1]
    by_x, by_decay = jax.jacrev(smooth, argnums=(0, 1))(x, decay)
    return {"x": by_x, "decay": by_decay}


@program(x=normal(5), update=normal(3, 3), at=np.array([[2, 5, 2], [1, 1, 1], [4, 3, 2]]))
def scatter_jacobian(x, update, at):
    f = lambda x, update, at: jnp.exp(x.at[at - 1].add(update**2)[at - 1] * x[0])
    by_x, by_update = jax.vmap(jax.jacrev(f, argnums=(0, 1)), in_axes=(None, 0, 1))(x, update, at)
    return {"x": by_x, "update": by_update}


@program(x=normal(5), v=normal(5))
def spectrum(x, v):
    def f(x):
        t = jnp.arange(5) * (2 * np.pi / 5)
        turn = jnp.exp(lax.complex(jnp.zeros((5, 5)), -jnp.outer(t, jnp.arange(5.0))))
        z = turn @ lax.complex(x, x**2)
        return jnp.abs(z), jnp.real(z * jnp.conj(z) / (1 + z)), jnp.angle(z)

    value, tangent = jax.jvp(f, (x,), (v,))
    names = ["modulus", "ratio", "angle"]
    return {**dict(zip(names, value)), **{f"{n}_tangent": t for n, t in zip(names, tangent)}}


@program(**layers(), x=normal(5, 3), v=normal(3, 4))
def gauss_newton_product(x, v, **p):
    f = lambda w1: network({**p, "w1": w1}, x)
    along = lambda w1: jax.jvp(f, (w1,), (v,))[1]
    moved = along(p["w1"])
    back = jax.vjp(f, p["w1"])[1](moved)[0]
    # Reverse over forward.
    return {"forward": moved, "product": back, "gradient": jax.grad(lambda w1: jnp.sum(along(w1) ** 2))(p["w1"])}


@program("f32", x=3 * normal(6))
def custom_derivative(x):
    @jax.custom_vjp
    def softplus(x):
        return jnp.log1p(jnp.exp(x))

    # Not the derivative, so that it shows whose is used.
    softplus.defvjp(lambda x: (jnp.log1p(jnp.exp(x)), x), lambda x, g: (g * jnp.tanh(x),))
    f = lambda x: softplus(x) * x
    first = jax.vmap(jax.grad(f))(x)
    return {"first": first, "second": jax.vmap(jax.grad(jax.grad(f)))(x)}


# ---- batches ----


@program("f32", **layers(), x=normal(6, 3), y=normal(6, 2))
def per_example_gradients(x, y, **p):
    loss = lambda p, x, y: jnp.sum((network(p, x) - y) ** 2)
    each = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(p, x, y)
    size = jnp.sqrt(sum(jnp.sum(g**2, axis=tuple(range(1, g.ndim))) for g in each.values()))
    return {**each, "norm": size, "clipped": jnp.mean(each["b1"] / jnp.maximum(size, 1.0)[:, None], axis=0)}


@program(beta=normal(3), x=normal(8, 3), y=rng.integers(0, 2, 8))
def sandwich(beta, x, y):
    loss = lambda beta, x, y: jnp.logaddexp(0.0, x @ beta) - y * (x @ beta)
    scores = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(beta, x, y)
    each = jax.vmap(jax.hessian(loss), in_axes=(None, 0, 0), out_axes=2)(beta, x, y)
    bread = jnp.linalg.inv(jnp.sum(each, axis=2))
    return {"scores": scores, "hessians": each, "covariance": bread @ (scores.T @ scores) @ bread}


@program(n=np.array([1, 6, 7, 27, 19, 2]))
def collatz(n):
    def one(n):
        body = lambda s: (s[0] + 1, jnp.maximum(s[1], s[2]), jnp.where(s[2] % 2 == 0, s[2] // 2, 3 * s[2] + 1))
        return lax.while_loop(lambda s: s[2] > 1, body, (jnp.int32(0), n, n))

    steps, peak, _ = jax.vmap(one)(n)
    return {"steps": steps, "peak": peak}


@program("f32", x=normal(7, 4), start=normal(4), decay=np.array(0.9))
def batched_scan(x, start, decay):
    def one(x, start):
        return lax.scan(lambda s, x: (decay * s + (1 - decay) * x, jnp.tanh(s - x)), start, x)

    last, ys = jax.vmap(one, in_axes=(1, 0), out_axes=(0, 1))(x, start)
    return {"last": last, "ys": ys}


@program(h=0.5 * normal(3, 3), w=normal(3, 2), x=normal(4, 6, 2), y=normal(4))
def gradients_of_scan(h, w, x, y):
    def loss(h, w, x, y):
        step = lambda s, x: (jnp.tanh(h @ s + w @ x), jnp.sum(s))
        last, ys = lax.scan(step, jnp.zeros(3), x)
        return (jnp.sum(last) + jnp.mean(ys) - y) ** 2

    by_h, by_w = jax.vmap(jax.grad(loss, argnums=(0, 1)), in_axes=(None, None, 0, 0))(h, w, x, y)
    return {"h": by_h, "w": by_w}


@program(x=np.array([-2.0, -0.4, 0.3, 1.5, 4.0]), y=normal(5))
def batched_branches(x, y):
    inner = lambda x, y: lax.cond(x > 1, lambda: jnp.log(x) * y, lambda: jnp.sqrt(jnp.abs(x)) + y**2)
    f = lambda x, y: lax.cond(x > 0, lambda: inner(x, y), lambda: jnp.sin(x) * y) * x
    by_x, by_y = jax.vmap(jax.grad(f, argnums=(0, 1)))(x, y)
    return {"value": jax.vmap(f)(x, y), "x": by_x, "y": by_y, "second": jax.vmap(jax.hessian(f))(x, y)}


@program(x=normal(5, 14, 2), y=rng.integers(0, 2, (5, 14)))
def newton_fits(x, y):
    def fit(x, y):
        # The penalty keeps estimates of separable data finite.
        loss = lambda b: jnp.sum(jax.nn.softplus(x @ b) - y * (x @ b)) + 0.1 * jnp.sum(b**2)

        def step(state):
            b, _ = state
            g = jax.grad(loss)(b)
            return b - jnp.linalg.solve(jax.hessian(loss)(b), g), jnp.max(jnp.abs(g))

        b = lax.while_loop(lambda s: s[1] > 1e-8, step, (jnp.zeros(2), jnp.array(jnp.inf)))[0]
        return b, jax.hessian(loss)(b)

    b, information = jax.vmap(fit)(x, y)
    return {"estimate": b, "information": information}


@program(start=normal(8, 2), noise=0.7 * normal(8, 40, 2), unit=uniform(0, 1, 8, 40))
def metropolis(start, noise, unit):
    log_density = lambda x: -0.5 * jnp.sum(x**2) - 0.3 * (x[0] * x[1]) ** 2

    def chain(start, noise, unit):
        def step(state, draw):
            x, accepted = state
            proposal = x + draw[0]
            better = jnp.log(draw[1]) < log_density(proposal) - log_density(x)
            return lax.cond(better, lambda: (proposal, accepted + 1), lambda: (x, accepted)), x[0]

        return lax.scan(step, (start, 0), (noise, unit))

    (last, accepted), path = jax.vmap(chain)(start, noise, unit)
    return {"last": last, "accepted": accepted.astype(np.int32), "path": path}


@program(a=normal(3, 2), b=normal(4, 2))
def kernel_matrices(a, b):
    k = lambda a, b: jnp.exp(-0.5 * jnp.sum((a - b) ** 2)) * (1 + a @ b)
    pairs = lambda f: jax.vmap(jax.vmap(f, in_axes=(None, 0)), in_axes=(0, None))(a, b)
    total = lambda a: jnp.sum(jax.vmap(jax.vmap(k, in_axes=(None, 0)), in_axes=(0, None))(a, b) ** 2)
    return {"k": pairs(k), "mixed": pairs(jax.jacfwd(jax.grad(k, argnums=1), argnums=0)), "gradient": jax.grad(total)(a)}


@program("f32", x=uniform(1, 3, 9), y=uniform(0, 2, 9), at=rng.integers(1, 10, (12, 9)))
def bootstrap(x, y, at):
    def statistics(at):
        u, v = x[at - 1], y[at - 1]
        u0, v0 = u - jnp.mean(u), v - jnp.mean(v)
        return jnp.mean(u) / jnp.mean(v), jnp.sum(u0 * v0) / jnp.sqrt(jnp.sum(u0**2) * jnp.sum(v0**2))

    ratio, correlation = jax.vmap(statistics)(at)
    return {"ratio": ratio, "correlation": correlation}


@program(w=normal(2), x=normal(4, 6, 2), y=normal(4, 6), rate=np.array(0.1))
def gradient_of_batched_gradients(w, x, y, rate):
    # A step for each task from shared weights; the derivative of the loss after it by weights and rate.
    loss = lambda w, x, y: jnp.mean((jnp.tanh(x @ w) - y) ** 2)
    after = lambda w, rate, x, y: loss(w - rate * jax.grad(loss)(w, x[:3], y[:3]), x[3:], y[3:])
    total = lambda w, rate: jnp.mean(jax.vmap(after, in_axes=(None, None, 0, 0))(w, rate, x, y))
    by_w, by_rate = jax.grad(total, argnums=(0, 1))(w, rate)
    return {"w": by_w, "rate": by_rate, "hessian": jax.hessian(total)(w, rate)}


def row(program, part, name, x):
    x = np.asarray(x)
    digits, dtype = {"int32": ("%d", "i32"), "float32": ("%.9g", "f32"), "float64": ("%.17g", "f64")}[x.dtype.name]
    values = " ".join(digits % v for v in x.ravel(order="F"))
    return ",".join([program, part, name, dtype, "x".join(map(str, x.shape)), values])


assert len(PROGRAMS) == 30, len(PROGRAMS)
with open(os.path.join(HERE, "transforms.csv"), "w") as out:
    out.write(f"# python3 make.py; jax {jax.__version__}, numpy {np.__version__}, python {platform.python_version()}\n")
    out.write("program,part,name,dtype,shape,values\n")
    for name, (f, arguments) in PROGRAMS.items():
        results = f(**{k: jnp.asarray(x) for k, x in arguments.items()})
        lines = [row(name, "argument", k, x) for k, x in arguments.items()]
        lines += [row(name, "result", k, x) for k, x in results.items()]
        out.write("\n".join(lines) + "\n")
