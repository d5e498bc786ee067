//! Conversions to another dtype, by value ([`Convert`]) and by bits ([`BitcastConvert`]).

use super::attrs::{logical, Attrs};
use super::complex::Part;
use super::contract::{simplified, Form, Linear, OpDef, Promotion, Role, Simplified};
use super::lower::{op_if, signature, Formula, Lowering};
use super::rules::{Batch, Jvp, Vjp};
use super::whole::in_integers;
use super::{written, Builder, Op, Row};
use crate::dtype::{DType, Kind, Ranked, ANY};
use crate::error::{Error, Result};
use crate::exec::vm::native;
use crate::exec::vm::Kernel;
use crate::graph::syntax::Parsed;
use crate::graph::Value;
use crate::kernels::elementwise::convert;
use crate::kernels::memory::AlignedBytes;
use crate::kernels::tile;
use crate::shape::Shape;
use crate::stop;
use crate::tensor::{Aval, View, ViewMut};

/// The same value in another dtype, by the rules of [`Element`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Convert {
    /// Type of the result. To an ambiguous float is to double precision, see [`Ranked::stored`].
    pub to: Ranked,
}

impl Convert {
    /// A conversion to a known dtype.
    pub fn known(dtype: DType) -> Convert {
        Convert { to: Ranked::known(dtype) }
    }
}

static CONVERT: Row = Row { ulps: 0.5, ..written("convert", "nv_convert", &["operand"], ANY) };

impl OpDef for Convert {
    fn row(&self) -> &'static Row {
        &CONVERT
    }

    fn rows() -> Vec<&'static Row> {
        vec![&CONVERT]
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let x = operands[0];
        if x.dtype.is_complex() && !self.to.dtype.is_complex() {
            return Err(Error::ComplexToReal { from: x.ranked().dtype, to: self.to.dtype });
        }
        Ok(vec![Aval::new(self.to, x.shape.clone())])
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![("dtype", self.to.dtype.to_string()), ("ambiguous", logical(self.to.ambiguous))]
    }

    fn promotion(_row: &'static Row) -> Promotion {
        Promotion::Each(&[Role::Own])
    }

    fn decode(_row: &'static Row, attrs: &Attrs, _operands: &[&Aval]) -> Result<Op> {
        let to = Ranked { dtype: attrs.dtype("dtype")?, ambiguous: attrs.flag("ambiguous")? };
        Ok(Convert { to }.into())
    }

    fn parse(form: &Form) -> Parsed<Convert> {
        form.takes(1)?;
        let to = Ranked { dtype: form.dtype("dtype")?, ambiguous: form.logical("ambiguous")? };
        Ok(Convert { to })
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let (x, out) = (&operands[0], &mut results[0]);
        convert(x.dtype, out.dtype).apply([x], out)
    }

    fn is_elementwise(&self, _from: &[DType]) -> bool {
        true
    }

    fn kernel(&self, from: &[DType]) -> Option<Kernel> {
        Some(Kernel::map(convert(from[0], self.to.stored())))
    }

    fn instruction(&self) -> Option<native::Op> {
        Some(native::Op::Convert(self.to.stored()))
    }

    /// The gradient in the operand's dtype.
    fn vjp(&self) -> Vjp<'_> {
        Vjp::of_one(|at| {
            let (from, g) = (at.x(0).aval().dtype, at.g());
            if g.aval().dtype.is_complex() && !from.is_complex() {
                return g.part(Part::real).convert(from);
            }
            g.convert(from)
        })
    }

    /// What becomes an integer or a boolean has no tangent.
    fn jvp(&self) -> Jvp<'_> {
        if self.to.dtype.part().is_float() {
            Jvp::Linear
        } else {
            Jvp::Zero
        }
    }

    fn batch(&self) -> Batch<'_> {
        Batch::Same
    }

    /// StableHLO leaves open whether NaN is true, and compilers round to 16 bits by way of 32.
    fn lower(&self, operands: &[Aval]) -> Lowering<'_> {
        let from = operands[0].dtype;
        let same = match self.to.stored() {
            DType::I1 => from.kind() != Kind::Float,
            to if to.is_half() => !(from == DType::F64 || from.is_integer() && from.bits() > 16),
            _ => true,
        };
        op_if(same, signature("stablehlo.convert", ""), Formula::Convert(self))
    }

    fn simplify(&self, b: &mut Builder, operands: &[Value], _read: &[bool]) -> Result<Simplified> {
        let x = operands[0];
        let is = |aval: &Aval| aval.ranked() == self.to;
        if is(b.graph().aval(x)) {
            return simplified(x);
        }
        if self.to == Ranked::known(DType::I64) {
            if let Some(whole) = in_integers(b, x)? {
                return simplified(whole);
            }
        }
        // Widening within a kind is exact, so the value before it can be converted directly.
        match b.graph().made_by(x).filter(|node| node.op.get::<Convert>().is_some()) {
            Some(node) if widens(b.graph().aval(node.operands[0]), b.graph().aval(x)) => {
                let from = node.operands[0];
                simplified(if is(b.graph().aval(from)) { from } else { b.node1(*self, &[from])? })
            }
            _ => Ok(None),
        }
    }

    /// Conversions to integers truncate, and those to booleans compare with 0: they are not linear.
    fn linear(&self) -> Linear {
        if self.to.dtype.part().is_float() {
            Linear::InAll
        } else {
            Linear::In(&[])
        }
    }
}

fn widens(from: &Aval, to: &Aval) -> bool {
    // bf16 and f16 have one width, and neither contains the other.
    from.dtype == to.dtype || (from.dtype.kind() == to.dtype.kind() && from.dtype.bits() < to.dtype.bits())
}

/// The same bits as elements of another dtype, low bits first.
///
/// Equal widths keep the shape; a narrower dtype adds a last axis of the ratio of widths; a wider one
/// takes a last axis of exactly that ratio away (StableHLO, `bitcast_convert`). Booleans convert to
/// booleans only. Never ambiguous.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BitcastConvert {
    /// Dtype of the result.
    pub dtype: DType,
}

static BITCAST_CONVERT: Row = written("bitcast_convert", "nv_bitcast_convert", &["operand"], ANY);

impl OpDef for BitcastConvert {
    fn row(&self) -> &'static Row {
        &BITCAST_CONVERT
    }

    fn rows() -> Vec<&'static Row> {
        vec![&BITCAST_CONVERT]
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![("dtype", self.dtype.to_string())]
    }

    fn promotion(_row: &'static Row) -> Promotion {
        Promotion::Each(&[Role::Known])
    }

    fn decode(_row: &'static Row, attrs: &Attrs, _operands: &[&Aval]) -> Result<Op> {
        Ok(BitcastConvert { dtype: attrs.dtype("dtype")? }.into())
    }

    fn parse(form: &Form) -> Parsed<BitcastConvert> {
        form.takes(1)?;
        Ok(BitcastConvert { dtype: form.dtype("dtype")? })
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let x = operands[0];
        let (from, to) = (x.dtype.bytes(), self.dtype.bytes());
        let refuse = |reason: String| {
            Err(Error::Bitcast { from: x.ranked().dtype, to: self.dtype, shape: x.shape.clone(), reason })
        };
        if (x.dtype == DType::I1) != (self.dtype == DType::I1) {
            return refuse("Booleans have no bits to share with numbers; use `nv_convert()`".into());
        }
        let mut sizes = x.shape.to_vec();
        if from > to {
            sizes.push(from / to);
        } else if from < to && sizes.pop() != Some(to / from) {
            return refuse(format!("The last axis must have size {}, the ratio of the widths", to / from));
        }
        Ok(vec![Aval::known(self.dtype, Shape::try_new(sizes)?)])
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        let (x, out) = (&operands[0], &mut results[0]);
        // The elements of the narrower side that share bits lie along its last axis, which is the
        // slowest in memory: element `i` of the wider side is made of elements `i`, `i + n`, `i + 2n`, ... of
        // the narrower.
        let (from, to) = (x.dtype.bytes(), out.dtype.bytes());
        let mut dense = AlignedBytes::zeroed(x.shape.size() * from);
        let dense = dense.as_mut_slice();
        tile::copy(x, &mut ViewMut { dtype: x.dtype, shape: x.shape, data: dense });
        let (narrow, wide) = (from.min(to), from.max(to));
        let n = out.data.len() / wide;
        for i in 0..n {
            if i % stop::EVERY == 0 {
                stop::work(stop::EVERY);
            }
            for part in 0..wide / narrow {
                let (w, s) = (i * wide + part * narrow, (i + part * n) * narrow);
                if from >= to {
                    out.data[s..s + narrow].copy_from_slice(&dense[w..w + narrow]);
                } else {
                    out.data[w..w + narrow].copy_from_slice(&dense[s..s + narrow]);
                }
            }
        }
    }

    fn scratch(&self, operands: &[&Aval]) -> usize {
        operands[0].bytes()
    }

    fn is_elementwise(&self, from: &[DType]) -> bool {
        self.dtype.bytes() == from[0].bytes()
    }

    fn kernel(&self, from: &[DType]) -> Option<Kernel> {
        self.is_elementwise(from).then(|| Kernel::copy(from[0]))
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::Zero
    }

    fn batch(&self) -> Batch<'_> {
        // The bits of an element are along the last axis.
        Batch::of_one(|at| at.whole(0).batch_first().apply(*self, &[]).batch_last())
    }

    fn lower(&self, operands: &[Aval]) -> Lowering<'_> {
        let from = operands[0].dtype;
        let same = !from.is_complex() && !self.dtype.is_complex() && from != DType::I1;
        op_if(same, signature("stablehlo.bitcast_convert", ""), Formula::Bitcast(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Element;
    use crate::kernels::cast;
    use crate::tensor::Layout;

    fn bitcast<T: Element, U: Element>(x: &[T], shape: Shape) -> (Vec<U>, Shape) {
        let op = BitcastConvert { dtype: U::DTYPE };
        let aval = op.infer(&[&Aval::known(T::DTYPE, shape.clone())]).unwrap().remove(0);
        let mut out = vec![U::default(); aval.shape.size()];
        let layout = Layout::dense(&shape);
        let x = View { dtype: T::DTYPE, shape: &shape, layout: &layout, data: cast::bytes(x) };
        op.eval(
            &[x],
            &mut [ViewMut { dtype: U::DTYPE, shape: &aval.shape, data: cast::bytes_mut(&mut out) }],
        );
        (out, aval.shape)
    }

    #[test]
    fn widths_trade_for_a_last_axis() {
        assert_eq!(bitcast::<f32, u32>(&[1.0], Shape::scalar()), (vec![0x3f80_0000], Shape::scalar()));
        let (bytes, shape) = bitcast::<u32, u8>(&[0x0403_0201, 0x0807_0605], [2].into());
        assert_eq!((bytes.as_slice(), &shape), (&[1, 5, 2, 6, 3, 7, 4, 8][..], &[2, 4].into()));
        assert_eq!(bitcast::<u8, u32>(&bytes, shape), (vec![0x0403_0201, 0x0807_0605], [2].into()));
    }

    #[test]
    fn refusals_say_why() {
        let infer = |from, shape: Shape, dtype| BitcastConvert { dtype }.infer(&[&Aval::known(from, shape)]);
        assert!(infer(DType::I1, [8].into(), DType::UI8).is_err());
        assert!(infer(DType::UI8, [3].into(), DType::UI32).unwrap_err().to_string().contains("size 4"));
        assert!(infer(DType::UI8, Shape::scalar(), DType::UI32).is_err());
        assert!(infer(DType::I1, [8].into(), DType::I1).is_ok());
    }
}
