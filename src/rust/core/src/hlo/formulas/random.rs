//! Random bits by integer ops: the ciphers of `kernels::random` on all cipher blocks at once, with the same
//! bits and the same next state.

use crate::dtype::{DType, Ranked};
use crate::kernels::random::{sharing, Algorithm, Sharing};
use crate::ops::{Binary, Compare, Iota, Op, RngBits, Var};
use crate::shape::{Axis, Shape};

/// Words of 32 bits, one of each cipher block.
type Word<'m, 'b> = Var<'m, 'b>;

fn xor<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>) -> Var<'m, 'b> {
    x.binary(Binary::xor, y)
}

/// The word, rotated.
fn rotate<'m, 'b>(x: Word<'m, 'b>, by: i64) -> Word<'m, 'b> {
    let left = x.binary(Binary::shift_left, x.integer(by));
    left.binary(Binary::or, x.binary(Binary::shift_right_logical, x.integer(32 - by)))
}

/// Low and high half of 64 bits.
fn halves<'m, 'b>(x: Var<'m, 'b>) -> [Word<'m, 'b>; 2] {
    let high = x.binary(Binary::shift_right_logical, x.integer(32));
    [x.convert(DType::UI32), high.convert(DType::UI32)]
}

/// ThreeFry-2x32 of 20 rounds, as `kernels::random` has it.
fn threefry<'m, 'b>(key: [Word<'m, 'b>; 2], counter: [Word<'m, 'b>; 2]) -> Vec<Word<'m, 'b>> {
    const AMOUNTS: [[i64; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    let keys = [key[0], key[1], xor(xor(key[0], key[1]), key[0].integer(0x1BD1_1BDA))];
    let inject = |[x, y]: [Var<'m, 'b>; 2], group: usize| {
        let count = if group == 0 { keys[1] } else { keys[(group + 1) % 3] + y.integer(group as i64) };
        [x + keys[group % 3], y + count]
    };
    let mut pair = inject(counter, 0);
    for group in 0..5 {
        for amount in AMOUNTS[group % 2] {
            let x = pair[0] + pair[1];
            pair = [x, xor(rotate(pair[1], amount), x)];
        }
        pair = inject(pair, group + 1);
    }
    pair.to_vec()
}

/// Philox-4x32 of 10 rounds, as `kernels::random` has it.
fn philox<'m, 'b>(mut key: [Word<'m, 'b>; 2], counter: [Word<'m, 'b>; 4]) -> Vec<Word<'m, 'b>> {
    let mut c = counter;
    let product = |x: Word<'m, 'b>, factor: i64| {
        let x = x.convert(DType::UI64);
        halves(x * x.integer(factor))
    };
    for round in 0..10 {
        if round > 0 {
            key = [key[0] + key[0].integer(0x9E37_79B9), key[1] + key[1].integer(0xBB67_AE85)];
        }
        let ([p_low, p_high], [q_low, q_high]) = (product(c[0], 0xD251_1F53), product(c[2], 0xCD9E_8D57));
        c = [xor(xor(q_high, c[1]), key[0]), q_low, xor(xor(p_high, c[3]), key[1]), p_low];
    }
    c.to_vec()
}

/// The next state, and the bits. Axes of a batch of states come after all others.
pub(super) fn bits<'m, 'b>(op: &RngBits, state: Var<'m, 'b>) -> Vec<Var<'m, 'b>> {
    let width = op.dtype.bytes();
    let Sharing { blocks, split, share } = sharing(op.algorithm, &op.shape, width);
    let used: usize = blocks.iter().product();
    let element = |i: usize| state.section(Axis(0), i, i + 1);
    let state_shape = state.aval().shape;
    let batch = &state_shape[1..];
    let with_batch = |sizes: &[usize]| [sizes, batch].concat();
    let next = element(0).beside(&[element(1) + element(1).integer(used as i64)], Axis(0));
    if op.shape.size() == 0 {
        let bits = state.convert(op.dtype).filled(0.0, &with_batch(&op.shape));
        return vec![next, bits];
    }

    let [key, counter] = [0, 1].map(|i| element(i).reread(batch.to_vec()));
    let line = match Shape::try_new(with_batch(&[used])) {
        Ok(line) => line,
        Err(error) => return vec![next.failed(error); 2],
    };
    let number = Iota { axis: Axis(0), to: Ranked::known(DType::UI64), shape: line.clone(), start: 0 };
    let axes: Vec<Axis> = (1..line.rank()).map(Axis).collect();
    let [key, counter] = [key, counter].map(|x| x.repeated(&line, &axes));
    let low = counter + state.made(Op::Iota(number));
    let words = match op.algorithm {
        Algorithm::ThreeFry => threefry(halves(key), halves(low)),
        Algorithm::Philox => {
            // The counter has 128 bits: its upper half starts as the key, and the lower half carries into it.
            let carry = low.compare(Compare::lt, counter).select(key.of(1.0), key.of(0.0));
            let ([a, b], [c, d]) = (halves(low), halves(key + carry));
            philox(halves(key), [a, b, c, d])
        }
    };
    let elements: Vec<Var> = match width {
        8 => words.chunks_exact(2).map(|pair| joined(op.dtype, pair[0], pair[1])).collect(),
        4 => words.iter().map(|w| bitcast_to(*w, op.dtype)).collect(),
        _ => words.iter().map(|w| w.convert(op.dtype)).collect(),
    };
    // Elements of a cipher block are neighbours along the axis that is split, or in row-major order.
    let axis = split.unwrap_or(0);
    let mut with_part = blocks.clone();
    with_part.insert(axis + 1, 1);
    let parts: Vec<Var> = elements.iter().map(|x| x.reread(with_batch(&with_part))).collect();
    let all = if share == 1 { parts[0] } else { parts[0].beside(&parts[1..], Axis(axis + 1)) };
    let mut sizes = blocks;
    sizes[axis] *= share;
    let taken = match split {
        Some(axis) => op.shape.iter().copied().filter(|&size| size != 1).nth(axis).unwrap_or(1),
        None => op.shape.size(),
    };
    let whole = all.reread(with_batch(&sizes)).section(Axis(axis), 0, taken);
    vec![next, whole.reread(with_batch(&op.shape))]
}

/// 64 bits of two words, the low ones first.
fn joined<'m, 'b>(dtype: DType, low: Word<'m, 'b>, high: Word<'m, 'b>) -> Var<'m, 'b> {
    let [low, high] = [low, high].map(|x| x.convert(DType::UI64));
    bitcast_to(low.binary(Binary::or, high.binary(Binary::shift_left, high.integer(32))), dtype)
}

/// The same bits in a dtype of the same width.
fn bitcast_to<'m, 'b>(x: Var<'m, 'b>, dtype: DType) -> Var<'m, 'b> {
    if x.aval().dtype == dtype {
        x
    } else {
        x.bitcast(dtype)
    }
}
