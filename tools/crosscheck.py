"""Runs StableHLO programs in XLA, for tests/crosscheck.rs: the second opinion on what each op means.

Each line of the standard input asks for one run, with four fields between tabs: a file with the program, a file with the
bytes of its inputs one after the other, the file for those of its outputs, and types of the inputs (`f32:2,3 i1:`).
Elements lie column-major, as anvil has them. With a fifth field, transformations (`jvp:2 vmap:3:101`), JAX transforms
the program, as stablehlo_in_jax.py has it. The answer is one line: `ok`, or `error` and what XLA said, or `absent` and
what JAX cannot transform.

Needs jax (https://pypi.org/project/jax), written for 0.10; nothing else.
"""

import os
import sys

# Rounding after every op, and each op as it is written: rewrites that are only nearly the same (a quotient as a product
# with the reciprocal, a power as products) would be differences that no op of ours has.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_allow_excess_precision=false --xla_backend_optimization_level=0"
)
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import ml_dtypes
import numpy as np
from jaxlib import xla_client
from stablehlo_in_jax import Absent, Program, transformed

jax.config.update("jax_enable_x64", True)

DTYPES = {
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "ui8": np.uint8, "ui16": np.uint16, "ui32": np.uint32, "ui64": np.uint64,
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
    "c64": np.complex64, "c128": np.complex128,
}


def arrays(path, types):
    """The inputs, from a file of their bytes and their types."""
    with open(path, "rb") as file:
        data = file.read()
    out, at = [], 0
    for name, sizes in (each.split(":") for each in types.split()):
        shape = tuple(int(size) for size in sizes.split(",") if size)
        dtype = np.dtype(DTYPES[name])
        count = int(np.prod(shape, dtype=np.int64))
        part = np.frombuffer(data, dtype, count, at)
        out.append(part.reshape(shape, order="F"))
        at += count * dtype.itemsize
    return out


def run(client, devices, options, program, inputs, outputs, types):
    with open(program, "rb") as file:
        executable = client.compile_and_load(file.read(), devices, options)
    given = [jax.device_put(np.ascontiguousarray(x).reshape(x.shape)) for x in arrays(inputs, types)]
    results = executable.execute_sharded(given).disassemble_into_single_device_arrays()
    with open(outputs, "wb") as file:
        for shards in results:
            file.write(np.asarray(shards[0]).tobytes(order="F"))


def run_transformed(program, inputs, outputs, types, words):
    with open(program, "rb") as file:
        f = transformed(Program(file.read()), words)
    try:
        results = f(*[jax.numpy.asarray(x) for x in arrays(inputs, types)])
    except ValueError as error:
        if "Reverse-mode" in str(error):
            raise Absent("reverse mode of a while loop")
        raise
    with open(outputs, "wb") as file:
        for made in results:
            file.write(np.asarray(made).tobytes(order="F"))


def main():
    device = jax.devices()[0]
    devices = xla_client.DeviceList((device,))
    options = xla_client.CompileOptions()
    print("ready", jax.__version__, jax.lib.__version__, flush=True)
    for line in sys.stdin:
        try:
            fields = line.rstrip("\n").split("\t")
            if len(fields) > 4:
                run_transformed(*fields)
            else:
                run(device.client, devices, options, *fields)
            print("ok", flush=True)
        except Absent as what:
            print("absent", what, flush=True)
        except Exception as error:  # whatever XLA cannot do is an answer
            print("error", " ".join(str(error).split())[:2000], flush=True)


if __name__ == "__main__":
    main()
