//! Folds of values that are put together of parts are folds of the parts, to the bit.

mod common;

use anvil_core::dtype::DType;
use anvil_core::exec::reference::evaluate;
use anvil_core::kernels::reductions::fold::Fold;
use anvil_core::ops::{Binary, Builder, Concatenate, Graph, Reduction};
use anvil_core::passes::part_folds;
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::Aval;
use common::{disagreement, first_difference, random_inputs, Rng};

/// Folds, along an axis, of so many parts that are put together along it; with products of them and another value that
/// has as many, if it is `scaled`. The result also has what is put together if it is wanted `whole`.
fn folds(folds: &[Fold], dtype: DType, sizes: &[usize], parts: usize, scaled: bool, whole: bool) -> Graph {
    let axis =
        sizes.iter().position(|&size| size == 0).expect("the axis of the parts has no size of its own");
    let mut b = Builder::default();
    let shape = |count: usize| {
        let mut sizes = sizes.to_vec();
        sizes[axis] = count;
        Shape::try_new(sizes).unwrap()
    };
    let given: Vec<_> = (0..parts).map(|_| b.input(Aval::known(dtype, shape(1)))).collect();
    let mut all = b.node1(Concatenate { axis: Axis(axis) }, &given).unwrap();
    if scaled {
        let other = b.input(Aval::known(dtype, shape(parts)));
        all = b.node1(Binary::mul, &[all, other]).unwrap();
    }
    let fold = |b: &mut Builder, &fold: &Fold| {
        let drop = !matches!(fold, Fold::Max);
        b.node1(Reduction { fold, axes: vec![Axis(axis)], drop }, &[all]).unwrap()
    };
    let mut outputs: Vec<_> = folds.iter().map(|x| fold(&mut b, x)).collect();
    outputs.extend(whole.then_some(all));
    b.finish(outputs)
}

#[test]
fn folds_of_parts_have_the_same_bits() {
    let rng = &mut Rng::new(5);
    let numbers = [Fold::Sum, Fold::Prod, Fold::Max, Fold::Min];
    for dtype in [DType::F32, DType::F64, DType::I32, DType::I64] {
        for sizes in [&[0, 9][..], &[40, 0], &[3, 0, 5]] {
            for parts in 2..=16 {
                for scaled in [false, true] {
                    let graph = folds(&numbers, dtype, sizes, parts, scaled, false);
                    let made = part_folds(&graph).unwrap().expect("there are folds of parts");
                    assert!(made.nodes().iter().all(|node| node.op.fold().is_none()), "{made}");
                    let inputs = random_inputs(rng, &graph);
                    let given: Vec<&[u8]> = inputs.iter().map(|x| x.as_slice()).collect();
                    let want = evaluate(&graph, &given, &[]).unwrap();
                    let got = evaluate(&made, &given, &[]).unwrap();
                    for (x, y) in want.iter().zip(&got) {
                        assert_eq!(first_difference(dtype, x, y), None, "{graph}\n{made}");
                    }
                    assert_eq!(disagreement(&graph, &inputs, &[], &[]), None, "{graph}");
                }
            }
        }
    }
    let graph = folds(&[Fold::Any, Fold::All], DType::I1, &[0, 9], 3, false, false);
    assert!(part_folds(&graph).unwrap().is_some());
    assert_eq!(disagreement(&graph, &random_inputs(rng, &graph), &[], &[]), None);
}

#[test]
fn some_folds_stay() {
    let made = |sizes: &[usize], parts, whole| {
        part_folds(&folds(&[Fold::Sum], DType::F64, sizes, parts, false, whole)).unwrap()
    };
    assert!(made(&[0, 9], 3, false).is_some());
    // What is read whole, what has many parts, and what has parts of one element.
    assert!(made(&[0, 9], 3, true).is_none());
    assert!(made(&[0, 9], 17, false).is_none());
    assert!(made(&[0], 3, false).is_none());
}
