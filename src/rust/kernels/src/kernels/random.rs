//! Counter-based random bits (Salmon, Moraes, Dror and Shaw, 2011): cipher block `i` of a stream is the
//! cipher of `counter + i`, so that any element can be computed without those before it, by any thread.
//! Elements are assigned to cipher blocks as in XLA on CPU, in row-major order; they are computed in the
//! order of memory, so that nothing is transposed. A block is a cipher block in this file.

mod cipher;

use super::cast;
use super::threads::pool;
use crate::dtype::Element;
pub use cipher::Algorithm;
use cipher::{make_blocks, Run, BATCH, LANES};
use std::ops::Range;

// ---- which element is of which block -------------------------------------------------------------------------------

/// The assignment of a shape's elements to blocks.
#[derive(Debug)]
struct Order {
    /// Sizes of the axes, without those of size 1; at least one.
    sizes: Vec<usize>,
    /// Stride along each axis, in blocks, or in elements if no axis is split.
    strides: Vec<u64>,
    /// Elements of a block, which are neighbours along the split axis: 2 to this power.
    shift: u32,
    /// The axis whose neighbours share a block. `None` if elements share blocks in row-major order.
    split: Option<usize>,
}

impl Order {
    fn new(algorithm: Algorithm, shape: &[usize], bytes: usize) -> Order {
        let mut sizes = proper_sizes(shape);
        let (share, last) = (algorithm.elements(bytes), sizes.len() - 1);
        let split = split_axis(algorithm, &sizes, share);
        let mut strides = vec![0; sizes.len()];
        let mut stride = 1;
        for axis in (0..sizes.len()).rev() {
            strides[axis] = stride;
            stride *= if split == Some(axis) { sizes[axis].div_ceil(share) } else { sizes[axis] } as u64;
        }
        if split == Some(0) && sizes[0] == share && last > 0 {
            // A line along the first axis is one block, so it is joined with the next axis.
            sizes.remove(0);
            strides.remove(0);
            sizes[0] *= share;
        }
        Order { sizes, strides, shift: share.trailing_zeros(), split }
    }
}

/// The assignment of a shape's elements to blocks, for code that computes them in row-major order.
#[derive(Debug)]
pub struct Sharing {
    /// Sizes of the array of blocks: those of the elements without sizes of 1, of which one may be divided;
    /// or a single one.
    pub blocks: Vec<usize>,
    /// The axis along which the elements of a block are neighbours; `None` if they are in row-major order.
    pub split: Option<usize>,
    /// Elements of a block. The last block along the axis, or in row-major order, may have too many.
    pub share: usize,
}

/// The assignment of a shape's elements, of this many bytes each.
pub fn sharing(algorithm: Algorithm, shape: &[usize], bytes: usize) -> Sharing {
    let share = algorithm.elements(bytes);
    let sizes = proper_sizes(shape);
    let split = split_axis(algorithm, &sizes, share);
    let blocks = match split {
        Some(axis) => {
            let mut blocks = sizes;
            blocks[axis] = blocks[axis].div_ceil(share);
            blocks
        }
        None => vec![sizes.iter().product::<usize>().div_ceil(share)],
    };
    Sharing { blocks, split, share }
}

/// The sizes that are not 1; at least one.
fn proper_sizes(shape: &[usize]) -> Vec<usize> {
    let mut sizes: Vec<usize> = shape.iter().copied().filter(|&d| d != 1).collect();
    if sizes.is_empty() {
        sizes.push(1);
    }
    sizes
}

/// The axis whose neighbours share a block.
fn split_axis(algorithm: Algorithm, sizes: &[usize], share: usize) -> Option<usize> {
    let last = sizes.len() - 1;
    match algorithm {
        // The first axis of even size, else the first of the largest.
        Algorithm::ThreeFry if share > 1 => {
            let largest = (0..=last).rev().max_by_key(|&i| sizes[i]);
            (0..=last).find(|&i| sizes[i] % 2 == 0).or(largest)
        }
        _ => (last == 0 || sizes[last] % share == 0).then_some(last),
    }
}

/// A walk over elements in the order of memory.
struct Cursor<'a> {
    order: &'a Order,
    /// Index of the next element.
    index: Vec<usize>,
}

impl Cursor<'_> {
    /// A walk from element number `at` on.
    fn new(order: &Order, mut at: usize) -> Cursor<'_> {
        let split_off = |&size: &usize| {
            let index = at % size;
            at /= size;
            index
        };
        Cursor { order, index: order.sizes.iter().map(split_off).collect() }
    }

    /// Writes the numbers of the blocks of the next elements, at most `most`: those left along the first
    /// axis, as far as `blocks` holds theirs.
    fn next(&mut self, most: usize, blocks: &mut [u64]) -> Segment {
        let Order { sizes, strides, shift, split } = self.order;
        let (first, share) = (self.index[0], 1 << shift);
        let (mut start, mut part) = (0, 0);
        for (axis, (&index, stride)) in self.index.iter().zip(strides).enumerate().skip(1) {
            let split = *split == Some(axis);
            part += if split { index % share } else { 0 };
            start += stride * (if split { index >> shift } else { index }) as u64;
        }
        let most = most.min(sizes[0] - first);
        let step = strides[0];
        let number = |blocks: &mut [u64], from: usize, shift: u32| {
            let mut next = start + from as u64 * step;
            for block in blocks {
                *block = next >> shift;
                next += step;
            }
        };
        let segment = if *split == Some(0) {
            // Blocks are along the first axis, and each is used up.
            let part = first % share;
            let len = most.min(blocks.len() * share - part);
            let used = (part + len).div_ceil(share);
            number(&mut blocks[..used], first >> shift, 0);
            Segment { len, blocks: used, part, stride: 1, turn: 0 }
        } else {
            // Each element takes one part of a block of its own. The other parts are recomputed elsewhere,
            // which is cheaper than keeping them.
            let len = most.min(blocks.len());
            let (shift, part, turn) = match split {
                Some(_) => (0, part, 0),
                None => (*shift, (start + first as u64 * step) as usize % share, step as usize % share),
            };
            number(&mut blocks[..len], first, shift);
            Segment { len, blocks: len, part, stride: share, turn }
        };
        self.index[0] += segment.len;
        let mut axis = 0;
        while self.index[axis] == sizes[axis] && axis + 1 < sizes.len() {
            self.index[axis] = 0;
            axis += 1;
            self.index[axis] += 1;
        }
        segment
    }
}

/// Contiguous elements, and their positions in blocks.
#[derive(Debug)]
struct Segment {
    len: usize,
    /// Number of blocks.
    blocks: usize,
    /// Position of the first element in its block.
    part: usize,
    /// Stride between neighbours: 1, or the size of a block.
    stride: usize,
    /// Increment of the position in the block, from each element to the next.
    turn: usize,
}

impl Segment {
    /// The position of an element, in elements from the first of the blocks on.
    #[inline(always)]
    fn position(&self, i: usize) -> usize {
        // Modulo the stride, which is a power of two; of neighbours in blocks that are used up, 1.
        i * self.stride
            + if self.stride == 1 { self.part } else { (self.part + i * self.turn) & (self.stride - 1) }
    }
}

// ---- elements ------------------------------------------------------------------------------------------------------

/// An unsigned integer of random bits.
trait Bits: Element {
    /// Words that an element takes.
    const WORDS: usize;

    /// Takes its bits from 32-bit words, low ones first; narrow ones are the low bits of one word.
    fn from_words(words: &[u32]) -> Self;
}

macro_rules! narrow {
    ($($type:ty)+) => {$(
        impl Bits for $type {
            const WORDS: usize = 1;
            #[inline(always)]
            fn from_words(words: &[u32]) -> $type { words[0] as $type }
        }
    )+};
}
narrow! { u8 u16 u32 }

impl Bits for u64 {
    const WORDS: usize = 2;
    #[inline(always)]
    fn from_words(words: &[u32]) -> u64 {
        u64::from(words[0]) | u64::from(words[1]) << 32
    }
}

/// Blocks of a batch for some more elements than [`LANES`]: the memory for more would have to be cleared.
const FEW: usize = 4 * LANES;

/// Elements of a thread's piece.
const PIECE: usize = 1 << 14;

/// The estimated time per element, in picoseconds: about a hundred operations for a block of two elements,
/// vectorised by eight.
pub const ELEMENT: usize = 2_000;

/// A draw of a shape, without its state. Draws of a batch of states are one after the other.
#[derive(Debug)]
pub struct Draw {
    algorithm: Algorithm,
    order: Order,
    /// Bytes of an element.
    bytes: usize,
    /// Elements of a draw.
    len: usize,
    /// Blocks that a draw uses.
    used: u64,
    /// Where its elements are, if it is small.
    small: Option<Small>,
}

/// A draw of a few elements, of which a batch of states has many: where they are is found once.
#[derive(Debug)]
struct Small {
    /// Numbers of blocks.
    blocks: Vec<u64>,
    /// For each element, the position of its words in those of the blocks.
    at: Vec<usize>,
}

impl Small {
    /// Elements, at most.
    const LEN: usize = 8;

    fn new(algorithm: Algorithm, order: &Order, len: usize, words: usize) -> Option<Small> {
        if !(1..=Small::LEN).contains(&len) {
            return None;
        }
        let mut small = Small { blocks: vec![], at: vec![] };
        let mut cursor = Cursor::new(order, 0);
        while small.at.len() < len {
            let mut numbers = [0; Small::LEN];
            let segment = cursor.next(len - small.at.len(), &mut numbers);
            let first = small.blocks.len() * algorithm.words();
            small.at.extend((0..segment.len).map(|i| first + segment.position(i) * words));
            small.blocks.extend(&numbers[..segment.blocks]);
        }
        Some(small)
    }
}

impl Draw {
    /// Draws of this shape, of elements of this many bytes.
    pub fn new(algorithm: Algorithm, shape: &[usize], bytes: usize) -> Draw {
        let used: usize = sharing(algorithm, shape, bytes).blocks.iter().product();
        let (len, order) = (shape.iter().product(), Order::new(algorithm, shape, bytes));
        // As many words as the elements of this size take.
        let small = Small::new(algorithm, &order, len, bytes.div_ceil(size_of::<u32>()));
        Draw { algorithm, order, bytes, len, used: used as u64, small }
    }

    /// The next state, whose counter is advanced by the used blocks.
    pub fn next(&self, [key, counter]: [u64; 2]) -> [u64; 2] {
        [key, counter.wrapping_add(self.used)]
    }

    /// Computes a range of the elements, in the order of memory, for the states with these numbers.
    pub fn range(&self, states: States, range: Range<usize>, out: &mut [u8]) {
        match self.bytes {
            1 => self.range_of::<u8>(states, range, out),
            2 => self.range_of::<u16>(states, range, cast::slice_mut(out)),
            4 => self.range_of::<u32>(states, range, cast::slice_mut(out)),
            _ => self.range_of::<u64>(states, range, cast::slice_mut(out)),
        }
    }

    fn range_of<T: Bits>(&self, states: States, range: Range<usize>, out: &mut [T]) {
        let whole = |_: &&Small| range.start % self.len == 0 && range.len() % self.len == 0;
        match (self.small.as_ref().filter(whole), range.len()) {
            (Some(small), ..=LANES) => {
                self.fill_small::<T, LANES>(small, states, range.start / self.len, out)
            }
            (Some(small), ..=FEW) => self.fill_small::<T, FEW>(small, states, range.start / self.len, out),
            (Some(small), _) => self.fill_small::<T, BATCH>(small, states, range.start / self.len, out),
            (None, ..=LANES) => self.fill_piece::<T, LANES>(states, range, out),
            (None, _) => self.fill_piece::<T, BATCH>(states, range, out),
        }
    }

    /// Fills the dense column-major values of the shape, one after the other, for the states with these
    /// numbers.
    pub fn fill(&self, states: States, out: &mut [u8]) {
        let work = (out.len() / self.bytes).saturating_mul(ELEMENT);
        pool::for_each_chunk(out, PIECE * self.bytes, work, |i, piece| {
            self.range(states, i * PIECE..i * PIECE + piece.len() / self.bytes, piece);
        });
    }

    /// Whole draws, from this number on.
    fn fill_small<T: Bits, const B: usize>(
        &self,
        small: &Small,
        states: States,
        first: usize,
        out: &mut [T],
    ) {
        let (count, of_block) = (small.blocks.len(), self.algorithm.words());
        let mut numbers = [0; B];
        numbers.chunks_exact_mut(count).for_each(|own| own.copy_from_slice(&small.blocks));
        let mut words = [[0; 4]; B];
        let words = words.as_flattened_mut();
        let mut runs = Vec::with_capacity(out.len().min(B));
        let mut next = first;
        for turn in out.chunks_mut(B / count * self.len) {
            let draws = turn.len() / self.len;
            runs.clear();
            runs.extend((next..next + draws).map(|draw| Run { state: states(draw), blocks: count }));
            next += draws;
            let words = &mut words[..draws * count * of_block];
            make_blocks::<B>(self.algorithm, &runs, &numbers[..draws * count], words);
            for (own, words) in turn.chunks_exact_mut(self.len).zip(words.chunks_exact(count * of_block)) {
                own.iter_mut().zip(&small.at).for_each(|(x, &at)| *x = T::from_words(&words[at..]));
            }
        }
    }

    fn fill_piece<T: Bits, const B: usize>(&self, states: States, range: Range<usize>, out: &mut [T]) {
        if range.is_empty() {
            return;
        }
        let mut numbers = [0; B];
        let mut words = [[0; 4]; B];
        let words = words.as_flattened_mut();
        let (mut segments, mut runs) = (Vec::new(), Vec::new());
        let (mut draw, mut left) = (range.start / self.len, self.len - range.start % self.len);
        let mut cursor = Cursor::new(&self.order, self.len - left);
        let (mut at, mut rest) = (range.start, out);
        while at < range.end {
            let mut used = 0;
            segments.clear();
            runs.clear();
            while at < range.end && used < B {
                if left == 0 {
                    (draw, left) = (draw + 1, self.len);
                    cursor.index.fill(0);
                }
                let (end, before) = (range.end.min(at + left), used);
                while at < end && used < B {
                    let segment = cursor.next(end - at, &mut numbers[used..]);
                    at += segment.len;
                    left -= segment.len;
                    used += segment.blocks;
                    segments.push(segment);
                }
                runs.push(Run { state: states(draw), blocks: used - before });
            }
            let words = &mut words[..used * self.algorithm.words()];
            make_blocks::<B>(self.algorithm, &runs, &numbers[..used], words);
            let mut block = 0;
            for segment in &segments {
                let (own, after) = rest.split_at_mut(segment.len);
                let from = &words[(block << self.order.shift) * T::WORDS..];
                if segment.stride == 1 {
                    let from = from[segment.part * T::WORDS..].chunks_exact(T::WORDS);
                    own.iter_mut().zip(from).for_each(|(x, words)| *x = T::from_words(words));
                } else {
                    for (i, x) in own.iter_mut().enumerate() {
                        *x = T::from_words(&from[segment.position(i) * T::WORDS..]);
                    }
                }
                rest = after;
                block += segment.blocks;
            }
        }
    }
}

/// States by their numbers: key and counter of each.
pub type States<'a> = &'a (dyn Fn(usize) -> [u64; 2] + Sync);

#[cfg(test)]
mod tests {
    use super::cipher::{encrypt, encrypt_with, philox, threefry, Plane};
    use super::*;

    #[test]
    fn ciphers_give_the_known_answers_of_random123() {
        // The file kat_vectors of the Random123 library: zeros, ones, digits of pi.
        assert_eq!(threefry([0; 2], [0; 2]), [0x6b20_0159, 0x99ba_4efe]);
        assert_eq!(threefry([u32::MAX; 2], [u32::MAX; 2]), [0x1cb9_96fc, 0xbb00_2be7]);
        let pi = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
        assert_eq!(threefry([pi[2], pi[3]], [pi[0], pi[1]]), [0xc492_3a9c, 0x483d_f7a0]);
        assert_eq!(philox([0; 2], [0; 4]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(
            philox([u32::MAX; 2], [u32::MAX; 4]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        // The digits go on.
        assert_eq!(
            philox([0xa409_3822, 0x299f_31d0], pi),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    /// Bits in row-major order, each element by itself.
    fn one_by_one(algorithm: Algorithm, state: [u64; 2], shape: &[usize]) -> Vec<u32> {
        let draw = Draw::new(algorithm, shape, 4);
        let sizes = shape;
        (0..sizes.iter().product::<usize>())
            .map(|at| {
                let (mut rest, mut memory, mut stride) = (at, 0, 1);
                let mut index = vec![0; sizes.len()];
                for axis in (0..sizes.len()).rev() {
                    index[axis] = rest % sizes[axis];
                    rest /= sizes[axis];
                }
                for (&i, &size) in index.iter().zip(sizes) {
                    memory += i * stride;
                    stride *= size;
                }
                let mut out = [0];
                draw.fill_piece::<u32, LANES>(&|_| state, memory..memory + 1, &mut out);
                out[0]
            })
            .collect()
    }

    #[test]
    fn threads_batches_and_lines_leave_the_bits_alone() {
        let state = [42, u64::MAX - 1000];
        for algorithm in [Algorithm::ThreeFry, Algorithm::Philox] {
            let vectors = [&[2 * PIECE + 3][..], &[PIECE + 2]];
            let others = [&[3, 1025][..], &[1025, 3], &[512, 7], &[2, 3, 500], &[5, 7, 9, 11]];
            for shape in vectors.into_iter().chain(others) {
                let mut whole = vec![0u32; shape.iter().product()];
                let draw = Draw::new(algorithm, shape, 4);
                draw.fill(&|_| state, cast::bytes_mut(&mut whole));
                // Pieces that begin anywhere.
                let mut pieces = vec![0u32; whole.len()];
                let (mut at, mut len) = (0, 1);
                while at < whole.len() {
                    let end = (at + len).min(whole.len());
                    draw.fill_piece::<u32, BATCH>(&|_| state, at..end, &mut pieces[at..end]);
                    (at, len) = (end, len * 3 % 7919);
                }
                assert!(whole == pieces, "{algorithm:?} {shape:?}");
            }
        }
    }

    #[test]
    fn draws_of_a_batch_of_states_are_those_of_each() {
        let state = |i: usize| [i as u64 * 0x1234_5678_9ABC, u64::MAX - 3 * i as u64];
        for algorithm in [Algorithm::ThreeFry, Algorithm::Philox] {
            for shape in [&[][..], &[1], &[2], &[3], &[7, 2], &[2, 3], &[300], &[5, 7, 9]] {
                let draw = Draw::new(algorithm, shape, 8);
                let count = 2 * PIECE / draw.len + 3;
                let mut want = vec![0u64; count * draw.len];
                for (i, own) in want.chunks_mut(draw.len).enumerate() {
                    // Element by element: whole small draws are made in another way.
                    for (j, x) in own.iter_mut().enumerate() {
                        draw.fill_piece::<u64, LANES>(&|_| state(i), j..j + 1, std::slice::from_mut(x));
                    }
                }
                let mut got = vec![0u64; want.len()];
                draw.fill(&state, cast::bytes_mut(&mut got));
                assert!(got == want, "{algorithm:?} {shape:?}");
                for some in [3, 5, 40] {
                    let (first, last) = (2 * draw.len, (2 + some) * draw.len);
                    draw.range(&state, first..last, cast::bytes_mut(&mut got[first..last]));
                    assert!(got == want, "{algorithm:?} {shape:?}");
                }
            }
            let empty = Draw::new(algorithm, &[3, 0], 4);
            empty.fill(&state, &mut []);
        }
    }

    #[test]
    fn vectors_and_matrices_of_threefry_hold_the_same_words() {
        let state = [42, 0];
        let words = |shape: &[usize]| one_by_one(Algorithm::ThreeFry, state, shape);
        assert_eq!(words(&[5]), [3732534457, 1332528664, 646961260, 4263843367, 2234760234]);
        assert_eq!(words(&[2, 3]), [3732534457, 646961260, 2234760234, 1332528664, 4263843367, 457295592]);
        let next = |algorithm, state, shape: &[usize], bytes| Draw::new(algorithm, shape, bytes).next(state);
        assert_eq!(next(Algorithm::ThreeFry, state, &[2, 3], 4), [42, 3]);
        assert_eq!(next(Algorithm::ThreeFry, [1, u64::MAX], &[4], 8), [1, 3]);
        assert_eq!(next(Algorithm::Philox, state, &[3, 3], 2), [42, 3]);
        assert_eq!(next(Algorithm::Philox, state, &[3, 0], 8), state);
    }

    #[test]
    fn the_portable_code_gives_the_same() {
        for algorithm in [Algorithm::ThreeFry, Algorithm::Philox] {
            let mut chosen = [[0; BATCH]; 4];
            chosen
                .iter_mut()
                .flatten()
                .enumerate()
                .for_each(|(i, x)| *x = (i as u32).wrapping_mul(0x9E37_79B9));
            let mut portable = chosen;
            encrypt(algorithm, [1 << 30, 7], &mut chosen, BATCH);
            encrypt_with(algorithm, [1 << 30, 7], &mut portable, BATCH);
            assert_eq!(chosen, portable);
            let keys: [Plane<BATCH>; 2] = [chosen[2], chosen[0]];
            encrypt(algorithm, &keys, &mut chosen, BATCH);
            encrypt_with(algorithm, &keys, &mut portable, BATCH);
            assert_eq!(chosen, portable);
        }
    }
}
