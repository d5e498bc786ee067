//! Chains against the same ops on one element after the other, by the arithmetic of Rust.

use super::*;
use crate::dtype::{dispatch, Bool, DType, Element, Int};
use crate::kernels::math::{self, scalar, Computed, Kernel1, Kernel2};
use crate::kernels::{cast, memory::AlignedBytes};
use crate::tensor::Literal;

mod literals;
mod quotients;
mod roots;

/// An element as its bits.
type Bits = u64;

fn bits<T: Element>(x: T) -> Bits {
    let mut bytes = [0; 8];
    bytes[..size_of::<T>()].copy_from_slice(cast::bytes(&[x]));
    u64::from_le_bytes(bytes)
}

fn from_bits<T: Element>(x: Bits) -> T {
    cast::slice::<T>(&x.to_le_bytes()[..size_of::<T>()])[0]
}

/// One op on one element of each operand.
fn one(op: Op, dtype: DType, x: &[Bits]) -> Bits {
    macro_rules! compared {
        ($x:expr, $y:expr) => {
            bits(Bool::from(match op {
                Op::Eq => $x == $y,
                Op::Ne => $x != $y,
                Op::Gt => $x > $y,
                Op::Ge => $x >= $y,
                Op::Lt => $x < $y,
                Op::Le => $x <= $y,
                _ => panic!("{op:?} of {dtype}"),
            }))
        };
    }
    macro_rules! float {
        ($type:ty) => {{
            let v = |i: usize| from_bits::<$type>(x[i]);
            match op {
                Op::Add => bits(v(0) + v(1)),
                Op::Sub => bits(v(0) - v(1)),
                Op::Mul => bits(v(0) * v(1)),
                Op::MulNoNan if v(1) == 0.0 && !v(0).is_finite() => bits(v(1)),
                Op::MulNoNan => bits(v(0) * v(1)),
                Op::Div => bits(v(0) / v(1)),
                Op::Sqrt => bits(v(0).sqrt()),
                Op::Max => bits(scalar::maximum(v(0), v(1))),
                Op::Min => bits(scalar::minimum(v(0), v(1))),
                Op::Negate => bits(-v(0)),
                Op::Abs => bits(v(0).abs()),
                Op::Floor => bits(v(0).floor()),
                Op::Ceiling => bits(v(0).ceil()),
                Op::Trunc => bits(v(0).trunc()),
                Op::Round => bits(v(0).round_ties_even()),
                Op::Clamp => bits(scalar::minimum(scalar::maximum(v(1), v(0)), v(2))),
                Op::Sign => bits(scalar::sign(v(0))),
                Op::IsNan => bits(Bool::from(v(0).is_nan())),
                Op::IsFinite => bits(Bool::from(v(0).is_finite())),
                Op::IsInfinite => bits(Bool::from(v(0).is_infinite())),
                Op::Function(kernel) => bits(math::single(kernel, v(0))),
                Op::Function2(kernel) => bits(math::pair(kernel, v(0), v(1))),
                _ => compared!(v(0), v(1)),
            }
        }};
    }
    macro_rules! integer {
        ($type:ty, $abs:expr) => {{
            let v = |i: usize| from_bits::<$type>(x[i]);
            match op {
                Op::Add => bits(v(0).wrapping_add(v(1))),
                Op::Sub => bits(v(0).wrapping_sub(v(1))),
                Op::Mul => bits(v(0).wrapping_mul(v(1))),
                Op::Max => bits(v(0).max(v(1))),
                Op::Min => bits(v(0).min(v(1))),
                Op::And => bits(v(0) & v(1)),
                Op::Or => bits(v(0) | v(1)),
                Op::Xor => bits(v(0) ^ v(1)),
                Op::Not => bits(!v(0)),
                Op::ShiftLeft => bits(v(0).shift_left(v(1))),
                Op::ShiftRight => bits(v(0).shift_right_logical(v(1))),
                Op::ShiftRightSigned => bits(v(0).shift_right_arithmetic(v(1))),
                Op::Negate => bits(v(0).wrapping_neg()),
                Op::Abs => bits($abs(v(0))),
                Op::Function2(f) if f == &math::MODULO => bits(v(0).modulo(v(1))),
                Op::Function2(_) => bits(v(0).floor_quotient(v(1))),
                _ => compared!(v(0), v(1)),
            }
        }};
    }
    match (op, dtype) {
        (Op::Select, _) => x[if x[0] == 1 { 1 } else { 2 }],
        (Op::Convert(to), from) => {
            dispatch!(from, T => dispatch!(to, U => bits::<U>(from_bits::<T>(x[0]).convert())))
        }
        (op, DType::I1) => match op {
            Op::Add | Op::Or | Op::Max => x[0] | x[1],
            Op::Mul | Op::And | Op::Min => x[0] & x[1],
            Op::Xor => x[0] ^ x[1],
            Op::Not => 1 - x[0],
            _ => panic!("{op:?} of booleans"),
        },
        (_, DType::F32) => float!(f32),
        (_, DType::F64) => float!(f64),
        (_, DType::I8) => integer!(i8, i8::wrapping_abs),
        (_, DType::I16) => integer!(i16, i16::wrapping_abs),
        (_, DType::I32) => integer!(i32, i32::wrapping_abs),
        (_, DType::I64) => integer!(i64, i64::wrapping_abs),
        (_, DType::UI8) => integer!(u8, |x| x),
        (_, DType::UI16) => integer!(u16, |x| x),
        (_, DType::UI32) => integer!(u32, |x| x),
        (_, DType::UI64) => integer!(u64, |x| x),
        _ => panic!("{op:?} of {dtype}"),
    }
}

/// Operands of an op on a dtype, and what it makes.
fn signature(op: Op, dtype: DType) -> (Vec<DType>, DType) {
    match op {
        Op::IsNan | Op::IsFinite | Op::IsInfinite => (vec![dtype], DType::I1),
        Op::Clamp => (vec![dtype; 3], dtype),
        Op::Function(_)
        | Op::Sign
        | Op::Sqrt
        | Op::Not
        | Op::Negate
        | Op::Abs
        | Op::Floor
        | Op::Ceiling
        | Op::Trunc
        | Op::Round => (vec![dtype], dtype),
        Op::Convert(to) => (vec![dtype], to),
        Op::Select => (vec![DType::I1, dtype, dtype], dtype),
        Op::Eq | Op::Ne | Op::Gt | Op::Ge | Op::Lt | Op::Le => (vec![dtype, dtype], DType::I1),
        _ => (vec![dtype, dtype], dtype),
    }
}

const OPS: [Op; 33] = [
    Op::Clamp,
    Op::Sign,
    Op::IsNan,
    Op::IsFinite,
    Op::IsInfinite,
    Op::Add,
    Op::Sub,
    Op::Mul,
    Op::MulNoNan,
    Op::Div,
    Op::Sqrt,
    Op::Max,
    Op::Min,
    Op::And,
    Op::Or,
    Op::Xor,
    Op::Not,
    Op::ShiftLeft,
    Op::ShiftRight,
    Op::ShiftRightSigned,
    Op::Negate,
    Op::Abs,
    Op::Floor,
    Op::Ceiling,
    Op::Trunc,
    Op::Round,
    Op::Eq,
    Op::Ne,
    Op::Gt,
    Op::Ge,
    Op::Lt,
    Op::Le,
    Op::Select,
];

static FUNCTIONS: [&Kernel1; 28] = [
    &math::SQRT,
    &math::RSQRT,
    &math::CBRT,
    &math::EXP,
    &math::EXP2,
    &math::EXPM1,
    &math::LOGISTIC,
    &math::TANH,
    &math::SINH,
    &math::COSH,
    &math::LOG,
    &math::LOG1P,
    &math::LOG2,
    &math::LOG10,
    &math::SOFTPLUS,
    &math::SIN,
    &math::COS,
    &math::TAN,
    &math::ASIN,
    &math::ACOS,
    &math::ATAN,
    &math::ASINH,
    &math::ACOSH,
    &math::ATANH,
    &math::ERF,
    &math::ERF_INV,
    &math::SINPI,
    &math::TANPI,
];
static FUNCTIONS2: [&Kernel2; 5] =
    [&math::POW, &math::ATAN2, &math::MODULO, &math::REMAINDER, &math::FLOOR_QUOTIENT];

/// All ops on elements of this width.
fn ops(width: usize) -> Vec<(Op, DType)> {
    let mut all = vec![];
    for &dtype in DType::ALL.iter().filter(|d| d.bytes() <= width) {
        let converts = DType::ALL
            .iter()
            .filter(|to| to.bytes() == width && **to != DType::I1)
            .map(|&to| Op::Convert(to));
        let functions = FUNCTIONS.into_iter().map(Op::Function);
        let all_of = OPS.into_iter().chain(functions).chain(FUNCTIONS2.into_iter().map(Op::Function2));
        let own = all_of.filter(|_| dtype == DType::I1 || dtype.bytes() == width);
        all.extend(own.chain(converts).filter(|&op| has(op, dtype)).map(|op| (op, dtype)));
    }
    all
}

/// Numbers with many bits of every kind. The constants are Knuth's (TAOCP, volume 2, 3.3.4, line 26).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 32 ^ self.0 << 17
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn element(&mut self, dtype: DType) -> Bits {
        let special = self.below(4) == 0;
        match dtype {
            DType::I1 => self.next() & 1,
            DType::F32 if special => bits(
                [0.0, -0.0, 1.0, -1.0, f32::NAN, f32::INFINITY, -f32::INFINITY, 2.5, f32::MIN_POSITIVE / 4.0]
                    [self.below(9)],
            ),
            DType::F64 if special => bits(
                [0.0, -0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, -f64::INFINITY, 2.5, f64::MIN_POSITIVE / 4.0]
                    [self.below(9)],
            ),
            DType::F32 => bits((self.next() as i32 as f32) / 65536.0),
            DType::F64 => bits((self.next() as i64 as f64) / 65536.0),
            // Small ones, which are amounts of shifts too, and those at both ends.
            _ if special => {
                let small = self.next() % 70;
                [0, 1, u64::MAX, 1 << (8 * dtype.bytes() - 1), small, small][self.below(6)]
                    & (u64::MAX >> (64 - 8 * dtype.bytes()))
            }
            _ => self.next() & (u64::MAX >> (64 - 8 * dtype.bytes())),
        }
    }
}

/// The byte at which each run of an argument begins, none before 0, and how many bytes there are.
fn places(nest: &Nest, number: usize, argument: Argument) -> (Vec<usize>, usize) {
    let mut places: Vec<isize> = vec![0];
    let (mut index, mut at) = (vec![0; nest.sizes.len()], 0);
    for _ in 1..nest.sizes.iter().product::<usize>() {
        let axis = (0..index.len()).find(|&axis| index[axis] + 1 < nest.sizes[axis]).unwrap();
        index[..axis].fill(0);
        index[axis] += 1;
        at += nest.moves[axis][number] as isize;
        places.push(at);
    }
    let (low, high) = (*places.iter().min().unwrap(), *places.iter().max().unwrap());
    let run = argument.width * if argument.repeated { 1 } else { nest.len };
    (places.iter().map(|at| (at - low) as usize).collect(), (high - low) as usize + run)
}

/// Random runs of a chain: some arguments are as far apart as any, the others are dense.
fn nest(chain: &Chain, random: &mut Random) -> Nest {
    let most = if random.below(9) == 0 { 700 } else { 40 };
    let len = 1 + random.below(most);
    let sizes: Vec<usize> = (0..1 + random.below(2)).map(|_| 1 + random.below(6)).collect();
    let mut moves = vec![vec![]; sizes.len()];
    for argument in chain.arguments() {
        let apart = !argument.written && random.below(2) == 0;
        let (step, mut back) = (if argument.repeated { 0 } else { len as isize }, 0);
        for (&size, moves) in sizes.iter().zip(&mut moves) {
            let stride = random.below(3 * len) as isize - len as isize;
            let by = if apart { stride - back } else { step };
            back += (size as isize - 1) * stride;
            moves.push((by * argument.width as isize) as i32);
        }
    }
    Nest { len, sizes, moves }
}

/// Elements by which values are beside an argument, at most.
const BESIDE: usize = 600;

/// Runs a chain on random elements and compares all that it stores.
fn check(chain: &Chain, random: &mut Random, n: usize) {
    let Some(natives) = compile(std::slice::from_ref(chain)) else { return };
    let native = &natives[0];
    let one_run = Nest { len: n.max(1), sizes: vec![], moves: vec![] };
    let nest = chain.nest.as_ref().unwrap_or(&one_run);
    let all = nest.len * nest.sizes.iter().product::<usize>();
    let n = n.min(all);
    // Without elements, too, it begins in a run.
    let start = random.below(all - n + usize::from(n > 0));
    let (first, within) = (start / nest.len, start % nest.len);
    let mut columns: Vec<Vec<Bits>> = vec![];
    // For each value, the elements of its argument, and where its own first ones are.
    let mut all_elements: Vec<(Vec<Bits>, Vec<usize>)> = vec![];
    let (mut buffers, mut addresses): (Vec<Vec<u8>>, Vec<*mut u8>) = Default::default();
    for value in &chain.values {
        let width = value.dtype.bytes();
        all_elements.push((vec![], vec![]));
        columns.push(match value.origin {
            Origin::Elements | Origin::Repeated => {
                let number = buffers.len();
                let argument = chain.arguments().nth(number).unwrap();
                let (places, bytes) = places(nest, number, argument);
                let count = bytes / width + 2 * BESIDE;
                let x: Vec<Bits> = (0..count).map(|_| random.element(value.dtype)).collect();
                buffers.push(x.iter().flat_map(|x| x.to_le_bytes()[..width].to_vec()).collect());
                addresses.push(buffers[number].as_mut_ptr().wrapping_add(BESIDE * width + places[first]));
                let at = |i: usize| {
                    let own = if argument.repeated { 0 } else { i % nest.len };
                    BESIDE + places[i / nest.len] / width + own
                };
                let places: Vec<usize> = (start..start + n).map(at).collect();
                let column = places.iter().map(|&at| x[at]).collect();
                *all_elements.last_mut().unwrap() = (x, places);
                column
            }
            Origin::Beside(other, bytes) => {
                let (x, places) = &all_elements[other];
                places.iter().map(|&at| x[at.wrapping_add_signed(bytes as isize / width as isize)]).collect()
            }
            Origin::Literal(x) => vec![dispatch!(x.dtype(), T => bits_of::<T>(x)); n],
            Origin::Made => vec![0; n],
        });
    }
    for op in &chain.ops {
        let dtype = chain.values[*op.operands.last().unwrap()].dtype;
        let at = |i: usize| -> Vec<Bits> { op.operands.iter().map(|&v| columns[v][i]).collect() };
        columns[op.result] = (0..n).map(|i| one(op.op, dtype, &at(i))).collect();
    }
    let packed = |v: usize| -> Vec<u8> {
        let width = chain.values[v].dtype.bytes();
        columns[v].iter().flat_map(|x| x.to_le_bytes()[..width].to_vec()).collect()
    };
    let first_written = buffers.len();
    // What is after the last element stays.
    buffers.extend(chain.outputs.iter().map(|&v| vec![0xA5; n * chain.values[v].dtype.bytes() + 40]));
    addresses.extend(buffers[first_written..].iter_mut().map(|b| b.as_mut_ptr()));
    // Results past the caches are where a vector begins, or are not past them.
    let mut aligned: Vec<AlignedBytes> = vec![];
    if !chain.past.is_empty() && n % 2 == 0 {
        for (buffer, address) in buffers.iter().zip(&mut addresses).skip(first_written) {
            let mut bytes = AlignedBytes::zeroed(buffer.len() + machine::VECTOR);
            bytes.as_mut_slice().fill(0xA5);
            let start = bytes.as_mut_slice().as_mut_ptr();
            *address = start.wrapping_add(start.align_offset(machine::VECTOR));
            aligned.push(bytes);
        }
    }
    if chain.nest.is_some() {
        for (&v, address) in chain.outputs.iter().zip(&mut addresses[first_written..]) {
            *address = address.wrapping_sub(within * chain.values[v].dtype.bytes());
        }
        let (mut words, mut rest) = (vec![within, n], first);
        for &size in &nest.sizes {
            words.push(size - rest % size);
            rest /= size;
        }
        addresses.extend(words.into_iter().map(std::ptr::without_provenance_mut::<u8>));
    }
    // SAFETY: a buffer for each argument, with so many elements.
    unsafe { native.call(&addresses, n) };
    for (bytes, buffer) in aligned.iter_mut().zip(&mut buffers[first_written..]) {
        let (start, n) = (bytes.as_mut_slice().as_mut_ptr().align_offset(machine::VECTOR), buffer.len());
        buffer.copy_from_slice(&bytes.as_slice()[start..start + n]);
    }
    let stored = &buffers[first_written..];
    for (&v, got) in chain.outputs.iter().zip(stored) {
        let (dtype, want) = (chain.values[v].dtype, packed(v));
        let width = dtype.bytes();
        assert!(got[want.len()..].iter().all(|&b| b == 0xA5), "written behind the end: {chain:?}");
        for i in 0..n {
            let at = i * width..(i + 1) * width;
            // Which NaN an operation makes, or gives of two, is up to the processor.
            let is_nan = |x: &[u8]| match dtype {
                DType::F32 => cast::slice::<f32>(x)[0].is_nan(),
                DType::F64 => cast::slice::<f64>(x)[0].is_nan(),
                _ => false,
            };
            let (got, want) = (&got[at.clone()].to_vec(), &want[at].to_vec());
            assert!(
                got == want || is_nan(got) && is_nan(want),
                "element {i} of {n}: {got:?}, not {want:?}: {chain:?}"
            );
        }
    }
}

fn bits_of<T: Element>(x: Literal) -> Bits {
    bits::<T>(x.get())
}

fn value(dtype: DType, origin: Origin) -> Value {
    Value { dtype, origin }
}

#[test]
fn each_op_is_right_on_any_number_of_elements() {
    let mut random = Random(1);
    for width in [1, 2, 4, 8] {
        for (op, dtype) in ops(width) {
            let (from, to) = signature(op, dtype);
            for origin in [Origin::Elements, Origin::Repeated] {
                // What is narrower is read from memory: the one operand of a conversion.
                let mut chain = Chain { width, ..Chain::default() };
                for (i, &dtype) in from.iter().enumerate() {
                    chain.values.push(value(dtype, if i == 0 { Origin::Elements } else { origin }));
                }
                let result = chain.values.len();
                chain.values.push(value(to, Origin::Made));
                chain.ops.push(MicroOp { op, operands: (0..from.len()).collect(), result });
                chain.outputs.push(result);
                for n in [0, 1, 3, 8, 17, 64, 133] {
                    check(&chain, &mut random, n);
                }
            }
        }
    }
}

/// A number that is known needs fewer instructions, but for zeros and NaN.
#[test]
fn the_larger_or_smaller_of_a_literal_and_an_element_is_right() {
    let mut random = Random(4);
    let literals = [0.0, -0.0, 2.5, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    for (op, operands) in [(Op::Max, 2), (Op::Min, 2), (Op::Clamp, 3)] {
        for (dtype, at) in [DType::F32, DType::F64].into_iter().flat_map(|d| [(d, 0), (d, 1)]) {
            for (x, y) in literals.into_iter().flat_map(|x| literals.map(|y| (x, y))) {
                // Literals are all operands but one: of the clamp, both bounds.
                let of = |x: f64| value(dtype, Origin::Literal(Literal::new(x).convert(dtype)));
                let mut values = vec![of(x), of(y)];
                values.truncate(operands - 1);
                values.insert(at, value(dtype, Origin::Elements));
                values.push(value(dtype, Origin::Made));
                let ops = vec![MicroOp { op, operands: (0..operands).collect(), result: operands }];
                let width = dtype.bytes();
                let chain = Chain { width, values, ops, outputs: vec![operands], ..Chain::default() };
                [1, 64, 133].into_iter().for_each(|n| check(&chain, &mut random, n));
            }
        }
    }
}

/// Long chains have more values than registers.
#[test]
fn random_chains_are_right() {
    let mut random = Random(2);
    for round in 0..2000 {
        let width = [1, 2, 4, 8][round % 4];
        let all = ops(width);
        let dtypes: Vec<DType> =
            DType::ALL.iter().copied().filter(|&d| all.iter().any(|&(_, of)| of == d)).collect();
        let mut chain = Chain { width, ..Chain::default() };
        for _ in 0..1 + random.below(7) {
            let dtype = dtypes[random.below(dtypes.len())];
            let literal = match dtype {
                DType::I1 => Literal::new(Bool::from(random.below(2) == 0)),
                dtype => Literal::new(random.below(100) as f64).convert(dtype),
            };
            let origin = [Origin::Elements, Origin::Elements, Origin::Repeated, Origin::Literal(literal)]
                [random.below(4)];
            let narrow = dtype != DType::I1 && dtype.bytes() < width;
            let is_like = |v: &Value| v.dtype == dtype && v.origin == Origin::Elements;
            let other = chain.values.iter().rposition(is_like).filter(|_| random.below(3) == 0);
            let elements = random.below(2 * BESIDE) as i32 - BESIDE as i32;
            let beside = other.map(|other| Origin::Beside(other, elements * dtype.bytes() as i32));
            let read = beside.unwrap_or(if narrow { Origin::Elements } else { origin });
            chain.values.push(value(dtype, read));
        }
        // More literals than there are registers.
        let own: Vec<DType> = dtypes.iter().copied().filter(|d| d.bytes() == width).collect();
        for x in 0..random.below(2) * 24 {
            let dtype = own[random.below(own.len())];
            chain.values.push(value(dtype, Origin::Literal(Literal::new(x as f64).convert(dtype))));
        }
        for _ in 0..1 + random.below(60) {
            let (op, dtype) = all[random.below(all.len())];
            let (from, to) = signature(op, dtype);
            let mut pick = |dtype: DType| {
                let fit: Vec<usize> =
                    (0..chain.values.len()).filter(|&v| chain.values[v].dtype == dtype).collect();
                if fit.is_empty() {
                    None
                } else {
                    Some(fit[random.below(fit.len())])
                }
            };
            let Some(operands) = from.into_iter().map(&mut pick).collect::<Option<Vec<_>>>() else {
                continue;
            };
            chain.ops.push(MicroOp { op, operands, result: chain.values.len() });
            chain.values.push(value(to, Origin::Made));
        }
        let made: Vec<usize> = chain.ops.iter().map(|op| op.result).collect();
        let Some(&last) = made.last() else { continue };
        chain.outputs =
            made.into_iter().filter(|&v| v == last || random.below(20) == 0).rev().take(4).collect();
        chain.past = chain.outputs.iter().copied().filter(|_| random.below(3) == 0).collect();
        let n = random.below(70);
        check(&chain, &mut random, n);
        chain.nest = Some(nest(&chain, &mut random));
        let n = random.below(900);
        check(&chain, &mut random, n);
    }
}

/// Floats of every exponent and kind, with random fractions, and special ones.
fn floats<F: Computed>(random: &mut Random) -> Vec<Bits> {
    let (width, fraction) = if size_of::<F>() == 8 { (64, 52) } else { (32, 23) };
    let mut all = vec![];
    for exponent in 0..1u64 << (width - 1 - fraction) {
        for sign in 0..2 {
            let high = (sign << (width - 1)) | (exponent << fraction);
            let low = random.next() & ((1 << fraction) - 1);
            all.extend([high | low, high]);
        }
    }
    all.extend((0..2000).map(|_| random.next() >> (64 - width)));
    all.extend((0..2000).map(|_| bits(F::of((random.next() as i64 as f64) / 3e17))));
    all
}

/// The formula of a function against its kernel, bit by bit, NaN too, on vectors and on single elements.
fn check_function<F: Computed>(op: Op, random: &mut Random) {
    let dtype = F::DTYPE;
    assert!(has(op, dtype));
    let (from, to) = signature(op, dtype);
    let mut chain = Chain { width: size_of::<F>(), ..Chain::default() };
    chain.values.extend(from.iter().map(|&dtype| value(dtype, Origin::Elements)));
    chain.values.push(value(to, Origin::Made));
    chain.ops.push(MicroOp { op, operands: (0..from.len()).collect(), result: from.len() });
    chain.outputs.push(from.len());
    let Some(natives) = compile(&[chain]) else { return };
    let x: Vec<F> = floats::<F>(random).into_iter().map(from_bits).collect();
    let mut others = x.clone();
    others.rotate_left(random.below(x.len()));
    // Those of common size beside one another, so that few vectors have one that is rare.
    for y in [x.clone(), others] {
        let mut want = vec![F::default(); x.len()];
        match op {
            Op::Function(kernel) => F::map(kernel, &x, &mut want),
            Op::Function2(kernel) => F::map2(kernel, &x, &y, &mut want),
            _ => unreachable!("a function"),
        }
        for piece in [x.len(), 97, 1] {
            let mut got = vec![F::default(); x.len()];
            for start in (0..x.len()).step_by(piece) {
                let n = piece.min(x.len() - start);
                let mut addresses = vec![];
                for operand in [&x, &y].into_iter().take(from.len()) {
                    addresses.push(operand[start..].as_ptr().cast_mut().cast::<u8>());
                }
                addresses.push(got[start..].as_mut_ptr().cast::<u8>());
                // SAFETY: there are so many elements, of which the first operands are only read.
                unsafe { natives[0].call(&addresses, n) };
            }
            for ((&x, &y), (&got, &want)) in x.iter().zip(&y).zip(got.iter().zip(&want)) {
                let (x, y, got, want) = (bits(x), bits(y), bits(got), bits(want));
                assert_eq!(got, want, "{op:?} of {x:x}, {y:x}: {got:x}, not {want:x}");
            }
        }
    }
}

#[test]
fn formulas_give_the_bits_of_kernels() {
    let mut random = Random(3);
    let functions = FUNCTIONS.into_iter().map(Op::Function);
    for op in functions.chain(FUNCTIONS2.into_iter().map(Op::Function2)) {
        check_function::<f32>(op, &mut random);
        check_function::<f64>(op, &mut random);
    }
}
