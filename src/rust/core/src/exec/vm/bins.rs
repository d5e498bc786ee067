//! Sums of a tile's elements at places, one part of the tiles after the other.

use super::kernel::{Extent, Kernel, Window};
use super::picks::{Find, PICKS};
use crate::dtype::DType;
use crate::kernels::elementwise::Pair;
use crate::kernels::memory::bins::Bins;
use crate::tensor::Literal;

impl Kernel {
    /// Adds the second operand's elements to those of the tile's part, where `find` computes from the first operand, indices
    /// of this dtype. Before all, each place has the element `before`. A thread runs all tiles of a part, in order.
    pub fn bins(bins: Bins, index: DType, before: Literal, by: Pair, find: Find) -> Kernel {
        let dtype = by.map.to();
        let (width, own) = (index.bytes(), dtype.bytes());
        let bytes = bins.elements() * own;
        let run = Box::new(move |w: &Window| {
            let sums = w.folded::<u8>(bytes);
            if w.start % bins.part == 0 {
                bins.begin(w.start / bins.part, &before.to_bytes()[..own], sums, dtype);
            }
            let indices = w.slice::<u8>(0, w.len * width).chunks(PICKS * width);
            let new = w.slice::<u8>(1, w.len * own).chunks(PICKS * own);
            let mut list = [0; PICKS];
            for ((indices, new), start) in indices.zip(new).zip((w.start..).step_by(PICKS)) {
                let places = &mut list[..new.len() / own];
                find(places, indices, start);
                bins.add(sums, start, places, new, &by);
            }
        });
        Kernel::new(run, [Extent::Tile(width), Extent::Tile(own)], Extent::Partial(bytes))
    }
}
