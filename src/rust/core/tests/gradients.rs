//! Every derivative rule against central differences in f64, first and second order: elementwise ops,
//! reductions, layout and products. Slices are in `gradients_slices.rs`, branches and loops in
//! `gradients_control.rs`.

mod common;
#[path = "common/gradients.rs"]
mod gradients;

use anvil_core::dtype::DType;
use anvil_core::error::Error;
use anvil_core::graph::Value;
use anvil_core::ops::attrs::{Attr, Attrs};
use anvil_core::ops::{rows, Builder, Row, Special};
use anvil_core::shape::Shape;
use anvil_core::tensor::Literal;
use common::Rng;
use gradients::{
    agrees, check, constant, domains, gradient, has_first_order_alone, inputs, numbers, op, run, scalar,
    underived, uniform,
};
use std::slice;

#[test]
fn elementwise_rules_agree_with_differences() {
    let rng = &mut Rng::new(1);
    let mut seen = 0;
    for row in rows().filter(|row| row.accepts.contains(DType::F64)) {
        let elementwise = row.generated || row.function == "nv_round";
        if !underived(row.name).is_empty() || has_first_order_alone(row.name) {
            seen += 1;
            special_rule(row, rng);
            continue;
        }
        let elementwise = elementwise || Special::ALL.iter().any(|op| op.row().name == row.name);
        let compares =
            ["eq", "ne", "lt", "le", "gt", "ge"].contains(&row.name) || row.name.starts_with("is_");
        // What it is for is to differ from the differences.
        if !elementwise || compares || row.name == "stop_gradient" {
            continue;
        }
        seen += 1;
        let domains = domains(row.name);
        let sizes: Vec<usize> = (0..=rng.below(3)).map(|_| 1 + rng.below(3)).collect();
        let shape = Shape::try_new(sizes).unwrap();
        let shapes: Vec<Shape> = row.operands.iter().map(|_| shape.clone()).collect();
        if row.name == "polygamma" {
            // The order has no derivative; the argument has.
            let program = |b: &mut Builder, x: &[Value]| {
                let two = b.literal(Literal::new(2.0), None);
                op(b, "polygamma", &[two, x[0]], &Attrs::new())
            };
            check(row.name, &program, &shapes[..1], &domains[1..], rng);
            let all = |b: &mut Builder, x: &[Value]| op(b, "polygamma", x, &Attrs::new());
            let error = gradient(&scalar(&all, &shapes, 1), &shapes).unwrap_err();
            assert!(matches!(error, Error::NoGradient { .. }), "{error}");
            continue;
        }
        check(row.name, &|b, x| op(b, row.name, x, &Attrs::new()), &shapes, &domains, rng);
        // 0-d and empty.
        for shape in [Shape::scalar(), [0, 2].into()] {
            let shapes: Vec<Shape> = row.operands.iter().map(|_| shape.clone()).collect();
            check(row.name, &|b, x| op(b, row.name, x, &Attrs::new()), &shapes, &domains, rng);
        }
    }
    assert!(seen > 40, "{seen}");
}

/// The derivatives of a special function that has not all: of first order, and of second order with respect to
/// the last operand, as the parameters have none.
fn special_rule(row: &'static Row, rng: &mut Rng) {
    let domains = domains(row.name);
    let none = underived(row.name);
    let shape = Shape::from([2]);
    let values: Vec<f64> = domains.iter().map(|&range| uniform(rng, range)).collect();
    let derived: Vec<usize> = (0..values.len()).filter(|i| !none.contains(i)).collect();
    for &i in &derived {
        let program = |b: &mut Builder, x: &[Value]| {
            let operands: Vec<Value> = (0..values.len())
                .map(|j| if i == j { x[0] } else { constant(b, &[values[j]; 2], &shape) })
                .collect();
            op(b, row.name, &operands, &Attrs::new())
        };
        let what = format!("{} by operand {i} at {values:?}", row.name);
        let shapes = slice::from_ref(&shape);
        // The order of an exponential integral steps from one whole number to the next.
        let is_parameter = i + 1 < values.len() && row.name != "expint";
        if is_parameter && has_first_order_alone(row.name) {
            let point = vec![vec![values[i], values[i] * 1.01]];
            agrees(&what, &scalar(&program, shapes, 5), shapes, &point, rng);
        } else {
            check(&what, &program, shapes, &domains[i..=i], rng);
        }
    }
    for &i in &none {
        let shapes = vec![shape.clone(); values.len()];
        let all = |b: &mut Builder, x: &[Value]| op(b, row.name, x, &Attrs::new());
        let error = gradient(&scalar(&all, &shapes, 1), &shapes).unwrap_err();
        assert!(matches!(error, Error::NoGradient { .. }), "{} by operand {i}: {error}", row.name);
    }
}

/// Functions of complex numbers by way of their parts: the derivative of the one is four of the others.
#[test]
fn elementwise_rules_on_complex_numbers_agree_with_differences() {
    let rng = &mut Rng::new(3);
    let mut seen = 0;
    for row in rows().filter(|row| row.generated && row.accepts.contains(DType::C128)) {
        let flat = ["eq", "ne", "stop_gradient"].contains(&row.name) || row.name.starts_with("is_");
        if flat || row.name == "complex" {
            continue;
        }
        seen += 1;
        let count = row.operands.len();
        let program = |b: &mut Builder, x: &[Value]| {
            let z: Vec<Value> =
                (0..count).map(|i| op(b, "complex", &x[2 * i..2 * i + 2], &Attrs::new())).collect();
            let y = op(b, row.name, &z, &Attrs::new());
            if !b.graph().aval(y).dtype.is_complex() {
                return y;
            }
            let [re, im] = ["real", "imag"].map(|part| op(b, part, &[y], &Attrs::new()));
            op(b, "concatenate", &[re, im], &Attrs::new().with("axis", numbers(&[1])))
        };
        // Off the axes, where functions are cut; not near 0, where some have poles.
        let shapes: Vec<Shape> = (0..2 * count).map(|_| [2].into()).collect();
        check(&format!("complex {}", row.name), &program, &shapes, &[[0.4, 0.9], [0.3, 0.8]], rng);
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn rules_of_structured_ops_agree_with_differences() {
    let rng = &mut Rng::new(2);
    let attrs = Attrs::new;
    let text = |x: &str| Attr::Text(x.into());
    let around = [[-1.5, 1.5]];
    let (matrix, cube): (Shape, Shape) = ([2, 3].into(), [2, 3, 2].into());
    for fold in ["reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_squares"] {
        for (axes, drop) in [
            (Attr::Null, true),
            (numbers(&[2]), true),
            (numbers(&[3, 1]), false),
            (Attr::Numbers(vec![]), true),
        ] {
            let attrs = attrs().with("axes", axes).with("drop", Attr::Logical(drop));
            check(fold, &|b, x| op(b, fold, x, &attrs), slice::from_ref(&cube), &around, rng);
        }
    }
    for order in ["row", "column"] {
        let attrs = attrs().with("shape", numbers(&[3, 4])).with("order", text(order));
        check("reshape", &|b, x| op(b, "reshape", x, &attrs), slice::from_ref(&cube), &around, rng);
    }
    let permuted = attrs().with("permutation", numbers(&[3, 1, 2]));
    check("transpose", &|b, x| op(b, "transpose", x, &permuted), slice::from_ref(&cube), &around, rng);
    for from in [Shape::scalar(), [3, 1].into(), [1, 1, 2].into()] {
        let attrs = attrs().with("shape", numbers(&[2, 3, 2]));
        check("broadcast", &|b, x| op(b, "broadcast_to", x, &attrs), &[from], &around, rng);
    }
    check("matmul", &|b, x| op(b, "matmul", x, &Attrs::new()), &[[2, 3].into(), [3, 4].into()], &around, rng);
    // Batches and contracted axes out of order.
    let pair = |l: &[usize], r: &[usize]| Attr::List(vec![numbers(l), numbers(r)]);
    let general =
        attrs().with("contracting_axes", pair(&[4, 1], &[1, 3])).with("batching_axes", pair(&[3], &[2]));
    let shapes = [[2, 4, 3, 5].into(), [5, 3, 2, 2].into()];
    check("dot_general", &|b, x| op(b, "dot_general", x, &general), &shapes, &around, rng);
    let drop = attrs().with("axes", numbers(&[1])).with("drop", Attr::Logical(true));
    check("mean", &|b, x| op(b, "mean", x, &drop), slice::from_ref(&matrix), &around, rng);
    let sample = drop.clone().with("correction", numbers(&[1]));
    check("var", &|b, x| op(b, "var", x, &sample), slice::from_ref(&matrix), &around, rng);
    let clamp = |b: &mut Builder, x: &[Value]| op(b, "clamp", x, &Attrs::new());
    for domains in [
        [[0.1, 0.2], [0.3, 0.6], [0.7, 0.9]],
        [[0.1, 0.2], [-0.6, 0.0], [0.7, 0.9]],
        [[0.1, 0.2], [1.0, 2.0], [0.7, 0.9]],
    ] {
        check("clamp", &clamp, &[matrix.clone(), matrix.clone(), matrix.clone()], &domains, rng);
    }
    let choose = |b: &mut Builder, x: &[Value]| {
        let larger = op(b, "gt", x, &Attrs::new());
        op(b, "select", &[larger, x[0], x[1]], &Attrs::new())
    };
    check("select", &choose, &[matrix.clone(), matrix.clone()], &around, rng);
    // By way of complex numbers.
    let modulus = |b: &mut Builder, x: &[Value]| {
        let z = op(b, "complex", x, &Attrs::new());
        let z = op(b, "exp", &[z], &Attrs::new());
        let w = op(b, "conj", &[z], &Attrs::new());
        let [re, im] = ["real", "imag"].map(|part| op(b, part, &[w], &Attrs::new()));
        let [size, angle] = ["abs", "arg"].map(|part| op(b, part, &[z], &Attrs::new()));
        [re, im, size, angle].into_iter().reduce(|x, y| op(b, "mul", &[x, y], &Attrs::new())).unwrap()
    };
    check("complex", &modulus, &[matrix.clone(), matrix], &[[0.2, 1.2]], rng);
}

/// Gradient of the sum of an op's results at one point.
fn slope(name: &str, x: &[f64], attrs: &Attrs) -> Vec<f64> {
    let shapes: Vec<Shape> = x.iter().map(|_| Shape::scalar()).collect();
    let mut b = Builder::default();
    let values = inputs(&mut b, &shapes);
    let y = op(&mut b, name, &values, attrs);
    let gradients = gradient(&b.finish(vec![y]), &shapes).unwrap();
    run(&gradients, &x.iter().map(|&x| vec![x]).collect::<Vec<_>>()).concat()
}

#[test]
fn special_points() {
    let slope = |name, x: &[f64]| slope(name, x, &Attrs::new());
    // Ties are split.
    assert_eq!(slope("max", &[1.0, 1.0]), [0.5, 0.5]);
    assert_eq!(slope("min", &[1.0, 1.0]), [0.5, 0.5]);
    assert_eq!(slope("abs", &[0.0]), [0.0]);
    // Powers at 0 and of negative bases.
    assert_eq!(slope("pow", &[0.0, 2.0])[0], 0.0);
    assert_eq!(slope("pow", &[0.0, 1.0])[0], 1.0);
    assert_eq!(slope("pow", &[0.0, 0.0]), [0.0, 0.0]);
    assert_eq!(slope("pow", &[-2.0, 3.0])[0], 12.0);
    assert_eq!(slope("pow", &[3.0, 0.0])[0], 0.0);
    // The root is vertical at 0.
    assert_eq!(slope("sqrt", &[0.0]), [f64::INFINITY]);
    // At a bound, the operand has the gradient.
    assert_eq!(slope("clamp", &[0.0, 0.0, 1.0]), [0.0, 1.0, 0.0]);
    assert_eq!(slope("clamp", &[0.0, 1.0, 1.0]), [0.0, 1.0, 0.0]);
    assert_eq!(slope("clamp", &[0.0, -1.0, 1.0]), [1.0, 0.0, 0.0]);
    assert_eq!(slope("clamp", &[0.0, 2.0, 1.0]), [0.0, 0.0, 1.0]);
}

#[test]
fn products_with_zeros_and_tied_maxima() {
    let all = Attrs::new().with("axes", Attr::Null).with("drop", Attr::Logical(true));
    let of = |name: &str, x: &[f64]| {
        let shapes = [[x.len()].into()];
        let mut b = Builder::default();
        let values = inputs(&mut b, &shapes);
        let y = op(&mut b, name, &values, &all);
        run(&gradient(&b.finish(vec![y]), &shapes).unwrap(), &[x.to_vec()]).concat()
    };
    assert_eq!(of("reduce_prod", &[2.0, 0.0, 3.0]), [0.0, 6.0, 0.0]);
    assert_eq!(of("reduce_prod", &[2.0, 0.0, 0.0]), [0.0, 0.0, 0.0]);
    assert_eq!(of("reduce_prod", &[2.0, 4.0, 3.0]), [12.0, 6.0, 8.0]);
    assert_eq!(of("reduce_max", &[2.0, 2.0, 1.0]), [0.5, 0.5, 0.0]);
    assert_eq!(of("reduce_min", &[2.0, 1.0, 1.0]), [0.0, 0.5, 0.5]);
}

#[test]
fn what_a_select_does_not_take_has_no_say() {
    // x > 0 ? f(x) : 0 at 0, where f or its derivative is infinite or NaN.
    for name in ["sqrt", "log", "rsqrt", "lgamma", "digamma", "acosh", "cbrt"] {
        let mut b = Builder::default();
        let x = inputs(&mut b, &[Shape::scalar()])[0];
        let zero = b.literal(Literal::new(0.0), None);
        let positive = op(&mut b, "gt", &[x, zero], &Attrs::new());
        let f = op(&mut b, name, &[x], &Attrs::new());
        let xf = op(&mut b, "mul", &[x, f], &Attrs::new());
        let ratio = op(&mut b, "div", &[xf, x], &Attrs::new());
        let y = op(&mut b, "select", &[positive, ratio, zero], &Attrs::new());
        let gradients = gradient(&b.finish(vec![y]), &[Shape::scalar()]).unwrap();
        assert_eq!(run(&gradients, &[vec![0.0]]), [[0.0]], "{name}");
    }
}

#[test]
fn integers_in_the_middle_have_no_gradient() {
    let mut b = Builder::default();
    let x = inputs(&mut b, &[Shape::scalar()])[0];
    let whole = op(
        &mut b,
        "convert",
        &[x],
        &Attrs::new().with("dtype", Attr::Text("i32".into())).with("ambiguous", Attr::Logical(false)),
    );
    let y = op(&mut b, "mul", &[whole, x], &Attrs::new());
    let gradients = gradient(&b.finish(vec![y]), &[Shape::scalar()]).unwrap();
    assert_eq!(run(&gradients, &[vec![2.5]]), [[2.0]]);
}
