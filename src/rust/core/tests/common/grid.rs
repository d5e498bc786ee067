//! Inputs of programs of one op: special values in all combinations.
#![allow(dead_code)] // each test file uses a part

use crate::common::{random_tensor, Rng};
use anvil_core::dtype::{DType, Kind};
use anvil_core::ops::Graph;
use anvil_core::tensor::{Aval, Literal};
use std::path::PathBuf;

/// Special values that meet each other: their pairs are the elements of two operands.
const SIDE: usize = 8;

/// Elements of an operand of an elementwise op.
pub const ELEMENTS: usize = SIDE * SIDE;

/// Special values: the first [`SIDE`] meet each other in ops of two operands, all are operands of other ops.
fn special(dtype: DType) -> Vec<Literal> {
    let floats = [
        0.0,
        -0.0,
        1.0,
        -2.5,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        3.0,
        -1.0,
        0.5,
        -0.5,
        1.5,
        2.0,
        -3.0,
        2.5,
        -4.0,
        1e-3,
        0.1,
        0.3,
        -0.7,
        0.9,
        0.999,
        1.001,
        5.0,
        7.25,
        -9.5,
        10.0,
        20.0,
        -30.0,
        88.0,
        100.0,
        1e3,
        -1e4,
        6e4,
        1e6,
        -1e9,
        3e9,
        1e18,
        -1e19,
        1e30,
        1e100,
        -1e300,
    ];
    let integers = [
        0,
        1,
        -1,
        i64::MAX,
        i64::MIN,
        2,
        -3,
        7,
        3,
        5,
        8,
        -8,
        15,
        16,
        31,
        32,
        33,
        63,
        64,
        65,
        100,
        -100,
        127,
        128,
        255,
        1000,
    ];
    match dtype.kind() {
        Kind::Boolean => {
            [0u8, 1, 1, 0, 1, 0, 0, 1].iter().map(|&x| Literal::from_bytes(dtype, &[x])).collect()
        }
        Kind::Float => floats.iter().map(|&x| Literal::new(x).convert(dtype)).collect(),
        Kind::Complex => {
            let part = dtype.part();
            let number = |x: f64| Literal::new(x).convert(part).to_bytes()[..part.bytes()].to_vec();
            let pair = |(x, y): (f64, f64)| Literal::from_bytes(dtype, &[number(x), number(y)].concat());
            let few = [
                (0.0, 0.0),
                (1.0, -0.0),
                (-2.5, 1.0),
                (0.5, 3.0),
                (-0.0, 0.5),
                (3.0, -2.5),
                (-1.0, -1.0),
                (0.0, 2.0),
            ];
            few.into_iter()
                .chain((0..40).map(|i| (floats[i % 18], floats[(i * 5 + 3) % 23])))
                .map(pair)
                .collect()
        }
        // The lowest and the highest of the width are the low and high bits of those of 64.
        _ => {
            let narrow = |x: i64| match (x, dtype.bits()) {
                (i64::MIN, bits) => i64::MIN >> (64 - bits),
                (i64::MAX, bits) => ((i64::MAX as u64) >> (64 - bits)) as i64,
                (x, _) => x,
            };
            integers
                .iter()
                .map(|&x| Literal::from_bytes(dtype, &narrow(x).to_ne_bytes()[..dtype.bytes()]))
                .collect()
        }
    }
}

/// Bytes as text, lowest first.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The file with what XLA makes of them.
pub fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../tests/testdata/xla/values.csv")
}

/// The inputs of a program, column-major: a grid of special values where there are as many elements as that
/// has, and otherwise random ones, of a seed that the name gives.
pub fn inputs(name: &str, graph: &Graph) -> Vec<Vec<u8>> {
    let mut rng =
        Rng::new(name.bytes().fold(7, |hash: u64, byte| hash.wrapping_mul(31).wrapping_add(byte.into())));
    let avals: Vec<&Aval> = graph.inputs().iter().map(|&v| graph.aval(v)).collect();
    let one = |(k, aval): (usize, &&Aval)| {
        if aval.shape.size() != ELEMENTS {
            return random_tensor(&mut rng, aval).as_slice().to_vec();
        }
        let values = special(aval.dtype);
        let pick = |i: usize| match (avals.len(), k) {
            (1, _) => i,
            (_, 0) => i % SIDE,
            (2, _) => i / SIDE,
            // Of three, the others go another way.
            (_, 1) => i / SIDE,
            _ => (3 * i + i / SIDE) % values.len(),
        };
        (0..ELEMENTS)
            .flat_map(|i| values[pick(i) % values.len()].to_bytes()[..aval.dtype.bytes()].to_vec())
            .collect()
    };
    avals.iter().enumerate().map(one).collect()
}
