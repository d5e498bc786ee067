//! One pass of a transform, and what is asked of a radix.

use super::butterflies::{turn, Group, Number, Numbers, Single};
use super::ends::{Apart, Read, Write};
use super::parts::Parts;

/// The largest prime factor that has a pass of its own.
pub const LARGEST_PRIME: usize = 127;

/// A pass, from lines of `radix * rest` elements.
pub(super) struct Pass<T> {
    pub(super) radix: usize,
    pub(super) rest: usize,
    /// The factors of the outputs but the first: of each output those of all elements of the rest.
    pub(super) factors: Parts<T>,
    /// The roots of unity of the radix, for radices without code of their own.
    pub(super) roots: Vec<[T; 2]>,
}

/// Elements of which the first pass of one line makes no vectors, however short: it would make most of them twice.
const FEW: usize = 4;

impl<T: Number> Pass<T> {
    /// The factor of output `j` of number `p` of the rest, in all lanes. The first output has none.
    #[inline(always)]
    pub(super) fn factor<V: Numbers<One = T>>(&self, j: usize, p: usize) -> Group<V> {
        let at = (j - 1) * self.rest + p;
        [V::of(self.factors[0][at].f64()), V::of(self.factors[1][at].f64())]
    }

    /// Output `j`, not the first, of the numbers from `p` on of the rest, times their factors. As in the other passes,
    /// nothing is multiplied by 1, which would change what is not finite.
    ///
    /// # Safety
    /// There are as many numbers.
    #[inline(always)]
    pub(super) unsafe fn turned_beside<V: Numbers<One = T>>(
        &self,
        j: usize,
        p: usize,
        x: Group<V>,
    ) -> Group<V> {
        let ([re, im], at) = (&self.factors, (j - 1) * self.rest + p);
        // SAFETY: by the caller; there are as many factors.
        let turned = turn(x, unsafe { [V::load(re.as_ptr().add(at)), V::load(im.as_ptr().add(at))] });
        if p == 0 {
            [x[0].before(turned[0]), x[1].before(turned[1])]
        } else {
            turned
        }
    }
}

/// The loops of passes of some radix.
pub(super) trait Radix<T: Number> {
    /// The first pass of one line: so many elements side by side are computed together, of which there are as many or more,
    /// and the outputs of each lie side by side.
    ///
    /// # Safety
    /// The numbers are there, and nobody else uses those that are written.
    unsafe fn neighbours_by<V: Numbers<One = T>>(pass: &Pass<T>, from: impl Read<T>, to: Apart<*mut T>);

    /// A pass whose `rows` of elements of the same factors have `inner` ones side by side, so many at once, of which there
    /// are as many or more.
    ///
    /// # Safety
    /// As of [`Radix::neighbours_by`].
    unsafe fn each_by<V: Numbers<One = T>>(
        pass: &Pass<T>,
        from: impl Read<T>,
        to: impl Write<T>,
        rows: usize,
        inner: usize,
    );

    /// As [`Radix::neighbours_by`], of however few elements.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    unsafe fn neighbours<V: Numbers<One = T>>(pass: &Pass<T>, from: impl Read<T>, to: Apart<*mut T>) {
        // SAFETY: by the caller.
        unsafe {
            if V::SHORTEST && pass.rest < FEW {
                Self::neighbours_by::<Single<T>>(pass, from, to)
            } else {
                Self::neighbours_by::<V>(pass, from, to)
            }
        }
    }

    /// As [`Radix::each_by`], of however few elements.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    unsafe fn each<V: Numbers<One = T>>(
        pass: &Pass<T>,
        from: impl Read<T>,
        to: impl Write<T>,
        rows: usize,
        inner: usize,
    ) {
        // SAFETY: by the caller.
        unsafe {
            if V::SHORTEST && inner < V::COUNT {
                Self::each_by::<Single<T>>(pass, from, to, rows, inner)
            } else {
                Self::each_by::<V>(pass, from, to, rows, inner)
            }
        }
    }
}
