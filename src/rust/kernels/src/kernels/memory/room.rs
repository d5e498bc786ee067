//! Room for the temporary values of a call. That of large ones is a block of the allocator that has those of
//! results: the system allocator gives pages back, and fresh ones cost more than what is computed in them.

use super::block_allocator::Block;
use super::zeroed;
use crate::growth::OutOfMemory;
use std::marker::PhantomData;
use std::mem::{align_of, size_of};
use std::ops::{Deref, DerefMut};
use std::panic::panic_any;

/// Bytes from which on room is a block.
const LARGE: usize = 1 << 16;

/// Elements that belong to a call.
pub struct Room<T> {
    /// All of them, unless there is a block.
    small: Vec<T>,
    /// The memory of so many elements.
    large: Option<(Block, usize)>,
    owns: PhantomData<T>,
}

impl<T> Default for Room<T> {
    fn default() -> Self {
        Room { small: Vec::new(), large: None, owns: PhantomData }
    }
}

impl<T: Copy + Default> Room<T> {
    /// So many zeros.
    ///
    /// # Panics
    /// With [`OutOfMemory`] if there is no memory for them.
    pub fn zeroed(len: usize) -> Self {
        const { assert!(align_of::<T>() <= 64, "blocks are aligned to cache lines") };
        let bytes = len.saturating_mul(size_of::<T>());
        if bytes < LARGE {
            return Room { small: zeroed(len), ..Room::default() };
        }
        let Some(block) = Block::new(bytes) else { panic_any(OutOfMemory { bytes }) };
        // SAFETY: the block has as many bytes, aligned, and is nobody else's.
        let room =
            unsafe { std::slice::from_raw_parts_mut(block.as_ptr().cast::<std::mem::MaybeUninit<T>>(), len) };
        room.fill(std::mem::MaybeUninit::new(T::default()));
        Room { large: Some((block, len)), ..Room::default() }
    }

    /// At least so many elements, whatever is in them.
    ///
    /// # Panics
    /// As [`Room::zeroed`].
    pub fn reserve(&mut self, len: usize) -> &mut [T] {
        if self.len() < len {
            *self = Room::zeroed(len);
        }
        &mut self[..len]
    }
}

impl<T> Deref for Room<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.large {
            // SAFETY: as many elements were written when it was made, and it is borrowed.
            Some((block, len)) => unsafe { std::slice::from_raw_parts(block.as_ptr().cast(), *len) },
            None => &self.small,
        }
    }
}

impl<T> DerefMut for Room<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &self.large {
            // SAFETY: as above, borrowed exclusively.
            Some((block, len)) => unsafe { std::slice::from_raw_parts_mut(block.as_ptr().cast(), *len) },
            None => &mut self.small,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_zeros_whoever_had_its_memory_and_grows_when_more_is_asked_for() {
        for len in [0, 10, LARGE, LARGE + 1] {
            for _ in 0..2 {
                let mut room = Room::<f64>::zeroed(len);
                assert!(room.len() == len && room.iter().all(|&x| x == 0.0));
                room.fill(7.0);
                assert_eq!(room.reserve(len / 2).len(), len / 2);
                assert!(room.iter().all(|&x| x == 7.0));
                assert_eq!(room.reserve(len + 1), vec![0.0; len + 1]);
            }
        }
    }
}
