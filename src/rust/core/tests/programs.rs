//! Random programs, written as a user would write them: the optimised plan gives the same bits as the
//! reference interpreter on the traced graph, with and without donated inputs.

mod common;
mod writer;

use anvil_core::exec::reference::evaluate;
use anvil_core::graph::{Operation, Value};
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::ops::attrs::{Attr, Attrs};
use anvil_core::ops::{rows, Graph};
use anvil_core::passes::{input_output_aliases, parts};
use anvil_core::tensor::Literal;
use common::{disagreement, random_tensor, Rng};
use std::collections::{BTreeMap, BTreeSet};
use writer::Writer;

/// Programs that are tried.
const PROGRAMS: u64 = 20_000;

/// Programs with branches and loops that are tried.
const PROGRAMS_WITH_REGIONS: u64 = 4_000;

/// Names that `apply` knows beside the rows of the catalogue.
const COMPOSED: [&str; 22] = [
    "stored",
    "promote",
    "broadcast_scalars",
    "broadcast",
    "matmul",
    "identity",
    "rng_state",
    "split_state",
    "runif",
    "rnorm",
    "rbinom",
    "sample_int",
    "rank_of",
    "argmax",
    "argmin",
    "median",
    "quantile",
    "search_sorted",
    "isin",
    "which",
    "unique",
    "count_unique",
];

/// All ops without regions; those that move elements are few in the catalogue, and where plans go wrong.
fn all_names() -> Vec<(&'static str, usize)> {
    let mut names: Vec<(&'static str, usize)> = rows().map(|row| (row.name, row.operands.len())).collect();
    names.retain(|(name, _)| {
        !["if", "while", "scan", "custom_gradient", "custom_jvp", "callback"].contains(name)
    });
    names.extend(COMPOSED.map(|name| (name, 1)));
    for name in
        ["reshape", "transpose", "broadcast_in_dim", "concatenate", "convert", "matmul", "dot_general"]
    {
        names.extend([(name, 1); 6]);
    }
    for name in ["static_slice", "reverse", "pad", "gather", "scatter"] {
        names.extend([(name, 1); 4]);
    }
    names
}

/// Fails if a program and the reference differ; gives how many inputs it gave away.
fn assert_agrees(seed: u64, writer: Writer, outputs: Vec<Value>) -> usize {
    let Writer { mut rng, b, .. } = writer;
    let graph = b.finish(outputs);
    // Outer products of large inputs may be larger than memory.
    if graph.values().any(|v| graph.aval(v).shape.size() > 1 << 24) {
        return 0;
    }
    let tensors = |rng: &mut Rng, values: &[Value]| -> Vec<AlignedBytes> {
        values.iter().map(|&v| random_tensor(rng, graph.aval(v))).collect()
    };
    let (inputs, constants) = (tensors(&mut rng, graph.inputs()), tensors(&mut rng, graph.constants()));
    let mut donated: Vec<usize> = (0..inputs.len()).filter(|_| !rng.one_in(3)).collect();
    rng.shuffle(&mut donated);
    if let Some(what) = disagreement(&graph, &inputs, &constants, &donated) {
        panic!("seed {seed}: {what}\nThe program as traced:\n{graph}");
    }
    let executable = anvil_core::exec::Executable::compile(&graph, &donated).unwrap();
    // Values are short here: those that are cut into pieces are long elsewhere.
    let parted = parts(executable.graph(), 2).unwrap();
    // What the first run keeps is given to no other.
    let is_whole = executable.graph().constants().len() == constants.len();
    if let Some(parted) = parted.filter(|_| is_whole) {
        let [inputs, constants] =
            [&inputs, &constants].map(|all| all.iter().map(|x| x.as_slice()).collect::<Vec<_>>());
        let of = |graph: &Graph| evaluate(graph, &inputs, &constants).map_err(|e| e.to_string());
        let (before, after) = (of(executable.graph()), of(&parted));
        assert!(before == after, "seed {seed}: other results in pieces\n{}\n{parted}", executable.graph());
    }
    let given: Vec<usize> = executable.donations().iter().flatten().copied().collect();
    assert_eq!(given.len(), given.iter().collect::<BTreeSet<_>>().len(), "seed {seed}: given away twice");
    // The analysis for exported programs says the same of the graph that is planned: one whose short branches
    // are selections, of which some are an input as it is.
    let aliases = input_output_aliases(executable.graph(), &donated);
    let exported: BTreeSet<usize> = aliases.into_iter().flatten().collect();
    assert_eq!(exported, given.iter().copied().collect(), "seed {seed}\n{graph}");
    given.len()
}

#[test]
fn random_programs_agree_with_the_reference() {
    let mut names = all_names();
    let mut applied: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut donations, mut programs, mut by_function) = (0, 0, 0);
    for seed in 1..=PROGRAMS {
        let mut writer = Writer::new(seed);
        for _ in 0..2 + writer.rng.below(30) {
            if let Some(name) = writer.step(&names) {
                *applied.entry(name).or_default() += 1;
            }
        }
        let nodes = writer.b.graph().nodes();
        by_function +=
            nodes.iter().filter(|node| node.op.name() == "scatter" && node.op.has_regions()).count();
        let outputs = writer.outputs();
        donations += assert_agrees(seed, writer, outputs);
        programs += 1;
    }
    // The numbers say that the programs are worth something.
    names.extend([("subset", 1), ("subset_assign", 1)]);
    let missing: Vec<_> = names.iter().filter(|(name, _)| !applied.contains_key(name)).collect();
    assert!(missing.is_empty(), "never applied: {missing:?}");
    let total: usize = applied.values().sum();
    assert!(programs >= 500 && total > 10 * programs && donations > 2000, "{programs} {total} {donations}");
    assert!(by_function > 2000, "{by_function}");
}

#[test]
fn random_programs_with_branches_and_loops_agree_with_the_reference() {
    let names = all_names();
    let (mut counts, mut nested, mut donations) = (BTreeMap::<&str, usize>::new(), 0, 0);
    for seed in 1..=PROGRAMS_WITH_REGIONS {
        let mut writer = Writer::new(seed);
        writer.depth = 2;
        for _ in 0..2 + writer.rng.below(12) {
            writer.step(&names);
        }
        writer.control(&names);
        for node in writer.b.graph().nodes() {
            let regions = node.op.regions();
            *counts.entry(node.op.name()).or_default() += usize::from(!regions.is_empty());
            nested += regions.iter().flat_map(|(_, r)| r.nodes()).filter(|n| n.op.has_regions()).count();
        }
        let outputs = writer.outputs();
        donations += assert_agrees(seed, writer, outputs);
    }
    let often = |name| counts[name] > 1500;
    assert!(["if", "while", "scan", "custom_gradient"].into_iter().all(often), "{counts:?}");
    assert!(nested > 1500 && donations > 1500, "{nested} {donations}");
}

/// A parameter as a careless caller might give it.
fn careless(rng: &mut Rng) -> Attr {
    let number = |rng: &mut Rng| {
        *rng.choose(&[1.0, 2.0, 3.0, 0.0, -1.0, 1.5, 7.0, f64::NAN, f64::INFINITY, 1e15, 1e300])
    };
    match rng.below(8) {
        0 => Attr::Null,
        1 => Attr::Logical(rng.one_in(2)),
        2 => Attr::Text(rng.choose(&["row", "f32", "i1", "ui64", "", "é"]).to_string()),
        3 => Attr::Literal(Literal::new(2.5f64), None),
        4 => Attr::List((0..rng.below(4)).map(|_| careless(rng)).collect()),
        5 => Attr::Other("a function".into()),
        _ => Attr::Numbers((0..rng.below(4)).map(|_| number(rng)).collect()),
    }
}

#[test]
fn calls_that_make_no_sense_are_errors() {
    let mut names: Vec<&str> = rows().map(|row| row.name).chain(COMPOSED).collect();
    names.push("no_such_op");
    let (mut errors, mut results) = (0, 0);
    for seed in 1..=500 {
        let mut writer = Writer::new(seed);
        for &name in &names {
            let operands: Vec<Value> = (0..writer.rng.below(4)).map(|_| writer.any()).collect();
            let mut attrs = Attrs::new();
            for parameter in [
                "axes",
                "drop",
                "value",
                "shape",
                "ambiguous",
                "dtype",
                "axis",
                "start",
                "order",
                "permutation",
                "contracting_axes",
                "batching_axes",
                "algorithm",
                "seed",
                "n",
                "start_indices",
                "limit_indices",
                "strides",
                "slice_sizes",
                "edge_padding_low",
                "edge_padding_high",
                "interior_padding",
                "offset_axes",
                "collapsed_slice_axes",
                "start_index_map",
                "index_vector_axis",
                "indices_are_sorted",
                "unique_indices",
                "update_window_axes",
                "inserted_window_axes",
                "scatter_axes_to_operand_axes",
                "update_computation",
            ] {
                if !writer.rng.one_in(6) {
                    attrs = attrs.with(parameter, careless(&mut writer.rng));
                }
            }
            match writer.applier().apply(name, &operands, &attrs) {
                Ok(_) => results += 1,
                Err(e) => {
                    assert!(!e.to_string().is_empty() && e.class().starts_with("anvil_error_"));
                    errors += 1;
                }
            }
        }
        // Whatever was refused, what was made is sound.
        let graph = writer.b.finish(vec![]);
        graph.verify().unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    }
    assert!(errors > 20_000 && results > 1000, "{errors} {results}");
}
