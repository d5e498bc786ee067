//! Special functions of one to three operands of one float dtype and shape, same type out: computed in f64 one
//! element at a time, or some in lanes, and rounded once. Their rows are in `special_rows.rs`; what lanes compute
//! without doubles of twice the digits is in `unary.rs`.

use super::attrs::Attrs;
use super::contract::{member, named, Cost, Form, OpDef};
use super::derive::Var;
use super::lower::{Formula, Lowering};
use super::rules::{Backward, Batch, Forward, Jvp, Vjp};
pub use super::special_rows::Special;
use super::{Op, Row};
use crate::dtype::{DType, Element};
use crate::error::Result;
use crate::exec::vm::Kernel;
use crate::graph::syntax::Parsed;
use crate::kernels::math::special::TOGETHER;
use crate::kernels::{cast, tile};
use crate::tensor::{Aval, View, ViewMut};
use half::{bf16, f16};

/// A function of doubles.
#[derive(Clone, Copy)]
pub(super) enum Of {
    One(fn(f64) -> f64),
    Two(fn(f64, f64) -> f64),
    Three(fn(f64, f64, f64) -> f64),
}

/// As [`Of`], of many points at once, with the same bits.
#[derive(Clone, Copy)]
pub(super) enum Many {
    Two(fn(&[f64], &[f64], &mut [f64])),
    Three(fn(&[f64], &[f64], &[f64], &mut [f64])),
}

/// Rows: name, R function (`written` by hand, or generated), operands, the function of doubles, the same of many
/// points where lanes compute it, derivatives.
macro_rules! special_ops {
    ($(
        $(#[doc = $doc:literal])+
        $op:ident $function:literal $($written:ident)? ($($x:ident),+) {
            $value:expr,
            $(many: $many:expr,)?
            $(singles: $singles:expr,)?
            slopes: $slopes:expr,
            $(missing: $missing:expr,)?
            $(example: $example:literal,)?
            ulps: $ulps:literal,
            $(accuracy: $accuracy:expr,)?
        }
    )+) => {
        /// A special function.
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Special { $($(#[doc = $doc])+ $op),+ }

        impl Special {
            /// All of them, in the order of the catalogue.
            pub const ALL: &'static [Special] = &[$(Special::$op),+];

            /// The op's row.
            pub fn row(self) -> &'static Row {
                match self { $(Special::$op => &const {
                    #[allow(unused_mut)]
                    let mut row = Row {
                        doc: &[$($doc),+], generated: true, ulps: $ulps,
                        ..super::written(stringify!($op), $function, &[$(stringify!($x)),+], crate::dtype::FLOAT)
                    };
                    $(row.example = $example;)?
                    $(row.accuracy = $accuracy;)?
                    $(let $written = false; row.generated = $written;)?
                    row
                }),+ }
            }

            /// The function.
            pub(super) fn of(self) -> Of {
                match self { $(Special::$op => special_ops!(@of ($($x),+) $value)),+ }
            }

            /// The function of many points, if there is one.
            pub(super) fn many(self) -> Option<Many> {
                match self { $(Special::$op => special_ops!(@optional $($many)?)),+ }
            }

            /// The function of many points whose results are rounded to fewer digits than a double has, if there is
            /// one that is quicker: its bits are its own.
            pub(super) fn singles(self) -> Option<Many> {
                match self { $(Special::$op => special_ops!(@optional $($singles)?)),+ }
            }

            /// Its derivatives; `None` for those that are missing.
            pub fn slopes(self) -> Slopes {
                match self { $(Special::$op => $slopes),+ }
            }

            /// Why some derivatives are missing, if they are.
            pub fn missing(self) -> Option<&'static str> {
                match self { $(Special::$op => special_ops!(@optional $($missing)?)),+ }
            }
        }
    };
    (@optional) => { None };
    (@optional $value:expr) => { Some($value) };
    (@of ($x:ident) $value:expr) => { Of::One(|$x| $value) };
    (@of ($x:ident, $y:ident) $value:expr) => { Of::Two(|$x, $y| $value) };
    (@of ($x:ident, $y:ident, $z:ident) $value:expr) => { Of::Three(|$x, $y, $z| $value) };
}
pub(super) use special_ops;

/// Element types: `f64`, and those that are rounded to by way of `f32`.
trait Rounded: Element {
    fn of(x: f64) -> Self;
}
impl Rounded for f64 {
    fn of(x: f64) -> f64 {
        x
    }
}
impl Rounded for f32 {
    fn of(x: f64) -> f32 {
        x as f32
    }
}
impl Rounded for bf16 {
    fn of(x: f64) -> bf16 {
        bf16::from_f32(x as f32)
    }
}
impl Rounded for f16 {
    fn of(x: f64) -> f16 {
        f16::from_f32(x as f32)
    }
}

fn map1<T: Rounded>(f: fn(f64) -> f64, x: &[T], out: &mut [T]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out = number(f(x.convert()), &[*x]);
    }
}

fn map2<T: Rounded>(f: fn(f64, f64) -> f64, x: &[T], y: &[T], out: &mut [T]) {
    for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
        *out = number(f(x.convert(), y.convert()), &[*x, *y]);
    }
}

fn map3<T: Rounded>(f: fn(f64, f64, f64) -> f64, x: &[T], y: &[T], z: &[T], out: &mut [T]) {
    for (((out, x), y), z) in out.iter_mut().zip(x).zip(y).zip(z) {
        *out = number(f(x.convert(), y.convert(), z.convert()), &[*x, *y, *z]);
    }
}

/// A function of many points.
fn map_many<T: Rounded, const N: usize>(f: impl Fn([&[f64]; N], &mut [f64]), x: [&[T]; N], out: &mut [T]) {
    // A loop on few numbers does not wait for room for many.
    if out.len() <= FEW {
        map_parts::<T, N, FEW>(f, x, out);
    } else {
        map_parts::<T, N, TOGETHER>(f, x, out);
    }
}

/// Points of short values.
const FEW: usize = 8;

/// As [`map_many`], of at most so many points at once.
fn map_parts<T: Rounded, const N: usize, const PART: usize>(
    f: impl Fn([&[f64]; N], &mut [f64]),
    x: [&[T]; N],
    out: &mut [T],
) {
    let (mut points, mut values) = ([[0.0; PART]; N], [0.0; PART]);
    for first in (0..out.len()).step_by(PART) {
        let n = PART.min(out.len() - first);
        for (points, x) in points.iter_mut().zip(x) {
            points.iter_mut().zip(&x[first..first + n]).for_each(|(to, x)| *to = x.convert());
        }
        f(std::array::from_fn(|k| &points[k][..n]), &mut values[..n]);
        let (out, values) = (&mut out[first..first + n], &values[..n]);
        out.iter_mut().zip(values).for_each(|(out, &value)| *out = T::of(value));
        if values.iter().any(|value| value.is_nan()) {
            for (i, &value) in values.iter().enumerate() {
                out[i] = number(value, &x.map(|x| x[first + i]));
            }
        }
    }
}

/// A result, rounded. NaN is that of an operand, or the positive one: what the processor makes of 0/0 depends on how
/// a function was compiled.
fn number<T: Rounded>(y: f64, operands: &[T]) -> T {
    if !y.is_nan() {
        return T::of(y);
    }
    operands.iter().copied().find(|x| x != x).unwrap_or_else(|| T::of(f64::NAN))
}

/// Something for each float dtype, which is the only kind that `infer` lets through.
macro_rules! floats {
    ($dtype:expr, $T:ident => $value:expr) => {
        match $dtype {
            DType::F32 => {
                type $T = f32;
                Some($value)
            }
            DType::F64 => {
                type $T = f64;
                Some($value)
            }
            DType::F16 => {
                type $T = f16;
                Some($value)
            }
            DType::BF16 => {
                type $T = bf16;
                Some($value)
            }
            _ => None,
        }
    };
}

impl Special {
    /// Number of operands.
    pub fn arity(self) -> usize {
        self.row().operands.len()
    }

    /// The gradients of the wanted operands.
    fn pull<'m, 'b>(self, at: &Backward<'_, 'm, 'b>) -> Vec<Option<Var<'m, 'b>>> {
        let slopes = self.slopes()(at.operands, at.y()).into_iter().zip(at.wanted);
        slopes.map(|(slope, wanted)| slope.filter(|_| *wanted).map(|d| at.g().chain(d))).collect()
    }

    /// The tangent of the result; `None` if a derivative is missing.
    fn push<'m, 'b>(self, at: &Forward<'_, 'm, 'b>) -> Option<Var<'m, 'b>> {
        let mut sum: Option<Var> = None;
        for (slope, tangent) in self.slopes()(at.operands, at.y()).into_iter().zip(at.tangents) {
            let Some(tangent) = tangent else { continue };
            let term = tangent.chain(slope?);
            sum = Some(sum.map_or(term, |so_far| so_far + term));
        }
        sum
    }

    /// The function of many points for results of this type, if it has one of its own.
    fn rounded<T: Rounded>(self) -> Option<Many> {
        self.singles().filter(|_| T::DTYPE != DType::F64)
    }

    fn tile<T: Rounded>(self, x: &[&[u8]], out: &mut [u8]) {
        let (x, out) = (|i: usize| cast::slice::<T>(x[i]), cast::slice_mut::<T>(out));
        // The function of one point is the quicker one of few.
        let many = self.many().filter(|_| out.len() >= FEW);
        match self.rounded::<T>().or(many) {
            Some(Many::Two(f)) => return map_many(|[x, y], out| f(x, y, out), [x(0), x(1)], out),
            Some(Many::Three(f)) => {
                return map_many(|[x, y, z], out| f(x, y, z, out), [x(0), x(1), x(2)], out)
            }
            None => {}
        }
        match self.of() {
            Of::One(f) => map1(f, x(0), out),
            Of::Two(f) => map2(f, x(0), x(1), out),
            Of::Three(f) => map3(f, x(0), x(1), x(2), out),
        }
    }

    fn kernel_of<T: Rounded>(self) -> Kernel {
        match self.rounded::<T>().or(self.many()) {
            Some(Many::Two(f)) => {
                return Kernel::of2::<T, T>(move |x, y, out| {
                    map_many(|[x, y], out| f(x, y, out), [x, y], out)
                })
            }
            Some(Many::Three(f)) => {
                return Kernel::of3::<T, T>(move |x, y, z, out| {
                    map_many(|[x, y, z], out| f(x, y, z, out), [x, y, z], out)
                })
            }
            None => {}
        }
        match self.of() {
            Of::One(f) => Kernel::of1::<T, T>(move |x, out| map1(f, x, out)),
            Of::Two(f) => Kernel::of2::<T, T>(move |x, y, out| map2(f, x, y, out)),
            Of::Three(f) => Kernel::of3::<T, T>(move |x, y, z, out| map3(f, x, y, z, out)),
        }
    }
}

impl OpDef for Special {
    fn row(&self) -> &'static Row {
        Special::row(*self)
    }

    fn rows() -> Vec<&'static Row> {
        Special::ALL.iter().map(|op| op.row()).collect()
    }

    fn decode(row: &'static Row, _attrs: &Attrs, _operands: &[&Aval]) -> Result<Op> {
        member(Special::ALL, row)
    }

    fn parse(form: &Form) -> Parsed<Special> {
        let op = Special::ALL.iter().find(|op| op.row().name == form.op);
        named(Special::ALL, op.map_or(1, |op| op.arity()), form)
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let (row, first) = (self.row(), operands[0]);
        let mut result = first.clone();
        for (i, x) in operands.iter().enumerate() {
            row.check(i, x)?;
            row.check_same(first, x)?;
            result.ambiguous = result.ambiguous_with(x);
        }
        Ok(vec![result])
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let x: Vec<&View> = operands.iter().collect();
        floats!(operands[0].dtype, T => tile::map(&|x, out| self.tile::<T>(x, out), &x, &mut results[0]));
    }

    fn is_elementwise(&self, _from: &[DType]) -> bool {
        true
    }

    fn kernel(&self, from: &[DType]) -> Option<Kernel> {
        floats!(from[0], T => self.kernel_of::<T>())
    }

    fn cost(&self) -> Cost {
        match self.many() {
            Some(_) => Cost::Density,
            None => Cost::Series,
        }
    }

    fn vjp(&self) -> Vjp<'_> {
        match self.missing() {
            Some(why) => Vjp::Partly(Box::new(|at| self.pull(at)), why),
            None => Vjp::by(|at| self.pull(at)),
        }
    }

    fn jvp(&self) -> Jvp<'_> {
        match self.missing() {
            Some(why) => Jvp::Partly(Box::new(|at| vec![self.push(at)]), why),
            None => Jvp::by(|at| vec![self.push(at)]),
        }
    }

    fn batch(&self) -> Batch<'_> {
        Batch::Same
    }

    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        Lowering::Formula(Formula::Special(*self), None)
    }
}
