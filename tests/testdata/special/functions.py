"""Reference values of the special functions of src/rust/core/src/ops/special_rows.rs, over the range of R's own.

    python3 functions.py     writes functions.csv next to this script

Needs mpmath. Not run by any test. Every argument is a double, every value is rounded to 17 significant digits. Sums are of
positive terms, with as many digits as their complements need; derivatives are differences of these in 150 digits.
"""

import os
import random

import mpmath
from mpmath import mpf

HERE = os.path.dirname(os.path.abspath(__file__))
mpmath.mp.dps = 60
log, exp, lgamma, inf = mpmath.log, mpmath.exp, mpmath.loggamma, mpmath.inf
uniform = random.uniform
ROWS = []


def text(value):
    if mpmath.isnan(value):
        return "nan"
    if mpmath.isinf(value) or abs(value) >= mpf(2) ** 1024 * (1 - mpf(2) ** -54):
        return "inf" if value > 0 else "-inf"
    if value == 0 or abs(value) < mpf(2) ** -1080:
        return "0.0"
    return mpmath.nstr(value, 17, min_fixed=0, max_fixed=0)


def add(name, function, points, digits=60):
    for point in sorted(set(tuple(float(x) for x in p) for p in points)):
        with mpmath.workdps(digits):
            value = mpmath.re(function(*[mpf(x) for x in point]))
        cells = [repr(x) for x in point] + [""] * (3 - len(point))
        ROWS.append([name] + cells + [text(value)])
    print(name, flush=True)


def power(low, high, count):
    return [10 ** uniform(low, high) for _ in range(count)]


def series(ratio):
    """1 + ratio(0) + ratio(0) ratio(1) + ..."""
    term, total, n = mpf(1), mpf(1), 0
    while True:
        r = ratio(n)
        term *= r
        total += term
        n += 1
        if term < total * mpf(10) ** -(mpmath.mp.dps + 5) and r < mpf("0.999"):
            return total


def gamma_lower(a, x):
    return exp(a * log(x) - x - lgamma(a + 1)) * series(lambda n: x / (a + 1 + n))


def log_beta(a, b):
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def beta_lower(a, b, x):
    if x > mpf("0.9"):
        return 1 - beta_lower(b, a, 1 - x)
    head = exp(a * log(x) + b * mpmath.log1p(-x) - log(a) - log_beta(a, b))
    return head * series(lambda n: (a + b + n) / (a + 1 + n) * x)


def of_rest(function):
    """1 less a function, with digits for results down to 1e-400."""

    def rest(*x):
        with mpmath.workdps(460):
            return 1 - function(*x)

    return rest


def logarithm(function):
    return lambda *x: log(function(*x))


def slope(function, i):
    """The derivative of the logarithm with respect to argument number i."""

    def at(*x):
        with mpmath.workdps(150):
            h = x[i] * mpf(10) ** -30
            moved = [[v + s * h if j == i else v for j, v in enumerate(x)] for s in (1, -1)]
            # Four further digits of the logarithm where the function is near 1.
            return (log(function(*moved[0])) - log(function(*moved[1]))) / (2 * h)

    return at


def inverse(name, tail, density, points, sign, digits):
    """From points: probabilities as doubles, and the points that have these."""
    for logs in (False, True):
        for point in points:
            *parameters, x = [mpf(float(v)) for v in point]
            with mpmath.workdps(digits):
                exact = tail(*parameters, x)
                p = float(log(exact) if logs else exact)
                if not logs and not 1e-300 < p < 1 or logs and not p < -1e-300:
                    continue
                less = (exp(mpf(p)) if logs else mpf(p)) - exact
                value = x + sign * less / exp(density(*parameters, x))
            cells = [repr(float(v)) for v in parameters + [p]]
            ROWS.append([("log_" if logs else "") + name] + cells + [""] * (3 - len(cells)) + [text(value)])
    print(name, flush=True)


def gamma_points(count):
    points = [(a, a + uniform(-6, 6) * a**0.5) for a in power(-1, 3.5, count)]
    points += [(a, a * 10 ** uniform(-2, 1)) for a in power(-8, 3, count)]
    points += [(a, x) for a in (0.999, 1.0, 7.99, 8.0, 29.9, 30.1) for x in (a / 2, a * 0.999, a, a * 1.001, 1.0, 2 * a)]
    return [(a, x) for a, x in points if 0 < x < 500 + 10 * a]


def beta_points(count):
    points = []
    for a, b in zip(power(-2, 3.5, count), power(-2, 3.5, count)):
        m = a / (a + b)
        points.append((a, b, min(1 - 1e-9, max(1e-9, m + uniform(-5, 5) * (m * (1 - m) / (a + b + 1)) ** 0.5))))
    points += [(a, b, uniform(0.01, 0.99)) for a, b in zip(power(-1, 2.5, count), power(-1, 2.5, count))]
    points += [(a, b, x) for a, b, x in zip(power(-10, 0, count), power(-10, 1, count), power(-80, -0.1, count))]
    points += [(a, b, x) for a in (0.5, 1.0, 8.0) for b in (0.5, 1.0, 8.0) for x in (0.01, 0.3, 0.5, 0.99)]
    return points


def families():
    add("gamma", mpmath.gamma, [(x,) for x in power(-300, 0, 20)] + [(uniform(-180, 171.6),) for _ in range(120)]
        + [(uniform(-9, 9),) for _ in range(80)] + [(float(n),) for n in range(1, 172, 10)])
    erfcx = lambda x: exp(x * x) * mpmath.erfc(x) if x < 1e6 else 1 / (x * mpmath.sqrt(mpmath.pi))
    add("erfcx", erfcx, [(uniform(-27, 35),) for _ in range(120)] + [(x,) for x in power(-20, 300, 40)])

    def probit(p):
        tail = min(p, 1 - p)
        z, step = mpmath.sqrt(-2 * log(2 * tail)), mpf(1)
        while z and abs(step) > mpf(10) ** -45 * z:
            left = mpmath.erfc(z / mpmath.sqrt(2)) / 2
            step = log(left / tail) * left * mpmath.sqrt(2 * mpmath.pi) * exp(z * z / 2)
            z += step
        return -z if p < 0.5 else z

    add("probit", probit, [(uniform(0, 1),) for _ in range(60)] + [(p,) for p in power(-323, -1, 80)]
        + [(1 - p,) for p in power(-15, -1, 30)] + [(0.5 + s * p,) for p in power(-16, -2, 15) for s in (1, -1)])
    turns = [(uniform(-3, 3),) for _ in range(80)] + [(s * x,) for x in power(-320, 15, 40) for s in (1, -1)]
    add("sinpi", mpmath.sinpi, turns + [(n / 2,) for n in range(-5, 6)], 400)
    add("cospi", mpmath.cospi, turns + [(n / 2,) for n in range(-5, 6)], 400)
    add("tanpi", lambda x: mpmath.sinpi(x) / mpmath.cospi(x), turns + [(n / 4,) for n in (-3, -1, 1, 3, 4, 8)], 400)

    pairs = list(zip(power(-3, 4, 80), power(-3, 4, 80))) + list(zip(power(-300, 0, 15), power(-5, 3, 15)))
    add("beta", lambda a, b: exp(log_beta(a, b)), pairs, 400)
    add("lbeta", log_beta, pairs, 400)
    counts = [(float(random.randrange(300)), float(random.randrange(100))) for _ in range(50)]
    counts += [(uniform(-50, 300), float(random.randrange(200))) for _ in range(60)]
    counts += [(float(-random.randrange(50)), float(random.randrange(70))) for _ in range(30)] + [(1000.0, 500.0)]
    add("choose", mpmath.binomial, counts, 200)
    add("lchoose", lambda n, k: log(abs(mpmath.binomial(n, k))), [p for p in counts if mpmath.binomial(*p) != 0], 200)

    points = list(zip(power(-3, 2.5, 50), [uniform(0, 30) for _ in range(50)])) + list(zip(power(-2, 3.5, 50), power(-2, 2.2, 50)))
    points += [(x, float(n)) for n in (0, 1, 2) for x in power(-5, 2.8, 15)]
    points += [(x, -uniform(0, 20)) for x in power(-1, 1.5, 20)]
    add("bessel_i", lambda x, n: mpmath.besseli(n, x), points)
    add("bessel_ie", lambda x, n: mpmath.besseli(n, x) * exp(-x), points)
    add("bessel_k", lambda x, n: mpmath.besselk(n, x), points)
    add("bessel_ke", lambda x, n: mpmath.besselk(n, x) * exp(x), points)
    points = [(uniform(0, 30),) for _ in range(60)] + [(x,) for x in power(-12, 4, 60)]
    for kind, function in (("j", mpmath.besselj), ("y", mpmath.bessely)):
        for order in (0, 1):
            add(f"bessel_{kind}{order}", lambda x: function(order, x), points)

    # mpmath's asymptotic series has fewer digits for large orders.
    expint = lambda x, n: mpmath.expint(n, x) if n < 20 else exp(-x) * mpmath.quad(
        lambda t: exp(-x * mpmath.expm1(t) - (n - 1) * t), [k * mpf(12) / (x + n) for k in range(21)])
    add("expint", expint, [(x, float(n)) for n in (0, 1, 2, 3, 5, 10, 21, 50) for x in power(-4, 2.8, 15)])
    add("expi", mpmath.ei, [(uniform(-5, 60),) for _ in range(60)] + [(x,) for x in power(-10, 2.8, 40)])
    owen = lambda h, a: exp(-h * h / 2) / (2 * mpmath.pi) * mpmath.quad(
        lambda t: exp(-h * h * t * t / 2) / (1 + t * t), [min(a, 12 / h) * k / 20 for k in range(21)])
    add("owens_t", owen, [(uniform(0.01, 5), uniform(0, 3)) for _ in range(40)] + list(zip(power(-3, 1.5, 40), power(-3, 1, 40))), 30)
    zetas = [(1 + s, q) for s, q in zip(power(-8, 1.7, 50), power(-3, 3, 50))]
    add("zeta", mpmath.zeta, zetas + [(uniform(-50, 20), 1.0) for _ in range(60)] + [(uniform(-170, -50), 1.0) for _ in range(10)], 300)
    end = float(-exp(-1))
    add("lambert_w0", mpmath.lambertw, [(uniform(end, 1),) for _ in range(50)] + [(x,) for x in power(-300, 300, 60)]
        + [(end + x,) for x in power(-16, -1, 40)])
    add("lambert_wm1", lambda x: mpmath.lambertw(x, -1), [(-x,) for x in power(-300, -0.44, 60)] + [(end + x,) for x in power(-16, -1, 40)])

    gammas = gamma_points(60)
    upper = of_rest(gamma_lower)
    density = lambda a, x: (a - 1) * log(x) - x - lgamma(a)
    add("gammainc", gamma_lower, gammas)
    add("gammaincc", upper, gammas)
    add("log_gammainc", lambda a, x: log(gamma_lower(a, x)), gammas, 460)
    add("log_gammaincc", logarithm(upper), gammas, 460)
    add("log_gammainc_dx", density, gammas)
    few = [(a, x) for a, x in gammas if 1e-3 < a < 1e3 and x > 1e-2][::2]
    add("log_gammainc_da", slope(gamma_lower, 0), few)
    add("log_gammaincc_da", slope(lambda a, x: 1 - gamma_lower(a, x), 0), [p for p in few if upper(*map(mpf, p)) > 1e-60])
    inverse("gammaincinv", gamma_lower, density, few, 1, 200)
    inverse("gammainccinv", upper, density, few, -1, 460)

    betas = beta_points(40)
    above = lambda a, b, x: beta_lower(b, a, 1 - x) if x > mpf("0.3") else of_rest(beta_lower)(a, b, x)
    density = lambda a, b, x: (a - 1) * log(x) + (b - 1) * mpmath.log1p(-x) - log_beta(a, b)
    add("betainc", beta_lower, betas, 200)
    add("betaincc", above, betas, 200)
    add("log_betainc", logarithm(beta_lower), betas, 200)
    add("log_betaincc", logarithm(above), betas, 200)
    add("log_betainc_dx", density, betas, 100)
    few = [(a, b, x) for a, b, x in betas if 1e-2 < min(a, b) and max(a, b) < 1e3 and 1e-2 < x < 0.95][::2]
    for i, letter in enumerate("ab"):
        add(f"log_betainc_d{letter}", slope(beta_lower, i), [p for p in few if beta_lower(*map(mpf, p)) > 1e-60], 150)
        add(f"log_betaincc_d{letter}", slope(lambda a, b, x: 1 - beta_lower(a, b, x), i),
            [p for p in few if above(*map(mpf, p)) > 1e-60 and beta_lower(*map(mpf, p)) > 1e-60], 150)
    inverse("betaincinv", beta_lower, density, few, 1, 200)
    inverse("betainccinv", above, density, few, -1, 200)


def main():
    random.seed(20240503)
    families()
    with open(os.path.join(HERE, "functions.csv"), "w", newline="\n") as file:
        file.write(f"# special functions; mpmath {mpmath.__version__}, up to 460 digits; python3 functions.py\n")
        file.write("op,x,y,z,value\n")
        file.writelines(",".join(row) + "\n" for row in ROWS)


if __name__ == "__main__":
    main()
