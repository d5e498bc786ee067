//! Kernels as values, whatever the dtypes of their elements.

use crate::dtype::DType;
use crate::kernels::cast;
use crate::kernels::halves;
use crate::kernels::math::{Computed, Kernel1, Kernel2, Kernel4};
use crate::kernels::tile;
use crate::tensor::{View, ViewMut};
use half::{bf16, f16};

/// What computes elements from as many of each of `N` operands.
#[derive(Clone, Copy)]
pub struct Map<const N: usize> {
    pub(super) from: [DType; N],
    pub(super) to: DType,
    pub(super) run: Run<N>,
}

#[derive(Clone, Copy)]
pub(super) enum Run<const N: usize> {
    /// A loop, given the number of elements, which must be there, aligned, of the dtypes of the map, and apart from
    /// those of the result.
    Loop(unsafe fn([*const u8; N], *mut u8, usize)),
    /// A function of the mathematics.
    One(&'static Kernel1),
    /// The same of two floats.
    Two(&'static Kernel2),
    /// The same of four floats, of 32 or 64 bits.
    Four(&'static Kernel4),
    /// A function of bytes of the dtype of the map, of which there are enough, aligned.
    Bytes(fn(DType, [&[u8]; N], &mut [u8])),
}

/// The map whose loop is an expression of slices.
macro_rules! map {
    ([$($from:ty),+] -> $to:ty, |$($x:ident),+; $out:ident| $body:expr) => {
        $crate::kernels::elementwise::map::Map {
            from: [$(<$from as $crate::dtype::HasDType>::DTYPE),+],
            to: <$to as $crate::dtype::HasDType>::DTYPE,
            run: $crate::kernels::elementwise::map::Run::Loop(|[$($x),+], $out, n| {
                // SAFETY: by `Run::Loop` they are elements of these types, as every bit pattern of an `Element` is one.
                let ($($x,)+ $out) = unsafe {
                    ($(std::slice::from_raw_parts($x.cast::<$from>(), n),)+ std::slice::from_raw_parts_mut($out.cast::<$to>(), n))
                };
                $body
            }),
        }
    };
}
pub(super) use map;

impl<const N: usize> Map<N> {
    /// Dtypes of the operands.
    pub fn from(&self) -> [DType; N] {
        self.from
    }

    /// The dtype of the result.
    pub fn to(&self) -> DType {
        self.to
    }

    /// Computes as many elements as there is room for.
    ///
    /// # Panics
    /// If there are not as many of each operand, or if they are not aligned.
    pub fn run(&self, x: [&[u8]; N], out: &mut [u8]) {
        let n = out.len() / self.to.bytes();
        if n == 0 {
            return;
        }
        check(out, self.to, n);
        x.iter().zip(self.from).for_each(|(x, dtype)| check(x, dtype, n));
        match self.run {
            // SAFETY: checked above; what is borrowed exclusively is apart.
            Run::Loop(run) => unsafe { run(x.map(<[u8]>::as_ptr), out.as_mut_ptr(), n) },
            Run::One(kernel) => match self.to {
                DType::F32 => f32::map(kernel, cast::slice(x[0]), cast::slice_mut(out)),
                DType::F64 => f64::map(kernel, cast::slice(x[0]), cast::slice_mut(out)),
                DType::F16 => halves::map::<f16>(kernel, cast::slice(x[0]), cast::slice_mut(out)),
                _ => halves::map::<bf16>(kernel, cast::slice(x[0]), cast::slice_mut(out)),
            },
            Run::Two(kernel) => match self.to {
                DType::F32 => f32::map2(kernel, cast::slice(x[0]), cast::slice(x[1]), cast::slice_mut(out)),
                DType::F64 => f64::map2(kernel, cast::slice(x[0]), cast::slice(x[1]), cast::slice_mut(out)),
                DType::F16 => {
                    halves::map2::<f16>(kernel, cast::slice(x[0]), cast::slice(x[1]), cast::slice_mut(out))
                }
                _ => halves::map2::<bf16>(kernel, cast::slice(x[0]), cast::slice(x[1]), cast::slice_mut(out)),
            },
            Run::Four(kernel) => match self.to {
                DType::F32 => {
                    f32::map4(kernel, [0, 1, 2, 3].map(|i| cast::slice(x[i])), cast::slice_mut(out));
                }
                _ => f64::map4(kernel, [0, 1, 2, 3].map(|i| cast::slice(x[i])), cast::slice_mut(out)),
            },
            Run::Bytes(run) => run(self.to, x, out),
        }
    }

    /// Applies it to values of any layout.
    pub fn apply(&self, x: [&View; N], out: &mut ViewMut) {
        tile::map(&|x, out| self.run(std::array::from_fn(|i| x[i]), out), &x, out)
    }
}

impl Map<1> {
    /// The function of the mathematics on a float dtype.
    pub fn function(kernel: &'static Kernel1, dtype: DType) -> Option<Map<1>> {
        dtype.is_float().then_some(Map { from: [dtype], to: dtype, run: Run::One(kernel) })
    }
}

impl Map<2> {
    /// The function of the mathematics on a float dtype.
    pub fn function2(kernel: &'static Kernel2, dtype: DType) -> Option<Map<2>> {
        dtype.is_float().then_some(Map { from: [dtype; 2], to: dtype, run: Run::Two(kernel) })
    }
}

impl Map<4> {
    /// The function of the mathematics on `f32` or `f64`.
    pub fn function4(kernel: &'static Kernel4, dtype: DType) -> Option<Map<4>> {
        let has = matches!(dtype, DType::F32 | DType::F64);
        has.then_some(Map { from: [dtype; 4], to: dtype, run: Run::Four(kernel) })
    }
}

/// Checks that bytes are so many elements of a dtype.
pub(super) fn check(bytes: &[u8], dtype: DType, n: usize) {
    let width = dtype.bytes();
    assert!(bytes.len() == n * width, "{} bytes are not {n} elements of {dtype}", bytes.len());
    assert!(cast::is_aligned(bytes, width.min(align_of::<f64>())), "buffer is not aligned");
}

/// What a function, which has a method for each kind of dtype, makes for a dtype.
macro_rules! by_kind {
    ($function:expr, $dtype:expr) => {
        match $dtype {
            DType::I1 => $function.boolean(),
            DType::I8 => $function.int::<i8>(),
            DType::I16 => $function.int::<i16>(),
            DType::I32 => $function.int::<i32>(),
            DType::I64 => $function.int::<i64>(),
            DType::UI8 => $function.int::<u8>(),
            DType::UI16 => $function.int::<u16>(),
            DType::UI32 => $function.int::<u32>(),
            DType::UI64 => $function.int::<u64>(),
            DType::BF16 => $function.half::<half::bf16>(),
            DType::F16 => $function.half::<half::f16>(),
            DType::F32 => $function.float::<f32>(),
            DType::F64 => $function.float::<f64>(),
            DType::C64 => $function.complex::<num_complex::Complex<f32>>(),
            DType::C128 => $function.complex::<num_complex::Complex<f64>>(),
        }
    };
}
pub(super) use by_kind;
