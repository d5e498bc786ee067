//! Products of a matrix and a vector as instructions of tile programs
//! ([`matvec`](crate::kernels::products::matvec)): the matrix is in memory; the vector or the result is a
//! tile at a time.

use super::kernel::{Extent, Kernel, Window};
use crate::dtype::DType;
use crate::kernels::products::matrix::Matrix;
use crate::kernels::products::matvec::PartialSums;
use crate::kernels::tile::TILE;
use std::mem::size_of;

impl Kernel {
    /// The products of the rows of a matrix in the tile, of `k` elements each, with a vector that begins at
    /// element `start`, singles or doubles. `lines` are the position of the first element of the matrix and the
    /// strides of rows and of columns.
    pub fn rows(dtype: DType, lines: (usize, [isize; 2]), start: usize, k: usize) -> Kernel {
        match dtype {
            DType::F32 => Kernel::rows_of::<f32>(lines, start, k),
            _ => Kernel::rows_of::<f64>(lines, start, k),
        }
    }

    fn rows_of<F: PartialSums>(lines: (usize, [isize; 2]), start: usize, k: usize) -> Kernel {
        let run = Box::new(move |w: &Window| {
            let matrix = Matrix { data: w.whole::<F>(0), first: lines.0, strides: lines.1 };
            F::partial_sums(matrix, &w.whole::<F>(1)[start..][..k], k, [w.range().start, 0], w.write::<F>());
        });
        Kernel::new(run, [Extent::Whole, Extent::Whole], Extent::Tile(size_of::<F>()))
    }

    /// The partial sums of a tile of a vector of `k` elements: its products with the `rows` rows of a matrix,
    /// which [`PartialSums::add_partial_sums`] adds. A tile that is the whole vector makes the products.
    pub fn columns(dtype: DType, lines: (usize, [isize; 2]), rows: usize, k: usize) -> Kernel {
        match dtype {
            DType::F32 => Kernel::columns_of::<f32>(lines, rows, k),
            _ => Kernel::columns_of::<f64>(lines, rows, k),
        }
    }

    fn columns_of<F: PartialSums>(lines: (usize, [isize; 2]), rows: usize, k: usize) -> Kernel {
        let run = Box::new(move |w: &Window| {
            let matrix = Matrix { data: w.whole::<F>(0), first: lines.0, strides: lines.1 };
            let (x, first) = (w.read::<F>(1), w.range().start);
            let each = |partials: &mut [F]| {
                for (i, (x, partials)) in x.chunks(TILE).zip(partials.chunks_mut(rows)).enumerate() {
                    F::partial_sums(matrix, x, k, [0, first + i * TILE], partials);
                }
            };
            let tiles = x.len().div_ceil(TILE);
            if tiles == 1 || w.cut.tiles_per_segment() > 1 {
                return each(w.folded(rows * tiles));
            }
            let mut partials = vec![F::default(); rows * tiles];
            each(&mut partials);
            F::add_partial_sums(&partials, w.folded(rows));
        });
        let write = Extent::Partial(rows * size_of::<F>());
        Kernel::new(run, [Extent::Whole, Extent::Tile(size_of::<F>())], write)
    }
}
