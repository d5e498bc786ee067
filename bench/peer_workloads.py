"""What the workloads of bench/workloads.R compute, for the peers of peers.py; the names are those of the table.

Each function takes a peer `m`, which has NumPy's functions and some more under names of its own, and the arguments of
the workload in the order of anvil's, nested lists flattened.
"""

import math


class Absent(AttributeError):
    """The peer has no such function, or the workload is not written for it: a gap in the table."""


def chain10(m, x):
    t = x * 1.5 + 0.5
    t = t * t - x
    t = abs(t) * 0.25
    t = m.maximum(t, x) - 0.125
    return t * x + 1


def normal_cdf(m, x):
    return 0.5 * (1 + m.erf(x * math.sqrt(0.5)))


def black_scholes(m, spot, strike, years):
    rate, sigma = 0.02, 0.3
    root = m.sqrt(years)
    d1 = (m.log(spot / strike) + (rate + 0.5 * sigma * sigma) * years) / (sigma * root)
    d2 = d1 - sigma * root
    return spot * normal_cdf(m, d1) - strike * m.exp(-rate * years) * normal_cdf(m, d2)


def call16(m, *xs):
    return sum(xs[1:], xs[0])


def descent(m, w, a, b, rate, steps):
    return m.loop(steps, lambda i, w: (w - rate * 2 * a * (w - b),), (w,))


def logistic_loop(m, beta, x, y, rate, steps):
    n = x.shape[0]
    return m.loop(steps, lambda i, beta: (beta - rate * (x.T @ (m.sigmoid(x @ beta) - y)) / n,), (beta,))


# ---- W7: a network with one hidden layer and cross entropy ----


def cross_entropy(m):
    def loss(ws, x, y):
        w1, b1, w2, b2 = ws
        hidden = m.maximum(x @ w1 + b1, m.zeros_like(b1))
        eta = hidden @ w2 + b2
        eta = eta - m.stop_gradient(m.max(eta, 1, keepdims=True))
        return m.mean(m.log(m.sum(m.exp(eta), 1)) - m.sum(y * eta, 1))

    return loss


def mlp_step(m, w1, b1, w2, b2, x, y, rate):
    ws = [w1, b1, w2, b2]
    slopes = m.gradient(cross_entropy(m))(ws, x, y)
    return tuple(w - rate * slope for w, slope in zip(ws, slopes))


def mlp_loop(m, w1, b1, w2, b2, x, y, rate, steps):
    return m.loop(steps, lambda i, *ws: mlp_step(m, *ws, x, y, rate), (w1, b1, w2, b2))


# ---- transformations ----


def softplus_loss(m, b, x, y):
    eta = x @ b
    return m.sum(m.softplus(eta) - y * eta)


def hessian(m, b, x, y):
    return only_jax(m).hessian(lambda b: softplus_loss(m, b, x, y))(b)


def per_example(m, w1, b1, w2, b2, x, y):
    jax = only_jax(m)

    def loss(w, x, y):
        w1, b1, w2, b2 = w
        eta = m.tanh(x @ w1 + b1) @ w2 + b2
        top = m.max(eta)
        return m.log(m.sum(m.exp(eta - top))) + top - m.sum(eta * y)

    return tuple(jax.vmap(jax.grad(loss), (None, 0, 0))((w1, b1, w2, b2), x, y))


def solve_of_three(m, h, g):
    c11 = h[1, 1] * h[2, 2] - h[1, 2] * h[1, 2]
    c12 = h[0, 2] * h[1, 2] - h[0, 1] * h[2, 2]
    c13 = h[0, 1] * h[1, 2] - h[0, 2] * h[1, 1]
    c22 = h[0, 0] * h[2, 2] - h[0, 2] * h[0, 2]
    c23 = h[0, 1] * h[0, 2] - h[0, 0] * h[1, 2]
    c33 = h[0, 0] * h[1, 1] - h[0, 1] * h[0, 1]
    parts = (
        c11 * g[0] + c12 * g[1] + c13 * g[2],
        c12 * g[0] + c22 * g[1] + c23 * g[2],
        c13 * g[0] + c23 * g[1] + c33 * g[2],
    )
    return m.jnp.stack(parts) / (h[0, 0] * c11 + h[0, 1] * c12 + h[0, 2] * c13)


def newton(m, x, y):
    jax = only_jax(m)

    def fit(x, y):
        loss = lambda b: softplus_loss(m, b, x, y) + 0.05 * m.sum(b * b)
        step = lambda i, b: b - solve_of_three(m, jax.hessian(loss)(b), jax.grad(loss)(b))
        return jax.lax.fori_loop(0, 8, step, m.zeros(3, dtype=x.dtype))

    return jax.vmap(fit)(x, y)


def chains(m, theta, states, steps):
    """Other random numbers than anvil's, as in metropolis()."""
    jax = only_jax(m)

    def chain(theta, seed):
        return metropolis(m, theta, metropolis_density(theta), 0, [seed], int(steps), 0.8)

    return m.mean(jax.vmap(chain)(theta, states[0]))


# ---- the programs in inst/examples ----


def linear_model(m, alpha, beta, x, y, rate, steps):
    def loss(ws):
        alpha, beta = ws
        return m.mean((x @ beta + alpha - y) ** 2)

    def body(i, *ws):
        return tuple(w - rate * slope for w, slope in zip(ws, m.gradient(loss)(list(ws))))

    return m.loop(steps, body, (alpha, beta))


def logistic_regression(m, alpha, beta, x, y, rate, epochs, slots):
    def loss(ws):
        alpha, beta = ws
        p = m.clip(m.sigmoid(x @ beta + alpha), 1e-7, 1 - 1e-7)
        return -m.mean(y * m.log(p) + (1 - y) * m.log(1 - p))

    each = epochs // slots

    def body(i, alpha, beta, losses):
        value, (d_alpha, d_beta) = m.value_and_gradient(loss)([alpha, beta])
        if hasattr(losses, "at"):
            losses = losses.at[i // each].set(value)
        else:
            losses[i // int(each)] = value
        return alpha - rate * d_alpha, beta - rate * d_beta, losses

    return m.loop(epochs, body, (alpha, beta, m.zeros(slots, dtype=x.dtype)))


def mlp(m, *args):
    *ws, x, y, steps, rate, batch = args

    def loss(ws, x, y):
        for i in range(0, len(ws), 2):
            x = x @ ws[i] + ws[i + 1]
            if i + 2 < len(ws):
                x = m.maximum(x, m.zeros_like(ws[i + 1]))
        return m.mean((x - y) ** 2)

    def body(i, *ws):
        first = (i % (x.shape[0] // batch)) * batch
        if hasattr(m, "lax"):
            rows = lambda a: m.lax.dynamic_slice_in_dim(a, first, batch)
        else:
            rows = lambda a: a[first : first + batch]
        slopes = m.gradient(loss)(list(ws), rows(x), rows(y))
        return tuple(w - rate * slope for w, slope in zip(ws, slopes))

    return m.loop(steps, body, tuple(ws))


def metropolis_density(theta):
    spread, bend = 1.5, 0.5
    return -0.5 * ((theta[0] / spread) ** 2 + (theta[1] - bend * (theta[0] ** 2 - spread**2)) ** 2)


def metropolis(m, theta, log_density, accepted, state, steps, scale):
    """Other random numbers than anvil's: the share of accepted proposals is what both have in common."""
    jax = only_jax(m)

    def body(i, theta, now, accepted, key):
        key, one, two = jax.random.split(key, 3)
        proposal = theta + scale * jax.random.normal(one, (2,), theta.dtype)
        proposed = metropolis_density(proposal)
        accept = m.log(jax.random.uniform(two, (), theta.dtype)) < proposed - now
        return m.where(accept, proposal, theta), m.where(accept, proposed, now), accepted + accept, key

    chain = m.loop(steps, body, (theta, log_density, accepted, jax.random.key(state[0])))
    return chain[2] / steps


def gaussian_process(m, log_length, log_signal, log_noise, x, y, rate, steps):
    jax, jnp = only_jax(m), m.jnp
    identity = jnp.eye(x.shape[0], dtype=x.dtype)

    def covariance(w):
        length, signal, noise = w
        kernel = jnp.exp(2 * signal - 0.5 * ((x - x.T) / jnp.exp(length)) ** 2)
        return kernel + jnp.exp(2 * noise) * identity

    def solve(k, b):
        squares = lambda a: jnp.sum(a**2, axis=0, keepdims=True)
        bb = squares(b)

        def body(state):
            i, out, residual, direction, rr = state
            step = k @ direction
            length = rr / jnp.sum(direction * step, axis=0, keepdims=True)
            residual = residual - length * step
            new = squares(residual)
            return i + 1, out + length * direction, residual, residual + (new / rr) * direction, new

        going_on = lambda s: (s[0] < 10 * k.shape[0]) & (jnp.max(s[4] / bb) > 1e-24)
        return jax.lax.while_loop(going_on, body, (0, 0 * b, b, b, bb))[1]

    def body(i, *w):
        inverse = solve(covariance(w), identity)
        a = inverse @ y
        frozen = inverse - a @ a.T
        slopes = jax.grad(lambda w: 0.5 * jnp.sum(frozen * covariance(w)))(w)
        return tuple(value - rate * slope for value, slope in zip(w, slopes))

    return m.loop(steps, body, (log_length, log_signal, log_noise))


def only_jax(m):
    if m.title != "JAX":
        raise Absent("written for JAX only")
    return m.jax


WORKLOADS = {
    "call": lambda m, x: x + x,
    "call16": call16,
    # W1
    "axpb": lambda m, x, a, b: a * x + b,
    "axpb_donated": lambda m, x, a, b: a * x + b,
    "sqabs": lambda m, x, y, z: (x - y) ** 2 * 0.5 + abs(z),
    "chain10": chain10,
    # W2
    "exp": lambda m, x: m.exp(x),
    "log": lambda m, x: m.log(x),
    "tanh": lambda m, x: m.tanh(x),
    "sin": lambda m, x: m.sin(x),
    "cos": lambda m, x: m.cos(x),
    "sigmoid": lambda m, x: m.sigmoid(x),
    "softplus": lambda m, x: m.softplus(x),
    "erf": lambda m, x: m.erf(x),
    "logpdf": lambda m, x, mean, sd: -0.5 * ((x - mean) / sd) ** 2 - m.log(sd) - 0.5 * math.log(2 * math.pi),
    "black_scholes": black_scholes,
    # W3
    "sum": lambda m, x: m.sum(x),
    "mean": lambda m, x: m.mean(x),
    "max": lambda m, x: m.max(x),
    "var": lambda m, x: m.var(x),
    "row_sums": lambda m, x: m.sum(x, 1),
    "row_max": lambda m, x: m.max(x, 1),
    "column_sums": lambda m, x: m.sum(x, 0),
    "softmax": lambda m, x: m.softmax(x),
    "logsumexp": lambda m, x: m.logsumexp(x),
    "transpose": lambda m, x: m.transposed(x),
    "argmax": lambda m, x: m.argmax(x, 1) + 1,
    "sumsq": lambda m, x, y: m.sum((x - y) ** 2),
    # W4
    "matmul": lambda m, x, y: x @ y,
    "crossprod": lambda m, x: x.T @ x,
    "matvec": lambda m, x, v: x @ v,
    "vecmat": lambda m, v, x: v @ x,
    # W5
    "multiply_add": lambda m, x, y: x * y + x,
    "where": lambda m, x, y: m.where(x > y, x, y + y),
    "cast_multiply": lambda m, x, y: m.as_f32(x) * y,
    "int_sum": lambda m, x: m.long_sum(x),
    "count": lambda m, x: m.count(x > 0),
    # W6, W7
    "descent": descent,
    "logistic_loop": logistic_loop,
    "mlp_step": mlp_step,
    "mlp_loop": mlp_loop,
    # W8
    "uniform": lambda m, state, n, dtype: m.uniform(state, n, dtype),
    "normal": lambda m, state, n, dtype: m.normal(state, n, dtype),
    # W9; indices count from 1 in R
    "gather": lambda m, x, i: m.at(x, i - 1),
    "scatter_add": lambda m, x, i, values: m.one_more_at(x, i - 1, values),
    "cumsum": lambda m, x: m.cumsum(x),
    "sort": lambda m, x: m.sort(x),
    # Of equal numbers the first one comes first, as in anvil and R.
    "order": lambda m, x: m.argsort(x, stable=True) + 1,
    "top_k": lambda m, x: m.top_k(x, 10),
    # W10
    "chol": lambda m, x: m.cholesky(x).T,
    "solve": lambda m, x, b: m.solve(x, b),
    "triangular_solve": lambda m, x, b: m.solve_lower(x, b),
    "inverse": lambda m, x: m.inverse(x),
    "chol_batch": lambda m, x: m.cholesky(x),
    "solve_batch": lambda m, x, b: m.solve(x, b),
    "eigh_batch": lambda m, x: m.eigh(x)[0],
    "qr": lambda m, x: abs(m.qr(x)[1]),  # signs are free
    "svd": lambda m, x: m.svd(x),
    "eigh": lambda m, x: m.eigh(x)[0],
    # W11
    "fft": lambda m, x: abs(m.fft(x)),
    "conv": lambda m, x, kernel: m.conv(x, kernel),
    # transformations
    "hessian": hessian,
    "per_example": per_example,
    "newton": newton,
    "chains": chains,
    # programs
    "linear_model": linear_model,
    "logistic_regression": logistic_regression,
    "mlp": mlp,
    "metropolis": metropolis,
    "gaussian_process": gaussian_process,
}


def find(name, peer):
    if name not in WORKLOADS:
        raise Absent(f"not written for {peer.title}")
    return WORKLOADS[name]
