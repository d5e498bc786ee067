//! Transforms along an axis of a tensor.

use super::butterflies::Number;
use super::ends::Woven;
use super::halves::{join_lines, long_inverses, long_lines, mirror_lines, split_lines};
use super::line::Line;
use super::lines::{Block, Lines, Out};
use super::long::{time, Sink, Source};
use super::parts::{Parts, Room};
use super::passes::From;
use super::roots::root;
use super::tiles::{Gather, Runs, Scatter};
use crate::dtype::{DType, Element};
use crate::kernels::cast;
use crate::kernels::threads::pool;
use crate::kernels::wide::wide;
use crate::tensor::{View, ViewMut};
use num_complex::Complex;
use std::sync::OnceLock;

/// What is transformed to what.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Complex numbers to as many; of real ones too.
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
    // Of complex numbers, and of real ones.
    single: [OnceLock<Transform<f32>>; 2],
    double: [OnceLock<Transform<f64>>; 2],
}

impl Transforms {
    /// As [`Transform::new`].
    pub fn new(kind: Kind, size: usize) -> Transforms {
        Transforms { kind, size, single: Default::default(), double: Default::default() }
    }

    /// As [`Transform::run`].
    pub fn run(&self, x: &View, axis: usize, out: &mut ViewMut) {
        let Transforms { kind, size, single, double } = self;
        let real = x.dtype.is_float();
        match x.dtype.part() {
            DType::F32 => {
                single[real as usize].get_or_init(|| Transform::new(*kind, *size, real)).run(x, axis, out)
            }
            _ => double[real as usize].get_or_init(|| Transform::new(*kind, *size, real)).run(x, axis, out),
        }
    }
}

/// The transform of lines of one length.
pub(super) struct Transform<T> {
    kind: Kind,
    /// Whether the numbers are real, of [`Kind::Forward`] and [`Kind::Inverse`] too.
    real: bool,
    /// The length of a line of the real numbers, or of the complex ones where there are no others.
    size: usize,
    line: Line<T>,
    /// Of even lines of real numbers, which are transformed as half as many complex ones: the roots of order
    /// `size`.
    roots: Vec<[T; 2]>,
}

/// The numbers of one line, of which the parts are exchanged for an inverse.
struct Numbers<'a, T> {
    data: &'a [Complex<T>],
    start: isize,
    stride: isize,
    inverse: Option<f64>,
}

impl<T: Number> Source<T> for Numbers<'_, T>
where
    Complex<T>: Element,
{
    fn woven(&self, size: usize) -> Option<Woven<*const T>> {
        let data = self.data[self.start as usize..].get(..size).filter(|_| self.stride == 1)?;
        Some(Woven { first: data.as_ptr().cast(), step: 1, inverse: self.inverse })
    }

    #[inline]
    fn read(&self, first: usize, re: &mut [T], im: &mut [T]) {
        let (re, im) = if self.inverse.is_some() { (im, re) } else { (re, im) };
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

/// A line that several threads write.
struct Written<'a, T> {
    out: &'a Out<Complex<T>>,
    start: isize,
    stride: isize,
    /// Of an inverse, what the numbers are divided by.
    inverse: Option<f64>,
}

impl<T: Number> Sink<T> for Written<'_, T>
where
    Complex<T>: Element,
{
    fn woven(&self, size: usize) -> Option<Woven<*mut T>> {
        let ((all, len), start) = (self.out.all(), self.start as usize);
        let inverse = self.inverse;
        (self.stride == 1 && start + size <= len).then(|| Woven {
            first: all.wrapping_add(start).cast(),
            step: 1,
            inverse,
        })
    }

    unsafe fn write(&self, first: usize, re: &[T], im: &[T]) {
        let start = self.start + first as isize * self.stride;
        for (i, (&re, &im)) in re.iter().zip(im).enumerate() {
            let at = (start + i as isize * self.stride) as usize;
            let z = match self.inverse {
                None => Complex::new(re, im),
                Some(n) => Complex::new(im / T::of(n), re / T::of(n)),
            };
            // SAFETY: as the caller promises.
            unsafe { self.out.set(at, z) };
        }
    }
}

impl<T: Number> Transform<T>
where
    Complex<T>: Element,
{
    /// The transform of lines of `size` numbers, at least 1, which are `real` or complex; of [`Kind::RealInverse`],
    /// of the real ones that are made.
    pub fn new(kind: Kind, size: usize, real: bool) -> Transform<T> {
        let halved = (real || kind == Kind::RealInverse) && size % 2 == 0;
        let points = if halved { size / 2 } else { size };
        let roots =
            if halved { (0..=points).map(|k| root(k, size).map(T::of)).collect() } else { Vec::new() };
        Transform { kind, real, size, line: Line::new(points), roots }
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
        if let (Line::Long(long), Kind::Forward | Kind::Inverse, false) = (&self.line, self.kind, self.real) {
            let data = cast::slice::<Complex<T>>(x.data);
            let written = Out::new(out);
            let inverse = self.divisor();
            // Threads share the lines if there are several.
            pool::for_each_piece(count, count > 1, |line| {
                let source = Numbers { data, start: from.start(line), stride: from.stride, inverse };
                let sink = Written { out: &written, start: to.start(line), stride: to.stride, inverse };
                // SAFETY: lines have no elements in common, and each is in one piece.
                unsafe { long.run(&source, &sink) };
            });
            return;
        }
        if let (Line::Long(long), false) = (&self.line, self.roots.is_empty()) {
            let long = (long, &self.roots[..]);
            if self.kind == Kind::RealInverse {
                return long_inverses(long, (cast::slice(x.data), &from), (&Out::new(out), &to));
            }
            let whole = (self.kind != Kind::Real).then(|| self.whole());
            return long_lines(long, (cast::slice(x.data), &from), (&Out::new(out), &to), whole);
        }
        match self.kind {
            Kind::Forward | Kind::Inverse if !self.real => {
                self.blocks(&from, &to, Complexes { data: x.data, out: Out::new(out) })
            }
            Kind::Forward | Kind::Inverse | Kind::Real => {
                self.blocks(&from, &to, Reals { data: x.data, out: Out::new(out) })
            }
            Kind::RealInverse => self.blocks(&from, &to, Inverses { data: x.data, out: Out::new(out) }),
        }
    }

    /// What the numbers of an inverse are divided by.
    fn divisor(&self) -> Option<f64> {
        matches!(self.kind, Kind::Inverse | Kind::RealInverse).then_some(self.size as f64)
    }

    /// What a number of the forward transform of a real line is in the one that is asked for.
    fn whole(&self) -> impl Fn(T, T) -> Complex<T> + Sync {
        let n = T::of(self.size as f64);
        let inverse = self.kind == Kind::Inverse;
        move |re, im| if inverse { Complex::new(re / n, -im / n) } else { Complex::new(re, im) }
    }

    /// Transforms several lines at once, block by block, which threads share.
    fn blocks(&self, from: &Lines, to: &Lines, ends: impl Ends<T>) {
        let points = if self.roots.is_empty() { self.size } else { self.size / 2 };
        let count = to.count();
        // Lines whose elements lie side by side are read and written one by one, without being woven together first.
        let apart = matches!(&self.line, Line::Short(passes) if passes.is_between() && points >= ALONE);
        let lanes = match apart && from.are_runs() && to.are_runs() {
            true => 1,
            false => self.line.lanes().min(count),
        };
        let blocks = count.div_ceil(lanes);
        let shared = blocks > 1 && time::<T>(points, count) >= pool::WORTH_SHARING;
        let together = (pool::WORTH_SHARING / 8 / time::<T>(points, lanes).max(1)).clamp(1, blocks);
        pool::for_each_piece(blocks.div_ceil(together), shared, |piece| {
            let room = &mut *Room::kept((points + 1).max(self.size) * lanes);
            for block in piece * together..blocks.min((piece + 1) * together) {
                let lines = block * lanes..count.min((block + 1) * lanes);
                let width = lines.len();
                room.lines(points * width);
                let (from, to) = (Block::new(from, lines.clone()), Block::new(to, lines));
                let Line::Short(passes) = &self.line else {
                    ends.load(self, &from, room, width);
                    self.line.run(&mut room.x, &mut room.room, width);
                    ends.store(self, &to, room, width);
                    continue;
                };
                let between = passes.is_between();
                let read = ends.from(self, &from, points).filter(|_| between);
                let written = ends.to(self, &to, points).filter(|_| between);
                if read.is_none() {
                    ends.load(self, &from, room, width);
                }
                let Room { x, room: other } = &mut *room;
                // SAFETY: the ends have checked that the numbers are there. Lines have no elements in common, and each
                // is in one block.
                unsafe {
                    passes.run_between(read.map_or(From::Here, From::Tensor), x, other, written, width)
                };
                if written.is_none() {
                    ends.store(self, &to, room, width);
                }
            }
        });
    }
}

/// Numbers of a line that is transformed alone rather than beside others, at least.
const ALONE: usize = 512;

/// How lines come from elements, and results become elements.
trait Ends<T>: Sync {
    /// Where the numbers of a block are, if the passes can read them there.
    fn from(&self, transform: &Transform<T>, block: &Block, points: usize) -> Option<Woven<*const T>>;
    /// Where they go, if the passes can write them there.
    fn to(&self, transform: &Transform<T>, block: &Block, points: usize) -> Option<Woven<*mut T>>;
    /// Fills `room.x` with as many numbers as are there. What else is in the room has their length before and after.
    fn load(&self, transform: &Transform<T>, block: &Block, room: &mut Room<T>, width: usize);
    /// Writes the results in `room.x`. The lines of a block are in no other one.
    fn store(&self, transform: &Transform<T>, block: &Block, room: &mut Room<T>, width: usize);
}

/// Complex numbers to as many.
struct Complexes<'a, T> {
    data: &'a [u8],
    out: Out<Complex<T>>,
}

impl<T: Number> Ends<T> for Complexes<'_, T>
where
    Complex<T>: Element,
{
    fn from(&self, transform: &Transform<T>, block: &Block, points: usize) -> Option<Woven<*const T>> {
        let data = cast::slice::<Complex<T>>(self.data);
        let (first, step) = block.rows(points, data.len())?;
        Some(Woven { first: data[first..].as_ptr().cast(), step, inverse: transform.divisor() })
    }

    fn to(&self, transform: &Transform<T>, block: &Block, points: usize) -> Option<Woven<*mut T>> {
        let (all, len) = self.out.all();
        let (first, step) = block.rows(points, len)?;
        Some(Woven { first: all.wrapping_add(first).cast(), step, inverse: transform.divisor() })
    }

    fn load(&self, transform: &Transform<T>, block: &Block, room: &mut Room<T>, width: usize) {
        let data = cast::slice::<Complex<T>>(self.data);
        let points = room.x[0].len() / width;
        if let Some(starts) = block.starts(points, data.len(), 2) {
            let tensor = Woven { first: data.as_ptr().cast(), step: 1, inverse: transform.divisor() };
            // SAFETY: the block has checked that they are there.
            if unsafe { Gather::run(Runs { tensor, starts: &starts[..width], points }, &mut room.x) } {
                return;
            }
        }
        match transform.kind {
            Kind::Inverse => wide(|| block.load(data, &mut room.x, |z| [z.im, z.re])),
            _ => wide(|| block.load(data, &mut room.x, |z| [z.re, z.im])),
        }
    }

    fn store(&self, transform: &Transform<T>, block: &Block, room: &mut Room<T>, width: usize) {
        let points = room.x[0].len() / width;
        let (all, len) = self.out.all();
        if let Some(starts) = block.starts(points, len, 2) {
            let tensor = Woven { first: all.cast(), step: 1, inverse: transform.divisor() };
            // SAFETY: the block has checked that they are there, and they are of no other one.
            if unsafe { Scatter::run(&room.x, Runs { tensor, starts: &starts[..width], points }) } {
                return;
            }
        }
        let n = T::of(transform.size as f64);
        // SAFETY: lines have no elements in common, and each is in one block.
        wide(|| unsafe {
            match transform.kind {
                Kind::Inverse => block.store(&room.x, &self.out, |im, re| Complex::new(re / n, im / n)),
                _ => block.store(&room.x, &self.out, Complex::new),
            }
        });
    }
}

/// Real numbers to half as many complex ones and one more, or to as many.
struct Reals<'a, T> {
    data: &'a [u8],
    out: Out<Complex<T>>,
}

impl<T: Number> Ends<T> for Reals<'_, T>
where
    Complex<T>: Element,
{
    fn from(&self, transform: &Transform<T>, block: &Block, points: usize) -> Option<Woven<*const T>> {
        // The halves of one line are neighbours.
        let data = cast::slice::<T>(self.data);
        let first = block.dense().filter(|_| !transform.roots.is_empty())?;
        Some(Woven { first: data[first..][..2 * points].as_ptr(), step: 1, inverse: None })
    }

    fn to(&self, _: &Transform<T>, _: &Block, _: usize) -> Option<Woven<*mut T>> {
        None
    }

    fn load(&self, transform: &Transform<T>, block: &Block, room: &mut Room<T>, width: usize) {
        let data = cast::slice::<T>(self.data);
        let points = room.x[0].len() / width;
        let halved = !transform.roots.is_empty();
        if let Some(starts) = halved.then(|| block.starts(2 * points, data.len(), 1)).flatten() {
            let tensor = Woven { first: data.as_ptr(), step: 1, inverse: None };
            // SAFETY: as of complex numbers.
            if unsafe { Gather::run(Runs { tensor, starts: &starts[..width], points }, &mut room.x) } {
                return;
            }
        }
        match transform.roots.is_empty() {
            true => wide(|| block.load(data, &mut room.x, |x| [x, T::of(0.0)])),
            false => wide(|| block.load_pairs(data, &mut room.x)),
        }
    }

    fn store(&self, transform: &Transform<T>, block: &Block, room: &mut Room<T>, width: usize) {
        let Room { x, room } = room;
        if transform.roots.is_empty() {
            x.iter_mut().for_each(|part| part.resize((transform.size / 2 + 1) * width));
        } else {
            split_lines(&transform.roots, x, room, width);
            std::mem::swap(x, room);
        }
        if transform.kind == Kind::Real {
            let (points, (all, len)) = (transform.size / 2 + 1, self.out.all());
            if let Some(starts) = block.starts(points, len, 2) {
                let tensor = Woven { first: all.cast(), step: 1, inverse: None };
                // SAFETY: as of complex numbers.
                if unsafe { Scatter::run(x, Runs { tensor, starts: &starts[..width], points }) } {
                    return;
                }
            }
            // SAFETY: lines have no elements in common, and each is in one block.
            return wide(|| unsafe { block.store(x, &self.out, Complex::new) });
        }
        mirror_lines(x, transform.size, width);
        // SAFETY: as above.
        wide(|| unsafe { block.store(x, &self.out, transform.whole()) });
    }
}

/// The inverse of that.
struct Inverses<'a, T> {
    data: &'a [u8],
    out: Out<T>,
}

impl<T: Number> Ends<T> for Inverses<'_, T>
where
    Complex<T>: Element,
{
    fn from(&self, _: &Transform<T>, _: &Block, _: usize) -> Option<Woven<*const T>> {
        None
    }

    fn to(&self, transform: &Transform<T>, block: &Block, points: usize) -> Option<Woven<*mut T>> {
        let first = block.dense().filter(|_| !transform.roots.is_empty())?;
        let (all, len) = self.out.all();
        assert!(first + 2 * points <= len, "elements outside of the result");
        Some(Woven { first: all.wrapping_add(first), step: 1, inverse: transform.divisor() })
    }

    fn load(&self, transform: &Transform<T>, block: &Block, room: &mut Room<T>, width: usize) {
        let (data, half) = (cast::slice::<Complex<T>>(self.data), transform.size / 2);
        let Room { x, room } = room;
        let halved = !transform.roots.is_empty();
        let numbers = |own: &mut Parts<T>| {
            own.iter_mut().for_each(|part| part.resize((half + 1) * width));
            if let Some(starts) = block.starts(half + 1, data.len(), 2) {
                let tensor = Woven { first: data.as_ptr().cast(), step: 1, inverse: None };
                // SAFETY: as of complex numbers.
                if unsafe { Gather::run(Runs { tensor, starts: &starts[..width], points: half + 1 }, own) } {
                    return;
                }
            }
            wide(|| block.load(data, own, |z| [z.re, z.im]));
        };
        if halved {
            numbers(room);
            join_lines(&transform.roots, room, x, width);
            room.iter_mut().for_each(|part| part.resize(half * width));
            return;
        }
        numbers(x);
        // The other half is the conjugate; parts are exchanged.
        x[1][..width].fill(T::of(0.0));
        mirror_lines(x, transform.size, width);
        x.swap(0, 1);
    }

    fn store(&self, transform: &Transform<T>, block: &Block, room: &mut Room<T>, width: usize) {
        let n = T::of(transform.size as f64);
        let Room { x, .. } = room;
        let (points, (all, len)) = (transform.size / 2, self.out.all());
        let halved = !transform.roots.is_empty();
        if let Some(starts) = halved.then(|| block.starts(2 * points, len, 1)).flatten() {
            let tensor = Woven { first: all, step: 1, inverse: transform.divisor() };
            // SAFETY: as of complex numbers.
            if unsafe { Scatter::run(x, Runs { tensor, starts: &starts[..width], points }) } {
                return;
            }
        }
        // The parts are exchanged.
        x.swap(0, 1);
        // SAFETY: lines have no elements in common, and each is in one block.
        wide(|| unsafe {
            match transform.roots.is_empty() {
                true => block.store(x, &self.out, |re, _| re / n),
                false => block.store_pairs(x, &self.out, |x| x / n),
            }
        });
    }
}
