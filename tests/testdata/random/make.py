"""Golden random bits: what XLA's CPU backend makes of `rng_bit_generator`.

    pip install "jax[cpu]" numpy
    python3 make.py        writes bits.csv next to this script

Not run by any test. Columns are algorithm, the two numbers of the state, dtype, shape (sizes joined by x; none is 0-d), the
two numbers of the new state, and the bits in row-major order. All numbers are decimal.
"""

import os
import platform

import jax

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")

import jax.numpy as jnp
import numpy as np
from jax import lax

HERE = os.path.dirname(os.path.abspath(__file__))
ALGORITHMS = {"threefry": lax.RandomAlgorithm.RNG_THREE_FRY, "philox": lax.RandomAlgorithm.RNG_PHILOX}
DTYPES = {"ui8": jnp.uint8, "ui16": jnp.uint16, "ui32": jnp.uint32, "ui64": jnp.uint64}

# Which dimension ThreeFry splits depends on which sizes are even, and which is the largest.
SHAPES = [
    (), (1,), (2,), (3,), (5,), (8,), (0,), (2, 0), (1, 1), (1, 5), (5, 1), (1, 4), (4, 1), (2, 3), (3, 2), (3, 3),
    (3, 5), (5, 3), (2, 2), (3, 4), (1, 3, 2), (3, 1, 5), (2, 3, 2), (3, 3, 3), (3, 5, 3), (3, 2, 2), (5, 2, 3),
]
FEW = [(), (3,), (8,), (2, 3), (3, 3), (3, 1, 2)]
# Of the last two, the counter wraps within the draw.
STATES = [
    ((42, 0), SHAPES), ((1, 2), FEW), ((2**63 + 12345678901, 2**40 + 2**32 - 2), FEW),
    ((7, 2**64 - 1), FEW), ((2**64 - 1, 2**64 - 2), FEW),
]


def main():
    with open(os.path.join(HERE, "bits.csv"), "w") as out:
        out.write("# Written by make.py: rng_bit_generator of XLA on CPU\n")
        out.write(f"# jax {jax.__version__}, numpy {np.__version__}, Python {platform.python_version()}\n")
        out.write("algorithm,key,counter,dtype,shape,new_key,new_counter,bits\n")
        for name, algorithm in ALGORITHMS.items():
            for state, shapes in STATES:
                for dtype, of in DTYPES.items():
                    for shape in shapes:
                        new, bits = lax.rng_bit_generator(
                            jnp.array(state, dtype=jnp.uint64), shape, dtype=of, algorithm=algorithm
                        )
                        bits = " ".join(str(int(x)) for x in np.array(bits).ravel())
                        sizes = "x".join(str(d) for d in shape)
                        row = [name, *state, dtype, sizes, *(int(x) for x in new), bits]
                        out.write(",".join(str(x) for x in row) + "\n")


main()
