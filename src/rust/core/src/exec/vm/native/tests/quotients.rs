//! Quotients and remainders of integers, by divisors that are known and by others.

use super::*;

/// Numbers at which quotients are wrong if anything is: the ends, powers of two and what is beside multiples.
fn numbers() -> Vec<i32> {
    let ends = [
        i32::MIN,
        -1 << 30,
        -65_537,
        -46_341,
        -60,
        -3,
        -1,
        0,
        1,
        2,
        7,
        10,
        60,
        10_007,
        46_340,
        65_536,
        i32::MAX,
    ];
    let products = [7, 60, 10_007, 65_537, 1_000_003].map(|n: i32| i32::MAX / n * n);
    let all = ends.iter().chain(&products);
    all.flat_map(|&x| (-2..=2).map(move |d| x.wrapping_add(d))).collect()
}

/// Checks both ops on all numbers, of which `known` is the divisor, if there is one.
fn check_quotients(known: Option<i32>) {
    let (mut x, mut y) = (vec![], vec![]);
    for &dividend in &numbers() {
        for divisor in known.map_or_else(numbers, |known| vec![known]) {
            x.push(dividend);
            y.push(divisor);
        }
    }
    let divisor = known.map_or(Origin::Elements, |known| Origin::Literal(Literal::new(known)));
    let mut values = vec![value(DType::I32, Origin::Elements), value(DType::I32, divisor)];
    values.extend([value(DType::I32, Origin::Made); 2]);
    // Both, as they share the quotient.
    let op = |op, result| MicroOp { op, operands: vec![0, 1], result };
    let ops = vec![op(Op::Function2(&math::FLOOR_QUOTIENT), 2), op(Op::Function2(&math::MODULO), 3)];
    let chain = Chain { width: 4, values, ops, outputs: vec![2, 3], ..Chain::default() };
    let Some(natives) = compile(&[chain]) else { return };
    for piece in [x.len(), 37, 1] {
        let (mut quotients, mut rests) = (vec![0; x.len()], vec![0; x.len()]);
        for start in (0..x.len()).step_by(piece) {
            let mut addresses = vec![x[start..].as_ptr().cast_mut().cast::<u8>()];
            if known.is_none() {
                addresses.push(y[start..].as_ptr().cast_mut().cast());
            }
            addresses.extend([&mut quotients, &mut rests].map(|out| out[start..].as_mut_ptr().cast::<u8>()));
            // SAFETY: there are so many elements, of which the first are only read.
            unsafe { natives[0].call(&addresses, piece.min(x.len() - start)) };
        }
        for (i, (&x, &y)) in x.iter().zip(&y).enumerate() {
            let want = (x.floor_quotient(y), x.modulo(y));
            assert_eq!((quotients[i], rests[i]), want, "{x} by {y}");
        }
    }
}

#[test]
fn quotients_of_integers_are_exact() {
    check_quotients(None);
    numbers().into_iter().for_each(|divisor| check_quotients(Some(divisor)));
    (1..200).for_each(|divisor| check_quotients(Some(divisor)));
}
