//! Vectors that have all attributes of tensors of a type, from which new tensors take them: to set `dim` on
//! each result took as long as all else that is done for it.
//!
//! The vectors with the sizes of axes are shared by all tensors of a type. R changes none that something else
//! refers to.

use crate::ffi::*;
use crate::globals::Fixed;
use crate::tracer;
use crate::vector;
use anvil_core::shape::Shape;
use anvil_core::tensor::Aval;
use std::cell::RefCell;

/// Types that have a template, at most; one replaces another of the same place.
const PLACES: usize = 64;

/// The templates, and the types that they are for.
struct Templates {
    list: Fixed,
    types: Vec<Option<Aval>>,
}

thread_local! {
    static TEMPLATES: RefCell<Option<Templates>> = const { RefCell::new(None) };
}

/// The place of a type.
fn place(aval: &Aval) -> usize {
    let mix = |hash: usize, size: &usize| hash.rotate_left(5) ^ size.wrapping_mul(0x9E37_79B1);
    aval.shape.iter().fold(aval.dtype as usize + 16 * usize::from(aval.ambiguous.is_some()), mix) % PLACES
}

/// A vector with the attributes of a tensor of this type, which has axes; `without` has all but `dim`.
///
/// # Safety
/// May jump: only inside [`protected`](crate::guard::protected). It is kept until another is asked for.
pub unsafe fn of(aval: &Aval, without: SEXP) -> SEXP {
    let at = place(aval);
    let known = |templates: &Templates| {
        (templates.types[at].as_ref() == Some(aval)).then(|| element(templates.list.0, at))
    };
    if let Some(template) = TEMPLATES.with_borrow(|all| all.as_ref().and_then(known)) {
        return template;
    }
    // SAFETY: by the caller. Nothing is borrowed, or needs dropping, while R makes objects.
    unsafe {
        // A vector of that length without elements, which R refuses to read.
        let template = Rf_protect(tracer::new(aval.dtype, nil(), 0, aval.shape.size()));
        SHALLOW_DUPLICATE_ATTRIB(template, without);
        set_sizes(template, &aval.shape);
        if TEMPLATES.with_borrow(Option::is_none) {
            let list = Rf_allocVector(VECSXP, PLACES as Length);
            R_PreserveObject(list);
            TEMPLATES.set(Some(Templates { list: Fixed(list), types: vec![None; PLACES] }));
        }
        TEMPLATES.with_borrow_mut(|all| {
            if let Some(templates) = all {
                SET_VECTOR_ELT(templates.list.0, at as Length, template);
                templates.types[at] = Some(aval.clone());
            }
        });
        Rf_unprotect(1);
        template
    }
}

/// Gives a vector of as many elements the sizes of axes.
///
/// # Safety
/// May jump: only inside [`protected`](crate::guard::protected). The caller protects `x`, to which nothing
/// else refers.
pub unsafe fn set_sizes(x: SEXP, shape: &Shape) {
    // SAFETY: by the caller.
    unsafe {
        let dim = Rf_protect(vector::new_shape(shape));
        Rf_setAttrib(x, R_DimSymbol, dim);
        Rf_unprotect(1);
    }
}
