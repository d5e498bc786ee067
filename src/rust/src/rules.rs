//! The rules of promotion in force. In this order: those of the innermost function that chose some, for code
//! that it calls (an [extent](crate::extent): `with_promotion_rules()`, a jitted function with rules of its
//! own) or for the rest of itself (`local_promotion_rules()`); those of R's option `anvil.promotion_rules`;
//! anvil's default.
//!
//! A function is identified by the number of its frame on R's stack, which grows inwards. Rules for the rest
//! of a function hold as long as its frame is on the stack, which is checked whenever they are looked up.
//! `on.exit()` releases the frame earlier, but it can be interrupted, or replaced by the user's own.

use crate::ffi::*;
use crate::guard::{protected, Exit, Outcome};
use crate::value;
use anvil_core::dtype::promote::{self, Rules};
use anvil_core::error::{Error, Result};
use std::cell::RefCell;

/// Name of the option, as messages have it.
const OPTION: &str = "options(anvil.promotion_rules = )";

/// Rules that a function chose.
#[derive(Clone, Copy)]
struct Choice {
    /// Number of the function's frame.
    number: i32,
    rules: &'static Rules,
    /// A preserved list whose element is the frame; R's `NULL` for an extent.
    holder: SEXP,
}

thread_local! {
    /// Rules of the open extents, outermost first.
    static EXTENTS: RefCell<Vec<Choice>> = const { RefCell::new(Vec::new()) };
    /// Rules for the rest of functions, by the numbers of their frames. Functions that have ended may be
    /// among them.
    static FRAMES: RefCell<Vec<Choice>> = const { RefCell::new(Vec::new()) };
}

/// The rules in force. May call R.
///
/// # Errors
/// [`Error::Arg`] if the option names none; an interrupt.
pub fn current() -> Outcome<&'static Rules> {
    let around = EXTENTS.with_borrow(|all| all.last().copied());
    while let Some(choice) = FRAMES.with_borrow(|all| all.last().copied()) {
        if around.is_some_and(|around| around.number > choice.number) {
            break;
        }
        if is_on_the_stack(&choice)? {
            return Ok(choice.rules);
        }
        forget_from(choice.number);
    }
    if let Some(around) = around {
        return Ok(around.rules);
    }
    // SAFETY: a symbol; looking an option up allocates nothing.
    let option = unsafe { Rf_GetOption1(value::rules_symbol()) };
    if option == nil() {
        return Ok(promote::rules());
    }
    Ok(named(option).map_err(|e| e.for_argument(OPTION))?)
}

/// Rules from an R value: their name, or `NULL` for those in force.
///
/// # Errors
/// [`Error::Arg`] for anything else.
pub fn argument(x: SEXP) -> Outcome<&'static Rules> {
    if x == nil() {
        current()
    } else {
        Ok(named(x)?)
    }
}

fn named(x: SEXP) -> Result<&'static Rules> {
    match string(x) {
        Some(name) => promote::by_name(&name),
        None => Err(promote::unknown_rules(&value::describe(x))),
    }
}

/// Opens rules as an extent, of the function with this frame.
///
/// # Errors
/// Those of [`argument`].
pub fn open(rules: SEXP, number: SEXP) -> Outcome {
    let choice = Choice { number: frame_number(number)?, rules: argument(rules)?, holder: nil() };
    EXTENTS.with_borrow_mut(|all| all.push(choice));
    Ok(nil())
}

/// Number of open extents.
pub fn depth() -> usize {
    EXTENTS.with_borrow(Vec::len)
}

/// Closes the extents that were opened since there were `depth`.
pub fn close_to(depth: usize) {
    EXTENTS.with_borrow_mut(|all| all.truncate(depth));
}

/// Chooses rules for the rest of the function whose frame has this number on the stack, in place of its
/// former ones.
///
/// # Errors
/// Those of [`argument`].
pub fn choose(rules: SEXP, number: SEXP, frame: SEXP) -> Outcome {
    let (number, rules) = (frame_number(number)?, argument(rules)?);
    // SAFETY: inside `protected`. The list is kept beyond the call; it is given back by `forget_from`.
    let holder = protected(|| unsafe {
        let holder = Rf_protect(Rf_allocVector(VECSXP, 1));
        SET_VECTOR_ELT(holder, 0, frame);
        R_PreserveObject(holder);
        Rf_unprotect(1);
        holder
    })?;
    // Frames inside of this one have their own choices after it, as long as they are on the stack.
    let known = FRAMES.with_borrow(|all| all.iter().position(|choice| choice.number >= number));
    let choice = Choice { number, rules, holder };
    let replaced = FRAMES.with_borrow_mut(|all| match known {
        Some(at) if all[at].number == number => Some(std::mem::replace(&mut all[at], choice)),
        at => {
            all.insert(at.unwrap_or(all.len()), choice);
            None
        }
    });
    replaced.iter().for_each(give_back);
    Ok(nil())
}

/// Forgets the rules of the function whose frame had this number, and of those inside of it: it has ended.
pub fn forget(number: SEXP) -> SEXP {
    if let Ok(number) = frame_number(number) {
        forget_from(number);
    }
    nil()
}

fn forget_from(number: i32) {
    let ended = FRAMES.with_borrow_mut(|all| {
        let first = all.iter().position(|choice| choice.number >= number).unwrap_or(all.len());
        all.split_off(first)
    });
    ended.iter().for_each(give_back);
}

/// Releases a frame, since R counts references to it and its variables.
fn give_back(choice: &Choice) {
    // SAFETY: made and preserved by `choose`, and given back once. Neither call allocates or jumps.
    unsafe {
        SET_VECTOR_ELT(choice.holder, 0, nil());
        R_ReleaseObject(choice.holder);
    }
}

fn is_on_the_stack(choice: &Choice) -> Outcome<bool> {
    // SAFETY: inside `protected`; the number is protected by the call that it becomes a part of.
    let found = protected(|| unsafe {
        let number = Rf_allocVector(INTSXP, 1);
        *INTEGER(number) = choice.number;
        anvil_call_r(c"frame_of_number".as_ptr(), number)
    })?;
    Ok(found == element(choice.holder, 0))
}

fn frame_number(x: SEXP) -> Outcome<i32> {
    let is_number = kind(x) == INTSXP && len(x) == 1;
    is_number
        .then(|| ints(x)[0])
        .ok_or_else(|| Exit::Error(Error::Internal { detail: "no number of a frame".into() }))
}
