//! Many elements into one, over some or all dimensions.

use super::attrs::{logical, vector};
use super::{written, Row};
use crate::dtype::{dispatch, DType, ANY, BOOLEAN, ORDERED};
use crate::error::Result;
use crate::kernels::fold::{reduce, Fold};
use crate::shape::{Axis, Shape};
use crate::tensor::{Aval, View, ViewMut};

/// A reduction. Ambiguous if the operand is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Reduction {
    /// What is done with the elements.
    pub fold: Fold,
    /// The dimensions that are reduced; distinct, may be none.
    pub axes: Vec<Axis>,
    /// Whether they disappear, or stay with size 1.
    pub drop: bool,
}

pub(super) static ROWS: [Row; 6] = [
    written("reduce_sum", "nv_reduce_sum", &["operand"], ANY),
    written("reduce_prod", "nv_reduce_prod", &["operand"], ANY),
    written("reduce_max", "nv_reduce_max", &["operand"], ORDERED),
    written("reduce_min", "nv_reduce_min", &["operand"], ORDERED),
    written("reduce_any", "nv_reduce_any", &["operand"], BOOLEAN),
    written("reduce_all", "nv_reduce_all", &["operand"], BOOLEAN),
];

impl Fold {
    /// The fold of the reduction with that name.
    pub fn from_op(name: &str) -> Option<Fold> {
        let folds = [Fold::Sum, Fold::Prod, Fold::Max, Fold::Min, Fold::Any, Fold::All];
        ROWS.iter().position(|row| row.name == name).map(|i| folds[i])
    }
}

impl Reduction {
    /// The op's row.
    pub fn row(&self) -> &'static Row {
        match self.fold {
            Fold::Sum => &ROWS[0],
            Fold::Prod => &ROWS[1],
            Fold::Max => &ROWS[2],
            Fold::Min => &ROWS[3],
            Fold::Any => &ROWS[4],
            Fold::All => &ROWS[5],
        }
    }

    pub(super) fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![("dims", vector(&self.axes)), ("drop", logical(self.drop))]
    }

    pub(super) fn infer(&self, x: &Aval) -> Result<Aval> {
        self.row().check(0, x)?;
        if matches!(self.fold, Fold::Sum | Fold::Prod) && x.dtype == DType::I1 {
            return Err(self.row().unsupported(0, x.dtype, "Booleans are counted as integers: convert to i32 first."));
        }
        let shape = if self.drop {
            x.shape.without(&self.axes)
        } else {
            let size = |(i, &d): (usize, &usize)| if self.axes.contains(&Axis(i)) { 1 } else { d };
            Shape::try_new(x.shape.iter().enumerate().map(size).collect())?
        };
        Ok(Aval { shape, ..x.clone() })
    }

    pub(super) fn eval(&self, x: &View, out: &mut ViewMut) {
        dispatch!(x.dtype, T => reduce::<T>(self.fold, x, &self.axes, out))
    }
}
