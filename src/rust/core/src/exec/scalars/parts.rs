//! Slices at known positions of values that stay in memory: where their elements are.

use super::values::{Held, Lie};
use super::{Lowering, Node, MAX_ELEMENTS};
use crate::exec::vm::native::loops::{Otherwise, Step, Window};
use crate::graph::Value;
use crate::ops::layout::Order;
use crate::ops::{Reshape, StaticSlice};
use crate::tensor::{Aval, Literal};

impl Lowering<'_> {
    /// A slice of what is in memory, at known positions: elements, if it is short, else where they are; and what is there
    /// in another shape. `None` if the node is neither.
    pub(super) fn part(&mut self, node: &Node, result: &Aval) -> Option<Held> {
        let &v = node.operands.first()?;
        if node.op.get::<Reshape>().is_some_and(|op| op.order == Order::Column) {
            return self.reshaped(v);
        }
        let op = node.op.get::<StaticSlice>()?;
        if matches!(self.held[v.index()], Some(Held::Elements(_)) | None) {
            return None;
        }
        let held = self.operand(v)?;
        let (aval, version) = (self.body.aval(v).clone(), held.version());
        let of = self.lies(&aval, held)?;
        let (mut base, mut strides) = (of.base, vec![]);
        for (axis, &stride) in of.strides.iter().enumerate() {
            base = base.checked_add(stride.checked_mul(i32::try_from(op.start[axis]).ok()?)?)?;
            strides.push(stride.checked_mul(i32::try_from(op.stride[axis]).ok()?)?);
        }
        let lie = Lie { argument: of.argument, base, strides: strides.into() };
        if result.shape.size() > MAX_ELEMENTS {
            return version.map(|version| Held::Part(lie, version));
        }
        let elements = self.elements_of(result);
        let zero = self.literal(Literal::new(0));
        let elements_at = lie.places(&result.shape, &elements, 0)?;
        let starts = vec![(zero, 0, 1)];
        let (argument, otherwise) = (lie.argument, Otherwise::Never);
        self.looped.steps.push(Step::Load(Window { argument, starts, otherwise, elements: elements_at }));
        Some(Held::Elements(elements))
    }

    /// What is in the buffer of an argument in another shape: the same elements, in the same order.
    fn reshaped(&mut self, v: Value) -> Option<Held> {
        if self.lanes.is_some() || !self.is_whole(v) {
            return None;
        }
        self.operand(v).filter(|held| matches!(held, Held::Whole(..)))
    }

    /// Where a value is, if it need not be stored for that.
    pub(super) fn lies(&mut self, aval: &Aval, held: Held) -> Option<Lie> {
        match held {
            Held::Part(lie, _) => Some(lie),
            held => {
                let (argument, base) = self.lying_at(aval, held)?;
                Lie::dense(aval, argument, base)
            }
        }
    }

    /// Where a value is in memory, to read windows there.
    pub(super) fn lie(&mut self, v: Value) -> Option<Lie> {
        let held = self.operand(v)?;
        self.lies(&self.body.aval(v).clone(), held)
    }
}
