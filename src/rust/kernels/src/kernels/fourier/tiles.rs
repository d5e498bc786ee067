//! Numbers of lines that lie one behind the other, to lines that are transformed together, and back: squares of as many
//! numbers of as many lines as a vector has lanes are transposed.

use super::butterflies::{transposed, Number, Numbers, OnVectors};
use super::ends::{Read, Woven, Write};
use super::parts::Parts;
use crate::kernels::math::lanes::MOST_LANES;

/// Lines in a tensor.
#[derive(Clone, Copy)]
pub struct Runs<'a, P> {
    /// Where the tensor begins, and of an inverse what numbers are divided by.
    pub tensor: Woven<P>,
    /// Where lines begin, in parts of complex numbers.
    pub starts: &'a [isize],
    /// How many numbers each has.
    pub points: usize,
}

impl<P: Copy> Runs<'_, P> {
    /// Whether squares cover all numbers.
    fn are_covered(&self, side: usize) -> bool {
        self.points >= side && self.starts.len() % side == 0
    }
}

/// Lines that are read.
pub struct Gather<'a, T> {
    from: Runs<'a, *const T>,
    to: &'a mut Parts<T>,
}

/// Lines that are written.
pub struct Scatter<'a, T> {
    from: &'a Parts<T>,
    to: Runs<'a, *mut T>,
}

impl<'a, T: Number> Gather<'a, T> {
    /// Reads lines; `false` if they are too few or too short for vectors.
    ///
    /// # Safety
    /// The numbers are there.
    pub unsafe fn run(from: Runs<'a, *const T>, to: &'a mut Parts<T>) -> bool {
        assert!(to.iter().all(|part| part.len() >= from.points * from.starts.len()));
        T::on_vectors(Gather { from, to })
    }
}

impl<T: Number> OnVectors<T> for Gather<'_, T> {
    type Made = bool;
    #[inline(always)]
    fn on<V: Numbers<One = T>>(self) -> bool {
        if !self.from.are_covered(V::COUNT) {
            return false;
        }
        let Gather { from: Runs { tensor, starts, points }, to: [re, im] } = self;
        let (width, re, im) = (starts.len(), re.as_mut_ptr(), im.as_mut_ptr());
        for first in (0..points).step_by(V::COUNT) {
            // The last ones once more, where they are no whole square.
            let first = first.min(points - V::COUNT);
            for lane in (0..width).step_by(V::COUNT) {
                let mut tile = [[V::of(0.0); 2]; MOST_LANES];
                for (i, made) in tile.iter_mut().take(V::COUNT).enumerate() {
                    let line = Woven { first: tensor.first.wrapping_offset(starts[lane + i]), ..tensor };
                    // SAFETY: the caller of `run` promises that they are there.
                    *made = unsafe { line.get(0, first) };
                }
                transposed(&mut tile);
                for (i, made) in tile.into_iter().take(V::COUNT).enumerate() {
                    let at = (first + i) * width + lane;
                    // SAFETY: the parts are long enough, as has been asserted.
                    unsafe {
                        made[0].store(re.add(at));
                        made[1].store(im.add(at));
                    }
                }
            }
        }
        true
    }
}

impl<'a, T: Number> Scatter<'a, T> {
    /// Writes lines; `false` if they are too few or too short for vectors.
    ///
    /// # Safety
    /// There is room for the numbers, which nobody else uses.
    pub unsafe fn run(from: &'a Parts<T>, to: Runs<'a, *mut T>) -> bool {
        assert!(from.iter().all(|part| part.len() >= to.points * to.starts.len()));
        T::on_vectors(Scatter { from, to })
    }
}

impl<T: Number> OnVectors<T> for Scatter<'_, T> {
    type Made = bool;
    #[inline(always)]
    fn on<V: Numbers<One = T>>(self) -> bool {
        if !self.to.are_covered(V::COUNT) {
            return false;
        }
        let Scatter { from: [re, im], to: Runs { tensor, starts, points } } = self;
        let (width, re, im) = (starts.len(), re.as_ptr(), im.as_ptr());
        for first in (0..points).step_by(V::COUNT) {
            // As above.
            let first = first.min(points - V::COUNT);
            for lane in (0..width).step_by(V::COUNT) {
                let mut tile = [[V::of(0.0); 2]; MOST_LANES];
                for (i, made) in tile.iter_mut().take(V::COUNT).enumerate() {
                    let at = (first + i) * width + lane;
                    // SAFETY: the parts are long enough, as has been asserted.
                    *made = unsafe { [V::load(re.add(at)), V::load(im.add(at))] };
                }
                transposed(&mut tile);
                for (i, made) in tile.into_iter().take(V::COUNT).enumerate() {
                    let line = Woven { first: tensor.first.wrapping_offset(starts[lane + i]), ..tensor };
                    // SAFETY: by the caller of `run`.
                    unsafe { line.put(0, first, made) };
                }
            }
        }
        true
    }
}
