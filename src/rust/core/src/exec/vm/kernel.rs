//! Kernels of instructions: functions on slices, with the extents that they read and write for a tile.
//!
//! This is one of the files that turn pointers into slices: windows of values are lent to kernels, a tile at
//! a time.

use super::cut::Cut;
use crate::dtype::{dispatch, DType, Element};
use crate::kernels::cast::by_width;
use crate::kernels::elementwise::Map;
use crate::kernels::memory::nontemporal::stream;
use crate::kernels::random::Draw;
use crate::kernels::reductions::carrier::Carrier;
use crate::kernels::reductions::fold::Fold;
use crate::kernels::reductions::partials::PARTIAL;
use crate::kernels::reductions::segments::{segments, tiles};
use crate::kernels::tile::{copy_run, gather, repeat_each, runs, MAX_OPERANDS};
use crate::shape::Shape;
use crate::tensor::{Layout, Literal};
use std::fmt;
use std::mem::size_of;
use std::ops::Range;
use std::sync::Arc;

/// The location of an operand or a result of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// Among the constants, from this byte on: one value, [`Cut::constant`] times.
    Constant(usize),
    /// Among the registers, from this byte on.
    Register(usize),
    /// Among what is kept of some rows from phase to phase, from this byte of the registers on.
    Kept(usize),
    /// In the stream with that number.
    Stream(usize),
}

/// The bytes of a slot that an instruction accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Extent {
    /// Nothing: the kernel has fewer operands.
    Unused,
    /// The elements of the tile, of so many bytes each.
    Tile(usize),
    /// An element of so many bytes for each segment of the tile; or, if a segment is many tiles, a
    /// [`Partial`] for each tile.
    Fold(usize),
    /// Partial sums of so many bytes for each tile of a segment.
    Partial(usize),
    /// All of a stream that no instruction writes.
    Whole,
    /// So many bytes of a stream.
    Bytes(usize),
    /// So many bytes for each element of the longest tile, in a register.
    Cycle(usize),
    /// All copies of a constant, of so many bytes each.
    Constant(usize),
}

/// The function of a kernel. A trait of our own: `dyn Fn` would compile each closure twice, as `FnOnce` too.
pub(super) trait Run: Send + Sync {
    fn run(&self, window: &Window);
}

impl<F: Fn(&Window) + Send + Sync> Run for F {
    fn run(&self, window: &Window) {
        self(window)
    }
}

/// A kernel of up to [`MAX_OPERANDS`] operands, with its extents.
pub struct Kernel {
    pub(super) run: Box<dyn Run>,
    /// What carries from tile to tile, if it cumulates.
    pub(super) carrier: Option<Arc<dyn Carrier>>,
    pub(super) reads: [Extent; MAX_OPERANDS],
    pub(super) write: Extent,
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kernel")
    }
}

/// The tile of a value of elements of this type.
fn tile_of<T>() -> Extent {
    Extent::Tile(size_of::<T>())
}

impl Kernel {
    /// A kernel that keeps to these extents.
    pub(super) fn new<const N: usize>(run: Box<dyn Run>, reads: [Extent; N], write: Extent) -> Kernel {
        let mut all = [Extent::Unused; MAX_OPERANDS];
        all[..N].copy_from_slice(&reads);
        Kernel { run, carrier: None, reads: all, write }
    }

    /// The kernel of a map.
    pub fn map<const N: usize>(map: Map<N>) -> Kernel {
        let (from, to) = (map.from().map(DType::bytes), map.to().bytes());
        let run = Box::new(move |w: &Window| {
            map.run(std::array::from_fn(|i| w.slice::<u8>(i, w.len * from[i])), w.folded(w.len * to));
        });
        Kernel::new(run, from.map(Extent::Tile), Extent::Tile(to))
    }

    /// A kernel of one operand.
    pub fn of1<T: Element, U: Element>(f: impl Fn(&[T], &mut [U]) + Send + Sync + 'static) -> Kernel {
        let run = Box::new(move |w: &Window| f(w.read::<T>(0), w.write::<U>()));
        Kernel::new(run, [tile_of::<T>()], tile_of::<U>())
    }

    /// A kernel of two operands.
    pub fn of2<T: Element, U: Element>(f: impl Fn(&[T], &[T], &mut [U]) + Send + Sync + 'static) -> Kernel {
        let run = Box::new(move |w: &Window| f(w.read::<T>(0), w.read::<T>(1), w.write::<U>()));
        Kernel::new(run, [tile_of::<T>(), tile_of::<T>()], tile_of::<U>())
    }

    /// A kernel of three operands, the first of its own dtype.
    pub fn of3<S: Element, T: Element>(
        f: impl Fn(&[S], &[T], &[T], &mut [T]) + Send + Sync + 'static,
    ) -> Kernel {
        let run =
            Box::new(move |w: &Window| f(w.read::<S>(0), w.read::<T>(1), w.read::<T>(2), w.write::<T>()));
        Kernel::new(run, [tile_of::<S>(), tile_of::<T>(), tile_of::<T>()], tile_of::<T>())
    }

    /// Copies the operand.
    pub fn copy(dtype: DType) -> Kernel {
        Kernel::of_bytes(dtype, |x, out| out.copy_from_slice(x))
    }

    /// A kernel of one operand in its dtype, on bytes.
    fn of_bytes(dtype: DType, f: fn(&[u8], &mut [u8])) -> Kernel {
        let width = dtype.bytes();
        let run = Box::new(move |w: &Window| f(w.slice(0, w.len * width), w.folded(w.len * width)));
        Kernel::new(run, [Extent::Tile(width)], Extent::Tile(width))
    }

    /// Copies the operand by non-temporal stores, for results that are not read soon: memory is not read
    /// first, and the caches keep their content.
    pub fn stream(dtype: DType) -> Kernel {
        Kernel::of_bytes(dtype, stream)
    }

    /// The tile of a stream of this shape and layout.
    pub fn gather(dtype: DType, shape: Shape, layout: Layout) -> Kernel {
        by_width!(dtype, T => Kernel::gather_of::<T>(shape, layout))
    }

    fn gather_of<T: Element>(shape: Shape, layout: Layout) -> Kernel {
        let run = Box::new(move |w: &Window| gather::<T>(w.whole(0), &shape, &layout, w.range(), w.write()));
        Kernel::new(run, [Extent::Whole], tile_of::<T>())
    }

    /// Stores the tile in a stream of so many bytes, in which a value of this shape lies so.
    pub fn place(dtype: DType, shape: Shape, layout: Layout, bytes: usize) -> Kernel {
        by_width!(dtype, T => Kernel::place_of::<T>(shape, layout, bytes))
    }

    fn place_of<T: Element>(shape: Shape, layout: Layout, bytes: usize) -> Kernel {
        let along = shape.iter().zip(&layout.strides).map(|(&size, &stride)| (size - 1) * stride as usize);
        let last = layout.offset + along.sum::<usize>();
        assert!(
            layout.strides[0] == 1 && (last + 1) * size_of::<T>() <= bytes,
            "a value outside of its stream"
        );
        let run = Box::new(move |w: &Window| {
            let x = w.read::<T>(0);
            runs(&shape, &layout, w.range(), |at, first, _, len| w.put(first, &x[at..at + len]));
        });
        Kernel::new(run, [tile_of::<T>()], Extent::Bytes(bytes))
    }

    /// One element of a stream, as a constant. Runs before the first tile.
    pub fn splat(dtype: DType, element: usize) -> Kernel {
        by_width!(dtype, T => Kernel::splat_of::<T>(element))
    }

    fn splat_of<T: Element>(element: usize) -> Kernel {
        let run = Box::new(move |w: &Window| w.write::<T>().fill(w.whole::<T>(0)[element]));
        let write = Extent::Constant(size_of::<T>());
        Kernel::new(run, [Extent::Whole], write)
    }

    /// One value, as a constant. Runs before the first tile.
    pub fn fill(value: Literal) -> Kernel {
        dispatch!(value.dtype(), T => Kernel::fill_with::<T>(value.get()))
    }

    fn fill_with<T: Element>(value: T) -> Kernel {
        let run = Box::new(move |w: &Window| w.write::<T>().fill(value));
        Kernel::new(run, [], Extent::Constant(size_of::<T>()))
    }

    /// Counts from `start` on, `size` numbers, each repeated `stride` times.
    pub fn iota(dtype: DType, start: i64, stride: usize, size: usize) -> Kernel {
        dispatch!(dtype, T => Kernel::iota_of::<T>(start, stride, size))
    }

    fn iota_of<T: Element>(start: i64, stride: usize, size: usize) -> Kernel {
        let run = Box::new(move |w: &Window| {
            let (mut repeat, mut at, mut out) = (w.start % stride, w.start / stride % size, w.write::<T>());
            // Runs of one number, or of neighbours: for each element alone the bookkeeping takes ten times
            // longer than the store.
            while !out.is_empty() {
                let length = if stride == 1 { size - at } else { stride - repeat };
                let (run, rest) = out.split_at_mut(length.min(out.len()));
                let first = start.wrapping_add(at as i64);
                if stride == 1 {
                    (0..).zip(run).for_each(|(i, x)| *x = T::from_i64(first.wrapping_add(i)));
                    at = 0;
                } else {
                    run.fill(T::from_i64(first));
                    (repeat, at) = (0, if at + 1 == size { 0 } else { at + 1 });
                }
                out = rest;
            }
        });
        Kernel::new(run, [], tile_of::<T>())
    }

    /// Folds the segments of the tile, each into one element; or, if a segment is many tiles, the tile into
    /// its partial results. Segments longer than a tile are folded tile by tile.
    pub fn fold(dtype: DType, fold: Fold) -> Kernel {
        let (width, tiles, segments) = (dtype.bytes(), tiles(dtype), segments(dtype));
        let run = Box::new(move |w: &Window| {
            let x = w.slice::<u8>(0, w.len * width);
            if w.cut.tiles_per_segment() > 1 {
                let (each, out) = (w.cut.partial, w.folded::<u8>(w.len.div_ceil(w.cut.partial) * PARTIAL));
                return tiles(fold, x, each, out);
            }
            segments(fold, x, w.cut.segment, w.folded::<u8>(w.len / w.cut.segment * width));
        });
        Kernel::new(run, [Extent::Tile(width)], Extent::Fold(width))
    }

    /// Cumulates the elements of the tile: segments by themselves, or, if a segment is many tiles, as the next
    /// of them.
    pub fn cumulate(carrier: Arc<dyn Carrier>, dtype: DType, reverse: bool) -> Kernel {
        let (width, tiles) = (dtype.bytes(), carrier.clone());
        let run = Box::new(move |w: &Window| {
            let out = w.folded::<u8>(w.len * width);
            out.copy_from_slice(w.slice::<u8>(0, w.len * width));
            if w.cut.tiles_per_segment() == 1 {
                return tiles.lines(w.cut.segment, out);
            }
            let (begin, turn) = if reverse {
                (w.start + w.len, w.cut.tiles() - 1 - w.cut.number(w.start))
            } else {
                (w.start, w.cut.number(w.start))
            };
            tiles.tile(turn, begin % w.cut.segment == 0, out);
        });
        let reads = [Extent::Tile(width)];
        Kernel { carrier: Some(carrier), ..Kernel::new(run, reads, Extent::Tile(width)) }
    }

    /// Repeats the fold of each segment for all elements of the segment.
    pub fn repeat(dtype: DType) -> Kernel {
        by_width!(dtype, T => Kernel::repeat_of::<T>())
    }

    fn repeat_of<T: Element>() -> Kernel {
        let run = Box::new(move |w: &Window| {
            let (segment, out) = (w.cut.segment, w.write::<T>());
            let folded = w.slice::<T>(0, out.len() / segment);
            repeat_each(folded, segment, out);
        });
        let folded = Extent::Fold(size_of::<T>());
        Kernel::new(run, [folded], tile_of::<T>())
    }

    /// Repeats the folds of some rows, all of them again and again, for the columns of a tile.
    pub fn cycle(dtype: DType) -> Kernel {
        by_width!(dtype, T => Kernel::cycle_of::<T>())
    }

    fn cycle_of<T: Element>() -> Kernel {
        let run = Box::new(move |w: &Window| {
            let (folded, n) = (w.read::<T>(0), w.cut.longest() / w.len * w.len);
            w.folded::<T>(n).chunks_exact_mut(w.len).for_each(|out| out.copy_from_slice(folded));
        });
        let reads = [tile_of::<T>()];
        Kernel::new(run, reads, Extent::Cycle(size_of::<T>()))
    }

    /// The tile of a draw, or of draws from several states; `at` gives the positions of the key and the
    /// counter of each.
    pub fn random(draw: Draw, width: usize, at: Box<dyn Fn(usize) -> [usize; 2] + Send + Sync>) -> Kernel {
        let run = Box::new(move |w: &Window| {
            let states = w.whole::<u64>(0);
            draw.range(&|i| at(i).map(|i| states[i]), w.range(), w.folded(w.len * width))
        });
        Kernel::new(run, [Extent::Whole], Extent::Tile(width))
    }
}

/// The arguments of a kernel: its operands and result, and which elements of the program these are. Kernels
/// access exactly their [`Extent`]s.
#[derive(Clone)]
pub struct Window<'w> {
    pub(super) reads: [*const u8; MAX_OPERANDS],
    pub(super) write: *mut u8,
    pub(super) whole: [usize; 2],
    pub(super) start: usize,
    pub(super) len: usize,
    /// Rows of a tile of lines.
    pub(super) rows: usize,
    pub(super) cut: &'w Cut,
}

impl Window<'_> {
    /// The range of the elements.
    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.start + self.len
    }

    /// The elements of an operand.
    pub(super) fn read<T: Element>(&self, i: usize) -> &[T] {
        self.slice(i, self.len)
    }

    /// All elements of one of the first two operands.
    pub(super) fn whole<T: Element>(&self, i: usize) -> &[T] {
        self.slice(i, self.whole[i] / size_of::<T>())
    }

    pub(super) fn slice<T: Element>(&self, i: usize, n: usize) -> &[T] {
        let pointer = self.reads[i].cast::<T>();
        assert!(pointer.is_aligned(), "an operand is not aligned");
        // SAFETY: the extent of the kernel has at least so many bytes there, which were checked to be in
        // memory that is borrowed while it runs, and apart from what it writes (`bind` in `resolve.rs`).
        unsafe { std::slice::from_raw_parts(pointer, n) }
    }

    /// The elements to make.
    #[allow(clippy::mut_from_ref)]
    pub(super) fn write<T: Element>(&self) -> &mut [T] {
        self.folded(self.len)
    }

    /// The `n` elements of the result. Kernels call this once.
    #[allow(clippy::mut_from_ref)]
    pub(super) fn folded<T: Element>(&self, n: usize) -> &mut [T] {
        let pointer = self.write.cast::<T>();
        assert!(pointer.is_aligned(), "a result is not aligned");
        // SAFETY: as for operands. Other threads make other tiles, and what is read whole is written by
        // nobody.
        unsafe { std::slice::from_raw_parts_mut(pointer, n) }
    }

    /// Copies elements to the result, from one of its elements on: within the kernel's extent.
    fn put<T: Element>(&self, first: usize, x: &[T]) {
        let pointer = self.write.cast::<T>();
        assert!(pointer.is_aligned(), "a result is not aligned");
        // SAFETY: as for `folded`: the place of these elements, which no other tile has, is within the extent
        // (`Kernel::place`).
        copy_run(x, unsafe { std::slice::from_raw_parts_mut(pointer.add(first), x.len()) });
    }
}
