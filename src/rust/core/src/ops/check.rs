//! Positions that a program computes and that are out of range: who checks them, and what is raised.

use super::attrs::Attrs;
use super::contract::Form;
use crate::dtype::{dispatch_int, DType, Element};
use crate::error::{Error, Result};
use crate::graph::syntax::Parsed;
use crate::kernels::cast;
use crate::raised::raise;
use crate::shape::Axis;
use crate::tensor::{View, ViewMut};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What the user wants done with positions out of range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// The program fails.
    Error,
    /// They are moved to the nearest that are in range.
    Clip,
    /// Nothing is written there. What is read there is NaN, the smallest number of a signed and the largest
    /// of an unsigned dtype, or `TRUE`, as in JAX (`mode = "fill"`).
    Drop,
}

impl Mode {
    const NAME: &'static str = "mode";

    /// Reads the parameter of a call.
    ///
    /// # Errors
    /// [`Error::Arg`] unless it is the name of one.
    pub fn decode(attrs: &Attrs) -> Result<Mode> {
        Ok(match attrs.choice(Mode::NAME, &["error", "clip", "drop"])? {
            "clip" => Mode::Clip,
            "drop" => Mode::Drop,
            _ => Mode::Error,
        })
    }
}

/// Whether an op that reads or writes at computed positions checks them. Values are the same in both cases: a
/// read moves what does not fit, a scatter leaves it out.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Check {
    /// It raises [`Error::IndexOutOfRange`].
    Raises(Site),
    /// It raises the error of a value of so many axes of which this one has the first as the last.
    RaisesTurned(Site, usize),
    /// It says nothing.
    Silent,
}

impl Check {
    /// Whether the op may fail.
    pub fn raises(&self) -> bool {
        !matches!(self, Check::Silent)
    }

    /// The same check of a value of so many axes with its first axis as the last one: an error names the axis that the
    /// user knows.
    pub fn turned(&self, rank: usize) -> Check {
        match self {
            Check::Raises(site) => Check::RaisesTurned(site.clone(), rank),
            other => other.clone(),
        }
    }

    /// The attribute of an op that checks nothing; `silent` is what it does instead.
    pub(super) fn attribute(&self, silent: &str) -> Option<(&'static str, String)> {
        (!self.raises()).then(|| (Mode::NAME, format!("{silent:?}")))
    }

    /// Reads the parameter of a call.
    pub(super) fn decode(attrs: &Attrs) -> Result<Check> {
        Ok(match Mode::decode(attrs)? {
            Mode::Error => Check::Raises(attrs.site().clone()),
            Mode::Clip | Mode::Drop => Check::Silent,
        })
    }

    /// Reads the attribute of a statement.
    pub(super) fn parse(form: &Form, silent: &str) -> Parsed<Check> {
        match form.has(Mode::NAME) {
            true => form.one_of(Mode::NAME, &[(silent, Check::Silent)]),
            false => Ok(Check::Raises(Site::default())),
        }
    }

    /// Raises the error for a position along an axis of so many elements, which counts from 0 in a dtype, of
    /// a window of this size; `at` is the number of the element or window.
    #[cold]
    #[inline(never)]
    pub(super) fn raise(
        &self,
        at: usize,
        (position, dtype): (i64, DType),
        axis: Axis,
        size: usize,
        window: usize,
    ) {
        let (site, axis) = match self {
            Check::Raises(site) => (site, axis),
            Check::RaisesTurned(site, rank) => (site, Axis((axis.0 + 1) % rank)),
            Check::Silent => return,
        };
        // What the user wrote has wrapped, if it was the smallest number.
        let value = match dtype {
            DType::I32 => (position as i32).wrapping_add(1).into(),
            _ => position.wrapping_add(1),
        };
        raise(at, Error::IndexOutOfRange { value, axis, size, window, call: site.to_string() });
    }
}

/// A function that raises the error for a position, which is all that it reads.
pub type Raiser = Box<dyn Fn(&[View], &mut [ViewMut]) + Send + Sync>;

impl Check {
    /// As [`Check::raise`], of a number that is read later; `None` if it says nothing.
    pub fn raiser(&self, at: usize, axis: Axis, size: usize, window: usize) -> Option<Raiser> {
        let check = self.clone();
        self.raises().then(|| -> Raiser {
            Box::new(move |position, _| {
                let position = &position[0];
                check.raise(at, (index(position), position.dtype), axis, size, window);
            })
        })
    }
}

/// The value of a 0-d integer.
pub(super) fn index(x: &View) -> i64 {
    dispatch_int!(x.dtype, T => position(cast::slice::<T>(x.data)[x.layout.offset]))
}

/// A position as a signed number. Larger unsigned ones saturate.
pub(super) fn position<T: Element>(x: T) -> i64 {
    let wrapped: i64 = x.convert();
    if T::DTYPE == DType::UI64 && wrapped < 0 {
        i64::MAX
    } else {
        wrapped
    }
}

/// The call of the user's that made a node, and its line, as text. It is part of no op's identity: reads of
/// two calls that are equal otherwise are one, which the first call is named for.
#[derive(Clone, Default)]
pub struct Site(Option<Arc<str>>);

impl Site {
    /// The site that is described so.
    pub fn new(text: &str) -> Site {
        Site(Some(text.into()))
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_deref().unwrap_or(""))
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Site")
    }
}

impl PartialEq for Site {
    fn eq(&self, _: &Site) -> bool {
        true
    }
}

impl Eq for Site {}

impl Hash for Site {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
