//! Casts between slices of bytes and of elements, the only ones in the crate; each checks length and
//! alignment.

use crate::dtype::Element;
use std::mem::{align_of, size_of, size_of_val};

/// The elements in `bytes`.
///
/// # Panics
/// If `bytes` is not aligned for `T` or not a whole number of elements: buffers are checked where they are
/// made.
pub fn slice<T: Element>(bytes: &[u8]) -> &[T] {
    if bytes.is_empty() {
        return &[];
    }
    check::<T>(bytes.as_ptr(), bytes.len());
    // SAFETY: length and alignment are checked above; every bit pattern of an `Element` is a value (see its
    // doc).
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / size_of::<T>()) }
}

/// The elements in `bytes`, for writing.
///
/// # Panics
/// As [`slice`].
pub fn slice_mut<T: Element>(bytes: &mut [u8]) -> &mut [T] {
    if bytes.is_empty() {
        return &mut [];
    }
    check::<T>(bytes.as_ptr(), bytes.len());
    // SAFETY: as in `slice`; the exclusive borrow carries over.
    unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len() / size_of::<T>()) }
}

/// The bytes of `elements`.
pub fn bytes<T: Element>(elements: &[T]) -> &[u8] {
    // SAFETY: an `Element` is plain data without padding.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

/// The bytes of `elements`, for writing.
pub fn bytes_mut<T: Element>(elements: &mut [T]) -> &mut [u8] {
    // SAFETY: an `Element` is plain data without padding, and every bit pattern is a value.
    unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), size_of_val(elements)) }
}

/// Whether `bytes` may be viewed as elements of `align` bytes.
pub fn is_aligned(bytes: &[u8], align: usize) -> bool {
    bytes.as_ptr().align_offset(align) == 0
}

fn check<T>(pointer: *const u8, bytes: usize) {
    assert!(bytes % size_of::<T>() == 0, "{bytes} bytes are not whole elements of {}", size_of::<T>());
    assert!(pointer.align_offset(align_of::<T>()) == 0, "buffer is not aligned");
}

/// Runs an expression with a type name bound to an element type of a dtype's width: code that only moves
/// elements is compiled once per width.
#[macro_export]
macro_rules! by_width {
    ($dtype:expr, $t:ident => $body:expr) => {
        match $dtype.bytes() {
            1 => {
                type $t = u8;
                $body
            }
            2 => {
                type $t = u16;
                $body
            }
            4 => {
                type $t = u32;
                $body
            }
            8 => {
                type $t = u64;
                $body
            }
            _ => {
                type $t = $crate::dtype::types::C128;
                $body
            }
        }
    };
}
pub use by_width;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip() {
        let mut x = [1.5f32, -2.0];
        assert_eq!(slice::<f32>(bytes(&x)), [1.5, -2.0]);
        slice_mut::<f32>(bytes_mut(&mut x))[1] = 3.0;
        assert_eq!(x, [1.5, 3.0]);
        assert!(slice::<f64>(&[]).is_empty());
    }
}
