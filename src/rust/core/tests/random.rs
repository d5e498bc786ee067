//! Random bits against those of XLA in `tests/testdata/random/bits.csv`, written by `make.py` there, and the
//! numbers made from them.

mod common;

use anvil_core::apply::Applier;
use anvil_core::dtype::promote::rules;
use anvil_core::dtype::DType;
use anvil_core::exec::{Executable, Output};
use anvil_core::kernels::cast;
use anvil_core::ops::attrs::{Attr, Attrs};
use anvil_core::ops::Builder;
use anvil_core::shape::Shape;
use anvil_core::tensor::Aval;
use common::aligned;
use std::path::Path;

/// The bytes of all results of a draw.
fn draw(name: &str, state: [u64; 2], attrs: &Attrs) -> Vec<Vec<u8>> {
    let mut b = Builder::default();
    let x = b.input(Aval::known(DType::UI64, [2].into()));
    let results = Applier::new(&mut b, rules()).apply(name, &[x], attrs).unwrap();
    let executable = Executable::compile(&b.finish(results), &[]).unwrap();
    let input = aligned(cast::bytes(&state));
    let mut buffers: Vec<_> = executable.outputs().map(|aval| aligned(&vec![0; aval.bytes()])).collect();
    let outputs = buffers.iter_mut().map(|x| Output::Fresh(x.as_mut_slice())).collect();
    executable.run(&[Some(input.as_slice())], &[], outputs).unwrap();
    buffers.iter().map(|x| x.as_slice().to_vec()).collect()
}

fn attrs(dtype: &str, shape: &[usize]) -> Attrs {
    let sizes = Attr::Numbers(shape.iter().map(|&d| d as f64).collect());
    Attrs::new().with("dtype", Attr::Text(dtype.into())).with("shape", sizes)
}

/// Elements as unsigned integers of 64 bits, in row-major order.
fn row_major(bytes: &[u8], width: usize, shape: &Shape) -> Vec<u64> {
    let number = |x: &[u8]| x.iter().rev().fold(0, |all, &b| all << 8 | u64::from(b));
    let strides = shape.strides();
    let at = |row: usize| {
        let (mut rest, mut at) = (row, 0);
        for axis in (0..shape.rank()).rev() {
            at += rest % shape[axis] * strides[axis];
            rest /= shape[axis];
        }
        number(&bytes[at * width..][..width])
    };
    (0..shape.size()).map(at).collect()
}

#[test]
fn bits_are_those_of_xla() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/testdata/random/bits.csv");
    let text = std::fs::read_to_string(path).unwrap();
    let mut cases = 0;
    for line in text.lines().filter(|l| l.starts_with("threefry,") || l.starts_with("philox,")) {
        let fields: Vec<&str> = line.split(',').collect();
        let [algorithm, key, counter, dtype, shape, new_key, new_counter, bits] = fields[..] else {
            panic!("{line}")
        };
        let numbers = |text: &str, by: char| -> Vec<u64> {
            text.split(by).filter(|x| !x.is_empty()).map(|x| x.parse().unwrap()).collect()
        };
        let sizes: Vec<usize> = numbers(shape, 'x').iter().map(|&d| d as usize).collect();
        let state = [key, counter].map(|x| x.parse().unwrap());
        let want = (numbers(&format!("{new_key} {new_counter}"), ' '), numbers(bits, ' '));
        for signed in [false, true] {
            let name = if signed { dtype.trim_start_matches('u') } else { dtype };
            let attrs = attrs(name, &sizes).with("algorithm", Attr::Text(algorithm.into()));
            let got = draw("rng_bits", state, &attrs);
            let width = DType::parse(dtype).unwrap().bytes();
            let shape = Shape::try_new(sizes.clone()).unwrap();
            let got = (row_major(&got[0], 8, &[2].into()), row_major(&got[1], width, &shape));
            assert_eq!(got, want, "{line}");
        }
        cases += 1;
    }
    assert!(cases > 400, "{cases}");
}

#[test]
fn no_uniform_number_is_0_or_1_and_no_normal_one_is_infinite() {
    for (dtype, digits, top) in [("f16", 11, 0x3BFF), ("bf16", 8, 0x3F7F)] {
        let bytes = &draw("runif", [7, 0], &attrs(dtype, &[100_000]))[1];
        let (low, high) =
            cast::slice::<u16>(bytes).iter().fold((u16::MAX, 0), |(low, high), &x| (low.min(x), high.max(x)));
        // All of 2^digits numbers are likely to be met; the lowest stands for 0.
        let lowest = 0.5f32.powi(digits + 1);
        let lowest = if dtype == "f16" {
            half::f16::from_f32(lowest).to_bits()
        } else {
            half::bf16::from_f32(lowest).to_bits()
        };
        assert_eq!((low, high), (lowest, top), "{dtype}");
    }
    let bytes = &draw("rnorm", [7, 0], &attrs("f32", &[1_000_001]))[1];
    assert!(cast::slice::<f32>(bytes).iter().all(|x| x.abs() < 5.9));
}

#[test]
fn an_odd_number_of_normals_is_a_draw_of_pairs_without_its_last() {
    let normals = |n| cast::slice::<f64>(&draw("rnorm", [1, 2], &attrs("f64", &[n]))[1]).to_vec();
    let state = |n| draw("rnorm", [1, 2], &attrs("f64", &[n])).swap_remove(0);
    for n in [1, 2, 3, 8, 1001] {
        let even = n + n % 2;
        assert_eq!(normals(n)[..], normals(even)[..n]);
        assert_eq!(state(n), state(even));
    }
}
