//! Scatters that add up elements at few places, or those of columns.

use super::binary::Binary;
use super::contract::Sums;
use super::windows::finder;
use super::{Scatter, Update};
use crate::exec::vm::Kernel;
use crate::kernels::memory::bins::Bins;
use crate::shape::{Axis, Shape};
use crate::tensor::{Aval, Layout};

impl Scatter {
    /// How it adds up updates, if it adds single elements to those of a vector, in the order of the indices, and there are
    /// many for each. Complex numbers have no element that changes none of them, as `-0` does not change a real number.
    pub(super) fn bins(&self, x: &Aval, indices: &Shape, update: &Shape) -> Option<Bins> {
        let windows = &self.windows;
        let of_elements = windows.window_axes.is_empty()
            && windows.batching.is_empty()
            && matches!(windows.index_map[..], [Axis(0)])
            && x.shape.rank() == 1
            && indices.size() == update.size();
        let some = of_elements && self.adds(x);
        some.then(|| Bins::of(update.size(), x.shape.size(), x.dtype.bytes())).flatten()
    }

    fn adds(&self, x: &Aval) -> bool {
        matches!(self.update, Update::With(Binary::add)) && !x.dtype.is_complex()
    }

    /// How it adds up rows, if it adds them to rows of a value with more axes, in the order of the indices.
    fn columns(&self, x: &Aval, indices: &Shape, update: &Shape) -> Option<Bins> {
        let windows = &self.windows;
        let (rank, more) = (x.shape.rank(), windows.batches(indices).len());
        let of_rows = rank > 1
            && update.rank() == more + rank - 1
            && windows.batching.is_empty()
            && windows.index_map == [Axis(0)]
            && windows.dropped == [Axis(0)]
            && windows.window_axes.iter().map(|axis| axis.0).eq(more..more + rank - 1)
            && update[more..] == x.shape[1..];
        let columns = || x.shape[1..].iter().product();
        let some = of_rows && self.adds(x);
        some.then(|| Bins::of_columns(indices.size(), columns(), x.shape[0])).flatten()
    }

    /// As tiles of a group compute them.
    pub(super) fn sums_of(&self, x: &Aval, (indices, lie): (&Aval, &Layout), update: &Aval) -> Option<Sums> {
        let (by, index) = (Binary::add.pair(x.dtype)?, indices.dtype);
        let find = |places| finder(&self.check, index, (0, 1), (Axis(0), places), false);
        if let Some(bins) = self.bins(x, &indices.shape, &update.shape) {
            let find = find(bins.places);
            let kernel = Box::new(move |before| Kernel::bins(bins, index, before, by, find));
            return Some(Sums { bins, by, kernel });
        }
        let bins = self.columns(x, &indices.shape, &update.shape)?;
        let dense = matches!(lie.lines(&indices.shape, 0..indices.shape.rank())[..], [] | [(_, 1)]);
        let (find, first) = (find(bins.places), lie.offset);
        let kernel = move |before| Kernel::bins_of_columns(bins, (index, first), before, by, find);
        dense.then(|| Sums { bins, by, kernel: Box::new(kernel) })
    }
}
