//! A program cut into its value and its derivative, a linear map.

mod common;
#[path = "common/forward.rs"]
mod forward;
#[path = "common/gradients.rs"]
mod gradients;
#[path = "common/loops.rs"]
mod loops;

use anvil_core::autodiff::{linearize, Linearized};
use anvil_core::graph::{Def, Operation, Value};
use anvil_core::ops::attrs::{Attr, Attrs};
use anvil_core::ops::{Builder, Graph, Op, While};
use anvil_core::tensor::Aval;
use common::Rng;
use forward::{directions, floats, linearized, point, pushed, run, types, Tensor};
use gradients::op;
use loops::{branches_in_loop, doubled, float, loop_in_loop, loop_shapes, looped, plain, region, Way};

fn graph_of(avals: &[Aval], program: impl FnOnce(&mut Builder, &[Value]) -> Vec<Value>) -> Graph {
    let mut b = Builder::default();
    let x: Vec<Value> = avals.iter().map(|aval| b.input(aval.clone())).collect();
    let outputs = program(&mut b, &x);
    b.finish(outputs)
}

/// The linear map is forward mode's, and computes no value of the program again.
fn check(what: &str, graph: &Graph, domains: &[[f64; 2]]) {
    let rng = &mut Rng::new(1);
    let avals = types(graph, graph.inputs());
    let active = floats(&avals);
    let pairs = avals.iter().zip(domains.iter().cycle());
    let x: Vec<Tensor> = pairs.map(|(aval, &domain)| point(rng, aval, domain, [0.3, 0.8])).collect();
    let ahead = pushed(graph, &active).unwrap();
    for _ in 0..3 {
        let v = directions(rng, &avals, &active);
        let expected = run(&ahead, &[&x, &v]).unwrap();
        let got = linearized(graph, &active, &x, &v).unwrap();
        assert_eq!(got.len(), expected.len(), "{what}");
        for (x, y) in got.iter().zip(&expected) {
            assert_eq!(x.floats(), y.floats(), "{what}");
        }
    }
    let Linearized { linear, .. } = linearize(graph, &active).unwrap();
    let mut of_tangents = vec![false; linear.values().count()];
    let residuals = linear.inputs().len() - active.len();
    linear.inputs()[residuals..].iter().for_each(|v| of_tangents[v.index()] = true);
    for node in linear.nodes() {
        let linear_here = node.operands.iter().any(|v| of_tangents[v.index()]);
        assert!(linear_here || node.op.moves_only(), "{what}: {} of values alone\n{linear}", node.op.name());
        node.results.iter().for_each(|v| of_tangents[v.index()] = linear_here);
    }
}

#[test]
fn the_linear_map_holds_no_function_of_values_alone() {
    let program = |b: &mut Builder, x: &[Value]| {
        let e = plain(b, "exp", &[x[0]]);
        let product = plain(b, "mul", &[e, x[1]]);
        let l = plain(b, "log", &[product]);
        let s = plain(b, "sin", &[product]);
        let ratio = plain(b, "div", &[s, l]);
        vec![plain(b, "mul", &[ratio, e]), plain(b, "floor", &[x[1]]), e]
    };
    let graph = graph_of(&[float(&[2]), float(&[2])], program);
    check("formula", &graph, &[[0.5, 1.5]]);
    let Linearized { value, linear } = linearize(&graph, &[0, 1]).unwrap();
    let names: Vec<&str> = linear.nodes().iter().map(|node| node.op.name()).collect();
    assert!(!names.iter().any(|name| ["exp", "log", "sin", "cos", "div"].contains(name)), "{linear}");
    // Each value is computed once, in the first graph.
    let exponentials = value.nodes().iter().filter(|node| node.op.name() == "exp").count();
    assert_eq!(exponentials, 1, "{value}");
    // Linear in all of its operands, it reads nothing of the program.
    let graph = graph_of(&[float(&[2, 3]), float(&[2, 3])], |b, x| vec![plain(b, "sub", x)]);
    let Linearized { value, linear } = linearize(&graph, &[0, 1]).unwrap();
    assert_eq!((value.outputs().len(), linear.inputs().len()), (1, 2), "{linear}");
}

#[test]
fn an_output_that_does_not_move_has_a_tangent_of_zeros() {
    let graph = graph_of(&[float(&[2]), float(&[2])], |b, x| vec![plain(b, "floor", &[x[0]]), x[1], x[0]]);
    let Linearized { linear, .. } = linearize(&graph, &[0]).unwrap();
    assert_eq!(linear.inputs().len(), 1);
    let v = [Tensor::Floats(vec![3.0.into(), 4.0.into()])];
    let made: Vec<Vec<f64>> =
        run(&linear, &[&v]).unwrap().iter().map(|x| x.floats().iter().map(|x| x.re).collect()).collect();
    assert_eq!(made, [[0.0, 0.0], [0.0, 0.0], [3.0, 4.0]]);
}

#[test]
fn branches_and_loops_are_linear_maps_too() {
    for (length, reverse, checkpoint) in [(0, false, false), (4, false, false), (4, true, true)] {
        let way = Way { length, reverse, checkpoint };
        let avals: Vec<Aval> = loop_shapes(length).iter().map(|shape| float(shape)).collect();
        check("scan", &graph_of(&avals, |b, x| looped(b, x, way)), &[[-1.0, 1.0]]);
    }
    let avals = [float(&[]), float(&[2, 3]), float(&[])];
    check("scan in scan", &graph_of(&avals, |b, x| loop_in_loop(b, x, false)), &[[-1.0, 1.0]]);
    let avals = [float(&[]), float(&[3]), float(&[]), float(&[])];
    check(
        "if in scan",
        &graph_of(&avals, branches_in_loop),
        &[[0.05, 0.1], [0.6, 0.9], [0.1, 0.2], [0.05, 0.1]],
    );
    // What comes after a loop reads the loop that was run for the value.
    let graph = graph_of(&[float(&[])], |b, x| {
        let y = doubled(b, x[0]);
        let y = plain(b, "sin", &[y]);
        vec![plain(b, "exp", &[y])]
    });
    check("while", &graph, &[[0.7, 0.9]]);
    let Linearized { value, linear } = linearize(&graph, &[0]).unwrap();
    let loops = |graph: &Graph| graph.nodes().iter().filter(|n| matches!(n.op, Op::While(_))).count();
    assert_eq!((loops(&value), loops(&linear)), (1, 1));
    let reads = |graph: &Graph| graph.nodes().iter().filter(|n| n.op.name() == "cos").count();
    assert_eq!((reads(&value), reads(&linear)), (1, 0), "{linear}");
}

fn printed(b: &mut Builder, x: Value) -> Value {
    op(b, "print", &[x], &Attrs::new().with("label", Attr::Text("x".into())))
}

#[test]
fn what_is_printed_is_printed_with_the_value() {
    let graph = graph_of(&[float(&[])], |b, x| {
        let shown = printed(b, x[0]);
        let cond = region(&[float(&[])], |b, x| vec![plain(b, "is_nan", &[x[0]])]);
        let body = region(&[float(&[])], |b, x| vec![printed(b, x[0])]);
        let last = b.node(While { cond, body, carried: 1, bound: None }, &[x[0]]).unwrap()[0];
        vec![plain(b, "mul", &[x[0], last]), shown]
    });
    let Linearized { value, linear } = linearize(&graph, &[0]).unwrap();
    let prints = |graph: &Graph| graph.nodes().iter().filter(|node| node.op.has_effect()).count();
    // The loop is in both, a print outside of loops is not.
    assert_eq!((prints(&value), prints(&linear)), (2, 1), "{value}{linear}");
    assert!(linear.outputs().iter().all(|&v| !matches!(linear.def(v), Def::Literal(_))));
}
