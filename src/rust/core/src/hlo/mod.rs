//! Export to StableHLO: MLIR text that other compilers read.
//!
//! Each op states its lowering ([`Op::lower`](crate::ops::OpDef::lower)). The pass [`legalize`] replaces ops
//! that have no operation of StableHLO by `formulas` of ops that have one, so that the interpreter can run
//! what is exported; then a walk over the graph writes the text. Promotion is explicit in every graph, and
//! derivatives, random bits and loops are ops like all others. Layouts do not appear in the text: values are
//! in row-major order there, whatever their strides are here.

mod constants;
mod formulas;
mod legalize;
mod narrow;
mod text;

pub use legalize::legalize;
pub use narrow::{narrow_dtype, narrowed};

use crate::error::{Error, Result};
use crate::growth::Text;
use crate::ops::Graph;
use crate::passes::{input_output_aliases, optimise};
use crate::shape::Axis;
use crate::tensor::{Aval, View};
use std::fmt::Write;

/// A 1-d mesh of devices, which values are sharded over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mesh {
    /// Name of its axis.
    pub name: String,
    /// Number of devices.
    pub devices: usize,
}

/// The sharding of an input: it is split along an axis, one shard for each device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sharding {
    /// The axis that is split.
    pub axis: Axis,
}

/// Options of the export.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Captured tensors of more elements than this become arguments, unless all their elements are the same.
    pub inline_limit: usize,
    /// For each input, whether its memory may be reused; inputs beyond the end are kept.
    pub donated: Vec<bool>,
    /// The devices, if there is more than one.
    pub mesh: Option<Mesh>,
    /// For each input, its sharding; `None`, and inputs beyond the end, are replicated.
    pub sharding: Vec<Option<Sharding>>,
}

impl Default for Options {
    fn default() -> Options {
        Options { inline_limit: 64, donated: vec![], mesh: None, sharding: vec![] }
    }
}

/// An exported program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Module {
    /// The text: one module with one public function, `@main`.
    pub text: String,
    /// Numbers of the graph's constants that became arguments, in order, after the inputs.
    pub arguments: Vec<usize>,
}

/// Exports a program. `constants` are the captured tensors, in the order of [`Graph::constants`], of any
/// layout.
///
/// The function takes the inputs, then the constants that [`Module::arguments`] names, and returns the
/// outputs, all row-major. A donated input that aliases an output has the attribute `tf.aliasing_output`; on
/// a mesh, where the sharding of outputs is not known, it has `jax.buffer_donor`.
///
/// # Errors
/// [`Error::Export`] for a program that prints; [`Error::Mesh`] if a size is no multiple of the number of
/// devices; [`Error::AxisOutOfRange`] for an axis that an input does not have; [`Error::Arg`] for a
/// sharding without a mesh or a mesh without devices; [`Error::Internal`] if constants do not fit the graph.
pub fn export(graph: &Graph, constants: &[View], options: &Options) -> Result<Module> {
    check_constants(graph, constants)?;
    let avals: Vec<&Aval> = graph.inputs().iter().map(|&v| graph.aval(v)).collect();
    check_mesh(&avals, options)?;
    let graph = optimise(graph)?;
    let plain = legalize(&graph)?;

    let donated: Vec<usize> = (0..avals.len()).filter(|&i| options.donated.get(i) == Some(&true)).collect();
    let mut aliases = vec![None; avals.len()];
    for (output, input) in input_output_aliases(&graph, &donated).into_iter().enumerate() {
        if let Some(input) = input {
            aliases[input] = Some(output);
        }
    }
    let mut attributes = vec![String::new(); avals.len()];
    for (i, text) in attributes.iter_mut().enumerate() {
        *text = argument_attributes(avals[i].shape.rank(), i, aliases[i], options);
    }

    let mut writer = text::Writer::default();
    let (body, arguments) = writer.function(&plain, constants, &attributes, options)?;
    let mut text = Text::default();
    match &options.mesh {
        Some(mesh) => {
            let Mesh { name, devices } = mesh;
            let _ = writeln!(text, "module @anvil attributes {{mhlo.num_partitions = {devices} : i32, mhlo.num_replicas = 1 : i32}} {{");
            let _ = writeln!(text, "  sdy.mesh @mesh = <[{}={devices}]>", quoted(name));
        }
        None => text.append("module @anvil {\n"),
    }
    text.append(&body);
    text.append("}\n");
    Ok(Module { text: text.into_string(), arguments })
}

fn check_constants(graph: &Graph, constants: &[View]) -> Result<()> {
    let fits = |(v, x): (&crate::graph::Value, &View)| {
        let aval = graph.aval(*v);
        aval.dtype == x.dtype && aval.shape == *x.shape
    };
    if constants.len() == graph.constants().len() && graph.constants().iter().zip(constants).all(fits) {
        return Ok(());
    }
    Err(Error::Internal { detail: "the captured tensors do not fit the graph".into() })
}

fn check_mesh(avals: &[&Aval], options: &Options) -> Result<()> {
    let sharded = |&i: &usize| options.sharding.get(i).copied().flatten().map(|s| (i, s.axis));
    let Some(mesh) = &options.mesh else {
        return match (0..avals.len()).find_map(|i| sharded(&i)) {
            Some(_) => {
                Err(Error::arg("mesh", "a device mesh, since an argument is cut along an axis", "NULL"))
            }
            None => Ok(()),
        };
    };
    if mesh.devices == 0 {
        return Err(Error::arg("mesh", "a mesh of at least one device", "none"));
    }
    for (i, axis) in (0..avals.len()).filter_map(|i| sharded(&i)) {
        let shape = &avals[i].shape;
        let Some(&size) = shape.get(axis.0) else {
            let got = i64::try_from(axis.one_based()).unwrap_or(i64::MAX);
            return Err(Error::AxisOutOfRange { op: "stablehlo".into(), got, shape: shape.clone() });
        };
        if size % mesh.devices != 0 {
            return Err(Error::Mesh { input: i + 1, axis, size, devices: mesh.devices });
        }
    }
    Ok(())
}

/// The attributes of an input in the function's signature, in braces; empty if there are none.
fn argument_attributes(rank: usize, input: usize, alias: Option<usize>, options: &Options) -> String {
    let mut attributes = Vec::new();
    match (alias, &options.mesh) {
        (Some(output), None) => attributes.push(format!("tf.aliasing_output = {output} : i32")),
        (Some(_), Some(_)) => attributes.push("jax.buffer_donor = true".to_string()),
        (None, _) => {}
    }
    if let Some(mesh) = &options.mesh {
        let cut = options.sharding.get(input).copied().flatten().map(|s| s.axis.0);
        attributes.push(sharding_attribute(rank, cut, mesh));
    }
    if attributes.is_empty() {
        String::new()
    } else {
        format!(" {{{}}}", attributes.join(", "))
    }
}

/// The sharding of a value, in Shardy's dialect.
fn sharding_attribute(rank: usize, cut: Option<usize>, mesh: &Mesh) -> String {
    let axis =
        |i: usize| if cut == Some(i) { format!("{{{}}}", quoted(&mesh.name)) } else { "{}".to_string() };
    let axes: Vec<String> = (0..rank).map(axis).collect();
    format!("sdy.sharding = #sdy.sharding<@mesh, [{}]>", axes.join(", "))
}

/// A string of MLIR: characters other than letters, digits and plain signs are written by their bytes.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' | 0..=31 | 127.. => {
                let _ = write!(out, "\\{byte:02X}");
            }
            _ => out.push(char::from(byte)),
        }
    }
    out.push('"');
    out
}
