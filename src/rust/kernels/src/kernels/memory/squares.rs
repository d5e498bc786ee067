//! Transposes in registers, with AVX, of elements of four and of eight bytes: those of floats, as whose bits others
//! move too.

use crate::kernels::math::Level;
use std::arch::x86_64::*;
use std::mem::size_of;

/// Lines that are transposed together.
pub const LINES: usize = 4;

/// An element that is transposed in registers.
pub trait Square: Copy {
    /// Elements of a line that are transposed together.
    const RUN: usize;
    /// Transposes a run of [`LINES`] lines, whose stride is `line`: in `out` the lines are contiguous, and
    /// the stride of a run is `width`.
    ///
    /// # Safety
    /// The elements are there, and there is room for them; to be inlined where AVX is.
    unsafe fn transpose(x: *const Self, line: isize, out: *mut Self, width: usize);
    /// As [`Square::transpose`], of [`LINES`] elements of each line.
    ///
    /// # Safety
    /// As there.
    unsafe fn transpose_short(x: *const Self, line: isize, out: *mut Self, width: usize);
}

impl Square for f32 {
    const RUN: usize = 8;
    #[inline(always)]
    unsafe fn transpose(x: *const f32, line: isize, out: *mut f32, width: usize) {
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| _mm256_loadu_ps(x.wrapping_offset(i * line)));
        let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
        let (after_ab, after_cd) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
        // Runs 0 and 4, 1 and 5, and so on.
        let pairs = [
            _mm256_shuffle_ps::<0b01_00_01_00>(ab, cd),
            _mm256_shuffle_ps::<0b11_10_11_10>(ab, cd),
            _mm256_shuffle_ps::<0b01_00_01_00>(after_ab, after_cd),
            _mm256_shuffle_ps::<0b11_10_11_10>(after_ab, after_cd),
        ];
        for (i, pair) in pairs.into_iter().enumerate() {
            _mm_storeu_ps(out.add(i * width), _mm256_castps256_ps128(pair));
            _mm_storeu_ps(out.add((i + 4) * width), _mm256_extractf128_ps::<1>(pair));
        }
    }
    #[inline(always)]
    unsafe fn transpose_short(x: *const f32, line: isize, out: *mut f32, width: usize) {
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| _mm_loadu_ps(x.wrapping_offset(i * line)));
        let (ab, cd) = (_mm_unpacklo_ps(a, b), _mm_unpacklo_ps(c, d));
        let (after_ab, after_cd) = (_mm_unpackhi_ps(a, b), _mm_unpackhi_ps(c, d));
        _mm_storeu_ps(out, _mm_movelh_ps(ab, cd));
        _mm_storeu_ps(out.add(width), _mm_movehl_ps(cd, ab));
        _mm_storeu_ps(out.add(2 * width), _mm_movelh_ps(after_ab, after_cd));
        _mm_storeu_ps(out.add(3 * width), _mm_movehl_ps(after_cd, after_ab));
    }
}

impl Square for f64 {
    const RUN: usize = 4;
    #[inline(always)]
    unsafe fn transpose(x: *const f64, line: isize, out: *mut f64, width: usize) {
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| _mm256_loadu_pd(x.wrapping_offset(i * line)));
        let (ab, cd) = (_mm256_unpacklo_pd(a, b), _mm256_unpacklo_pd(c, d));
        let (after_ab, after_cd) = (_mm256_unpackhi_pd(a, b), _mm256_unpackhi_pd(c, d));
        _mm256_storeu_pd(out, _mm256_permute2f128_pd::<0x20>(ab, cd));
        _mm256_storeu_pd(out.add(width), _mm256_permute2f128_pd::<0x20>(after_ab, after_cd));
        _mm256_storeu_pd(out.add(2 * width), _mm256_permute2f128_pd::<0x31>(ab, cd));
        _mm256_storeu_pd(out.add(3 * width), _mm256_permute2f128_pd::<0x31>(after_ab, after_cd));
    }
    #[inline(always)]
    unsafe fn transpose_short(x: *const f64, line: isize, out: *mut f64, width: usize) {
        f64::transpose(x, line, out, width);
    }
}

/// Transposes a matrix of `[rows, columns]` whose columns are contiguous, and so are those of the transpose;
/// `strides` are the distances of columns of both.
///
/// # Safety
/// The elements are there, and there is room for them, apart; the processor has AVX2.
#[target_feature(enable = "avx2")]
unsafe fn matrix<T: Square>(x: *const T, [rows, columns]: [usize; 2], strides: [usize; 2], out: *mut T) {
    let [from, to] = strides;
    if rows < LINES || columns < LINES {
        for j in 0..columns {
            for i in 0..rows {
                out.add(j + i * to).write(*x.add(i + j * from));
            }
        }
        return;
    }
    // The last square of a line ends with it: some elements are written twice.
    if rows < T::RUN {
        for i in (0..rows).step_by(LINES) {
            let i = i.min(rows - LINES);
            for j in (0..columns).step_by(LINES) {
                let j = j.min(columns - LINES);
                T::transpose_short(x.add(i + j * from), from as isize, out.add(j + i * to), to);
            }
        }
        return;
    }
    for i in (0..rows).step_by(T::RUN) {
        let i = i.min(rows - T::RUN);
        for j in (0..columns).step_by(LINES) {
            let j = j.min(columns - LINES);
            T::transpose(x.add(i + j * from), from as isize, out.add(j + i * to), to);
        }
    }
}

/// As [`copy`], of pointers: the elements of both are there, apart.
///
/// # Safety
/// As it says.
pub unsafe fn transpose<T: Square>(x: *const T, sizes: [usize; 2], strides: [usize; 2], out: *mut T) -> bool {
    let here = Level::current() != Level::Portable;
    if here {
        matrix(x, sizes, strides, out);
    }
    here
}

/// `out` becomes the transpose of a matrix of `[rows, columns]`; columns of both are contiguous, with these
/// strides. Returns whether there is a kernel for it: on processors with AVX2, and for elements of four or eight
/// bytes.
///
/// # Panics
/// If elements of either are missing.
pub fn copy<T: Copy>(x: &[T], [rows, columns]: [usize; 2], [from, to]: [usize; 2], out: &mut [T]) -> bool {
    let fits = |len: usize, lines: usize, stride: usize, line: usize| (lines - 1) * stride + line <= len;
    if rows == 0 || columns == 0 {
        return true;
    }
    assert!(fits(x.len(), columns, from, rows) && fits(out.len(), rows, to, columns), "elements are missing");
    let (x, out) = (x.as_ptr(), out.as_mut_ptr());
    // SAFETY: the elements are there, and of the size of those that they are moved as.
    unsafe {
        match size_of::<T>() {
            4 => transpose::<f32>(x.cast(), [rows, columns], [from, to], out.cast()),
            8 => transpose::<f64>(x.cast(), [rows, columns], [from, to], out.cast()),
            _ => false,
        }
    }
}
