//! Folds and cumulations of short lines, step by step in the order of the kernels.

use super::Lowering;
use crate::dtype::DType;
use crate::exec::vm::native;
use crate::graph::Value;
use crate::kernels::reductions::cumulative::Cumulation;
use crate::kernels::reductions::fold::Fold;
use crate::kernels::reductions::partials::LANES;
use crate::ops::Cumulative;
use crate::passes::joins;
use crate::shape::Axis;
use crate::tensor::{Aval, Literal};
use std::sync::Arc;

/// Elements of a cumulative sum of floats that are summed by themselves: see
/// [`cumulative_sums`](crate::kernels::reductions::cumulative).
const GROUP: usize = 8;

impl Lowering<'_> {
    /// The folds of the elements along some axes.
    pub(super) fn folds(
        &mut self,
        fold: Fold,
        axes: &[Axis],
        operand: Value,
        result: &Aval,
    ) -> Option<Arc<[usize]>> {
        let (from, elements) = (self.body.aval(operand).clone(), self.elements(operand)?);
        let mut lines = vec![vec![]; result.shape.size()];
        for (i, &element) in elements.iter().enumerate() {
            let (mut rest, mut to, mut stride) = (i, 0, 1);
            for (axis, &size) in from.shape.iter().enumerate() {
                if !axes.contains(&Axis(axis)) {
                    to += rest % size * stride;
                    stride *= size;
                }
                rest /= size;
            }
            lines[to].push(element);
        }
        let converts = from.dtype == DType::F32 && matches!(fold, Fold::Sum | Fold::Prod | Fold::Squares);
        if converts {
            // There are half as many doubles in a vector.
            return lines.iter().map(|line| self.fold(fold, from.dtype, line)).collect();
        }
        self.alike(result, &lines, |to, line| to.fold(fold, from.dtype, line))
    }

    /// Elements as those of the dtype that they are accumulated in, which is double precision for sums and products of
    /// floats, if it is `wide`.
    fn terms(&mut self, dtype: DType, line: &[usize], wide: bool) -> (DType, Vec<usize>) {
        let acc = if wide && matches!(dtype, DType::F32 | DType::F64) { DType::F64 } else { dtype };
        (acc, line.iter().map(|&x| self.converted(x, dtype, acc)).collect())
    }

    fn converted(&mut self, x: usize, from: DType, to: DType) -> usize {
        if from == to {
            return x;
        }
        self.op(native::Op::Convert(to), vec![x], to)
    }

    /// The fold of elements, in the order of [`joins`]; `None` of no elements.
    fn joined(&mut self, op: native::Op, dtype: DType, terms: &[usize]) -> Option<usize> {
        let mut terms = terms.to_vec();
        for (one, other) in joins(terms.len()) {
            terms[one] = self.op(op, vec![terms[one], terms[other]], dtype);
        }
        terms.first().copied()
    }

    /// The fold of a line, as [`Reduce`](crate::kernels::reductions::fold::Reduce) has it.
    fn fold(&mut self, fold: Fold, dtype: DType, line: &[usize]) -> Option<usize> {
        let (op, start) = match fold {
            Fold::Sum => (native::Op::Add, -0.0),
            Fold::Prod => (native::Op::Mul, 1.0),
            Fold::Max => (native::Op::Max, 0.0),
            Fold::Min => (native::Op::Min, 0.0),
            Fold::Any => (native::Op::Or, 0.0),
            Fold::All => (native::Op::And, 0.0),
            Fold::Squares => return self.squares(dtype, line),
        };
        if line.is_empty() || !native::loop_has(op, dtype) {
            return None;
        }
        let (acc, terms) = self.terms(dtype, line, matches!(fold, Fold::Sum | Fold::Prod));
        let mut sum = self.joined(op, acc, &terms)?;
        if acc == DType::F64 && matches!(op, native::Op::Add | native::Op::Mul) && line.len() == 1 {
            // Nothing was added to it that makes a signalling NaN a quiet one.
            let start = self.literal(Literal::new(start));
            sum = self.op(op, vec![start, sum], acc);
        }
        Some(self.converted(sum, acc, dtype))
    }

    /// The sum of the squares of deviations from the mean, as [`deviations`](crate::kernels::reductions) has it: deviations
    /// are taken from the mean of the first elements, and corrected by their sum.
    fn squares(&mut self, dtype: DType, line: &[usize]) -> Option<usize> {
        if !matches!(dtype, DType::F32 | DType::F64) || line.is_empty() {
            return None;
        }
        let (acc, terms) = self.terms(dtype, line, true);
        let op = |to: &mut Self, op: native::Op, x: usize, y: usize| to.op(op, vec![x, y], acc);
        let [zero, count, infinite, nan] =
            [0.0, line.len() as f64, f64::INFINITY, f64::NAN].map(|x| self.literal(Literal::new(x)));
        let shift = if terms.len() < LANES {
            terms[0]
        } else {
            let part = self.literal(Literal::new(1.0 / LANES as f64));
            let parts: Vec<usize> =
                terms[..LANES].iter().map(|&x| op(self, native::Op::Mul, x, part)).collect();
            self.joined(native::Op::Add, acc, &parts)?
        };
        let apart: Vec<usize> = terms.iter().map(|&x| op(self, native::Op::Sub, x, shift)).collect();
        let squared: Vec<usize> = apart.iter().map(|&x| op(self, native::Op::Mul, x, x)).collect();
        let (sum, squares) =
            (self.joined(native::Op::Add, acc, &apart)?, self.joined(native::Op::Add, acc, &squared)?);
        let off = op(self, native::Op::Div, sum, count);
        let more = op(self, native::Op::Mul, sum, off);
        let less = op(self, native::Op::Sub, squares, more);
        let is_above = self.op(native::Op::Gt, vec![less, zero], DType::I1);
        let made = self.op(native::Op::Select, vec![is_above, less, zero], acc);
        // Too large for a double, or elements that are not finite: these times 0 are NaN.
        let nothing: Vec<usize> = terms.iter().map(|&x| op(self, native::Op::Mul, x, zero)).collect();
        let nothing = self.joined(native::Op::Add, acc, &nothing)?;
        let spoiled = self.op(native::Op::IsNan, vec![nothing], DType::I1);
        let other = self.op(native::Op::Select, vec![spoiled, nan, infinite], acc);
        let finite = self.op(native::Op::IsFinite, vec![squares], DType::I1);
        let made = self.op(native::Op::Select, vec![finite, made, other], acc);
        Some(self.converted(made, acc, dtype))
    }

    /// The cumulations of the elements along an axis.
    pub(super) fn cumulations(
        &mut self,
        op: &Cumulative,
        operand: Value,
        result: &Aval,
    ) -> Option<Arc<[usize]>> {
        let dtype = result.dtype;
        let step = match op.by {
            Cumulation::Sum => native::Op::Add,
            Cumulation::Prod => native::Op::Mul,
            Cumulation::Max => native::Op::Max,
            Cumulation::Min => native::Op::Min,
            Cumulation::LogSumExp => return None,
        };
        if !native::loop_has(step, dtype) {
            return None;
        }
        let elements = self.elements(operand)?;
        let (n, stride) = (result.shape[op.axis.0], result.shape.strides()[op.axis.0]);
        let mut made = elements.to_vec();
        for first in (0..elements.len()).filter(|i| i / stride % n == 0) {
            let mut places: Vec<usize> = (0..n).map(|i| first + i * stride).collect();
            if op.reverse {
                places.reverse();
            }
            let line: Vec<usize> = places.iter().map(|&i| elements[i]).collect();
            let (acc, terms) = self.terms(dtype, &line, matches!(op.by, Cumulation::Sum | Cumulation::Prod));
            let groups = op.by == Cumulation::Sum && acc == DType::F64;
            let sums = if groups { self.grouped_sums(&terms) } else { self.running(step, acc, &terms) };
            for (place, sum) in places.into_iter().zip(sums) {
                made[place] = self.converted(sum, acc, dtype);
            }
        }
        Some(made.into())
    }

    fn running(&mut self, op: native::Op, dtype: DType, terms: &[usize]) -> Vec<usize> {
        let mut made: Vec<usize> = vec![];
        for &x in terms {
            made.push(made.last().map_or(x, |&before| self.op(op, vec![before, x], dtype)));
        }
        made
    }

    /// Cumulative sums of doubles: those of each group, in pairs, added to that of the groups before.
    fn grouped_sums(&mut self, terms: &[usize]) -> Vec<usize> {
        let (mut made, mut carried) = (vec![], None);
        for group in terms.chunks(GROUP) {
            let mut add = |x: usize, y: usize| self.op(native::Op::Add, vec![x, y], DType::F64);
            let mut sums: Vec<usize> = vec![];
            for half in group.chunks(GROUP / 2) {
                let last = sums.last().copied();
                let mut own = vec![half[0]];
                if let Some(&second) = half.get(1) {
                    own.push(add(second, half[0]));
                }
                if let Some(&third) = half.get(2) {
                    own.push(add(third, own[1]));
                }
                if let Some(&fourth) = half.get(3) {
                    let pair = add(fourth, half[2]);
                    own.push(add(pair, own[1]));
                }
                sums.extend(own.into_iter().map(|x| last.map_or(x, |last| add(x, last))));
            }
            made.extend(sums.iter().map(|&sum| carried.map_or(sum, |carried| add(carried, sum))));
            let last = sums.last().copied();
            carried = match (carried, last) {
                (Some(carried), Some(last)) => Some(add(carried, last)),
                (carried, last) => carried.or(last),
            };
        }
        made
    }
}
