"""Small files of Python's safetensors and of NumPy's savez, for test-safetensors.R and test-npz.R.

Run by hand: python make.py. Versions are in made-with.txt.
"""
import pathlib
import sys

import ml_dtypes
import numpy as np
import safetensors
from safetensors.numpy import save_file

here = pathlib.Path(__file__).parent
counts = np.arange(6).reshape(2, 3)
arrays = {}
for name, dtype in [
    ("i8", "i1"), ("i16", "i2"), ("i32", "i4"), ("i64", "i8"), ("ui8", "u1"), ("ui16", "u2"), ("ui32", "u4"),
    ("ui64", "u8"), ("f16", "f2"), ("f32", "f4"), ("f64", "f8"), ("bf16", ml_dtypes.bfloat16), ("i1", "?"),
    ("c64", "c8"),
]:
    array = counts.astype(dtype)
    if name[0] in "fb":
        array = (array / np.array(-2, array.dtype)).astype(array.dtype)
    if name == "c64":
        array = array * np.array(1 - 0.5j, "c8")
    arrays[name] = array
arrays["layer.0.weight"] = np.arange(24, dtype="f4").reshape(2, 3, 1, 4)
arrays["scalar"] = np.array(2.5)
arrays["empty"] = np.zeros((0, 3), "f4")
arrays["größe"] = np.array([1, 2], "i4")
save_file(arrays, here / "numpy.safetensors", metadata={"format": "np"})
some = {"a": counts.astype("f4"), "b c": np.asfortranarray(counts), "scalar": np.array(2.5)}
np.savez(here / "stored.npz", **some)
np.savez_compressed(here / "deflated.npz", zeros=np.zeros((10, 10)), **some)
versions = f"python {sys.version.split()[0]}, numpy {np.__version__}, safetensors {safetensors.__version__}"
(here / "made-with.txt").write_text(f"{versions}, ml_dtypes {ml_dtypes.__version__}\n")
