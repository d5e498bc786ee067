//! Scatters that add up elements at few places.

use super::binary::Binary;
use super::contract::Sums;
use super::places::finder;
use super::{Scatter, Update};
use crate::exec::vm::Kernel;
use crate::kernels::memory::bins::Bins;
use crate::shape::{Axis, Shape};
use crate::tensor::Aval;

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
        let some = of_elements && matches!(self.update, Update::With(Binary::add)) && !x.dtype.is_complex();
        some.then(|| Bins::of(update.size(), x.shape.size(), x.dtype.bytes())).flatten()
    }

    /// As tiles of a group compute them.
    pub(super) fn sums_of(&self, x: &Aval, indices: &Aval, update: &Aval) -> Option<Sums> {
        let (by, index) = (Binary::add.pair(x.dtype)?, indices.dtype);
        let bins = self.bins(x, &indices.shape, &update.shape)?;
        let find = finder(&self.check, index, (0, 1), (Axis(0), bins.places), vec![], false);
        let kernel = Box::new(move |before| Kernel::bins(bins, index, before, by, find));
        Some(Sums { bins, by, kernel })
    }
}
