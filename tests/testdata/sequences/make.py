"""Values of JAX for cumulations, their gradients, associative scans and sums of segments: writes sequences.csv.

Run by hand: python make.py. The versions are in the first line of the file.
"""
import os

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
LAX = {
    "cumsum": jax.lax.cumsum, "cumprod": jax.lax.cumprod, "cummax": jax.lax.cummax, "cummin": jax.lax.cummin,
    "cumlogsumexp": jax.lax.cumlogsumexp,
}


def text(x):
    return " ".join(f"{v:.17g}" for v in np.asarray(x, dtype=np.float64).ravel(order="F"))


def main():
    rng = np.random.default_rng(18)
    # Multiples of 1/64 without ties, so that products of few are exact enough, and extremes have one place.
    x = (rng.permutation(200)[:12] - 90) / 64
    rows = [("x", "", "", "", text(x))]
    weights = np.arange(1, 13) / 8
    rows.append(("weights", "", "", "", text(weights)))
    for name, f in LAX.items():
        for shape, axis in (((12,), 0), ((3, 4), 0), ((3, 4), 1), ((2, 3, 2), 1)):
            for reverse in (False, True):
                a = jnp.asarray(x.reshape(shape, order="F"))
                w = jnp.asarray(weights.reshape(shape, order="F"))
                run = lambda a: f(a, axis=axis, reverse=reverse)
                key = ("x".join(map(str, shape)), str(axis + 1), str(reverse).upper())
                rows.append((name, *key, text(run(a))))
                rows.append((name + "_gradient", *key, text(jax.grad(lambda a: (run(a) * w).sum())(a))))
    combine = lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1])
    for n in (1, 2, 3, 7, 12):
        for reverse in (False, True):
            a, b = jnp.asarray(x[:n]), jnp.asarray(weights[:n])
            out = jax.lax.associative_scan(combine, (a, b), reverse=reverse)
            rows.append(("recurrence", str(n), "1", str(reverse).upper(), text(out[1])))
    codes = jnp.asarray([0, 2, 2, 1, 0, 4, 4, 4, 1, 2, 0, 0])
    for name in ("sum", "max", "min"):
        f = getattr(jax.ops, "segment_" + name)
        rows.append(("segment_" + name, "12", "1", "", text(f(jnp.asarray(x), codes, 5))))
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "sequences.csv"), "w") as out:
        out.write(f"# jax {jax.__version__}, numpy {np.__version__}; written by make.py\n")
        out.write("what,shape,axis,reverse,values\n")
        out.writelines(",".join(row) + "\n" for row in rows)


main()
