//! Square roots, which need not be asked about their sign where it is known.

use super::*;
use crate::exec::vm::native::expansion::expand;
use crate::kernels::math::formula::Operation;

/// A root of what is never below zero is one instruction, and is what it is of others.
#[test]
fn roots_of_what_is_never_below_zero_are_right() {
    let mut random = Random(6);
    let known: [&[(Op, [usize; 2])]; 6] = [
        &[(Op::Abs, [0, 0])],
        &[(Op::Mul, [0, 0]), (Op::Mul, [1, 1]), (Op::Add, [3, 4])],
        &[(Op::Abs, [0, 0]), (Op::Add, [3, 2])],
        &[(Op::Abs, [0, 0]), (Op::Mul, [1, 1]), (Op::Mul, [3, 4])],
        // Not known: a sum with any, and a product of two.
        &[(Op::Abs, [0, 0]), (Op::Add, [3, 1])],
        &[(Op::Mul, [0, 1])],
    ];
    for (number, made) in known.into_iter().enumerate() {
        for dtype in [DType::F32, DType::F64] {
            let literal = Origin::Literal(Literal::new(0.1).convert(dtype));
            let mut values = vec![value(dtype, Origin::Elements); 2];
            values.push(value(dtype, literal));
            let mut ops = vec![];
            for (op, of) in made.iter().copied().chain([(Op::Sqrt, [2 + made.len(); 2])]) {
                let operands = of[..if matches!(op, Op::Abs | Op::Sqrt) { 1 } else { 2 }].to_vec();
                ops.push(MicroOp { op, operands, result: values.len() });
                values.push(value(dtype, Origin::Made));
            }
            let (width, outputs) = (dtype.bytes(), vec![values.len() - 1]);
            let chain = Chain { width, values, ops, outputs, ..Chain::default() };
            let selects =
                expand(&chain, false).chain.ops.iter().any(|op| op.op == Op::Step(Operation::Select));
            assert_eq!(selects, number > 3, "{number}");
            [1, 64, 133].into_iter().for_each(|n| check(&chain, &mut random, n));
        }
    }
}
