//! How lines of a length are transformed.

use super::butterflies::Number;
use super::lines::MOST_LINES;
use super::long::{lanes, Long, Sink, Source, SHORT};
use super::parts::{Part, Parts};
use super::passes::Passes;
use super::roots::root;
use crate::kernels::wide::wide;
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

/// Numbers of the lines that are transformed together, a cache line of them, at most.
const TOGETHER: usize = 128;

impl<T: Number> Line<T> {
    /// The transform of `size` elements, at least 1.
    pub fn new(size: usize) -> Line<T> {
        if size > SHORT {
            if let Some(long) = Long::new(size) {
                return Line::Long(long);
            }
        }
        match Passes::new(size).filter(Passes::are_fast) {
            Some(passes) => Line::Short(passes),
            None => Line::Chirp(Chirp::new(size)),
        }
    }

    /// Lines that are transformed together, at most.
    pub fn lanes(&self) -> usize {
        match self {
            // Of short lines several cache lines, as long as they stay near.
            Line::Short(passes) => {
                lanes::<T>() * (TOGETHER / passes.size()).clamp(1, MOST_LINES / lanes::<f32>())
            }
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
                let [re, im] = &mut *room;
                let to = Shared::new(re, im);
                // SAFETY: the room is as long as the line, and borrowed exclusively.
                unsafe { long.run(x, &to) };
                std::mem::swap(x, room);
            }
            Line::Chirp(chirp) => chirp.run(x, lanes),
        }
    }
}

impl<T: Number> Source<T> for Parts<T> {
    #[inline]
    fn read(&self, first: usize, re: &mut [T], im: &mut [T]) {
        re.copy_from_slice(&self[0][first..][..re.len()]);
        im.copy_from_slice(&self[1][first..][..im.len()]);
    }
}

/// Parts that are written by several threads.
pub struct Shared<T> {
    re: AtomicPtr<T>,
    im: AtomicPtr<T>,
}

impl<T> Shared<T> {
    /// All of them.
    pub fn new(re: &mut [T], im: &mut [T]) -> Shared<T> {
        Shared { re: AtomicPtr::new(re.as_mut_ptr()), im: AtomicPtr::new(im.as_mut_ptr()) }
    }
}

impl<T: Number> Sink<T> for Shared<T> {
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
    inner: Box<Line<T>>,
    /// `exp(-i pi k^2 / n)`.
    chirp: Parts<T>,
    /// The transform of its conjugate, divided by the inner length.
    spectrum: Parts<T>,
}

/// The least length of at least so many numbers whose prime factors are 2, 3 and 5, for which the passes are fast.
fn smooth(least: usize) -> usize {
    let mut best = least.next_power_of_two();
    for odd in [1, 3, 5, 9, 15, 25] {
        // Eights are what the first pass is best at.
        let twos = least.div_ceil(odd).next_power_of_two().max(8);
        best = best.min(odd * twos);
    }
    best
}

impl<T: Number> Chirp<T> {
    fn new(size: usize) -> Chirp<T> {
        let length = smooth(2 * size - 1);
        let inner = Line::new(length);
        let chirp = (0..size)
            .map(|k| root((k as u128 * k as u128 % (2 * size as u128)) as usize, 2 * size).map(T::of));
        let (re, im): (Vec<T>, Vec<T>) = chirp.map(|[c, s]| (c, s)).unzip();
        let mut spectrum: Parts<T> = [Part::new(length), Part::new(length)];
        let scale = T::of(length as f64);
        for (k, (&c, &s)) in re.iter().zip(&im).enumerate() {
            for at in [k, (length - k) % length] {
                spectrum[0][at] = c / scale;
                spectrum[1][at] = -s / scale;
            }
        }
        let mut room = [Part::new(length), Part::new(length)];
        inner.run(&mut spectrum, &mut room, 1);
        Chirp { inner: Box::new(inner), chirp: [re, im].map(Part::from_iter), spectrum }
    }

    fn run(&self, x: &mut Parts<T>, lanes: usize) {
        let length = self.spectrum[0].len();
        let room = || [Part::new(length * lanes), Part::new(length * lanes)];
        let (mut y, mut room): (Parts<T>, Parts<T>) = (room(), room());
        multiplied(&x[..], &self.chirp, &mut y, lanes);
        self.inner.run(&mut y, &mut room, lanes);
        multiplied(&y, &self.spectrum, &mut room, lanes);
        // The inverse: parts are exchanged before and after.
        room.swap(0, 1);
        self.inner.run(&mut room, &mut y, lanes);
        room.swap(0, 1);
        multiplied(&room, &self.chirp, x, lanes);
    }
}

/// The product of each element of lines and the number of its place, of as many places as there are numbers.
fn multiplied<T: Number>(x: &[Part<T>], by: &Parts<T>, to: &mut Parts<T>, lanes: usize) {
    let [to, other] = to;
    wide(|| {
        let (numbers, parts) = (by[0].iter().zip(&*by[1]), x[0].iter().zip(&*x[1]));
        if lanes == 1 {
            let to = to.iter_mut().zip(&mut **other);
            for ((to, (&a, &b)), (&c, &s)) in to.zip(parts).zip(numbers) {
                (*to.0, *to.1) = (a * c - b * s, a * s + b * c);
            }
            return;
        }
        let parts = x[0].chunks_exact(lanes).zip(x[1].chunks_exact(lanes));
        let to = to.chunks_exact_mut(lanes).zip(other.chunks_exact_mut(lanes));
        for ((to, (a, b)), (&c, &s)) in to.zip(parts).zip(numbers) {
            for ((to, other), (&a, &b)) in to.0.iter_mut().zip(to.1).zip(a.iter().zip(b)) {
                (*to, *other) = (a * c - b * s, a * s + b * c);
            }
        }
    });
}
