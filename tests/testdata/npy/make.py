"""Small arrays in NumPy's own format, for tests/testthat/test-npy.R. Versions are in made-with.txt.

    python make.py
"""

import pathlib
import sys

import ml_dtypes
import numpy as np

here = pathlib.Path(__file__).parent


def save(name, array, version=None):
    with open(here / f"{name}.npy", "wb") as file:
        np.lib.format.write_array(file, array, version=version, allow_pickle=True)


counts = np.arange(6).reshape(2, 3)
for dtype in ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]:
    # Values with a sign, a fraction or an imaginary part where there is one, and both ends of the range.
    array = counts.astype(dtype)
    if dtype[0] in "iu":
        array[0, 0], array[1, 2] = np.iinfo(dtype).min, np.iinfo(dtype).max
    if dtype[0] in "fc":
        array = array / np.array(-2, dtype)
    if dtype[0] == "c":
        array = array + np.array(0.25j, dtype)
    assert array.dtype == np.dtype(dtype)
    save(f"{dtype}-rows", array)
    save(f"{dtype}-columns-swapped", np.asfortranarray(array).astype(array.dtype.newbyteorder(">"), order="F"))
save("b1", counts % 2 == 1)
save("bf16", (counts / 2).astype(ml_dtypes.bfloat16))
save("scalar", np.array(2.5))
save("empty", np.zeros((0, 3), "f4"))
save("four-dims", np.arange(24, dtype="i4").reshape(2, 3, 1, 4))
save("version-2", counts.astype("f4"), (2, 0))
save("version-3", counts.astype("f4"), (3, 0))
save("objects", np.array([None, "a"], dtype=object))
save("strings", np.array(["a", "bc"]))
save("times", np.array([1, 2], "datetime64[s]"))
save("records", np.zeros(2, dtype=[("x", "f4"), ("y", "i4")]))
save("longdouble", np.array([1.0], "f16"))

with open(here / "made-with.txt", "w") as file:
    file.write(f"python make.py, with Python {sys.version.split()[0]}, numpy {np.__version__}, ml_dtypes {ml_dtypes.__version__}\n")
