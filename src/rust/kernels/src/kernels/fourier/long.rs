//! Transforms of long lines, as matrices: element `i` is in row `i / columns`. Columns are transformed, each
//! element is turned, rows are transformed; output `k` comes from row `k % rows` (D. H. Bailey, "FFTs in
//! external or hierarchical memory", The Journal of Supercomputing 4, 1990).

use super::butterflies::{transposed, turn, Number, Numbers, OnVectors, Single};
use super::ends::Woven;
use super::parts::{Part, Parts, Room};
use super::passes::{factors, From, Passes};
use super::roots::Roots;
use crate::growth::OutOfMemory;
use crate::kernels::math::lanes::MOST_LANES;
use crate::kernels::memory::block_allocator::Block;
use crate::kernels::threads::pool;
use std::panic::panic_any;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// Elements of a line that is transformed at once, at most.
pub const SHORT: usize = 1 << 12;

/// Lines that are transformed together: a cache line of numbers.
pub const fn lanes<T>() -> usize {
    64 / std::mem::size_of::<T>()
}

/// About how long the transform of lines takes, in picoseconds. Measured on an AMD EPYC (Zen 5), of lines of 64 to
/// 16,384 numbers.
pub fn time<T>(size: usize, lines: usize) -> usize {
    let steps = (usize::BITS - size.leading_zeros()) as usize;
    size.saturating_mul(lines).saturating_mul(steps * 20 * std::mem::size_of::<T>())
}

/// Numbers that are read.
pub trait Source<T>: Sync {
    /// Where they are, if all that many lie side by side in a tensor, real and imaginary parts by turns.
    fn woven(&self, _size: usize) -> Option<Woven<*const T>> {
        None
    }
    /// The numbers from `first` on: real parts, imaginary parts.
    fn read(&self, first: usize, re: &mut [T], im: &mut [T]);
}

/// Numbers that are written.
pub trait Sink<T>: Sync {
    /// As [`Source::woven`].
    fn woven(&self, _size: usize) -> Option<Woven<*mut T>> {
        None
    }
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
    turns: Parts<T>,
}

impl<T: Number> Long<T> {
    /// The transform of `size` elements; `None` if it is no product of two numbers that are not far from its
    /// root, or a prime factor is large.
    pub fn new(size: usize) -> Option<Long<T>> {
        factors(size)?;
        let root = (1..).find(|n| n * n >= size)?;
        let high = (root / 8..=root).rev().find(|&n| n > 1 && size % n == 0)?;
        let (columns, rows) = (Passes::new(high)?, Passes::new(size / high)?);
        let roots = Roots::new(size);
        let lanes = lanes::<T>();
        let turns = (0..high).flat_map(|k| (0..lanes).map(move |l| k * l)).map(|k| roots.get::<T>(k));
        let (re, im): (Vec<T>, Vec<T>) = turns.map(|[re, im]| (re, im)).unzip();
        let turns = [re, im].map(Part::from_iter);
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
        let size = high * broad;
        // Rows that are transformed together, their elements side by side: as many of each element. Real parts of all
        // rows are before the imaginary ones.
        let bytes = 2 * size * std::mem::size_of::<T>();
        let Some(middle) = Block::new(bytes) else { panic_any(OutOfMemory { bytes }) };
        let middle = Shared::new(&middle, size);
        let shared = work >= pool::WORTH_SHARING;
        let count = broad.div_ceil(lanes);
        let together = count.div_ceil(PIECES);
        pool::for_each_piece(count.div_ceil(together), shared, |piece| {
            let room = &mut *Room::kept(high * lanes);
            for i in piece * together..count.min((piece + 1) * together) {
                let start = i * lanes;
                let width = lanes.min(broad - start);
                room.lines(high * width);
                let woven = from.woven(size).filter(|_| self.columns.is_between() && width > 1);
                let Room { x, room } = room;
                let numbers = match woven {
                    Some(all) => From::Tensor(Woven {
                        first: all.first.wrapping_add(2 * start),
                        step: broad as isize,
                        ..all
                    }),
                    None => {
                        let [re, im] = &mut *x;
                        let rows = re.chunks_exact_mut(width).zip(im.chunks_exact_mut(width));
                        rows.enumerate().for_each(|(row, (re, im))| from.read(row * broad + start, re, im));
                        From::Here
                    }
                };
                // SAFETY: the numbers are there, which nobody writes, and each column is of one piece.
                unsafe {
                    self.columns.run_between(numbers, x, room, None, width);
                    T::on_vectors(Turned { long: self, x, start, width, to: middle.parts() });
                }
            }
        });
        let count = high.div_ceil(lanes);
        let together = count.div_ceil(PIECES);
        pool::for_each_piece(count.div_ceil(together), shared, |piece| {
            let room = &mut *Room::kept(broad * lanes);
            for i in piece * together..count.min((piece + 1) * together) {
                let start = i * lanes;
                let height = lanes.min(high - start);
                room.lines(broad * height);
                let rows = middle.parts().map(|part| part.wrapping_add(start * broad).cast_const());
                let woven = to.woven(size).filter(|_| self.rows.is_between() && height > 1);
                let woven = woven.map(|all| Woven {
                    first: all.first.wrapping_add(2 * start),
                    step: high as isize,
                    ..all
                });
                let Room { x, room } = room;
                let numbers = if self.rows.is_between() {
                    From::Parts(rows)
                } else {
                    for (to, from) in x.iter_mut().zip(rows) {
                        // SAFETY: these rows, which nobody writes any more.
                        to.copy_from_slice(unsafe { std::slice::from_raw_parts(from, broad * height) });
                    }
                    From::Here
                };
                // SAFETY: as above; outputs of these rows, which no other piece has; the caller promises the rest.
                unsafe { self.rows.run_between(numbers, x, room, woven, height) };
                if woven.is_some() {
                    continue;
                }
                for k in 0..broad {
                    let [re, im] = [&x[0], &x[1]].map(|part| &part[k * height..][..height]);
                    // SAFETY: as above.
                    unsafe { to.write(k * high + start, re, im) };
                }
            }
        });
    }
}

/// The parts of numbers, which several threads write.
struct Shared<T> {
    parts: [AtomicPtr<T>; 2],
}

impl<T> Shared<T> {
    /// Real parts, then as many imaginary ones.
    fn new(all: &Block, size: usize) -> Shared<T> {
        let re = all.as_ptr().cast::<T>();
        Shared { parts: [AtomicPtr::new(re), AtomicPtr::new(re.wrapping_add(size))] }
    }

    fn parts(&self) -> [*mut T; 2] {
        [self.parts[0].load(Relaxed), self.parts[1].load(Relaxed)]
    }
}

/// Columns from `start` on, whose elements are turned, and go to rows that are transformed together. Who makes one
/// promises that nobody else uses these elements of the rows.
struct Turned<'a, T> {
    long: &'a Long<T>,
    x: &'a Parts<T>,
    start: usize,
    width: usize,
    to: [*mut T; 2],
}

impl<T: Number> OnVectors<T> for Turned<'_, T> {
    type Made = ();
    #[inline(always)]
    fn on<V: Numbers<One = T>>(self) {
        let Turned { long, x, start, width, to } = self;
        let (high, broad, lanes) = (long.columns.size(), long.rows.size(), lanes::<T>());
        for first in (0..high).step_by(lanes) {
            let height = lanes.min(high - first);
            let to = to.map(|part| part.wrapping_add(first * broad + start * height));
            let mut roots = [[T::of(0.0); 2]; MOST_LANES];
            for (row, root) in (first..first + height).zip(&mut roots) {
                *root = long.roots.get(row * start);
            }
            let whole = width % V::COUNT == 0 && height % V::COUNT == 0;
            let side = if whole { V::COUNT } else { 1 };
            for at in (0..height).step_by(side) {
                for l in (0..width).step_by(side) {
                    let to = to.map(|part| part.wrapping_add(l * height + at));
                    // SAFETY: by who made this.
                    unsafe {
                        match whole {
                            true => long.tile::<V>(x, (first + at, l), width, &roots[at..], to, height),
                            false => {
                                long.tile::<Single<T>>(x, (first + at, l), width, &roots[at..], to, height)
                            }
                        }
                    }
                }
            }
        }
    }
}

impl<T: Number> Long<T> {
    /// As many elements of as many rows from this row and place on, which are turned by the roots of the rows, and
    /// transposed: those of one place lie side by side, `height` from those of the next.
    ///
    /// # Safety
    /// As of [`Turned`].
    #[inline(always)]
    unsafe fn tile<V: Numbers<One = T>>(
        &self,
        x: &Parts<T>,
        (row, l): (usize, usize),
        width: usize,
        roots: &[[T; 2]],
        to: [*mut T; 2],
        height: usize,
    ) {
        let mut tile = [[V::of(0.0); 2]; MOST_LANES];
        for (i, made) in tile.iter_mut().take(V::COUNT).enumerate() {
            let [c, s] = roots[i];
            let (turns, own) = ((row + i) * lanes::<T>() + l, (row + i) * width + l);
            // SAFETY: there are as many; the caller promises the rest.
            unsafe {
                let turns =
                    [V::load(self.turns[0].as_ptr().add(turns)), V::load(self.turns[1].as_ptr().add(turns))];
                let turns = turn(turns, [V::of(c.f64()), V::of(s.f64())]);
                *made = turn([V::load(x[0].as_ptr().add(own)), V::load(x[1].as_ptr().add(own))], turns);
            }
        }
        transposed(&mut tile);
        for (i, made) in tile.into_iter().take(V::COUNT).enumerate() {
            for (to, made) in to.into_iter().zip(made) {
                // SAFETY: by the caller.
                unsafe { made.store(to.wrapping_add(i * height)) };
            }
        }
    }
}

/// Pieces that a step is cut into, about.
const PIECES: usize = 16;
