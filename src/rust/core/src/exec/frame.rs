//! The frame of a value: all of its elements but those of a window, which are made by another step.

use crate::kernels::cast::{self, by_width};
use crate::kernels::tile::{copy_run, gather, runs};
use crate::shape::Shape;
use crate::tensor::{Aval, Layout, View, ViewMut};
use std::ops::Range;

/// See the [module](self).
#[derive(Debug)]
pub struct Frame {
    /// The name of the op that makes it.
    pub name: &'static str,
    /// The shape of what is inside.
    pub shape: Shape,
    /// Its layout in the value.
    pub layout: Layout,
}

impl Frame {
    /// The bytes of the frame of a result.
    pub fn bytes(&self, whole: &Aval) -> usize {
        whole.bytes() - self.shape.size() * whole.dtype.bytes()
    }

    /// Copies the elements of a frame: all but those inside.
    pub fn fill(&self, x: &View, out: &mut ViewMut) {
        by_width!(out.dtype, T => {
            let (data, out, shape) = (cast::slice::<T>(x.data), cast::slice_mut::<T>(out.data), out.shape);
            if x.layout.strides.iter().all(|&stride| stride == 0) {
                let element = data[x.layout.offset];
                self.gaps(out.len(), |gap| match &mut out[gap] {
                    [x] => *x = element,
                    [x, y] => (*x, *y) = (element, element),
                    out => out.fill(element),
                });
            } else if x.layout.is_dense(shape) {
                let data = &data[x.layout.offset..][..out.len()];
                self.gaps(out.len(), |gap| copy_run(&data[gap.clone()], &mut out[gap]));
            } else {
                self.gaps(out.len(), |gap| gather(data, shape, x.layout, gap.clone(), &mut out[gap]));
            }
        })
    }

    /// Calls a function for the elements between the runs of what is inside, of so many.
    fn gaps(&self, all: usize, mut gap: impl FnMut(Range<usize>)) {
        let mut end = 0;
        runs(&self.shape, &self.layout, 0..self.shape.size(), |_, first, _, len| {
            gap(end..first);
            end = first + len;
        });
        gap(end..all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;

    #[test]
    fn a_frame_is_all_that_is_not_inside() {
        let whole: Shape = [4, 3, 2].into();
        let x: Vec<i32> = (0..24).collect();
        let turned = Layout { strides: vec![6, 2, 1], offset: 0 };
        let one = Layout { strides: vec![0; 3], offset: 7 };
        for (sizes, start) in
            [([4, 3, 2], [0, 0, 0]), ([2, 1, 1], [1, 1, 0]), ([4, 2, 1], [0, 1, 1]), ([1, 3, 2], [3, 0, 0])]
        {
            let dense = Layout::dense(&whole);
            let offset = (0..3).map(|i| start[i] * dense.strides[i] as usize).sum();
            let frame =
                Frame { name: "pad", shape: sizes.into(), layout: Layout { offset, ..dense.clone() } };
            for layout in [&dense, &turned, &one] {
                let mut out = [-1; 24];
                let view = View { dtype: DType::I32, shape: &whole, layout, data: cast::bytes(&x) };
                frame.fill(
                    &view,
                    &mut ViewMut { dtype: DType::I32, shape: &whole, data: cast::bytes_mut(&mut out) },
                );
                for (i, &x) in out.iter().enumerate() {
                    let index = [i % 4, i / 4 % 3, i / 12];
                    let is_inside = (0..3).all(|a| (start[a]..start[a] + sizes[a]).contains(&index[a]));
                    let at: isize = (0..3).map(|a| index[a] as isize * layout.strides[a]).sum();
                    assert_eq!(x, if is_inside { -1 } else { layout.offset as i32 + at as i32 }, "{index:?}");
                }
            }
        }
    }
}
