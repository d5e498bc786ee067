"""Golden values of ops: what XLA, NumPy and mpmath make of the cases at the edge.

    pip install "jax[cpu]" numpy mpmath
    python3 make.py        writes the CSV files next to this script

Not run by any test. Columns are op, dtype, operands, result. Integers are decimal, booleans TRUE and FALSE, floats their
bits in hexadecimal; dtype is that of the operands, that of the result is behind the op where it is another.
"""

import itertools
import os
import platform
import warnings

import jax

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")

import jax.numpy as jnp
import mpmath
import numpy as np
from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import mlir
from jaxlib.mlir.dialects import stablehlo

warnings.filterwarnings("ignore")
np.seterr(all="ignore")
mpmath.mp.dps = 60
HERE = os.path.dirname(os.path.abspath(__file__))

DTYPES = {
    "i1": np.bool_,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "ui8": np.uint8, "ui16": np.uint16, "ui32": np.uint32, "ui64": np.uint64,
    "f32": np.float32, "f64": np.float64,
}
SIGNED = ["i8", "i16", "i32", "i64"]
UNSIGNED = ["ui8", "ui16", "ui32", "ui64"]
FLOATS = ["f32", "f64"]
BITS = {"f32": np.uint32, "f64": np.uint64}


def text(x, dtype):
    if dtype == "i1":
        return "TRUE" if x else "FALSE"
    if dtype in BITS:
        if np.isnan(x):
            return "NaN"
        return f"{np.asarray(x, DTYPES[dtype]).view(BITS[dtype]):#x}"
    return str(int(x))


def of(dtype, values):
    return np.array(values, dtype=DTYPES[dtype])


class Table:
    def __init__(self, name, what, tools, operands):
        self.name, self.what, self.tools, self.operands, self.rows = name, what, tools, operands, []

    def add(self, op, dtype, function, operands, result=None):
        """Rows for arrays of operands. `result` is the dtype of the result if it is not `dtype`."""
        out = np.asarray(function(*operands))
        into = result or dtype
        assert out.dtype == DTYPES[into], (op, dtype, out.dtype)
        name = f"{op} {result}" if result else op
        for *xs, y in zip(*operands, out):
            self.rows.append([name, dtype, *(text(x, dtype) for x in xs), text(y, into)])

    def write(self):
        with open(os.path.join(HERE, self.name + ".csv"), "w", newline="\n") as file:
            file.write(f"# {self.what}; {self.tools}; python3 make.py\n")
            columns = [f"operand{i + 1}" for i in range(self.operands)]
            file.write(",".join(["op", "dtype", *columns, "result"]) + "\n")
            for row in self.rows:
                file.write(",".join(row) + "\n")


XLA = f"JAX {jax.__version__} on XLA CPU"
PYTHON = f"Python {platform.python_version()}"
NUMPY = f"NumPy {np.__version__}"
MPMATH = f"mpmath {mpmath.__version__}, 60 digits"


def xla(f):
    """Compiled, so that XLA does the work; operands are arguments, so that it cannot do it beforehand."""
    return lambda *xs: jax.jit(f)(*(jnp.asarray(x) for x in xs))


def stablehlo_op(name, build):
    """An op of StableHLO as it is, where JAX's own function refuses dtypes or computes in another way."""
    primitive = Primitive("stablehlo_" + name)
    primitive.def_abstract_eval(lambda x, y: x)
    mlir.register_lowering(primitive, lambda context, x, y: [build(x, y)])
    return primitive.bind


power = stablehlo_op("power", stablehlo.power)
add = stablehlo_op("add", stablehlo.add)
mul = stablehlo_op("multiply", stablehlo.multiply)


def pairs(values):
    return [np.array(column) for column in zip(*itertools.product(values, repeat=2))]


def triples(values):
    return [np.array(column) for column in zip(*itertools.product(values, repeat=3))]


# ---- integers and booleans ------------------------------------------------------------------------------------------


def corners(dtype):
    info, bits = np.iinfo(DTYPES[dtype]), np.iinfo(DTYPES[dtype]).bits
    low = [info.min, -7, -1] if info.min < 0 else [info.max - 6]
    return of(dtype, low + [0, 1, 3, bits, info.max])


def few(dtype):
    info = np.iinfo(DTYPES[dtype])
    return of(dtype, [info.min, info.min + 3, 1, info.max - 1, info.max])


def integers():
    edge = {
        "div": lax.div, "remainder": lax.rem, "pow": power, "shift_left": lax.shift_left,
        "shift_right_logical": lax.shift_right_logical, "shift_right_arithmetic": lax.shift_right_arithmetic,
    }
    plain = {
        "add": add, "sub": lax.sub, "mul": mul, "max": lax.max, "min": lax.min,
        "and": lax.bitwise_and, "or": lax.bitwise_or, "xor": lax.bitwise_xor,
    }
    compare = {"eq": lax.eq, "ne": lax.ne, "gt": lax.gt, "ge": lax.ge, "lt": lax.lt, "le": lax.le}
    table = Table("integer-binary", "Integers, two operands", XLA, 2)
    for dtype in SIGNED + UNSIGNED:
        for op, f in edge.items():
            table.add(op, dtype, xla(f), pairs(corners(dtype)))
        if dtype not in ["i8", "i32", "ui8", "ui64"]:
            continue
        for op, f in plain.items():
            table.add(op, dtype, xla(f), pairs(few(dtype)))
        for op, f in compare.items():
            table.add(op, dtype, xla(f), pairs(few(dtype)[[0, 2, 4]]), "i1")
    table.write()

    # NumPy gives 0 for a zero divisor, where no answer is right.
    table = Table("integer-floor", "Integer quotient and remainder rounded down", NUMPY, 2)
    for dtype in SIGNED + UNSIGNED:
        x, y = pairs(corners(dtype))
        x, y = x[y != 0], y[y != 0]
        table.add("floor_div", dtype, np.floor_divide, [x, y])
        table.add("mod", dtype, np.mod, [x, y])
    table.write()

    # XLA looks at the low bits of an exponent alone, and takes large unsigned ones for negative.
    table = Table("integer-power", "Integer powers with large exponents, modulo 2^bits", PYTHON, 2)
    for dtype in SIGNED + UNSIGNED:
        info = np.iinfo(DTYPES[dtype])
        bases, exponents = [info.min, info.max - 6, 0, 1, 3, 10], [info.bits - 1, info.bits, 100, info.max - 1, info.max]
        x, y = (of(dtype, column) for column in zip(*itertools.product(bases, exponents)))
        low = [pow(int(a), int(b), 1 << info.bits) for a, b in zip(x, y)]
        z = [v - (1 << info.bits) if v > info.max else v for v in low]
        table.add("pow", dtype, lambda *_: of(dtype, z), [x, y])
    table.write()

    table = Table("integer-unary", "Integers and booleans, one operand", XLA, 1)
    for dtype in SIGNED + UNSIGNED:
        ops = {"negate": lax.neg, "not": lax.bitwise_not, "popcnt": lax.population_count}
        if dtype in SIGNED:
            ops.update({"abs": lax.abs, "sign": lax.sign})
        for op, f in ops.items():
            table.add(op, dtype, xla(f), [corners(dtype)])
    table.add("not", "i1", xla(lax.bitwise_not), [of("i1", [False, True])])
    table.write()

    table = Table("boolean-binary", "Booleans, two operands", XLA, 2)
    both = pairs(of("i1", [False, True]))
    for op, f in {**{op: plain[op] for op in ["mul", "max", "min", "and", "or", "xor"]}, **compare}.items():
        table.add(op, "i1", xla(f), both)
    table.write()


# ---- floats ---------------------------------------------------------------------------------------------------------


def edges(dtype, subnormal):
    info = np.finfo(DTYPES[dtype])
    values = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, info.max]
    return of(dtype, values + ([info.smallest_subnormal] if subnormal else []))


def floats():
    exact = {
        "add": lax.add, "sub": lax.sub, "mul": lax.mul, "div": lax.div, "remainder": lax.rem,
        "max": lax.max, "min": lax.min,
    }
    libm = {"pow": lax.pow, "atan2": lax.atan2}
    compare = {"eq": lax.eq, "ne": lax.ne, "gt": lax.gt, "ge": lax.ge, "lt": lax.lt, "le": lax.le}
    table = Table("float-binary", "Floats, two operands", XLA, 2)
    for dtype in FLOATS:
        for op, f in {**exact, **libm}.items():
            x = edges(dtype, dtype == "f32")
            table.add(op, dtype, xla(f), pairs(x[:7] if op in ["add", "sub", "mul"] else x))
        for op, f in compare.items():
            table.add(op, dtype, xla(f), pairs(edges(dtype, False)[:7]), "i1")
    table.write()

    table = Table("float-floor", "Float quotient and remainder rounded down", NUMPY, 2)
    for dtype in FLOATS:
        # The quotients must be whole numbers that the dtype has.
        x, y = pairs(np.concatenate([edges(dtype, False)[:10], of(dtype, [7, -7, 0.25, 1e5])]))
        # R, which is followed there, has an infinite quotient of an infinite dividend.
        table.add("floor_div", dtype, lambda x, y: np.where(np.isinf(x), x / y, np.floor_divide(x, y)), [x, y])
        table.add("mod", dtype, np.mod, [x, y])
    table.write()

    # IEEE 754 says what these are; XLA need not keep subnormal numbers.
    table = Table("float-subnormal", "Subnormal floats, two operands", NUMPY, 2)
    for dtype in FLOATS:
        info = np.finfo(DTYPES[dtype])
        tiny = of(dtype, [info.smallest_subnormal, -3 * info.smallest_subnormal, info.tiny, info.tiny / 3, -0.5, 2])
        for op, f in {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
                      "remainder": np.fmod, "max": np.maximum, "min": np.minimum}.items():
            table.add(op, dtype, f, pairs(tiny))
    table.write()

    table = Table("float-rounding", "Floats, one operand, exact results", XLA, 1)
    ops = {
        "negate": lax.neg, "abs": lax.abs, "sign": lax.sign, "sqrt": lax.sqrt, "floor": lax.floor,
        "ceiling": lax.ceil, "trunc": jnp.trunc,
        "round_nearest_even": lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
        "round_nearest_afz": lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
    }
    for dtype in FLOATS:
        half = np.nextafter(DTYPES[dtype](0.5), DTYPES[dtype](0))
        x = np.concatenate([edges(dtype, dtype == "f32"),
                            of(dtype, [half, -half, 1.5, 2.5, -0.5, -1.5, 1e5 + 0.5, 8388607.5, 8388609.0, 1e30, 2.0])])
        for op, f in ops.items():
            table.add(op, dtype, xla(f), [x])
        for op, f in {"is_finite": jnp.isfinite, "is_infinite": jnp.isinf, "is_nan": jnp.isnan}.items():
            table.add(op, dtype, xla(f), [x], "i1")
    table.write()

    table = Table("float-special", "Floats, one operand, at values where the answer is no matter of rounding", XLA, 1)
    ops = {
        "rsqrt": lax.rsqrt, "cbrt": lax.cbrt, "exp": lax.exp, "expm1": lax.expm1, "log": lax.log, "log1p": lax.log1p,
        "log2": jnp.log2, "log10": jnp.log10, "sin": lax.sin, "cos": lax.cos, "tan": lax.tan, "asin": lax.asin,
        "acos": lax.acos, "atan": lax.atan, "sinh": lax.sinh, "cosh": lax.cosh, "tanh": lax.tanh,
        "asinh": lax.asinh, "acosh": lax.acosh, "atanh": lax.atanh, "logistic": lax.logistic, "erf": lax.erf,
        "erfc": lax.erfc, "erf_inv": lax.erf_inv, "lgamma": lax.lgamma, "digamma": lax.digamma,
    }
    for dtype in FLOATS:
        for op, f in ops.items():
            x = of(dtype, [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, -2.0])
            y = np.asarray(xla(f)(x))
            # At ordinary operands only results that every digit of is sure.
            sure = ~np.isfinite(x) | (x == 0) | ~np.isfinite(y) | (y == 0)
            table.add(op, dtype, lambda _: y[sure], [x[sure]])
    table.write()


# ---- functions whose results are rounded ----------------------------------------------------------------------------


def nearest(value, dtype):
    """The float next to a value: through the digits of the value, so that it is rounded once."""
    if isinstance(value, mpmath.mpc):
        value = value.real
    if dtype == "f32":
        # A double with more than twice the bits, made odd where it is inexact, rounds as the value itself would.
        near = float(value)
        if mpmath.mpf(near) != value and not np.isinf(near):
            below = near if mpmath.mpf(near) < value else np.nextafter(near, -np.inf)
            above = np.nextafter(below, np.inf)
            near = below if np.float64(below).view(np.uint64) % 2 == 1 else above
        return np.float32(near)
    return np.float64(float(value))


def functions():
    m = mpmath
    real = [1e-10, 1e-3, 0.1, 0.5, 0.75, 1.0, 1.5, 2.0, 3.75, 10.0, 20.0, 50.0, 80.0]
    both = sorted({s * x for x in real for s in (-1, 1)})
    wide = both + [100.25, 600.0, -600.0]
    angles = both + [1e3, -1e5, 1e10]
    positive = [x for x in real] + [1e-30, 1e30, 0.999, 1.001, 123456.0]
    unit = [x for x in both if abs(x) < 1] + [0.999, -0.999]
    cases = {
        "rsqrt": (lambda x: 1 / m.sqrt(x), positive),
        "cbrt": (lambda x: m.sign(x) * m.cbrt(abs(x)), both + [27.0, -8.0, 1e30]),
        "exp": (m.exp, wide), "expm1": (m.expm1, wide),
        "log": (m.log, positive), "log1p": (m.log1p, positive + [-0.5, -0.999, -1e-10]),
        "log2": (lambda x: m.log(x) / m.log(2), positive + [8.0, 1024.0, 0.125]),
        "log10": (lambda x: m.log10(x), positive + [100.0, 1000.0]),
        "sin": (m.sin, angles), "cos": (m.cos, angles), "tan": (m.tan, angles),
        "asin": (m.asin, unit), "acos": (m.acos, unit), "atan": (m.atan, angles),
        "sinh": (m.sinh, wide), "cosh": (m.cosh, wide), "tanh": (m.tanh, both),
        "asinh": (m.asinh, angles), "acosh": (m.acosh, [1.001, 1.5, 2.0, 10.0, 1e5, 1e30]), "atanh": (m.atanh, unit),
        "logistic": (lambda x: 1 / (1 + m.exp(-x)), both + [-87.0, 600.0]),
        "erf": (m.erf, both), "erfc": (m.erfc, [x for x in both if x < 11]),
        "erf_inv": (m.erfinv, unit),
        "lgamma": (lambda x: m.log(abs(m.gamma(x))), positive[:13] + [-0.5, -1.5, 1e5]),
        "digamma": (m.digamma, positive[:13] + [-0.5, -1.25]),
    }
    table = Table("float-functions", "Floats, one operand, correctly rounded results", MPMATH, 1)
    for dtype in FLOATS:
        for op, (f, points) in cases.items():
            x = of(dtype, points)
            y = [nearest(f(mpmath.mpf(float(v))), dtype) for v in x]
            table.add(op, dtype, lambda _: of(dtype, y), [x])
    table.write()

    table = Table("float-functions2", "Floats, two operands, correctly rounded results", MPMATH, 2)
    bases = [0.1, 0.5, 0.999, 1.001, 2.0, 3.0, 10.0, 123.5]
    exponents = [-3.5, -2.0, -0.5, 0.1, 0.5, 1.0, 2.0, 7.0, 15.25]
    sides = [-1e5, -2.5, -1.0, -1e-3, 1e-10, 0.5, 1.0, 3.0, 1e5]
    for dtype in FLOATS:
        for op, f, xs, ys in [("pow", mpmath.power, bases, exponents), ("atan2", mpmath.atan2, sides, sides)]:
            x, y = (np.array(column) for column in zip(*itertools.product(of(dtype, xs), of(dtype, ys))))
            z = [nearest(f(mpmath.mpf(float(a)), mpmath.mpf(float(b))), dtype) for a, b in zip(x, y)]
            table.add(op, dtype, lambda *_: of(dtype, z), [x, y])
    table.write()


# ---- conversions and choices ----------------------------------------------------------------------------------------


def conversions():
    table = Table("convert", "Conversions between dtypes", XLA, 1)
    for dtype in DTYPES:
        if dtype == "i1":
            x = of("i1", [False, True])
        elif dtype in FLOATS:
            x = of(dtype, [np.nan, np.inf, -np.inf, 0.0, -0.0, 0.4, -0.9, 1.5, -1.5, 127.9, 128.0, 255.5, 256.0, -128.9,
                           -129.0, 40000.0, 3e9, -3e9, 5e9, 2.0**63, -(2.0**63), 2.0**64, 1e30, 16777217.0, 0.1])
            if dtype == "f64":
                x = np.concatenate([x, of(dtype, [1e300, -1e300, 3.4028235677973366e38, 2.0**53 + 2])])
        else:
            info = np.iinfo(DTYPES[dtype])
            values = {info.min, info.max, info.max - 1, info.max // 2, 0, 1, 100}
            values |= {v for v in [-1, -129, 255, 256, 300, 70000, 16777217, 16777219, 2**53 + 1, 2**62 + 2**38 + 1]
                       if info.min <= v <= info.max}
            x = of(dtype, sorted(values))
        for into in DTYPES:
            if into != dtype:
                table.add("convert", dtype, xla(lambda v: lax.convert_element_type(v, DTYPES[into])), [x], into)
    table.write()

    table = Table("clamp", "Clamp: lower bound, operand, upper bound", XLA, 3)
    for dtype in ["i8", "ui32"]:
        table.add("clamp", dtype, xla(lax.clamp), triples(few(dtype)[[0, 1, 2, 4]]))
    table.add("clamp", "f32", xla(lax.clamp), triples(of("f32", [np.nan, -np.inf, -1, 0.5, 2])))
    table.write()


integers()
floats()
functions()
conversions()
