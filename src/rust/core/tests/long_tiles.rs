//! Tiles of whole rows are longer than others: every elementwise op is right on them.

mod common;

use anvil_core::apply::Applier;
use anvil_core::dtype::promote::rules;
use anvil_core::dtype::DType;
use anvil_core::exec::Executable;
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::kernels::reductions::fold::Fold;
use anvil_core::kernels::tile::TILE;
use anvil_core::ops::attrs::Attrs;
use anvil_core::ops::{rows, Builder, Convert, Op, Reduction, Unary};
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::Aval;
use common::{disagreement, random_tensor, Rng};

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
            let inputs: Vec<AlignedBytes> =
                graph.inputs().iter().map(|&v| random_tensor(&mut rng, graph.aval(v))).collect();
            if let Some(what) = disagreement(&graph, &inputs, &[], &[]) {
                panic!("{} of {dtype}: {what}", row.name);
            }
            let text = Executable::compile(&graph, &[]).unwrap().describe();
            grouped += usize::from(text.lines().count() == 2);
        }
    }
    assert!(grouped > 300, "only {grouped} programs are one group");
}
