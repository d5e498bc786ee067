//! Functions of matrices on tensors: the last axes of an operand are a matrix or a vector, those before them a
//! batch. A matrix of its own that lies dense and column-major is read, or written, where it is; others are
//! copied. Threads share the batch.

use super::scalar::Scalar;
use crate::dtype::{DType, Element, HasDType};
use crate::kernels::cast;
use crate::kernels::memory::zeroed;
use crate::kernels::threads::{pool, threads};
use crate::shape::Shape;
use crate::tensor::{View, ViewMut};
use half::{bf16, f16};
use num_complex::Complex;
use std::ops::{Deref, DerefMut, Range};
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// Dense matrices and vectors of one example, in the order of the operands or results of their kind: matrices of
/// `T`, the type that is computed in; vectors of its real type; and vectors of integers.
#[derive(Default)]
pub struct Values<'a, T: Scalar> {
    /// Matrices.
    pub scalars: Vec<Elements<'a, T>>,
    /// Vectors of real numbers.
    pub reals: Vec<Elements<'a, T::Real>>,
    /// Vectors of integers.
    pub integers: Vec<Elements<'a, i32>>,
}

/// The elements of a matrix or vector, column-major.
pub enum Elements<'a, E> {
    /// A copy.
    Copied(Vec<E>),
    /// Those of an operand, which are copied when they are to be written.
    Read(&'a [E]),
    /// Those of a result.
    Written(&'a mut [E]),
}

impl<E> Default for Elements<'_, E> {
    fn default() -> Self {
        Elements::Copied(Vec::new())
    }
}

impl<E: Copy> Elements<'_, E> {
    /// A vector of the elements, of which none may be left here.
    pub fn take(&mut self) -> Vec<E> {
        match self {
            Elements::Copied(x) => std::mem::take(x),
            Elements::Read(x) => x.to_vec(),
            Elements::Written(x) => x.to_vec(),
        }
    }
}

impl<E> Deref for Elements<'_, E> {
    type Target = [E];

    fn deref(&self) -> &[E] {
        match self {
            Elements::Copied(x) => x,
            Elements::Read(x) => x,
            Elements::Written(x) => x,
        }
    }
}

impl<E: Copy> DerefMut for Elements<'_, E> {
    fn deref_mut(&mut self) -> &mut [E] {
        if let Elements::Read(x) = self {
            *self = Elements::Copied(x.to_vec());
        }
        match self {
            Elements::Copied(x) => x,
            Elements::Written(x) => x,
            Elements::Read(_) => unreachable!("copied above"),
        }
    }
}

/// Runs an expression with a type name bound to the type that elements of a dtype are computed in: their own, or
/// f32 for those of 16 bits.
#[macro_export]
macro_rules! dispatch_scalar {
    ($dtype:expr, $t:ident => $body:expr) => {
        $crate::dispatch_scalar!($dtype, $t => $body, F64 C64 C128; F32)
    };
    ($dtype:expr, $t:ident => $body:expr, $($variant:ident)+; $other:ident) => {
        match $dtype {
            $($crate::dtype::DType::$variant => { type $t = $crate::dtype::types::$variant; $body })+
            _ => { type $t = $crate::dtype::types::$other; $body }
        }
    };
}
pub use dispatch_scalar;

/// Runs an expression with a type name bound to the type of the elements of a dtype where they are stored, and
/// another to that of what is computed with. Those that stay what they are count as words, so that code for
/// integers is that for floats.
macro_rules! dispatch_stored {
    ($dtype:expr, $stored:ident, $computed:ident => $body:expr) => {
        dispatch_stored! { $dtype, $stored, $computed => $body, BF16: bf16, f32; F16: f16, f32; F64: f64, f64;
        C64: Complex<f32>, Complex<f32>; C128: Complex<f64>, Complex<f64>; }
    };
    ($dtype:expr, $stored:ident, $computed:ident => $body:expr, $($variant:ident: $from:ty, $to:ty;)+) => {
        match $dtype {
            $(DType::$variant => { type $stored = $from; type $computed = $to; $body })+
            _ => { type $stored = u32; type $computed = u32; $body }
        }
    };
}
pub(super) use dispatch_stored;

/// Rows of a matrix that are copied together.
const ROWS: usize = 16;

/// Examples that are copied together: a cache line holds elements of as many.
const TOGETHER: usize = 8;

/// What a value is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Scalars,
    Reals,
    Integers,
}

/// Where the elements of the matrices of a tensor are.
pub(super) struct Places {
    offset: isize,
    batch: Vec<(usize, isize)>,
    matrix: Vec<(usize, isize)>,
}

impl Places {
    /// Those of a value whose last `own` axes are a matrix or a vector.
    pub(super) fn new(shape: &Shape, strides: &[isize], offset: usize, own: usize) -> Places {
        let axes: Vec<(usize, isize)> = shape.iter().copied().zip(strides.iter().copied()).collect();
        let (batch, matrix) = axes.split_at(axes.len() - own);
        Places { offset: offset as isize, batch: batch.to_vec(), matrix: matrix.to_vec() }
    }

    /// Elements of a matrix.
    pub(super) fn len(&self) -> usize {
        self.matrix.iter().map(|(size, _)| size).product()
    }

    /// Number of matrices.
    pub(super) fn examples(&self) -> usize {
        self.batch.iter().map(|(size, _)| size).product()
    }

    /// What a value of this dtype is.
    pub(super) fn kind(&self, dtype: DType) -> Kind {
        match self.matrix.len() {
            _ if !(dtype.is_float() || dtype.is_complex()) => Kind::Integers,
            1 => Kind::Reals,
            _ => Kind::Scalars,
        }
    }

    /// The place of the first element of an example.
    fn first(&self, example: usize) -> isize {
        let (mut rest, mut at) = (example, self.offset);
        for (size, stride) in &self.batch {
            at += (rest % size) as isize * stride;
            rest /= size;
        }
        at
    }

    /// The places of the first elements of as many examples, the last of which is there again where there are
    /// less.
    pub(super) fn firsts<const N: usize>(&self, examples: Range<usize>) -> [isize; N] {
        if let [(_, stride)] = self.batch[..] {
            let first = self.first(examples.start);
            return std::array::from_fn(|k| first + k.min(examples.len() - 1) as isize * stride);
        }
        std::array::from_fn(|k| self.first(examples.start + k.min(examples.len() - 1)))
    }

    /// Sizes of the rows and columns of a matrix, and the distances of their elements.
    fn axes(&self) -> [(usize, isize); 2] {
        match self.matrix[..] {
            [] => [(1, 0), (1, 0)],
            [rows] => [rows, (1, 0)],
            [rows, columns, ..] => [rows, columns],
        }
    }

    /// The elements of the first example, where they are if they are dense and of this type.
    fn elements<'a, E: Element>(&self, x: &View<'a>) -> Elements<'a, E> {
        let ([(rows, down), (columns, across)], len) = (self.axes(), self.len());
        let dense = (rows < 2 || down == 1) && (columns < 2 || across == rows as isize);
        if len == 0 {
            return Elements::default();
        }
        if x.dtype == E::DTYPE && dense {
            return Elements::Read(&cast::slice(x.data)[self.offset as usize..][..len]);
        }
        let mut out = zeroed::<E>(len);
        self.copy(x, cast::bytes_mut(&mut out));
        Elements::Copied(out)
    }

    /// Copies the elements of the first example.
    fn copy(&self, x: &View, out: &mut [u8]) {
        let [(rows, down), (columns, across)] = self.axes();
        dispatch_stored!(x.dtype, From, To => {
            let (data, out) = (cast::slice::<From>(x.data), cast::slice_mut::<To>(out));
            let at = |i: usize, j: usize| (self.offset + i as isize * down + j as isize * across) as usize;
            // Some rows of all columns: what is read and what is written both stay in the cache.
            for start in (0..rows).step_by(ROWS) {
                let end = rows.min(start + ROWS);
                for j in 0..columns {
                    let out = &mut out[j * rows..][start..end];
                    if down == 1 {
                        let from = &data[at(start, j)..][..end - start];
                        out.iter_mut().zip(from).for_each(|(out, x)| *out = x.convert());
                    } else {
                        out.iter_mut().zip(start..).for_each(|(out, i)| *out = data[at(i, j)].convert());
                    }
                }
            }
        });
    }

    /// Calls `visit` with the number of each element of a matrix and its distance from the first.
    #[inline]
    pub(super) fn each(&self, mut visit: impl FnMut(usize, isize)) {
        let [(rows, down), (columns, across)] = self.axes();
        for j in 0..columns {
            (0..rows).for_each(|i| visit(i + j * rows, i as isize * down + j as isize * across));
        }
    }
}

/// Calls `run` for each example with its operands and with room for its results. The last `axes` axes of each
/// operand, and of each result, are its own; the others are the batch, of which all have the same.
///
/// `picoseconds` is about how long an example takes.
pub fn each<T: Scalar>(
    operands: &[View],
    axes: [&[usize]; 2],
    results: &mut [ViewMut],
    picoseconds: usize,
    run: impl Fn(&mut Values<'_, T>, &mut Values<'_, T>) + Sync,
) {
    each_of(operands, axes, results, picoseconds, &run)
}

/// What is called for each example.
type Run<'f, T> = &'f (dyn Fn(&mut Values<'_, T>, &mut Values<'_, T>) + Sync);

/// As [`each`]: one for all that is called.
fn each_of<T: Scalar>(
    operands: &[View],
    axes: [&[usize]; 2],
    results: &mut [ViewMut],
    picoseconds: usize,
    run: Run<T>,
) {
    let from: Vec<Places> = operands
        .iter()
        .zip(axes[0])
        .map(|(x, &own)| Places::new(x.shape, &x.layout.strides, x.layout.offset, own))
        .collect();
    let to: Vec<Places> = results
        .iter()
        .zip(axes[1])
        .map(|(x, &own)| Places::new(x.shape, &crate::tensor::Layout::dense(x.shape).strides, 0, own))
        .collect();
    let count = to[0].examples();
    if count == 0 {
        return;
    }
    let in_place = |x: &ViewMut, places: &Places| match places.kind(x.dtype) {
        Kind::Scalars => x.dtype == T::DTYPE,
        Kind::Reals => x.dtype == T::Real::DTYPE,
        Kind::Integers => true,
    };
    if count == 1 && results.iter().zip(&to).all(|(x, places)| in_place(x, places)) {
        return one(operands, &from, results, &to, run);
    }
    let out: Vec<(AtomicPtr<u8>, usize, DType)> =
        results.iter_mut().map(|x| (AtomicPtr::new(x.data.as_mut_ptr()), x.data.len(), x.dtype)).collect();
    let shared = count > 1 && picoseconds.saturating_mul(count) >= pool::WORTH_SHARING;
    // Of few examples each thread has some.
    let together = TOGETHER.min(if shared { count.div_ceil(threads()) } else { count });
    // Each piece is long enough to be worth a turn.
    let pieces = (pool::WORTH_SHARING / 8 / picoseconds.max(1) / together).clamp(1, count) * together;
    pool::for_each_piece(count.div_ceil(pieces), shared, |piece| {
        let examples = piece * pieces..count.min((piece + 1) * pieces);
        let mut groups: Vec<[Values<T>; 2]> = (0..together).map(|_| <[Values<T>; 2]>::default()).collect();
        for start in examples.clone().step_by(together) {
            let group = start..examples.end.min(start + together);
            load(operands, &from, group.clone(), &mut groups);
            for values in &mut groups[..group.len()] {
                let [inputs, outputs] = values;
                room(&to, &out, outputs);
                run(inputs, outputs);
            }
            // SAFETY: examples have no elements in common, and each is in one piece.
            unsafe { store(&groups, &to, &out, group) };
        }
    });
}

/// Runs the only example, whose results are written where they are.
fn one<T: Scalar>(operands: &[View], from: &[Places], results: &mut [ViewMut], to: &[Places], run: Run<T>) {
    let (mut inputs, mut outputs) = (Values::<T>::default(), Values::<T>::default());
    for (x, places) in operands.iter().zip(from) {
        match places.kind(x.dtype) {
            Kind::Scalars => inputs.scalars.push(places.elements(x)),
            Kind::Reals => inputs.reals.push(places.elements(x)),
            Kind::Integers => inputs.integers.push(places.elements(x)),
        }
    }
    for (x, places) in results.iter_mut().zip(to) {
        match places.kind(x.dtype) {
            Kind::Scalars => outputs.scalars.push(Elements::Written(cast::slice_mut(x.data))),
            Kind::Reals => outputs.reals.push(Elements::Written(cast::slice_mut(x.data))),
            Kind::Integers => outputs.integers.push(Elements::Written(cast::slice_mut(x.data))),
        }
    }
    run(&mut inputs, &mut outputs);
}

impl<T: Scalar> Values<'_, T> {
    /// Makes a value one of `len` elements.
    fn fit(&mut self, kind: Kind, number: usize, len: usize) {
        match kind {
            Kind::Integers => fit(&mut self.integers, number, len),
            Kind::Reals => fit(&mut self.reals, number, len),
            Kind::Scalars => fit(&mut self.scalars, number, len),
        }
    }

    /// The bytes of a value.
    fn bytes(&self, kind: Kind, number: usize) -> &[u8] {
        match kind {
            Kind::Integers => cast::bytes(&self.integers[number]),
            Kind::Reals => cast::bytes(&self.reals[number]),
            Kind::Scalars => cast::bytes(&self.scalars[number]),
        }
    }

    /// As [`Values::bytes`], to be written.
    fn bytes_mut(&mut self, kind: Kind, number: usize) -> &mut [u8] {
        match kind {
            Kind::Integers => cast::bytes_mut(&mut self.integers[number]),
            Kind::Reals => cast::bytes_mut(&mut self.reals[number]),
            Kind::Scalars => cast::bytes_mut(&mut self.scalars[number]),
        }
    }
}

/// Makes value number `number` one of `len` elements.
fn fit<E: Copy + Default>(values: &mut Vec<Elements<E>>, number: usize, len: usize) {
    if values.len() <= number {
        values.resize_with(number + 1, Elements::default);
    }
    if values[number].len() != len {
        values[number] = Elements::Copied(zeroed(len));
    }
}

/// The kinds of values, and the number of each among those of its kind.
fn numbered<'a>(
    values: impl Iterator<Item = (DType, &'a Places)>,
) -> impl Iterator<Item = (Kind, usize, &'a Places)> {
    let mut seen = [0; 3];
    values.map(move |(dtype, places)| {
        let kind = places.kind(dtype);
        let number = seen[kind as usize];
        seen[kind as usize] += 1;
        (kind, number, places)
    })
}

/// Copies the operands of some examples.
fn load<T: Scalar>(
    operands: &[View],
    from: &[Places],
    examples: Range<usize>,
    groups: &mut [[Values<'_, T>; 2]],
) {
    let values = numbered(operands.iter().map(|x| x.dtype).zip(from));
    for (x, (kind, number, places)) in operands.iter().zip(values) {
        let groups = groups.iter_mut().zip(examples.clone());
        let to = groups.map(|([values, _], example)| {
            values.fit(kind, number, places.len());
            (values.bytes_mut(kind, number), places.first(example))
        });
        gather(x, places, to.collect());
    }
}

/// Copies the elements of the matrices that start in these places.
fn gather(x: &View, places: &Places, to: Vec<(&mut [u8], isize)>) {
    dispatch_stored!(x.dtype, From, To => {
        let data = cast::slice::<From>(x.data);
        let mut to: Vec<(&mut [To], isize)> =
            to.into_iter().map(|(to, first)| (cast::slice_mut(to), first)).collect();
        places.each(|element, distance| {
            for (to, first) in &mut to {
                to[element] = data[(*first + distance) as usize].convert();
            }
        });
    })
}

/// Makes room for the results of an example.
fn room<T: Scalar>(to: &[Places], out: &[(AtomicPtr<u8>, usize, DType)], values: &mut Values<'_, T>) {
    for (kind, number, places) in numbered(out.iter().map(|x| x.2).zip(to)) {
        values.fit(kind, number, places.len());
    }
}

/// Writes the results of some examples.
///
/// # Safety
/// Nobody else reads or writes elements of these examples.
unsafe fn store<T: Scalar>(
    groups: &[[Values<'_, T>; 2]],
    to: &[Places],
    out: &[(AtomicPtr<u8>, usize, DType)],
    examples: Range<usize>,
) {
    for (out, (kind, number, places)) in out.iter().zip(numbered(out.iter().map(|x| x.2).zip(to))) {
        let groups = groups.iter().zip(examples.clone());
        let from = groups.map(|([_, values], example)| (values.bytes(kind, number), places.first(example)));
        // SAFETY: promised by the caller.
        unsafe { scatter(from.collect(), places, out) };
    }
}

/// Writes the elements of the matrices that start in these places.
///
/// # Safety
/// Nobody else reads or writes those elements.
unsafe fn scatter(
    from: Vec<(&[u8], isize)>,
    places: &Places,
    (data, len, dtype): &(AtomicPtr<u8>, usize, DType),
) {
    dispatch_stored!(*dtype, To, From => {
        let (data, len) = (data.load(Relaxed).cast::<To>(), len / std::mem::size_of::<To>());
        let from: Vec<(&[From], isize)> =
            from.into_iter().map(|(from, first)| (cast::slice(from), first)).collect();
        places.each(|element, distance| {
            for (from, first) in &from {
                let at = (first + distance) as usize;
                assert!(at < len, "an element outside of the result");
                // SAFETY: an element of the result, as just checked; the caller promises the rest.
                unsafe { data.add(at).write(from[element].convert()) };
            }
        });
    })
}
