//! From a call as the user wrote it to nodes of a graph: the one place where promotion and the broadcasting of scalars
//! become explicit. After it, every stage sees equal dtypes and equal shapes.
//!
//! Eager calls and traced calls go through here alike; whoever calls decides what graph it is.

use crate::dtype::promote::rules;
use crate::dtype::{Class, DType, Kind, Ranked, FLOAT, INEXACT};
use crate::error::{Error, Result};
use crate::graph::{Def, Value};
use crate::kernels::fold::Fold;
use crate::ops::attrs::Attrs;
use crate::ops::layout::Order;
use crate::ops::*;
use crate::shape::{Axis, Shape};
use crate::tensor::Literal;

/// A value as an argument of an op.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Operand {
    /// The value.
    pub value: Value,
    /// Its dtype as promotion sees it. That of an R number is ambiguous and may be narrower than the value, which keeps
    /// all digits until it meets the dtype that it is promoted to.
    pub ranked: Ranked,
}

impl Operand {
    /// A value that promotion sees as it is.
    pub fn of(builder: &Builder, value: Value) -> Operand {
        Operand { value, ranked: builder.graph().aval(value).ranked() }
    }
}

/// The dtype that an R number or logical stands for in promotion; it is stored as f64, i32 or i1.
pub fn literal_ranked(stored: DType) -> Ranked {
    match stored.kind() {
        Kind::Boolean => Ranked { dtype: DType::I1, ambiguous: false },
        Kind::Float => Ranked { dtype: DType::F32, ambiguous: true },
        Kind::Complex => Ranked { dtype: DType::C64, ambiguous: true },
        Kind::Integer | Kind::Unsigned => Ranked { dtype: DType::I32, ambiguous: true },
    }
}

/// Brings a value to a dtype, if it is not there; the flag counts only if it is not, or for a literal, which is what it
/// is promoted to.
fn convert(b: &mut Builder, operand: Operand, to: Ranked) -> Result<Value> {
    let there = b.graph().aval(operand.value).dtype == to.dtype;
    let literal = matches!(b.graph().def(operand.value), Def::Literal(_));
    if there && !literal { Ok(operand.value) } else { cast(b, operand.value, to) }
}

/// Brings a value to a dtype and a flag.
fn cast(b: &mut Builder, value: Value, to: Ranked) -> Result<Value> {
    if b.graph().aval(value).ranked() == to {
        return Ok(value);
    }
    if let Def::Literal(literal) = b.graph().def(value) {
        if literal.dtype().is_complex() && !to.dtype.is_complex() {
            return Err(Error::ComplexToReal { from: literal.dtype(), to: to.dtype });
        }
        return Ok(b.literal(literal.convert(to.dtype), to.ambiguous));
    }
    b.node1(Op::Convert(Convert { dtype: to.dtype, ambiguous: to.ambiguous }), &[value])
}

/// The value of an operand at its own dtype: an R number becomes an ambiguous value of its default width.
///
/// # Errors
/// None on a well-typed graph.
pub fn materialise(b: &mut Builder, operand: Operand) -> Result<Value> {
    if operand.ranked.dtype == b.graph().aval(operand.value).dtype {
        return Ok(operand.value);
    }
    convert(b, operand, operand.ranked)
}

/// Brings values to a common dtype: the join of theirs, and of `f32?` where the op computes on floats alone.
fn promote(b: &mut Builder, operands: &[Operand], accepts: Option<Class>) -> Result<Vec<Value>> {
    let mut common = join(operands)?;
    let refused = |class: Class| !class.contains(common.dtype) && class.contains(DType::F32);
    let whole = common.dtype.is_integer() || common.dtype == DType::I1;
    if whole && accepts.is_some_and(|class| refused(class) && !class.contains(DType::I32)) {
        common = rules().join(common, literal_ranked(DType::F64)).expect("anvil's rules refuse nothing");
    }
    operands.iter().map(|&x| convert(b, x, common)).collect()
}

fn join(operands: &[Operand]) -> Result<Ranked> {
    let mut ranked = operands.iter().map(|x| x.ranked);
    let first = ranked.next().ok_or_else(|| Error::arg("...", "at least one tensor", "nothing"))?;
    Ok(ranked.fold(first, |a, b| rules().join(a, b).expect("anvil's rules refuse nothing")))
}

fn broadcast(b: &mut Builder, value: Value, to: &Shape) -> Result<Value> {
    let from = &b.graph().aval(value).shape;
    if from == to {
        return Ok(value);
    }
    let op = BroadcastInDim::align_right(from, to.clone())?;
    b.node1(Op::BroadcastInDim(op), &[value])
}

/// Repeats 0-d values to the shape of the others, which must be one.
fn broadcast_scalars(b: &mut Builder, function: &str, values: &mut [Value]) -> Result<()> {
    let shape_of = |v: Value| b.graph().aval(v).shape.clone();
    let mut shapes = values.iter().map(|&v| shape_of(v)).filter(|s| s.rank() > 0);
    let Some(target) = shapes.next() else { return Ok(()) };
    if let Some(other) = shapes.find(|s| *s != target) {
        return Err(Error::ShapeMismatch { op: function.into(), lhs: target, rhs: other });
    }
    for value in values {
        *value = broadcast(b, *value, &target)?;
    }
    Ok(())
}

/// Applies the op (or the short composition) called `name` to operands as the user gave them; returns its results.
///
/// # Errors
/// Unknown dtypes, dtypes that the op does not take, shapes that do not fit, parameters out of range: see [`Error`]. The
/// builder may hold unused nodes then.
pub fn apply(b: &mut Builder, name: &str, operands: &[Operand], attrs: &Attrs) -> Result<Vec<Value>> {
    if let Some(result) = part(b, name, operands)? {
        return Ok(vec![result]);
    }
    if let Some(op) = elementwise(name) {
        let row = op.row();
        arity(row.function, operands, row.operands.len())?;
        let mut values = match op {
            // The condition keeps its dtype; the bounds follow the operand.
            Op::Ternary(Ternary::Select) => {
                let mut values = vec![materialise(b, operands[0])?];
                values.extend(promote(b, &operands[1..], None)?);
                values
            }
            Op::Ternary(Ternary::Clamp) => {
                let to = operands[1].ranked;
                operands.iter().map(|&x| convert(b, x, to)).collect::<Result<_>>()?
            }
            Op::Predicate(_) => vec![materialise(b, operands[0])?],
            _ => promote(b, operands, Some(row.accepts))?,
        };
        broadcast_scalars(b, row.function, &mut values)?;
        return b.node(op, &values);
    }
    if let Some(fold) = Fold::from_op(name) {
        arity(&format!("nv_{name}"), operands, 1)?;
        let x = counted(b, operands[0], matches!(fold, Fold::Sum | Fold::Prod))?;
        let shape = &b.graph().aval(x).shape;
        let axes = attrs.axes("dims", &format!("nv_{name}"), shape)?;
        let axes = axes.unwrap_or_else(|| (0..shape.rank()).map(Axis).collect());
        return b.node(Op::Reduction(Reduction { fold, axes, drop: attrs.flag("drop")? }), &[x]);
    }
    match name {
        "mean" => mean(b, operands, attrs),
        "complex" => {
            arity("nv_complex", operands, 2)?;
            let common = join(operands)?;
            let wide = rules().join(common, Ranked { dtype: DType::F32, ambiguous: common.ambiguous });
            let to = wide.filter(|to| to.dtype.is_float()).unwrap_or(common);
            let mut parts = operands.iter().map(|&x| convert(b, x, to)).collect::<Result<Vec<_>>>()?;
            broadcast_scalars(b, "nv_complex", &mut parts)?;
            b.node(Op::Complex(MakeComplex), &parts)
        }
        "fill" => {
            let (value, shape) = (attrs.literal("value")?, attrs.shape("shape")?);
            b.node(Op::Fill(Fill { value, shape, ambiguous: attrs.flag("ambiguous")? }), &[])
        }
        "iota" => {
            let (dtype, shape) = (attrs.dtype("dtype")?, attrs.shape("shape")?);
            let axis = Axis::from_one_based("nv_iota", attrs.integer("dim")?, &shape)?;
            let (start, ambiguous) = (attrs.integer("start")?, attrs.flag("ambiguous")?);
            b.node(Op::Iota(Iota { axis, dtype, shape, start, ambiguous }), &[])
        }
        "promote" => promote(b, operands, None),
        "broadcast_scalars" => {
            let mut values = each(b, operands)?;
            broadcast_scalars(b, "nv_broadcast_scalars", &mut values)?;
            Ok(values)
        }
        "broadcast" => {
            let values = each(b, operands)?;
            let shapes = values.iter().map(|&v| b.graph().aval(v).shape.clone());
            let target = shapes.reduce(|l, r| l.broadcast(&r).unwrap_or(l));
            let Some(mut target) = target else { return Ok(vec![]) };
            for &v in &values {
                target = target.broadcast(&b.graph().aval(v).shape)?;
            }
            values.into_iter().map(|v| broadcast(b, v, &target)).collect()
        }
        "concatenate" => concatenate(b, operands, attrs),
        "matmul" | "dot_general" => {
            arity(&format!("nv_{name}"), operands, 2)?;
            let common = join(operands)?;
            let common = if common.dtype == DType::I1 { Ranked { dtype: DType::I32, ..common } } else { common };
            let values: Vec<Value> = operands.iter().map(|&x| convert(b, x, common)).collect::<Result<_>>()?;
            let (lhs, rhs) = (&b.graph().aval(values[0]).shape, &b.graph().aval(values[1]).shape);
            let op = if name == "matmul" {
                DotGeneral::matmul(lhs, rhs)?
            } else {
                let pair = |name| attrs.axes_pair(name, "nv_dot_general", [lhs, rhs]);
                DotGeneral { contracting: pair("contracting_dims")?, batching: pair("batching_dims")? }
            };
            b.node(Op::DotGeneral(op), &values)
        }
        _ => one_operand(b, name, operands, attrs).map(|v| vec![v]),
    }
}

/// Ops of one operand with static parameters.
fn one_operand(b: &mut Builder, name: &str, operands: &[Operand], attrs: &Attrs) -> Result<Value> {
    arity(&format!("nv_{name}"), operands, 1)?;
    if name == "convert" {
        // The operand is taken as stored, so that an R number keeps its digits.
        let to = Ranked { dtype: attrs.dtype("dtype")?, ambiguous: attrs.flag("ambiguous")? };
        return cast(b, operands[0].value, to);
    }
    let x = materialise(b, operands[0])?;
    let shape = b.graph().aval(x).shape.clone();
    let op = match name {
        "identity" => return Ok(x),
        "bitcast_convert" => Op::BitcastConvert(BitcastConvert { dtype: attrs.dtype("dtype")? }),
        "reshape" => {
            let order = if attrs.choice("order", &["row", "column"])? == "row" { Order::Row } else { Order::Column };
            let target = attrs.shape("shape")?;
            if target == shape {
                return Ok(x);
            }
            Op::Reshape(Reshape { shape: target, order })
        }
        "transpose" => {
            let all = (0..shape.rank()).rev().map(Axis).collect();
            let permutation = attrs.axes("permutation", "nv_transpose", &shape)?.unwrap_or(all);
            if permutation.iter().enumerate().all(|(i, a)| a.0 == i) && permutation.len() == shape.rank() {
                return Ok(x);
            }
            Op::Transpose(Transpose { permutation })
        }
        "broadcast_in_dim" => return broadcast(b, x, &attrs.shape("shape")?),
        _ => return Err(Error::Internal { detail: format!("there is no op called {name}") }),
    };
    b.node1(op, &[x])
}

/// Parts of numbers: of real ones by other ops, and the absolute value of complex ones.
fn part(b: &mut Builder, name: &str, operands: &[Operand]) -> Result<Option<Value>> {
    let &[x] = operands else { return Ok(None) };
    let complex = x.ranked.dtype.is_complex();
    match (name, complex) {
        ("abs" | "magnitude", true) => {
            let x = materialise(b, x)?;
            b.node1(Op::Part(Part::magnitude), &[x]).map(Some)
        }
        ("real", false) => materialise(b, x).map(Some),
        ("imag", false) => {
            let x = materialise(b, x)?;
            let aval = b.graph().aval(x).clone();
            let zero = b.literal(Literal::new(0i64).convert(aval.dtype), aval.ambiguous);
            broadcast(b, zero, &aval.shape).map(Some)
        }
        ("magnitude", false) => Ok(Some(apply(b, "abs", operands, &Attrs::new())?[0])),
        ("arg", false) => {
            let x = promote(b, operands, Some(FLOAT))?[0];
            let zero = apply(b, "imag", &[Operand::of(b, x)], &Attrs::new())?[0];
            b.node1(Op::Binary(Binary::atan2), &[zero, x]).map(Some)
        }
        _ => Ok(None),
    }
}

/// The sum over the number of elements, in floats.
fn mean(b: &mut Builder, operands: &[Operand], attrs: &Attrs) -> Result<Vec<Value>> {
    let x = promote(b, operands, Some(INEXACT))?[0];
    // Neither sum nor number of elements need fit 16 bits: f32 up to the result.
    let own = b.graph().aval(x).ranked();
    let wide = if own.dtype.is_float() && own.dtype.bits() == 16 { DType::F32 } else { own.dtype };
    let x = cast(b, x, Ranked { dtype: wide, ..own })?;
    let total = Operand::of(b, x);
    let sum = apply(b, "reduce_sum", &[total], attrs)?[0];
    let size = |v: Value| b.graph().aval(v).shape.size();
    // Over no elements, 0 / 0 is NaN as it should be; without results there is nothing to divide.
    let count = size(x).checked_div(size(sum)).unwrap_or(0);
    let aval = b.graph().aval(sum).clone();
    let count = b.literal(Literal::new(count as f64).convert(aval.dtype), aval.ambiguous);
    let count = broadcast(b, count, &aval.shape)?;
    let mean = b.node1(Op::Binary(Binary::div), &[sum, count])?;
    Ok(vec![cast(b, mean, own)?])
}

/// Joins along a dimension; 0-d operands become size 1 along it, repeated over the others.
fn concatenate(b: &mut Builder, operands: &[Operand], attrs: &Attrs) -> Result<Vec<Value>> {
    let values = promote(b, operands, None)?;
    let shapes: Vec<Shape> = values.iter().map(|&v| b.graph().aval(v).shape.clone()).collect();
    let model = shapes.iter().find(|s| s.rank() > 0).cloned().unwrap_or_else(|| [1].into());
    let axis = match attrs.axes("dimension", "nv_concatenate", &model)? {
        Some(axes) if axes.len() == 1 => axes[0],
        None if model.rank() == 1 => Axis(0),
        _ => {
            let got = format!("a shape of {} dimensions", model.rank());
            return Err(Error::Arg {
                arg: "dimension".into(),
                expected: "one dimension number".into(),
                got,
                hint: "It may be left out only for operands of at most one dimension.".into(),
            });
        }
    };
    let mut slice = model.to_vec();
    slice[axis.0] = 1;
    let slice = Shape::try_new(slice)?;
    let mut joined = Vec::with_capacity(values.len());
    for (value, shape) in values.into_iter().zip(shapes) {
        joined.push(if shape.rank() == 0 { broadcast(b, value, &slice)? } else { value });
    }
    if joined.len() == 1 {
        return Ok(joined);
    }
    b.node(Op::Concatenate(Concatenate { axis }), &joined)
}

fn each(b: &mut Builder, operands: &[Operand]) -> Result<Vec<Value>> {
    operands.iter().map(|&x| materialise(b, x)).collect()
}

/// An operand of a sum or product: booleans count as i32, which is no guess even if they are ambiguous.
fn counted(b: &mut Builder, x: Operand, counts: bool) -> Result<Value> {
    if counts && x.ranked.dtype == DType::I1 {
        return convert(b, x, Ranked { dtype: DType::I32, ambiguous: false });
    }
    materialise(b, x)
}

fn arity(function: &str, operands: &[Operand], expected: usize) -> Result<()> {
    if operands.len() == expected {
        return Ok(());
    }
    // R's functions have as many formals: more come only from a list in the place of one.
    Err(Error::Arg {
        arg: "operand".into(),
        expected: "a tensor, or an R number, logical or array".into(),
        got: "a list".into(),
        hint: format!("`{function}()` takes {expected} operand{}.", if expected == 1 { "" } else { "s" }),
    })
}

fn elementwise(name: &str) -> Option<Op> {
    fn find<T: Copy>(all: &[T], row: fn(T) -> &'static Row, name: &str) -> Option<T> {
        all.iter().copied().find(|&op| row(op).name == name)
    }
    find(Unary::ALL, Unary::row, name)
        .map(Op::Unary)
        .or_else(|| find(Binary::ALL, Binary::row, name).map(Op::Binary))
        .or_else(|| find(Compare::ALL, Compare::row, name).map(Op::Compare))
        .or_else(|| find(Predicate::ALL, Predicate::row, name).map(Op::Predicate))
        .or_else(|| find(Part::ALL, Part::row, name).map(Op::Part))
        .or_else(|| find(Ternary::ALL, Ternary::row, name).map(Op::Ternary))
}
