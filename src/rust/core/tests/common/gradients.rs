//! Comparison of derivatives with central differences, for the tests of the rules.
//!
//! A function `F` of some tensors becomes the number `s = <w, F(x)>`; its gradient along a direction `v` is
//! held against `(s(x + hv) - s(x - hv)) / 2h`. Then the same is done for the number `<u, gradient of s>`,
//! whose gradient needs the rules of the ops in the first gradient.
#![allow(dead_code)] // each test file uses a part

use crate::common::text::read_back;
use crate::common::Rng;
use anvil_core::apply::Applier;
use anvil_core::autodiff::Tape;
use anvil_core::dtype::promote::rules;
use anvil_core::dtype::DType;
use anvil_core::error::Error;
use anvil_core::exec::reference::evaluate;
use anvil_core::graph::Value;
use anvil_core::ops::attrs::{Attr, Attrs};
use anvil_core::ops::{Builder, Graph, Math, Special};
use anvil_core::shape::Shape;
use anvil_core::tensor::{Aval, Literal};

/// A function of tensors, as nodes.
pub type Program<'a> = dyn Fn(&mut Builder, &[Value]) -> Value + 'a;

/// Step of the differences. Their error is about `h^2` of the third derivative, plus `1e-16 / h` of the
/// value.
pub const STEP: f64 = 1e-5;
/// Both errors, for derivatives of up to a few hundred.
pub const TOLERANCE: f64 = 2e-6;

/// Applies an op as a user would.
pub fn op(b: &mut Builder, name: &str, operands: &[Value], attrs: &Attrs) -> Value {
    Applier::new(b, rules()).apply(name, operands, attrs).unwrap_or_else(|e| panic!("{name}: {e}"))[0]
}

/// The sum of products with a tensor of fixed random numbers.
pub fn inner(b: &mut Builder, x: Value, rng: &mut Rng) -> Value {
    let shape = b.graph().aval(x).shape.clone();
    let weights: Vec<f64> = (0..shape.size()).map(|_| uniform(rng, [0.5, 1.5])).collect();
    // Numbers away from 0, so that no part of `x` goes unseen.
    let weights = constant(b, &weights, &shape);
    let product = op(b, "mul", &[x, weights], &Attrs::new());
    let all = Attrs::new().with("axes", Attr::Null).with("drop", Attr::Logical(true));
    op(b, "reduce_sum", &[product], &all)
}

/// Fixed numbers of some dtype in column-major order: joined one by one, since a graph has no other way to
/// hold them.
pub fn fixed(b: &mut Builder, numbers: &[Literal], zero: Literal, shape: &Shape) -> Value {
    let flat = if numbers.is_empty() {
        let shape = Attrs::new().with("shape", self::numbers(&[0]));
        let zero = b.literal(zero, None);
        op(b, "broadcast_to", &[zero], &shape)
    } else {
        let one = Attrs::new().with("shape", self::numbers(&[1]));
        let parts: Vec<Value> = numbers
            .iter()
            .map(|&x| {
                let x = b.literal(x, None);
                op(b, "broadcast_to", &[x], &one)
            })
            .collect();
        op(b, "concatenate", &parts, &Attrs::new().with("axis", self::numbers(&[1])))
    };
    let shape = Attrs::new().with("shape", self::numbers(shape)).with("order", Attr::Text("column".into()));
    op(b, "reshape", &[flat], &shape)
}

/// Fixed numbers in f64.
pub fn constant(b: &mut Builder, x: &[f64], shape: &Shape) -> Value {
    fixed(b, &x.iter().map(|&x| Literal::new(x)).collect::<Vec<_>>(), Literal::new(0.0), shape)
}

/// Fixed numbers in i32.
pub fn integers(b: &mut Builder, x: &[i32], shape: &[usize]) -> Value {
    fixed(
        b,
        &x.iter().map(|&x| Literal::new(x)).collect::<Vec<_>>(),
        Literal::new(0i32),
        &Shape::try_new(shape.to_vec()).unwrap(),
    )
}

pub fn numbers(x: &[usize]) -> Attr {
    Attr::Numbers(x.iter().map(|&x| x as f64).collect())
}

pub fn uniform(rng: &mut Rng, [low, high]: [f64; 2]) -> f64 {
    low + (high - low) * (rng.below(1 << 30) as f64 / f64::from(1 << 30))
}

pub fn inputs(b: &mut Builder, shapes: &[Shape]) -> Vec<Value> {
    shapes.iter().map(|shape| b.input(Aval::known(DType::F64, shape.clone()))).collect()
}

/// The number `<w, F(x)>` as a graph.
pub fn scalar(program: &Program, shapes: &[Shape], seed: u64) -> Graph {
    let mut b = Builder::default();
    let x = inputs(&mut b, shapes);
    let y = program(&mut b, &x);
    let s = inner(&mut b, y, &mut Rng::new(seed));
    read_back(b.finish(vec![s]))
}

/// The gradients of a graph of one number, as another graph.
pub fn gradient(graph: &Graph, shapes: &[Shape]) -> Result<Graph, Error> {
    let mut b = Builder::default();
    let x = inputs(&mut b, shapes);
    let all: Vec<usize> = (0..shapes.len()).collect();
    let tape = Tape::record(&mut b, graph, &x, &all)?;
    let one = b.literal(Literal::new(1.0), None);
    let gradients = tape.pull(&mut b, &[Some(one)], &all)?;
    Ok(read_back(b.finish(gradients)))
}

/// The number `<u, gradients>` as a graph.
pub fn weighed(gradients: &Graph, shapes: &[Shape], seed: u64) -> Graph {
    let mut b = Builder::default();
    let x = inputs(&mut b, shapes);
    let outputs = Tape::record(&mut b, gradients, &x, &[]).expect("a sound graph").outputs();
    let rng = &mut Rng::new(seed);
    let parts: Vec<Value> = outputs.iter().map(|&g| inner(&mut b, g, rng)).collect();
    let sum = parts.into_iter().reduce(|x, y| op(&mut b, "add", &[x, y], &Attrs::new())).expect("some input");
    read_back(b.finish(vec![sum]))
}

pub fn run(graph: &Graph, x: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let bytes: Vec<Vec<u8>> = x.iter().map(|x| x.iter().flat_map(|v| v.to_ne_bytes()).collect()).collect();
    let bytes: Vec<&[u8]> = bytes.iter().map(|x| x.as_slice()).collect();
    let read = |x: Vec<u8>| x.chunks(8).map(|c| f64::from_ne_bytes(c.try_into().unwrap())).collect();
    evaluate(graph, &bytes, &[]).expect("positions fit").into_iter().map(read).collect()
}

/// Holds the gradient of a graph of one number to differences along a random direction.
pub fn agrees(what: &str, graph: &Graph, shapes: &[Shape], x: &[Vec<f64>], rng: &mut Rng) -> Graph {
    let gradients = gradient(graph, shapes).unwrap_or_else(|e| panic!("{what}: {e}"));
    let direction: Vec<Vec<f64>> =
        x.iter().map(|x| x.iter().map(|_| uniform(rng, [-1.0, 1.0])).collect()).collect();
    let moved = |h: f64| {
        let x: Vec<Vec<f64>> = x
            .iter()
            .zip(&direction)
            .map(|(x, v)| x.iter().zip(v).map(|(x, v)| x + h * v).collect())
            .collect();
        run(graph, &x)[0][0]
    };
    let expected = (moved(STEP) - moved(-STEP)) / (2.0 * STEP);
    let got: f64 =
        run(&gradients, x).iter().flatten().zip(direction.iter().flatten()).map(|(g, v)| g * v).sum();
    let size = expected.abs().max(1.0);
    assert!(
        (got - expected).abs() <= TOLERANCE * size,
        "{what}: gradient {got}, differences {expected} at {x:?}"
    );
    gradients
}

/// First and second order at random points.
pub fn check(what: &str, program: &Program, shapes: &[Shape], domains: &[[f64; 2]], rng: &mut Rng) {
    for round in 0..3 {
        let x: Vec<Vec<f64>> = shapes
            .iter()
            .zip(domains.iter().cycle())
            .map(|(shape, &domain)| (0..shape.size()).map(|_| uniform(rng, domain)).collect())
            .collect();
        let first = scalar(program, shapes, 7 + round);
        let gradients = agrees(what, &first, shapes, &x, rng);
        agrees(&format!("{what}, second order"), &weighed(&gradients, shapes, 11 + round), shapes, &x, rng);
    }
}

/// Whether the derivatives of a function have none with respect to parameters.
pub fn has_first_order_alone(name: &str) -> bool {
    name.contains("gammainc") && !name.ends_with("_dx") || name.contains("betainc") && !name.ends_with("_dx")
}

/// The operands in which a special function has no derivative.
pub fn underived(name: &str) -> Vec<usize> {
    let special = Special::ALL.iter().find(|op| op.row().name == name && op.missing().is_some());
    let Some(op) = special else { return vec![] };
    let mut b = Builder::default();
    let x = inputs(&mut b, &vec![Shape::scalar(); op.arity()]);
    let y = b.node1(*op, &x).expect("floats");
    let math = Math::new(&mut b);
    let x: Vec<_> = x.iter().map(|&v| math.var(v)).collect();
    let slopes = op.slopes()(&x, math.var(y));
    (0..op.arity()).filter(|&i| slopes[i].is_none()).collect()
}

/// The range where an elementwise op is smooth; `None` if it is not an op of floats.
pub fn domains(name: &str) -> Vec<[f64; 2]> {
    match name {
        "sqrt" | "rsqrt" | "cbrt" | "log" | "log2" | "log10" | "lgamma" | "digamma" => vec![[0.3, 3.0]],
        "log1p" => vec![[-0.6, 2.0]],
        "asin" | "acos" | "atanh" | "erf_inv" => vec![[-0.8, 0.8]],
        "acosh" => vec![[1.3, 3.0]],
        "tan" => vec![[-1.2, 1.2]],
        "pow" => vec![[0.4, 2.0], [-2.0, 2.0]],
        "div" | "atan2" => vec![[0.5, 2.0]],
        // Between whole numbers, and quotients that are.
        "remainder" | "mod" => vec![[5.1, 5.9], [2.1, 2.4]],
        "floor" | "ceiling" | "trunc" => vec![[0.1, 0.9]],
        "round_nearest_even" | "round_nearest_afz" | "floor_div" => vec![[0.1, 0.4], [0.5, 0.9]],
        "polygamma" => vec![[1.0, 1.0], [0.5, 3.0]],
        "gamma" | "beta" | "lbeta" => vec![[0.4, 3.0]],
        "probit" => vec![[0.1, 0.9]],
        "tanpi" => vec![[-0.4, 0.4]],
        "choose" | "lchoose" => vec![[5.2, 5.8], [2.1, 2.4]],
        "expi" | "bessel_y0" | "bessel_y1" => vec![[0.5, 3.0]],
        "lambert_w0" => vec![[-0.2, 3.0]],
        "lambert_wm1" => vec![[-0.3, -0.1]],
        "expint" => vec![[0.3, 3.0], [3.0, 3.0]],
        "zeta" => vec![[2.0, 4.0], [0.5, 3.0]],
        _ if name.starts_with("bessel_i") || name.starts_with("bessel_k") => vec![[0.5, 3.0], [0.3, 2.0]],
        _ if name.contains("gammainc") => {
            let last = if !name.contains("inv") {
                [0.5, 3.0]
            } else if name.starts_with("log") {
                [-2.0, -0.3]
            } else {
                [0.2, 0.8]
            };
            vec![[0.6, 3.0], last]
        }
        _ if name.contains("betainc") => {
            let last =
                if name.contains("inv") && name.starts_with("log") { [-2.0, -0.3] } else { [0.2, 0.8] };
            vec![[0.6, 3.0], [0.6, 3.0], last]
        }
        "max" | "min" => vec![[-1.0, -0.1], [0.1, 1.0]],
        "sign" | "abs" => vec![[0.2, 1.0]],
        _ => vec![[-1.5, 1.5]],
    }
}
