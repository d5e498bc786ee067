//! Sums of pads that lie apart are what is padded, joined, to the bit.

mod common;

use anvil_core::dtype::DType;
use anvil_core::exec::reference::evaluate;
use anvil_core::graph::Value;
use anvil_core::ops::{Binary, Builder, Graph, Pad};
use anvil_core::passes::{apart, optimise};
use anvil_core::shape::Shape;
use anvil_core::tensor::{Aval, Literal};
use common::{disagreement, first_difference, random_inputs, Rng};

/// A sum, in any order, of pads of inputs to `size` elements along an axis: of so many elements each, from these
/// places; and of so many other inputs.
fn sum(
    rng: &mut Rng,
    sizes: &[usize],
    axis: usize,
    places: &[(usize, usize)],
    others: usize,
    dtype: DType,
) -> Graph {
    let mut b = Builder::default();
    let shape = |sizes: &[usize]| Shape::try_new(sizes.to_vec()).unwrap();
    let zero = b.literal(Literal::new(0i32).convert(dtype), None);
    let mut terms: Vec<Value> = vec![];
    for &(start, count) in places {
        let (mut low, mut high, mut part) = (vec![0; sizes.len()], vec![0; sizes.len()], sizes.to_vec());
        part[axis] = count;
        (low[axis], high[axis]) = (start as i64, (sizes[axis] - start - count) as i64);
        let x = b.input(Aval::known(dtype, shape(&part)));
        terms.push(b.node1(Pad { low, high, interior: vec![0; sizes.len()] }, &[x, zero]).unwrap());
    }
    terms.extend((0..others).map(|_| b.input(Aval::known(dtype, shape(sizes)))).collect::<Vec<_>>());
    while terms.len() > 1 {
        let x = terms.swap_remove(rng.below(terms.len()));
        let y = terms.swap_remove(rng.below(terms.len()));
        terms.push(b.node1(Binary::add, &[x, y]).unwrap());
    }
    optimise(&b.finish(terms)).unwrap()
}

#[test]
fn sums_of_pads_that_lie_apart_are_joined() {
    let rng = &mut Rng::new(1);
    let shapes: [&[usize]; 5] = [&[9], &[7, 3], &[3, 8], &[4, 6, 2], &[2, 3, 11]];
    for round in 0..300 {
        let sizes = *rng.choose(&shapes);
        let axis = rng.below(sizes.len());
        let dtype = *rng.choose(&[DType::F32, DType::F64, DType::I32, DType::C128]);
        let (mut places, mut end) = (vec![], 0);
        while end < sizes[axis] {
            let count = 1 + rng.below(2).min(sizes[axis] - end - 1);
            // With gaps.
            if rng.below(4) > 0 {
                places.push((end, count));
            }
            end += count;
        }
        let others = rng.below(3);
        let old = sum(rng, sizes, axis, &places, others, dtype);
        // A sum of pads and two others is in an order of its own.
        let new = apart(&old).unwrap();
        let is_whole = |&(_, count): &(usize, usize)| count == sizes[axis];
        let fits = places.len() >= 3 && others < 2 && !places.iter().any(is_whole);
        assert_eq!(new.is_some(), fits, "{round}: {places:?} {old}");
        let Some(new) = new else { continue };
        let given = random_inputs(rng, &old);
        let bytes: Vec<&[u8]> = given.iter().map(|x| x.as_slice()).collect();
        let (want, got) = (evaluate(&old, &bytes, &[]).unwrap(), evaluate(&new, &bytes, &[]).unwrap());
        let difference = first_difference(dtype, want[0].as_slice(), got[0].as_slice());
        assert!(difference.is_none(), "{difference:?}\n{old}\n{new}");
        assert!(!new.nodes().iter().any(|node| node.op.get::<Pad>().is_some()), "{new}");
        assert_eq!(disagreement(&old, &given, &[], &[]), None);
    }
}

#[test]
fn pads_that_overlap_stay_a_sum() {
    let rng = &mut Rng::new(2);
    let old = sum(rng, &[9], 0, &[(0, 3), (2, 3), (6, 2)], 0, DType::F64);
    assert!(apart(&old).unwrap().is_none());
}
