//! Packs of ops that fold and multiply: of rows that are computed one by one, of terms of sums, and their gradients.

mod common;
#[path = "common/gradients.rs"]
mod gradients;
#[path = "common/rounding.rs"]
mod rounding;

use anvil_core::graph::Value;
use anvil_core::ops::attrs::{Attr, Attrs};
use anvil_core::ops::*;
use anvil_core::passes::{packs, Rounding};
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::Literal;
use common::Rng;
use gradients::{gradient, numbers, op};
use rounding::agree;

fn shape(sizes: &[usize]) -> Shape {
    Shape::try_new(sizes.to_vec()).unwrap()
}

fn plain(b: &mut Builder, name: &str, operands: &[Value]) -> Value {
    op(b, name, operands, &Attrs::new())
}

fn reshaped(b: &mut Builder, v: Value, sizes: &[usize]) -> Value {
    let attrs = Attrs::new().with("shape", numbers(sizes)).with("order", Attr::Text("column".into()));
    op(b, "reshape", &[v], &attrs)
}

/// Row `i` of a matrix, as a vector.
fn row(b: &mut Builder, x: Value, i: usize) -> Value {
    let sizes = b.graph().aval(x).shape.to_vec();
    let slice = StaticSlice::along(&shape(&sizes), Axis(0), i..i + 1);
    let v = b.node1(slice, &[x]).unwrap();
    reshaped(b, v, &sizes[1..])
}

/// Vectors, one after the other.
fn joined(b: &mut Builder, parts: &[Value]) -> Value {
    op(b, "concatenate", parts, &Attrs::new().with("axis", numbers(&[1])))
}

fn fold(b: &mut Builder, name: &str, v: Value) -> Value {
    let attrs = Attrs::new().with("axes", Attr::Null).with("drop", Attr::Logical(true));
    op(b, name, &[v], &attrs)
}

/// A step of what is computed of each row.
#[derive(Clone, Copy, Debug)]
enum Step {
    Unary(&'static str),
    /// With the other row, the vector that all have in common, or the number of the row.
    Binary(&'static str, u8),
    /// Divided by a fold of it.
    Normalised(&'static str),
    Product,
    Sorted,
    Cumulative,
    /// At the positions of the order of the other row.
    Gathered,
    /// Without its first element, twice the last.
    Moved,
}

fn one_of(rng: &mut Rng, names: &[&'static str]) -> &'static str {
    names[rng.below(names.len())]
}

fn step(rng: &mut Rng) -> Step {
    match rng.below(9) {
        0 => Step::Unary(one_of(rng, &["tanh", "sin", "abs", "negate"])),
        1 | 2 => Step::Binary(one_of(rng, &["add", "sub", "mul", "max"]), rng.below(3) as u8),
        3 => Step::Normalised(one_of(rng, &["reduce_sum", "reduce_max", "reduce_prod", "reduce_min"])),
        4 => Step::Product,
        5 => Step::Sorted,
        6 => Step::Cumulative,
        7 => Step::Gathered,
        _ => Step::Moved,
    }
}

/// A step for a row `v`, given another one, the inputs, and the number of the row.
fn taken(b: &mut Builder, step: Step, v: Value, other: Value, x: &[Value], i: usize) -> Value {
    let n = b.graph().aval(v).shape.size();
    let first = || Attrs::new().with("axis", numbers(&[1]));
    match step {
        Step::Unary(name) => plain(b, name, &[v]),
        Step::Binary(name, 0) => plain(b, name, &[v, other]),
        Step::Binary(name, 1) => plain(b, name, &[v, x[2]]),
        Step::Binary(name, _) => {
            let number = b.literal(Literal::new(i as f64 + 0.5), None);
            plain(b, name, &[v, number])
        }
        Step::Normalised(name) => {
            let folded = fold(b, name, v);
            let half = b.literal(Literal::new(0.5), None);
            let folded = plain(b, "mul", &[folded, half]);
            plain(b, "sub", &[v, folded])
        }
        Step::Product => {
            let v = plain(b, "matrix_product", &[x[3], v]);
            reshaped(b, v, &[n])
        }
        Step::Sorted => op(b, "sort", &[v], &first().with("decreasing", Attr::Logical(false))),
        Step::Cumulative => op(b, "cumsum", &[v], &first().with("reverse", Attr::Logical(false))),
        Step::Gathered => {
            let order =
                op(b, "order", &[other], &first().with("decreasing", Attr::List(vec![Attr::Logical(false)])));
            op(b, "take", &[v, order], &first().with("mode", Attr::Text("error".into())))
        }
        Step::Moved => {
            let axis = Axis(0);
            let part = |range| StaticSlice::along(&shape(&[n]), axis, range);
            let (rest, last) = (b.node1(part(1..n), &[v]).unwrap(), b.node1(part(n - 1..n), &[v]).unwrap());
            b.node1(Concatenate { axis }, &[rest, last]).unwrap()
        }
    }
}

/// How what is computed of the rows becomes one value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Joined,
    Sum,
    Extreme,
    Product,
}

/// The value of a program on two matrices, a vector, and a square matrix.
fn program(b: &mut Builder, x: &[Value], seed: u64) -> Value {
    let rng = &mut Rng::new(seed);
    let n = b.graph().aval(x[0]).shape[0];
    let steps: Vec<Step> = (0..1 + rng.below(4)).map(|_| step(rng)).collect();
    let folds = rng.one_in(2);
    let way = *rng.choose(&[Way::Joined, Way::Sum, Way::Sum, Way::Extreme, Way::Product]);
    // One that is computed in another way than the others.
    let odd = rng.one_in(3).then(|| rng.below(n));
    let mut parts = vec![];
    for i in 0..n {
        let (mut v, other) = (row(b, x[0], i), row(b, x[1], i));
        for &step in &steps {
            v = taken(b, step, v, other, x, i);
        }
        if odd == Some(i) {
            v = plain(b, "cos", &[v]);
        }
        if folds {
            v = fold(b, "reduce_sum", v);
        }
        parts.push(v);
    }
    let m = b.graph().aval(parts[0]).shape.size();
    if way == Way::Joined {
        let flat: Vec<Value> = parts.iter().map(|&v| reshaped(b, v, &[m])).collect();
        return joined(b, &flat);
    }
    let (minus, mixed) = (rng.one_in(2), rng.one_in(5));
    let mut all = parts[0];
    for (i, &part) in parts.iter().enumerate().skip(1) {
        let name = match way {
            Way::Sum if minus => "sub",
            Way::Sum | Way::Joined => "add",
            Way::Product => "mul",
            Way::Extreme => "max",
        };
        let part = if way == Way::Sum && mixed && rng.one_in(2) { plain(b, "negate", &[part]) } else { part };
        all = plain(b, name, &[all, part]);
        if way == Way::Sum && i == 2 && rng.one_in(2) {
            all = plain(b, "add", &[all, x[2]]);
        }
    }
    all
}

fn shapes(rng: &mut Rng) -> Vec<Shape> {
    let (n, m) = (3 + rng.below(18), 2 + rng.below(18));
    [&[n, m][..], &[n, m], &[m], &[m, m]].map(shape).to_vec()
}

#[test]
fn random_programs_on_rows_agree_with_what_was_written() {
    let (mut met, mut programs) = (0, 0);
    for seed in 0..1_500 {
        let rng = &mut Rng::new(seed);
        let shapes = shapes(rng);
        let mut b = Builder::default();
        let x = gradients::inputs(&mut b, &shapes);
        let v = program(&mut b, &x, seed);
        let graph = b.finish(vec![v]);
        programs += 1;
        if let Some(packed) = packs(&graph, Rounding::Any).unwrap() {
            met += 1;
            agree(&graph, &packed, rng);
        }
    }
    assert!(met > programs / 2 && met < programs, "{met} of {programs} programs have packs");
}

#[test]
fn random_gradients_on_rows_agree_with_what_was_written() {
    let (mut met, mut programs) = (0, 0);
    for seed in 0..600 {
        let rng = &mut Rng::new(seed);
        let shapes = shapes(rng);
        let graph = gradients::scalar(&|b: &mut Builder, x: &[Value]| program(b, x, seed), &shapes, seed);
        let Ok(graph) = gradient(&graph, &shapes) else { continue };
        programs += 1;
        if let Some(packed) = packs(&graph, Rounding::Any).unwrap() {
            met += 1;
            agree(&graph, &packed, rng);
        }
    }
    // Those of products, extremes, sorted and gathered rows are no sums of what is isomorphic, or scatter.
    assert!(met > programs / 6, "{met} of {programs} gradients have packs");
}

/// Nodes of a graph after the pass.
fn nodes(graph: &Graph) -> usize {
    packs(graph, Rounding::Any).unwrap().map_or(usize::MAX, |packed| packed.nodes().len())
}

/// `for (i in 1:n) s <- s - log(f(x[i, ], w))`, and its gradient with respect to `w`.
#[test]
fn sums_over_rows_are_one_sum() {
    let shapes = [shape(&[40, 6]), shape(&[6])];
    let sum = |b: &mut Builder, x: &[Value]| {
        let mut all: Option<Value> = None;
        for i in 0..40 {
            let v = row(b, x[0], i);
            let v = plain(b, "mul", &[v, x[1]]);
            let v = fold(b, "reduce_sum", v);
            let v = plain(b, "logistic", &[v]);
            let v = plain(b, "log", &[v]);
            all = Some(match all {
                Some(all) => plain(b, "sub", &[all, v]),
                None => plain(b, "negate", &[v]),
            });
        }
        all.unwrap()
    };
    let graph = gradients::scalar(&sum, &shapes, 1);
    assert!(nodes(&graph) <= 12, "{graph}");
    let gradient = gradient(&graph, &shapes).unwrap();
    assert!(nodes(&gradient) <= 30, "{}", packs(&gradient, Rounding::Any).unwrap().unwrap());
}

/// `for (i in 1:n) for (j in 1:n) d[i, j] <- f(x[i, ], x[j, ])`.
#[test]
fn updates_of_all_pairs_are_one_value() {
    let mut b = Builder::default();
    let n = 9;
    let x = gradients::inputs(&mut b, &[shape(&[n, 7]), shape(&[n, n])]);
    let mut all = x[1];
    for i in 0..n {
        for j in 0..n {
            let (u, v) = (row(&mut b, x[0], i), row(&mut b, x[0], j));
            let v = plain(&mut b, "sub", &[u, v]);
            let v = plain(&mut b, "abs", &[v]);
            let v = fold(&mut b, "reduce_max", v);
            let v = reshaped(&mut b, v, &[1, 1]);
            let at = [i, j].map(|at| b.literal(Literal::new(at as i32), None));
            let update = DynamicUpdateSlice { check: Check::Silent };
            all = b.node1(update, &[all, v, at[0], at[1]]).unwrap();
        }
    }
    let graph = b.finish(vec![all]);
    assert!(nodes(&graph) <= 10, "{}", packs(&graph, Rounding::Any).unwrap().unwrap());
    agree(&graph, &packs(&graph, Rounding::Any).unwrap().unwrap(), &mut Rng::new(1));
}

/// Systems of equations, one for each matrix: several results of one op, and of what is made of other values.
#[test]
fn factors_of_many_matrices_are_those_of_one_batch() {
    let mut b = Builder::default();
    let x = gradients::inputs(&mut b, &[shape(&[12, 16]), shape(&[4])]);
    let parts: Vec<Value> = (0..12)
        .map(|i| {
            let v = row(&mut b, x[0], i);
            let v = reshaped(&mut b, v, &[4, 4]);
            op(&mut b, "solve", &[v, x[1]], &Attrs::new().with("adjoint", Attr::Logical(false)))
        })
        .collect();
    let whole = joined(&mut b, &parts);
    let graph = b.finish(vec![whole]);
    assert!(nodes(&graph) <= 12, "{}", packs(&graph, Rounding::Any).unwrap().unwrap());
    agree(&graph, &packs(&graph, Rounding::Any).unwrap().unwrap(), &mut Rng::new(1));
}

/// `for (i in 1:n) s <- 0.5 * s + sum(x[i, ] * w)`: what each repetition needs of the one before is not computed twice.
#[test]
fn what_is_needed_one_by_one_is_not_packed() {
    let mut b = Builder::default();
    let x = gradients::inputs(&mut b, &[shape(&[30, 40]), shape(&[40])]);
    let half = b.literal(Literal::new(0.5), None);
    let (mut s, mut parts) = (half, vec![]);
    for i in 0..30 {
        let v = row(&mut b, x[0], i);
        let v = plain(&mut b, "mul", &[v, x[1]]);
        let v = fold(&mut b, "reduce_sum", v);
        let old = plain(&mut b, "mul", &[half, s]);
        s = plain(&mut b, "add", &[old, v]);
        parts.push(reshaped(&mut b, s, &[1]));
    }
    let whole = joined(&mut b, &parts);
    let graph = b.finish(vec![whole]);
    if let Some(packed) = packs(&graph, Rounding::Any).unwrap() {
        let folds = packed.nodes().iter().filter(|node| node.op.get::<Reduction>().is_some()).count();
        assert!(folds == 1 || folds == 30, "{packed}");
        agree(&graph, &packed, &mut Rng::new(1));
    }
}

/// `sapply(1:n, function(i) sum(if (w[i] > 0) tanh(x[i, ]) else x[i, ]))`, by a branch of the program.
#[test]
fn branches_that_compute_elements_are_chosen_for_all_rows() {
    let mut b = Builder::default();
    let x = gradients::inputs(&mut b, &[shape(&[30, 8]), shape(&[30])]);
    let zero = b.literal(Literal::new(0.0), None);
    let region = |name: Option<&str>| {
        let mut b = Builder::default();
        let v = gradients::inputs(&mut b, &[shape(&[8])])[0];
        let v = name.map_or(v, |name| plain(&mut b, name, &[v]));
        std::sync::Arc::new(b.finish(vec![v]))
    };
    let branches = [region(Some("tanh")), region(None)];
    let parts: Vec<Value> = (0..30)
        .map(|i| {
            let v = row(&mut b, x[0], i);
            let slice = StaticSlice::along(&shape(&[30]), Axis(0), i..i + 1);
            let w = b.node1(slice, &[x[1]]).unwrap();
            let w = reshaped(&mut b, w, &[]);
            let pred = plain(&mut b, "gt", &[w, zero]);
            let v = b.node1(If { branches: branches.clone() }, &[pred, v, v]).unwrap();
            let v = fold(&mut b, "reduce_sum", v);
            reshaped(&mut b, v, &[1])
        })
        .collect();
    let whole = joined(&mut b, &parts);
    let graph = b.finish(vec![whole]);
    assert!(nodes(&graph) <= 10, "{}", packs(&graph, Rounding::Any).unwrap().unwrap());
    agree(&graph, &packs(&graph, Rounding::Any).unwrap().unwrap(), &mut Rng::new(1));
}

/// Few numbers stay in registers, and what is large is as fast by itself.
#[test]
fn what_does_not_pay_stays() {
    for (n, m) in [(3, 4), (4, 1 << 13)] {
        let mut b = Builder::default();
        let x = gradients::inputs(&mut b, &[shape(&[n, m])]);
        let parts: Vec<Value> = (0..n)
            .map(|i| {
                let v = row(&mut b, x[0], i);
                let v = fold(&mut b, "reduce_sum", v);
                reshaped(&mut b, v, &[1])
            })
            .collect();
        let whole = joined(&mut b, &parts);
        assert!(packs(&b.finish(vec![whole]), Rounding::Any).unwrap().is_none(), "{n} x {m}");
    }
}
