//! Memory for lines that are transformed.

use super::butterflies::Number;
use crate::kernels::memory::zeroed;
use std::any::Any;
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// Numbers that begin with a cache line: a vector as wide as one would else be read from two.
pub struct Part<T> {
    all: Vec<T>,
    start: usize,
    len: usize,
}

/// Bytes of a cache line.
const CACHE_LINE: usize = 64;

impl<T: Number> Part<T> {
    /// So many zeros.
    pub fn new(len: usize) -> Part<T> {
        let all: Vec<T> = zeroed(len + CACHE_LINE / std::mem::size_of::<T>());
        let start = all.as_ptr().align_offset(CACHE_LINE);
        Part { all, start, len }
    }

    /// How many numbers there is room for.
    pub fn capacity(&self) -> usize {
        self.all.len() - CACHE_LINE / std::mem::size_of::<T>()
    }

    /// Makes it one of so many numbers. Whatever they are, where there were fewer.
    pub fn resize(&mut self, len: usize) {
        if len > self.capacity() {
            let mut new = Part::new(len);
            new[..self.len].copy_from_slice(self);
            *self = new;
        }
        self.len = len;
    }
}

impl<T: Number> FromIterator<T> for Part<T> {
    fn from_iter<I: IntoIterator<Item = T>>(numbers: I) -> Part<T> {
        let numbers: Vec<T> = numbers.into_iter().collect();
        let mut part = Part::new(numbers.len());
        part.copy_from_slice(&numbers);
        part
    }
}

impl<T> Deref for Part<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.all[self.start..][..self.len]
    }
}

impl<T> DerefMut for Part<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.all[self.start..][..self.len]
    }
}

/// Real and imaginary parts.
pub type Parts<T> = [Part<T>; 2];

/// Memory for lines that are transformed together.
pub struct Room<T> {
    /// The lines.
    pub x: Parts<T>,
    /// As much again.
    pub room: Parts<T>,
}

thread_local! {
    /// The memory of the last transform of this thread, for the next one.
    static KEPT: RefCell<Option<Box<dyn Any>>> = const { RefCell::new(None) };
}

/// Bytes of lines that are kept, at most.
const MOST_KEPT: usize = 1 << 20;

/// A room that is kept for the next transform when it is dropped.
pub struct Kept<T: Number>(Option<Box<Room<T>>>);

impl<T: Number> Deref for Kept<T> {
    type Target = Room<T>;
    fn deref(&self) -> &Room<T> {
        self.0.as_ref().expect("there until it is dropped")
    }
}

impl<T: Number> DerefMut for Kept<T> {
    fn deref_mut(&mut self) -> &mut Room<T> {
        self.0.as_mut().expect("there until it is dropped")
    }
}

impl<T: Number> Drop for Kept<T> {
    fn drop(&mut self) {
        if let Some(room) = self.0.take() {
            let elements = room.x.iter().chain(&room.room).map(Part::capacity).sum::<usize>();
            if elements * std::mem::size_of::<T>() <= MOST_KEPT {
                KEPT.with(|kept| kept.replace(Some(room)));
            }
        }
    }
}

impl<T: Number> Room<T> {
    /// For so many elements, whatever they are.
    pub fn kept(elements: usize) -> Kept<T> {
        let kept = KEPT.with(|kept| kept.take()).and_then(|room| room.downcast::<Room<T>>().ok());
        let parts = || [Part::new(0), Part::new(0)];
        let mut room = kept.unwrap_or_else(|| Box::new(Room { x: parts(), room: parts() }));
        for part in room.x.iter_mut().chain(&mut room.room) {
            if part.capacity() < elements {
                *part = Part::new(elements);
            }
        }
        room.lines(elements);
        Kept(Some(room))
    }

    /// Makes it one of exactly so many elements, whatever they are.
    pub fn lines(&mut self, elements: usize) {
        for part in self.x.iter_mut().chain(&mut self.room) {
            part.resize(elements);
        }
    }
}
