//! Derivatives of batches are batches of derivatives, in both modes: of every row, and of random programs with
//! branches and loops.

#[path = "common/batches.rs"]
mod batches;
mod common;
#[path = "common/rows.rs"]
mod row_programs;
#[path = "common/transforms.rs"]
mod transforms;
#[allow(dead_code)]
mod writer;

use anvil_core::dtype::DType;
use anvil_core::error::Error;
use anvil_core::graph::{Node, Operation, Value};
use anvil_core::ops::{rows, Graph, Op};
use anvil_core::tensor::{Aval, Literal};
use batches::{evaluate, subsets, types, vmap, Data};
use common::Rng;
use row_programs::programs;
use std::collections::BTreeSet;
use transforms::{draw, floats, jvp, vjp};
use writer::control::without_constants;
use writer::Writer;

/// Random programs that are tried; `ANVIL_PROGRAMS` says how many.
const PROGRAMS: u64 = 500;

fn numbers(dtype: DType, x: &[u8]) -> Vec<f64> {
    let part = dtype.part();
    x.chunks(part.bytes()).map(|e| Literal::from_bytes(part, e).get::<f64>()).collect()
}

/// Whether numbers are those wanted, but for some roundings of the sizes that they are sums of.
fn close(dtype: DType, got: f64, want: f64, size: f64) -> bool {
    let unit = match dtype.part() {
        DType::F64 => 1e-12,
        DType::F32 => 1e-4,
        DType::F16 => 2e-2,
        _ => 1e-1,
    };
    got == want || (got.is_nan() && want.is_nan()) || (got - want).abs() <= unit * size.max(1.0)
}

/// How the derivatives of a batch differ from a batch of derivatives. `of_shared` asks for gradients of what the
/// batch shares, too, which are sums over the examples.
fn differs(
    graph: &Graph,
    marks: &[bool],
    size: usize,
    rng: &mut Rng,
    of_shared: bool,
) -> Result<Option<String>, Error> {
    let batched = vmap(graph, marks, size)?;
    let avals = types(graph, graph.inputs());
    let of_inputs: Vec<bool> = floats(&avals).into_iter().map(|i| marks[i]).collect();
    let outputs = types(graph, graph.outputs());
    let of_outputs = vec![true; floats(&outputs).len()];
    let said = |mode: &str, what: String, one: &Graph, other: &Graph| {
        Some(format!("{mode}, {marks:?}, {size} examples: {what}\nof\n{graph}\n{one}\nand\n{other}"))
    };
    let mut derived = 0;
    match jvp(graph) {
        Err(Error::NoGradient { .. }) => {}
        Err(e) => return Err(e),
        Ok(single) => {
            let all = [marks, &of_inputs].concat();
            let (one, other) = (jvp(&batched)?, vmap(&single, &all, size)?);
            let data = Data::new(&single, &all, size, |aval| draw(rng, aval));
            let (x, y) = (evaluate(&one, &data.inputs)?, evaluate(&other, &data.inputs)?);
            for (k, aval) in types(&one, one.outputs()).iter().enumerate() {
                let pairs = numbers(aval.dtype, &x[k]).into_iter().zip(numbers(aval.dtype, &y[k]));
                if let Some((x, y)) = pairs.into_iter().find(|&(x, y)| !close(aval.dtype, x, y, y.abs())) {
                    return Ok(said("jvp", format!("tangent {k}: {x}, not {y}"), &one, &other));
                }
            }
            derived += 1;
        }
    }
    match vjp(graph) {
        Err(Error::NoGradient { .. }) => {}
        Err(e) => return Err(e),
        Ok(single) => {
            let all = [marks, &of_outputs].concat();
            let (one, other) = (vjp(&batched)?, vmap(&single, &all, size)?);
            let data = Data::new(&single, &all, size, |aval| draw(rng, aval));
            let (x, y) = (evaluate(&one, &data.inputs)?, evaluate(&other, &data.inputs)?);
            for (k, aval) in types(&one, one.outputs()).iter().enumerate() {
                let (got, each) = (numbers(aval.dtype, &x[k]), numbers(aval.dtype, &y[k]));
                // What the examples share gets the sum of their gradients.
                let shared = !of_inputs[k];
                if shared && !of_shared {
                    continue;
                }
                for (i, &got) in got.iter().enumerate() {
                    let own = if shared { got_of(&each, i, aval, size) } else { vec![each[i]] };
                    let (want, magnitude): (f64, f64) = (own.iter().sum(), own.iter().map(|x| x.abs()).sum());
                    if !close(aval.dtype, got, want, magnitude) {
                        return Ok(said("vjp", format!("gradient {k}: {got}, not {want}"), &one, &other));
                    }
                }
            }
            derived += 1;
        }
    }
    Ok(if derived == 0 { Some(String::new()) } else { None })
}

/// Element `i` of each example.
fn got_of(each: &[f64], i: usize, aval: &Aval, size: usize) -> Vec<f64> {
    let parts = if aval.dtype.is_complex() { 2 } else { 1 };
    (0..size).map(|e| each[e * parts * aval.shape.size() + i]).collect()
}

#[test]
fn derivatives_of_batches_of_rows_are_batches_of_derivatives() {
    let (mut rng, mut turn) = (Rng::new(5), 0);
    let mut met = BTreeSet::new();
    for program in programs(4) {
        if !["f64", "c128", "f32"].iter().any(|dtype| program.name.contains(&format!("-{dtype}-"))) {
            continue;
        }
        for marks in subsets(program.graph.inputs().len()).filter(|marks| marks.contains(&true)) {
            turn += 1;
            let size = [3, 1, 7, 0][turn % 4];
            match differs(&program.graph, &marks, size, &mut rng, true) {
                Ok(None) => {
                    met.insert(program.row);
                }
                Ok(Some(what)) => assert!(what.is_empty(), "{}: {what}", program.name),
                Err(e) => assert!(matches!(e, Error::NoBatch { .. }), "{}: {e}", program.name),
            }
        }
    }
    assert!(met.len() > 90, "{} rows: {met:?}", met.len());
}

fn has_custom(graph: &Graph) -> bool {
    let inside = |node: &Node<Op>| node.op.regions().iter().any(|(_, region)| has_custom(region));
    graph.nodes().iter().any(|node| node.op.name() == "custom_gradient" || inside(node))
}

#[test]
fn derivatives_of_batches_of_programs_are_batches_of_derivatives() {
    let programs = std::env::var("ANVIL_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(PROGRAMS);
    const WITHOUT: [&str; 6] = ["if", "while", "scan", "custom_gradient", "custom_jvp", "dot_general"];
    let names: Vec<(&str, usize)> = rows().map(|row| (row.name, row.operands.len())).collect();
    let names: Vec<_> = names.into_iter().filter(|(name, _)| !WITHOUT.contains(name)).collect();
    let mut derived = 0;
    for seed in 1..=programs {
        let mut writer = Writer::new(seed);
        writer.depth = 2;
        for _ in 0..2 + writer.rng.below(6) {
            writer.step(&names);
        }
        writer.control(&names);
        let outputs: Vec<Value> = writer.outputs();
        let Writer { mut rng, b, .. } = writer;
        let graph = without_constants(&b.finish(outputs));
        // Random functions that call themselves derivatives are not linear: what they make of a gradient that
        // is 0 depends on whether they are asked.
        if has_custom(&graph) {
            continue;
        }
        let marks: Vec<bool> = graph.inputs().iter().map(|_| !rng.one_in(3)).collect();
        let size = *rng.choose(&[1, 2, 3, 7]);
        match differs(&graph, &marks, size, &mut rng, false) {
            Ok(None) => derived += 1,
            Ok(Some(what)) => assert!(what.is_empty(), "seed {seed}: {what}"),
            Err(Error::NoBatch { .. } | Error::NoGradient { .. } | Error::IndexOutOfRange { .. }) => {}
            Err(e) => panic!("seed {seed}: {e}\n{graph}"),
        }
    }
    assert!(derived as u64 > programs / 3, "{derived}");
}
