//! Bytes and elements that are owned, and zeros at first.

use super::block_allocator;
use crate::growth::reserve;
use crate::stop;

/// Bytes from which an allocation has pages of its own, which are returned to the system when it is freed
/// (mallopt(3), `M_MMAP_THRESHOLD`). Advice about smaller ones would stay with the heap, where every small
/// allocation could clear a huge page.
const OWN_PAGES: usize = 32 << 20;

/// A vector of zeros (`FALSE`), for temporary values of a tensor's size.
///
/// # Panics
/// With [`OutOfMemory`](crate::growth::OutOfMemory) if it cannot be allocated.
pub fn zeroed<T: Copy + Default>(n: usize) -> Vec<T> {
    let mut out: Vec<T> = Vec::new();
    reserve(&mut out, n);
    let bytes = n * std::mem::size_of::<T>();
    if bytes >= OWN_PAGES {
        block_allocator::advise(out.as_mut_ptr().cast(), bytes);
    }
    while out.len() < n {
        // In pieces between which it may be stopped, since fresh pages are slow.
        let part = (OWN_PAGES / std::mem::size_of::<T>().max(1)).min(n - out.len());
        out.resize(out.len() + part, T::default());
        stop::work(if out.len() < n { stop::EVERY } else { 0 });
    }
    out
}

/// Owned bytes, aligned for every dtype: 16-byte units.
#[derive(Default, Clone, Debug)]
pub struct AlignedBytes(Vec<u128>, usize);

impl AlignedBytes {
    /// None.
    pub const fn new() -> AlignedBytes {
        AlignedBytes(Vec::new(), 0)
    }

    /// Zeroed bytes.
    ///
    /// # Panics
    /// With [`OutOfMemory`](crate::growth::OutOfMemory) if they cannot be allocated.
    pub fn zeroed(len: usize) -> AlignedBytes {
        AlignedBytes(zeroed(len.div_ceil(16)), len)
    }

    /// Grows to at least `len` bytes; the content is unspecified after.
    #[inline]
    pub fn reserve(&mut self, len: usize) {
        if len > self.1 {
            *self = AlignedBytes::zeroed(len);
        }
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.1 == 0
    }

    /// Appends a unit of 16 bytes.
    #[inline]
    pub fn push(&mut self, unit: [u8; 16]) {
        self.0.truncate(self.1.div_ceil(16));
        self.0.push(u128::from_ne_bytes(unit));
        self.1 = 16 * self.0.len();
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the vector holds at least `self.1` initialised bytes, and bytes have no alignment.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.1) }
    }

    /// The bytes, for writing.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`, borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), self.1) }
    }
}
