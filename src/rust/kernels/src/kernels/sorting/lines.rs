//! Sorts of all lines of a value along an axis, and their order.

use super::keys::Keys;
use super::words::{self, Word, MANY};
use crate::dtype::DType;
use crate::kernels::cast;
use crate::kernels::memory::{zeroed, AlignedBytes};
use crate::kernels::threads::{pool, threads};
use crate::kernels::tile;
use crate::shape::{Axis, Shape};
use crate::stop;
use crate::tensor::{Layout, View, ViewMut};
use std::borrow::Cow;

/// Elements of a piece of work, at least.
const PIECE: usize = 1 << 14;

/// The estimated time of sorting an element, in picoseconds.
const ELEMENT: usize = 5_000;

/// Runs an expression with a type name bound to the unsigned integer of a dtype's width.
macro_rules! by_word {
    ($dtype:expr, $w:ident => $body:expr) => {
        $crate::dispatch_int!($crate::kernels::sorting::lines::word_of($dtype), $w => $body, UI8 UI16 UI32 UI64)
    };
}
pub(super) use by_word;

/// The unsigned integer of a dtype's width, which is at most 8 bytes.
pub(super) fn word_of(dtype: DType) -> DType {
    match dtype.bytes() {
        1 => DType::UI8,
        2 => DType::UI16,
        4 => DType::UI32,
        _ => DType::UI64,
    }
}

/// A shape with an axis moved to the front.
fn moved(shape: &Shape, axis: Axis) -> Shape {
    let mut sizes = shape.without(&[axis]).to_vec();
    sizes.insert(0, shape[axis.0]);
    Shape::try_new(sizes).expect("the sizes of an addressable shape")
}

/// Whether elements along an axis lie side by side in a dense value.
fn leads(shape: &Shape, axis: Axis) -> bool {
    shape[..axis.0].iter().all(|&size| size == 1)
}

/// Copies a value into a dense one with the axis first: its lines, one after the other.
fn copy_lines(x: &View, axis: Axis, out: &mut [u8]) {
    let mut layout = x.layout.clone();
    let stride = layout.strides.remove(axis.0);
    layout.strides.insert(0, stride);
    let shape = moved(x.shape, axis);
    let x = View { shape: &shape, layout: &layout, ..*x };
    tile::copy(&x, &mut ViewMut { dtype: x.dtype, shape: &shape, data: out });
}

/// The lines of a value along an axis, one after the other.
pub(super) fn lines_of<'a, W: Word>(x: &View<'a>, axis: Axis) -> Cow<'a, [W]> {
    if leads(x.shape, axis) && x.layout.is_dense(x.shape) {
        return Cow::Borrowed(&cast::slice::<W>(x.data)[x.layout.offset..][..x.shape.size()]);
    }
    let mut lines = zeroed::<W>(x.shape.size());
    copy_lines(x, axis, cast::bytes_mut(&mut lines));
    Cow::Owned(lines)
}

/// Has `make` write the lines of a result along an axis, one after the other.
pub(super) fn write_lines(out: &mut ViewMut, axis: Axis, make: impl FnOnce(&mut [u8])) {
    if leads(out.shape, axis) {
        return make(out.data);
    }
    let mut lines = AlignedBytes::zeroed(out.data.len());
    make(lines.as_mut_slice());
    let mut strides = Layout::dense(&moved(out.shape, axis)).strides;
    let first = strides.remove(0);
    strides.insert(axis.0, first);
    let layout = Layout { strides, offset: 0 };
    tile::copy(&View { dtype: out.dtype, shape: out.shape, layout: &layout, data: lines.as_slice() }, out);
}

/// Calls `run(number, line, shared)` for all lines of `n` elements in `lines`: lines are shared between
/// threads, or if they are few and long, `run` is to share its work.
pub(super) fn each_line<T: Send>(
    lines: &mut [T],
    n: usize,
    elements: usize,
    run: impl Fn(usize, &mut [T], bool) + Sync,
) {
    if n == 0 || lines.is_empty() {
        return;
    }
    let count = lines.len() / n;
    if elements >= MANY && count < 2 * threads() {
        return lines.chunks_mut(n).enumerate().for_each(|(i, line)| run(i, line, true));
    }
    let some = (PIECE / elements).max(1);
    pool::for_each_chunk(lines, some * n, (elements * count).saturating_mul(ELEMENT), |i, lines| {
        lines.chunks_mut(n).zip(i * some..).for_each(|(line, number)| run(number, line, false));
    });
}

/// Calls `run(first, piece)` for the pieces of a line, on several threads if `shared`.
fn each_piece<T: Send>(line: &mut [T], shared: bool, run: impl Fn(usize, &mut [T]) + Sync) {
    if !shared {
        stop::work(line.len());
        return run(0, line);
    }
    let work = line.len() * ELEMENT;
    pool::for_each_chunk(line, PIECE, work, |i, piece| run(i * PIECE, piece));
}

// ---- values --------------------------------------------------------------------------------------------------------

/// Sorts the elements along an axis. The dtype is not complex.
pub fn sort(x: &View, axis: Axis, descending: bool, out: &mut ViewMut) {
    let n = x.shape[axis.0];
    write_lines(out, axis, |lines| {
        copy_lines(x, axis, lines);
        by_word!(x.dtype, W => {
            let keys = Keys::new(x.dtype, descending);
            each_line(cast::slice_mut::<W>(lines), n, n, |_, line, shared| sort_line(&keys, line, shared));
        })
    })
}

fn sort_line<W: Word>(keys: &Keys<W>, line: &mut [W], shared: bool) {
    if line.len() < 2 {
        return;
    }
    let untold = keys.untold(line);
    each_piece(line, shared, |_, piece| keys.encode(piece));
    let mut other = if line.len() > words::IN_PLACE { zeroed::<W>(line.len()) } else { vec![] };
    let moved = words::sort(line, &mut other, 0..W::BITS, shared);
    let places = untold.as_ref().map(|untold| keys.places(if moved { &other } else { line }, untold));
    each_piece(line, shared, |first, piece| {
        if moved {
            piece.copy_from_slice(&other[first..][..piece.len()]);
        }
        keys.decode(piece);
    });
    if let (Some(untold), Some(places)) = (untold, places) {
        untold.put(places, line);
    }
}

// ---- order ---------------------------------------------------------------------------------------------------------

/// A key of each element: its lines, and the order of its elements.
trait Key: Sync {
    /// Its number of bits.
    fn bits(&self) -> u32;

    /// Puts the upper or the lower 32 bits of keys above the numbers of elements, which are the lower 32 bits
    /// of `words`. The elements are those of the line that begins at `first`, in this order.
    fn put(&self, first: usize, order: Option<&[u32]>, upper: bool, words: &mut [u64]);
}

struct KeyOf<'a, W: Word> {
    lines: Cow<'a, [W]>,
    keys: Keys<W>,
}

impl<W: Word> Key for KeyOf<'_, W> {
    fn bits(&self) -> u32 {
        W::BITS
    }

    fn put(&self, first: usize, order: Option<&[u32]>, upper: bool, words: &mut [u64]) {
        const BLOCK: usize = 256;
        let lines = &self.lines[first..];
        let shift = if upper { W::BITS.saturating_sub(32) } else { 0 };
        let mut block = [W::default(); BLOCK];
        for words in words.chunks_mut(BLOCK) {
            let block = &mut block[..words.len()];
            for (key, &word) in block.iter_mut().zip(&*words) {
                let number = word as u32 as usize;
                *key = lines[order.map_or(number, |order| order[number] as usize)];
            }
            self.keys.encode(block);
            for (key, word) in block.iter().zip(words) {
                let key: u64 = (*key >> shift).convert();
                *word = (key << 32) | (*word & u64::from(u32::MAX));
            }
        }
    }
}

/// The keys of a value along an axis.
fn key_of<'a>(x: &View<'a>, axis: Axis, descending: bool) -> Box<dyn Key + 'a> {
    by_word!(x.dtype, W => {
        Box::new(KeyOf::<W> { lines: lines_of(x, axis), keys: Keys::new(x.dtype, descending) })
    })
}

/// The order of elements along an axis: the numbers, from 0, of the first, the second and so on, as `i32`.
/// The keys have one shape, dtypes that are not complex, and each a direction, descending or not;
/// elements whose first keys are equal are ordered by the second, and so on. An axis has fewer than `2^31`
/// elements.
pub fn order(keys: &[View], descending: &[bool], axis: Axis, out: &mut ViewMut) {
    let n = keys[0].shape[axis.0];
    let keys: Vec<Box<dyn Key + '_>> =
        keys.iter().zip(descending).map(|(x, &descending)| key_of(x, axis, descending)).collect();
    write_lines(out, axis, |lines| {
        each_line(cast::slice_mut::<i32>(lines), n, n, |number, line, shared| {
            order_line(&keys, number * n, shared, line.len(), &mut |words, order| {
                each_piece(line, shared, |first, piece| {
                    for (out, &word) in piece.iter_mut().zip(&words[first..]) {
                        *out = element(word, order) as i32;
                    }
                })
            });
        })
    })
}

/// The number of the element that a word ends in, if elements were in this order.
fn element(word: u64, order: Option<&[u32]>) -> u32 {
    order.map_or(word as u32, |order| order[word as u32 as usize])
}

/// Gives words that end in the order of `n` elements, from `first` on, as numbers in another order.
fn order_line(
    keys: &[Box<dyn Key + '_>],
    first: usize,
    shared: bool,
    n: usize,
    give: &mut dyn FnMut(&[u64], Option<&[u32]>),
) {
    let [mut words, mut other] = [(); 2].map(|()| zeroed::<u64>(n));
    // By the last key first: a later sort keeps the order of what it finds equal.
    let mut order: Option<Vec<u32>> = None;
    for (i, key) in keys.iter().enumerate().rev() {
        each_piece(&mut words, shared, |at, piece| {
            piece.iter_mut().zip(at as u64..).for_each(|(word, number)| *word = number);
            key.put(first, order.as_deref(), true, piece);
        });
        if words::sort(&mut words, &mut other, 32..32 + key.bits().min(32), shared) {
            std::mem::swap(&mut words, &mut other);
        }
        if key.bits() > 32 {
            equal_halves(key.as_ref(), first, order.as_deref(), shared, (&mut words, &mut other));
        }
        if i == 0 {
            return give(&words, order.as_deref());
        }
        let mut next = zeroed::<u32>(n);
        each_piece(&mut next, shared, |at, piece| {
            for (out, &word) in piece.iter_mut().zip(&words[at..]) {
                *out = element(word, order.as_deref());
            }
        });
        order = Some(next);
    }
}

/// Sorts words that are sorted by the upper halves of keys by the lower halves where the upper are equal.
fn equal_halves(
    key: &dyn Key,
    first: usize,
    order: Option<&[u32]>,
    shared: bool,
    (words, other): (&mut [u64], &mut [u64]),
) {
    let mut start = 0;
    while start < words.len() {
        let upper = words[start] >> 32;
        let count = words[start..].iter().take_while(|&&word| word >> 32 == upper).count();
        let run = start..start + count;
        start += count;
        if count == 1 {
            continue;
        }
        stop::work(count);
        key.put(first, order, false, &mut words[run.clone()]);
        if words::sort(&mut words[run.clone()], &mut other[run.clone()], 32..64, shared) {
            words[run.clone()].copy_from_slice(&other[run]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `-0` and NaN, two of them with bits of their own.
    const SPECIAL: [f64; 8] = [0.0, -0.0, 1.0, f64::NAN, -0.0, f64::NEG_INFINITY, -f64::NAN, 0.0];

    fn sorted(x: &[f64], descending: bool) -> Vec<u64> {
        let shape = Shape::from([x.len()]);
        let layout = Layout::dense(&shape);
        let view = View { dtype: DType::F64, shape: &shape, layout: &layout, data: cast::bytes(x) };
        let mut out = vec![0f64; x.len()];
        let data = cast::bytes_mut(&mut out);
        sort(&view, Axis(0), descending, &mut ViewMut { dtype: DType::F64, shape: &shape, data });
        out.iter().map(|x| x.to_bits()).collect()
    }

    #[test]
    fn equal_elements_keep_their_bits_and_order() {
        let bits = |at: [usize; 8]| at.map(|i| SPECIAL[i].to_bits()).to_vec();
        assert_eq!(sorted(&SPECIAL, false), bits([5, 0, 1, 4, 7, 2, 3, 6]));
        assert_eq!(sorted(&SPECIAL, true), bits([2, 0, 1, 4, 7, 5, 3, 6]));
        let long: Vec<f64> = (0..MANY + 5).map(|i| SPECIAL[i % 8]).collect();
        for descending in [false, true] {
            let mut want: Vec<f64> = long.clone();
            want.sort_by(|a, b| {
                let by = if descending { b.partial_cmp(a) } else { a.partial_cmp(b) };
                by.unwrap_or(a.is_nan().cmp(&b.is_nan()))
            });
            assert!(sorted(&long, descending).into_iter().eq(want.iter().map(|x| x.to_bits())));
        }
    }

    #[test]
    fn order_is_stable_by_several_keys_of_any_width() {
        for n in [0, 1, 7, 3_000, MANY + 11] {
            let a: Vec<i64> = (0..n as i64).map(|i| ((i * 7919 % 13) << 31) + i * 104_729 % 5).collect();
            let b: Vec<u8> = (0..n).map(|i| (i * 31 % 4) as u8).collect();
            // Two lines along the second axis.
            let (shape, half) = (Shape::from([2, n / 2]), n / 2);
            let layout = Layout::dense(&shape);
            let views = [
                View { dtype: DType::UI8, shape: &shape, layout: &layout, data: &b[..2 * half] },
                View { dtype: DType::I64, shape: &shape, layout: &layout, data: cast::bytes(&a[..2 * half]) },
            ];
            let mut out = vec![0i32; 2 * half];
            let data = cast::bytes_mut(&mut out);
            let mut result = ViewMut { dtype: DType::I32, shape: &shape, data };
            order(&views, &[true, false], Axis(1), &mut result);
            for line in 0..2 {
                let mut want: Vec<i32> = (0..half as i32).collect();
                want.sort_by_key(|&i| {
                    let at = 2 * i as usize + line;
                    (std::cmp::Reverse(b[at]), a[at])
                });
                assert!(out.iter().skip(line).step_by(2).eq(&want), "{n}");
            }
        }
    }
}
