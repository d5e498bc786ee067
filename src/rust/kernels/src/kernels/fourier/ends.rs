//! Where the numbers of a pass come from, and where they go.

use super::butterflies::{Group, Numbers};

/// Numbers that are read: of a row those of all lanes side by side, and of one lane all rows.
pub(super) trait Read<T>: Copy {
    /// Those from a lane of a row on.
    ///
    /// # Safety
    /// They are there.
    unsafe fn get<V: Numbers<One = T>>(&self, row: usize, lane: usize) -> Group<V>;
}

/// Numbers that are written, as they are read.
pub(super) trait Write<T>: Copy {
    /// Writes those from a lane of a row on.
    ///
    /// # Safety
    /// There is room for them, which nobody else uses.
    unsafe fn put<V: Numbers<One = T>>(&self, row: usize, lane: usize, x: Group<V>);
}

/// Real and imaginary parts apart.
#[derive(Clone, Copy)]
pub struct Apart<P> {
    pub parts: [P; 2],
    /// How far a row is from the next one.
    pub step: usize,
}

impl<T> Read<T> for Apart<*const T> {
    #[inline(always)]
    unsafe fn get<V: Numbers<One = T>>(&self, row: usize, lane: usize) -> Group<V> {
        let at = row * self.step + lane;
        // SAFETY: by the caller.
        unsafe { [V::load(self.parts[0].add(at)), V::load(self.parts[1].add(at))] }
    }
}

impl<T> Write<T> for Apart<*mut T> {
    #[inline(always)]
    unsafe fn put<V: Numbers<One = T>>(&self, row: usize, lane: usize, x: Group<V>) {
        let at = row * self.step + lane;
        // SAFETY: by the caller.
        unsafe {
            x[0].store(self.parts[0].add(at));
            x[1].store(self.parts[1].add(at));
        }
    }
}

/// Real and imaginary parts by turns, as they lie in a tensor.
#[derive(Clone, Copy)]
pub struct Woven<P> {
    pub first: P,
    /// How far a row is from the next one, in complex numbers.
    pub step: isize,
    /// Of an inverse, for which parts are exchanged: what the numbers are divided by.
    pub inverse: Option<f64>,
}

impl<T> Read<T> for Woven<*const T> {
    #[inline(always)]
    unsafe fn get<V: Numbers<One = T>>(&self, row: usize, lane: usize) -> Group<V> {
        let at = 2 * (row as isize * self.step + lane as isize);
        // SAFETY: by the caller.
        let (x, y) = unsafe {
            let from = self.first.offset(at);
            (V::load(from), V::load(from.add(V::COUNT)))
        };
        let (re, im) = x.unweave(y);
        if self.inverse.is_some() {
            [im, re]
        } else {
            [re, im]
        }
    }
}

impl<T> Write<T> for Woven<*mut T> {
    #[inline(always)]
    unsafe fn put<V: Numbers<One = T>>(&self, row: usize, lane: usize, x: Group<V>) {
        let at = 2 * (row as isize * self.step + lane as isize);
        let [re, im] = match self.inverse {
            None => x,
            Some(n) => [x[1] / V::of(n), x[0] / V::of(n)],
        };
        let (x, y) = re.weave(im);
        // SAFETY: by the caller.
        unsafe {
            let to = self.first.offset(at);
            x.store(to);
            y.store(to.add(V::COUNT));
        }
    }
}
