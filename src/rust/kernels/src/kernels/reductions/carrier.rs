//! Cumulations tile by tile, in programs that compute a tile from the start to the end before the next: what
//! is carried along a line goes from each tile to the one after it, also between threads.

use super::way::{Lines, OneState, Walk, NO_STATE};
use crate::dtype::Element;
use crate::kernels::cast;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What cumulates tiles of lines of one dtype, in place. A tile has as many elements as
/// [`TILE`](crate::kernels::tile::TILE), but for the last of a line.
pub trait Carrier: Send + Sync {
    /// Begins a run; `shared` if several threads take tiles.
    fn begin(&self, shared: bool);

    /// Ends a run in which a tile fails: nobody waits for it, and other tiles may be left as they are.
    fn abandon(&self);

    /// Cumulates the tile that `turn` others precede, when all of these are done so far that what they carry
    /// is known. `first` says that it begins a line. Turns are taken once each, in order, though several
    /// threads may take the next ones at a time.
    fn tile(&self, turn: usize, first: bool, x: &mut [u8]);

    /// Cumulates whole lines of `n` elements each.
    fn lines(&self, n: usize, x: &mut [u8]);
}

impl fmt::Debug for dyn Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Carrier")
    }
}

/// The carrier of a way.
pub(super) struct Carried<T> {
    walk: Walk<T>,
    reverse: bool,
    shared: AtomicBool,
    /// The turn of the tile that may go on, or [`ABANDONED`].
    turn: AtomicUsize,
    /// What it is to take.
    state: Mutex<OneState>,
}

/// The turn of nobody.
const ABANDONED: usize = usize::MAX;

/// Looks at a turn before the thread lets others run: a tile takes about a microsecond.
const LOOKS: usize = 1 << 8;

impl<T: Element> Carried<T> {
    pub(super) fn new(walk: Walk<T>, reverse: bool) -> Carried<T> {
        let mut state = NO_STATE;
        (walk.start)(&mut state);
        Carried {
            walk,
            reverse,
            shared: AtomicBool::new(false),
            turn: AtomicUsize::new(0),
            state: Mutex::new(state),
        }
    }

    /// Waits for a turn; false if the run was abandoned.
    fn wait(&self, turn: usize) -> bool {
        for looks in 1usize.. {
            match self.turn.load(Ordering::Acquire) {
                ABANDONED => return false,
                now if now == turn => return true,
                _ if looks % LOOKS == 0 => std::thread::yield_now(),
                _ => std::hint::spin_loop(),
            }
        }
        false
    }

    /// Lets the next tile go on, if the run was not abandoned meanwhile.
    fn pass(&self, turn: usize) {
        // One that fails has abandoned all, which stays.
        let _ = self.turn.compare_exchange(turn, turn + 1, Ordering::Release, Ordering::Relaxed);
    }
}

impl<T: Element> Carrier for Carried<T> {
    fn begin(&self, shared: bool) {
        self.shared.store(shared, Ordering::Relaxed);
        self.turn.store(0, Ordering::Release);
    }

    fn abandon(&self) {
        self.turn.store(ABANDONED, Ordering::Release);
    }

    fn tile(&self, turn: usize, first: bool, x: &mut [u8]) {
        let (x, order) = (cast::slice_mut::<T>(x), self.walk.order(self.reverse));
        // With totals, others wait for as short as can be.
        let parts = order.parts.filter(|_| self.shared.load(Ordering::Relaxed));
        let parts = parts.map(|(total, take)| (total(x), take));
        if !self.wait(turn) {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if first {
            (self.walk.start)(&mut *state);
        }
        if let Some((total, take)) = parts {
            let mut before = *state;
            take(&mut *state, &total);
            drop(state);
            self.pass(turn);
            (order.tile)(&mut before, None, x);
        } else {
            (order.tile)(&mut *state, None, x);
            drop(state);
            self.pass(turn);
        }
    }

    fn lines(&self, n: usize, x: &mut [u8]) {
        (self.walk.along)(Lines { n, inner: 1, reverse: self.reverse }, None, cast::slice_mut(x));
    }
}

#[cfg(test)]
mod tests {
    use crate::dtype::{DType, Element};
    use crate::kernels::cast;
    use crate::kernels::reductions::cumulative::{carrier, cumulative, Cumulation};
    use crate::kernels::tile::TILE;
    use crate::shape::{Axis, Shape};
    use crate::tensor::{Layout, View, ViewMut};
    use half::bf16;
    use num_complex::Complex;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::Mutex;

    /// Elements that differ in size and sign, so that sums in another order have other bits.
    fn elements(n: usize) -> Vec<f64> {
        (0..n).map(|i| ((i * 7919 % 1009) as f64 - 500.0) * 1.37f64.powi((i % 23) as i32 - 9)).collect()
    }

    fn alone<T: Element>(by: Cumulation, x: &[T], n: usize, reverse: bool) -> Vec<T> {
        let shape = Shape::try_new(vec![n, x.len() / n]).unwrap();
        let layout = Layout::dense(&shape);
        let mut out = vec![T::default(); x.len()];
        let view = View { dtype: T::DTYPE, shape: &shape, layout: &layout, data: cast::bytes(x) };
        let mut made = ViewMut { dtype: T::DTYPE, shape: &shape, data: cast::bytes_mut(&mut out) };
        cumulative(by, &view, Axis(0), reverse, &mut made);
        out
    }

    #[test]
    fn tiles_of_several_threads_are_those_of_whole_lines() {
        for (n, lines) in [(1, 5), (10, 7), (TILE, 3), (TILE + 1, 2), (20 * TILE + 3, 2)] {
            let x = elements(n * lines);
            for by in [Cumulation::Sum, Cumulation::Prod, Cumulation::Max, Cumulation::LogSumExp] {
                for reverse in [false, true] {
                    let carrier = carrier(by, DType::F64, reverse);
                    let want = alone(by, &x, n, reverse);
                    let mut out = x.clone();
                    carrier.lines(n, cast::bytes_mut(&mut out));
                    assert_eq!(bits(&out), bits(&want), "{by:?} of lines of {n}");
                    for threads in [1, 3] {
                        let mut out = x.clone();
                        let mut tiles: Vec<(bool, &mut [f64])> = vec![];
                        for line in out.chunks_mut(n) {
                            let last = line.len().div_ceil(TILE) - 1;
                            let tiles_of = line.chunks_mut(TILE).enumerate();
                            tiles
                                .extend(tiles_of.map(|(i, x)| (if reverse { i == last } else { i == 0 }, x)));
                        }
                        if reverse {
                            tiles.reverse();
                        }
                        carrier.begin(threads > 1);
                        let (next, count) = (AtomicUsize::new(0), tiles.len());
                        let tiles: Vec<_> = tiles.into_iter().map(Mutex::new).collect();
                        std::thread::scope(|scope| {
                            for _ in 0..threads {
                                scope.spawn(|| loop {
                                    let turn = next.fetch_add(1, Ordering::Relaxed);
                                    if turn >= count {
                                        break;
                                    }
                                    let mut tile = tiles[turn].lock().unwrap();
                                    let (first, x) = &mut *tile;
                                    carrier.tile(turn, *first, cast::bytes_mut(x));
                                });
                            }
                        });
                        drop(tiles);
                        assert_eq!(bits(&out), bits(&want), "{by:?} of {lines} x {n}, {threads} threads");
                    }
                }
            }
        }
    }

    /// Cumulates lines in both directions: from the last element on as the reversed line.
    fn both_directions<T: Element>(by: Cumulation) {
        // The last one is shared by threads where there are several.
        for (n, lines) in [
            (1, 3),
            (7, 2),
            (8, 2),
            (29, 1),
            (TILE, 2),
            (3 * TILE, 2),
            (3 * TILE + 13, 2),
            (200 * TILE, 1),
            (200 * TILE + 5, 1),
        ] {
            // Tiles begin at the same elements in both directions: sums of whole numbers do not depend on them.
            let whole = |x: &f64| if n > TILE && n % TILE > 0 { x.trunc() % 512.0 } else { *x };
            let x: Vec<T> = elements(n * lines).iter().map(|x| whole(x).convert()).collect();
            let turned =
                |x: &[T]| -> Vec<T> { x.chunks(n).flat_map(|line| line.iter().rev().copied()).collect() };
            let want = turned(&alone(by, &turned(&x), n, false));
            let back = alone(by, &x, n, true);
            assert_eq!(cast::bytes(&back), cast::bytes(&want), "{by:?} of {lines} x {n}, {}", T::DTYPE);
        }
    }

    #[test]
    fn both_directions_have_the_same_bits() {
        for by in [Cumulation::Sum, Cumulation::Max, Cumulation::Min] {
            both_directions::<f64>(by);
            both_directions::<f32>(by);
            both_directions::<bf16>(by);
            both_directions::<i32>(by);
        }
        both_directions::<Complex<f64>>(Cumulation::Sum);
        both_directions::<f32>(Cumulation::LogSumExp);
    }

    fn bits(x: &[f64]) -> Vec<u64> {
        x.iter().map(|x| x.to_bits()).collect()
    }

    #[test]
    fn nobody_waits_for_what_was_abandoned() {
        let carrier = carrier(Cumulation::Sum, DType::F64, false);
        carrier.begin(true);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| carrier.tile(1, false, cast::bytes_mut(&mut [1.0, 2.0])));
            carrier.abandon();
            waiting.join().unwrap();
        });
        let mut x = [1.0, 2.0];
        carrier.begin(true);
        carrier.tile(0, true, cast::bytes_mut(&mut x));
        assert_eq!(x, [1.0, 3.0]);
    }
}
