//! Elements that are computed alike, several at a time: vectors of as many as fill a register (superword-level parallelism, S.
//! Larsen and S. Amarasinghe, *Exploiting Superword Level Parallelism with Multimedia Instruction Sets*, PLDI 2000).
//!
//! Results of an op, of a fold or of a product whose elements are each made of elements of their own are made in vectors. The
//! last vector begins where it is full, so that some elements are in two. What vectors are made of are vectors of other
//! results, or what lies in memory side by side, or elements that are joined; whatever reads a single element takes it out of
//! its vector. A loop is lowered with vectors and without them, and the one with less work is it.

use super::values::Parts;
use super::Lowering;
use crate::dtype::DType;
use crate::exec::vm::native::loops::{Place, Step};
use crate::exec::vm::native::{self, MicroOp, Origin, LOOP_VECTOR};
use crate::tensor::Aval;
use std::sync::Arc;

/// Bytes of an element of a vector; `None` if there are no vectors of this dtype. Those of booleans are of several widths.
fn bytes_of(dtype: DType) -> Option<usize> {
    (dtype != DType::I1 && dtype.bytes() >= 4).then_some(dtype.bytes())
}

/// Where the vectors of a value of this shape begin that have so many elements each: those of each column, if there are as
/// many rows.
fn starts(shape: &[usize], lanes: usize) -> Vec<usize> {
    let size: usize = shape.iter().product();
    let rows = shape.first().copied().filter(|&rows| rows >= lanes).unwrap_or(size);
    if rows < lanes {
        return vec![];
    }
    let own = |first: usize| (0..rows.div_ceil(lanes)).map(move |i| first + (i * lanes).min(rows - lanes));
    (0..size / rows).flat_map(|column| own(column * rows)).collect()
}

impl Lowering<'_> {
    /// The elements of a result of this type that an op, a fold or the like makes, each of elements of its own, of which all
    /// have as many.
    pub(super) fn alike(
        &mut self,
        result: &Aval,
        lines: &[Vec<usize>],
        mut make: impl FnMut(&mut Self, &[usize]) -> Option<usize>,
    ) -> Option<Arc<[usize]>> {
        let bytes = self.bytes_of_all(result.dtype, lines);
        let mut made = vec![None; lines.len()];
        for (start, bytes) in bytes
            .into_iter()
            .flat_map(|b| starts(&result.shape, LOOP_VECTOR / b).into_iter().map(move |s| (s, b)))
        {
            let range = start..start + LOOP_VECTOR / bytes;
            let lines = &lines[range.clone()];
            let differ = |k: &usize| lines.iter().any(|line| line[*k] != lines[0][*k]);
            if !(0..lines[0].len()).any(|k| differ(&k)) {
                continue;
            }
            let of = |k: usize| lines.iter().map(|line| line[k]).collect::<Vec<_>>();
            let operands: Vec<usize> = (0..lines[0].len()).map(|k| self.vector(of(k), bytes)).collect();
            let vector = make(self, &operands)?;
            self.take_out(vector, bytes, &mut made[range]);
        }
        made.into_iter().zip(lines).map(|(made, line)| made.or_else(|| make(self, line))).collect()
    }

    /// Bytes of the elements that results of a dtype are made of, and of these, if all have as many; those of booleans are
    /// what others have. `None` if the results are no vectors.
    fn bytes_of_all(&self, result: DType, lines: &[Vec<usize>]) -> Option<usize> {
        let first = lines.first().filter(|_| self.vectors.allowed)?;
        let known = |&v: &usize| self.known_literal(v).is_some();
        if lines.iter().any(|line| line.len() != first.len()) || lines.iter().flatten().all(known) {
            return None;
        }
        let of = |v: &usize| self.looped.chain.values[*v].dtype;
        let mut dtypes = first.iter().map(of).chain([result]).filter(|&dtype| dtype != DType::I1);
        match dtypes.next() {
            Some(dtype) => bytes_of(dtype).filter(|&bytes| dtypes.all(|other| other.bytes() == bytes)),
            // Of booleans alone: as wide as vectors of these are.
            None => [8, 4].into_iter().find(|&bytes| {
                let lanes = LOOP_VECTOR / bytes;
                let tuple = || (0..lanes).map(|i| lines[i][0]).collect();
                lines.len() >= lanes && self.vectors.known.contains_key(&(tuple(), bytes))
            }),
        }
    }

    /// The elements of a vector that are not there yet.
    fn take_out(&mut self, vector: usize, bytes: usize, made: &mut [Option<usize>]) {
        let dtype = self.looped.chain.values[vector].dtype;
        if !self.vectors.bytes.contains_key(&vector) {
            // It does not depend on what differs.
            return made.iter_mut().for_each(|made| *made = Some(vector));
        }
        for (lane, made) in made.iter_mut().enumerate().filter(|(_, made)| made.is_none()) {
            let result = self.element(dtype, Origin::Made);
            let op = native::Op::Lane(lane as u8, bytes as u8);
            self.looped.steps.push(Step::Op(MicroOp { op, operands: vec![vector], result }));
            self.vectors.lanes += 1;
            *made = Some(result);
        }
        let elements: Vec<usize> = made.iter().flatten().copied().collect();
        self.vectors.known.insert((elements, bytes), vector);
    }

    /// The vector of these elements; one that is a literal in all lanes is that.
    pub(super) fn vector(&mut self, elements: Vec<usize>, bytes: usize) -> usize {
        let first = elements[0];
        let dtype = self.looped.chain.values[first].dtype;
        if self.known_literal(first).is_some() && elements.iter().all(|&v| v == first) {
            return first;
        }
        let key = (elements, bytes);
        if let Some(&known) = self.vectors.known.get(&key) {
            return known;
        }
        let elements = &key.0;
        let vector = self.element(dtype, Origin::Made);
        match self.side_by_side_at(elements, bytes) {
            Some(place) => self.looped.reads.push((vector, place)),
            None => {
                let op = native::Op::Join(bytes as u8);
                self.looped.steps.push(Step::Op(MicroOp { op, operands: elements.clone(), result: vector }));
            }
        }
        self.is_vector(vector, bytes);
        self.vectors.known.insert(key, vector);
        vector
    }

    /// The place of the first of some elements that lie side by side and do not move.
    fn side_by_side_at(&self, elements: &[usize], bytes: usize) -> Option<Place> {
        let first = *self.vectors.places.get(elements.first()?)?;
        let follows = |(i, v): (usize, &usize)| {
            let offset = first.offset.checked_add((i * bytes) as i32);
            self.vectors
                .places
                .get(v)
                .is_some_and(|place| Some(*place) == offset.map(|offset| Place { offset, ..first }))
        };
        (!first.moves && elements.iter().enumerate().all(follows)).then_some(first)
    }

    /// Notes that a value is a vector of elements of so many bytes.
    pub(super) fn is_vector(&mut self, v: usize, bytes: usize) {
        self.vectors.bytes.insert(v, bytes);
        self.looped.vectors.insert(v);
    }

    /// Notes that an op of so many steps on these operands makes a vector, if one of them is one.
    pub(super) fn made_of(&mut self, operands: &[usize], result: usize, steps: usize) {
        if let Some(&bytes) = operands.iter().find_map(|v| self.vectors.bytes.get(v)) {
            let dtype = self.looped.chain.values[result].dtype;
            debug_assert!(
                dtype == DType::I1 || dtype.bytes() == bytes,
                "a vector of elements of another width"
            );
            self.vectors.bytes.insert(result, bytes);
            self.vectors.spared += (LOOP_VECTOR / bytes - 1) * steps;
        }
    }

    /// Notes where an element is in memory.
    pub(super) fn is_placed(&mut self, v: usize, place: Place) {
        if self.vectors.allowed {
            self.vectors.places.insert(v, place);
        }
    }

    /// Bytes of the elements of the vectors that a value has, and where they begin; none if it has none.
    fn vectors_of(&self, dtype: DType, shape: &[usize]) -> (usize, Vec<usize>) {
        match bytes_of(dtype).filter(|_| self.vectors.allowed) {
            Some(bytes) => (bytes, starts(shape, LOOP_VECTOR / bytes)),
            None => (0, vec![]),
        }
    }

    /// The elements of what a loop carries, and the vectors that it carries instead, with the numbers of their first elements.
    pub(super) fn carried(&mut self, aval: &Aval) -> (Arc<[usize]>, Parts) {
        let (bytes, starts) = self.vectors_of(aval.dtype, &aval.shape);
        let mut new = |&start: &usize| {
            let vector = self.element(aval.dtype, Origin::Made);
            self.is_vector(vector, bytes);
            (vector, start)
        };
        let vectors: Parts = starts.iter().map(&mut new).collect();
        let elements = match vectors.is_empty() {
            true => self.elements_of(aval),
            false => self.parts(&vectors, aval),
        };
        (elements, vectors)
    }

    /// The elements of a value that consists of these vectors.
    pub(super) fn parts(&mut self, vectors: &Parts, aval: &Aval) -> Arc<[usize]> {
        let mut made = vec![None; aval.shape.size()];
        for &(vector, start) in vectors {
            let bytes = aval.dtype.bytes();
            self.take_out(vector, bytes, &mut made[start..start + LOOP_VECTOR / bytes]);
        }
        made.into_iter().flatten().collect()
    }

    /// What a loop carries instead of some elements, and what that becomes where these become others; each with the number of
    /// its first element.
    pub(super) fn pairs(
        &mut self,
        vectors: &Parts,
        from: &[usize],
        to: &[usize],
    ) -> Vec<(usize, [usize; 2])> {
        if vectors.is_empty() {
            return from.iter().zip(to).map(|(&from, &to)| [from, to]).enumerate().collect();
        }
        let mut pair = |&(vector, start): &(usize, usize)| {
            let bytes = self.vectors.bytes[&vector];
            (start, [vector, self.vector(to[start..start + LOOP_VECTOR / bytes].to_vec(), bytes)])
        };
        vectors.iter().map(&mut pair).collect()
    }

    /// Stores the elements of a value, which lie side by side from a byte of the scratch memory on: vectors, where it consists
    /// of some.
    pub(super) fn store_all(&mut self, aval: &Aval, elements: &[usize], first: usize) -> Option<()> {
        let at = |i: usize| {
            let offset = i32::try_from(first + i * aval.dtype.bytes()).ok()?;
            Some(Place { argument: self.scratch_argument, offset, moves: false })
        };
        let (bytes, starts) = self.vectors_of(aval.dtype, &aval.shape);
        let (mut done, mut steps) = (vec![false; elements.len()], vec![]);
        for start in starts {
            let range = start..start + LOOP_VECTOR / bytes;
            if let Some(&vector) = self.vectors.known.get(&(elements[range.clone()].to_vec(), bytes)) {
                steps.push(Step::Store(vector, at(start)?));
                done[range].fill(true);
            }
        }
        for (i, &element) in elements.iter().enumerate().filter(|&(i, _)| !done[i]) {
            steps.push(Step::Store(element, at(i)?));
        }
        self.looped.steps.extend(steps);
        Some(())
    }
}
