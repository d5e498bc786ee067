//! Tiles of whole rows are longer than others: every elementwise op is right on them.

mod common;

use anvil_core::apply::Applier;
use anvil_core::dtype::promote::rules;
use anvil_core::dtype::DType;
use anvil_core::exec::Executable;
use anvil_core::kernels::reductions::fold::Fold;
use anvil_core::kernels::tile::TILE;
use anvil_core::ops::attrs::Attrs;
use anvil_core::ops::{rows, Binary, BroadcastInDim, Builder, Convert, Op, Reduction, Reverse, Unary};
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::Aval;
use common::{disagreement, random_inputs, Rng};

#[test]
fn every_elementwise_op_reads_tiles_of_whole_rows() {
    let mut grouped = 0;
    for row in rows().filter(|row| !row.operands.is_empty() && row.name != "print") {
        for &dtype in DType::ALL.iter().filter(|dtype| dtype.part() == **dtype) {
            let mut b = Builder::default();
            let x = b.input(Aval::known(dtype, Shape::from([3 * TILE + 5])));
            let operands = vec![x; row.operands.len()];
            // Ops that need parameters, or other operands than these, are none.
            let Ok(made) = Applier::new(&mut b, rules()).apply(row.name, &operands, &Attrs::default()) else {
                continue;
            };
            // What is computed of a sum makes a tile of what is summed.
            let floats = b.node1(Op::Convert(Convert::known(DType::F32)), &[x]).unwrap();
            let sum = b
                .node1(
                    Op::Reduction(Reduction { fold: Fold::Sum, axes: vec![Axis(0)], drop: true }),
                    &[floats],
                )
                .unwrap();
            let sum = b.node1(Op::Unary(Unary::negate), &[sum]).unwrap();
            let graph = b.finish([made, vec![sum]].concat());
            let mut rng = Rng::new(1);
            let inputs = random_inputs(&mut rng, &graph);
            if let Some(what) = disagreement(&graph, &inputs, &[], &[]) {
                panic!("{} of {dtype}: {what}", row.name);
            }
            let text = Executable::compile(&graph, &[]).unwrap().describe();
            grouped += usize::from(text.lines().count() == 2);
        }
    }
    assert!(grouped > 300, "only {grouped} programs are one group");
}

/// What lies in long runs of elements side by side, or of one element, is read in place, and by conversions, folds
/// and ops that are no part of a chain, too.
#[test]
fn long_runs_are_read_in_place() {
    let mut rng = Rng::new(2);
    for (rows, columns) in [(512, 3), (600, 5), (511, 4), (2 * TILE + 7, 3), (TILE, 2)] {
        for dtype in [DType::F32, DType::F64, DType::I32, DType::I1, DType::F16, DType::UI8] {
            for narrow in [dtype, DType::I8, DType::F32] {
                let mut b = Builder::default();
                let mut input =
                    |dtype, sizes: Vec<usize>| b.input(Aval::known(dtype, Shape::try_new(sizes).unwrap()));
                let (down, across) = (input(narrow, vec![rows]), input(dtype, vec![columns, 2]));
                let (whole, reversed) =
                    (input(dtype, vec![rows, columns, 2]), input(dtype, vec![rows, columns]));
                let shape = Shape::from([rows, columns, 2]);
                let mut spread = |x, axes: &[usize]| {
                    let axes = axes.iter().map(|&i| Axis(i)).collect();
                    b.node1(Op::BroadcastInDim(BroadcastInDim { shape: shape.clone(), axes }), &[x]).unwrap()
                };
                let (down, across) = (spread(down, &[0]), spread(across, &[1, 2]));
                let turned = b.node1(Op::Reverse(Reverse { axes: vec![Axis(1)] }), &[reversed]).unwrap();
                let op = BroadcastInDim { shape, axes: vec![Axis(0), Axis(1)] };
                let turned = b.node1(Op::BroadcastInDim(op), &[turned]).unwrap();
                let down = b.node1(Op::Convert(Convert::known(dtype)), &[down]).unwrap();
                let sum = b.node1(Op::Binary(Binary::add), &[down, across]).unwrap();
                let product = b.node1(Op::Binary(Binary::mul), &[sum, turned]).unwrap();
                let last = b.node1(Op::Binary(Binary::max), &[product, whole]).unwrap();
                let floats = b.node1(Op::Convert(Convert::known(DType::F32)), &[across]).unwrap();
                let curve = b.node1(Op::Unary(Unary::tanh), &[floats]).unwrap();
                let fold = Reduction { fold: Fold::Max, axes: vec![Axis(0)], drop: true };
                let top = b.node1(Op::Reduction(fold), &[last]).unwrap();
                let outputs = match rng.below(3) {
                    0 => vec![sum],
                    1 => vec![last, curve],
                    _ => vec![last, top],
                };
                let graph = b.finish(outputs);
                let inputs = random_inputs(&mut rng, &graph);
                let donated: Vec<usize> = (0..4).filter(|_| rng.one_in(2)).collect();
                if let Some(what) = disagreement(&graph, &inputs, &[], &donated) {
                    panic!("{rows} x {columns} {dtype}, {narrow}: {what}\n{graph}");
                }
            }
        }
    }
}
