//! `x[...]` and `x[...] <- value`: R's subscripts are read for [`anvil_core::apply::subset`].
//!
//! R passes the expressions of its `...` and the frame that holds them: only these show whether a subscript
//! is left out or written as `a:b`. In an eager call positions are operands, so that one program serves `x[1,
//! ]`, `x[2, ]` and all others.

use crate::audit;
use crate::axis_names::{self, Left};
use crate::compact;
use crate::factor;
use crate::ffi::*;
use crate::guard::{protected, Outcome, Scope};
use crate::op::{attr, eager, leaf, site, traced};
use crate::operands;
use crate::settings;
use crate::single_subscript;
use crate::subscript_value;
use crate::trace;
use crate::tree::{self, Leaf};
use crate::value::{self, Tensor};
use crate::vector;
use crate::written::{as_written, evaluated, is_integer, is_left_out, is_range};
use anvil_core::apply::patterns::pattern;
use anvil_core::apply::selection::{select, select_mask, select_range, Numbers, Selection};
use anvil_core::apply::subset::{check_count, Start, Subscript};
use anvil_core::apply::Applier;
use anvil_core::dtype::DType;
use anvil_core::error::Error;
use anvil_core::graph::Value;
use anvil_core::kernels::cast;
use anvil_core::ops::attrs::Attrs;
use anvil_core::ops::{Mode, Site};
use anvil_core::shape::{Axis, Shape};
use std::os::raw::c_int;

/// A subscript for each of the first axes.
struct Subscripts {
    chosen: Vec<Chosen>,
    /// Whether the one subscript selects among all elements, in R's order.
    flat: bool,
}

enum Chosen {
    All,
    Known(Selection),
    /// A tensor or tracer.
    Dynamic(SEXP),
    /// A mask that the program computes, of the shape of what is assigned to.
    Where(SEXP),
    /// A mask that the program computes, along the axis or of all elements, where it is read.
    Mask(SEXP),
    /// Positions where a mask of them holds, both computed: a selection of positions.
    Picked(SEXP, SEXP),
}

impl Chosen {
    /// The mask that says which of the positions are selected, if the program computes it.
    fn mask(&self) -> Option<SEXP> {
        match self {
            Chosen::Mask(mask) | Chosen::Picked(_, mask) => Some(*mask),
            _ => None,
        }
    }

    /// Whether it is one position, so that the axis is dropped.
    fn is_one(&self) -> Outcome<bool> {
        Ok(match self {
            Chosen::Known(selection) => matches!(selection, Selection::At(_)),
            Chosen::Dynamic(x) => shape_of(*x)?.rank() == 0,
            Chosen::All | Chosen::Where(_) | Chosen::Mask(_) | Chosen::Picked(..) => false,
        })
    }
}

/// `.External(anvil_subset, x, expressions, frame, one, mode, drop)`; `one` says whether it must be one
/// element.
pub fn read(args: SEXP, scope: &Scope) -> Outcome {
    let [x, dots, frame, one, mode, drop] = arguments(args);
    let Some(drop) = value::flag_of(drop) else {
        return Err(Error::arg("drop", "TRUE or FALSE", value::describe(drop)).into());
    };
    let names = axis_names::of(x, scope)?;
    let (x, _) = as_vector(x, dots, scope)?;
    let subscripts = Subscripts::new(x, names, [dots, frame, one, mode], false, scope)?;
    let out = subscripts.call(x, None, drop, mode_of(mode)?, scope)?;
    if !subscripts.flat {
        axis_names::set(out, subscripts.names(names, value::flag_of(one) == Some(true), drop, scope)?)?;
    }
    if subscripts.chosen.iter().any(|chosen| chosen.mask().is_some()) {
        let mut parts = vec![out];
        let mut axis = 0;
        // Alone it is of all elements, along no axis.
        let alone = subscripts.chosen.len() == 1 && matches!(subscripts.chosen[0], Chosen::Mask(_));
        for chosen in &subscripts.chosen {
            axis += c_int::from(!(alone || drop && chosen.is_one()?));
            let Some(mask) = chosen.mask() else { continue };
            // SAFETY: inside `protected`.
            let number = scope.keep(protected(|| unsafe { Rf_ScalarInteger(axis) })?);
            parts.extend([mask, number]);
        }
        let parts = tree::list_of(&parts, scope)?;
        // SAFETY: inside `protected`; the function makes a selection.
        return Ok(scope.keep(protected(|| unsafe { anvil_call_r(c"selection_of".as_ptr(), parts) })?));
    }
    Ok(out)
}

/// `.External(anvil_subset_assign, x, expressions, frame, one, mode, value)`.
pub fn assign(args: SEXP, scope: &Scope) -> Outcome {
    let [x, dots, frame, one, mode, value] = arguments(args);
    let names = axis_names::of(x, scope)?;
    let (x, is_number) = as_vector(x, dots, scope)?;
    let subscripts = Subscripts::new(x, names, [dots, frame, one, mode], true, scope)?;
    let mut out = subscripts.call(x, Some(value), true, mode_of(mode)?, scope)?;
    if is_number {
        // SAFETY: inside `protected`; the function gives the tensor another shape.
        out = scope.keep(protected(|| unsafe { anvil_call_r(c"as_number".as_ptr(), out) })?);
    }
    axis_names::set(out, names)?;
    Ok(out)
}

/// A 0-d tensor with one subscript is a vector of one element, as any number of R; returns whether it was one.
fn as_vector(x: SEXP, dots: SEXP, scope: &Scope) -> Outcome<(SEXP, bool)> {
    let mut given = pairs(dots);
    // SAFETY: a constant of R.
    let one = given.next().is_some_and(|(_, i)| i != unsafe { R_MissingArg }) && given.next().is_none();
    if !one || shape_of(x)?.rank() > 0 {
        return Ok((x, false));
    }
    // SAFETY: inside `protected`; the function gives the tensor another shape.
    let vector = protected(|| unsafe { anvil_call_r(c"as_vector_of_one".as_ptr(), x) })?;
    Ok((scope.keep(vector), true))
}

/// A subscript of a vector: several axes of it are none to R.
fn as_vector_subscript(i: SEXP, scope: &Scope) -> Outcome {
    let is_value = value::is_tensor(i) || value::is_tracer(i);
    let vector = is_value || !is_object(i) && matches!(kind(i), LGLSXP | INTSXP | REALSXP);
    if !vector || (if is_value { shape_of(i)?.rank() } else { ints(value::sizes_of(i)).len() }) < 2 {
        return Ok(i);
    }
    // SAFETY: inside `protected`; the function gives it another shape.
    Ok(scope.keep(protected(|| unsafe { anvil_call_r(c"as_vector_subscript".as_ptr(), i) })?))
}

/// The arguments after the entry point.
fn arguments(args: SEXP) -> [SEXP; 6] {
    let mut rest = pairs(args).skip(1);
    [(); 6].map(|()| rest.next().map_or(nil(), |(_, x)| x))
}

/// The mode of a call: operators have none, and fail.
fn mode_of(x: SEXP) -> Outcome<Mode> {
    match kind(x) {
        NILSXP => Ok(Mode::Error),
        _ => Ok(Mode::decode(&Attrs::new().with("mode", attr(x)?))?),
    }
}

fn shape_of(x: SEXP) -> Outcome<Shape> {
    Ok(if value::is_tracer(x) {
        trace::shape_of(x)
    } else if value::is_tensor(x) {
        Tensor::header(x)?.shape()
    } else {
        trace::number_argument(x)?.1
    })
}

fn wrong<T>(axis: Axis, got: String, hint: &str) -> Outcome<T> {
    let expected = "numbers, a logical vector, a list of numbers, or a tensor of integers".into();
    Err(Error::Subscript { axis, expected, got, hint: hint.into() }.into())
}

/// R takes `x[i = 1]` for `x[1]`, and `x[1, dorp = FALSE]` for a subscript more.
fn named(name: &str) -> Error {
    Error::Arg {
        arg: name.into(),
        expected: "a subscript without a name, or `drop`".into(),
        got: "an argument of another name".into(),
        hint: "Subscripts are told by their positions.".into(),
    }
}

impl Subscripts {
    /// Reads the subscripts of a call: `dots` are their expressions, the frame holds their values.
    fn new(
        x: SEXP,
        names: SEXP,
        [dots, frame, one, mode]: [SEXP; 4],
        assigns: bool,
        scope: &Scope,
    ) -> Outcome<Subscripts> {
        let mut shape = shape_of(x)?;
        let one = value::flag_of(one) == Some(true);
        let mut expressions = Vec::with_capacity(4);
        for (tag, expression) in pairs(dots) {
            if tag != nil() {
                // SAFETY: a tag is a symbol.
                return Err(named(&text(unsafe { PRINTNAME(tag) })).into());
            }
            expressions.push(expression);
        }
        // SAFETY: a constant of R.
        let is_missing = |x: SEXP| x == unsafe { R_MissingArg };
        if expressions.len() == 1 && is_missing(expressions[0]) {
            expressions.clear();
        }
        let mut subscripts = Subscripts { chosen: Vec::with_capacity(expressions.len()), flat: false };
        let mut values = Vec::with_capacity(expressions.len());
        for (i, &expression) in expressions.iter().enumerate() {
            // As in R, a variable that is a missing argument makes its subscript empty.
            let empty = is_missing(expression) || kind(expression) == SYMSXP && is_left_out(i, frame)?;
            if empty {
                // SAFETY: as above.
                values.push(unsafe { R_MissingArg });
                continue;
            }
            let value = evaluated(expression, i, frame, scope)?;
            let is_only = !one && expressions.len() == 1;
            values.push(if is_only && single_subscript::are_labels(value, &shape) {
                single_subscript::rows_of_labels(value, names, scope)?
            } else {
                let value = subscript_value::known(value, names, i, scope)?;
                match shape.get(i) {
                    Some(&size) if !one && expressions.len() == shape.rank() => {
                        subscript_value::all_but_several(value, size, mode, scope)?
                    }
                    _ => value,
                }
            });
        }
        if assigns && !one && values.len() == 1 && single_subscript::is_computed_mask(values[0], &shape)? {
            subscripts.chosen.push(Chosen::Where(values[0]));
            return Ok(subscripts);
        }
        if !assigns && !one && single_subscript::masks_elements(x, &shape, &values)? {
            subscripts.chosen.push(Chosen::Mask(values[0]));
            return Ok(subscripts);
        }
        if !one && values.len() == 1 && shape.rank() > 1 {
            if let Some(selection) = single_subscript::elements(&shape, values[0], scope)? {
                subscripts.chosen.push(Chosen::Known(selection));
                subscripts.flat = true;
                return Ok(subscripts);
            }
            let rows = single_subscript::are_computed_rows(values[0], &shape)?;
            if rows {
                let given = tree::list_of(&[values[0], value::sizes_of(x)], scope)?;
                // SAFETY: inside `protected`; the function gives a vector of positions.
                let at = protected(|| unsafe { anvil_call_r(c"positions_of_rows".as_ptr(), given) })?;
                values[0] = scope.keep(at);
            }
            if rows || !is_missing(values[0]) && single_subscript::is_vector(x, &shape)? {
                subscripts.flat = true;
                shape = Shape::try_new(vec![shape.size()])?;
            }
        }
        if !one && values.len() == 1 && shape.rank() == 1 && !is_missing(values[0]) {
            values[0] = as_vector_subscript(values[0], scope)?;
        }
        if !one && values.len() == 1 && shape.rank() > 1 {
            if value::has_s4_bit() {
                expressions = as_written(expressions, frame, scope)?;
            }
            let (i, expression) = (values[0], expressions[0]);
            if let Some(error) = single_subscript::refused(&shape, i, expression, frame, assigns, scope)? {
                return Err(error.into());
            }
        }
        check_count(expressions.len(), &shape)?;
        if one && expressions.len() < shape.rank() {
            let each = single_subscript::letters(shape.rank());
            let hint = format!("An element has a subscript for each axis: `x[[{each}]]`.");
            return Err(Error::SubscriptCount { got: expressions.len(), shape: shape.clone(), hint }.into());
        }
        if value::has_s4_bit() && expressions.iter().any(|&x| is_integer(x)) {
            expressions = as_written(expressions, frame, scope)?;
        }
        for (i, (&x, &expression)) in values.iter().zip(&expressions).enumerate() {
            let (axis, size) = (Axis(i), shape[i]);
            let chosen = match is_missing(x) {
                true => Chosen::All,
                false if !assigns && !one && single_subscript::masks_axis(x, size)? => Chosen::Mask(x),
                false => {
                    let picked = if assigns || one { None } else { subscript_value::picked(x, scope)? };
                    if let Some((at, mask)) = picked {
                        subscripts.chosen.push(Chosen::Picked(at, mask));
                        continue;
                    }
                    let x = match assigns && single_subscript::masks_axis(x, size)? {
                        true => as_vector_subscript(x, scope)?,
                        false if one => x,
                        false => subscript_value::all_but_one(x, size, mode, scope)?,
                    };
                    choose(x, is_range(expression), axis, size)?
                }
            };
            if one && !chosen.is_one()? {
                let (expected, hint) =
                    ("one number or 0-d tensor".into(), "`x[...]` takes several elements.".into());
                let got = if is_missing(x) { "empty".into() } else { value::describe(x) };
                return Err(Error::Subscript { axis, expected, got, hint }.into());
            }
            subscripts.chosen.push(chosen);
        }
        Ok(subscripts)
    }

    /// The names along the axes of the selected elements. As in R, `x[i]` of a vector has one, `x[[i]]` none.
    fn names(&self, names: SEXP, one: bool, drop: bool, scope: &Scope) -> Outcome {
        let of_vector = !one && self.chosen.len() == 1 && names != nil() && len(names) == 1;
        let left = self.chosen.iter().map(|chosen| {
            Ok(match chosen {
                Chosen::Known(selection) if of_vector => Left::Some(selection),
                _ if drop && chosen.is_one()? => Left::Nothing,
                Chosen::All | Chosen::Mask(_) => Left::All,
                Chosen::Known(selection) => Left::Some(selection),
                Chosen::Dynamic(_) | Chosen::Where(_) | Chosen::Picked(..) => Left::Unknown,
            })
        });
        let left: Vec<Left> = left.collect::<Outcome<_>>()?;
        axis_names::subset(names, &left, scope)
    }

    /// Reads the selected elements, or with a value replaces them.
    fn call(&self, x: SEXP, new: Option<SEXP>, drop: bool, mode: Mode, scope: &Scope) -> Outcome {
        let new = new.map(|new| operands::as_assigned(x, new, scope)).transpose()?;
        let tensors = self.chosen.iter().filter_map(|chosen| match chosen {
            Chosen::Dynamic(x) | Chosen::Where(x) | Chosen::Mask(x) | Chosen::Picked(x, _) => Some(*x),
            _ => None,
        });
        let operands: Vec<SEXP> = [x].into_iter().chain(new).chain(tensors).collect();
        match trace::trace_of(&operands)? {
            Some((trace, handle)) => {
                let made = self.traced(x, new, drop, mode, &trace, handle, scope)?;
                factor::keep_levels(made, x)?;
                Ok(made)
            }
            None => self.eager(x, new, drop, mode, scope),
        }
    }

    fn apply(
        &self,
        applier: &mut Applier,
        x: Value,
        new: Option<Value>,
        subscripts: &[Subscript],
        drop: bool,
        mode: Mode,
    ) -> Outcome<Vec<Value>> {
        Ok(match new {
            Some(new) if self.flat => applier.elements_assign(x, subscripts, new, mode)?,
            Some(new) => applier.subset_assign(x, subscripts, new, mode)?,
            None if self.flat => applier.elements(x, subscripts, drop, mode)?,
            None => applier.subset(x, subscripts, drop, mode)?,
        })
    }

    /// In a trace: positions that are known are static.
    fn traced(
        &self,
        x: SEXP,
        new: Option<SEXP>,
        drop: bool,
        mode: Mode,
        trace: &trace::Trace,
        handle: SEXP,
        scope: &Scope,
    ) -> Outcome {
        let operand = |x: SEXP| trace::operand(trace, x, scope);
        let of = |at: &[i32]| if new.is_some() || self.flat { None } else { pattern(at) };
        let (mut subscripts, mut patterns) = (Vec::with_capacity(self.chosen.len()), vec![]);
        for chosen in &self.chosen {
            subscripts.push(match chosen {
                Chosen::All | Chosen::Mask(_) => Subscript::All,
                Chosen::Dynamic(x) | Chosen::Picked(x, _) => Subscript::Dynamic(operand(*x)?),
                Chosen::Where(x) => Subscript::Where(operand(*x)?),
                Chosen::Known(Selection::At(at)) => Subscript::At(Start::Known(*at)),
                &Chosen::Known(Selection::Range { start, size, stride }) => {
                    Subscript::Range { start: Start::Known(start), size, stride }
                }
                Chosen::Known(Selection::Positions(at)) => match of(at) {
                    None => Subscript::Positions(operand(trace::new_vector(at, scope)?)?),
                    Some(pattern) => {
                        patterns.push((Axis(subscripts.len()), pattern));
                        Subscript::All
                    }
                },
            });
        }
        let (x, new) = (operand(x)?, new.map(operand).transpose()?);
        let checked = mode == Mode::Error && subscripts.iter().any(|s| matches!(s, Subscript::Dynamic(_)));
        let site = if checked { site(scope)? } else { Site::default() };
        traced(trace, handle, site, false, scope, |applier| {
            let x = applier.at_patterns(x, &patterns)?;
            self.apply(applier, x, new, &subscripts, drop, mode)
        })
    }

    /// Eagerly: positions are operands of the program; its signature has kinds and sizes of subscripts.
    fn eager(&self, x: SEXP, new: Option<SEXP>, drop: bool, mode: Mode, scope: &Scope) -> Outcome {
        let mut leaves: Vec<Leaf> = [x].into_iter().chain(new).map(leaf).collect::<Outcome<_>>()?;
        let before = leaves.len();
        let settings = settings::current()?;
        // The address of this text is the first word of no other signature.
        static SUBSET: &str = "subset";
        let flags =
            u64::from(new.is_some()) | u64::from(drop) << 1 | u64::from(self.flat) << 2 | (mode as u64) << 3;
        let mut words = Vec::with_capacity(16 + 2 * self.chosen.len());
        words.extend([SUBSET.as_ptr() as u64, settings.word(), flags, self.chosen.len() as u64]);
        let mut starts = Vec::new();
        for chosen in &self.chosen {
            match chosen {
                Chosen::All => words.push(0),
                Chosen::Known(Selection::At(at)) => {
                    words.push(1);
                    starts.push(*at as i32);
                }
                &Chosen::Known(Selection::Range { start, size, stride }) if stride == 1 || size == 0 => {
                    words.extend([2, size as u64]);
                    starts.push(start as i32);
                }
                &Chosen::Known(Selection::Range { start, size, stride }) => {
                    words.push(3);
                    let at: Vec<i32> =
                        (0..size as isize).map(|i| (start as isize + i * stride) as i32).collect();
                    leaves.push(leaf(trace::new_vector(&at, scope)?)?);
                }
                Chosen::Known(Selection::Positions(at)) => {
                    words.push(3);
                    leaves.push(leaf(trace::new_vector(at, scope)?)?);
                }
                // A mask with elements is known.
                Chosen::Dynamic(x) | Chosen::Where(x) | Chosen::Mask(x) | Chosen::Picked(x, _) => {
                    words.push(4);
                    leaves.push(leaf(*x)?);
                }
            }
        }
        if !starts.is_empty() {
            leaves.push(leaf(trace::new_vector(&starts, scope)?)?);
        }
        leaves.iter().for_each(|leaf| leaf.add_words(&mut words));
        let words = (!audit::is_open()).then_some(words);
        eager(&leaves, words, nil(), false, scope, |applier, operands| {
            let (mut given, mut many) = (0, operands[before..].iter().copied());
            let starts = operands[operands.len() - 1];
            let mut start = |applier: &mut Applier| {
                given += 1;
                applier.nth(starts, given - 1).map(Start::Given)
            };
            let mut operand = || many.next().expect("each of these subscripts has an operand");
            let mut subscripts = Vec::with_capacity(self.chosen.len());
            for chosen in &self.chosen {
                subscripts.push(match chosen {
                    Chosen::All => Subscript::All,
                    Chosen::Known(Selection::At(_)) => Subscript::At(start(applier)?),
                    &Chosen::Known(Selection::Range { size, stride, .. }) if stride == 1 || size == 0 => {
                        Subscript::Range { start: start(applier)?, size, stride: 1 }
                    }
                    Chosen::Known(_) => Subscript::Positions(operand()),
                    Chosen::Dynamic(_) | Chosen::Where(_) | Chosen::Mask(_) | Chosen::Picked(..) => {
                        Subscript::Dynamic(operand())
                    }
                });
            }
            let new = new.map(|_| operands[1]);
            self.apply(applier, operands[0], new, &subscripts, drop, mode)
        })
    }
}

/// The selection of a value that is not missing; `range` says whether it is written as `a:b`.
fn choose(x: SEXP, range: bool, axis: Axis, size: usize) -> Outcome<Chosen> {
    // The elements of a tensor are known, unlike those of a traced value: as a mask it is R's logicals.
    let mask = value::is_tensor(x) && Tensor::header(x)?.dtype == DType::I1 && kind(x) == LGLSXP;
    if !mask && (value::is_tensor(x) || value::is_tracer(x)) {
        return Ok(Chosen::Dynamic(x));
    }
    // `NULL` is no positions, as in R.
    if x == nil() {
        return Ok(Chosen::Known(Selection::Range { start: 0, size: 0, stride: 1 }));
    }
    if !mask && is_object(x) {
        return wrong(axis, value::describe(x), "");
    }
    let vector = matches!(kind(x), LGLSXP | INTSXP | REALSXP);
    let rank = if vector { ints(value::sizes_of(x)).len() } else { 0 };
    if rank > 1 {
        let hint = "Give each axis a subscript of its own.";
        return wrong(axis, format!("an array of {rank} axes"), hint);
    }
    Ok(Chosen::Known(match kind(x) {
        LGLSXP => select_mask(cast::slice::<i32>(vector::bytes(x, 4)?.as_slice()), axis, size)?,
        INTSXP => {
            // R expands `a:b` only when its elements are read.
            let ends = compact::ends(x).filter(|_| rank == 0);
            if let Some(selection) =
                ends.and_then(|[first, last]| select_range(first.into(), last.into(), size))
            {
                return Ok(Chosen::Known(selection));
            }
            let bytes = vector::bytes(x, 4)?;
            select(Numbers::Integers(cast::slice::<i32>(bytes.as_slice())), range || rank == 1, axis, size)?
        }
        REALSXP => {
            let bytes = vector::bytes(x, 8)?;
            select(Numbers::Doubles(cast::slice::<f64>(bytes.as_slice())), range || rank == 1, axis, size)?
        }
        VECSXP => select(Numbers::Doubles(&listed(x, axis)?), true, axis, size)?,
        _ => return wrong(axis, value::describe(x), ""),
    }))
}

/// The numbers in a list.
fn listed(list: SEXP, axis: Axis) -> Outcome<Vec<f64>> {
    let number = |i: usize| {
        let x = element(list, i);
        let bare = !is_object(x) && matches!(kind(x), INTSXP | REALSXP) && len(x) == 1;
        if !bare {
            let hint = "`nv_concatenate()` joins 0-d tensors to an index.";
            return wrong(axis, format!("a list with {}", value::describe(x)), hint);
        }
        let bytes = vector::bytes(x, if kind(x) == REALSXP { 8 } else { 4 })?;
        Ok(match kind(x) {
            REALSXP => cast::slice::<f64>(bytes.as_slice())[0],
            _ => match cast::slice::<i32>(bytes.as_slice())[0] {
                i32::MIN => f64::NAN,
                n => n.into(),
            },
        })
    };
    (0..len(list)).map(number).collect()
}
