//! Concatenation along an axis.

use super::attrs::Attrs;
use super::contract::{simplified, Form, Linear, OpDef, Simplified, Strip};
use super::derive::Var;
use super::lower::{signature, Lowering};
use super::rules::{Batch, Vjp};
use super::{written, Builder, Op, Row, StaticSlice};
use crate::dtype::{DType, ANY};
use crate::error::{Error, Result};
use crate::graph::syntax::Parsed;
use crate::graph::Value;
use crate::kernels::memory::join::join;
use crate::shape::{Axis, Shape};
use crate::tensor::{Aval, View, ViewMut};

/// Values of one dtype joined along an axis; their other sizes are equal. Ambiguous if all are.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Concatenate {
    /// The axis along which they are joined.
    pub axis: Axis,
}

static CONCATENATE: Row = written("concatenate", "nv_concatenate", &["..."], ANY);

impl Concatenate {
    /// The shape of the first operand that has axes; `[1]` if none has.
    fn model(operands: &[&Aval]) -> Shape {
        let mut shapes = operands.iter().map(|x| &x.shape);
        shapes.find(|s| s.rank() > 0).cloned().unwrap_or_else(|| [1].into())
    }
}

impl OpDef for Concatenate {
    fn row(&self) -> &'static Row {
        &CONCATENATE
    }

    fn rows() -> Vec<&'static Row> {
        vec![&CONCATENATE]
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![("axis", self.axis.to_string())]
    }

    fn decode(row: &'static Row, attrs: &Attrs, operands: &[&Aval]) -> Result<Op> {
        let model = Concatenate::model(operands);
        let axis = match attrs.axes("axis", row.function, &model)? {
            Some(axes) if axes.len() == 1 => axes[0],
            None if model.rank() == 1 => Axis(0),
            _ => {
                let got = format!("a shape of {} axes", model.rank());
                return Err(Error::Arg {
                    arg: "axis".into(),
                    expected: "one axis".into(),
                    got,
                    hint: "It may be left out only for operands of at most one axis.".into(),
                });
            }
        };
        Ok(Concatenate { axis }.into())
    }

    /// 0-d operands get size 1 along the axis, and are repeated along the others.
    fn repeats_to(&self, operands: &[&Aval]) -> Result<Option<Shape>> {
        let mut slice = Concatenate::model(operands).to_vec();
        slice[self.axis.0] = 1;
        Shape::try_new(slice).map(Some)
    }

    fn is_identity(&self, operands: &[&Aval]) -> bool {
        operands.len() == 1
    }

    fn parse(form: &Form) -> Parsed<Concatenate> {
        form.takes_at_least(1)?;
        Ok(Concatenate { axis: form.axis("axis", form.operands[0].shape.rank())? })
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let op = || CONCATENATE.function.to_string();
        let first = operands[0];
        let mut sizes = first.shape.to_vec();
        for x in &operands[1..] {
            if x.dtype != first.dtype {
                return Err(Error::DtypeMismatch { op: op(), lhs: first.dtype, rhs: x.dtype });
            }
            let agree = |i: usize| Axis(i) == self.axis || x.shape[i] == first.shape[i];
            if x.shape.rank() != sizes.len() || !(0..sizes.len()).all(agree) {
                let (lhs, rhs) = (first.shape.clone(), x.shape.clone());
                let differ = (0..sizes.len().min(x.shape.rank())).find(|&i| !agree(i));
                let (what, l, r) = match differ {
                    Some(i) => {
                        (format!("Only axis {} may differ; axis {} does", self.axis, i + 1), lhs[i], rhs[i])
                    }
                    None => ("Their numbers of axes differ".to_string(), lhs.rank(), rhs.rank()),
                };
                return Err(Error::SizeMismatch { op: op(), lhs, rhs, what, l, r });
            }
            sizes[self.axis.0] += x.shape[self.axis.0];
        }
        let flags = operands.iter().map(|x| x.ambiguous);
        // Of the widest default, if all are ambiguous.
        let ambiguous = flags.collect::<Option<Vec<DType>>>().and_then(|all| all.into_iter().max());
        Ok(vec![Aval { dtype: first.dtype, shape: Shape::try_new(sizes)?, ambiguous }])
    }

    fn joined(&self) -> Option<Axis> {
        Some(self.axis)
    }

    fn simplify(&self, _b: &mut Builder, operands: &[Value], _read: &[bool]) -> Result<Simplified> {
        match operands {
            &[one] => simplified(one),
            _ => Ok(None),
        }
    }

    fn rearranges(&self) -> bool {
        true
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        join(operands, self.axis.0, &mut results[0]);
    }

    /// The gradients are slices of the result's.
    fn vjp(&self) -> Vjp<'_> {
        Vjp::by(|at| {
            let mut first = 0;
            let part = |x: &Var<'_, '_>| {
                let shape = x.aval().shape;
                let start = first;
                first += shape[self.axis.0];
                Some(at.g().apply(StaticSlice::along(&shape, self.axis, start..first), &[]))
            };
            at.operands.iter().map(part).collect()
        })
    }

    fn batch(&self) -> Batch<'_> {
        Batch::Same
    }

    fn behind(&self, _size: usize) -> Option<Op> {
        Some(Concatenate { axis: self.axis.next() }.into())
    }

    fn strip(&self, axis: Axis, _size: usize, operands: &[&Aval]) -> Option<Strip> {
        Strip::new(self.clone(), vec![Some(axis); operands.len()]).filter(|_| axis != self.axis)
    }

    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        Lowering::Op(signature("stablehlo.concatenate", format!(", dim = {}", self.axis.0)))
    }

    fn linear(&self) -> Linear {
        Linear::InAll
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Layout;

    #[test]
    fn empty_values_are_concatenated_along_another_axis() {
        let (two, one, both) = (Shape::from([0, 2]), Shape::from([0, 1]), Shape::from([0, 3]));
        let layouts = [Layout::dense(&two), Layout::dense(&one)];
        let views = [(&two, &layouts[0]), (&one, &layouts[1])].map(|(shape, layout)| View {
            dtype: DType::I32,
            shape,
            layout,
            data: &[],
        });
        Concatenate { axis: Axis(1) }
            .eval(&views, &mut [ViewMut { dtype: DType::I32, shape: &both, data: &mut [] }]);
    }
}
