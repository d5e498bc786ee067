//! Where the lines of a tensor along an axis lie, and their elements to and from lines that are transformed together.

use super::butterflies::Number;
use super::long::lanes;
use super::parts::Parts;
use crate::dtype::Element;
use crate::kernels::cast;
use crate::tensor::ViewMut;
use std::ops::Range;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// The lines of a tensor along an axis.
pub struct Lines {
    /// The distance of neighbours in a line.
    pub stride: isize,
    first: isize,
    /// Sizes and distances of the other axes.
    others: Vec<(usize, isize)>,
}

impl Lines {
    /// Of a tensor of these sizes.
    pub fn new(sizes: &[usize], strides: &[isize], offset: usize, axis: usize) -> Lines {
        let all = sizes.iter().copied().zip(strides.iter().copied()).enumerate();
        let others = all.filter(|(i, _)| *i != axis).map(|(_, other)| other).collect();
        Lines { stride: strides[axis], first: offset as isize, others }
    }

    /// Whether elements of a line lie side by side, and those of other lines further away.
    pub fn are_runs(&self) -> bool {
        self.stride == 1 && self.along()
    }

    /// Whether elements of a line are nearer than those of the next line.
    fn along(&self) -> bool {
        let next = self.others.iter().find(|(size, _)| *size > 1);
        next.is_some_and(|(_, stride)| self.stride.abs() < stride.abs())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.others.iter().map(|(size, _)| size).product()
    }

    /// The places of the first elements of neighbouring lines.
    fn starts(&self, first: usize, starts: &mut [isize]) {
        let Some(&(size, stride)) = self.others.first() else { return starts.fill(self.first) };
        let (mut line, mut rest) = (first, starts);
        while !rest.is_empty() {
            // Those that differ by the first of the other axes alone.
            let (some, later) = rest.split_at_mut((size - line % size).min(rest.len()));
            let start = self.start(line);
            some.iter_mut().enumerate().for_each(|(i, at)| *at = start + i as isize * stride);
            line += some.len();
            rest = later;
        }
    }

    /// The place of the first element of a line.
    pub fn start(&self, line: usize) -> isize {
        let (mut rest, mut at) = (line, self.first);
        for (size, stride) in &self.others {
            at += (rest % size) as isize * stride;
            rest /= size;
        }
        at
    }
}

/// Elements that several threads write.
pub struct Out<E> {
    first: AtomicPtr<E>,
    len: usize,
}

impl<E: Element> Out<E> {
    /// The elements of a tensor.
    pub fn new(out: &mut ViewMut) -> Out<E> {
        let data = cast::slice_mut::<E>(out.data);
        Out { first: AtomicPtr::new(data.as_mut_ptr()), len: data.len() }
    }

    /// Writes an element.
    ///
    /// # Safety
    /// Nobody else reads or writes it.
    #[inline(always)]
    pub unsafe fn set(&self, at: usize, x: E) {
        assert!(at < self.len, "an element outside of the result");
        // SAFETY: as just checked, and the caller promises.
        unsafe { self.first.load(Relaxed).add(at).write(x) };
    }

    /// The first one, and how many they are.
    pub fn all(&self) -> (*mut E, usize) {
        (self.first.load(Relaxed), self.len)
    }

    /// Elements side by side.
    ///
    /// # Safety
    /// Nobody else reads or writes them.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)] // The caller promises that they are its own.
    pub unsafe fn row(&self, at: usize, len: usize) -> &mut [E] {
        assert!(at <= self.len && len <= self.len - at, "elements outside of the result");
        // SAFETY: as just checked, and the caller promises.
        unsafe { std::slice::from_raw_parts_mut(self.first.load(Relaxed).add(at), len) }
    }
}

/// Lines that are transformed together, at most, of any type.
pub const MOST_LINES: usize = 4 * lanes::<f32>();

/// Lines that are transformed together, as they lie in a tensor.
pub struct Block {
    starts: [isize; MOST_LINES],
    width: usize,
    stride: isize,
    along: bool,
    /// Whether each line begins beside the one before it.
    beside: bool,
}

impl Block {
    /// Those of these numbers.
    pub fn new(lines: &Lines, numbers: Range<usize>) -> Block {
        let (mut starts, width) = ([0; MOST_LINES], numbers.len());
        lines.starts(numbers.start, &mut starts[..width]);
        let beside = starts[..width].windows(2).all(|two| two[1] == two[0] + 1);
        Block { starts, width, stride: lines.stride, along: lines.along(), beside: beside && width > 1 }
    }

    /// The place of an element of a line.
    #[inline(always)]
    fn at(&self, k: usize, lane: usize) -> usize {
        (self.starts[lane] + k as isize * self.stride) as usize
    }

    /// The place of the first element if the block is one line whose elements lie side by side.
    #[inline(always)]
    pub fn dense(&self) -> Option<usize> {
        (self.width == 1 && self.stride == 1).then(|| self.starts[0] as usize)
    }

    /// The place of the first element, and how far a row of one element of each line is from the next, if rows lie
    /// side by side, or a line does: of so many rows, all of which are checked to be in a tensor of so many elements.
    pub fn rows(&self, rows: usize, elements: usize) -> Option<(usize, isize)> {
        if !self.beside && self.dense().is_none() {
            return None;
        }
        let (first, last) = (self.starts[0], self.starts[0] + (rows as isize - 1) * self.stride);
        let end = first.max(last) + self.width as isize;
        assert!(first.min(last) >= 0 && end as usize <= elements, "elements outside of the tensor");
        Some((first as usize, self.stride))
    }

    /// Where the lines begin if each lies side by side, and others further away: of so many elements each, of which
    /// each has `parts`, all checked to be in a tensor of so many elements.
    pub fn starts(&self, len: usize, elements: usize, parts: isize) -> Option<[isize; MOST_LINES]> {
        if !self.runs() || self.width == 1 {
            return None;
        }
        let starts = &self.starts[..self.width];
        assert!(
            starts.iter().all(|&at| at >= 0 && at as usize + len <= elements),
            "elements outside of the tensor"
        );
        Some(self.starts.map(|at| parts * at))
    }

    /// Whether elements of each line lie side by side, and those of other lines further away.
    fn runs(&self) -> bool {
        self.along && self.stride == 1
    }

    /// Both parts of numbers, of as many elements of each line.
    #[inline(always)]
    pub fn load<E: Copy, T: Number>(&self, data: &[E], parts: &mut Parts<T>, get: impl Fn(E) -> [T; 2]) {
        if self.dense().is_some() || self.runs() {
            return self.load_runs::<E, T, 1>(data, parts, |[z]| get(z));
        }
        let (width, [re, im]) = (self.width, parts);
        if self.beside {
            for (k, (re, im)) in re.chunks_exact_mut(width).zip(im.chunks_exact_mut(width)).enumerate() {
                let row = &data[self.at(k, 0)..][..width];
                for ((re, im), &z) in re.iter_mut().zip(im).zip(row) {
                    [*re, *im] = get(z);
                }
            }
            return;
        }
        let (points, im) = (re.len() / width, &mut im[..re.len()]);
        each(points, width, self.along, |k, lane| {
            let at = k * width + lane;
            [re[at], im[at]] = get(data[self.at(k, lane)]);
        });
    }

    /// Both parts of numbers, of twice as many elements of each line: the elements of even and of odd numbers.
    #[inline(always)]
    pub fn load_pairs<T: Number>(&self, data: &[T], parts: &mut Parts<T>) {
        if self.dense().is_some() || self.runs() {
            return self.load_runs::<T, T, 2>(data, parts, |pair| pair);
        }
        for (i, part) in parts.iter_mut().enumerate() {
            self.load_part(data, part, i);
        }
    }

    /// Numbers from elements that lie side by side along the lines, of which each is made of `N`.
    #[inline(always)]
    fn load_runs<E: Copy, T: Number, const N: usize>(
        &self,
        data: &[E],
        [re, im]: &mut Parts<T>,
        get: impl Fn([E; N]) -> [T; 2],
    ) {
        let of = |z: &[E]| get(std::array::from_fn(|i| z[i]));
        if let Some(start) = self.dense() {
            let line = data[start..][..N * re.len()].chunks_exact(N);
            re.iter_mut().zip(&mut **im).zip(line).for_each(|((re, im), z)| [*re, *im] = of(z));
            return;
        }
        let (width, together) = (self.width, NEIGHBOURS * self.width);
        for (i, (re, im)) in re.chunks_mut(together).zip(im.chunks_mut(together)).enumerate() {
            for lane in 0..width {
                let run = &data[self.at(N * NEIGHBOURS * i, lane)..][..N * re.len() / width];
                let rows = re.chunks_exact_mut(width).zip(im.chunks_exact_mut(width));
                rows.zip(run.chunks_exact(N)).for_each(|((re, im), z)| [re[lane], im[lane]] = of(z));
            }
        }
    }

    /// One part of numbers, of every second element of each line from the `first` on.
    #[inline(always)]
    fn load_part<T: Number>(&self, data: &[T], part: &mut [T], first: usize) {
        let width = self.width;
        if self.beside {
            for (k, part) in part.chunks_exact_mut(width).enumerate() {
                part.copy_from_slice(&data[self.at(first + 2 * k, 0)..][..width]);
            }
            return;
        }
        each(part.len() / width, width, self.along, |k, lane| {
            part[k * width + lane] = data[self.at(first + 2 * k, lane)];
        });
    }

    /// As many elements of each line, of both parts of numbers.
    ///
    /// # Safety
    /// Nobody else reads or writes these lines.
    #[inline(always)]
    pub unsafe fn store<E: Element, T: Number>(
        &self,
        parts: &Parts<T>,
        out: &Out<E>,
        put: impl Fn(T, T) -> E,
    ) {
        if self.dense().is_some() || self.runs() {
            // SAFETY: by the caller.
            return unsafe { self.store_runs(parts, out, |re, im| [put(re, im)]) };
        }
        let (width, [re, im]) = (self.width, parts);
        if self.beside {
            for (k, (re, im)) in re.chunks_exact(width).zip(im.chunks_exact(width)).enumerate() {
                // SAFETY: by the caller.
                let row = unsafe { out.row(self.at(k, 0), width) };
                for ((out, &re), &im) in row.iter_mut().zip(re).zip(im) {
                    *out = put(re, im);
                }
            }
            return;
        }
        let (points, im) = (re.len() / width, &im[..re.len()]);
        each(points, width, self.along, |k, lane| {
            let at = k * width + lane;
            // SAFETY: by the caller.
            unsafe { out.set(self.at(k, lane), put(re[at], im[at])) }
        });
    }

    /// Twice as many elements of each line: those of even and of odd numbers are the parts.
    ///
    /// # Safety
    /// Nobody else reads or writes these lines.
    #[inline(always)]
    pub unsafe fn store_pairs<T: Number>(&self, parts: &Parts<T>, out: &Out<T>, put: impl Fn(T) -> T) {
        if self.dense().is_some() || self.runs() {
            // SAFETY: by the caller.
            return unsafe { self.store_runs(parts, out, |re, im| [put(re), put(im)]) };
        }
        for (i, part) in parts.iter().enumerate() {
            // SAFETY: by the caller.
            unsafe { self.store_part(part, out, i, &put) }
        }
    }

    /// Elements that lie side by side along the lines, `N` of each number.
    ///
    /// # Safety
    /// Nobody else reads or writes these lines.
    #[inline(always)]
    unsafe fn store_runs<E: Element, T: Number, const N: usize>(
        &self,
        [re, im]: &Parts<T>,
        out: &Out<E>,
        put: impl Fn(T, T) -> [E; N],
    ) {
        if let Some(start) = self.dense() {
            // SAFETY: by the caller.
            let line = unsafe { out.row(start, N * re.len()) };
            let line = line.chunks_exact_mut(N).zip(re.iter().zip(&**im));
            line.for_each(|(out, (&re, &im))| out.copy_from_slice(&put(re, im)));
            return;
        }
        let (width, together) = (self.width, NEIGHBOURS * self.width);
        for (i, (re, im)) in re.chunks(together).zip(im.chunks(together)).enumerate() {
            for lane in 0..width {
                // SAFETY: by the caller.
                let run = unsafe { out.row(self.at(N * NEIGHBOURS * i, lane), N * re.len() / width) };
                let rows = re.chunks_exact(width).zip(im.chunks_exact(width));
                let run = run.chunks_exact_mut(N).zip(rows);
                run.for_each(|(out, (re, im))| out.copy_from_slice(&put(re[lane], im[lane])));
            }
        }
    }

    /// Every second element of each line from the `first` on, of one part of numbers.
    ///
    /// # Safety
    /// Nobody else reads or writes these lines.
    #[inline(always)]
    unsafe fn store_part<T: Number>(&self, part: &[T], out: &Out<T>, first: usize, put: impl Fn(T) -> T) {
        let width = self.width;
        if self.beside {
            for (k, part) in part.chunks_exact(width).enumerate() {
                // SAFETY: by the caller.
                let row = unsafe { out.row(self.at(first + 2 * k, 0), width) };
                row.iter_mut().zip(part).for_each(|(out, &x)| *out = put(x));
            }
            return;
        }
        each(part.len() / width, width, self.along, |k, lane| {
            // SAFETY: by the caller.
            unsafe { out.set(self.at(first + 2 * k, lane), put(part[k * width + lane])) }
        });
    }
}

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
