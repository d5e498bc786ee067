//! What is known of the values of a body while it is lowered.

use crate::exec::vm::native::loops::Place;
use crate::tensor::Aval;
use std::collections::HashMap;
use std::sync::Arc;

/// A value of the body.
#[derive(Clone)]
pub(super) enum Held {
    /// Its elements.
    Elements(Arc<[usize]>),
    /// In the buffer of an argument, as it is after so many replacements of windows.
    Whole(usize, usize),
    /// In the buffer of an argument once the update of this node is done there.
    Updated(usize),
    /// In the scratch memory, from this byte on: what is longer than what is replaced.
    Lying(usize),
    /// A slice of what is in the buffer of an argument after so many replacements.
    Part(Lie, usize),
    /// What counts, along which loops run.
    Counted,
}

impl Held {
    /// After how many replacements it is in the buffer of an argument.
    pub fn version(&self) -> Option<usize> {
        match self {
            Held::Whole(_, version) | Held::Part(_, version) => Some(*version),
            Held::Elements(_) | Held::Updated(_) | Held::Lying(_) | Held::Counted => None,
        }
    }
}

/// Where a value is in memory that is not to be copied: in the buffer of an argument, from a byte on, and for each axis the
/// bytes between two elements.
#[derive(Clone)]
pub(super) struct Lie {
    pub argument: usize,
    pub base: i32,
    pub strides: Arc<[i32]>,
}

impl Lie {
    /// A value whose elements follow one another.
    pub fn dense(aval: &Aval, argument: usize, base: i32) -> Option<Lie> {
        let bytes = |stride: usize| i32::try_from(stride * aval.dtype.bytes()).ok();
        let strides = aval.shape.strides().into_iter().map(bytes).collect::<Option<_>>()?;
        Some(Lie { argument, base, strides })
    }

    /// Whether its elements follow one another.
    pub fn is_dense(&self, aval: &Aval) -> bool {
        let dense = Lie::dense(aval, self.argument, self.base);
        dense.is_some_and(|dense| {
            aval.shape
                .iter()
                .zip(dense.strides.iter().zip(&*self.strides))
                .all(|(&n, (a, b))| n == 1 || a == b)
        })
    }

    /// The elements of a window of these sizes, with their distances in bytes from where it is found, which is so far behind
    /// where this begins.
    pub fn places(&self, sizes: &[usize], elements: &[usize], way: i32) -> Option<Vec<(usize, i32)>> {
        let axes = sizes.iter().copied().zip(self.strides.iter().map(|&stride| stride as usize));
        let offsets = places(usize::try_from(self.base.checked_add(way)?).ok()?, axes);
        elements.iter().zip(offsets).map(|(&v, at)| Some((v, i32::try_from(at).ok()?))).collect()
    }
}

/// Vectors, with the numbers of their first elements.
pub(super) type Parts = Vec<(usize, usize)>;

/// The vectors of a loop.
#[derive(Default)]
pub(super) struct Vectors {
    /// Whether there may be some.
    pub allowed: bool,
    /// Those that there are, with the bytes of an element.
    pub bytes: HashMap<usize, usize>,
    /// The vector of some elements of so many bytes, and the one that consists of them.
    pub known: HashMap<(Vec<usize>, usize), usize>,
    /// Where elements are in memory.
    pub places: HashMap<usize, Place>,
    /// Steps that take out elements: most are left out later.
    pub lanes: usize,
    /// Steps that there would be beside those on vectors, if these were elements.
    pub spared: usize,
    /// What the loop carries instead of the elements of each argument.
    pub carried: Vec<Parts>,
}

impl Vectors {
    /// None yet.
    pub fn new(allowed: bool) -> Vectors {
        Vectors { allowed, ..Vectors::default() }
    }

    /// Forgets those that were made since there were so many values.
    pub fn forget(&mut self, values: usize) {
        self.known.retain(|_, &mut v| v < values);
    }

    /// Whether there are some.
    pub fn any(&self) -> bool {
        !self.bytes.is_empty()
    }
}

/// The places of all indices along axes of these sizes and strides, of which the first varies fastest, from one place on.
pub(super) fn places(first: usize, axes: impl Iterator<Item = (usize, usize)>) -> Vec<usize> {
    axes.fold(vec![first], |places, (size, stride)| {
        let steps = (0..size).map(|i| i * stride);
        steps.flat_map(|step| places.iter().map(move |at| at + step)).collect()
    })
}
