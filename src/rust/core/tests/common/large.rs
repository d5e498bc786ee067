//! Programs on matrices that are large enough for threads, drawn at random.

use super::Rng;
use anvil_core::dtype::DType;
use anvil_core::graph::{Def, Value};
use anvil_core::kernels::reductions::fold::Fold;
use anvil_core::ops::{
    Binary, BroadcastInDim, Builder, DotGeneral, Graph, Op, Reduction, Region, Scan, Transpose, Unary,
};
use anvil_core::shape::Axis;
use anvil_core::tensor::Aval;

/// Of as many rows and columns.
fn matrix(n: usize) -> Aval {
    Aval::known(DType::F64, [n, n].into())
}

fn binary(b: &mut Builder, op: Binary, x: Value, y: Value) -> Value {
    b.node1(Op::Binary(op), &[x, y]).expect("matrices of one type")
}

/// Sums or maxima along an axis, for all places of it.
fn along(b: &mut Builder, fold: Fold, axis: usize, x: Value, n: usize) -> Value {
    let reduced = b.node1(Op::Reduction(Reduction { fold, axes: vec![Axis(axis)], drop: true }), &[x]);
    let back = BroadcastInDim { shape: [n, n].into(), axes: vec![Axis(1 - axis)] };
    b.node1(Op::BroadcastInDim(back), &[reduced.expect("a matrix")]).expect("a vector of its size")
}

/// Elementwise chains, transposes, products, reductions along either axis, and loops, on `n` rows and
/// columns. Products read transposed and repeated values only if `views`.
pub fn program(rng: &mut Rng, nodes: usize, n: usize, views: bool) -> Graph {
    let mut b = Builder::default();
    let mut values = vec![b.input(matrix(n)), b.input(matrix(n))];
    for _ in 0..nodes {
        let (x, y) = (*rng.choose(&values), *rng.choose(&values));
        values.push(match rng.below(8) {
            0 => b
                .node1(Op::Unary(*rng.choose(&[Unary::tanh, Unary::exp, Unary::negate, Unary::lgamma])), &[x])
                .expect("a matrix"),
            1 | 2 => binary(&mut b, *rng.choose(&[Binary::add, Binary::sub, Binary::mul, Binary::div]), x, y),
            3 => b
                .node1(Op::Transpose(Transpose { permutation: vec![Axis(1), Axis(0)] }), &[x])
                .expect("a matrix"),
            4 => {
                let is_view = |v: &Value| match b.graph().def(*v) {
                    Def::Result(node, _) => {
                        matches!(b.graph().nodes()[node].op, Op::Transpose(_) | Op::BroadcastInDim(_))
                    }
                    _ => false,
                };
                let dense: Vec<Value> = values.iter().copied().filter(|v| views || !is_view(v)).collect();
                let (x, y) = (*rng.choose(&dense), *rng.choose(&dense));
                let product = DotGeneral {
                    contracting: [vec![Axis(1)], vec![Axis(0)]],
                    batching: [vec![], vec![]],
                    batch_last: false,
                };
                b.node1(Op::DotGeneral(product), &[x, y]).expect("square matrices")
            }
            5 | 6 => along(&mut b, *rng.choose(&[Fold::Sum, Fold::Max, Fold::Squares]), rng.below(2), x, n),
            _ => {
                let mut body = Builder::default();
                let state = body.input(matrix(n));
                let next = body.node1(Op::Unary(Unary::tanh), &[state]).expect("a matrix");
                let sum = binary(&mut body, Binary::add, state, next);
                let scan = Scan {
                    body: Region::from(body.finish(vec![sum])),
                    carried: 1,
                    sliced: 0,
                    length: 3,
                    reverse: false,
                    last: false,
                    checkpoint: false,
                };
                b.node(Op::Scan(scan), &[x]).expect("a state of its type")[0]
            }
        });
    }
    let last = values[values.len() - 1];
    b.finish(vec![last, values[values.len() - 2]])
}
