//! Products of matrices and vectors as instructions of groups: their sizes, strides and costs. The bits are
//! those of the product in a step of its own.

use super::asked::Asked;
use crate::dtype::DType;
use crate::exec::vm::{self, Kernel, Lines};
use crate::graph::Def;
use crate::kernels::cast;
use crate::kernels::products::dot::is_long;
use crate::kernels::products::matrix::MULTIPLY_ADD;
use crate::kernels::products::matvec::{PartialSums, BYTE};
use crate::kernels::threads::pool::WORTH_SHARING;
use crate::kernels::tile::TILE;
use crate::ops::{DotGeneral, Matrices};

/// Bytes of the rows of a matrix that a tile is made from, at most: they stay in the second-level cache until
/// a second product reads them.
const MAX_TILE_BYTES: usize = 1 << 19;

/// A product of a matrix and a vector.
#[derive(Clone, Copy, Debug)]
pub struct MatVec {
    /// Of both.
    pub dtype: DType,
    /// Which operand is the matrix.
    pub matrix: usize,
    /// Elements of the result.
    pub rows: usize,
    /// Elements of the vector.
    pub k: usize,
    /// Whether the vector is contiguous.
    pub dense: bool,
    /// Position of the first element of the matrix, and the strides of its rows and of its columns.
    lines: Lines,
    /// Position of the first element of the vector.
    start: usize,
}

impl MatVec {
    /// The product as one of a matrix and a vector, if it is one of singles or doubles whose matrix can be
    /// read in place.
    pub fn of(op: &DotGeneral, at: &Asked) -> Option<MatVec> {
        let layouts = [0, 1].map(|i| at.layout(i));
        let operands = [0, 1].map(|i| (at.shape(i), &layouts[i]));
        let Matrices { sizes: [m, k, n], strides: [lhs, rhs] } = op.matrices(at.from[0], operands)?;
        // Of two vectors, one that no group computes is taken as a matrix of one row.
        let given = |i: usize| !matches!(at.graph.def(at.root(i)), Def::Result(..));
        let of_vectors = usize::from(!given(0) && given(1));
        let (matrix, rows, strides, step) = match (m, n) {
            (_, 1) if m > 1 || of_vectors == 0 => (0, m, lhs, rhs[0]),
            (1, _) => (1, n, [rhs[1], rhs[0]], lhs[1]),
            _ => return None,
        };
        let [first, start] = [matrix, 1 - matrix].map(|i| layouts[i].offset);
        let dense = step == 1 || k == 1;
        Some(MatVec { dtype: at.from[0], matrix, rows, k, lines: (first, strides), start, dense })
    }

    /// Whether the block of the matrix that belongs to a tile, lines of so many elements, stays in the cache.
    pub fn is_narrow(&self, line: usize) -> bool {
        TILE * line * self.dtype.bytes() <= MAX_TILE_BYTES
    }

    /// The kernel of a tile of the result, from the whole matrix and the whole vector.
    pub fn rows_kernel(self) -> Kernel {
        Kernel::rows(self.dtype, self.lines, self.start, self.k)
    }

    /// The kernel of the partial sums of a tile of the vector, from the whole matrix.
    pub fn columns_kernel(self) -> Kernel {
        Kernel::columns(self.dtype, self.lines, self.rows, self.k)
    }

    /// Adds the partial sums of all tiles.
    pub fn add(&self, partials: &[u8], out: &mut [u8]) {
        if self.dtype == DType::F32 {
            f32::add_partial_sums(cast::slice(partials), cast::slice_mut(out));
        } else {
            f64::add_partial_sums(cast::slice(partials), cast::slice_mut(out));
        }
    }

    /// The estimated time on one core, in picoseconds: the matrix is in the cache, or soon will be.
    pub fn picoseconds(&self) -> usize {
        (self.rows * self.k).saturating_mul(BYTE * self.dtype.bytes())
    }
}

/// A product of matrices that can be computed in blocks of columns.
#[derive(Clone, Copy, Debug)]
pub struct MatrixProduct {
    /// Rows of the first and of the result.
    pub rows: usize,
    dtype: DType,
    /// Products that are added up, and columns.
    k: usize,
    columns: usize,
    /// Positions of the first elements of the operands, and their strides.
    lines: [Lines; 2],
}

impl MatrixProduct {
    /// The product as one of two matrices, if it is one of singles or doubles that is computed in blocks,
    /// threads can share these, and the matrices can be read in place.
    pub fn of(op: &DotGeneral, at: &Asked) -> Option<MatrixProduct> {
        let layouts = [0, 1].map(|i| at.layout(i));
        let operands = [0, 1].map(|i| (at.shape(i), &layouts[i]));
        let Matrices { sizes: [m, k, n], strides } = op.matrices(at.from[0], operands)?;
        let lines = [0, 1].map(|i| (layouts[i].offset, strides[i]));
        let product = MatrixProduct { dtype: at.from[0], rows: m, k, columns: n, lines };
        let is_shared_well = product.picoseconds() < WORTH_SHARING || vm::is_wide(n);
        (m > 1 && n > 1 && !is_long([m, k, n]) && is_shared_well).then_some(product)
    }

    /// Its instruction.
    pub fn kernel(self) -> Kernel {
        Kernel::product(self.dtype, self.lines, [self.rows, self.k])
    }

    /// The estimated time on one core, in picoseconds.
    pub fn picoseconds(&self) -> usize {
        (self.rows * self.k * self.columns).saturating_mul(MULTIPLY_ADD)
    }
}
