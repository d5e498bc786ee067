#!/usr/bin/env python3
"""Runs a StableHLO program that anvil wrote, on whatever device JAX finds. R and anvil are not needed.

    pip install jax        # or "jax[cuda13]", "jax[tpu]"
    python run_stablehlo.py model.mlir --inputs x.npy y.npy --outputs out

The program is compiled for JAX's default device (JAX_PLATFORMS=cpu chooses another one) and run once. Its results are
written to out/1.npy, out/2.npy and so on, in the order of the list `outputs` of the R object.

Inputs are .npy files in the order of the list `inputs`. Without --inputs those in model.inputs/ are taken, where
nv_write_stablehlo(inputs = ) puts them. Constants that are not part of the text are found in model.constants/.
bfloat16, which NumPy does not have, is stored as two bytes without a type, as the ml_dtypes package does.

A program that was exported with `sharding` needs as many devices as its mesh has. --devices N makes N devices of one
CPU, to try it out; an input is split over the devices as the program says, results are put together again.

Works with jax 0.10 (tested with 0.10.2). Beside JAX's public functions it uses jax.extend, where JAX's developers may
change names, and of XLA's client compile_and_load() and execute_sharded().
"""

import argparse
import os
import re
import sys
import tempfile
import time


class Problem(Exception):
    """Something that the user can mend."""


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", help="the program, model.mlir")
    parser.add_argument("--inputs", nargs="*", metavar="FILE", help="the inputs in order, as .npy files")
    parser.add_argument("--outputs", default="outputs", metavar="FOLDER", help="where results go (outputs)")
    parser.add_argument("--devices", type=int, metavar="N", help="make N devices of one CPU")
    return parser.parse_args()


def numbered(folder):
    """1.npy, 2.npy and so on in a folder, as far as they go; none if it does not exist."""
    paths = []
    while os.path.isfile(path := os.path.join(folder, f"{len(paths) + 1}.npy")):
        paths.append(path)
    return paths


def signature(text):
    """Types of the arguments of main(), as far as its parentheses go: [(shape, dtype)]."""
    import ml_dtypes
    import numpy as np

    dtypes = {
        "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
        "ui8": np.uint8, "ui16": np.uint16, "ui32": np.uint32, "ui64": np.uint64,
        "bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32, "f64": np.float64,
        "complex<f32>": np.complex64, "complex<f64>": np.complex128,
    }
    found = re.search(r"func\.func\s+(public\s+)?@main\(", text)
    if found is None:
        raise Problem("the program has no function main(): is it StableHLO, as nv_write_stablehlo() writes it?")
    depth = 1
    for token in re.finditer(r'"(?:[^"\\]|\\.)*"|[()]', text[found.end():]):
        depth += {"(": 1, ")": -1}.get(token.group(), 0)
        if depth == 0:
            break
    head = text[found.end():found.end() + token.start()]
    types = []
    for sizes, element in re.findall(r"%\w+\s*:\s*tensor<((?:\d+x)*)(\w+(?:<\w+>)?)>", head):
        if element not in dtypes:
            raise Problem(f"the program has an argument of dtype {element}, which NumPy does not have")
        types.append((tuple(int(size) for size in sizes.split("x")[:-1]), np.dtype(dtypes[element])))
    return types


def load(path, what, shape, dtype):
    """An array of this type from a file."""
    import numpy as np

    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise Problem(f"{what} cannot be read from {path}: {error}") from None
    if array.dtype == np.dtype("V2") and dtype.name == "bfloat16":
        array = array.view(dtype)
    if (array.shape, array.dtype) != (shape, dtype):
        raise Problem(
            f"{what} ({path}) is {array.dtype.name} of shape {array.shape}, "
            f"but the program takes {dtype.name} of shape {shape}"
        )
    return array


def layout(sharding, rank, axis):
    """How a value is split over a mesh of one axis: a partition for each dimension."""
    from jax.sharding import PartitionSpec

    tiles = list(sharding.tile_assignment_dimensions)[:rank]
    return PartitionSpec(*(axis if count > 1 else None for count in tiles))


def save(folder, name, array):
    """Writes an array whole or not at all."""
    import numpy as np

    handle, path = tempfile.mkstemp(dir=folder, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.save(file, array)
        os.chmod(path, 0o644)
        os.replace(path, os.path.join(folder, name))
    except BaseException:
        os.unlink(path)
        raise


def main():
    args = arguments()
    try:
        import jax
    except ImportError:
        raise Problem("this Python has no jax: pip install jax") from None
    import numpy as np
    from jax.extend import backend
    from jax.sharding import Mesh, NamedSharding

    # 64 bits are what the program says, not what JAX prefers.
    jax.config.update("jax_enable_x64", True)
    if args.devices is not None:
        if args.devices < 1:
            raise Problem(f"--devices must be at least 1, not {args.devices}")
        jax.config.update("jax_num_cpu_devices", args.devices)
    try:
        with open(args.program, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"the program cannot be read: {error}") from None
    try:
        os.makedirs(args.outputs, exist_ok=True)
    except OSError as error:
        raise Problem(f"the folder of the outputs cannot be made: {error}") from None
    types = signature(text)
    found = re.search(r"mhlo\.num_partitions = (\d+)", text)
    count = int(found.group(1)) if found else 1

    # The last arguments are constants.
    base = os.path.splitext(args.program)[0]
    constants = numbered(base + ".constants")
    inputs = numbered(base + ".inputs") if args.inputs is None else args.inputs
    if len(inputs) + len(constants) != len(types):
        wanted = len(types) - len(constants)
        raise Problem(
            f"the program takes {len(types)} arguments; with {len(constants)} constants in {base}.constants "
            f"that leaves {wanted} inputs, but {len(inputs)} were given"
        )
    whats = [f"input {i + 1}" for i in range(len(inputs))] + [f"constant {i + 1}" for i in range(len(constants))]
    arrays = [load(path, what, *type) for path, what, type in zip(inputs + constants, whats, types)]

    client = backend.get_backend()
    devices = client.local_devices()[:count]
    print(f"device   {devices[0].device_kind} ({client.platform}), {len(devices)} of {client.local_device_count()}")
    if len(devices) < count:
        hint = f"; --devices {count} makes so many of one CPU" if client.platform == "cpu" else ""
        raise Problem(f"the program is for a mesh of {count} devices, but here are {len(devices)}{hint}")
    options = backend.get_compile_options(
        num_replicas=1, num_partitions=count, device_assignment=np.array([[d.id for d in devices]])
    )
    build = options.executable_build_options
    build.use_spmd_partitioning = count > 1
    build.use_shardy_partitioner = "sdy." in text
    start = time.perf_counter()
    try:
        program = client.compile_and_load(text, devices, options)
    except Exception as error:  # the class of XLA's errors has changed its place before
        raise Problem(f"XLA cannot compile the program for {client.platform}:\n{error}") from None
    print(f"compile  {1e3 * (time.perf_counter() - start):.1f} ms")

    axis = "devices"
    mesh = Mesh(np.array(devices), (axis,))
    split = program.get_parameter_shardings() if count > 1 else [None] * len(arrays)
    placed = []
    for array, sharding in zip(arrays, split):
        spec = jax.sharding.PartitionSpec() if sharding is None else layout(sharding, array.ndim, axis)
        placed.append(jax.device_put(array, NamedSharding(mesh, spec)))
    jax.block_until_ready(placed)
    start = time.perf_counter()
    try:
        parts = program.execute_sharded(placed).disassemble_into_single_device_arrays()
        jax.block_until_ready(parts)
    except Exception as error:
        raise Problem(f"the program failed on {client.platform}:\n{error}") from None
    print(f"run      {1e3 * (time.perf_counter() - start):.1f} ms")

    split = program.get_output_shardings() if count > 1 else [None] * len(parts)
    for i, (pieces, sharding) in enumerate(zip(parts, split)):
        array = np.asarray(pieces[0])
        if sharding is not None:
            # A piece is as large as the whole along each dimension that is not split.
            for dim, tiles in enumerate(list(sharding.tile_assignment_dimensions)[: array.ndim]):
                if tiles > 1:
                    array = np.concatenate([np.asarray(piece) for piece in pieces], axis=dim)
        name = f"{i + 1}.npy"
        try:
            save(args.outputs, name, array)
        except OSError as error:
            raise Problem(f"{name} cannot be written: {error}") from None
        print(f"output   {os.path.join(args.outputs, name)}: {array.dtype.name} of shape {array.shape}")


if __name__ == "__main__":
    try:
        main()
    except Problem as problem:
        print(f"{os.path.basename(sys.argv[0])}: {problem}", file=sys.stderr)
        sys.exit(1)
