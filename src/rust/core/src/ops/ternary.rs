//! Three operands of one shape: select and clamp.

use super::attrs::Attrs;
use super::binary::{Binary, Tiles};
use super::compare::Compare;
use super::contract::{member, named, Form, Linear, OpDef, Promotion};
use super::lower::{elementwise, op_if, Formula, HloOp, Lowering, Syntax};
use super::rules::{Batch, Jvp, Vjp};
use super::{Op, Row};
use crate::dtype::{dispatch, Bool, DType, Element, ANY, BOOLEAN, ORDERED};
use crate::error::Result;
use crate::exec::vm::native;
use crate::exec::vm::Kernel;
use crate::graph::syntax::Parsed;
use crate::kernels::cast::by_width;
use crate::kernels::tile::{self, tiles, TILE};
use crate::kernels::wide::wide;
use crate::tensor::{Aval, View, ViewMut};
use num_complex::Complex;

/// An elementwise op of three operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ternary {
    /// The second operand where the first is true, else the third. Ambiguous if both of these are.
    Select,
    /// The second operand, kept between the first and the third: `min(max(x, lo), hi)`. Ambiguous if it is.
    Clamp,
}

static SELECT: Row = Row {
    native: Some(native::Op::Select),
    ..super::written("select", "nv_ifelse", &["pred", "true_value", "false_value"], ANY)
};
static CLAMP: Row = Row {
    native: Some(native::Op::Clamp),
    ..super::written("clamp", "nv_clamp", &["min_val", "operand", "max_val"], ORDERED)
};

impl Ternary {
    /// All of them, in the order of the catalogue.
    pub const ALL: &'static [Ternary] = &[Ternary::Select, Ternary::Clamp];

    /// The op's row.
    pub fn row(self) -> &'static Row {
        match self {
            Ternary::Select => &SELECT,
            Ternary::Clamp => &CLAMP,
        }
    }
}

impl OpDef for Ternary {
    fn row(&self) -> &'static Row {
        Ternary::row(*self)
    }

    fn rows() -> Vec<&'static Row> {
        Ternary::ALL.iter().map(|op| op.row()).collect()
    }

    fn decode(row: &'static Row, _attrs: &Attrs, _operands: &[&Aval]) -> Result<Op> {
        member(Ternary::ALL, row)
    }

    fn promotion(row: &'static Row) -> Promotion {
        // The bounds follow the operand.
        if row.name == CLAMP.name {
            Promotion::Follow(1)
        } else {
            Promotion::JoinAfterCondition
        }
    }

    fn parse(form: &Form) -> Parsed<Ternary> {
        named(Ternary::ALL, 3, form)
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let (x, y, z) = (operands[0], operands[1], operands[2]);
        let row = self.row();
        row.check_same(y, z)?;
        match self {
            Ternary::Select => {
                if x.dtype != DType::I1 {
                    let hint = "A condition is boolean: compare first, such as with `x != 0L`.";
                    return Err(Row { accepts: BOOLEAN, ..SELECT }.unsupported(0, x.ranked().dtype, hint));
                }
                row.check_same(&Aval { shape: x.shape.clone(), ..y.clone() }, y)?;
                Ok(vec![Aval { ambiguous: y.ambiguous_with(z), ..y.clone() }])
            }
            Ternary::Clamp => {
                row.check(1, y)?;
                row.check_same(x, y)?;
                Ok(vec![y.clone()])
            }
        }
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let (x, out) = ([&operands[0], &operands[1], &operands[2]], &mut results[0]);
        match self {
            Ternary::Select => by_width!(out.dtype, T => tile::map3::<Bool, T>(select, x, out)),
            Ternary::Clamp => dispatch!(out.dtype, T => tile::map3::<T, T>(clamp, x, out)),
        }
    }

    fn is_elementwise(&self, _from: &[DType]) -> bool {
        true
    }

    fn kernel(&self, from: &[DType]) -> Option<Kernel> {
        Some(match self {
            Ternary::Select => by_width!(from[1], T => Kernel::of3::<Bool, T>(select)),
            Ternary::Clamp => dispatch!(from[1], T => Kernel::of3::<T, T>(clamp)),
        })
    }

    fn vjp(&self) -> Vjp<'_> {
        match self {
            Ternary::Select => Vjp::by(|at| {
                let (x, g) = (at.x(0), at.g());
                vec![None, Some(x.select(g, g.of(0.0))), Some(x.select(g.of(0.0), g))]
            }),
            // A bound gets the gradient of the elements that it replaces.
            Ternary::Clamp => Vjp::by(|at| {
                let (y, z, out, g) = (at.x(1), at.x(2), at.y(), at.g());
                let inside = y.compare(Compare::eq, out).select(g, g.of(0.0));
                let outside = g - inside;
                let above = out.compare(Compare::eq, z);
                let zero = g.of(0.0);
                vec![Some(above.select(zero, outside)), Some(inside), Some(above.select(outside, zero))]
            }),
        }
    }

    fn jvp(&self) -> Jvp<'_> {
        match self {
            Ternary::Select => Jvp::Linear,
            Ternary::Clamp => Jvp::of_one(|at| {
                let (y, z, out) = (at.x(1), at.x(2), at.y());
                let bound = out.compare(Compare::eq, z).select(at.t(2), at.t(0));
                y.compare(Compare::eq, out).select(at.t(1), bound)
            }),
        }
    }

    fn batch(&self) -> Batch<'_> {
        Batch::Same
    }

    fn lower(&self, operands: &[Aval]) -> Lowering<'_> {
        match self {
            Ternary::Select => {
                Lowering::Op(HloOp { name: "stablehlo.select", syntax: Syntax::FirstAndResult })
            }
            // XLA has no clamp of booleans.
            Ternary::Clamp => {
                let same = operands[1].dtype != DType::I1;
                op_if(same, elementwise("stablehlo.clamp"), Formula::ClampBooleans)
            }
        }
    }

    fn linear(&self) -> Linear {
        match self {
            Ternary::Select => Linear::In(&[1, 2]),
            Ternary::Clamp => Linear::In(&[]),
        }
    }
}

/// Element types of a selection.
trait Bits: Element {
    /// `y` if `x`, else `z`, by arithmetic: an `if` is compiled to a branch, which is mispredicted half of
    /// the time.
    fn pick(x: bool, y: Self, z: Self) -> Self;
}
macro_rules! bits {
    ($($type:ty)+) => {$(
        impl Bits for $type {
            #[inline(always)]
            fn pick(x: bool, y: Self, z: Self) -> Self {
                let mask = <$type>::from(x).wrapping_neg();
                (y & mask) | (z & !mask)
            }
        }
    )+};
}
bits! { u8 u16 u32 u64 }
impl Bits for Complex<f64> {
    #[inline(always)]
    fn pick(x: bool, y: Self, z: Self) -> Self {
        let part = |y: f64, z: f64| f64::from_bits(u64::pick(x, y.to_bits(), z.to_bits()));
        Complex::new(part(y.re, z.re), part(y.im, z.im))
    }
}

fn select<T: Bits>(x: &[Bool], y: &[T], z: &[T], out: &mut [T]) {
    wide(|| {
        for (((out, x), &y), &z) in out.iter_mut().zip(x).zip(y).zip(z) {
            *out = T::pick(x.get(), y, z);
        }
    });
}

// `min(max(x, lo), hi)` as the ops have it: NaN anywhere gives NaN, -0 is below 0, and `lo > hi` gives `hi`.
fn clamp<T: Tiles>(lo: &[T], x: &[T], hi: &[T], out: &mut [T]) {
    let (Some(max), Some(min)) = (T::tile(Binary::max), T::tile(Binary::min)) else { return };
    let mut raised = [T::default(); TILE];
    // Tiles of whole rows are longer than others.
    for range in tiles(out.len()) {
        let raised = &mut raised[..range.len()];
        (max.slices)(&x[range.clone()], &lo[range.clone()], raised);
        (min.slices)(raised, &hi[range.clone()], &mut out[range]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clamp_is_the_maximum_then_the_minimum() {
        let clamped = |lo: f32, x: f32, hi: f32| {
            let mut out = [1.0];
            clamp(&[lo], &[x], &[hi], &mut out);
            out[0]
        };
        assert_eq!(
            [clamped(0.0, 5.0, 2.0), clamped(0.0, -5.0, 2.0), clamped(3.0, 5.0, 2.0)],
            [2.0, 0.0, 2.0]
        );
        assert!(clamped(0.0, -0.0, 1.0).is_sign_positive() && clamped(-1.0, 0.0, -0.0).is_sign_negative());
        assert!(clamped(f32::NAN, 0.0, 1.0).is_nan() && clamped(0.0, f32::NAN, 1.0).is_nan());
        assert!(clamped(0.0, 0.0, f32::NAN).is_nan());
    }
}
