//! Factors among the arguments of traced functions: traced integers, their codes, that know their levels.

use crate::ffi::*;
use crate::guard::{protected, Outcome};
use crate::statics;
use crate::trace::Trace;
use crate::value;
use anvil_core::error::Error;
use anvil_core::graph::Value;

/// The levels of a factor's codes; `None` of anything else.
pub fn levels(x: SEXP) -> Option<SEXP> {
    // SAFETY: reads an attribute.
    Some(attribute(x, unsafe { R_LevelsSymbol })).filter(|&levels| kind(levels) == STRSXP)
}

/// Gives a traced value the levels that `x` has, if it has any.
pub fn keep_levels(tracer: SEXP, x: SEXP) -> Outcome<()> {
    match levels(x) {
        // SAFETY: inside `protected`; the value is one that the running call made.
        Some(levels) => protected(|| unsafe { Rf_setAttrib(tracer, R_LevelsSymbol, levels) }).map(|_| ()),
        None => Ok(()),
    }
}

/// Gives a traced value the levels of the operands that its elements come from, if these are codes of the same levels
/// and were only moved. `values` are those of the operands.
///
/// # Errors
/// [`Error::Arg`](anvil_core::error::Error) if it puts codes of other levels together: they mean other labels.
pub fn follow(tracer: SEXP, made: Value, trace: &Trace, operands: &[SEXP], values: &[Value]) -> Outcome<()> {
    let Some(first) = operands.iter().find_map(|&x| levels(x)) else { return Ok(()) };
    let (mut next, mut all) = (vec![made], true);
    while let Some(value) = next.pop() {
        let from = operands.iter().zip(values).find(|&(_, &v)| v == value).map(|(&x, _)| levels(x));
        let builder = trace.builder();
        match (from, builder.graph().made_by(value)) {
            (Some(Some(other)), _) if statics::same(other, first) => (),
            (Some(Some(_)), _) => {
                let what = "factors with the same levels, in the same order";
                return Err(Error::arg("...", what, "factors of other levels").into());
            }
            (None, Some(node)) if node.op.rearranges() => next.extend(&node.operands),
            _ => all = false,
        }
    }
    // SAFETY: inside `protected`; the value is one that the running call made.
    let set = || protected(|| unsafe { Rf_setAttrib(tracer, R_LevelsSymbol, first) }).map(|_| ());
    if all {
        set()
    } else {
        Ok(())
    }
}

/// Whether what is called `name` compares a traced factor, or takes the first or last level of an ordered one: as in R
/// it is its labels, which `on_factors()` in R/mask-factors.R makes codes that are alike.
pub fn is_compared(name: SEXP, operands: &[SEXP]) -> bool {
    let mut of_factors =
        operands.iter().filter(|&&x| value::is_tracer(x)).filter_map(|&x| levels(x)).peekable();
    if of_factors.peek().is_none() {
        return false;
    }
    match text(name).as_str() {
        "eq" | "ne" | "isin" => true,
        "lt" | "le" | "gt" | "ge" | "reduce_max" | "reduce_min" => of_factors.any(are_ordered),
        _ => false,
    }
}

/// Whether levels have attributes: that they are ordered, and the contrasts of their factor.
pub fn say_more(levels: SEXP) -> bool {
    // SAFETY: reads the header.
    !attributes_all(levels, |_, _| false)
}

/// Whether the levels are those of an ordered factor, see `with_order()` in R/data-frame.R.
pub fn are_ordered(levels: SEXP) -> bool {
    // SAFETY: reads an attribute; R has the symbol, the name of a function.
    attribute(levels, unsafe { Rf_install(c"ordered".as_ptr()) }) != nil()
}
