//! The list of ops: the one place that names them all. Each line is a member of [`Op`] with its payload,
//! which keeps [the contract](super::OpDef) in the file that is named before it.

use super::attrs::Attrs;
use super::contract::{Form, OpDef, Promotion};
use super::{Graph, Row};
use crate::error::Result;
use crate::graph::syntax::Parsed;
use crate::graph::Operation;
use crate::tensor::Aval;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::OnceLock;

/// A payload of [`Op`].
pub trait Member: Sized {
    /// The payload of an op of this kind.
    fn of(op: &Op) -> Option<&Self>;
}

/// Makes the enum, its `Deref` and the catalogue from a list of members with their payloads.
macro_rules! ops {
    ($($(#[doc = $doc:literal])+ $name:ident($family:ident::$payload:ident),)+) => {
        $(pub use super::$family::$payload;)+

        /// An operation with its static parameters.
        #[derive(Clone, PartialEq, Eq, Hash, Debug)]
        pub enum Op { $($(#[doc = $doc])+ $name($payload),)+ }

        /// An op has the methods of its payload.
        impl Deref for Op {
            type Target = dyn OpDef;

            fn deref(&self) -> &(dyn OpDef + 'static) {
                match self { $(Op::$name(op) => op,)+ }
            }
        }

        $(
            impl From<$payload> for Op {
                fn from(op: $payload) -> Op {
                    Op::$name(op)
                }
            }

            impl Member for $payload {
                fn of(op: &Op) -> Option<&$payload> {
                    if let Op::$name(op) = op { Some(op) } else { None }
                }
            }
        )+

        /// The catalogue, family by family.
        pub fn catalogue() -> &'static [Entry] {
            &entries()[0]
        }

        /// The catalogue, and what no call names ([`OpDef::inner_rows`]).
        fn entries() -> &'static [Vec<Entry>; 2] {
            static ALL: OnceLock<[Vec<Entry>; 2]> = OnceLock::new();
            ALL.get_or_init(|| {
                let [mut all, mut inner] = [vec![], vec![]];
                $(
                    let of = |row| Entry {
                        row,
                        promotion: <$payload as OpDef>::promotion(row),
                        decode: <$payload as OpDef>::decode,
                        parse: |form| <$payload as OpDef>::parse(form).map(Op::$name),
                    };
                    all.extend(<$payload as OpDef>::rows().into_iter().map(of));
                    inner.extend(<$payload as OpDef>::inner_rows().into_iter().map(of));
                )+
                [all, inner]
            })
        }
    };
}

ops! {
    /// One operand, same type out.
    Unary(unary::Unary),
    /// One operand, booleans out.
    Predicate(predicate::Predicate),
    /// A real-valued part of a complex number.
    Part(complex::Part),
    /// A complex number from two real ones.
    Complex(complex::MakeComplex),
    /// Of parts of complex numbers.
    Planar(planar::Planar),
    /// Two operands of one type, same type out.
    Binary(binary::Binary),
    /// Two operands of one type, booleans out.
    Compare(compare::Compare),
    /// Three operands: select and clamp.
    Ternary(ternary::Ternary),
    /// Up to three operands of one type, same type out: special functions.
    Special(special::Special),
    /// Many elements into one.
    Reduction(reduce::Reduction),
    /// Elements of windows into one.
    ReduceWindow(reduce_window::ReduceWindow),
    /// All elements so far into one.
    Cumulative(cumulative::Cumulative),
    /// Another dtype, same value as far as the dtype has it.
    Convert(convert::Convert),
    /// Another dtype, same bits.
    BitcastConvert(convert::BitcastConvert),
    /// One value everywhere.
    Fill(create::Fill),
    /// Counting along an axis.
    Iota(create::Iota),
    /// Sums of products over shared axes.
    DotGeneral(dot::DotGeneral),
    /// Sums of products over windows.
    Convolution(convolution::Convolution),
    /// Cholesky factors.
    Cholesky(cholesky::Cholesky),
    /// Equations with a triangular matrix.
    TriangularSolve(triangular::TriangularSolve),
    /// LU factors.
    Lu(lu::Lu),
    /// Equations, from LU factors.
    LuSolve(lu::LuSolve),
    /// QR factors.
    Qr(qr::Qr),
    /// Eigenvalues and eigenvectors of Hermitian matrices.
    Eigh(eigen::Eigh),
    /// Singular values and vectors.
    Svd(svd::Svd),
    /// Other sizes, same elements.
    Reshape(layout::Reshape),
    /// Axes in another order.
    Transpose(layout::Transpose),
    /// Elements repeated along new or unit axes.
    BroadcastInDim(layout::BroadcastInDim),
    /// Values side by side.
    Concatenate(concatenate::Concatenate),
    /// A part at positions known while tracing.
    StaticSlice(slice::StaticSlice),
    /// Axes backwards.
    Reverse(slice::Reverse),
    /// A part at positions that are operands.
    DynamicSlice(dynamic_slice::DynamicSlice),
    /// A part replaced, at positions that are operands.
    DynamicUpdateSlice(dynamic_slice::DynamicUpdateSlice),
    /// A value around and between elements.
    Pad(slice::Pad),
    /// Many parts at positions that are an operand.
    Gather(gather::Gather),
    /// Many parts updated, at positions that are an operand.
    Scatter(scatter::Scatter),
    /// Discrete Fourier transforms.
    Fourier(fourier::Fourier),
    /// Elements in order.
    Sort(sort::Sort),
    /// The order of elements.
    Ordering(sort::Ordering),
    /// The first elements in order.
    TopK(sort::TopK),
    /// One of two graphs.
    If(control::If),
    /// A graph repeated while a condition holds.
    While(control::While),
    /// A graph repeated along an axis.
    Scan(control::Scan),
    /// A graph with a derivative that the user wrote.
    Custom(custom::Custom),
    /// Random bits.
    RngBits(random::RngBits),
    /// The value itself, shown when it is computed.
    Print(print::Print),
    /// A call of a function that the engine does not know.
    Callback(callback::Callback),
}

/// A row of the catalogue.
pub struct Entry {
    /// The row.
    pub row: &'static Row,
    /// The promotion of the operands of a call: [`OpDef::promotion`].
    pub promotion: Promotion,
    /// Makes the op from the parameters of a call: [`OpDef::decode`].
    pub decode: fn(&'static Row, &Attrs, &[&Aval]) -> Result<Op>,
    /// Makes the op from a statement of a graph's text: [`OpDef::parse`].
    pub parse: fn(&Form) -> Parsed<Op>,
}

/// The rows of all ops, family by family.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    catalogue().iter().map(|entry| entry.row)
}

/// The entry of the op of this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    static BY_NAME: OnceLock<HashMap<&str, &Entry>> = OnceLock::new();
    let all = BY_NAME.get_or_init(|| catalogue().iter().map(|entry| (entry.row.name, entry)).collect());
    all.get(name).copied()
}

impl Op {
    /// The payload, if the op is of this kind.
    pub fn get<T: Member>(&self) -> Option<&T> {
        T::of(self)
    }
}

impl Operation for Op {
    fn name(&self) -> &'static str {
        self.row().name
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        (**self).infer(operands)
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        (**self).attributes()
    }

    fn regions(&self) -> Vec<(&'static str, &Graph)> {
        (**self).regions()
    }

    fn parse(form: &Form) -> Parsed<Op> {
        let inner = || entries()[1].iter().find(|entry| entry.row.name == form.op);
        let entry = find(form.op)
            .or_else(inner)
            .ok_or_else(|| form.error("the name of an op", format!("`{}`", form.op)))?;
        (entry.parse)(form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::error::Error;
    use crate::shape::Shape;

    #[test]
    fn all_ops_are_called_by_name_but_those_that_run_graphs() {
        let x = Aval::known(DType::F32, Shape::scalar());
        let undecoded = catalogue().iter().filter(|entry| {
            let op = (entry.decode)(entry.row, &Attrs::new(), &[&x, &x, &x]);
            matches!(op, Err(Error::Internal { detail }) if detail.contains("not called by name"))
        });
        let names: Vec<&str> = undecoded.map(|entry| entry.row.name).collect();
        assert_eq!(names, ["if", "while", "scan", "custom_gradient", "custom_jvp", "callback"]);
    }
}
