"""StableHLO programs as functions of JAX, so that JAX itself takes their derivatives and batches.

Each operation is the function of `jax.lax` of the same meaning; loops whose conditions are known, such as those that
count, run as loops of Python, so that reverse mode goes through them. `Absent` is raised for what has no such function.
"""

import re

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp
from jax._src.interpreters import mlir
from jax._src.lib.mlir import ir
from jax._src.lib.mlir.dialects import hlo


class Absent(Exception):
    """An operation without a function here."""


ELEMENTWISE = {
    "add": lax.add, "subtract": lax.sub, "multiply": lax.mul, "divide": lax.div, "maximum": lax.max,
    "minimum": lax.min, "power": lax.pow, "remainder": lax.rem, "atan2": lax.atan2, "and": lax.bitwise_and,
    "or": lax.bitwise_or, "xor": lax.bitwise_xor, "not": lax.bitwise_not, "negate": lax.neg, "abs": lax.abs,
    "sign": lax.sign, "floor": lax.floor, "ceil": lax.ceil, "exponential": lax.exp,
    "exponential_minus_one": lax.expm1, "log": lax.log, "log_plus_one": lax.log1p, "sqrt": lax.sqrt,
    "rsqrt": lax.rsqrt, "cbrt": lax.cbrt, "logistic": lax.logistic, "tanh": lax.tanh, "sine": lax.sin,
    "cosine": lax.cos, "tan": lax.tan, "is_finite": lax.is_finite, "select": lax.select, "clamp": lax.clamp,
    "real": lax.real, "imag": lax.imag, "complex": lax.complex, "shift_left": lax.shift_left,
    "shift_right_logical": lax.shift_right_logical, "shift_right_arithmetic": lax.shift_right_arithmetic,
    "asin": lax.asin, "acos": lax.acos, "atan": lax.atan, "sinh": lax.sinh, "cosh": lax.cosh, "asinh": lax.asinh,
    "acosh": lax.acosh, "atanh": lax.atanh, "erf": lax.erf, "erfc": lax.erfc, "erf_inv": lax.erf_inv,
    "lgamma": lax.lgamma, "digamma": lax.digamma, "polygamma": lax.polygamma, "zeta": lax.zeta, "conj": lax.conj,
    "square": lax.square,
    "round_nearest_even": lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    "round_nearest_afz": lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
}
BOOLEAN = {
    "add": lax.bitwise_or, "multiply": lax.bitwise_and, "maximum": lax.bitwise_or, "minimum": lax.bitwise_and,
}
COMPARE = {"EQ": lax.eq, "NE": lax.ne, "LT": lax.lt, "LE": lax.le, "GT": lax.gt, "GE": lax.ge}
REDUCE = {
    "stablehlo.add": (jnp.sum, lax.add), "stablehlo.multiply": (jnp.prod, lax.mul),
    "stablehlo.maximum": (jnp.max, lax.max), "stablehlo.minimum": (jnp.min, lax.min),
    "stablehlo.and": (jnp.all, lax.bitwise_and), "stablehlo.or": (jnp.any, lax.bitwise_or),
}
SCATTER = {
    "stablehlo.add": lax.scatter_add, "stablehlo.maximum": lax.scatter_max,
    "stablehlo.minimum": lax.scatter_min,
}


def numbers(op, name):
    """An attribute that is a list of numbers."""
    return [int(x) for x in op.attributes[name]]


DTYPES = {
    "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "ui8": "uint8", "ui16": "uint16",
    "ui32": "uint32", "ui64": "uint64", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
    "complex<f32>": "complex64", "complex<f64>": "complex128",
}


def dtype_of(value):
    return jnp.dtype(DTYPES[str(ir.RankedTensorType(value.type).element_type)])


def shape_of(value):
    return tuple(ir.RankedTensorType(value.type).shape)


def operations_of(region):
    return list(region.blocks[0].operations)


def combining(op):
    """The one operation of a function of two elements; None if it gives the second one."""
    *body, end = operations_of(op.regions[0])
    if not body and list(end.operands)[0] == op.regions[0].blocks[0].arguments[1]:
        return None
    if len(body) != 1:
        raise Absent(f"{op.name} by a function")
    return body[0].name


def is_known(x):
    try:
        bool(x)
        return True
    except jax.errors.ConcretizationTypeError:
        return False


class Program:
    """A module, whose `main` is called with a list of arrays and gives one."""

    def __init__(self, text):
        self.context = mlir.make_ir_context()
        with self.context:
            self.module = ir.Module.parse(text)
        self.functions = {ir.StringAttr(f.attributes["sym_name"]).value: f for f in self.module.body.operations}

    def __call__(self, *inputs):
        with self.context:
            return self.block(self.functions["main"].regions[0].blocks[0], inputs, {})

    def block(self, block, inputs, outside):
        """Runs a block; it reads values of the blocks around it."""
        values = dict(outside)
        values.update(zip(block.arguments, inputs))
        for op in block.operations:
            operands = [values[x] for x in op.operands]
            name = op.operation.name
            if name in ("stablehlo.return", "func.return"):
                return operands
            made = self.operation(op.operation, name.split(".")[1], operands, values)
            values.update(zip(op.results, made if isinstance(made, (list, tuple)) else [made]))
        raise Absent("a block without an end")

    def operation(self, op, name, x, values):
        if name in BOOLEAN and x[0].dtype == bool:
            return BOOLEAN[name](*x)
        if name in ELEMENTWISE:
            if name == "select" and x[0].ndim == 0 < x[1].ndim:
                x = [lax.broadcast(x[0], x[1].shape), *x[1:]]
            return ELEMENTWISE[name](*x)
        if not hasattr(self, name):
            raise Absent(op.name)
        return getattr(self, name)(op, x, values)

    # ---- what has parameters ----

    def constant(self, op, x, values):
        shape, dtype = shape_of(op.results[0]), np.dtype(dtype_of(op.results[0]))
        if dtype.kind == "c":
            # Those have no class in Python: the numbers are read from the text.
            return jnp.asarray(complex_numbers(str(op), shape, dtype))
        value = ir.DenseElementsAttr(op.attributes["value"])
        if value.is_splat:
            element = value.get_splat_value()
            read = ir.FloatAttr if dtype.kind == "f" else ir.BoolAttr if dtype.kind == "b" else ir.IntegerAttr
            return jnp.full(shape, read(element).value, dtype)
        if dtype.kind == "b":
            return jnp.asarray(np.array([bool(e) for e in ir.DenseIntElementsAttr(value)], bool).reshape(shape))
        return jnp.asarray(np.array(value).astype(dtype).reshape(shape))

    def iota(self, op, x, values):
        axis = int(ir.IntegerAttr(op.attributes["iota_dimension"]).value)
        return lax.broadcasted_iota(dtype_of(op.results[0]), shape_of(op.results[0]), axis)

    def compare(self, op, x, values):
        how = str(op.attributes["comparison_direction"]).split()[-1].rstrip(">")
        if np.dtype(x[0].dtype).kind == "c":
            raise Absent("a comparison of complex numbers")
        return COMPARE[how](*x)

    def convert(self, op, x, values):
        to = np.dtype(dtype_of(op.results[0]))
        if np.dtype(x[0].dtype).kind == "c" and to.kind != "c":
            return lax.convert_element_type(lax.real(x[0]), to)
        return lax.convert_element_type(x[0], to)

    def bitcast_convert(self, op, x, values):
        return lax.bitcast_convert_type(x[0], dtype_of(op.results[0]))

    def reshape(self, op, x, values):
        return lax.reshape(x[0], shape_of(op.results[0]))

    def transpose(self, op, x, values):
        return lax.transpose(x[0], numbers(op, "permutation"))

    def broadcast_in_dim(self, op, x, values):
        axes = numbers(op, "broadcast_dimensions")
        # Those of JAX increase.
        order = sorted(range(len(axes)), key=axes.__getitem__)
        return lax.broadcast_in_dim(lax.transpose(x[0], order), shape_of(op.results[0]), sorted(axes))

    def concatenate(self, op, x, values):
        return lax.concatenate(x, int(ir.IntegerAttr(op.attributes["dimension"]).value))

    def reverse(self, op, x, values):
        return lax.rev(x[0], numbers(op, "dimensions"))

    def slice(self, op, x, values):
        return lax.slice(x[0], *(numbers(op, name) for name in ("start_indices", "limit_indices", "strides")))

    def pad(self, op, x, values):
        low, high, inner = (
            numbers(op, name) for name in ("edge_padding_low", "edge_padding_high", "interior_padding")
        )
        return lax.pad(x[0], x[1], list(zip(low, high, inner)))

    def dynamic_slice(self, op, x, values):
        return lax.dynamic_slice(x[0], x[1:], numbers(op, "slice_sizes"))

    def dynamic_update_slice(self, op, x, values):
        return lax.dynamic_update_slice(x[0], x[1], x[2:])

    def reduce(self, op, x, values):
        name = combining(op)
        if len(x) != 2 or name not in REDUCE:
            raise Absent("a reduction by a function")
        fold, step = REDUCE[name]
        axes = tuple(numbers(op, "dimensions"))
        if any(x[0].shape[axis] == 0 for axis in axes):
            return lax.broadcast(x[1], shape_of(op.results[0]))
        return step(fold(x[0], axis=axes).astype(x[0].dtype), lax.broadcast(x[1], shape_of(op.results[0])))

    def dot_general(self, op, x, values):
        d = hlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
        contracting = (d.lhs_contracting_dimensions, d.rhs_contracting_dimensions)
        batching = (d.lhs_batching_dimensions, d.rhs_batching_dimensions)
        return lax.dot_general(x[0], x[1], (contracting, batching), precision=lax.Precision.HIGHEST)

    def gather(self, op, x, values):
        d = hlo.GatherDimensionNumbers(op.attributes["dimension_numbers"])
        if not d.start_index_map and not d.operand_batching_dims:
            # Windows at 0. JAX's transpose of that gather is a scatter into a 0-d value, which XLA's verifier refuses
            # for complex numbers ("Expected instruction to have shape equal to c128[3], actual shape is c128[]").
            sizes = numbers(op, "slice_sizes")
            window = lax.slice(x[0], [0] * len(sizes), sizes)
            window = lax.squeeze(window, tuple(d.collapsed_slice_dims))
            return lax.broadcast_in_dim(window, shape_of(op.results[0]), tuple(d.offset_dims))
        shape = list(x[1].shape)
        indices = x[1] if d.index_vector_dim == len(shape) - 1 else None
        if d.index_vector_dim == len(shape):
            indices = lax.reshape(x[1], [*shape, 1])
        elif indices is None:
            indices = jnp.moveaxis(x[1], d.index_vector_dim, -1)
        dimensions = lax.GatherDimensionNumbers(
            offset_dims=tuple(d.offset_dims), collapsed_slice_dims=tuple(d.collapsed_slice_dims),
            start_index_map=tuple(d.start_index_map), operand_batching_dims=tuple(d.operand_batching_dims),
            start_indices_batching_dims=tuple(d.start_indices_batching_dims),
        )
        return lax.gather(x[0], indices, dimensions, numbers(op, "slice_sizes"), mode=lax.GatherScatterMode.CLIP)

    def scatter(self, op, x, values):
        if len(x) != 3:
            raise Absent("a scatter of several values")
        d = hlo.ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])
        name = combining(op)
        if name is not None and name not in SCATTER:
            raise Absent(f"a scatter by {name}")
        shape = list(x[1].shape)
        if d.index_vector_dim == len(shape):
            indices = lax.reshape(x[1], [*shape, 1])
        else:
            indices = jnp.moveaxis(x[1], d.index_vector_dim, -1)
        dimensions = lax.ScatterDimensionNumbers(
            update_window_dims=tuple(d.update_window_dims), inserted_window_dims=tuple(d.inserted_window_dims),
            scatter_dims_to_operand_dims=tuple(d.scattered_dims_to_operand_dims),
            operand_batching_dims=tuple(d.input_batching_dims),
            scatter_indices_batching_dims=tuple(d.scatter_indices_batching_dims),
        )
        scatter = SCATTER[name] if name else lax.scatter
        return scatter(x[0], indices, x[2], dimensions, mode=lax.GatherScatterMode.FILL_OR_DROP)

    def cholesky(self, op, x, values):
        return lax.linalg.cholesky(x[0], symmetrize_input=False)

    def triangular_solve(self, op, x, values):
        transpose = str(op.attributes["transpose_a"])
        flags = {name: bool(ir.BoolAttr(op.attributes[name]).value) for name in ("left_side", "lower", "unit_diagonal")}
        return lax.linalg.triangular_solve(
            *x, transpose_a="NO_TRANSPOSE" not in transpose, conjugate_a="ADJOINT" in transpose, **flags
        )

    # ---- what runs other blocks ----

    def call(self, op, x, values):
        name = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
        return self.block(self.functions[name].regions[0].blocks[0], x, {})

    def case(self, op, x, values):
        branches = [region.blocks[0] for region in op.regions]
        if is_known(x[0] == 0):
            chosen = int(x[0])
            return self.block(branches[chosen if 0 <= chosen < len(branches) else -1], [], values)
        run = [lambda block=block: self.block(block, [], values) for block in branches]
        index = jnp.where((x[0] < 0) | (x[0] >= len(run)), len(run) - 1, x[0])
        return lax.switch(index, run)

    def __getattr__(self, name):
        # `if` and `while` are words of Python.
        if name == "if":
            return self.branch
        if name == "while":
            return self.loop
        raise AttributeError(name)

    def branch(self, op, x, values):
        yes, no = (region.blocks[0] for region in op.regions)
        if is_known(x[0]):
            return self.block(yes if x[0] else no, [], values)
        return lax.cond(x[0], lambda: self.block(yes, [], values), lambda: self.block(no, [], values))

    def loop(self, op, x, values):
        test, body = (region.blocks[0] for region in op.regions)
        goes_on = lambda state: self.block(test, state, values)[0]
        steps = 0
        while is_known(more := goes_on(x)):
            if not more:
                return x
            x = self.block(body, x, values)
            steps += 1
            if steps > 10000:
                raise Absent("a long loop")
        return lax.while_loop(goes_on, lambda state: self.block(body, state, values), list(x))


def complex_numbers(text, shape, dtype):
    """The numbers of `dense<(1.0, 2.0)>`, which may be a list of them."""
    pairs = re.findall(r"\(([^,()]+),([^,()]+)\)", text)
    x = np.array([complex(float_of(re_, dtype), float_of(im, dtype)) for re_, im in pairs], dtype)
    return np.full(shape, x[0]) if x.size == 1 else x.reshape(shape)


def float_of(text, dtype):
    """A number, or the bits of one."""
    if not text.strip().startswith("0x"):
        return float(text)
    part = "<f8" if dtype == np.complex128 else "<f4"
    return float(np.array(int(text, 16), part.replace("f", "u")).view(part))


# ---- transformations ----


def is_float(x):
    return np.issubdtype(np.dtype(x.dtype), np.inexact)


def of_floats(f, x):
    """The function of the inputs that are floats alone, to the outputs that are, and these inputs."""
    chosen = [i for i, value in enumerate(x) if is_float(value)]

    def only(*floats):
        given = list(x)
        for i, value in zip(chosen, floats):
            given[i] = value
        return [y for y in f(*given) if is_float(y)]

    return only, [x[i] for i in chosen]


def jvp(f, count):
    """From `count` inputs and tangents of the floats among them to tangents of the outputs that are floats."""

    def pushed(*x):
        only, primals = of_floats(f, x[:count])
        return jax.jvp(only, primals, list(x[count:]))[1]

    return pushed


def vjp(f, count):
    """From `count` inputs and gradients of the outputs that are floats to gradients of the inputs that are."""

    def pulled(*x):
        only, primals = of_floats(f, x[:count])
        return list(jax.vjp(only, *primals)[1](list(x[count:])))

    return pulled


def vmap(f, size, marks):
    """The batch axis is the last one of marked inputs, and of all outputs."""
    axes = tuple(-1 if mark == "1" else None for mark in marks)
    return jax.vmap(f, in_axes=axes, out_axes=-1, axis_size=int(size))


def transformed(f, words):
    """The function after transformations, the first one first: `jvp:2 vmap:3:101`."""
    for name, *parameters in (word.split(":") for word in words.split()):
        if name == "vmap":
            f = vmap(f, *parameters)
        else:
            f = {"jvp": jvp, "vjp": vjp}[name](f, int(parameters[0]))
    return f
