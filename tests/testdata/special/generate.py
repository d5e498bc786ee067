"""Reference values of special and of complex functions, and the fitted coefficients of src/rust/kernels/src/kernels/math/special.rs.

    python3 generate.py                writes the CSV files next to this script
    python3 generate.py coefficients   prints the coefficients

Needs mpmath. Not run by any test. Every argument is a double, every value is rounded to 17 significant digits.
"""

import os
import random
import sys

import mpmath
from mpmath import mpf

mpmath.mp.dps = 60
HERE = os.path.dirname(os.path.abspath(__file__))


def text(value):
    if mpmath.isinf(value):
        return "inf" if value > 0 else "-inf"
    return mpmath.nstr(value, 17, min_fixed=0, max_fixed=0)


def clipped(value):
    """The double next to a value, as text: beyond the range of doubles inf or 0."""
    if abs(value) >= mpf(2) ** 1024:
        return "inf" if value > 0 else "-inf"
    if abs(value) < mpf(2) ** -1080:
        return "0.0"
    return text(value)


def write(name, what, columns, rows):
    with open(os.path.join(HERE, name + ".csv"), "w", newline="\n") as file:
        file.write(f"# {what}; mpmath {mpmath.__version__}, {mpmath.mp.dps} digits; python3 generate.py\n")
        file.write(",".join(columns) + "\n")
        for row in rows:
            file.write(",".join(row) + "\n")


def unary(name, what, function, points):
    points = sorted(set(float(x) for x in points))
    write(name, what, ["x", "value"], [[repr(x), clipped(function(mpf(x)))] for x in points])


def spread(low, high, count):
    """Points between two powers of ten, evenly in the exponent, with random digits."""
    return [10 ** (low + (high - low) * (i + random.random()) / count) for i in range(count)]


def near(x, ulps=(1, 2, 5, 100, 10**4, 10**7, 10**10, 10**12)):
    """A double and its neighbours at these distances."""
    step = abs(x) * 2.0**-53
    return [x] + [x + sign * n * step for n in ulps for sign in (-1, 1)]


def log_gamma(x):
    return mpmath.log(abs(mpmath.gamma(x))) if x < 0 else mpmath.loggamma(x).real


def hurwitz(s, x):
    """Sum of (x + k)^-s over k >= 0 for any x that is no pole."""
    # Many digits: mpmath's zeta keeps absolute, not relative, accuracy, and below 0 all but the far terms may cancel.
    with mpmath.workdps(700):
        steps = max(0, int(mpmath.floor(-x)) + 1)
        return mpmath.fsum((x + k) ** (-s) for k in range(steps)) + mpmath.zeta(s, x + steps)


def polygamma(n, x):
    return (-1) ** (n + 1) * mpmath.factorial(n) * hurwitz(n + 1, x)


def values():
    random.seed(20240501)
    both = lambda xs: [s * x for x in xs for s in (-1, 1)]

    points = both(spread(-320, -5, 10) + spread(-5, 0.85, 60) + [0.5, 1.0, 0.84375, 1.25, 2.857, 5.9]) + [0.0]
    unary("erf", "erf(x)", mpmath.erf, points)
    points = spread(-20, 1.43, 80) + [-x for x in spread(-20, 0.85, 40)] + [0.5, 1.25, 6.0, 26.0, 26.5, 27.2]
    unary("erfc", "erfc(x)", mpmath.erfc, points)

    points = spread(-320, -3, 15) + spread(-3, -0.001, 50) + [1 - x for x in spread(-15.9, -0.3, 50)]
    points += [0.5, 0.75, 1e-8, 1 - 2.0**-53, 1 - 2.0**-52] + near(0.5, (1, 5)) + near(0.75, (1, 5))
    inverse = lambda x: mpmath.findroot(
        lambda y: mpmath.log(mpmath.erfc(y) / (1 - x)) if x > mpf("0.3") else mpmath.erf(y) / x - 1,
        mpmath.erfinv(x) if x < mpf("0.999") else mpmath.sqrt(-mpmath.log(1 - x)) * mpf("0.96"),
    )
    rows = [(x, inverse(mpf(x))) for x in sorted(set(points))]
    rows = [(-x, -y) for x, y in rows[::4]] + rows
    write("erf_inv", "erf_inv(x)", ["x", "value"], [[repr(x), text(y)] for x, y in rows])

    points = both(spread(-300, -3, 10) + spread(-3, 2.84, 60) + [36.7, 37.5, 708.0, 709.5]) + [0.0, -740.0, -745.0]
    unary("logistic", "1/(1+exp(-x))", lambda x: 1 / (1 + mpmath.exp(-x)), points)

    points = spread(-300, -3, 15) + spread(-3, 1.2, 70) + spread(1.2, 300, 20) + near(1.0) + near(2.0)
    points += [-x for x in spread(-300, -3, 6) + spread(-3, 2.2, 50) if x != int(x)]
    points += near(-2.4570247382208006, (1, 10**6)) + near(-3.0, (1, 10**6))[1:]
    points = [x for x in points if not (x <= 0 and x == int(x))]
    unary("lgamma", "log(abs(gamma(x)))", log_gamma, points)

    points = spread(-300, -3, 12) + spread(-3, 1.1, 80) + spread(1.1, 300, 20)
    points += near(1.4616321449683623) + near(1.0, (1, 100)) + near(2.0, (1, 100)) + near(10.0, (1, 100))
    points += [-x for x in spread(-300, -3, 6) + spread(-3, 3.5, 50) if x != int(x)]
    points += near(-0.504083008264455, (0, 10**6)) + near(-3.0, (1, 10**6))[1:] + near(-7.5, (1, 10**6))
    points = [x for x in points if not (x <= 0 and x == int(x))]
    unary("digamma", "digamma(x)", mpmath.digamma, points)

    rows = []
    for n in (1, 2, 3, 4, 5, 7, 8, 12, 21, 50, 99, 120, 169, 170):
        points = spread(-3, 0, 3) + spread(0, 1.3, 5) + spread(1.3, 2.5, 3) + [1.0, 0.5]
        points += [0.75 * n + 9.0 - 2.0**-20, 0.75 * n + 9.0] + [-x for x in spread(-1, 2.2, 6)]
        points += [-2.5, -1e-5, -3 - 1e-5, -3 + 1e-5] + ([1e-300, 1e-60, 1e17, 1e100, 1e200] if n < 4 else [])
        rows += [(n, x) for x in points]
    rows = [[str(n), repr(x), clipped(polygamma(n, mpf(x)))] for n, x in rows]
    write("polygamma", "polygamma(n, x)", ["n", "x", "value"], rows)


def complexes():
    """Functions of complex numbers: points over all sizes and angles, next to the unit circle, 1, -1, i and -i."""
    random.seed(20240502)
    angles = [k * mpmath.pi / 12 + mpf(random.random()) / 7 for k in range(24)][::2]
    points = [mpmath.expj(a) * r for a in angles for r in spread(-2.5, 2, 4)]
    points += [mpmath.expj(a) * (1 + mpf(s) * mpf(10) ** -e) for a in angles[::2] for e in (3, 9, 15) for s in (-1, 1)]
    near_poles = [p + mpmath.expj(a) * mpf(10) ** -e for p in (1, -1, 1j, -1j) for a in angles[::4] for e in (2, 7, 15, 40)]
    extreme = [mpmath.expj(a) * mpf(10) ** e for a in angles[::4] for e in (-322, -309, -200, -20, 20, 200, 307)]
    thin = [mpmath.mpc(x, y) for x in (0.3, 1.7, -3.0, 700.5, -705.0) for y in (1e-300, 1e-17, -1e-9, 30.0, -720.0)]
    as_double = lambda z: mpmath.mpc(float(z.real), float(z.imag))
    points = [as_double(z) for z in points + near_poles + extreme + thin]
    cells = lambda *zs: [cell(x) for z in zs for x in (z.real, z.imag)]
    cell = lambda x: repr(float(x)) if abs(x) < mpf(2) ** 1024 else ("inf" if x > 0 else "-inf")
    # Sums of squares of very unequal numbers need more digits than the results.
    with mpmath.workdps(800):
        for name in "sqrt log exp sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh".split():
            function = getattr(mpmath, name)
            # Beyond this the sine is that of a few digits of the argument, and the exponential overflows.
            direct = name in "exp sin cos tan sinh cosh tanh".split()
            used = [z for z in points if not direct or abs(z) < 1000]
            rows = [cells(z, function(z)) for z in used]
            write("complex_" + name, f"{name}(x+yi)", ["x", "y", "re", "im"], rows)
        pairs = [(z, w) for z in points[::6] + extreme for w in points[::9] + extreme]
        pairs = [(z, w) for z, w in map(lambda p: tuple(map(as_double, p)), pairs) if w != 0]
        for name, function in (("mul", lambda z, w: z * w), ("div", lambda z, w: z / w)):
            rows = [cells(z, w, function(z, w)) for z, w in pairs[::9 if name == "mul" else 4]]
            write("complex_" + name, name, ["x", "y", "u", "v", "re", "im"], rows)
        pairs = [(z, w) for z in points[:48:3] for w in points[1:48:5] + [mpmath.mpc(n) for n in (2, -3, 7, 1000, 0.5)]]
        write("complex_pow", "(x+yi)^(u+vi)", ["x", "y", "u", "v", "re", "im"], [cells(z, w, z**w) for z, w in pairs])


def interpolate(function, low, high, p, q):
    """Coefficients of the rational function of degrees p, q that meets `function` at Chebyshev nodes."""
    n = p + q + 1
    low, high = mpf(low), mpf(high)
    nodes = [(low + high) / 2 + (high - low) / 2 * mpmath.cos(mpmath.pi * (2 * k + 1) / (2 * n)) for k in range(n)]
    matrix, right = mpmath.matrix(n, n), mpmath.matrix(n, 1)
    for i, x in enumerate(nodes):
        f = function(x)
        for j in range(p + 1):
            matrix[i, j] = x**j
        for j in range(1, q + 1):
            matrix[i, p + j] = -f * x**j
        right[i] = f
    solution = list(mpmath.lu_solve(matrix, right))
    return solution[: p + 1], [mpf(1)] + solution[p + 1 :]


def coefficients():
    def show(name, numbers, digits):
        print(name, [float(mpmath.nstr(c, digits)) for c in numbers])

    def tail(w):
        return mpmath.findroot(lambda y: mpmath.log(mpmath.erfc(y)) + w * w, w * mpf("0.9") + mpf("0.1"))

    center = lambda u: mpmath.erfinv(mpmath.sqrt(u)) / mpmath.sqrt(u)
    for part in interpolate(center, "1e-6", "0.5625", 3, 3):
        show("erf_inv, center, in x^2:", part, 9)
    log = mpmath.log
    for part in interpolate(tail, mpmath.sqrt(log(4)), mpmath.sqrt(53 * log(2)), 4, 4):
        show("erf_inv, tail, in sqrt(-log(1 - x)):", part, 9)

    zero = mpmath.findroot(mpmath.digamma, mpf("1.46163214496836234126"))
    rest = zero - 1 - mpf(float(zero - 1))
    print("zero of digamma, less 1:", repr(float(zero - 1)), repr(float(rest)))
    over_root = lambda t: mpmath.digamma(t + mpf("1.5")) / (t + mpf("1.5") - zero)
    show("digamma over root, in x - 3/2:", interpolate(over_root, "-0.5", "0.5", 21, 0)[0], 25)
    terms = [mpmath.bernoulli(2 * k) / mpmath.factorial(2 * k) for k in range(1, 17)]
    show("Euler-Maclaurin:", terms, 25)


if __name__ == "__main__":
    if sys.argv[1:] == ["coefficients"]:
        coefficients()
    else:
        values()
        complexes()
