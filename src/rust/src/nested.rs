//! Nested lists as R code sees them: their leaves with the paths to these, and lists with other leaves.

use crate::ffi::*;
use crate::guard::{r_strings, Outcome, Scope};
use crate::inner::{is_list, Inner};
use crate::path;
use crate::tree::{deeper, list_of};
use anvil_core::error::Error;

/// What a walk meets.
enum Met {
    /// A leaf: neither node nor `NULL`.
    Leaf(SEXP),
    /// `NULL`, or a list without elements.
    Empty(SEXP),
    /// An object, by its kind, before its elements.
    Object(SEXP),
}

/// Calls `see(what, path)` for all parts of a nested list; `path` is `None` unless that of `x` is given.
fn visit(
    x: SEXP,
    path: Option<&str>,
    depth: usize,
    see: &mut dyn FnMut(Met, Option<&str>),
    scope: &Scope,
) -> Outcome<()> {
    if x == nil() || is_list(x) && len(x) == 0 {
        see(Met::Empty(x), path);
        return Ok(());
    }
    let Some(node) = Inner::of(x, scope)? else {
        see(Met::Leaf(x), path);
        return Ok(());
    };
    let depth = deeper(depth, "argument")?;
    if node.is_object() {
        see(Met::Object(node.kind), path);
    }
    for i in 0..len(node.items) {
        let below = path.map(|path| path.to_owned() + &path::subscript(node.items, i));
        visit(element(node.items, i), below.as_deref(), depth, see, scope)?;
    }
    Ok(())
}

/// The leaves of a nested list as a flat one, in order.
pub fn leaves(x: SEXP, scope: &Scope) -> Outcome {
    let mut items = Vec::new();
    let mut see = |met, _: Option<&str>| {
        if let Met::Leaf(x) = met {
            items.push(x);
        }
    };
    visit(x, None, 0, &mut see, scope)?;
    list_of(&items, scope)
}

/// `list(items, paths, kinds, places)`: the leaves of a nested list, and `NULL`s and empty lists too, each
/// with its path from `root`: `p$w`, or `p[[2]]` without a name; and the kinds of the objects in it with
/// their paths.
pub fn paths(x: SEXP, root: SEXP, scope: &Scope) -> Outcome {
    let (mut items, mut paths) = (Vec::new(), Vec::new());
    let (mut kinds, mut places) = (Vec::new(), Vec::new());
    let mut see = |met, path: Option<&str>| {
        let (to, at, x) = match met {
            Met::Leaf(x) | Met::Empty(x) => (&mut items, &mut paths, x),
            Met::Object(kind) => (&mut kinds, &mut places, kind),
        };
        to.push(x);
        at.push(path.unwrap_or_default().to_owned());
    };
    visit(x, Some(&string(root).unwrap_or_default()), 0, &mut see, scope)?;
    let parts = [
        list_of(&items, scope)?,
        r_strings(&paths, scope)?,
        list_of(&kinds, scope)?,
        r_strings(&places, scope)?,
    ];
    list_of(&parts, scope)
}

/// A nested list with other leaves, in order.
///
/// # Errors
/// [`Error::Internal`] if there are fewer of them than the list has; those of [`Inner`].
pub fn refill(x: SEXP, leaves: SEXP, scope: &Scope) -> Outcome {
    fn at(x: SEXP, next: &mut impl FnMut() -> Outcome, depth: usize, scope: &Scope) -> Outcome {
        if x == nil() {
            return Ok(x);
        }
        let Some(node) = Inner::of(x, scope)? else { return next() };
        let depth = deeper(depth, "argument")?;
        let out = node.copy(scope)?;
        for i in 0..len(out) {
            let child = at(element(out, i), next, depth, scope)?;
            // SAFETY: index in range; `out` is a list that this call made.
            unsafe { SET_VECTOR_ELT(out, i as Length, child) };
        }
        node.framed(node.with(out, scope)?, scope)
    }
    let mut used = 0;
    let mut next = || {
        used += 1;
        if kind(leaves) == VECSXP && used <= len(leaves) {
            return Ok(element(leaves, used - 1));
        }
        Err(Error::Internal { detail: "fewer leaves than there were".into() }.into())
    };
    at(x, &mut next, 0, scope)
}

/// The elements of an object of a registered class as a bare list, by which paths lead into it; anything else
/// as it is.
pub fn items(x: SEXP, scope: &Scope) -> Outcome {
    Ok(Inner::of(x, scope)?.map_or(x, |node| node.items))
}

/// An object of a registered class with other elements.
///
/// # Errors
/// [`Error::Internal`] for anything else; those of [`Inner`].
pub fn with_items(x: SEXP, items: SEXP, scope: &Scope) -> Outcome {
    match Inner::of(x, scope)? {
        Some(node) => node.with(items, scope),
        None => Err(Error::Internal { detail: "elements of a leaf".into() }.into()),
    }
}
