//! Calls of kernels from native code, for vectors in which a guard of a formula is true.

use super::chain::Op;
use super::machine::{with_convention, LITERAL};
use crate::kernels::math::{pair, single, Computed, Kernel1, Kernel2, Kernel4};

/// Slots of a call, at most: of its operands, and of its result.
pub const SLOTS: usize = 5;

/// A call: the address of a function, and that of the kernel that it is given.
pub struct Call {
    pub function: usize,
    pub kernel: usize,
    /// Whether it is given the address of its first operand alone: the others are in the slots after it.
    together: bool,
}

impl Call {
    /// Of the slots of the operands and of the result, which follow one another, those whose addresses it is given.
    pub fn addresses(&self, slots: &[i32]) -> Vec<i32> {
        match (self.together, slots) {
            (true, [first, .., made]) => vec![*first, *made],
            _ => slots.to_vec(),
        }
    }
}

/// The call of an op; `None` if it is no function.
pub fn of(op: Op, is_double: bool) -> Option<Call> {
    let one = if is_double { one::<f64> as *const () as usize } else { one::<f32> as *const () as usize };
    let two = if is_double { two::<f64> as *const () as usize } else { two::<f32> as *const () as usize };
    let four = if is_double { four::<f64> as *const () as usize } else { four::<f32> as *const () as usize };
    let call = |function, kernel, together| Some(Call { function, kernel, together });
    match op {
        Op::Function(kernel) => call(one, std::ptr::from_ref(kernel) as usize, false),
        Op::Function2(kernel) => call(two, std::ptr::from_ref(kernel) as usize, false),
        Op::Function4(kernel) => call(four, std::ptr::from_ref(kernel) as usize, true),
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

        /// As [`one`], of four slots that follow one another: a slot has the bytes of a vector.
        ///
        /// # Safety
        /// As of [`one`].
        unsafe extern $convention fn four<F: Computed>(kernel: *const Kernel4, x: *const F, out: *mut F, n: usize) {
            let slot = LITERAL.max(n * std::mem::size_of::<F>());
            // SAFETY: by the caller.
            let (kernel, x, out) = unsafe {
                let operand = |i: usize| std::slice::from_raw_parts(x.byte_add(i * slot), n);
                (&*kernel, std::array::from_fn(operand), std::slice::from_raw_parts_mut(out, n))
            };
            F::map4(kernel, x, out);
        }
    };
}
with_convention!(functions);
