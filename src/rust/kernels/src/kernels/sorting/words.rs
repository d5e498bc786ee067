//! Sorts of unsigned integers: by their digits from the lowest on (radix sort), many in parts that threads
//! sort and merge.
//!
//! Source: D. E. Knuth, The Art of Computer Programming 3, 5.2.5 (radix sort); merges are cut where S. Odeh,
//! O. Green et al., "Merge Path", IPDPS workshops 2012, cut them.

use crate::dtype::Element;
use crate::kernels::threads::{pool, threads};
use crate::stop;
use std::ops::{BitAnd, BitOr, BitXor, Not, Range, Shl, Shr};
use std::sync::Mutex;

/// An unsigned integer.
pub trait Word:
    Element
    + Ord
    + Not<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// Its number of bits.
    const BITS: u32;
    /// The number that its lowest bits are.
    fn low(self) -> usize;
}

macro_rules! words {
    ($($type:ty)+) => {$(
        impl Word for $type {
            const BITS: u32 = <$type>::BITS;
            #[inline(always)]
            fn low(self) -> usize { self as usize }
        }
    )+};
}
words! { u8 u16 u32 u64 }

/// Words from which on they are sorted in parts by several threads.
pub const MANY: usize = 1 << 16;

/// Parts, at most.
const MAX_PARTS: usize = 16;

/// Bits of a digit, of few words and of many: counts of many digits take longer to clear than few words to
/// sort.
const DIGIT: [u32; 2] = [8, 11];

/// Words that are always sorted by comparisons, in place. Measured: of more, digits are faster, unless these
/// are many.
pub const IN_PLACE: usize = 16;

/// Words from which on digits are wide.
const WIDE: usize = 1 << 13;

/// Words of a merge that are one piece of work, and between two reports of progress.
const PIECE: usize = 1 << 15;

/// Sorts words; `bits` are those in which they differ. Words that agree in them differ in no bit, or
/// below them, where they ascend already: numbers of elements. Returns whether the result is in `other`, which
/// is as long, and else in `words`. On several threads if `shared`.
pub fn sort<W: Word>(words: &mut [W], other: &mut [W], bits: Range<u32>, shared: bool) -> bool {
    if words.is_sorted() {
        return false;
    }
    let count = words.len();
    let parts = if shared && count >= MANY { threads().next_power_of_two().min(MAX_PARTS) } else { 1 };
    let digit = DIGIT[usize::from(count / parts >= WIDE)];
    let passes = (bits.end - bits.start).div_ceil(digit);
    if count <= IN_PLACE * (passes * passes) as usize || u32::try_from(count).is_err() {
        stop::work(count);
        words.sort_unstable();
        return false;
    }
    let moved = passes % 2 == 1;
    let size = count.div_ceil(parts);
    let pairs = words.chunks_mut(size).zip(other.chunks_mut(size));
    each(pairs.collect(), |(words, other)| radix(words, other, bits.clone(), digit, moved));
    let (mut moved, mut size) = (moved, size);
    while size < count {
        let (from, to) = if moved { (&mut *other, &mut *words) } else { (&mut *words, &mut *other) };
        each(merges(from, to, size), |(left, right, out)| merge(left, right, out));
        (moved, size) = (!moved, 2 * size);
    }
    moved
}

/// Does each of some tasks, on several threads if there are several.
fn each<T: Send>(tasks: Vec<T>, run: impl Fn(T) + Sync) {
    let tasks: Vec<Mutex<Option<T>>> = tasks.into_iter().map(|task| Mutex::new(Some(task))).collect();
    pool::for_each_piece(tasks.len(), tasks.len() > 1, |i| {
        // No task is taken twice, so that no lock was poisoned.
        if let Some(task) = tasks[i].lock().ok().and_then(|mut task| task.take()) {
            run(task);
        }
    });
}

/// Sorts words by some of their bits; the result is in `other` if `moved`.
fn radix<W: Word>(words: &mut [W], other: &mut [W], bits: Range<u32>, digit: u32, moved: bool) {
    let (radix, mask) = (1 << digit, (1 << digit) - 1);
    let shifts = || bits.clone().step_by(digit as usize);
    let mut counts = vec![0u32; radix * shifts().count()];
    for piece in words.chunks(PIECE) {
        stop::work(piece.len());
        for (shift, counts) in shifts().zip(counts.chunks_mut(radix)) {
            piece.iter().for_each(|&word| counts[(word >> shift).low() & mask] += 1);
        }
    }
    let (mut from, mut to, mut is_moved) = (words, other, false);
    for (shift, counts) in shifts().zip(counts.chunks_mut(radix)) {
        // A digit that all have changes nothing.
        if counts[(from[0] >> shift).low() & mask] as usize == from.len() {
            continue;
        }
        let mut next = 0;
        for count in &mut *counts {
            (*count, next) = (next, next + *count);
        }
        for piece in from.chunks(PIECE) {
            stop::work(piece.len());
            for &word in piece {
                let place = &mut counts[(word >> shift).low() & mask];
                to[*place as usize] = word;
                *place += 1;
            }
        }
        (from, to, is_moved) = (to, from, !is_moved);
    }
    if is_moved != moved {
        stop::copy(from, to);
    }
}

/// Two sorted runs, and what they are merged into.
type Merge<'a, W> = (&'a [W], &'a [W], &'a mut [W]);

/// The merges of neighbouring runs of `size` words, each cut into pieces.
fn merges<'a, W: Word>(from: &'a [W], to: &'a mut [W], size: usize) -> Vec<Merge<'a, W>> {
    let mut all = Vec::new();
    for (pair, mut out) in from.chunks(2 * size).zip(to.chunks_mut(2 * size)) {
        let (mut left, mut right) = pair.split_at(size.min(pair.len()));
        while !out.is_empty() {
            let count = PIECE.min(out.len());
            let (now, later) = out.split_at_mut(count);
            let (of_left, later_left) = left.split_at(first_of(left, right, count));
            let (of_right, later_right) = right.split_at(count - of_left.len());
            all.push((of_left, of_right, now));
            (left, right, out) = (later_left, later_right, later);
        }
    }
    all
}

/// How many of the first `count` words of a merge are of the left run.
fn first_of<W: Word>(left: &[W], right: &[W], count: usize) -> usize {
    let (mut low, mut high) = (count.saturating_sub(right.len()), count.min(left.len()));
    while low < high {
        let middle = (low + high) / 2;
        if left[middle] <= right[count - 1 - middle] {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Merges two runs; of equal words those of the left come first.
fn merge<W: Word>(left: &[W], right: &[W], out: &mut [W]) {
    stop::work(out.len());
    let (mut i, mut j, mut at) = (0, 0, 0);
    while i < left.len() && j < right.len() {
        let (a, b) = (left[i], right[j]);
        let is_right = b < a;
        out[at] = if is_right { b } else { a };
        at += 1;
        j += usize::from(is_right);
        i += usize::from(!is_right);
    }
    let rest = left.len() - i;
    out[at..at + rest].copy_from_slice(&left[i..]);
    out[at + rest..].copy_from_slice(&right[j..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, seed: u64) -> Vec<u64> {
        (1..=count as u64)
            .map(|i| (i + seed).wrapping_mul(0x9E37_79B9_7F4A_7C15))
            .map(|x| x ^ (x >> 29))
            .collect()
    }

    fn sorted<W: Word>(mut words: Vec<W>, shared: bool) -> Vec<W> {
        let mut other = words.clone();
        if sort(&mut words, &mut other, 0..W::BITS, shared) {
            other
        } else {
            words
        }
    }

    #[test]
    fn words_are_sorted_at_any_number() {
        for count in [0, 1, 2, 17, 300, 5_000, 20_000, MANY + 12_345, 3 * MANY] {
            for shared in [false, true] {
                let words = numbers(count, 7);
                let mut want = words.clone();
                want.sort_unstable();
                assert!(sorted(words.clone(), shared) == want, "{count}");
                let narrow: Vec<u16> = words.iter().map(|&x| x as u16).collect();
                assert!(sorted(narrow, shared).is_sorted());
                let bytes: Vec<u8> = words.iter().map(|&x| x as u8).collect();
                assert!(sorted(bytes, shared).is_sorted());
            }
        }
    }

    #[test]
    fn numbers_below_the_bits_stay_in_order() {
        let words: Vec<u64> =
            numbers(2 * MANY, 3).iter().zip(0..).map(|(x, i)| ((x % 50) << 32) + i).collect();
        let mut want = words.clone();
        want.sort_unstable();
        for shared in [false, true] {
            let (mut a, mut b) = (words.clone(), words.clone());
            let moved = sort(&mut a, &mut b, 32..40, shared);
            assert!(if moved { b == want } else { a == want });
        }
    }

    #[test]
    fn merges_are_those_of_stable_runs() {
        let (left, right) = ([1u32, 3, 3, 5], [0, 3, 6, 7, 9]);
        for count in 0..=9 {
            let taken = first_of(&left, &right, count);
            let mut out = vec![0; count];
            merge(&left[..taken], &right[..count - taken], &mut out);
            assert_eq!(out, [0, 1, 3, 3, 3, 5, 6, 7, 9][..count]);
        }
    }
}
