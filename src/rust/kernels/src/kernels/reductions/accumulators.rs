//! Folds that take one element of each result at a time, where the elements of a result come one by one.

use super::fold::{Accumulation, Fold, Reduce, Work};
use super::loops::Loops;
use super::partials::{halve, Made, Offsets, Partial, Rows, PARTIAL};
use crate::dtype::{dispatch, DType, Element};
use crate::growth::table;
use crate::kernels::cast;
use crate::kernels::tile::TILE;

/// Accumulators of many results, which take one element of each result at a time. There is one for each lane
/// of a tile that has elements: as bytes, those of the first lane of all results, then those of the second.
pub struct Accumulators {
    /// Bytes of one.
    pub width: usize,
    /// Fills new ones.
    pub start: Box<dyn Fn(&mut [u8]) + Send + Sync>,
    /// Takes an element each into as many of them.
    pub add: Box<dyn Fn(&mut [u8], &[u8]) + Send + Sync>,
    /// Takes four elements each, in order.
    pub add_four: Box<dyn Fn(&mut [u8], [&[u8]; 4]) + Send + Sync>,
    /// Makes so many results, or [`Partial`]s if there are other tiles: calls with the number of the first of some
    /// results and the bytes of these, or with those of one [`Partial`].
    pub finish: Box<dyn Fn(&mut [u8], usize, bool, &mut dyn FnMut(usize, &[u8])) + Send + Sync>,
    /// Makes results from the [`Partial`]s of the tiles of each, those of one after the other, and from the
    /// number of its elements.
    pub join: Box<dyn Fn(&[u8], usize, &mut [u8]) + Send + Sync>,
    /// If it takes whole tiles instead: makes results, or [`Partial`]s, from the elements of a tile, of which so
    /// many of different results lie side by side, as `finish` does.
    pub tiles: Option<Tiles>,
}

/// Makes so many results, or [`Partial`]s if there are other tiles, from the elements of a tile of all of them.
pub type Tiles = Box<dyn Fn(&[u8], usize, bool, &mut dyn FnMut(usize, &[u8])) + Send + Sync>;

impl Accumulators {
    /// Those of a fold of elements of this dtype, with the bits of [`tile`](Reduce::tile).
    pub fn new(dtype: DType, fold: Fold) -> Accumulators {
        if fold == Fold::Squares {
            return dispatch!(dtype, T => Accumulators::of_tiles(fold, join_of::<T>, tiles_of::<T>));
        }
        dispatch!(dtype, T => <T as Reduce>::accumulation(fold, Gradual(fold, join_of::<T>)))
    }

    /// None, for a fold that takes whole tiles.
    fn of_tiles(fold: Fold, join: Join, tiles: TilesOf) -> Accumulators {
        Accumulators {
            width: 0,
            start: Box::new(|_| ()),
            add: Box::new(|_, _| ()),
            add_four: Box::new(|_, _| ()),
            finish: Box::new(|_, _, _, _| ()),
            join: Box::new(move |partials, len, out| join(fold, partials, len, out)),
            tiles: Some(Box::new(move |x, rows, partial, made| tiles(fold, x, rows, partial, made))),
        }
    }
}

/// Results that are made at one time: a call for each took longer than to fold ten elements.
const SOME: usize = 64;

/// The functions of a dtype.
type Join = fn(Fold, &[u8], usize, &mut [u8]);
type TilesOf = fn(Fold, &[u8], usize, bool, &mut dyn FnMut(usize, &[u8]));

/// Folds a tile of each of so many results, whose elements lie side by side.
fn tiles_of<T: Reduce>(fold: Fold, x: &[u8], rows: usize, partial: bool, made: &mut dyn FnMut(usize, &[u8])) {
    let x = cast::slice::<T>(x);
    let offsets = Offsets::Steps(x.len() / rows, 0, rows as isize);
    let all = Rows { first: 0, stride: 1, offsets };
    if partial {
        let mut out = table(Partial::default(), rows);
        T::tiles(fold, x, all, &mut out);
        return out.iter().enumerate().for_each(|(i, partial)| made(i, partial));
    }
    let mut out = table(T::default(), rows);
    T::tiles(fold, x, all, &mut out);
    made(0, cast::bytes(&out));
}

/// Makes results from the partial results of their tiles.
fn join_of<T: Reduce>(fold: Fold, partials: &[u8], len: usize, out: &mut [u8]) {
    let own = len.div_ceil(TILE) * PARTIAL;
    for (out, partials) in cast::slice_mut::<T>(out).iter_mut().zip(partials.chunks(own)) {
        let all = partials.chunks_exact(PARTIAL);
        *out = T::finish(fold, len, &mut |add| {
            all.clone().filter_map(|partial| Partial::try_from(partial).ok()).for_each(&mut *add);
        });
    }
}

/// Accumulation of one element of each result at a time, and what joins partial results.
struct Gradual(Fold, Join);

impl<T: Element> Work<T> for Gradual {
    type Made = Accumulators;
    fn run<A: Element>(self, how: Accumulation<T, A>) -> Accumulators {
        // Elements are seen once, so the exact loops are used.
        let Gradual(fold, join) = self;
        let Loops { start, one, four, others, .. } = how.exact.map_or(how.loops, |(_, exact)| exact);
        Accumulators {
            width: size_of::<A>(),
            tiles: None,
            start: Box::new(move |acc| cast::slice_mut::<A>(acc).fill(start)),
            join: Box::new(move |partials, len, out| join(fold, partials, len, out)),
            add: Box::new(move |acc, x| {
                let (acc, mut x) = (cast::slice_mut::<A>(acc), cast::slice::<T>(x));
                let n = acc.len();
                while x.len() >= 4 * n.max(1) {
                    let (now, later) = x.split_at(4 * n);
                    four(acc, std::array::from_fn(|i| &now[i * n..][..n]));
                    x = later;
                }
                one(acc, x);
            }),
            add_four: Box::new(move |acc, x| four(cast::slice_mut::<A>(acc), x.map(cast::slice::<T>))),
            finish: Box::new(move |acc, n, partial, made| {
                let acc = cast::slice_mut::<A>(acc);
                halve(acc, n, others);
                if partial {
                    return acc[..n].iter().enumerate().for_each(|(i, &acc)| made(i, &Partial::made(acc)));
                }
                for (i, acc) in acc[..n].chunks(SOME).enumerate() {
                    let mut out = [T::default(); SOME];
                    out.iter_mut().zip(acc).for_each(|(out, &acc)| *out = <T as Made>::made(acc));
                    made(i * SOME, cast::bytes(&out[..acc.len()]));
                }
            }),
        }
    }
}
