//! Comparison of two graphs that round in other places.

use crate::common::Rng;
use anvil_core::exec::reference::evaluate;
use anvil_core::graph::Value;
use anvil_core::ops::Graph;

/// Checks that both graphs have the same values, in relation to the largest.
pub fn agree(old: &Graph, new: &Graph, rng: &mut Rng) {
    new.verify().unwrap();
    let types = |graph: &Graph| graph.outputs().iter().map(|&v| graph.aval(v).clone()).collect::<Vec<_>>();
    assert_eq!(types(old), types(new));
    // What is not finite is in other numbers, if a number is computed in another way.
    let size = |&v: &Value| old.aval(v).shape.size();
    let number = |rng: &mut Rng| (rng.below(2001) as f64 / 1000.0 - 1.0).to_ne_bytes();
    let bytes: Vec<Vec<u8>> =
        old.inputs().iter().map(|v| (0..size(v)).flat_map(|_| number(rng)).collect()).collect();
    let bytes: Vec<&[u8]> = bytes.iter().map(|x| &x[..]).collect();
    let (want, got) = (evaluate(old, &bytes, &[]).unwrap(), evaluate(new, &bytes, &[]).unwrap());
    for (want, got) in want.iter().zip(&got) {
        let numbers = |x: &[u8]| -> Vec<f64> {
            x.chunks(8).map(|x| f64::from_ne_bytes(x.try_into().unwrap())).collect()
        };
        let (want, got) = (numbers(want.as_slice()), numbers(got.as_slice()));
        let largest = want.iter().fold(1e-300, |m: f64, x| m.max(x.abs()));
        for (x, y) in want.iter().zip(&got) {
            let same = x.is_nan() && y.is_nan() || x == y || (x - y).abs() <= 1e-11 * largest;
            assert!(same, "{x} became {y}\n{old}\n{new}");
        }
    }
}
