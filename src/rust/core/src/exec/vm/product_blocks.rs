//! Tile programs that begin with a matrix product: the columns of a block of the product are computed, then
//! the tiles of these columns, while they are in the cache.

use super::binding::Binding;
use super::code::{Blocks, Code};
use super::kernel::{Extent, Kernel, Window};
use super::resolve::Tile;
use crate::dtype::DType;
use crate::kernels::memory::Streams;
use crate::kernels::products::dot::Dot;
use crate::kernels::products::matrix::{Block, Matrix};
use crate::kernels::threads::{pool, threads};
use crate::stop;
use std::mem::size_of;
use std::ops::Range;

/// Columns of a block that threads share, at least: with fewer, kernels would copy the rows of an operand too
/// often.
const MIN_COLUMNS: usize = 64;

/// Columns of a block, at most, so that it is in the cache when its tiles are computed; more are no gain.
const MAX_COLUMNS: usize = 256;

/// Blocks for each thread, so that they end at about the same time.
const BLOCKS_PER_THREAD: usize = 2;

/// A matrix in a stream: the position of its first element, and the strides of rows and of columns.
pub type Lines = (usize, [isize; 2]);

impl Kernel {
    /// The columns of a product that are the elements of the tile: `lhs [m, k] * rhs [k, n]`, of singles
    /// or doubles.
    pub fn product(dtype: DType, lines: [Lines; 2], sizes: [usize; 2]) -> Kernel {
        match dtype {
            DType::F32 => Kernel::product_of::<f32>(lines, sizes),
            _ => Kernel::product_of::<f64>(lines, sizes),
        }
    }

    fn product_of<T: Dot>(lines: [Lines; 2], [m, k]: [usize; 2]) -> Kernel {
        let run = Box::new(move |w: &Window| {
            let matrix = |i: usize| Matrix { data: w.whole::<T>(i), first: lines[i].0, strides: lines[i].1 };
            let (range, out) = (w.range(), w.write::<T>());
            let n = range.len() / m;
            T::dot(matrix(0), matrix(1).from(0, range.start / m), [m, k, n], Block::new(out, [m, n], [1, m]));
        });
        Kernel::new(run, [Extent::Whole, Extent::Whole], Extent::Tile(size_of::<T>()))
    }
}

/// Whether a product has enough columns to be shared by blocks.
pub fn is_wide(columns: usize) -> bool {
    columns >= 2 * BLOCKS_PER_THREAD * MIN_COLUMNS
}

/// Whether all columns are one block.
pub(super) fn is_one(blocks: &Blocks, code: &Code) -> bool {
    code.cut.len <= MAX_COLUMNS * blocks.rows
}

/// Runs a program that begins with a product.
///
/// # Panics
/// As [`Code::run`].
pub(super) fn run(blocks: &Blocks, code: &Code, binding: &Binding, streams: &Streams, shared: bool) {
    let product = binding.product.as_ref().expect("it is bound with the program");
    let columns = code.cut.len / blocks.rows;
    let wanted = if shared { columns.div_ceil(BLOCKS_PER_THREAD * threads()) } else { columns };
    let each = wanted.clamp(MIN_COLUMNS, MAX_COLUMNS).min(columns);
    pool::for_each_piece(columns.div_ceil(each), shared, |piece| {
        let elements = piece * each * blocks.rows..((piece + 1) * each).min(columns) * blocks.rows;
        code.with_room(binding, streams, 0, |room, _| {
            let tile = |elements: Range<usize>| Tile { elements, segments: 0..0, rows: 0 };
            // SAFETY: by `with_room`; no other piece has these elements.
            unsafe {
                room.calls(&blocks.product, product, &tile(elements.clone()), |call| call.run());
                for start in elements.clone().step_by(code.cut.longest()) {
                    let tile = tile(start..(start + code.cut.longest()).min(elements.end));
                    stop::work(tile.elements.len());
                    room.run_on(&tile);
                }
            }
        });
    });
}
