"""Writes coefficients.rs, special_coefficients.rs and gamma_coefficients.rs in src/rust/kernels/src/kernels/math/.

    python3 fit.py

Needs mpmath. Not run by any test. Each polynomial is the best one in the sense of Chebyshev, found by Remez' exchange
algorithm; coefficients are rounded to the float they are used in one after the other, lowest first, and the rest is fitted
again after each. What is fitted, where, and the largest error that is left stands in a comment above each.
"""

import os
import struct

import mpmath
from mpmath import mpf

mpmath.mp.dps = 50
HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.path.join(HERE, "../../../src/rust/kernels/src/kernels/math")


def single(x):
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def double(x):
    return mpf(float(x))


def remez(target, weight, low, high, degree):
    """Coefficients of the polynomial that makes the largest |weight (target - polynomial)| smallest."""
    count = degree + 2
    middle, half = (low + high) / 2, (high - low) / 2
    # Not at 0, where a weight may vanish.
    off_zero = lambda x: x if abs(x) > half / 1000 else half / 1000
    nodes = [off_zero(middle - half * mpmath.cos(mpmath.pi * i / (count - 1))) for i in range(count)]
    grid = [off_zero(middle - half * mpmath.cos(mpmath.pi * i / (16 * count))) for i in range(16 * count + 1)]
    values = [(x, target(x), weight(x)) for x in grid]
    found = [mpf(0)] * (degree + 1)
    for _ in range(10):
        nodes = [off_zero(x) for x in nodes]
        if len(set(nodes)) < count:
            break
        rows = [[x**p for p in range(degree + 1)] + [(-1) ** i / weight(x)] for i, x in enumerate(nodes)]
        try:
            solution = mpmath.lu_solve(mpmath.matrix(rows), mpmath.matrix([target(x) for x in nodes]))
        except ZeroDivisionError:
            break
        found = [solution[i] for i in range(count - 1)]
        errors = [(x, w * (t - mpmath.polyval(found[::-1], x))) for x, t, w in values]
        # The largest error between two changes of sign, for each such stretch.
        peaks = []
        for x, e in errors:
            if peaks and (peaks[-1][1] > 0) == (e > 0):
                if abs(e) > abs(peaks[-1][1]):
                    peaks[-1] = (x, e)
            else:
                peaks.append((x, e))
        while len(peaks) > count:
            peaks.pop(0 if abs(peaks[0][1]) < abs(peaks[-1][1]) else -1)
        if len(peaks) < count:
            break
        nodes = [x for x, _ in peaks]
        sizes = [abs(e) for _, e in peaks]
        if max(sizes) < mpf("1.01") * min(sizes):
            break
    return found


def remembered(function):
    values = {}

    def look_up(x):
        if x not in values:
            values[x] = function(x)
        return values[x]

    return look_up


def fit(target, weight, low, high, degree, rounded):
    """Rounded coefficients of the powers 0 to `degree`, and the largest weighted error."""
    low, high = mpf(low), mpf(high)
    target, weight = remembered(target), remembered(weight)
    grid = [low + (high - low) * i / 400 for i in range(401)]
    error = lambda c: max(abs(weight(x) * (target(x) - mpmath.polyval(c[::-1], x))) for x in grid)
    found = remez(target, weight, low, high, degree)
    for power in range(degree + 1):
        found[power] = rounded(found[power])
        if power == degree:
            break
        # What the coefficients so far leave, over the next power of x; fitted again where that is of use.
        fixed = found[: power + 1]
        rest = lambda x: (target(x) - mpmath.polyval(fixed[::-1], x)) / x ** (power + 1)
        scaled = lambda x: weight(x) * abs(x) ** (power + 1)
        again = fixed + remez(rest, scaled, low, high, degree - power - 1)
        if error(again) < error(found):
            found = again
    return found, error(found)


OUT = []


def constant(name, what, target, weight, low, high, degree, rounded=double):
    coefficients, error = fit(target, weight, low, high, degree, rounded)
    bits = mpmath.nstr(mpmath.log(error, 2), 4)
    OUT.append(f"/// {what}, error 2^{bits}.")
    OUT.append(f"pub(super) const {name}: [f64; {degree + 1}] = [")
    OUT.extend(f"    {float(c)!r}," for c in coefficients)
    OUT.append("];\n")
    print(name, bits, flush=True)


def parts(name, what, value, bits):
    """A number as an unevaluated sum of floats of so many bits each."""
    found = []
    for width in bits:
        scale = mpf(2) ** (width - 1 - mpmath.floor(mpmath.log(abs(value), 2)))
        part = mpmath.nint(value * scale) / scale
        found.append(part)
        value -= part
    OUT.append(f"/// {what}, in parts of {', '.join(map(str, bits))} bits.")
    OUT.append(f"pub(super) const {name}: [f64; {len(bits)}] = [")
    OUT.extend(f"    {float(c)!r}," for c in found)
    OUT.append("];\n")


def series(function, skip, power, at_zero):
    """(function(x) - skip(x)) / power(x), with its limit at and near 0, where the difference cancels."""

    def quotient(x):
        with mpmath.workdps(120):
            return (function(x) - skip(x)) / power(x) if abs(x) > mpf(10) ** -25 else mpf(at_zero)

    return quotient


def erf_inv(w):
    """`y / x` where `x = erf(y)` and `w = -log(1 - x^2)`."""
    if w < mpf(10) ** -25:
        return mpmath.sqrt(mpmath.pi) / 2
    with mpmath.workdps(90):
        complement = mpmath.exp(-w) / (1 + mpmath.sqrt(1 - mpmath.exp(-w)))
        y = mpmath.erfinv(1 - complement) if complement > 0.1 else mpmath.sqrt(w) * 0.9
        step = mpf(1)
        while abs(step) > mpf(10) ** -60:
            left = mpmath.erfc(y)
            step = mpmath.log(left / complement) * left * mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(y * y)
            y += step
        return +y / (1 - complement)


def special_functions():
    root_pi = 2 / mpmath.sqrt(mpmath.pi)
    error = lambda z: mpmath.erf(mpmath.sqrt(z)) / mpmath.sqrt(z) if z > mpf(10) ** -30 else root_pi
    constant("ERF", "`erf(x) / x - 1` in powers of `x^2` for `|x| <= 1`, for doubles", lambda z: error(z) - 1,
             lambda z: 1 / error(z), 0, 1, 13)
    constant("ERF_SINGLE", "As `ERF`, for singles", lambda z: error(z) - 1, lambda z: 1 / error(z), 0, 1, 6, single)
    tail = lambda u: -mpmath.log(mpmath.erfc(1 + u))
    weight = lambda u: mpmath.erfc(1 + u)
    constant("ERF_TAIL", "`-log(erfc(x))` in powers of `x - 1` for `1 <= x <= 6`, for doubles; the error is that of `erf(x)`",
             tail, weight, 0, 5, 18)
    root = lambda u: mpmath.erfc(1 + u) ** mpf("0.25")
    what = "Fourth root of `erfc(x)` in powers of `x - 1` for `1 <= x <= 3.95`, for singles; the error is that of `erf(x)`"
    constant("ERF_TAIL_SINGLE", what, root, lambda u: 4 * root(u) ** 3 / mpmath.erf(1 + u), 0, mpf("2.95"), 8, single)

    far = lambda t: 4 * (1 + t) / (1 - t)
    scaled = lambda t: (1 + 2 * far(t)) * mpmath.exp(far(t) ** 2) * mpmath.erfc(far(t))
    what = "`(1 + 2 x) e^(x^2) erfc(x)` in powers of `(x - 4) / (x + 4)` for `0 <= x <= 28`"
    constant("ERFC", what + ", for doubles", scaled, lambda t: 1 / scaled(t), -1, mpf("0.75"), 22)
    constant("ERFC_SHORT", "As `ERFC`, for singles computed as doubles", scaled, lambda t: 1 / scaled(t), -1, mpf("0.75"), 12)

    half = mpf("2.5")
    near = remembered(lambda t: erf_inv(t + half))
    what = "`erf_inv(x) / x` in powers of `w - 2.5` for `w = -log(1 - x^2)` up to 5"
    constant("ERF_INV", what + ", for doubles", near, lambda t: 1 / near(t), -half, half, 21)
    constant("ERF_INV_SHORT", "As `ERF_INV`, for singles computed as doubles", near, lambda t: 1 / near(t), -half, half, 11)

    def far(name, what, low, high, middle, degree):
        middle = mpf(middle)
        f = remembered(lambda t: erf_inv((t + middle) ** 2))
        constant(name, what, f, lambda t: 1 / f(t), low - middle, high - middle, degree)

    root = mpmath.sqrt(5) * mpf("0.999")
    far("ERF_INV_FAR", "`erf_inv(x) / x` in powers of `r - 3.1` for the root `r` of that `w` up to 3.75", root, mpf("3.75"), "3.1", 20)
    far("ERF_INV_END", "`erf_inv(x) / x` in powers of `r - 5` for the root `r` of that `w` from 3.75", mpf("3.75"), mpf("6.07"), "5", 20)
    far("ERF_INV_FAR_SHORT", "As `ERF_INV_FAR` in powers of `r - 3.2` up to 4.1, for singles computed as doubles", root, mpf("4.1"),
        "3.2", 11)

    gamma = mpmath.euler
    one = lambda s: mpmath.loggamma(1 + s) / s if abs(s) > mpf(10) ** -25 else -gamma
    two = lambda s: mpmath.loggamma(2 + s) / s if abs(s) > mpf(10) ** -25 else 1 - gamma
    for name, degree, whom in [("", 20, "doubles"), ("_SHORT", 11, "singles computed as doubles")]:
        constant("LGAMMA_ONE" + name, f"`lgamma(1 + s) / s` for `-1/4 <= s <= 1/2`, for {whom}", one, lambda s: 1 / one(s),
                 mpf(-1) / 4, mpf(1) / 2, degree)
        constant("LGAMMA_TWO" + name, f"`lgamma(2 + s) / s` for `|s| <= 1/2`, for {whom}", two, lambda s: 1 / two(s),
                 mpf(-1) / 2, mpf(1) / 2, degree)

    def stirling(u):
        if u < mpf(10) ** -25:
            return mpf(1) / 12
        with mpmath.workdps(120):
            x = 1 / mpmath.sqrt(u)
            return x * (mpmath.loggamma(x) - (x - mpf(1) / 2) * mpmath.log(x) + x - mpmath.log(2 * mpmath.pi) / 2)

    weight = lambda u: mpmath.sqrt(u) / mpmath.loggamma(1 / mpmath.sqrt(u)) if u > mpf(10) ** -25 else mpf(10) ** -25
    what = "`x (lgamma(x) - (x - 1/2) log(x) + x - log(2 pi)/2)` in powers of `x^-2` for `x >= 8.5`"
    constant("LGAMMA_FAR", what + ", for doubles", stirling, weight, 0, 1 / mpf("8.5") ** 2, 4)
    constant("LGAMMA_FAR_SHORT", "As `LGAMMA_FAR`, for singles computed as doubles", stirling, weight, 0, 1 / mpf("8.5") ** 2, 1)

    zero = mpmath.findroot(mpmath.digamma, mpf("1.4616"))
    root = lambda t: t + mpf(3) / 2 - zero
    quotient = lambda t: mpmath.digamma(t + mpf(3) / 2) / root(t) if abs(root(t)) > mpf(10) ** -25 else mpmath.psi(1, zero)
    what = "`digamma(x)` over the distance from its zero, in powers of `x - 3/2` for `1 <= x <= 2`"
    constant("DIGAMMA", what + ", for doubles", quotient, lambda t: 1 / quotient(t), mpf(-1) / 2, mpf(1) / 2, 21)
    constant("DIGAMMA_SHORT", "As `DIGAMMA`, for singles computed as doubles", quotient, lambda t: 1 / quotient(t), mpf(-1) / 2, mpf(1) / 2, 11)

    def series(u):
        if u < mpf(10) ** -25:
            return mpf(1) / 12
        with mpmath.workdps(120):
            x = 1 / mpmath.sqrt(u)
            return (mpmath.log(x) - 1 / (2 * x) - mpmath.digamma(x)) / u

    weight = lambda u: u / mpmath.digamma(1 / mpmath.sqrt(u)) if u > mpf(10) ** -25 else mpf(10) ** -50
    what = "`x^2 (log(x) - 1/(2 x) - digamma(x))` in powers of `x^-2` for `x >= 8`"
    constant("DIGAMMA_FAR", what + ", for doubles", series, weight, 0, mpf(1) / 64, 5)
    constant("DIGAMMA_FAR_SHORT", "As `DIGAMMA_FAR`, for singles computed as doubles", series, weight, 0, mpf(1) / 64, 1)
    parts("DIGAMMA_ZERO", "The zero of `digamma(x)` less 1", zero - 1, [53, 53])
    parts("LOG_PI", "`log(pi)`", mpmath.log(mpmath.pi), [53])
    parts("HALF_LOG_2_PI", "`log(2 pi)/2`", mpmath.log(2 * mpmath.pi) / 2, [53])


def gamma_and_probit():
    two = lambda s: mpmath.gamma(2 + s)
    constant("GAMMA", "`gamma(2 + s)` for `|s| <= 1/2`", two, lambda s: 1 / two(s), mpf(-1) / 2, mpf(1) / 2, 19)

    def stirling(u):
        if u < mpf(10) ** -25:
            return mpf(1) / 12
        with mpmath.workdps(120):
            x = 1 / mpmath.sqrt(u)
            return x * (mpmath.loggamma(x) - (x - mpf(1) / 2) * mpmath.log(x) + x - mpmath.log(2 * mpmath.pi) / 2)

    what = "`x (lgamma(x) - (x - 1/2) log(x) + x - log(2 pi)/2)` in powers of `x^-2` for `x >= 8`; the error is that of the logarithm"
    constant("STIRLING", what, stirling, mpmath.sqrt, 0, mpf(1) / 64, 7)

    def quantile(r):
        """`y` where `erfc(y) = 2 p` and `r^2 = -log(4 p (1 - p))`."""
        with mpmath.workdps(90):
            q = mpmath.exp(-r * r)
            twice = q / (1 + mpmath.sqrt(1 - q))
            y, step = r * mpf("0.95"), mpf(1)
            while abs(step) > mpf(10) ** -60:
                left = mpmath.erfc(y)
                step = mpmath.log(left / twice) * left * mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(y * y)
                y += step
            return +y

    def far(name, low, high, middle, degree):
        middle = mpf(middle)
        f = remembered(lambda t: quantile(t + middle))
        what = f"`erf_inv(1 - 2 p)` in powers of `r - {middle}` for the root `r` of `-log(4 p (1 - p))` from {low} to {high}"
        constant(name, what, f, lambda t: 1 / f(t), mpf(low) - middle, mpf(high) - middle, degree)

    far("PROBIT_FAR", "6", "12", "9", 19)
    far("PROBIT_END", "12", "27.4", "18", 21)
    parts("ROOT_2", "Square root of 2", mpmath.sqrt(2), [53, 53])
    parts("HALF_LOG_2_PI", "`log(2 pi)/2`", mpmath.log(2 * mpmath.pi) / 2, [53, 53])
    parts("INVERSE_ROOT_PI", "`1/sqrt(pi)`", 1 / mpmath.sqrt(mpmath.pi), [53])


def elementary_functions():
    one = mpf(1)
    half_ln2 = mpmath.log(2) / 2 * mpf("1.0001")
    q = series(mpmath.exp, lambda r: 1 + r, lambda r: r * r, 0.5)
    relative = lambda r: r * r / mpmath.exp(r)
    constant("EXP", "`(e^r - 1 - r) / r^2` for `|r| <= log(2)/2`, for doubles", q, relative, -half_ln2, half_ln2, 9)
    constant("EXP_SINGLE", "As `EXP`, for singles", q, relative, -half_ln2, half_ln2, 4, single)
    relative = lambda r: abs(r * r / mpmath.expm1(r)) if r else mpf(0) + mpf(10) ** -30
    constant("EXPM1", "As `EXP`, relative to `e^r - 1`", q, relative, -half_ln2, half_ln2, 10)
    constant("EXPM1_SINGLE", "As `EXPM1`, for singles", q, relative, -half_ln2, half_ln2, 5, single)
    ln2 = mpmath.log(2)
    q = series(lambda r: mpf(2) ** r, lambda r: 1 + r * ln2, lambda r: r * r, ln2 * ln2 / 2)
    relative = lambda r: r * r / mpf(2) ** r
    constant("EXP2", "`(2^r - 1 - r log(2)) / r^2` for `|r| <= 1/2`, for doubles", q, relative, -one / 2, one / 2, 9)
    constant("EXP2_SINGLE", "As `EXP2`, for singles", q, relative, -one / 2, one / 2, 4, single)
    constant("EXP2_SHORT", "As `EXP2`, for singles computed as doubles", q, relative, -one / 2, one / 2, 5)

    # log((1 + s) / (1 - s)), as a function of z = s^2.
    largest = (3 - 2 * mpmath.sqrt(2)) ** 2 * mpf("1.0001")
    both = lambda z: mpmath.sqrt(z)
    atanh = lambda z: 2 * mpmath.atanh(both(z)) / both(z) if z > mpf(10) ** -30 else mpf(2)
    with_z = series(atanh, lambda z: mpf(2), lambda z: z, mpf(2) / 3)
    weight = lambda z: z / atanh(z)
    constant("LOG", "`(log((1 + s) / (1 - s)) / s - 2) / s^2` in powers of `s^2` for `|s| <= 3 - 2 sqrt(2)`, for doubles",
             with_z, weight, 0, largest, 6)
    constant("LOG_SINGLE", "As `LOG`, for singles", with_z, weight, 0, largest, 2, single)
    constant("LOG_SHORT", "As `LOG`, for singles computed as doubles", with_z, weight, 0, largest, 4)
    with_z2 = series(atanh, lambda z: 2 + z * 2 / 3, lambda z: z * z, mpf(2) / 5)
    constant("LOG_LONG", "As `LOG` without its first term, 2/3, for logarithms in two doubles", with_z2,
             lambda z: z * z / atanh(z), 0, largest, 7)

    q = series(mpmath.log1p, lambda e: e, lambda e: e * e, -0.5)
    weight = lambda e: e * e / mpmath.log1p(e) if e else mpf(10) ** -30
    constant("LOG1P_SINGLE", "`(log(1 + e) / e - 1) / e` for `0 <= e <= 1`, for singles", q, weight, 0, 1, 8, single)

    quarter = (mpmath.pi / 4 * mpf("1.0001")) ** 2
    sine = lambda z: mpmath.sin(both(z)) / both(z) if z > mpf(10) ** -30 else one
    s = series(sine, lambda z: one, lambda z: z, -one / 6)
    constant("SIN", "`(sin(r) / r - 1) / r^2` in powers of `r^2` for `|r| <= pi/4`, for doubles", s, lambda z: z / sine(z), 0,
             quarter, 5)
    constant("SIN_SHORT", "As `SIN`, for singles computed as doubles", s, lambda z: z / sine(z), 0, quarter, 3)
    c = series(lambda z: mpmath.cos(both(z)), lambda z: 1 - z / 2, lambda z: z * z, one / 24)
    constant("COS", "`(cos(r) - 1 + r^2/2) / r^4` in powers of `r^2` for `|r| <= pi/4`, for doubles", c,
             lambda z: z * z / mpmath.cos(both(z)), 0, quarter, 5)
    constant("COS_SHORT", "As `COS`, for singles computed as doubles", c, lambda z: z * z / mpmath.cos(both(z)), 0, quarter, 3)

    constant("SIN_SINGLE", "As `SIN`, for singles", s, lambda z: z / sine(z), 0, quarter, 2, single)
    constant("COS_SINGLE", "As `COS`, for singles", c, lambda z: z * z / mpmath.cos(both(z)), 0, quarter, 2, single)

    eighth = (mpmath.tan(mpmath.pi / 8) * mpf("1.0001")) ** 2
    tangent = lambda z: mpmath.atan(both(z)) / both(z) if z > mpf(10) ** -30 else one
    a = series(tangent, lambda z: one, lambda z: z, -one / 3)
    constant("ATAN", "`(atan(t) / t - 1) / t^2` in powers of `t^2` for `|t| <= tan(pi/8)`, for doubles", a,
             lambda z: z / tangent(z), 0, eighth, 10)
    constant("ATAN_SHORT", "As `ATAN`, for singles computed as doubles", a, lambda z: z / tangent(z), 0, eighth, 5)
    arcsine = lambda z: mpmath.asin(both(z)) / both(z) if z > mpf(10) ** -30 else one
    a = series(arcsine, lambda z: one, lambda z: z, one / 6)
    constant("ASIN", "`(asin(t) / t - 1) / t^2` in powers of `t^2` for `|t| <= 1/2`, for doubles", a,
             lambda z: z / arcsine(z), 0, one / 4, 11)
    constant("ASIN_SHORT", "As `ASIN`, for singles computed as doubles", a, lambda z: z / arcsine(z), 0, one / 4, 6)
    constant("CBRT", "Cube root on [1, 2], where iteration begins", mpmath.cbrt, lambda x: 1 / mpmath.cbrt(x), 1, 2, 4)

    parts("LN2", "`log(2)`", ln2, [42, 53])
    parts("LN2_FULL", "`log(2)`", ln2, [53, 53])
    parts("LN2_SINGLE", "`log(2)`", ln2, [15, 24])
    parts("LN2_FULL_SINGLE", "`log(2)`", ln2, [24, 24])
    parts("LOG2_E", "`log2(e)`", 1 / ln2, [53, 53])
    parts("LOG2_E_SINGLE", "`log2(e)`", 1 / ln2, [24, 24])
    ln10 = mpmath.log(10)
    parts("LOG10_E", "`log10(e)`", 1 / ln10, [53, 53])
    parts("LOG10_E_SINGLE", "`log10(e)`", 1 / ln10, [24, 24])
    parts("LOG10_2", "`log10(2)`", ln2 / ln10, [42, 53])
    parts("LOG10_2_SINGLE", "`log10(2)`", ln2 / ln10, [15, 24])
    parts("PI_2", "`pi/2`", mpmath.pi / 2, [53, 53, 53])
    parts("PI_2_SINGLE", "`pi/2`", mpmath.pi / 2, [24, 24, 24])
    parts("PI_4", "`pi/4`", mpmath.pi / 4, [53, 53])
    parts("PI", "`pi`", mpmath.pi, [53, 53])
    parts("TWO_THIRDS", "`2/3`", mpf(2) / 3, [53, 53])
    parts("CBRT_2", "Cube root of 2", mpmath.cbrt(2), [53])

    # Bits of 2/pi after the binary point, for the reduction of Payne and Hanek: the largest double is below 2^1024.
    with mpmath.workdps(500):
        digits = int(mpmath.floor(mpmath.ldexp(2 / mpmath.pi, 64 * 20)))
    words = [digits >> (64 * (19 - i)) & (2**64 - 1) for i in range(20)]
    OUT.append("/// The bits of `2/pi` after the binary point.")
    OUT.append("pub(super) const TWO_OVER_PI: [u64; 20] = [")
    OUT.extend(f"    0x{w:016x}," for w in words)
    OUT.append("];")


def write(file, whose):
    """Writes what was found since the last file."""
    with open(os.path.join(TARGET, file), "w", newline="\n") as out:
        out.write(f"//! Written by tests/testdata/math/fit.py: what {whose} functions are made of, as coefficients of")
        out.write("\n//! polynomials, constant first, and constants in parts.\n\n")
        out.write("#![allow(clippy::excessive_precision, clippy::approx_constant)]\n\n")
        out.write("\n".join(OUT).rstrip("\n") + "\n")
    OUT.clear()


def main():
    elementary_functions()
    write("coefficients.rs", "elementary")
    special_functions()
    write("special_coefficients.rs", "error and gamma")
    gamma_and_probit()
    write("gamma_coefficients.rs", "the gamma function and the probit")


if __name__ == "__main__":
    main()
