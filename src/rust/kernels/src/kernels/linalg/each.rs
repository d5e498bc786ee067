//! Functions of matrices on tensors: the last axes of an operand are a matrix or a vector, those before them a
//! batch. A matrix of its own that lies dense and column-major is read, or written, where it is; others are
//! copied. Threads share the batch.

use super::scalar::Scalar;
use crate::dtype::{DType, Element, HasDType};
use crate::kernels::cast;
use crate::kernels::memory::zeroed;
use crate::kernels::threads::pool;
use crate::shape::Shape;
use crate::tensor::{View, ViewMut};
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
        $crate::dispatch_scalar!($dtype, $t => $body, F32 F64 C64 C128; F32)
    };
    ($dtype:expr, $t:ident => $body:expr, $($variant:ident)+; $other:ident) => {
        match $dtype {
            $($crate::dtype::DType::$variant => { type $t = $crate::dtype::types::$variant; $body })+
            _ => { type $t = $crate::dtype::types::$other; $body }
        }
    };
}
pub use dispatch_scalar;

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
        dispatch_scalar!(x.dtype, From => {
            let data = cast::slice::<From>(x.data);
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
        }, F32 F64 C64 C128 BF16 F16; I32);
        Elements::Copied(out)
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
    let together = if shared { TOGETHER } else { TOGETHER.min(count) };
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
fn one<T: Scalar>(
    operands: &[View],
    from: &[Places],
    results: &mut [ViewMut],
    to: &[Places],
    run: impl Fn(&mut Values<'_, T>, &mut Values<'_, T>),
) {
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

/// Copies the operands of some examples.
fn load<T: Scalar>(
    operands: &[View],
    from: &[Places],
    examples: Range<usize>,
    groups: &mut [[Values<'_, T>; 2]],
) {
    let mut seen = [0; 3];
    for (x, places) in operands.iter().zip(from) {
        let kind = places.kind(x.dtype);
        let number = seen[kind as usize];
        seen[kind as usize] += 1;
        let firsts: Vec<isize> = examples.clone().map(|example| places.first(example)).collect();
        dispatch_scalar!(x.dtype, E => {
            let data = cast::slice::<E>(x.data);
            for values in groups.iter_mut().take(firsts.len()) {
                match kind {
                    Kind::Integers => fit(&mut values[0].integers, number, places.len()),
                    Kind::Reals => fit(&mut values[0].reals, number, places.len()),
                    Kind::Scalars => fit(&mut values[0].scalars, number, places.len()),
                }
            }
            places.each(|element, distance| {
                for (values, first) in groups.iter_mut().zip(&firsts) {
                    let x: E = data[(first + distance) as usize];
                    match kind {
                        Kind::Integers => values[0].integers[number][element] = x.convert(),
                        Kind::Reals => values[0].reals[number][element] = x.convert(),
                        Kind::Scalars => values[0].scalars[number][element] = x.convert(),
                    }
                }
            });
        }, F32 F64 C64 C128 BF16 F16; I32)
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

/// Makes room for the results of an example.
fn room<T: Scalar>(to: &[Places], out: &[(AtomicPtr<u8>, usize, DType)], values: &mut Values<'_, T>) {
    let mut seen = [0; 3];
    for (places, (_, _, dtype)) in to.iter().zip(out) {
        let kind = places.kind(*dtype);
        let number = seen[kind as usize];
        seen[kind as usize] += 1;
        match kind {
            Kind::Integers => fit(&mut values.integers, number, places.len()),
            Kind::Reals => fit(&mut values.reals, number, places.len()),
            Kind::Scalars => fit(&mut values.scalars, number, places.len()),
        }
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
    let mut seen = [0; 3];
    for (places, (data, len, dtype)) in to.iter().zip(out) {
        let kind = places.kind(*dtype);
        let number = seen[kind as usize];
        seen[kind as usize] += 1;
        let firsts: Vec<isize> = examples.clone().map(|example| places.first(example)).collect();
        dispatch_scalar!(*dtype, E => {
            let data = data.load(Relaxed).cast::<E>();
            let len = len / std::mem::size_of::<E>();
            places.each(|element, distance| {
                for (values, first) in groups.iter().zip(&firsts) {
                    let at = (first + distance) as usize;
                    assert!(at < len, "an element outside of the result");
                    let x: E = match kind {
                        Kind::Integers => values[1].integers[number][element].convert(),
                        Kind::Reals => values[1].reals[number][element].convert(),
                        Kind::Scalars => values[1].scalars[number][element].convert(),
                    };
                    // SAFETY: an element of the result, as just checked; the caller promises the rest.
                    unsafe { data.add(at).write(x) };
                }
            });
        }, F32 F64 C64 C128 BF16 F16; I32)
    }
}
