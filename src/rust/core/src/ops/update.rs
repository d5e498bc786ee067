//! How a scatter updates an element.

use super::attrs::{Attr, Attrs};
use super::binary::Binary;
use super::contract::{Form, Linear};
use super::control::Region;
use super::{Op, Row};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::syntax::Parsed;
use crate::graph::Def;
use crate::tensor::Aval;

/// The new element, from the old one and the update.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Update {
    /// The update.
    Replace,
    /// The result of this op on both.
    With(Binary),
    /// The result of this graph on the element, the update and the scatter's operands after the first three.
    By(Region),
}

impl Update {
    /// Names to choose by.
    pub const NAMES: [&'static str; 5] = ["replace", "add", "mul", "min", "max"];

    /// The update of one of these names.
    pub fn from_name(name: &str) -> Update {
        match name {
            "add" => Update::With(Binary::add),
            "mul" => Update::With(Binary::mul),
            "min" => Update::With(Binary::min),
            "max" => Update::With(Binary::max),
            _ => Update::Replace,
        }
    }

    /// The update by a graph, or the one with a name that is the same.
    pub fn from_region(region: Region) -> Update {
        let (&[old, new], &[out]) = (region.inputs(), region.outputs()) else { return Update::By(region) };
        if out == new {
            return Update::Replace;
        }
        let node = match region.def(out) {
            Def::Result(node, _) if region.nodes().len() == 1 => &region.nodes()[node],
            _ => return Update::By(region),
        };
        // The order of two operands makes no difference but for the bits of a NaN, which are not defined.
        let both = node.operands == [old, new] || node.operands == [new, old];
        let named = [Binary::add, Binary::mul, Binary::min, Binary::max];
        match node.op.get::<Binary>().copied().filter(|op| both && named.contains(op)) {
            Some(op) => Update::With(op),
            None => Update::By(region),
        }
    }

    /// The operands of a scatter in which it is linear.
    pub(super) fn linear(&self) -> Linear {
        match self {
            Update::Replace | Update::With(Binary::add) => Linear::In(&[0, 2]),
            Update::With(_) | Update::By(_) => Linear::In(&[]),
        }
    }

    /// The operands of a scatter that its result consists of.
    pub(super) fn consists_of(&self) -> Vec<usize> {
        match self {
            Update::Replace => vec![0, 2],
            Update::With(_) | Update::By(_) => vec![],
        }
    }

    /// The op that makes the new element of the old one and the update, if it has a name.
    pub(crate) fn by(&self) -> Option<Op> {
        match self {
            Update::With(op) => Some((*op).into()),
            Update::Replace | Update::By(_) => None,
        }
    }

    /// Reads the parameter of a call: a name or a function of elements of `x`; [`Update::Replace`] if there is none.
    pub(super) fn decode(attrs: &Attrs, x: &Aval) -> Result<Update> {
        let name = "update_computation";
        match attrs.get(name) {
            Attr::Null => Ok(Update::Replace),
            Attr::Graph(region) => Update::of_elements(region, x.ranked()),
            _ => match attrs.choice(name, &Update::NAMES) {
                Err(Error::Arg { arg, expected, got, .. }) => {
                    Err(Error::arg(arg, format!("a function of two values, NULL, or {expected}"), got))
                }
                choice => choice.map(Update::from_name),
            },
        }
    }

    /// Its name in a graph's text.
    pub(super) fn name(&self) -> String {
        match self {
            Update::Replace => format!("{:?}", Update::NAMES[0]),
            Update::With(op) => format!("{:?}", op.row().name),
            Update::By(_) => "update".into(),
        }
    }

    /// Reads the attribute of a statement.
    pub(super) fn parse(form: &Form) -> Parsed<Update> {
        let named = Update::NAMES.map(|name| (name, Some(Update::from_name(name))));
        let choices = [&named[..], &[("update", None)]].concat();
        match form.one_of("update_computation", &choices)? {
            Some(update) => Ok(update),
            None => Ok(Update::By(form.region("update")?)),
        }
    }

    /// Checks that it accepts elements of a dtype and the `captured` operands.
    pub(super) fn check(&self, row: &Row, x: &Aval, captured: &[&Aval]) -> Result<()> {
        let internal = |what: &str| Err(Error::Internal { detail: format!("{}: {what}", row.name) });
        let region = match self {
            Update::By(region) => region,
            _ if !captured.is_empty() => return internal("too many operands"),
            Update::With(op) => return Row { accepts: op.row().accepts, ..*row }.check(0, x),
            Update::Replace => return Ok(()),
        };
        let one = |aval: &Aval, dtype: DType| aval.shape.rank() == 0 && aval.dtype == dtype;
        let [old, new, rest @ ..] = region.inputs() else {
            return internal("an update of fewer than two values");
        };
        if ![old, new].into_iter().all(|&v| one(region.aval(v), x.dtype)) || rest.len() != captured.len() {
            return internal("operands do not fit its region");
        }
        let same = |(v, given): (&crate::graph::Value, &&Aval)| {
            let aval = region.aval(*v);
            aval.dtype == given.dtype && aval.shape == given.shape
        };
        if !rest.iter().zip(captured).all(same) {
            return internal("operands do not fit its region");
        }
        match region.outputs() {
            &[out] if one(region.aval(out), x.dtype) => Ok(()),
            _ => internal("an update of another type"),
        }
    }
}
