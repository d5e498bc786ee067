//! Benchmarks of reductions, permuted copies and products of matrices. `cargo bench --bench dense` prints
//! milliseconds per run and how fast the operands are read; a word after `--` chooses the rows whose names
//! contain it.

mod common;

use anvil_core::dtype::DType;
use anvil_core::graph::Value;
use anvil_core::kernels::reductions::fold::Fold;
use anvil_core::ops::{
    BroadcastInDim, Builder, Compare, Convert, DotGeneral, Graph, Op, Reduction, Transpose,
};
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::{Aval, Literal};

fn input(b: &mut Builder, dtype: DType, sizes: &[usize]) -> Value {
    b.input(Aval::known(dtype, Shape::try_new(sizes.to_vec()).unwrap()))
}

fn reduction(fold: Fold, dtype: DType, sizes: &[usize], axes: &[usize]) -> Graph {
    let mut b = Builder::default();
    let x = input(&mut b, dtype, sizes);
    let axes = axes.iter().copied().map(Axis).collect();
    let y = b.node1(Op::Reduction(Reduction { fold, axes, drop: true }), &[x]).unwrap();
    b.finish(vec![y])
}

/// The number of positive elements.
fn count(dtype: DType, sizes: &[usize]) -> Graph {
    let mut b = Builder::default();
    let x = input(&mut b, dtype, sizes);
    let shape = Shape::try_new(sizes.to_vec()).unwrap();
    let axes = (0..sizes.len()).map(Axis).collect();
    let zero = b.literal(Literal::new(0.0).convert(dtype), None);
    let zero = b.node1(Op::BroadcastInDim(BroadcastInDim { shape, axes: vec![] }), &[zero]).unwrap();
    let y = b.node1(Op::Compare(Compare::gt), &[x, zero]).unwrap();
    let y = b.node1(Op::Convert(Convert::known(DType::I32)), &[y]).unwrap();
    let y = b.node1(Op::Reduction(Reduction { fold: Fold::Sum, axes, drop: true }), &[y]).unwrap();
    b.finish(vec![y])
}

fn permuted(dtype: DType, sizes: &[usize], permutation: &[usize]) -> Graph {
    let mut b = Builder::default();
    let x = input(&mut b, dtype, sizes);
    let permutation = permutation.iter().copied().map(Axis).collect();
    let y = b.node1(Op::Transpose(Transpose { permutation }), &[x]).unwrap();
    b.finish(vec![y])
}

/// `lhs %*% rhs`; the first may be read as its transpose, and the second may be the same value.
fn product(dtype: DType, lhs: &[usize], transposed: bool, rhs: Option<&[usize]>) -> Graph {
    let mut b = Builder::default();
    let x = input(&mut b, dtype, lhs);
    let y = rhs.map_or(x, |sizes| input(&mut b, dtype, sizes));
    let turn = Transpose { permutation: vec![Axis(1), Axis(0)] };
    let l = if transposed { b.node1(Op::Transpose(turn), &[x]).unwrap() } else { x };
    let op = DotGeneral {
        contracting: [vec![Axis(1)], vec![Axis(0)]],
        batching: [vec![], vec![]],
        batch_last: false,
    };
    let z = b.node1(Op::DotGeneral(op), &[l, y]).unwrap();
    b.finish(vec![z])
}

fn main() {
    use DType::{F32, F64, I32, I64, I8};
    let wanted = std::env::args().nth(1).filter(|a| !a.starts_with("--"));
    let show = |name: String, make: &dyn Fn() -> Graph| {
        if wanted.as_ref().is_some_and(|w| !name.contains(w)) {
            return;
        }
        let graph = make();
        let bytes: usize = graph.inputs().iter().map(|&v| graph.aval(v).bytes()).sum();
        let [fastest, median] =
            <[f64; 2]>::from(common::time(&graph, |_, i| (i * 37 % 1000) as f64 / 10.0 - 49.0))
                .map(|ns| ns / 1e6);
        println!("{name:<40}{fastest:>10.4} ms ({median:.4}){:>8.1} GB/s", bytes as f64 / fastest / 1e6);
    };
    let square = [4096, 4096];
    for dtype in [F32, F64] {
        let d = dtype.name();
        for (fold, name) in [(Fold::Sum, "sum"), (Fold::Max, "max"), (Fold::Squares, "squares")] {
            show(format!("{name} {d} 4096^2 all"), &|| reduction(fold, dtype, &square, &[0, 1]));
            show(format!("{name} {d} 4096^2 columns"), &|| reduction(fold, dtype, &square, &[0]));
            show(format!("{name} {d} 4096^2 rows"), &|| reduction(fold, dtype, &square, &[1]));
        }
        show(format!("prod {d} 4096^2 rows"), &|| reduction(Fold::Prod, dtype, &square, &[1]));
        show(format!("sum {d} 1e5x20 columns"), &|| reduction(Fold::Sum, dtype, &[100_000, 20], &[0]));
        show(format!("sum {d} 1e5x20 rows"), &|| reduction(Fold::Sum, dtype, &[100_000, 20], &[1]));
        show(format!("sum {d} 20x1e5 rows"), &|| reduction(Fold::Sum, dtype, &[20, 100_000], &[1]));
        show(format!("sum {d} 3x1e6 columns"), &|| reduction(Fold::Sum, dtype, &[3, 1_000_000], &[0]));
        show(format!("sum {d} 200x300x100 middle"), &|| reduction(Fold::Sum, dtype, &[200, 300, 100], &[1]));
        show(format!("sum {d} 16x16 rows"), &|| reduction(Fold::Sum, dtype, &[16, 16], &[1]));
        show(format!("count {d} 1e7"), &|| count(dtype, &[10_000_000]));
        show(format!("transpose {d} 4096^2"), &|| permuted(dtype, &square, &[1, 0]));
        show(format!("transpose {d} 100x100"), &|| permuted(dtype, &[100, 100], &[1, 0]));
        show(format!("permute {d} 128x256x512 (3,2,1)"), &|| permuted(dtype, &[128, 256, 512], &[2, 1, 0]));
        show(format!("permute {d} 128x256x512 (2,1,3)"), &|| permuted(dtype, &[128, 256, 512], &[1, 0, 2]));
        for n in [4, 16, 64, 256, 512, 1024] {
            show(format!("matmul {d} {n}"), &|| product(dtype, &[n, n], false, Some(&[n, n])));
        }
        show(format!("matmul t(x) y {d} 512"), &|| product(dtype, &[512, 512], true, Some(&[512, 512])));
        for (m, k, n) in [(32, 40, 40), (128, 784, 256), (128, 256, 10)] {
            show(format!("matmul {d} {m}x{k} {k}x{n}"), &|| product(dtype, &[m, k], false, Some(&[k, n])));
            show(format!("matmul t(x) y {d} {k}x{m} {m}x{n}"), &|| {
                product(dtype, &[m, k], true, Some(&[m, n]))
            });
        }
        show(format!("x'x {d} 1e6x20"), &|| product(dtype, &[1_000_000, 20], true, None));
        show(format!("x'x {d} 1e5x100"), &|| product(dtype, &[100_000, 100], true, None));
        show(format!("matvec {d} 4096^2"), &|| product(dtype, &square, false, Some(&[4096, 1])));
        show(format!("matvec {d} 1e6x20"), &|| product(dtype, &[1_000_000, 20], false, Some(&[20, 1])));
        show(format!("matvec t(x) {d} 1e6x20"), &|| {
            product(dtype, &[1_000_000, 20], true, Some(&[1_000_000, 1]))
        });
        show(format!("vecmat {d} 4096^2"), &|| product(dtype, &[1, 4096], false, Some(&square)));
    }
    for dtype in [I8, I32, I64] {
        let d = dtype.name();
        show(format!("sum {d} 1e7"), &|| reduction(Fold::Sum, dtype, &[10_000_000], &[0]));
        show(format!("sum {d} 4096^2 rows"), &|| reduction(Fold::Sum, dtype, &square, &[1]));
    }
    show("sum bf16 4096^2 rows".into(), &|| reduction(Fold::Sum, DType::BF16, &square, &[1]));
    show("matmul i32 256".into(), &|| product(I32, &[256, 256], false, Some(&[256, 256])));
}
