//! How lines of a length are transformed.

use super::long::{lanes, Long, Sink, Source, SHORT};
use super::passes::{Parts, Passes};
use super::roots::root;
use crate::dtype::Float;
use crate::kernels::memory::zeroed;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// The transform of lines of one length.
pub enum Line<T> {
    /// In passes.
    Short(Passes<T>),
    /// As a matrix.
    Long(Long<T>),
    /// As a convolution.
    Chirp(Chirp<T>),
}

impl<T: Float> Line<T> {
    /// The transform of `size` elements, at least 1.
    pub fn new(size: usize) -> Line<T> {
        if size > SHORT {
            if let Some(long) = Long::new(size) {
                return Line::Long(long);
            }
        }
        match Passes::new(size) {
            Some(passes) => Line::Short(passes),
            None => Line::Chirp(Chirp::new(size)),
        }
    }

    /// Lines that are transformed together, at most.
    pub fn lanes(&self) -> usize {
        match self {
            Line::Short(_) => lanes::<T>(),
            Line::Long(_) => 1,
            Line::Chirp(chirp) => chirp.inner.lanes(),
        }
    }

    /// Transforms lines in place; `room` is as long as they are.
    pub fn run(&self, x: &mut Parts<T>, room: &mut Parts<T>, lanes: usize) {
        match self {
            Line::Short(passes) => passes.run(x, room, lanes),
            Line::Long(long) => {
                debug_assert_eq!(lanes, 1);
                assert!(room[0].len() == x[0].len() && room[1].len() == x[1].len());
                let to = Apart::new(room);
                // SAFETY: the room is as long as the line, and borrowed exclusively.
                unsafe { long.run(x, &to) };
                std::mem::swap(x, room);
            }
            Line::Chirp(chirp) => chirp.run(x, lanes),
        }
    }
}

impl<T: Float> Source<T> for Parts<T> {
    #[inline]
    fn read(&self, first: usize, re: &mut [T], im: &mut [T]) {
        re.copy_from_slice(&self[0][first..][..re.len()]);
        im.copy_from_slice(&self[1][first..][..im.len()]);
    }
}

/// Parts that are written by several threads.
pub struct Apart<T> {
    re: AtomicPtr<T>,
    im: AtomicPtr<T>,
}

impl<T> Apart<T> {
    /// All of them.
    pub fn new([re, im]: &mut Parts<T>) -> Apart<T> {
        Apart { re: AtomicPtr::new(re.as_mut_ptr()), im: AtomicPtr::new(im.as_mut_ptr()) }
    }
}

impl<T: Float> Sink<T> for Apart<T> {
    unsafe fn write(&self, first: usize, re: &[T], im: &[T]) {
        for (to, from) in [(&self.re, re), (&self.im, im)] {
            let to = to.load(Relaxed);
            // SAFETY: the caller promises that the numbers are there and its own.
            unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.add(first), from.len()) };
        }
    }
}

/// The transform of any length `n`, as a convolution with `exp(i pi k^2 / n)`, by transforms of a power of 2.
pub struct Chirp<T> {
    size: usize,
    inner: Box<Line<T>>,
    /// `exp(-i pi k^2 / n)`.
    chirp: Vec<[T; 2]>,
    /// The transform of its conjugate, divided by the inner length.
    spectrum: Parts<T>,
}

impl<T: Float> Chirp<T> {
    fn new(size: usize) -> Chirp<T> {
        let length = (2 * size - 1).next_power_of_two();
        let inner = Line::new(length);
        let chirp: Vec<[T; 2]> = (0..size)
            .map(|k| root((k as u128 * k as u128 % (2 * size as u128)) as usize, 2 * size).map(T::of))
            .collect();
        let mut spectrum: Parts<T> = [zeroed(length), zeroed(length)];
        let scale = T::of(length as f64);
        for (k, [c, s]) in chirp.iter().enumerate() {
            for at in [k, (length - k) % length] {
                spectrum[0][at] = *c / scale;
                spectrum[1][at] = -*s / scale;
            }
        }
        let mut room = [zeroed(length), zeroed(length)];
        inner.run(&mut spectrum, &mut room, 1);
        Chirp { size, inner: Box::new(inner), chirp, spectrum }
    }

    fn run(&self, x: &mut Parts<T>, lanes: usize) {
        let length = self.spectrum[0].len();
        let mut y: Parts<T> = [zeroed(length * lanes), zeroed(length * lanes)];
        let mut room: Parts<T> = [zeroed(length * lanes), zeroed(length * lanes)];
        let [re, im] = &mut y;
        for (k, [c, s]) in self.chirp.iter().enumerate() {
            for at in k * lanes..(k + 1) * lanes {
                let (a, b) = (x[0][at], x[1][at]);
                (re[at], im[at]) = (a * *c - b * *s, a * *s + b * *c);
            }
        }
        self.inner.run(&mut y, &mut room, lanes);
        let [re, im] = &mut y;
        for k in 0..length {
            let (c, s) = (self.spectrum[0][k], self.spectrum[1][k]);
            for at in k * lanes..(k + 1) * lanes {
                (re[at], im[at]) = (re[at] * c - im[at] * s, re[at] * s + im[at] * c);
            }
        }
        // The inverse: parts are exchanged before and after.
        y.swap(0, 1);
        self.inner.run(&mut y, &mut room, lanes);
        let [im, re] = &y;
        let [to, other] = x;
        for (k, [c, s]) in self.chirp.iter().enumerate().take(self.size) {
            for at in k * lanes..(k + 1) * lanes {
                (to[at], other[at]) = (re[at] * *c - im[at] * *s, re[at] * *s + im[at] * *c);
            }
        }
    }
}
