"""Writes incomplete_coefficients.rs in src/rust/kernels/src/kernels/math/.

    python3 incomplete.py

Needs mpmath. Not run by any test. Tables of functions of two variables: each row is a polynomial, constant first, of which
the next row has the next power of the other variable.
"""

import os

import mpmath
from mpmath import mpf

mpmath.mp.dps = 60
HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.path.join(HERE, "../../../src/rust/kernels/src/kernels/math/incomplete_coefficients.rs")


def uniform(rows, longest):
    """The coefficients c_k(eta) of DLMF 8.12.7 as series in eta, by the recurrence of 8.12.10 (Temme 1979)."""
    count = longest + 2 * rows + 4
    # mu(eta) of mu - log(1 + mu) = eta^2 / 2, which makes mu mu' = eta (1 + mu).
    mu = [mpf(0), mpf(1)]
    for n in range(2, count):
        mixed = sum(mu[i] * mu[n + 1 - i] for i in range(2, n))
        mu.append((mpf(2) / (n + 1) * mu[n - 1] - mixed) / 2)
    # Of 1 / mu, from the power -1 on.
    inverse = [mpf(1)]
    for n in range(1, count - 1):
        inverse.append(-sum(mu[i + 1] * inverse[n - i] for i in range(1, n + 1)))
    # Those of the series of Stirling, DLMF 5.11.3: the integral of e^(-z eta^2 / 2) mu'(eta).
    stirling = [mpmath.fac2(2 * k - 1) * mu[2 * k + 1] * (2 * k + 1) for k in range(rows)]
    table = [inverse[1:]]
    for k in range(1, rows):
        slope = [(n + 1) * c for n, c in enumerate(table[-1][1:])]
        share = (-1) ** k * stirling[k]
        table.append([s + share * i for s, i in zip(slope[1:], inverse[1:])])
    return [row[: longest - 2 * k] for k, row in enumerate(table)]


def chebyshev(function, m, n):
    """Coefficients of the products of polynomials of Chebyshev in two variables in [-1, 1]."""
    at = lambda count: [mpmath.cos(mpmath.pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    basis = lambda count: [[mpmath.chebyt(k, x) * (2 if k else 1) / count for x in at(count)] for k in range(count)]
    values = mpmath.matrix([[function(t, s) for s in at(n)] for t in at(m)])
    return mpmath.matrix(basis(m)) * values * mpmath.matrix(basis(n)).T


def powers(count):
    """The polynomials of Chebyshev, by rows, in powers."""
    rows = [[mpf(1)], [mpf(0), mpf(1)]]
    for k in range(2, count):
        last, before = [mpf(0)] + [2 * c for c in rows[-1]], rows[-2] + [mpf(0)] * 2
        rows.append([a - b for a, b in zip(last, before)])
    return mpmath.matrix([row + [mpf(0)] * (count - len(row)) for row in rows])


LEAST, FAR = mpf("0.625"), mpf("1.5")


def upper(t, s):
    """x^(1 - f) e^x gamma(f, x) at f = (1 + t) / 2, (x - LEAST) / (x + FAR) = (1 + s) / 2."""
    f, p = (1 + t) / 2, (1 + s) / 2
    x = (LEAST + FAR * p) / (1 - p)
    return x ** (1 - f) * mpmath.exp(x) * mpmath.gammainc(f, x)


def fitted(function, m, n, error):
    table = chebyshev(function, m, n)
    for i in range(m):
        for j in range(n):
            if abs(table[i, j]) < error:
                table[i, j] = mpf(0)
    table = powers(m).T * table * powers(n)
    rows = [[table[i, j] for j in range(n)] for i in range(m)]
    for row in rows:
        while row and row[-1] == 0:
            row.pop()
    # No row is longer than the one before it.
    while rows and not rows[-1]:
        rows.pop()
    for i in range(len(rows) - 2, -1, -1):
        rows[i] += [mpf(0)] * (len(rows[i + 1]) - len(rows[i]))
    return rows


def lines(rows):
    for row in rows:
        yield f"    &["
        line = "       "
        for c in row:
            if len(line) + len(repr(float(c))) > 100:
                yield line
                line = "       "
            line += f" {float(c)!r},"
        yield line
        yield "    ],"


def write(out, name, what, rows):
    out.write(f"\n/// {what}\npub(super) const {name}: [&[f64]; {len(rows)}] = [\n")
    out.write("\n".join(lines(rows)) + "\n];\n")
    print(name, [len(row) for row in rows], max(abs(c) for row in rows for c in row))


def main():
    with open(TARGET, "w", newline="\n") as out:
        out.write("//! Written by tests/testdata/math/incomplete.py: what the incomplete gamma and beta functions are\n")
        out.write("//! made of, as polynomials, constant first, whose rows are those of powers of a second variable.\n\n")
        out.write("#![allow(clippy::excessive_precision, clippy::approx_constant)]\n")
        write(out, "UNIFORM", "`c_k(eta)` of DLMF 8.12.7, with `k` from 0 on.", uniform(11, 26))
        what = (
            "`x^(1 - f) e^x gamma(f, x)` for `0 < f <= 1`, `x >= 0.625`, in powers of `2 f - 1`, and in a row of\n"
            "/// `2 (x - 0.625) / (x + 1.5) - 1`, error 2^-56."
        )
        write(out, "UPPER", what, fitted(upper, 18, 36, mpf("4e-18")))


if __name__ == "__main__":
    main()
