//! Printing from running programs, by a function of R.

use crate::ffi::*;
use crate::guard::{leave_for, protected, Outcome};
use crate::value;
use anvil_core::ops::print::set_printer;
use anvil_core::tensor::Aval;

/// Makes R's function the printer of programs.
pub fn initialise() {
    // An op cannot fail and must not jump: if R does, the program is left.
    set_printer(|label, aval, data| show(label, aval, data).unwrap_or_else(|exit| leave_for(exit)));
}

/// Calls R/control.R's function with a label and a tensor.
fn show(label: &str, aval: &Aval, data: &[u8]) -> Outcome<()> {
    value::check_sizes(&aval.shape)?;
    // SAFETY: inside `protected`; each object is protected before the next is made.
    let x = protected(|| unsafe {
        let x = value::new_tensor(aval);
        R_PreserveObject(x);
        x
    })?;
    // SAFETY: made above; nothing else refers to it.
    unsafe { value::new_bytes(x, aval.dtype) }.copy_from_slice(data);
    // SAFETY: as above; it is preserved until it has been shown.
    let shown = protected(|| unsafe {
        let pair = Rf_protect(Rf_allocVector(VECSXP, 2));
        let text = Rf_allocVector(STRSXP, 1);
        SET_VECTOR_ELT(pair, 0, text);
        SET_STRING_ELT(text, 0, crate::guard::r_char(label));
        SET_VECTOR_ELT(pair, 1, x);
        anvil_call_r(c"print_running".as_ptr(), pair);
        Rf_unprotect(1);
    });
    // SAFETY: preserved above.
    unsafe { R_ReleaseObject(x) };
    shown
}
