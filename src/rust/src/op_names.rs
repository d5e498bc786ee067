//! Names along the axes of what ops give, by the rules of base R.
//!
//! An op that is listed nowhere here drops them: a name is never wrong. The mechanism is called where results of ops
//! are wrapped, if there is an operand with names.

use crate::axis_names::{fitting, has, listed, of, put, renamed, sizes, AxisNames};
use crate::ffi::*;
use crate::guard::{protected, Outcome, Scope};
use crate::op::numbers;
use anvil_core::apply::is_elementwise;

/// Ops that have a result for each element of the first operand, where it is, and have no row as such.
const IN_PLACE: [&str; 8] =
    ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp", "softmax", "log_softmax", "stop_gradient"];

/// Ops whose results have the names of the first operand alone, as those of `ifelse()` and `pmax()`.
const OF_FIRST: [&str; 3] = ["select", "max", "min"];

/// Ops that take `axes` away, all without them.
const REDUCTIONS: [&str; 11] = [
    "reduce_sum",
    "reduce_prod",
    "reduce_min",
    "reduce_max",
    "reduce_any",
    "reduce_all",
    "reduce_squares",
    "mean",
    "var",
    "sd",
    "logsumexp",
];

/// A call of an op with an operand that has names.
pub struct Named<'a> {
    pub op: &'a str,
    pub operands: &'a [SEXP],
    /// Its parameters: symbols and values.
    pub attrs: &'a [(SEXP, SEXP)],
}

impl Named<'_> {
    /// What the op gives, with its names.
    pub fn follow(&self, out: SEXP, list: bool, scope: &Scope) -> Outcome {
        if !list {
            return self.give(out, self.names(out, scope)?, scope);
        }
        // Each operand in the common dtype.
        if self.op == "promote" {
            for (i, &x) in self.operands.iter().enumerate().filter(|(_, &x)| has(x)) {
                let given = self.give(element(out, i), Some(of(x, scope)?), scope)?;
                // SAFETY: index in range; the running call made the list.
                unsafe { SET_VECTOR_ELT(out, i as Length, given) };
            }
        }
        Ok(out)
    }

    /// Gives a result names that fit it. One that is an operand is the user's own: it is copied.
    fn give(&self, out: SEXP, names: Option<SEXP>, scope: &Scope) -> Outcome {
        let Some(names) = names else { return Ok(out) };
        let is_operand = self.operands.contains(&out);
        // SAFETY: inside `protected`; other results were made by the running call.
        let given = protected(|| unsafe {
            let names = Rf_protect(fitting(out, names));
            let given = if is_operand { renamed(out, names) } else { out };
            if !is_operand && names != nil() {
                put(given, names);
            }
            Rf_unprotect(1);
            given
        })?;
        Ok(scope.keep(given))
    }

    /// The names of the result; `None` if no rule says any.
    fn names(&self, out: SEXP, scope: &Scope) -> Outcome<Option<SEXP>> {
        let (first, rank) = (self.operands[0], sizes(out).len());
        // Of a vector no names are those of rows or columns.
        let of_axis = |x: SEXP, axis: usize| -> Outcome<AxisNames> {
            Ok(if sizes(x).len() == 2 { AxisNames::of(of(x, scope)?, axis) } else { AxisNames::none() })
        };
        // What R computes of columns or unknowns, it does not say what they are called.
        let unlabelled = |x: SEXP, axis: usize| of_axis(x, axis).map(|own| AxisNames::unlabelled(own.names));
        let second = self.operands.get(1).copied().unwrap_or(first);
        let by_columns = || listed(&[unlabelled(first, 1)?, unlabelled(second, 1)?], scope).map(Some);
        let table = |rows: usize, columns: usize| -> Outcome<Option<SEXP>> {
            if rank != 2 {
                return Ok(None);
            }
            listed(&[of_axis(first, rows)?, of_axis(second, columns)?], scope).map(Some)
        };
        match self.op {
            "matrix_product" | "matmul" => table(0, 1),
            "crossprod" => table(1, 1),
            "tcrossprod" => table(0, 0),
            // The unknowns are those of the columns.
            "solve" if rank == 1 && !self.is_set("adjoint")? => {
                listed(&[unlabelled(first, 1)?], scope).map(Some)
            }
            "solve" if rank == 2 && !self.is_set("adjoint")? => by_columns(),
            "cov" | "cor" if rank == 2 => by_columns(),
            "inverse" if rank == 2 => {
                listed(&[unlabelled(first, 1)?, unlabelled(first, 0)?], scope).map(Some)
            }
            "chol" if rank == 2 && !self.is_set("lower")? => Ok(Some(of(first, scope)?)),
            "transpose" | "reverse" | "static_slice" => self.moved(of(first, scope)?, scope).map(Some),
            "reshape" if sizes(first) == [1] && sizes(out) == [1] => Ok(Some(of(first, scope)?)),
            op if REDUCTIONS.contains(&op) => self.left(of(first, scope)?, rank, scope).map(Some),
            op if IN_PLACE.contains(&op) || OF_FIRST.contains(&op) => self.elementwise(&[first], out, scope),
            op if is_elementwise(op) => self.elementwise(self.operands, out, scope),
            _ => Ok(None),
        }
    }

    /// The names of the first operand that has some, and the shape of the result.
    fn elementwise(&self, operands: &[SEXP], out: SEXP, scope: &Scope) -> Outcome<Option<SEXP>> {
        let shape = sizes(out);
        let found = operands.iter().find(|&&x| has(x) && sizes(x) == shape);
        found.map_or(Ok(nil()), |&x| of(x, scope)).map(Some)
    }

    /// The names that a permutation of the axes, or positions of each in order, leave.
    fn moved(&self, names: SEXP, scope: &Scope) -> Outcome {
        let sizes = sizes(self.operands[0]);
        let rank = sizes.len();
        let own: Vec<AxisNames> = (0..rank).map(|i| AxisNames::of(names, i)).collect();
        let each = |x: Option<Vec<f64>>, i: usize, default: f64| match x {
            Some(x) => x.get(if x.len() == 1 { 0 } else { i }).copied().unwrap_or(f64::NAN),
            None => default,
        };
        let mut parts = Vec::with_capacity(rank);
        for (i, &own) in own.iter().enumerate() {
            let size = sizes[i];
            let (start, step, count) = match self.op {
                "reverse" if self.axes("axes", rank)?.is_none_or(|axes| axes.contains(&i)) => {
                    (size, -1, size)
                }
                "static_slice" => {
                    let start = each(self.numbers("start_indices")?, i, 1.0);
                    let limit = each(self.numbers("limit_indices")?, i, size as f64);
                    let stride = each(self.numbers("strides")?, i, 1.0);
                    if !(1.0 <= start && stride >= 1.0 && limit <= size as f64) {
                        return Ok(nil());
                    }
                    (
                        start as usize,
                        stride as isize,
                        ((limit - start) / stride + 1.0).floor().max(0.0) as usize,
                    )
                }
                _ => (1, 1, size),
            };
            let at = |k: usize| (start as isize - 1 + k as isize * step) as usize;
            parts.push(match own.names == nil() || (start, step, count) == (1, 1, size) {
                true => own,
                false if len(own.names) != size => AxisNames::none(),
                false => own.picked(count, at, scope)?,
            });
        }
        if self.op == "transpose" {
            let order = self.axes("permutation", rank)?.unwrap_or((0..rank).rev().collect());
            if order.len() != rank {
                return Ok(nil());
            }
            parts = order.iter().map(|&i| parts[i]).collect();
        }
        listed(&parts, scope)
    }

    /// The names of the axes that a reduction leaves. Those that it keeps with size 1 have none.
    fn left(&self, names: SEXP, rank: usize, scope: &Scope) -> Outcome {
        // SAFETY: reads an attribute.
        let whole = ints(attribute(self.operands[0], unsafe { R_DimSymbol })).len();
        let Some(axes) = self.axes("axes", whole)? else { return Ok(nil()) };
        let keeps = rank == whole;
        let parts: Vec<AxisNames> = (0..whole)
            .filter(|i| keeps || !axes.contains(i))
            .map(|i| if axes.contains(&i) { AxisNames::none() } else { AxisNames::of(names, i) })
            .collect();
        listed(&parts, scope)
    }

    fn is_set(&self, flag: &str) -> Outcome<bool> {
        Ok(self.numbers(flag)? == Some(vec![1.0]))
    }

    fn numbers(&self, name: &str) -> Outcome<Option<Vec<f64>>> {
        // SAFETY: tags are symbols.
        let found = self.attrs.iter().find(|&&(tag, _)| text(unsafe { PRINTNAME(tag) }) == name);
        found.map_or(Ok(None), |&(_, x)| numbers(x))
    }

    /// Axes of so many, from 0; those that are given are counted from 1, or negative from the end.
    fn axes(&self, name: &str, rank: usize) -> Outcome<Option<Vec<usize>>> {
        let axis = |&n: &f64| (if n < 0.0 { n + rank as f64 } else { n - 1.0 }) as usize;
        Ok(self.numbers(name)?.map(|given| given.iter().map(axis).filter(|&i| i < rank).collect()))
    }
}
