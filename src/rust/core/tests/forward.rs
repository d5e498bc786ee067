//! Forward mode: every row of the catalogue in every float dtype against central differences and against
//! reverse mode, which is its transpose; derivatives of derivatives in each order of the modes.

mod common;
#[path = "common/forward.rs"]
mod forward;
#[path = "common/gradients.rs"]
mod gradients;
#[path = "common/rows.rs"]
mod row_programs;

use anvil_core::dtype::DType;
use anvil_core::error::Error;
use anvil_core::ops::{rows, Builder, Graph, Op};
use anvil_core::shape::Shape;
use anvil_core::tensor::Aval;
use common::Rng;
use forward::{check, check_transpose, floats, point, pushed, Tensor};
use gradients::{domains, has_first_order_alone, underived};
use row_programs::{elementwise, examples, MATRICES};
use std::collections::{BTreeMap, BTreeSet};

/// Rows without a rule in some mode, and the reason.
const HOLES: [(&str, &str); 4] = [
    ("callback", "does not see what it computes"),
    ("polygamma", "by the order"),
    ("scatter", "updates by a function"),
    ("custom_gradient", "given for reverse mode alone"),
];

/// Rows whose derivative is not that of their values.
const OTHER: [&str; 3] = ["stop_gradient", "bitcast_convert", "custom_gradient"];

/// A program of one op.
fn program(op: &Op, types: &[Aval]) -> Graph {
    let mut b = Builder::default();
    let inputs: Vec<_> = types.iter().map(|aval| b.input(aval.clone())).collect();
    let outputs = b.node(op.clone(), &inputs).expect("an example");
    b.finish(outputs)
}

/// The ranges in which an op is smooth, of the real and the imaginary parts of an operand.
fn ranges(name: &str, dtype: DType, i: usize) -> [[f64; 2]; 2] {
    let domains = domains(name);
    if dtype.is_complex() {
        // Off the axes, where functions are cut; not near 0, where some have poles.
        return [[0.4, 0.9], [0.3, 0.8]];
    }
    [domains[i % domains.len()], [0.0, 0.0]]
}

/// Checks an op at a random point, with respect to all of its floats and to some of them.
fn check_op(what: &str, op: &Op, types: &[Aval], rng: &mut Rng, seen: &mut BTreeMap<&'static str, usize>) {
    let name = op.row().name;
    let mut all = floats(types);
    if name == "polygamma" {
        all.remove(0);
    }
    let without = underived(name);
    all.retain(|i| !without.contains(i));
    if all.is_empty() {
        return;
    }
    let graph = program(op, types);
    if has_first_order_alone(name) {
        // There are second derivatives with respect to the last operand alone.
        let x: Vec<Tensor> = types
            .iter()
            .enumerate()
            .map(|(i, aval)| {
                let [re, im] = ranges(name, aval.dtype, i);
                point(rng, aval, re, im)
            })
            .collect();
        check_transpose(what, &graph, &all, &x, rng);
        all.retain(|&i| i + 1 == types.len());
    }
    let some: Vec<usize> = all.iter().copied().filter(|_| rng.one_in(2)).collect();
    let hole = HOLES.iter().find(|(row, _)| *row == name);
    for active in [all, some] {
        if active.is_empty() {
            continue;
        }
        let x: Vec<Tensor> = types
            .iter()
            .enumerate()
            .map(|(i, aval)| {
                let [re, im] = ranges(name, aval.dtype, i);
                point(rng, aval, re, im)
            })
            .collect();
        if let (Some((_, why)), Err(error)) = (hole, pushed(&graph, &active)) {
            let says = matches!(&error, Error::NoGradient { why: reason, .. } if reason.contains(why));
            assert!(says, "{what}: {error}");
            continue;
        }
        let differs = OTHER.contains(&name);
        let sum = seen.entry(name).or_default();
        if differs {
            check_transpose(what, &graph, &active, &x, rng);
        } else {
            *sum += usize::from(check(what, &graph, &active, &x, rng));
        }
    }
}

#[test]
fn every_row_is_the_transpose_of_reverse_mode() {
    let rng = &mut Rng::new(1);
    let mut seen = BTreeMap::new();
    for (name, examples) in examples() {
        // Held in matrices.rs, at points where they have derivatives.
        if MATRICES.contains(&name) {
            continue;
        }
        // A row's points are its own, whatever other rows there are.
        let rng = &mut Rng::new(name.bytes().fold(1, |seed, byte| 31 * seed % 1_000_003 + u64::from(byte)));
        for (k, example) in examples.iter().enumerate() {
            let types: Vec<String> =
                example.operands.iter().map(|x| format!("{}{:?}", x.dtype, x.shape)).collect();
            let what = format!("{name} {k} on {}", types.join(", "));
            check_op(&what, &example.op, &example.operands, rng, &mut seen);
        }
    }
    for (op, arity) in elementwise() {
        let name = op.row().name;
        for &dtype in DType::ALL.iter().filter(|&&d| row_of(name).accepts.contains(d)) {
            let sizes: Vec<usize> = (0..=rng.below(3)).map(|_| 1 + rng.below(3)).collect();
            for shape in [Shape::scalar(), [0, 2].into(), Shape::try_new(sizes).unwrap()] {
                let types = vec![Aval::known(dtype, shape.clone()); arity];
                let mut b = Builder::default();
                let inputs: Vec<_> = types.iter().map(|aval| b.input(aval.clone())).collect();
                if b.node(op.clone(), &inputs).is_ok() {
                    check_op(&format!("{name} on {dtype}{shape:?}"), &op, &types, rng, &mut seen);
                }
            }
        }
    }
    // Ops of integers and booleans, and ops without operands.
    let none = ["and", "fill", "iota", "not", "or", "popcnt", "reduce_all", "reduce_any", "rng_bits"];
    let shifts = ["shift_left", "shift_right_arithmetic", "shift_right_logical", "xor"];
    let without: BTreeSet<&str> =
        none.into_iter().chain(shifts).chain(["custom_gradient", "callback"]).chain(MATRICES).collect();
    let missing: BTreeSet<&str> =
        rows().map(|row| row.name).filter(|name| !seen.contains_key(name)).collect();
    assert_eq!(missing, without);
    let flat: BTreeSet<&str> = seen.iter().filter(|(_, &n)| n == 0).map(|(name, _)| *name).collect();
    let compares = ["eq", "ge", "gt", "le", "lt", "ne", "is_finite", "is_infinite", "is_nan"];
    // The last one has an example in f32.
    let others = ["stop_gradient", "bitcast_convert", "print", "order", "top_k"];
    assert_eq!(flat, compares.into_iter().chain(others).collect());
}

fn row_of(name: &str) -> &'static anvil_core::ops::Row {
    rows().find(|row| row.name == name).expect("a row")
}
