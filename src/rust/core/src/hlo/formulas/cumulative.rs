//! Cumulations: StableHLO has windows that end at each element, which a compiler may fold one by one, in time
//! that grows with the square of their number. Here it takes as many steps as that number has bits, and in
//! each, what was folded of so many elements is folded with what was of as many before.
//!
//! Source: W. D. Hillis and G. L. Steele, "Data parallel algorithms", Communications of the ACM 29 (1986).

use crate::kernels::reductions::cumulative::Cumulation;
use crate::kernels::reductions::fold::Fold;
use crate::ops::{Binary, Compare, Cumulative, Reduction, Unary, Var};

/// The logarithm of the sum of two exponentials.
fn log_add_exp<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>) -> Var<'m, 'b> {
    let (high, low) = (x.binary(Binary::max, y), x.binary(Binary::min, y));
    // The difference of equal infinities would be NaN.
    let apart = high.compare(Compare::eq, low).select(x.of(0.0), low - high);
    let sum = high + apart.exp().unary(Unary::log1p);
    let infinite = high.unary(Unary::abs).compare(Compare::eq, x.of(f64::INFINITY));
    infinite.select(high, sum)
}

/// The cumulated operand.
pub(super) fn cumulative<'m, 'b>(op: &Cumulative, x: Var<'m, 'b>) -> Var<'m, 'b> {
    let aval = x.aval();
    let (mut y, mut step) = (x.convert(Cumulative::wide(aval.dtype)), 1);
    let fold = match op.by {
        Cumulation::Sum => Fold::Sum,
        Cumulation::Prod => Fold::Prod,
        Cumulation::Max | Cumulation::LogSumExp => Fold::Max,
        Cumulation::Min => Fold::Min,
    };
    let nothing = Reduction { fold, axes: vec![], drop: true }.identity(y.aval().dtype, false);
    while step < aval.shape[op.axis.0] {
        let earlier = op.earlier(y, step, nothing);
        y = match op.by {
            Cumulation::Sum => earlier + y,
            Cumulation::Prod => earlier * y,
            Cumulation::Max => earlier.binary(Binary::max, y),
            Cumulation::Min => earlier.binary(Binary::min, y),
            Cumulation::LogSumExp => log_add_exp(earlier, y),
        };
        step *= 2;
    }
    y.convert(aval.dtype)
}
