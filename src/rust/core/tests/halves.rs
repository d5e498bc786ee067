//! 16-bit floats: every op computes in f32 and rounds once, alone and in programs. Conversions that a pass
//! drops change no bit, for these and for complex numbers.

mod common;

use anvil_core::dtype::DType;
use anvil_core::exec::reference;
use anvil_core::graph::{Def, Value};
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::kernels::reductions::fold::Fold;
use anvil_core::ops::{Binary, Builder, Convert, Op, Reduction, Unary};
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::Aval;
use common::{aligned, disagreement, first_difference, random_inputs, random_tensor, Rng};

const HALVES: [DType; 2] = [DType::BF16, DType::F16];

fn convert(b: &mut Builder, x: Value, dtype: DType) -> Value {
    b.node1(Op::Convert(Convert::known(dtype)), &[x]).unwrap()
}

/// Result of an op on operands of this dtype, and of the same op on them in f32, rounded.
fn both_ways(op: &Op, dtype: DType, inputs: &[AlignedBytes], shape: &Shape) -> [Vec<u8>; 2] {
    let run = |wide: bool| {
        let mut b = Builder::default();
        let x: Vec<Value> = inputs.iter().map(|_| b.input(Aval::known(dtype, shape.clone()))).collect();
        let operands = if wide { x.iter().map(|&x| convert(&mut b, x, DType::F32)).collect() } else { x };
        let y = b.node1(op.clone(), &operands).unwrap();
        let y = if wide { convert(&mut b, y, dtype) } else { y };
        let graph = b.finish(vec![y]);
        let inputs: Vec<&[u8]> = inputs.iter().map(|x| x.as_slice()).collect();
        reference::evaluate(&graph, &inputs, &[]).unwrap().remove(0)
    };
    [run(false), run(true)]
}

fn assert_rounds_once(op: &Op, name: &str, dtype: DType, inputs: &[AlignedBytes], shape: &Shape) {
    let [got, want] = both_ways(op, dtype, inputs, shape);
    if let Some(what) = first_difference(dtype, &got, &want) {
        panic!("{name}: {what}");
    }
}

#[test]
fn every_op_of_one_operand_is_that_of_f32_rounded_on_every_value() {
    let all: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_ne_bytes).collect();
    for dtype in HALVES {
        for &op in Unary::ALL.iter().filter(|op| op.row().accepts.contains(DType::F32)) {
            assert_rounds_once(&Op::Unary(op), op.row().name, dtype, &[aligned(&all)], &[1 << 16].into());
        }
    }
}

#[test]
fn every_op_of_two_operands_is_that_of_f32_rounded() {
    let (mut rng, shape) = (Rng::new(16), Shape::from([20_000]));
    for dtype in HALVES {
        for &op in Binary::ALL.iter().filter(|op| op.row().accepts.contains(DType::F32)) {
            let x = || Aval::known(dtype, shape.clone());
            let inputs = [random_tensor(&mut rng, &x()), random_tensor(&mut rng, &x())];
            assert_rounds_once(&Op::Binary(op), op.row().name, dtype, &inputs, &shape);
        }
    }
}

#[test]
fn sums_accumulate_in_f32() {
    let sum = |dtype: DType, x: &[u16]| {
        let bytes: Vec<u8> = x.iter().flat_map(|v| v.to_ne_bytes()).collect();
        let op = Op::Reduction(Reduction { fold: Fold::Sum, axes: vec![Axis(0)], drop: true });
        let mut b = Builder::default();
        let input = b.input(Aval::known(dtype, [x.len()].into()));
        let y = b.node1(op, &[input]).unwrap();
        let graph = b.finish(vec![y]);
        let out = reference::evaluate(&graph, &[aligned(&bytes).as_slice()], &[]).unwrap().remove(0);
        u16::from_ne_bytes([out[0], out[1]])
    };
    let f16 = |x: f32| half::f16::from_f32(x).to_bits();
    let bf16 = |x: f32| half::bf16::from_f32(x).to_bits();
    // In 16 bits sums of ones stop at 2048 and 256.
    assert_eq!(sum(DType::F16, &[f16(1.0); 10_001]), f16(10_001.0));
    assert_eq!(sum(DType::BF16, &[bf16(1.0); 10_001]), bf16(10_001.0));
    // Beyond the largest f16 on the way is no harm, beyond that of f32 is.
    assert_eq!(sum(DType::F16, &[f16(60000.0), f16(60000.0), f16(-60000.0)]), f16(60000.0));
    // A tile is summed in 8 parts: these three are in one.
    let mut part = [bf16(0.0); 17];
    (part[0], part[8], part[16]) = (bf16(3e38), bf16(3e38), bf16(-3e38));
    assert_eq!(sum(DType::BF16, &part), bf16(f32::INFINITY));
    // Rounded to nearest even once, at the end: 2049 and 2051 lie halfway.
    assert_eq!(sum(DType::F16, &[f16(2048.0), f16(1.0)]), f16(2048.0));
    assert_eq!(sum(DType::F16, &[f16(2048.0), f16(1.0), f16(1.0), f16(1.0)]), f16(2052.0));
    assert_eq!(sum(DType::F16, &[f16(65504.0), f16(16.0)]), f16(f32::INFINITY));
}

#[test]
fn squares_of_deviations_accumulate_in_double_precision() {
    let squares = |x: &[f32]| {
        let bytes: Vec<u8> = x.iter().flat_map(|&x| half::f16::from_f32(x).to_bits().to_ne_bytes()).collect();
        let mut b = Builder::default();
        let input = b.input(Aval::known(DType::F16, [x.len()].into()));
        let op = Op::Reduction(Reduction { fold: Fold::Squares, axes: vec![Axis(0)], drop: true });
        let y = b.node1(op, &[input]).unwrap();
        let out =
            reference::evaluate(&b.finish(vec![y]), &[aligned(&bytes).as_slice()], &[]).unwrap().remove(0);
        half::f16::from_bits(u16::from_ne_bytes([out[0], out[1]])).to_f32()
    };
    // The sum is beyond the largest f16.
    assert_eq!(squares(&[60000.0, 60032.0]), 512.0);
    assert_eq!(squares(&[-300.0, 300.0]), f32::INFINITY);
    let many: Vec<f32> = (0..20_001).map(|i| if i % 2 == 0 { 1024.0 } else { 1025.0 }).collect();
    assert_eq!(squares(&many), 5000.0);
}

#[test]
fn chains_of_ops_round_after_each() {
    let mut rng = Rng::new(7);
    let rounding = [Binary::add, Binary::sub, Binary::mul, Binary::div, Binary::max];
    let (mut differ, shape) = (0, Shape::from([300]));
    for seed in 0..200 {
        let dtype = HALVES[seed % 2];
        let mut b = Builder::default();
        let mut pool: Vec<Value> = (0..3).map(|_| b.input(Aval::known(dtype, shape.clone()))).collect();
        let mut wide = Builder::default();
        let mut wide_pool: Vec<Value> =
            (0..3).map(|_| wide.input(Aval::known(dtype, shape.clone()))).collect();
        wide_pool = wide_pool.into_iter().map(|x| convert(&mut wide, x, DType::F32)).collect();
        for _ in 0..6 {
            let (op, i, j) =
                (Op::Binary(*rng.choose(&rounding)), rng.below(pool.len()), rng.below(pool.len()));
            pool.push(b.node1(op.clone(), &[pool[i], pool[j]]).unwrap());
            wide_pool.push(wide.node1(op, &[wide_pool[i], wide_pool[j]]).unwrap());
        }
        let last = convert(&mut wide, *wide_pool.last().unwrap(), dtype);
        let (graph, wide) = (b.finish(vec![*pool.last().unwrap()]), wide.finish(vec![last]));
        let inputs = random_inputs(&mut rng, &graph);
        if let Some(what) = disagreement(&graph, &inputs, &[], &[0]) {
            panic!("seed {seed}: {what}");
        }
        let bytes: Vec<&[u8]> = inputs.iter().map(|x| x.as_slice()).collect();
        let of = |graph| reference::evaluate(graph, &bytes, &[]).unwrap().remove(0);
        differ += usize::from(first_difference(dtype, &of(&graph), &of(&wide)).is_some());
    }
    // Programs that kept f32 between the ops would be caught here.
    assert!(differ > 100, "{differ}");
}

#[test]
fn dropped_conversions_change_no_bit() {
    let mut rng = Rng::new(3);
    let mut dropped = Vec::new();
    for &from in DType::ALL {
        for &middle in DType::ALL {
            for &to in DType::ALL {
                let mut b = Builder::default();
                let x = b.input(Aval::known(from, [500].into()));
                let op = |dtype| Op::Convert(Convert::known(dtype));
                let Ok(y) = b.node1(op(middle), &[x]) else { continue };
                let Ok(z) = b.node1(op(to), &[y]) else { continue };
                let graph = b.finish(vec![z]);
                let input = random_tensor(&mut rng, graph.aval(graph.inputs()[0]));
                if let Some(what) = disagreement(&graph, &[input], &[], &[]) {
                    panic!("{from} to {middle} to {to}: {what}");
                }
                let optimised = anvil_core::passes::optimise(&graph).unwrap();
                let same = matches!(optimised.def(optimised.outputs()[0]), Def::Input(_));
                if same && from != middle {
                    dropped.push(format!("{from} {middle}"));
                }
            }
        }
    }
    let pairs =
        |d: DType| dropped.iter().filter(|p| p.starts_with(&format!("{d} "))).cloned().collect::<Vec<_>>();
    assert_eq!(pairs(DType::F16), ["f16 f32", "f16 f64"]);
    assert_eq!(pairs(DType::BF16), ["bf16 f32", "bf16 f64"]);
    assert_eq!(pairs(DType::C64), ["c64 c128"]);
    assert!(pairs(DType::F64).is_empty() && pairs(DType::C128).is_empty());
}
