//! anvil and XLA on the same programs: `make crosscheck`.
//!
//! A random program runs in XLA with all of its values as results. Each node is then compared with the
//! reference interpreter on *XLA's* values of its operands, so that errors do not accumulate: bits are equal
//! where rounding is specified, and within a stated number of ulps elsewhere.

#[path = "../common/batches.rs"]
mod batches;
#[path = "../common/mod.rs"]
mod common;
mod compare;
#[path = "../common/grid.rs"]
mod grid;
#[path = "../common/judge.rs"]
mod judge;
mod known;
mod rcode;
#[path = "../common/rows.rs"]
mod row_programs;
mod transformed;
#[path = "../common/transforms.rs"]
mod transforms;
#[path = "../writer/mod.rs"]
mod writer;
mod xla;

use anvil_core::autodiff::{is_differentiable, Tape};
use anvil_core::graph::{Def, Node, Value};
use anvil_core::hlo;
use anvil_core::ops::{rows, Builder, Graph, Lowering, Op, Special};
use anvil_core::tensor::{Aval, Literal};
use common::random_tensor;
use compare::{bound, difference, evaluate, without_subnormals, Typed};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::Mutex;
use writer::control::without_constants;
use writer::Writer;
use xla::Xla;

/// Ops of regions: a loop is compared as a whole, so what it runs must not round differently. Nor may XLA
/// simplify it to what is not the same, as it does products with booleans (`known::ELEMENTS`).
const EXACT: &[&str] = &[
    "negate",
    "sign",
    "not",
    "add",
    "sub",
    "max",
    "min",
    "and",
    "or",
    "xor",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "select",
    "clamp",
    "convert",
    "reshape",
    "transpose",
    "broadcast_in_dim",
    "concatenate",
    "static_slice",
    "reverse",
    "pad",
    "dynamic_slice",
    "dynamic_update_slice",
    "gather",
    "fill",
    "iota",
    "reduce_max",
    "reduce_min",
    "reduce_any",
    "reduce_all",
    "cummax",
    "cummin",
    "rng_bits",
    "split_state",
    "shift_left",
    "shift_right_logical",
    "shift_right_arithmetic",
    "is_finite",
    "promote",
];

/// Programs that differ and are printed.
const SHOWN: usize = 20;

/// All ops that can leave, composed ones too, with their number of operands.
fn names(exact: bool) -> Vec<(&'static str, usize)> {
    let composed =
        ["promote", "broadcast", "matmul", "split_state", "runif", "rnorm", "rbinom", "sample_int"];
    let mut names: Vec<(&'static str, usize)> = rows().map(|row| (row.name, row.operands.len())).collect();
    names.retain(|(name, _)| {
        !["if", "while", "scan", "custom_gradient", "custom_jvp", "print", "callback"].contains(name)
    });
    names.extend(composed.map(|name| (name, 1)));
    // Those whose formulas are long, which XLA compiles for seconds, are rarer than others.
    let long =
        |name: &str| ["eigh", "svd"].contains(&name) || Special::ALL.iter().any(|op| op.row().name == name);
    let short: Vec<_> = names.iter().copied().filter(|(name, _)| !long(name)).collect();
    (0..4).for_each(|_| names.extend(&short));
    for name in
        ["reshape", "transpose", "broadcast_in_dim", "concatenate", "convert", "matmul", "dot_general"]
    {
        names.extend([(name, 1); 15]);
    }
    for name in ["static_slice", "reverse", "pad", "gather", "scatter"] {
        names.extend([(name, 1); 20]);
    }
    names.retain(|(name, _)| !exact || EXACT.contains(name));
    names
}

/// A program with the bytes of its inputs, all of whose values are results.
pub struct Program {
    /// It has no constants.
    pub graph: Graph,
    /// Column-major.
    pub inputs: Vec<Vec<u8>>,
}

impl Program {
    fn random(seed: u64) -> Program {
        let mut writer = Writer::new(seed);
        let nested = seed % 3 == 0;
        let names = names(nested);
        if nested {
            writer.depth = 2;
            writer.control(&names);
        }
        for _ in 0..2 + writer.rng.below(if nested { 8 } else { 16 }) {
            writer.step(&names);
        }
        let outputs = writer.outputs();
        let Writer { mut rng, b, .. } = writer;
        let mut graph = without_constants(&b.finish(outputs));
        if known::is_beyond(&graph) {
            return Program::random(seed + (1 << 32));
        }
        if seed % 5 == 0 {
            graph = with_gradients(&graph).unwrap_or(graph);
        }
        let inputs = graph.inputs().iter().map(|&v| {
            let mut bytes = random_tensor(&mut rng, graph.aval(v)).as_slice().to_vec();
            without_subnormals(graph.aval(v), &mut bytes);
            bytes
        });
        Program { inputs: inputs.collect(), graph: all_results(&graph) }
    }

    /// One node, with what makes its operands in up to `depth` steps, on these values of all else.
    fn around(&self, node: usize, depth: usize, values: &[Vec<u8>]) -> Program {
        let graph = &self.graph;
        let mut wanted = BTreeSet::from([node]);
        for _ in 0..depth {
            let operands: Vec<Value> =
                wanted.iter().flat_map(|&n| graph.nodes()[n].operands.clone()).collect();
            wanted.extend(operands.iter().filter_map(|&v| match graph.def(v) {
                Def::Result(n, _) => Some(n),
                _ => None,
            }));
        }
        let mut b = Builder::default();
        let (mut new, mut inputs, mut results) = (vec![None; values.len()], Vec::new(), Vec::new());
        for n in wanted {
            let node = &graph.nodes()[n];
            let operands: Vec<Value> = node
                .operands
                .iter()
                .map(|&v| {
                    *new[v.index()].get_or_insert_with(|| match graph.def(v) {
                        Def::Literal(literal) => b.literal(literal, graph.aval(v).ambiguous),
                        _ => {
                            inputs.push(values[v.index()].clone());
                            b.input(graph.aval(v).clone())
                        }
                    })
                })
                .collect();
            let made = b.node(node.op.clone(), &operands).expect("it was made once");
            for (old, value) in node.results.iter().zip(made) {
                new[old.index()] = Some(value);
                results.push(value);
            }
        }
        Program { graph: b.finish(results), inputs }
    }
}

/// The op without promises about its indices, which those of random programs do not keep.
fn honest(op: &Op) -> Op {
    let mut op = op.clone();
    match &mut op {
        Op::Gather(op) => op.indices_are_sorted = false,
        Op::Scatter(op) => (op.indices_are_sorted, op.unique_indices) = (false, false),
        _ => {}
    }
    op
}

/// The graph with all values that its nodes make as its outputs.
fn all_results(graph: &Graph) -> Graph {
    let mut b = Builder::default();
    let mut values: Vec<Value> = graph.inputs().iter().map(|&v| b.input(graph.aval(v).clone())).collect();
    let mut results = Vec::new();
    let mut new = vec![None; graph.values().count()];
    graph.inputs().iter().zip(values.drain(..)).for_each(|(old, v)| new[old.index()] = Some(v));
    for v in graph.values() {
        match graph.def(v) {
            Def::Literal(literal) => new[v.index()] = Some(b.literal(literal, graph.aval(v).ambiguous)),
            Def::Result(number, 0) => {
                let node = &graph.nodes()[number];
                let operands: Vec<Value> =
                    node.operands.iter().map(|x| new[x.index()].expect("made before")).collect();
                let made = b.node(honest(&node.op), &operands).expect("it was made once");
                for (old, value) in node.results.iter().zip(made) {
                    new[old.index()] = Some(value);
                    results.push(value);
                }
            }
            _ => {}
        }
    }
    b.finish(results)
}

/// The graph with gradients of its first float output by all float inputs, if there are any.
fn with_gradients(graph: &Graph) -> Option<Graph> {
    let wrt: Vec<usize> = (0..graph.inputs().len())
        .filter(|&i| is_differentiable(graph.aval(graph.inputs()[i]).dtype))
        .collect();
    let at = graph.outputs().iter().position(|&v| is_differentiable(graph.aval(v).dtype))?;
    let mut b = Builder::default();
    let inputs: Vec<Value> = graph.inputs().iter().map(|&v| b.input(graph.aval(v).clone())).collect();
    let tape = Tape::record(&mut b, graph, &inputs, &wrt).ok()?;
    let one = b.literal(Literal::new(1.0).convert(graph.aval(graph.outputs()[at]).dtype), None);
    let op = anvil_core::ops::BroadcastInDim {
        shape: graph.aval(graph.outputs()[at]).shape.clone(),
        axes: vec![],
    };
    let one = b.node1(Op::BroadcastInDim(op), &[one]).ok()?;
    let gradients: Vec<Option<Value>> =
        (0..graph.outputs().len()).map(|k| (k == at).then_some(one)).collect();
    let outputs = tape.pull(&mut b, &gradients, &wrt).ok()?;
    Some(b.finish(outputs))
}

/// The first node in which anvil and XLA differ.
struct Disagreement {
    node: usize,
    what: String,
}

/// The result of a run for an op: the number of comparisons, and the largest distance in ulps.
type Seen = BTreeMap<(String, &'static str), (usize, f64)>;

/// Values of all of the graph's values in XLA.
fn values_in_xla(program: &Program, xla: &mut Xla) -> Result<Vec<Vec<u8>>, String> {
    let graph = &program.graph;
    let options = hlo::Options { inline_limit: 16, ..hlo::Options::default() };
    let module = hlo::export(graph, &[], &options).map_err(|e| format!("export: {e}"))?;
    let inputs: Vec<Typed> =
        graph.inputs().iter().zip(&program.inputs).map(|(&v, x)| (graph.aval(v), x.as_slice())).collect();
    let outputs: Vec<&Aval> = graph.outputs().iter().map(|&v| graph.aval(v)).collect();
    let made = xla.run(&module.text, &inputs, &outputs)?;
    let mut values = vec![vec![]; graph.values().count()];
    for v in graph.values() {
        match graph.def(v) {
            Def::Input(i) => values[v.index()] = program.inputs[i].clone(),
            Def::Literal(literal) => {
                values[v.index()] = literal.to_bytes()[..literal.dtype().bytes()].to_vec();
            }
            _ => {}
        }
    }
    for (&v, bytes) in graph.outputs().iter().zip(made) {
        values[v.index()] = bytes;
    }
    Ok(values)
}

/// Runs a program in XLA and holds each node to the reference.
fn check(program: &Program, xla: &mut Xla, seen: &mut Seen) -> Result<Option<Disagreement>, String> {
    let graph = &program.graph;
    let values = values_in_xla(program, xla)?;
    for (number, node) in graph.nodes().iter().enumerate() {
        let operands: Vec<Typed> =
            node.operands.iter().map(|v| (graph.aval(*v), values[v.index()].as_slice())).collect();
        if known::reads_subnormals(&node.op, &operands) {
            continue;
        }
        let Some(wanted) = evaluate(&node.op, &operands) else { continue };
        let mut worst = 0.0;
        if judge::is_on_matrices(&node.op) {
            let got: Vec<Typed> =
                node.results.iter().map(|&v| (graph.aval(v), values[v.index()].as_slice())).collect();
            let wanted: Vec<Typed> = wanted.iter().map(|(aval, x)| (aval, x.as_slice())).collect();
            if let Some(what) = judge::judge(&node.op, &operands, &got, &wanted) {
                return Ok(Some(Disagreement { node: number, what }));
            }
            seen.entry((node_name(node), operands[0].0.dtype.name())).or_default().0 += 1;
            continue;
        }
        for (k, (&v, (aval, want))) in node.results.iter().zip(&wanted).enumerate() {
            let limit = bound(&node.op, aval.dtype.is_complex());
            let got = &values[v.index()];
            if let Some(what) = difference(&node.op, &operands, (aval, want), got, k, limit, &mut worst) {
                return Ok(Some(Disagreement { node: number, what }));
            }
        }
        let dtype = operands.last().map_or(wanted[0].0.dtype, |(aval, _)| aval.dtype);
        let entry = seen.entry((node_name(node), dtype.name())).or_default();
        *entry = (entry.0 + 1, entry.1.max(worst));
    }
    Ok(None)
}

fn node_name(node: &Node<Op>) -> String {
    node.op.row().name.to_string()
}

/// A smaller program with the disagreement: the node on XLA's values of its operands, or if XLA gets these
/// right alone, the node with as little as is needed of what makes them.
fn shrink(program: &Program, found: &Disagreement, xla: &mut Xla) -> Program {
    let whole = || Program { graph: program.graph.clone(), inputs: program.inputs.clone() };
    let Ok(values) = values_in_xla(program, xla) else { return whole() };
    for depth in 0..program.graph.nodes().len() {
        let small = program.around(found.node, depth, &values);
        if matches!(check(&small, xla, &mut Seen::new()), Ok(Some(_))) {
            return small;
        }
    }
    whole()
}

fn report(seed: u64, program: &Program, xla: &mut Xla, found: &Disagreement) -> String {
    let small = shrink(program, found, xla);
    let name = node_name(&program.graph.nodes()[found.node]);
    format!(
        "program {seed}, `{name}`: {}\nIn R:\n{}\nThe graph:\n{}",
        found.what,
        rcode::program(&small),
        small.graph
    )
}

/// Ops that are in no program for XLA.
const ABSENT: &[(&str, &str)] = &[
    ("print", "StableHLO has no op that prints"),
    ("callback", "StableHLO has no op that calls a function of R"),
];

#[test]
fn random_programs_have_every_op() {
    fn collect(graph: &Graph, found: &mut BTreeSet<&'static str>) {
        for node in graph.nodes() {
            found.insert(node.op.row().name);
            node.op.regions().iter().for_each(|(_, region)| collect(region, found));
        }
    }
    let mut found = BTreeSet::new();
    (1..=3000).for_each(|seed| collect(&Program::random(seed).graph, &mut found));
    let missing: Vec<&str> = rows().map(|row| row.name).filter(|name| !found.contains(name)).collect();
    let reasons: Vec<&str> = ABSENT.iter().map(|(name, _)| *name).collect();
    assert_eq!(missing, reasons);
}

#[test]
#[ignore = "needs a Python with jax: make crosscheck"]
fn random_programs_mean_the_same_to_xla() {
    let setting = |name: &str, default: u64| std::env::var(name).map_or(default, |x| x.parse().expect(name));
    let python = std::env::var("ANVIL_PYTHON").expect("ANVIL_PYTHON is a Python with jax");
    let (count, first) = (setting("ANVIL_CROSSCHECK", 300), setting("ANVIL_CROSSCHECK_SEED", 1));
    let workers = setting("ANVIL_CROSSCHECK_WORKERS", 2);
    let (seen, reports, version) = (Mutex::new(Seen::new()), Mutex::new(0), Mutex::new(String::new()));
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let (seen, reports, version, python) = (&seen, &reports, &version, &python);
            scope.spawn(move || {
                let mut xla = Xla::start(python);
                version.lock().unwrap().clone_from(&xla.version);
                let mut own = Seen::new();
                for seed in (first..first + count).filter(|seed| seed % workers == worker) {
                    let done = seed - first;
                    if done > 0 && done % 1000 == 0 {
                        println!("{done} programs, {} differ", reports.lock().unwrap());
                    }
                    let program = Program::random(seed);
                    // A panic is a disagreement too, so that the program is shown.
                    let mut judged = || check(&program, &mut xla, &mut own);
                    let text = match std::panic::catch_unwind(AssertUnwindSafe(&mut judged)) {
                        Ok(Ok(None)) => continue,
                        Ok(Ok(Some(found))) => report(seed, &program, &mut xla, &found),
                        Ok(Err(what)) => format!("program {seed}: {what}\n{}", program.graph),
                        Err(_) => format!("program {seed} panicked\n{}", program.graph),
                    };
                    let mut reports = reports.lock().unwrap();
                    *reports += 1;
                    if *reports <= SHOWN {
                        println!("\n{text}");
                    }
                }
                let mut all = seen.lock().unwrap();
                for (key, (n, worst)) in own {
                    let entry = all.entry(key).or_default();
                    *entry = (entry.0 + n, entry.1.max(worst));
                }
            });
        }
    });
    let (seen, reports) = (seen.into_inner().unwrap(), reports.into_inner().unwrap());
    for ((name, dtype), (n, worst)) in &seen {
        println!("{name:<24} {dtype:<5} {n:>7} times, at most {worst:.2} units apart");
    }
    let nodes: usize = seen.values().map(|(n, _)| n).sum();
    println!("known differences:\n{}", known::summary());
    println!(
        "{count} programs from {first}, {nodes} nodes compared with jax {}, {reports} differ",
        version.into_inner().unwrap()
    );
    assert_eq!(reports, 0, "of {count} programs differ");
}

#[test]
#[ignore = "needs a Python with jax: make crosscheck"]
fn transformed_random_programs_mean_the_same_to_jax() {
    let setting = |name: &str, default: u64| std::env::var(name).map_or(default, |x| x.parse().expect(name));
    let python = std::env::var("ANVIL_PYTHON").expect("ANVIL_PYTHON is a Python with jax");
    let (count, first) = (setting("ANVIL_CROSSCHECK", 300), setting("ANVIL_CROSSCHECK_SEED", 1));
    // JAX compiles each operation of each program by itself: one takes as long as ten others.
    let count = count.div_ceil(10);
    let workers = setting("ANVIL_CROSSCHECK_WORKERS", 2);
    let differing = transformed::check_all(&python, first, count, workers, SHOWN);
    println!("{count} transformed programs from {first}, {differing} differ");
    assert_eq!(differing, 0, "of {count} programs differ");
}

/// Writes what XLA makes of every op on special values: the data of `tests/xla_values.rs`.
#[test]
#[ignore = "writes tests/testdata/xla/values.csv: make crosscheck-values"]
fn write_values() {
    let mut xla = Xla::start(&std::env::var("ANVIL_PYTHON").expect("ANVIL_PYTHON is a Python with jax"));
    let mut out = format!(
        "# XLA on a CPU, jax and jaxlib {}; make crosscheck-values\nprogram,result,bytes\n",
        xla.version
    );
    for program in row_programs::programs(grid::ELEMENTS) {
        let avals: Vec<Aval> =
            program.graph.inputs().iter().map(|&v| program.graph.aval(v).clone()).collect();
        if matches!(program.graph.nodes()[0].op.lower(&avals), Lowering::Todo { .. }) {
            continue;
        }
        let graph = all_results(&program.graph);
        let mut inputs = grid::inputs(&program.name, &graph);
        graph.inputs().iter().zip(&mut inputs).for_each(|(&v, x)| without_subnormals(graph.aval(v), x));
        let values = values_in_xla(&Program { graph: graph.clone(), inputs }, &mut xla);
        let values = values.unwrap_or_else(|e| panic!("{}: {e}", program.name));
        for (k, &v) in graph.nodes()[0].results.iter().enumerate() {
            out += &format!("{},{k},{}\n", program.name, grid::hex(&values[v.index()]));
        }
    }
    let path = grid::path();
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder for data");
    std::fs::write(path, out).expect("data is written");
}
