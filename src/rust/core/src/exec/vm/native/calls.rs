//! Calls of kernels from native code, for vectors in which a guard of a formula is true.

use super::chain::Op;
use super::machine::with_convention;
use crate::kernels::math::{pair, single, Computed, Kernel1, Kernel2};

/// A call: the address of a function, and that of the kernel that it is given.
pub struct Call {
    pub function: usize,
    pub kernel: usize,
}

/// The call of an op; `None` if it is no function.
pub fn of(op: Op, is_double: bool) -> Option<Call> {
    let one = if is_double { one::<f64> as *const () as usize } else { one::<f32> as *const () as usize };
    let two = if is_double { two::<f64> as *const () as usize } else { two::<f32> as *const () as usize };
    match op {
        Op::Function(kernel) => Some(Call { function: one, kernel: std::ptr::from_ref(kernel) as usize }),
        Op::Function2(kernel) => Some(Call { function: two, kernel: std::ptr::from_ref(kernel) as usize }),
        _ => None,
    }
}

macro_rules! functions {
    ($convention:literal) => {
        /// A function of the first `n` elements of a slot.
        ///
        /// # Safety
        /// The kernel is one, and both slots have as many elements, aligned, that nothing else uses.
        unsafe extern $convention fn one<F: Computed>(kernel: *const Kernel1, x: *const F, out: *mut F, n: usize) {
            // SAFETY: by the caller.
            let (kernel, x, out) =
                unsafe { (&*kernel, std::slice::from_raw_parts(x, n), std::slice::from_raw_parts_mut(out, n)) };
            match x {
                [x] => out[0] = single(kernel, *x),
                _ => F::map(kernel, x, out),
            }
        }

        /// As [`one`], of two slots.
        ///
        /// # Safety
        /// As of [`one`].
        unsafe extern $convention fn two<F: Computed>(
            kernel: *const Kernel2,
            x: *const F,
            y: *const F,
            out: *mut F,
            n: usize,
        ) {
            // SAFETY: by the caller.
            let (kernel, x, y, out) = unsafe {
                (
                    &*kernel,
                    std::slice::from_raw_parts(x, n),
                    std::slice::from_raw_parts(y, n),
                    std::slice::from_raw_parts_mut(out, n),
                )
            };
            match (x, y) {
                ([x], [y]) => out[0] = pair(kernel, *x, *y),
                _ => F::map2(kernel, x, y, out),
            }
        }
    };
}
with_convention!(functions);
