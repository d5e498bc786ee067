//! Forward mode through branches, loops and functions with derivatives of their own; its values at special
//! points; ambiguous types.

mod common;
#[path = "common/forward.rs"]
mod forward;
#[path = "common/gradients.rs"]
mod gradients;
#[path = "common/loops.rs"]
mod loops;

use anvil_core::dtype::{DType, Ranked};
use anvil_core::error::Error;
use anvil_core::graph::Value;
use anvil_core::ops::attrs::{Attr, Attrs};
use anvil_core::ops::{Builder, Convert, Custom, Derivative, Graph, If, Op, Scan, While};
use anvil_core::shape::Shape;
use anvil_core::tensor::{Aval, Literal};
use common::text::read_back;
use common::Rng;
use forward::{check, check_transpose, floats, from_output, point, pulled, pushed, run, types, Tensor};
use gradients::op;
use loops::{
    branches, branches_in_loop, doubled, float, loop_in_loop, loop_shapes, looped, number, plain, region, Way,
};
use std::slice;

fn integer() -> Aval {
    Aval::known(DType::I32, Shape::scalar())
}

/// The graph of a program on inputs of these types.
fn graph_of(avals: &[Aval], program: impl FnOnce(&mut Builder, &[Value]) -> Vec<Value>) -> Graph {
    let mut b = Builder::default();
    let x: Vec<Value> = avals.iter().map(|aval| b.input(aval.clone())).collect();
    let outputs = program(&mut b, &x);
    read_back(b.finish(outputs))
}

/// Checks a program with respect to all of its float inputs, and to each of them.
fn check_all(what: &str, graph: &Graph, domains: &[[f64; 2]], rng: &mut Rng) {
    let avals = types(graph, graph.inputs());
    let all = floats(&avals);
    for active in all.iter().map(|&i| vec![i]).chain([all.clone()]) {
        let pairs = avals.iter().zip(domains.iter().cycle());
        let x: Vec<Tensor> = pairs.map(|(aval, &domain)| point(rng, aval, domain, [0.3, 0.8])).collect();
        check(what, graph, &active, &x, rng);
    }
}

fn f64s(shapes: &[Shape]) -> Vec<Aval> {
    shapes.iter().map(|shape| Aval::known(DType::F64, shape.clone())).collect()
}

#[test]
fn branches_have_tangents() {
    let rng = &mut Rng::new(1);
    let graph =
        graph_of(&f64s(&[Shape::scalar(), Shape::scalar(), Shape::scalar()]), |b, x| vec![branches(b, x)]);
    for domains in [
        [[0.2, 0.4], [0.6, 0.9], [0.5, 1.0]],
        [[0.6, 0.9], [0.2, 0.4], [0.5, 1.0]],
        [[-0.9, -0.2], [0.2, 0.4], [0.5, 1.0]],
    ] {
        check_all("if", &graph, &domains, rng);
    }
    // One branch has a derivative, the other none; an integer beside.
    let half = region(&[float(&[]), integer()], |b, x| {
        let flat = plain(b, "floor", &[x[0]]);
        vec![flat, x[1]]
    });
    let full = region(&[float(&[]), integer()], |b, x| vec![plain(b, "sin", &[x[0]]), x[1]]);
    let graph = graph_of(&[float(&[]), integer()], |b, x| {
        let zero = number(b, 0.0);
        let pred = plain(b, "gt", &[x[0], zero]);
        b.node(Op::If(If { branches: [half, full] }), &[pred, x[0], x[1], x[0], x[1]]).unwrap()
    });
    check_all("floor or sin", &graph, &[[0.2, 0.8]], rng);
    check_all("floor or sin", &graph, &[[-0.8, -0.2]], rng);
}

#[test]
fn loops_along_an_axis_have_tangents() {
    let rng = &mut Rng::new(2);
    for length in [0, 1, 4] {
        for (reverse, checkpoint) in [(false, false), (true, false), (false, true), (true, true)] {
            let way = Way { length, reverse, checkpoint };
            let graph = graph_of(&f64s(&loop_shapes(length)), |b, x| looped(b, x, way));
            check_all("scan", &graph, &[[-1.0, 1.0]], rng);
        }
    }
    for checkpoint in [false, true] {
        let shapes = [Shape::scalar(), [2, 3].into(), Shape::scalar()];
        let graph = graph_of(&f64s(&shapes), |b, x| loop_in_loop(b, x, checkpoint));
        check_all("scan in scan", &graph, &[[-1.0, 1.0]], rng);
    }
    let shapes = [Shape::scalar(), [3].into(), Shape::scalar(), Shape::scalar()];
    let graph = graph_of(&f64s(&shapes), branches_in_loop);
    check_all("if in scan", &graph, &[[0.05, 0.1], [0.6, 0.9], [0.1, 0.2], [0.05, 0.1]], rng);
}

/// `(a, b, c)` becomes `(b, c, c x)`: `a` depends on `x` from the third iteration on.
fn shifted(b: &mut Builder, [a, first, second, x]: [Value; 4]) -> Vec<Value> {
    let _ = a;
    vec![first, second, plain(b, "mul", &[second, x])]
}

#[test]
fn states_that_come_to_depend_on_an_input_have_tangents() {
    let rng = &mut Rng::new(3);
    for length in [0, 1, 2, 3, 5] {
        let body = region(&[float(&[]), float(&[]), float(&[]), float(&[])], |b, x| {
            shifted(b, [x[0], x[1], x[2], x[3]])
        });
        let op = Scan { body, carried: 3, sliced: 0, length, reverse: false, last: false, checkpoint: false };
        let graph = graph_of(&[float(&[])], |b, x| {
            let start = [2.0, 3.0, 4.0].map(|x| number(b, x));
            b.node(Op::Scan(op), &[start[0], start[1], start[2], x[0]]).unwrap()
        });
        check_all("shifting scan", &graph, &[[0.5, 1.5]], rng);
    }
    let graph = shifting_while();
    for count in 0..6 {
        let n = Tensor::Other(i32::to_ne_bytes(count).to_vec());
        let x = point(rng, &float(&[]), [0.5, 1.5], [0.0, 0.0]);
        check("shifting while", &graph, &[1], &[n, x], rng);
    }
}

/// The loop above, as often as the first input says.
fn shifting_while() -> Graph {
    let state = [integer(), float(&[]), float(&[]), float(&[])];
    let cond = region(&[&state[..], &[integer()]].concat(), |b, x| vec![plain(b, "lt", &[x[0], x[4]])]);
    let body = region(&[&state[..], &[float(&[])]].concat(), |b, x| {
        let one = b.literal(Literal::new(1i32), None);
        let next = plain(b, "add", &[x[0], one]);
        [vec![next], shifted(b, [x[1], x[2], x[3], x[4]])].concat()
    });
    graph_of(&[integer(), float(&[])], |b, x| {
        let zero = b.literal(Literal::new(0i32), None);
        let start = [2.0, 3.0, 4.0].map(|x| number(b, x));
        let op = While { cond, body, carried: 4, bound: None };
        b.node(op, &[zero, start[0], start[1], start[2], x[0], x[1]]).unwrap()
    })
}

#[test]
fn loops_with_a_condition_have_tangents() {
    let rng = &mut Rng::new(4);
    let graph = graph_of(&[float(&[])], |b, x| vec![doubled(b, x[0])]);
    check_all("doubled", &graph, &[[0.7, 0.9]], rng);
    check_all("doubled", &graph, &[[12.0, 13.0]], rng);
    // Newton's iteration for the root of `a`, of which the body captures `a`, the condition both: the
    // derivative is that of the root.
    let newton = |b: &mut Builder, a: Value| {
        let cond = region(&[float(&[]), float(&[])], |b, x| {
            let square = plain(b, "mul", &[x[0], x[0]]);
            let gap = plain(b, "sub", &[square, x[1]]);
            let gap = plain(b, "abs", &[gap]);
            let small = number(b, 1e-12);
            vec![plain(b, "gt", &[gap, small])]
        });
        let body = region(&[float(&[]), float(&[])], |b, x| {
            let ratio = plain(b, "div", &[x[1], x[0]]);
            let sum = plain(b, "add", &[x[0], ratio]);
            let half = number(b, 0.5);
            vec![plain(b, "mul", &[sum, half])]
        });
        b.node(While { cond, body, carried: 1, bound: None }, &[a, a, a]).unwrap()[0]
    };
    let graph = graph_of(&[float(&[])], |b, x| vec![newton(b, x[0])]);
    let ahead = pushed(&graph, &[0]).unwrap();
    let one = |x: f64| [Tensor::Floats(vec![x.into()])];
    let made = run(&ahead, &[&one(2.0), &one(1.0)]).unwrap();
    assert!((made[1].floats()[0].re - 0.5 / 2f64.sqrt()).abs() < 1e-12, "{made:?}");
    // In a branch in a loop.
    let graph = graph_of(&[float(&[]), float(&[3])], |b, x| {
        let root = region(&[float(&[])], |b, x| vec![newton(b, x[0])]);
        let same = region(&[float(&[])], |_, x| vec![x[0]]);
        let body = region(&[float(&[]), float(&[])], |b, x| {
            let product = plain(b, "mul", &[x[0], x[1]]);
            let one = number(b, 1.0);
            let pred = plain(b, "gt", &[product, one]);
            let next = b.node(If { branches: [root, same] }, &[pred, product, product]).unwrap()[0];
            vec![next, product]
        });
        let op =
            Scan { body, carried: 1, sliced: 1, length: 3, reverse: true, last: false, checkpoint: false };
        b.node(op, &[x[0], x[1]]).unwrap()
    });
    let ahead = pushed(&graph, &[0, 1]).unwrap();
    let x = [Tensor::Floats(vec![0.5.into()]), Tensor::Floats([3.0, 0.5, 4.0].map(|x| x.into()).to_vec())];
    let v = [Tensor::Floats(vec![1.0.into()]), Tensor::Floats([0.0; 3].map(|x: f64| x.into()).to_vec())];
    let made = run(&ahead, &[&x, &v]).unwrap();
    // 0.5 becomes sqrt(4 x), half of that, three times this: sqrt(3/2 sqrt(4 x)).
    let expected = (1.5 * 2.0 * 0.5f64.sqrt()).sqrt();
    assert!((made[0].floats()[0].re - expected).abs() < 1e-12, "{made:?}");
    assert!((made[2].floats()[0].re - expected / 4.0 / 0.5).abs() < 1e-10, "{made:?}");
}

/// `(x^2 w n, n)`, with a rule for its tangent; `w` is captured.
fn squared() -> Custom {
    let (x, n, w) = (float(&[2]), integer(), float(&[2]));
    let value = |b: &mut Builder, x: Value, n: Value, w: Value| {
        let to = Ranked::known(DType::F64);
        let n = b.node1(Convert { to }, &[n]).unwrap();
        let n = op(b, "broadcast_to", &[n], &Attrs::new().with("shape", gradients::numbers(&[2])));
        let scaled = plain(b, "mul", &[w, n]);
        let product = plain(b, "mul", &[x, scaled]);
        (plain(b, "mul", &[x, product]), product)
    };
    let call = region(&[x.clone(), n.clone(), w.clone()], |b, v| {
        let (value, _) = value(b, v[0], v[1], v[2]);
        vec![value, v[1]]
    });
    let rule = region(&[x.clone(), n, x, w], |b, v| {
        let (value, half) = value(b, v[0], v[1], v[3]);
        let slope = plain(b, "add", &[half, half]);
        vec![value, v[1], plain(b, "mul", &[v[2], slope])]
    });
    Custom { call, arguments: 2, derivative: Derivative::Forward(rule) }
}

#[test]
fn a_rule_for_forward_mode_serves_both_modes() {
    let rng = &mut Rng::new(5);
    let inputs = [float(&[2]), integer(), float(&[2])];
    let graph = graph_of(&inputs, |b, x| b.node(squared(), &[x[0], x[1], x[2], x[2]]).unwrap());
    // With respect to the argument; what is captured is a constant.
    let x: Vec<Tensor> = inputs.iter().map(|aval| point(rng, aval, [0.5, 1.5], [0.0, 0.0])).collect();
    assert!(check("custom_jvp", &graph, &[0], &x, rng));
    let back = pulled(&graph, &[0, 2]).unwrap();
    let u = [Tensor::Floats(vec![1.0.into(), 1.0.into()])];
    let made = run(&from_output(&back, 2), &[&x, &u]).unwrap();
    assert!(made[1].floats().iter().all(|g| g.norm() == 0.0), "{made:?}");
    check_transpose("custom_jvp", &graph, &[0, 2], &x, rng);
    // In loops and branches, and inside of another one.
    for checkpoint in [false, true] {
        let body = region(&[float(&[2]), float(&[2]), integer()], |b, x| {
            let made = b.node(squared(), &[x[0], x[2], x[1], x[1]]).unwrap()[0];
            let half = number(b, 0.5);
            let next = plain(b, "mul", &[made, half]);
            vec![plain(b, "sin", &[next]), made]
        });
        let op = Scan { body, carried: 1, sliced: 1, length: 3, reverse: false, last: false, checkpoint };
        let graph = graph_of(&[float(&[2]), float(&[3, 2]), integer()], |b, x| b.node(op, x).unwrap());
        let types = types(&graph, graph.inputs());
        let mut x: Vec<Tensor> = types.iter().map(|aval| point(rng, aval, [0.5, 1.5], [0.0, 0.0])).collect();
        x[2] = Tensor::Other(i32::to_ne_bytes(2).to_vec());
        assert!(check("custom_jvp in scan", &graph, &[0], &x, rng));
    }
}

#[test]
fn a_rule_for_reverse_mode_is_none_for_forward_mode() {
    let twice = region(&[float(&[])], |b, x| vec![plain(b, "add", &[x[0], x[0]])]);
    let forward = region(&[float(&[])], |b, x| vec![plain(b, "add", &[x[0], x[0]])]);
    let backward = region(&[float(&[])], |_, x| vec![x[0]]);
    let derivative = Derivative::Reverse { forward, backward, targets: vec![0] };
    let custom = Custom { call: twice, arguments: 1, derivative };
    let graph = graph_of(&[float(&[])], |b, x| b.node(custom.clone(), x).unwrap());
    match pushed(&graph, &[0]).unwrap_err() {
        Error::NoGradient { op, why } => {
            assert!(op == "custom_gradient" && why.contains("custom_jvp()"), "{op} {why}")
        }
        error => panic!("{error}"),
    }
    // Where nothing is derived through it, it is no obstacle.
    let graph = graph_of(&[float(&[]), float(&[])], |b, x| {
        let y = b.node(custom, &x[..1]).unwrap();
        vec![plain(b, "mul", &[y[0], x[1]])]
    });
    let rng = &mut Rng::new(6);
    let x: Vec<Tensor> = (0..2).map(|_| point(rng, &float(&[]), [0.5, 1.5], [0.0, 0.0])).collect();
    assert!(check("beside custom_gradient", &graph, &[1], &x, rng));
}

/// Result and tangent of an op of numbers.
fn tangent(name: &str, x: &[f64], v: &[f64], attrs: &Attrs) -> f64 {
    let graph = graph_of(&f64s(&vec![Shape::scalar(); x.len()]), |b, x| vec![op(b, name, x, attrs)]);
    let all: Vec<usize> = (0..x.len()).collect();
    let of = |x: &[f64]| -> Vec<Tensor> { x.iter().map(|&x| Tensor::Floats(vec![x.into()])).collect() };
    run(&pushed(&graph, &all).unwrap(), &[&of(x), &of(v)]).unwrap()[1].floats()[0].re
}

#[test]
fn special_points() {
    let of = |name, x: &[f64], v: &[f64]| tangent(name, x, v, &Attrs::new());
    // Ties have the mean.
    assert_eq!(of("max", &[1.0, 1.0], &[2.0, 4.0]), 3.0);
    assert_eq!(of("min", &[1.0, 1.0], &[2.0, 4.0]), 3.0);
    assert_eq!(of("abs", &[0.0], &[5.0]), 0.0);
    assert_eq!(of("sqrt", &[0.0], &[1.0]), f64::INFINITY);
    assert_eq!(of("pow", &[0.0, 2.0], &[1.0, 0.0]), 0.0);
    assert_eq!(of("pow", &[-2.0, 3.0], &[1.0, 0.0]), 12.0);
    // At a bound, the operand has the tangent.
    assert_eq!(of("clamp", &[0.0, 0.0, 1.0], &[2.0, 3.0, 4.0]), 3.0);
    assert_eq!(of("clamp", &[0.0, -1.0, 1.0], &[2.0, 3.0, 4.0]), 2.0);
    assert_eq!(of("clamp", &[0.0, 2.0, 1.0], &[2.0, 3.0, 4.0]), 4.0);
}

#[test]
fn a_zero_tangent_or_gradient_makes_no_nan_of_an_infinite_slope() {
    let infinite = f64::INFINITY;
    let of = |name, x: &[f64], v: &[f64]| tangent(name, x, v, &Attrs::new());
    // Slopes that are infinite or not a number, along a direction in which the operand stays.
    for name in ["sqrt", "log", "rsqrt", "lgamma", "digamma", "cbrt"] {
        assert_eq!(of(name, &[0.0], &[0.0]), 0.0, "{name}");
    }
    assert_eq!(of("mul", &[infinite, 2.0], &[1.0, 0.0]), 2.0);
    assert_eq!(of("mul", &[infinite, f64::NAN], &[0.0, 0.0]), 0.0);
    assert_eq!(of("div", &[1.0, 0.0], &[0.0, 0.0]), 0.0);
    assert_eq!(of("pow", &[0.0, 0.5], &[0.0, 1.0]), 0.0);
    // The same for gradients that are 0; the rule of products of matrices is a sum of products, where 0 times
    // infinity is not a number in both modes, as in the product itself.
    let back = |name: &'static str, x: &[f64], g: f64| {
        let graph = graph_of(&f64s(&vec![Shape::scalar(); x.len()]), |b, x| vec![plain(b, name, x)]);
        let all: Vec<usize> = (0..x.len()).collect();
        let x: Vec<Tensor> = x.iter().map(|&x| Tensor::Floats(vec![x.into()])).collect();
        let made = run(&pulled(&graph, &all).unwrap(), &[&x, &[Tensor::Floats(vec![g.into()])]]).unwrap();
        made[1..].iter().map(|g| g.floats()[0].re).collect::<Vec<_>>()
    };
    assert_eq!(back("mul", &[infinite, f64::NAN], 0.0), [0.0, 0.0]);
    assert_eq!(back("div", &[1.0, 0.0], 0.0), [0.0, 0.0]);
    assert_eq!(back("sqrt", &[0.0], 0.0), [0.0]);
    let product = graph_of(&[float(&[1, 2]), float(&[2, 1])], |b, x| vec![plain(b, "matmul", x)]);
    let [x, y] = [[infinite, 1.0], [1.0, 1.0]].map(|x| Tensor::Floats(x.map(Into::into).to_vec()));
    let v = [[0.0, 0.0], [0.0, 1.0]].map(|x: [f64; 2]| Tensor::Floats(x.map(Into::into).to_vec()));
    let made = run(&pushed(&product, &[0, 1]).unwrap(), &[&[x, y], &v]).unwrap();
    assert!(made[1].floats()[0].re.is_nan(), "{made:?}");
}

#[test]
fn reductions_at_ties_and_zeros() {
    let all = Attrs::new().with("axes", Attr::Null).with("drop", Attr::Logical(true));
    let of = |name: &str, x: &[f64], v: &[f64]| {
        let graph = graph_of(&[float(&[x.len()])], |b, x| vec![op(b, name, x, &all)]);
        let [x, v] = [x, v].map(|x| [Tensor::Floats(x.iter().map(|&x| x.into()).collect())]);
        run(&pushed(&graph, &[0]).unwrap(), &[&x, &v]).unwrap()[1].floats()[0].re
    };
    assert_eq!(of("reduce_prod", &[2.0, 0.0, 3.0], &[1.0, 1.0, 1.0]), 6.0);
    assert_eq!(of("reduce_prod", &[2.0, 0.0, 0.0], &[1.0, 1.0, 1.0]), 0.0);
    assert_eq!(of("reduce_max", &[2.0, 2.0, 1.0], &[1.0, 4.0, 9.0]), 2.5);
    assert_eq!(of("reduce_min", &[2.0, 1.0, 1.0], &[1.0, 4.0, 9.0]), 6.5);
}

#[test]
fn integers_in_the_middle_have_no_tangent() {
    let graph = graph_of(&[float(&[])], |b, x| {
        let to = Ranked::known(DType::I32);
        let whole = b.node1(Convert { to }, &[x[0]]).unwrap();
        vec![plain(b, "mul", &[whole, x[0]]), whole]
    });
    let ahead = pushed(&graph, &[0]).unwrap();
    let made =
        run(&ahead, &[&[Tensor::Floats(vec![2.5.into()])], &[Tensor::Floats(vec![1.0.into()])]]).unwrap();
    // Two results, and a tangent of the first one.
    assert_eq!((made.len(), made[2].floats()[0].re), (3, 2.0));
}

#[test]
fn ambiguous_values_have_ambiguous_tangents() {
    let rng = &mut Rng::new(7);
    let ranked = |dtype, ambiguous| Ranked { dtype, ambiguous };
    let of = |ranked, shape: &[usize]| Aval::new(ranked, Shape::try_new(shape.to_vec()).unwrap());
    let inputs = [
        of(ranked(DType::F32, true), &[2]),
        of(ranked(DType::F32, false), &[2]),
        of(ranked(DType::F64, true), &[]),
        of(ranked(DType::C64, true), &[2]),
        of(ranked(DType::I32, true), &[2]),
        of(ranked(DType::BF16, false), &[]),
    ];
    let graph = graph_of(&inputs, |b, x| {
        let square = plain(b, "mul", &[x[0], x[0]]);
        let known = plain(b, "mul", &[square, x[1]]);
        let wide = plain(b, "mul", &[x[0], x[2]]);
        let whole = plain(b, "mul", &[x[4], x[0]]);
        let complex = plain(b, "mul", &[x[3], x[0]]);
        let narrow = plain(b, "mul", &[x[5], x[2]]);
        let half = b.literal(Literal::new(0.5), Some(DType::F32));
        let plain_number = plain(b, "exp", &[half]);
        let scaled = plain(b, "mul", &[plain_number, x[0]]);
        vec![square, known, wide, whole, complex, narrow, scaled, x[0], x[4]]
    });
    check_all("ambiguous", &graph, &[[0.5, 1.5]], rng);
    // A state that begins as a number and becomes known.
    let state = of(ranked(DType::F32, true), &[2]);
    let known = of(ranked(DType::F32, false), &[2]);
    let body = region(&[state, known], |b, x| vec![plain(b, "mul", &[x[0], x[1]])]);
    let op = Scan { body, carried: 1, sliced: 0, length: 3, reverse: false, last: false, checkpoint: false };
    let (op, to) = op.from_types(&[ranked(DType::F32, true)]).unwrap();
    let graph = graph_of(&inputs[..2], |b, x| {
        let start = b.node1(Convert { to: to[0] }, slice::from_ref(&x[0])).unwrap();
        b.node(op, &[start, x[1]]).unwrap()
    });
    check_all("a state that becomes known", &graph, &[[0.5, 1.5]], rng);
}
