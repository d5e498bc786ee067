//! Functions of a literal: the steps that depend on it alone are done before.

use super::*;
use crate::exec::vm::native::expansion::expand;

/// Numbers of which functions of two numbers are special, and others.
const NUMBERS: [f64; 11] =
    [10.0, 2.0, 0.5, 1.0, -3.0, 7.25, 0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];

fn check_literal<F: Computed>(op: Op, number: f64, at: usize, random: &mut Random) {
    let Op::Function2(kernel) = op else { unreachable!("a function of two numbers") };
    let literal = Literal::new(number).convert(F::DTYPE);
    let mut chain = Chain { width: size_of::<F>(), ..Chain::default() };
    let origins = if at == 0 {
        [Origin::Literal(literal), Origin::Elements]
    } else {
        [Origin::Elements, Origin::Literal(literal)]
    };
    chain.values.extend(origins.map(|origin| value(F::DTYPE, origin)));
    chain.values.push(value(F::DTYPE, Origin::Made));
    chain.ops.push(MicroOp { op, operands: vec![0, 1], result: 2 });
    chain.outputs.push(2);
    let Some(natives) = compile(&[chain]) else { return };
    let x: Vec<F> = floats::<F>(random).into_iter().map(from_bits).collect();
    let (same, mut want, mut got) = (vec![F::of(number); x.len()], x.clone(), x.clone());
    let both = if at == 0 { [&same, &x] } else { [&x, &same] };
    F::map2(kernel, both[0], both[1], &mut want);
    let addresses = [x.as_ptr().cast_mut().cast::<u8>(), got.as_mut_ptr().cast::<u8>()];
    // SAFETY: there are so many elements, of which the first are only read.
    unsafe { natives[0].call(&addresses, x.len()) };
    for (&x, (&got, &want)) in x.iter().zip(got.iter().zip(&want)) {
        // Of two NaN, any may be the result.
        if number.is_nan() && x != x {
            assert!(got != got, "{op:?} of two NaN");
            continue;
        }
        let (x, got, want) = (bits(x), bits(got), bits(want));
        assert_eq!(got, want, "{op:?} of {number} at {at} and {x:x}: {got:x}, not {want:x}");
    }
}

#[test]
fn functions_of_literals_give_the_bits_of_kernels() {
    let mut random = Random(5);
    for op in FUNCTIONS2.into_iter().map(Op::Function2) {
        for (number, at) in NUMBERS.into_iter().flat_map(|number| [(number, 0), (number, 1)]) {
            check_literal::<f32>(op, number, at, &mut random);
            check_literal::<f64>(op, number, at, &mut random);
        }
    }
}

/// Half of the steps of a power are those of the logarithm.
#[test]
fn a_power_of_a_literal_takes_no_logarithm() {
    let steps = |origin| {
        let values = vec![
            value(DType::F64, origin),
            value(DType::F64, Origin::Elements),
            value(DType::F64, Origin::Made),
        ];
        let ops = vec![MicroOp { op: Op::Function2(&math::POW), operands: vec![0, 1], result: 2 }];
        let chain = Chain { width: 8, values, ops, outputs: vec![2], ..Chain::default() };
        expand(&chain, false).chain.ops.len()
    };
    let [any, literal] = [Origin::Elements, Origin::Literal(Literal::new(10.0))].map(steps);
    assert!(2 * literal < any, "{literal} and {any} steps");
}
