//! Traced functions as StableHLO.

use crate::ffi::*;
use crate::guard::{protected, r_string, r_strings, Outcome, Scope};
use crate::info::flag_argument;
use crate::jit;
use crate::trace;
use crate::value::Tensor;
use crate::vector::Bytes;
use anvil_core::error::{Error, Result};
use anvil_core::graph::Value;
use anvil_core::hlo::{self, Mesh, Options, Sharding};
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::ops::{Convert, OpDef};
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::{Aval, Layout, View, ViewMut};
use std::borrow::Cow;

/// Exports a traced function. `donated` is a flag for each input, `mesh` is `list(name, devices)` or `NULL`,
/// `split` the axis that each input is split along, 0 for none, `limits` is `list(elements of constants in the
/// text, whether ambiguous floats are f32)`. Returns `list(text, constants, types of the
/// inputs, types of the outputs, result)`: `constants` are the tensors that became arguments, `result` is the
/// function's result, for its structure.
pub fn stablehlo([graph, donated, mesh, split, limits]: [SEXP; 5], scope: &Scope) -> Outcome {
    let traced = jit::traced(graph)?;
    let narrow = flag_argument("narrow", element(limits, 1))?;
    // SAFETY: the protected slot of a traced function, see `jit::finish`: its constants first, then its result.
    let held = unsafe { R_ExternalPtrProtected(graph) };
    let (captured, result) = (element(held, 0), element(held, 1));
    let tensors = (0..len(captured)).map(|i| known(Tensor::read(element(captured, i))?, narrow, scope));
    let tensors: Vec<Tensor> = tensors.collect::<Outcome<_>>()?;
    let program = match narrow {
        true => Cow::Owned(hlo::narrowed(traced.program()?.as_ref())?),
        false => traced.program()?,
    };
    let bytes: Vec<Bytes> = tensors.iter().map(Tensor::bytes).collect::<Outcome<_>>()?;
    let shapes: Vec<Shape> = tensors.iter().map(Tensor::shape).collect();
    let layouts: Vec<Layout> = shapes.iter().map(Layout::dense).collect();
    let views: Vec<View> = (0..tensors.len())
        .map(|i| View {
            dtype: tensors[i].dtype,
            shape: &shapes[i],
            layout: &layouts[i],
            data: bytes[i].as_slice(),
        })
        .collect();
    let options = Options {
        inline_limit: limit_of(element(limits, 0))?,
        donated: ints(donated).iter().map(|&flag| flag == 1).collect(),
        mesh: if mesh == nil() { None } else { Some(mesh_of(mesh)?) },
        sharding: ints(split)
            .iter()
            .map(|&axis| usize::try_from(axis - 1).ok().map(|i| Sharding { axis: Axis(i) }))
            .collect(),
    };
    let module = hlo::export(&program, &views, &options)?;
    let types = |values: &[Value]| -> Vec<String> {
        // Ambiguity is none outside of anvil: values have the dtypes that they are stored in.
        let stored = |aval: &Aval| Aval::known(aval.dtype, aval.shape.clone()).to_string();
        values.iter().map(|&v| stored(program.aval(v))).collect()
    };
    let text = r_string(&module.text, scope)?;
    let inputs = r_strings(&types(program.inputs()), scope)?;
    let outputs = r_strings(&types(program.outputs()), scope)?;
    // SAFETY: inside `protected`; the list is protected while its elements are made, the strings are kept by
    // the scope.
    let out = protected(|| unsafe {
        let out = Rf_protect(Rf_allocVector(VECSXP, 5));
        let constants = Rf_allocVector(VECSXP, module.arguments.len() as Length);
        SET_VECTOR_ELT(out, 1, constants);
        for (i, &number) in module.arguments.iter().enumerate() {
            SET_VECTOR_ELT(constants, i as Length, tensors[number].object);
        }
        for (slot, x) in [(0, text), (2, inputs), (3, outputs), (4, result)] {
            SET_VECTOR_ELT(out, slot, x);
        }
        Rf_unprotect(1);
        out
    })?;
    Ok(scope.keep(out))
}

/// A captured tensor as one of the known dtype that it has in the program.
fn known(tensor: Tensor, narrow: bool, scope: &Scope) -> Outcome<Tensor> {
    let aval = tensor.aval();
    if aval.ambiguous.is_none() {
        return Ok(tensor);
    }
    let dtype = if narrow { hlo::narrow_dtype(&aval) } else { aval.dtype };
    let to = Aval::known(dtype, aval.shape.clone());
    let (from, layout) = (tensor.bytes()?, Layout::dense(&aval.shape));
    let x = View { dtype: aval.dtype, shape: &aval.shape, layout: &layout, data: from.as_slice() };
    let mut bytes = AlignedBytes::zeroed(to.bytes());
    let out = ViewMut { dtype, shape: &to.shape, data: bytes.as_mut_slice() };
    Convert::known(dtype).eval(&[x], &mut [out]);
    Ok(Tensor::read(trace::new_tensor(&to, bytes.as_slice(), scope)?)?)
}

fn limit_of(x: SEXP) -> Result<usize> {
    if kind(x) != REALSXP || len(x) != 1 {
        return Err(Error::Internal { detail: "a limit that is no number".into() });
    }
    // SAFETY: checked above. Beyond the integers, it is the largest one.
    Ok(unsafe { *REAL(x) } as usize)
}

fn mesh_of(x: SEXP) -> Result<Mesh> {
    let broken = || Error::Internal { detail: "a mesh that is none".into() };
    if kind(x) != VECSXP || len(x) != 2 || kind(element(x, 1)) != INTSXP {
        return Err(broken());
    }
    let devices = ints(element(x, 1)).first().and_then(|&n| usize::try_from(n).ok()).ok_or_else(broken)?;
    Ok(Mesh { name: string(element(x, 0)).ok_or_else(broken)?, devices })
}
