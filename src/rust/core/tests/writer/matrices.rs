//! Operands of ops on matrices in random programs.

use super::Writer;
use crate::common::Rng;
use anvil_core::dtype::DType;
use anvil_core::graph::Value;
use anvil_core::ops::attrs::{Attr, Attrs};
use anvil_core::shape::Shape;
use anvil_core::tensor::{Aval, Literal};

/// Sizes of matrices where a program has none.
const SIZES: &[&[usize]] = &[&[2, 2], &[3, 3], &[3, 2], &[2, 3, 3], &[4, 4]];

impl Writer {
    /// Operands and parameters of an op on matrices: for those that need it a matrix that is positive definite, `x x^H` and
    /// more on the diagonal.
    pub(super) fn matrices(&mut self, name: &str, x: Value) -> (Vec<Value>, Attrs) {
        let fits = |aval: &Aval| aval.shape.rank() >= 2 && aval.dtype.part().is_float();
        let x = match fits(self.b.graph().aval(x)) {
            true => x,
            false => {
                let dtypes = if self.smooth { &[DType::F64, DType::C128][..] } else { DType::ALL };
                let floats: Vec<DType> = dtypes.iter().copied().filter(|d| d.part().is_float()).collect();
                let sizes = *self.rng.choose(SIZES);
                let shape = Shape::try_new(sizes.to_vec()).unwrap();
                let dtype = *self.rng.choose(&floats);
                self.b.input(Aval::known(dtype, shape))
            }
        };
        let flag = |rng: &mut Rng| Attr::Logical(rng.one_in(2));
        // Derivatives are those of thin factors with vectors.
        let (full, vectors) = match self.smooth {
            true => (Attr::Logical(false), Attr::Logical(true)),
            false => (flag(&mut self.rng), flag(&mut self.rng)),
        };
        let attrs = Attrs::new().with("lower", flag(&mut self.rng)).with("adjoint", flag(&mut self.rng));
        let attrs = attrs.with("unit_diagonal", flag(&mut self.rng));
        let attrs = attrs.with("full", full).with("vectors", vectors);
        let any = ["lu", "qr", "svd"].contains(&name) && self.rng.one_in(2);
        let Some(a) = (if any { Some(x) } else { self.positive(x) }) else { return (vec![x], attrs) };
        let operands = match name {
            "triangular_solve" => vec![a, x],
            "lu_solve" => match self.applier().apply("lu", &[a], &Attrs::new()) {
                Ok(factors) => vec![a, factors[0], factors[2], x],
                Err(_) => vec![a],
            },
            _ => vec![a],
        };
        (operands, attrs)
    }

    /// The first result of an op that takes what it is given.
    fn applied(&mut self, name: &str, operands: &[Value], attrs: &Attrs) -> Option<Value> {
        self.applier().apply(name, operands, attrs).ok().map(|made| made[0])
    }

    /// `x x^H`, and the number of columns more on the diagonal.
    fn positive(&mut self, x: Value) -> Option<Value> {
        let aval = self.b.graph().aval(x).clone();
        let (rank, dtype) = (aval.shape.rank(), aval.ranked());
        let mut swapped: Vec<f64> = (1..=rank).map(|i| i as f64).collect();
        swapped.swap(rank - 1, rank - 2);
        let none = Attrs::new();
        let y = self.applied("transpose", &[x], &Attrs::new().with("permutation", Attr::Numbers(swapped)))?;
        let y = if dtype.dtype.is_complex() { self.applied("conj", &[y], &none)? } else { y };
        let a = self.applied("matmul", &[x, y], &none)?;
        let sizes = Attr::Numbers(self.shape(a).iter().map(|&d| d as f64).collect());
        let number = |x: f64| Attr::Numbers(vec![x]);
        let [row, column] = [rank - 1, rank].map(|axis| {
            let attrs = Attrs::new().with("axis", number(axis as f64)).with("start", number(0.0));
            let attrs = attrs.with("dtype", Attr::Text("i32".into())).with("shape", sizes.clone());
            self.applied("iota", &[], &attrs.with("ambiguous", Attr::Logical(false)))
        });
        let to = Attrs::new().with("dtype", Attr::Text(dtype.dtype.name().into()));
        let to = to.with("ambiguous", Attr::Logical(dtype.ambiguous));
        let diagonal = self.applied("eq", &[row?, column?], &none)?;
        let diagonal = self.applied("convert", &[diagonal], &to)?;
        let size = self.b.literal(Literal::new(aval.shape[rank - 1] as f64 + 1.0), None);
        let size = self.applied("convert", &[size], &to)?;
        let more = self.applied("mul", &[diagonal, size], &none)?;
        self.applied("add", &[a, more], &none)
    }
}
