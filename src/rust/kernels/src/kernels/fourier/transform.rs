//! Transforms along an axis of a tensor.

use super::line::Line;
use super::long::{lanes, time, Room, Sink, Source};
use super::passes::Parts;
use super::roots::root;
use crate::dtype::{DType, Element, Float};
use crate::kernels::cast;
use crate::kernels::threads::pool;
use crate::tensor::{View, ViewMut};
use num_complex::Complex;
use std::cell::OnceCell;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// What is transformed to what.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Complex numbers to as many.
    Forward,
    /// The inverse of that, divided by the length.
    Inverse,
    /// Real numbers to the first half of the transform, the other half of which is its conjugate.
    Real,
    /// The inverse of that. Imaginary parts of the first number, and of the last of an even length, are not
    /// read.
    RealInverse,
}

/// The transform of lines of one length, in both precisions; what depends on the length alone is made when it is
/// first needed.
pub struct Transforms {
    kind: Kind,
    size: usize,
    single: OnceCell<Transform<f32>>,
    double: OnceCell<Transform<f64>>,
}

impl Transforms {
    /// As [`Transform::new`].
    pub fn new(kind: Kind, size: usize) -> Transforms {
        Transforms { kind, size, single: OnceCell::new(), double: OnceCell::new() }
    }

    /// As [`Transform::run`].
    pub fn run(&self, x: &View, axis: usize, out: &mut ViewMut) {
        let Transforms { kind, size, single, double } = self;
        match x.dtype.part() {
            DType::F32 => single.get_or_init(|| Transform::new(*kind, *size)).run(x, axis, out),
            _ => double.get_or_init(|| Transform::new(*kind, *size)).run(x, axis, out),
        }
    }
}

/// The transform of lines of one length.
pub(super) struct Transform<T> {
    kind: Kind,
    /// The length of a line of the real numbers, or of the complex ones where there are no others.
    size: usize,
    line: Line<T>,
    /// Of even lines of real numbers, which are transformed as half as many complex ones: the roots of order
    /// `size`.
    roots: Vec<[T; 2]>,
}

/// The lines of a tensor along an axis.
struct Lines {
    /// The distance of neighbours in a line.
    stride: isize,
    first: isize,
    /// Sizes and distances of the other axes.
    others: Vec<(usize, isize)>,
}

impl Lines {
    fn new(sizes: &[usize], strides: &[isize], offset: usize, axis: usize) -> Lines {
        let all = sizes.iter().copied().zip(strides.iter().copied()).enumerate();
        let others = all.filter(|(i, _)| *i != axis).map(|(_, other)| other).collect();
        Lines { stride: strides[axis], first: offset as isize, others }
    }

    /// Whether elements of a line are nearer than those of the next line.
    fn along(&self) -> bool {
        let next = self.others.iter().find(|(size, _)| *size > 1);
        next.is_some_and(|(_, stride)| self.stride.abs() < stride.abs())
    }

    fn count(&self) -> usize {
        self.others.iter().map(|(size, _)| size).product()
    }

    /// The place of the first element of a line.
    fn start(&self, line: usize) -> isize {
        let (mut rest, mut at) = (line, self.first);
        for (size, stride) in &self.others {
            at += (rest % size) as isize * stride;
            rest /= size;
        }
        at
    }
}

/// The numbers of one line, of which the parts are exchanged for an inverse.
struct Numbers<'a, T> {
    data: &'a [Complex<T>],
    start: isize,
    stride: isize,
    inverse: bool,
}

impl<T: Float> Source<T> for Numbers<'_, T>
where
    Complex<T>: Element,
{
    #[inline]
    fn read(&self, first: usize, re: &mut [T], im: &mut [T]) {
        let (re, im) = if self.inverse { (im, re) } else { (re, im) };
        let start = self.start + first as isize * self.stride;
        if self.stride == 1 {
            let data = &self.data[start as usize..][..re.len()];
            for ((re, im), z) in re.iter_mut().zip(im).zip(data) {
                (*re, *im) = (z.re, z.im);
            }
            return;
        }
        for (i, (re, im)) in re.iter_mut().zip(im).enumerate() {
            let z = self.data[(start + i as isize * self.stride) as usize];
            (*re, *im) = (z.re, z.im);
        }
    }
}

/// Elements that several threads write.
struct Out<E> {
    first: AtomicPtr<E>,
    len: usize,
}

impl<E: Element> Out<E> {
    fn new(out: &mut ViewMut) -> Out<E> {
        let data = cast::slice_mut::<E>(out.data);
        Out { first: AtomicPtr::new(data.as_mut_ptr()), len: data.len() }
    }

    /// Writes an element.
    ///
    /// # Safety
    /// Nobody else reads or writes it.
    #[inline(always)]
    unsafe fn set(&self, at: usize, x: E) {
        assert!(at < self.len, "an element outside of the result");
        // SAFETY: as just checked, and the caller promises.
        unsafe { self.first.load(Relaxed).add(at).write(x) };
    }
}

/// A line that several threads write.
struct Written<'a, T> {
    out: &'a Out<Complex<T>>,
    start: isize,
    stride: isize,
    /// Of an inverse, what the numbers are divided by.
    inverse: Option<T>,
}

impl<T: Float> Sink<T> for Written<'_, T>
where
    Complex<T>: Element,
{
    unsafe fn write(&self, first: usize, re: &[T], im: &[T]) {
        let start = self.start + first as isize * self.stride;
        for (i, (&re, &im)) in re.iter().zip(im).enumerate() {
            let at = (start + i as isize * self.stride) as usize;
            let z = match self.inverse {
                None => Complex::new(re, im),
                Some(n) => Complex::new(im / n, re / n),
            };
            // SAFETY: as the caller promises.
            unsafe { self.out.set(at, z) };
        }
    }
}

impl<T: Float> Transform<T>
where
    Complex<T>: Element,
{
    /// The transform of lines of `size` numbers, at least 1; of the real ones, if there are any.
    pub fn new(kind: Kind, size: usize) -> Transform<T> {
        let halved = matches!(kind, Kind::Real | Kind::RealInverse) && size % 2 == 0;
        let points = if halved { size / 2 } else { size };
        let roots =
            if halved { (0..=points).map(|k| root(k, size).map(T::of)).collect() } else { Vec::new() };
        Transform { kind, size, line: Line::new(points), roots }
    }

    /// Transforms a tensor along an axis.
    pub fn run(&self, x: &View, axis: usize, out: &mut ViewMut) {
        let strides: Vec<isize> = out.shape.strides().iter().map(|&s| s as isize).collect();
        let from = Lines::new(x.shape, &x.layout.strides, x.layout.offset, axis);
        let to = Lines::new(out.shape, &strides, 0, axis);
        let count = to.count();
        if out.shape.size() == 0 {
            return;
        }
        if let (Line::Long(long), Kind::Forward | Kind::Inverse) = (&self.line, self.kind) {
            let data = cast::slice::<Complex<T>>(x.data);
            let written = Out::new(out);
            let inverse = self.kind == Kind::Inverse;
            // Threads share the lines if there are several.
            pool::for_each_piece(count, count > 1, |line| {
                let source = Numbers { data, start: from.start(line), stride: from.stride, inverse };
                let inverse = inverse.then(|| T::of(self.size as f64));
                let sink = Written { out: &written, start: to.start(line), stride: to.stride, inverse };
                // SAFETY: lines have no elements in common, and each is in one piece.
                unsafe { long.run(&source, &sink) };
            });
            return;
        }
        let complex = |z: Complex<T>| [z.re, z.im];
        match self.kind {
            Kind::Forward | Kind::Inverse => {
                self.blocks((cast::slice(x.data), &from), (&Out::new(out), &to), complex, Complex::new)
            }
            Kind::Real => self.blocks(
                (cast::slice(x.data), &from),
                (&Out::new(out), &to),
                |x: T| [x, T::of(0.0)],
                Complex::new,
            ),
            Kind::RealInverse => {
                self.blocks((cast::slice(x.data), &from), (&Out::new(out), &to), complex, |x, _| x)
            }
        }
    }

    /// Transforms several lines at once, block by block, which threads share. `get` gives the parts of an
    /// element, `put` makes one of parts.
    fn blocks<E: Element, O: Element>(
        &self,
        (data, from): (&[E], &Lines),
        (out, to): (&Out<O>, &Lines),
        get: impl Fn(E) -> [T; 2] + Sync,
        put: impl Fn(T, T) -> O + Sync,
    ) {
        let points = if self.roots.is_empty() { self.size } else { self.size / 2 };
        let count = to.count();
        let lanes = self.line.lanes().min(count);
        let blocks = count.div_ceil(lanes);
        let shared = blocks > 1 && time(points, count) >= pool::WORTH_SHARING;
        let together = (pool::WORTH_SHARING / 8 / time(points, lanes).max(1)).clamp(1, blocks);
        pool::for_each_piece(blocks.div_ceil(together), shared, |piece| {
            let room = &mut *Room::kept(points * lanes);
            for block in piece * together..blocks.min((piece + 1) * together) {
                let lines = block * lanes..count.min((block + 1) * lanes);
                room.lines(points * lines.len());
                let mut starts = [[0; 2]; MOST_LANES];
                starts.iter_mut().zip(lines.clone()).for_each(|(s, i)| *s = [from.start(i), to.start(i)]);
                let starts = &starts[..lines.len()];
                let read =
                    |k: usize, lane: usize| get(data[(starts[lane][0] + k as isize * from.stride) as usize]);
                self.load(&mut room.x, lines.len(), from.along(), read);
                self.line.run(&mut room.x, &mut room.room, lines.len());
                self.store(&room.x, lines.len(), to.along(), |k, lane, re, im| {
                    let at = (starts[lane][1] + k as isize * to.stride) as usize;
                    // SAFETY: lines have no elements in common, and each is in one block.
                    unsafe { out.set(at, put(re, im)) }
                });
            }
        });
    }

    /// The numbers that are transformed, from elements by their number and line, whichever are nearer.
    #[inline(always)]
    fn load(&self, x: &mut Parts<T>, width: usize, along: bool, read: impl Fn(usize, usize) -> [T; 2]) {
        let (half, zero) = (self.size / 2, T::of(0.0));
        let halved = !self.roots.is_empty();
        match self.kind {
            Kind::Real if halved => {
                fill(x, width, along, |k, lane| [read(2 * k, lane)[0], read(2 * k + 1, lane)[0]])
            }
            Kind::Forward | Kind::Real => fill(x, width, along, read),
            Kind::RealInverse if halved => fill(x, width, along, |k, lane| {
                let [c, s] = self.roots[k];
                let ([a, b], [x, y]) = (read(k, lane), read(half - k, lane));
                let (b, y) = if k == 0 { (zero, zero) } else { (b, y) };
                // Of the even elements, and of the odd ones, turned back; both for the inverse.
                let (even, odd) = ([a + x, b - y], [a - x, b + y]);
                let odd = [odd[0] * c + odd[1] * s, odd[1] * c - odd[0] * s];
                [even[1] + odd[0], even[0] - odd[1]]
            }),
            Kind::RealInverse => fill(x, width, along, |k, lane| {
                let mirrored = k > half;
                let [a, b] = read(if mirrored { self.size - k } else { k }, lane);
                let b = if k == 0 { zero } else { b };
                [if mirrored { -b } else { b }, a]
            }),
            Kind::Inverse => fill(x, width, along, |k, lane| {
                let [a, b] = read(k, lane);
                [b, a]
            }),
        }
    }

    /// The results, to elements by their number and line.
    #[inline(always)]
    fn store(&self, x: &Parts<T>, width: usize, along: bool, write: impl Fn(usize, usize, T, T)) {
        let (n, half) = (T::of(self.size as f64), T::of(0.5));
        let at = |k: usize, lane: usize| [x[0][k * width + lane], x[1][k * width + lane]];
        let points = x[0].len() / width;
        let halved = !self.roots.is_empty();
        match self.kind {
            Kind::Forward => each(points, width, along, |k, lane| {
                let [re, im] = at(k, lane);
                write(k, lane, re, im)
            }),
            Kind::Inverse => each(points, width, along, |k, lane| {
                let [im, re] = at(k, lane);
                write(k, lane, re / n, im / n)
            }),
            Kind::Real if halved => each(points + 1, width, along, |k, lane| {
                let ([a, b], [x, y]) = (at(k % points, lane), at((points - k) % points, lane));
                let (even, odd) = ([(a + x) * half, (b - y) * half], [(b + y) * half, (x - a) * half]);
                let [c, s] = self.roots[k];
                write(k, lane, even[0] + (odd[0] * c - odd[1] * s), even[1] + (odd[0] * s + odd[1] * c))
            }),
            Kind::Real => each(points / 2 + 1, width, along, |k, lane| {
                let [re, im] = at(k, lane);
                write(k, lane, re, im)
            }),
            Kind::RealInverse if halved => each(points, width, along, |k, lane| {
                let [im, re] = at(k, lane);
                write(2 * k, lane, re / n, T::of(0.0));
                write(2 * k + 1, lane, im / n, T::of(0.0));
            }),
            Kind::RealInverse => {
                each(points, width, along, |k, lane| write(k, lane, at(k, lane)[1] / n, T::of(0.0)))
            }
        }
    }
}

/// Lines that are transformed together, at most, of any type.
const MOST_LANES: usize = lanes::<f32>();

/// Numbers of a line that are taken together, where they are neighbours: two cache lines of them.
const NEIGHBOURS: usize = 16;

/// Calls a function with all numbers of all lines: some of each line together if they are neighbours `along`
/// the line.
#[inline(always)]
fn each(points: usize, width: usize, along: bool, mut run: impl FnMut(usize, usize)) {
    if !along {
        for k in 0..points {
            for lane in 0..width {
                run(k, lane);
            }
        }
        return;
    }
    for first in (0..points).step_by(NEIGHBOURS) {
        for lane in 0..width {
            for k in first..points.min(first + NEIGHBOURS) {
                run(k, lane);
            }
        }
    }
}

/// Sets all numbers of all lines.
#[inline(always)]
fn fill<T: Copy>(x: &mut Parts<T>, width: usize, along: bool, number: impl Fn(usize, usize) -> [T; 2]) {
    let [re, im] = x;
    let (points, im) = (re.len() / width, &mut im[..re.len()]);
    each(points, width, along, |k, lane| {
        let at = k * width + lane;
        [re[at], im[at]] = number(k, lane);
    });
}
