//! Programs as StableHLO: compositions mean what their ops mean, and the text is what it should be.

mod common;
#[path = "common/exported.rs"]
mod exported;
#[path = "common/rows.rs"]
mod row_programs;
mod writer;

use anvil_core::dtype::DType;
use anvil_core::error::Error;
use anvil_core::exec::reference;
use anvil_core::hlo::{export, legalize, Mesh, Options, Sharding};
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::ops::{
    rows, Binary, BroadcastInDim, Builder, Compare, Convert, Graph, If, Op, Print, Scan, Spelled, Spelling, Transpose, Unary,
    While,
};
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::{Aval, Layout, Literal, View};
use common::{random_tensor, Rng};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Random tensors for the inputs of a graph, and for its constants.
fn tensors(rng: &mut Rng, graph: &Graph) -> [Vec<AlignedBytes>; 2] {
    [graph.inputs(), graph.constants()].map(|values| values.iter().map(|&v| random_tensor(rng, graph.aval(v))).collect())
}

fn slices(tensors: &[AlignedBytes]) -> Vec<&[u8]> {
    tensors.iter().map(|x| x.as_slice()).collect()
}

/// Writes programs to the folder that `ANVIL_HLO_FOLDER` names: one of each row and dtype, and random ones.
#[test]
#[ignore = "writes files for a check with another compiler"]
fn write_programs() {
    let folder = std::env::var("ANVIL_HLO_FOLDER").expect("ANVIL_HLO_FOLDER names a folder");
    let folder = std::path::Path::new(&folder);
    let mut rng = Rng::new(1);
    for program in row_programs::programs() {
        let [inputs, constants] = tensors(&mut rng, &program.graph);
        let (inputs, constants) = (slices(&inputs), slices(&constants));
        exported::write(folder, &program.name, &program.graph, &inputs, &constants, &Options::default())
            .unwrap_or_else(|e| panic!("{}: {e}", program.name));
    }
    let names: Vec<(&str, usize)> = writer_names();
    for seed in 1..=3_500u64 {
        let mut writer = writer::Writer::new(seed);
        writer.depth = 2;
        for _ in 0..2 + writer.rng.below(14) {
            writer.step(&names);
        }
        if seed % 3 == 0 {
            writer.control(&names);
        }
        let outputs = writer.outputs();
        let writer::Writer { mut rng, b, .. } = writer;
        let graph = b.finish(outputs);
        let [inputs, constants] = tensors(&mut rng, &graph);
        let (inputs, constants) = (slices(&inputs), slices(&constants));
        let donated = (0..inputs.len()).map(|_| rng.one_in(2)).collect();
        let options = Options { inline_limit: rng.below(40), donated, ..Options::default() };
        exported::write(folder, &format!("random-{seed}"), &graph, &inputs, &constants, &options)
            .unwrap_or_else(|e| panic!("{seed}: {e}\n{graph}"));
    }
}

/// Names of the ops that random programs are made of; none that prints.
fn writer_names() -> Vec<(&'static str, usize)> {
    let mut names: Vec<(&'static str, usize)> =
        anvil_core::ops::rows().map(|row| (row.name, row.operands.len())).collect();
    names.retain(|(name, _)| !["if", "while", "scan", "custom_gradient", "print"].contains(name));
    names.extend(["promote", "broadcast", "matmul", "runif", "rnorm", "rbinom", "sample_int", "split_state"].map(|name| (name, 1)));
    for name in ["reshape", "transpose", "convert", "gather", "scatter", "matmul", "dot_general", "pad"] {
        names.extend([(name, 1); 4]);
    }
    names
}

// ---- compositions --------------------------------------------------------------------------------------------------

/// Distances that compositions may have from their ops, in units in the last place of f32 and f64: those that are no
/// rounding of the same number. All others give the same bits.
const ULP: &[(&str, f64)] = &[
    ("acosh", 8.0),
    ("atanh", 8.0),
    ("cosh", 4.0),
    ("digamma", 8.0),
    ("erf_inv", 8.0),
    ("erfc", 4.0),
    ("lgamma", 8.0),
    ("log10", 3.0),
    ("log1p", 4.0),
    ("log2", 3.0),
    ("sinh", 4.0),
    ("cos", 8.0),
    ("exp", 8.0),
    ("sin", 8.0),
    ("reduce_sum", 0.0),
    ("reduce_prod", 0.0),
    ("dot_general", 0.0),
];

fn floats(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    match dtype {
        DType::BF16 => bytes.chunks(2).map(|x| half::bf16::from_le_bytes([x[0], x[1]]).into()).collect(),
        DType::F16 => bytes.chunks(2).map(|x| half::f16::from_le_bytes([x[0], x[1]]).into()).collect(),
        DType::F32 => bytes.chunks(4).map(|x| f32::from_le_bytes(x.try_into().expect("4 bytes")).into()).collect(),
        _ => bytes.chunks(8).map(|x| f64::from_le_bytes(x.try_into().expect("8 bytes"))).collect(),
    }
}

/// Distance of neighbours of a size.
fn ulp(dtype: DType, size: f64) -> f64 {
    let (digits, smallest) = match dtype {
        DType::BF16 => (8, f64::from(f32::MIN_POSITIVE)),
        DType::F16 => (11, 2f64.powi(-14)),
        DType::F32 => (24, f64::from(f32::MIN_POSITIVE)),
        _ => (53, f64::MIN_POSITIVE),
    };
    let size = size.max(smallest);
    2f64.powi(size.log2().floor() as i32 + 1 - digits)
}

/// How two results differ by more than `bound` units in the last place, of the absolute value for complex numbers.
fn difference(aval: &Aval, got: &[u8], want: &[u8], bound: f64) -> Option<String> {
    let part = aval.dtype.part();
    if bound == 0.0 || !part.is_float() {
        return common::first_difference(aval.dtype, got, want);
    }
    let (got, want) = (floats(part, got), floats(part, want));
    let group = if aval.dtype.is_complex() { 2 } else { 1 };
    for (i, (g, w)) in got.chunks(group).zip(want.chunks(group)).enumerate() {
        let size = w.iter().map(|x| x.abs()).filter(|x| x.is_finite()).fold(0.0, f64::max);
        for (&g, &w) in g.iter().zip(w) {
            let same = g == w && (g != 0.0 || g.is_sign_negative() == w.is_sign_negative()) || g.is_nan() && w.is_nan();
            if !same && ((g - w).abs() > bound * ulp(part, size) || g.is_nan() != w.is_nan() || g == w) {
                return Some(format!("element {i}: {g:e} is not {w:e}"));
            }
        }
    }
    None
}

#[test]
fn compositions_mean_what_their_ops_mean() {
    let mut rng = Rng::new(7);
    let (mut found, mut composed) = (BTreeSet::new(), BTreeSet::new());
    for program in row_programs::programs() {
        let plain = legalize(&program.graph).unwrap_or_else(|e| panic!("{}: {e}", program.name));
        plain.verify().unwrap_or_else(|e| panic!("{}: {e}", program.name));
        if plain.nodes().len() != 1 {
            composed.insert(program.row);
        }
        for _ in 0..3 {
            let [inputs, _] = tensors(&mut rng, &program.graph);
            let inputs = slices(&inputs);
            let want = reference::evaluate(&program.graph, &inputs, &[]);
            let got = reference::evaluate(&plain, &inputs, &[]);
            let bound = ULP.iter().find(|(name, _)| *name == program.row).map_or(0.0, |(_, bound)| *bound);
            for (&v, (got, want)) in program.graph.outputs().iter().zip(got.iter().zip(&want)) {
                let aval = program.graph.aval(v);
                if let Some(what) = difference(aval, got, want, bound) {
                    found.insert(format!("{}: {what}", program.name));
                }
            }
        }
    }
    assert!(found.is_empty(), "{} differ:\n{}", found.len(), found.into_iter().collect::<Vec<_>>().join("\n"));
    for name in ["scan", "rng_bits", "mod", "log2", "is_nan", "custom_gradient", "gather", "scatter", "bitcast_convert"] {
        assert!(composed.contains(name), "{name} in {composed:?}");
    }
}
