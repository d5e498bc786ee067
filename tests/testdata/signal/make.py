"""Values and gradients of transforms, convolutions, sums over windows and interpolations, of JAX and NumPy, for
test-ops-signal*.R. Elements are in R's order, the first axis first.

python3 make.py; the versions are in signal.csv.
"""

import csv
import pathlib

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
here = pathlib.Path(__file__).parent
rng = np.random.default_rng(18)
rows = []


def text(x):
    return " ".join(repr(float(v)) for v in np.asarray(x).flatten(order="F"))


def add(what, case, x):
    x = np.asarray(x)
    rows.append([what, case, "x".join(map(str, x.shape)), text(x)])


def numbers(*shape):
    return np.round(rng.standard_normal(shape), 3)


# Convolutions: name, operand, kernel, stride, padding, dilation, operand_dilation, groups.
convolutions = [
    ("1d", (2, 7, 3), (3, 3, 4), (1,), [(0, 0)], (1,), (1,), 1),
    ("1d_stride", (1, 9, 4), (3, 2, 6), (2,), [(2, 1)], (2,), (1,), 2),
    ("2d", (2, 6, 5, 3), (3, 2, 3, 4), (1, 1), [(1, 1), (0, 1)], (1, 1), (1, 1), 1),
    ("2d_groups", (2, 5, 6, 4), (2, 3, 1, 8), (2, 1), [(0, 1), (2, 0)], (1, 2), (1, 1), 4),
    ("2d_transposed", (1, 4, 3, 2), (3, 3, 2, 3), (1, 1), [(1, 2), (2, 1)], (1, 1), (2, 3), 1),
    ("3d", (1, 4, 5, 3, 2), (2, 3, 2, 2, 3), (1, 2, 1), [(0, 0), (1, 1), (1, 0)], (1, 1, 2), (1, 1, 1), 1),
    ("2d_cut", (1, 6, 6, 1), (2, 2, 1, 2), (1, 1), [(-1, 0), (1, -2)], (1, 1), (1, 1), 1),
]
layouts = {1: ("NWC", "WIO", "NWC"), 2: ("NHWC", "HWIO", "NHWC"), 3: ("NDHWC", "DHWIO", "NDHWC")}
for name, xs, ks, stride, padding, dilation, base, groups in convolutions:
    x, k = numbers(*xs), numbers(*ks)

    def f(x, k):
        return jax.lax.conv_general_dilated(
            x, k, stride, padding, lhs_dilation=base, rhs_dilation=dilation,
            dimension_numbers=layouts[len(stride)], feature_group_count=groups, precision="highest",
        )

    y = f(x, k)
    w = numbers(*y.shape)
    gx, gk = jax.grad(lambda x, k: (f(x, k) * w).sum(), argnums=(0, 1))(x, k)
    for what, value in [("x", x), ("kernel", k), ("w", w), ("y", y), ("gx", gx), ("gk", gk)]:
        add("conv_" + what, name, value)

# Folds over windows, of whole arrays: name, operand, fold, size, stride, padding, dilation.
folds = {
    "sum": (0.0, jax.lax.add), "max": (-np.inf, jax.lax.max), "min": (np.inf, jax.lax.min),
    "prod": (1.0, jax.lax.mul),
}
windows = [
    ("1d", (9,), (3,), (1,), [(0, 0)], (1,)),
    ("2d", (6, 5), (2, 3), (2, 1), [(1, 0), (1, 1)], (1, 1)),
    ("dilated", (8, 3), (3, 1), (1, 1), [(2, 0), (0, 0)], (2, 1)),
    ("3d", (2, 5, 4, 3), (1, 2, 2, 1), (1, 2, 2, 1), [(0, 0), (0, 0), (1, 1), (0, 0)], (1, 1, 1, 1)),
]
for name, xs, size, stride, padding, dilation in windows:
    x = numbers(*xs)
    for fold, (init, by) in folds.items():
        def f(x):
            return jax.lax.reduce_window(
                x, init, by, size, stride, padding, window_dilation=dilation
            )

        y = f(x)
        w = numbers(*y.shape)
        add("window_x", name + "_" + fold, x)
        add("window_w", name + "_" + fold, w)
        add("window_y", name + "_" + fold, y)
        # JAX has no derivative of products, and of the others none of windows that are dilated.
        if fold == "sum" or (fold in ("max", "min") and set(dilation) == {1}):
            add("window_gx", name + "_" + fold, jax.grad(lambda x: (f(x) * w).sum())(x))

for n, m in [(7, 3), (3, 7), (1, 4), (200, 150)]:
    a, b = numbers(n), numbers(m)
    add("convolve_a", f"{n}_{m}", a)
    add("convolve_b", f"{n}_{m}", b)
    for mode in ["full", "same", "valid"]:
        add("convolve_" + mode, f"{n}_{m}", np.convolve(a, b, mode))

xp = np.array([-1.0, 0.0, 0.5, 2.0, 2.5])
fp = numbers(5)
at = np.array([-2.0, -1.0, -0.3, 0.0, 0.2, 0.5, 1.0, 2.4, 2.5, 9.0])
w = numbers(10)
add("interp_x", "", at)
add("interp_xp", "", xp)
add("interp_fp", "", fp)
add("interp_w", "", w)
add("interp_y", "", np.interp(at, xp, fp))
add("interp_gfp", "", jax.grad(lambda fp: (jnp.interp(at, xp, fp) * w).sum())(fp))

with open(here / "signal.csv", "w", newline="") as file:
    file.write(f"# made by make.py: jax {jax.__version__}, numpy {np.__version__}\n")
    out = csv.writer(file, lineterminator="\n")
    out.writerow(["what", "case", "shape", "values"])
    out.writerows(rows)
