//! Transforms of long lines, as matrices: element `i` is in row `i / columns`. Columns are transformed, each
//! element is turned, rows are transformed; output `k` comes from row `k % rows` (D. H. Bailey, "FFTs in
//! external or hierarchical memory", The Journal of Supercomputing 4, 1990).

use super::passes::{factors, Parts, Passes};
use super::roots::Roots;
use crate::dtype::Float;
use crate::kernels::memory::zeroed;
use crate::kernels::threads::pool;
use std::any::Any;
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// Elements of a line that is transformed at once, at most.
pub const SHORT: usize = 1 << 12;

/// Lines that are transformed together: a cache line of numbers.
pub const fn lanes<T>() -> usize {
    64 / std::mem::size_of::<T>()
}

/// About how long the transform of lines takes, in picoseconds: of several lines longer, as they are gathered first.
/// Measured on an AMD EPYC (Zen 5), of lines of 64 to 16,384 numbers.
pub fn time<T>(size: usize, lines: usize) -> usize {
    let steps = (usize::BITS - size.leading_zeros()) as usize;
    let step = if lines > 1 { 90 } else { 55 } * std::mem::size_of::<T>();
    size.saturating_mul(lines).saturating_mul(steps * step)
}

/// Numbers that are read.
pub trait Source<T>: Sync {
    /// The numbers from `first` on: real parts, imaginary parts.
    fn read(&self, first: usize, re: &mut [T], im: &mut [T]);
}

/// Numbers that are written.
pub trait Sink<T>: Sync {
    /// Writes the numbers from `first` on.
    ///
    /// # Safety
    /// Nobody else reads or writes these.
    unsafe fn write(&self, first: usize, re: &[T], im: &[T]);
}

/// The transform of a long line.
pub struct Long<T> {
    columns: Passes<T>,
    rows: Passes<T>,
    roots: Roots,
    /// For each row, the turns of as many columns as are transformed together.
    turns: Vec<[T; 2]>,
}

impl<T: Float> Long<T> {
    /// The transform of `size` elements; `None` if it is no product of two numbers that are not far from its
    /// root, or a prime factor is large.
    pub fn new(size: usize) -> Option<Long<T>> {
        factors(size)?;
        let root = (1..).find(|n| n * n >= size)?;
        let high = (root / 8..=root).rev().find(|&n| n > 1 && size % n == 0)?;
        let (columns, rows) = (Passes::new(high)?, Passes::new(size / high)?);
        let roots = Roots::new(size);
        let lanes = lanes::<T>();
        let turns = (0..high).flat_map(|k| (0..lanes).map(move |l| k * l)).map(|k| roots.get(k)).collect();
        Some(Long { columns, rows, roots, turns })
    }

    /// Transforms a line.
    ///
    /// # Safety
    /// Nobody else reads or writes the numbers of the sink.
    pub unsafe fn run(&self, from: &impl Source<T>, to: &impl Sink<T>) {
        let lanes = lanes::<T>();
        let (high, broad) = (self.columns.size(), self.rows.size());
        let work = time::<T>(high * broad, 1);
        // Blocks of columns, each with its real parts before its imaginary ones.
        let mut middle: Vec<T> = zeroed(2 * high * broad);
        let block = 2 * high * lanes;
        let together = broad.div_ceil(lanes).div_ceil(PIECES);
        pool::for_each_chunk(&mut middle, block * together, work / 2, |piece, out| {
            let room = &mut *Room::kept(high * lanes);
            for (i, out) in out.chunks_mut(block).enumerate() {
                let width = out.len() / (2 * high);
                room.lines(high * width);
                let start = (piece * together + i) * lanes;
                let [re, im] = &mut room.x;
                for (row, (re, im)) in re.chunks_exact_mut(width).zip(im.chunks_exact_mut(width)).enumerate()
                {
                    from.read(row * broad + start, re, im);
                }
                self.columns.run(&mut room.x, &mut room.room, width);
                self.turned(&room.x, start, width, out);
            }
        });
        let count = high.div_ceil(lanes);
        let together = count.div_ceil(PIECES);
        pool::for_each_piece(count.div_ceil(together), work >= pool::WORTH_SHARING, |piece| {
            let room = &mut *Room::kept(broad * lanes);
            for i in piece * together..count.min((piece + 1) * together) {
                let start = i * lanes;
                let height = lanes.min(high - start);
                room.lines(broad * height);
                let [re, im] = &mut room.x;
                for (b, part) in middle.chunks(block).enumerate() {
                    let width = part.len() / (2 * high);
                    let first = b * lanes * height;
                    let parts = part.split_at(part.len() / 2);
                    for (to, from) in [(&mut *re, parts.0), (&mut *im, parts.1)] {
                        let (to, from) = (&mut to[first..][..width * height], &from[start * width..]);
                        for (k, row) in from.chunks_exact(width).take(height).enumerate() {
                            for (l, &x) in row.iter().enumerate() {
                                to[l * height + k] = x;
                            }
                        }
                    }
                }
                self.rows.run(&mut room.x, &mut room.room, height);
                for k in 0..broad {
                    let [re, im] = [0, 1].map(|i| &room.x[i][k * height..][..height]);
                    // SAFETY: outputs of these rows, which no other piece has; the caller promises the rest.
                    unsafe { to.write(k * high + start, re, im) };
                }
            }
        });
    }

    /// Turns the elements of columns from `start` on.
    fn turned(&self, x: &Parts<T>, start: usize, width: usize, out: &mut [T]) {
        let (re, im) = out.split_at_mut(out.len() / 2);
        for (row, (re, im)) in re.chunks_exact_mut(width).zip(im.chunks_exact_mut(width)).enumerate() {
            let [c, s] = self.roots.get::<T>(row * start);
            let turns = &self.turns[row * lanes::<T>()..][..width];
            let x = [0, 1].map(|i| &x[i][row * width..][..width]);
            for l in 0..width {
                let [a, b] = turns[l];
                let (a, b) = (a * c - b * s, a * s + b * c);
                re[l] = x[0][l] * a - x[1][l] * b;
                im[l] = x[0][l] * b + x[1][l] * a;
            }
        }
    }
}

/// Pieces that a step is cut into, about.
const PIECES: usize = 16;

/// Memory for lines that are transformed together.
pub struct Room<T> {
    /// The lines.
    pub x: Parts<T>,
    /// As much again.
    pub room: Parts<T>,
}

thread_local! {
    /// The memory of the last transform of this thread, for the next one.
    static KEPT: RefCell<Option<Box<dyn Any>>> = const { RefCell::new(None) };
}

/// Bytes of lines that are kept, at most.
const MOST_KEPT: usize = 1 << 20;

/// A room that is kept for the next transform when it is dropped.
pub struct Kept<T: Float>(Option<Box<Room<T>>>);

impl<T: Float> Deref for Kept<T> {
    type Target = Room<T>;
    fn deref(&self) -> &Room<T> {
        self.0.as_ref().expect("there until it is dropped")
    }
}

impl<T: Float> DerefMut for Kept<T> {
    fn deref_mut(&mut self) -> &mut Room<T> {
        self.0.as_mut().expect("there until it is dropped")
    }
}

impl<T: Float> Drop for Kept<T> {
    fn drop(&mut self) {
        if let Some(room) = self.0.take() {
            let elements = room.x.iter().chain(&room.room).map(Vec::capacity).sum::<usize>();
            if elements * std::mem::size_of::<T>() <= MOST_KEPT {
                KEPT.with(|kept| kept.replace(Some(room)));
            }
        }
    }
}

impl<T: Float> Room<T> {
    /// For so many elements, whatever they are.
    pub fn kept(elements: usize) -> Kept<T> {
        let kept = KEPT.with(|kept| kept.take()).and_then(|room| room.downcast::<Room<T>>().ok());
        let parts = || [Vec::new(), Vec::new()];
        let mut room = kept.unwrap_or_else(|| Box::new(Room { x: parts(), room: parts() }));
        for part in room.x.iter_mut().chain(&mut room.room) {
            if part.capacity() < elements {
                *part = zeroed(elements);
            }
        }
        room.lines(elements);
        Kept(Some(room))
    }

    /// Makes it one of exactly so many elements, whatever they are.
    pub fn lines(&mut self, elements: usize) {
        for part in self.x.iter_mut().chain(&mut self.room) {
            part.resize(elements, T::of(0.0));
        }
    }
}
