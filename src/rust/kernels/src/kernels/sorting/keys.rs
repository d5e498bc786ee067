//! Elements as unsigned integers of their width, their keys, whose order is that of the elements.

use super::words::Word;
use crate::dtype::{DType, Kind};
use crate::kernels::wide::{wide_loop, Loop};
use std::ops::Range;

/// Runs a loop over keys with their kind known to the compiler in each copy of it.
macro_rules! each_kind {
    ($keys:ident, $run:expr) => {
        match $keys.kind {
            Kind::Boolean => each_kind!($keys, Boolean, $run),
            Kind::Unsigned => each_kind!($keys, Unsigned, $run),
            Kind::Integer => each_kind!($keys, Integer, $run),
            Kind::Float | Kind::Complex => each_kind!($keys, Float, $run),
        }
    };
    ($keys:ident, $kind:ident, $run:expr) => {{
        let $keys = Keys { kind: Kind::$kind, ..$keys };
        $run
    }};
}

/// How elements of a dtype become keys, of their width.
#[derive(Clone, Copy, Debug)]
pub struct Keys<K> {
    kind: Kind,
    /// The bits of infinity, of floats.
    infinity: K,
    /// What turns the order around: all bits, or none.
    flip: K,
}

/// What a key does not tell, for the elements of a line: their bits, in the order in which they were.
#[derive(Default, Debug)]
pub struct Untold<K> {
    zeros: Vec<K>,
    nans: Vec<K>,
}

impl<K: Word> Keys<K> {
    /// Keys of elements of this dtype, which is not complex and as wide as `K`.
    pub fn new(dtype: DType, descending: bool) -> Keys<K> {
        let infinity = match dtype {
            DType::BF16 => 0x7F80,
            DType::F16 => 0x7C00,
            DType::F32 => 0x7F80_0000,
            DType::F64 => 0x7FF0_0000_0000_0000,
            _ => 0,
        };
        let flip = if descending { K::HIGHEST } else { K::default() };
        Keys { kind: dtype.kind(), infinity: K::from_u64(infinity), flip }
    }

    /// The sign bit.
    #[inline(always)]
    fn sign() -> K {
        !(K::HIGHEST >> 1)
    }

    /// The key of an element. That of NaN is the largest number, that of `-0` equals that of `0`.
    #[inline(always)]
    fn key(&self, x: K) -> K {
        let (zero, sign, size) = (K::default(), Self::sign(), K::HIGHEST >> 1);
        match self.kind {
            Kind::Boolean => K::from_bool(x != zero) ^ self.flip,
            Kind::Unsigned => x ^ self.flip,
            Kind::Integer => x ^ sign ^ self.flip,
            Kind::Float | Kind::Complex => {
                let magnitude = x & size;
                let negative = (x != magnitude) & (magnitude != zero);
                let key = (if negative { !x } else { magnitude ^ sign }) ^ self.flip;
                if magnitude > self.infinity {
                    K::HIGHEST
                } else {
                    key
                }
            }
        }
    }

    /// Makes the bits of elements their keys.
    pub fn encode(&self, line: &mut [K]) {
        wide_loop(Encode(*self, line))
    }

    /// Whether an element has a key less than this.
    pub fn any_before(&self, line: &[K], limit: K) -> bool {
        wide_loop(AnyBefore(*self, line, limit))
    }

    /// Makes keys the bits of elements; of zeros and NaN any.
    pub fn decode(&self, line: &mut [K]) {
        let Keys { kind, flip, .. } = *self;
        let change = Self::sign() ^ flip;
        match kind {
            Kind::Boolean | Kind::Unsigned => line.iter_mut().for_each(|x| *x = *x ^ flip),
            Kind::Integer => line.iter_mut().for_each(|x| *x = *x ^ change),
            Kind::Float | Kind::Complex => wide_loop(DecodeFloats(flip, line)),
        }
    }

    /// The bits of the elements whose key does not tell them; `None` if there are no such elements.
    pub fn untold(&self, line: &[K]) -> Option<Untold<K>> {
        if self.kind != Kind::Float {
            return None;
        }
        let (zero, size, infinity) = (K::default(), K::HIGHEST >> 1, self.infinity);
        let any = line.chunks(BLOCK).any(|block| wide_loop(AnyUntold(infinity, block)));
        any.then(|| Untold {
            zeros: line.iter().copied().filter(|&x| x & size == zero).collect(),
            nans: line.iter().copied().filter(|&x| x & size > infinity).collect(),
        })
    }

    /// Where the zeros and NaN are in sorted keys.
    pub fn places(&self, sorted: &[K], untold: &Untold<K>) -> [Range<usize>; 2] {
        let zero = Self::sign() ^ self.flip;
        let first = sorted.partition_point(|&key| key < zero);
        [first..first + untold.zeros.len(), sorted.len() - untold.nans.len()..sorted.len()]
    }
}

impl<K: Word> Untold<K> {
    /// Writes the bits to their places.
    pub fn put(&self, [zeros, nans]: [Range<usize>; 2], line: &mut [K]) {
        line[zeros].copy_from_slice(&self.zeros);
        line[nans].copy_from_slice(&self.nans);
    }
}

struct Encode<'a, K>(Keys<K>, &'a mut [K]);

impl<K: Word> Loop for Encode<'_, K> {
    type Made = ();
    #[inline(always)]
    fn run(self) {
        let Encode(keys, line) = self;
        each_kind!(keys, line.iter_mut().for_each(|x| *x = keys.key(*x)))
    }
}

struct AnyBefore<'a, K>(Keys<K>, &'a [K], K);

impl<K: Word> Loop for AnyBefore<'_, K> {
    type Made = bool;
    #[inline(always)]
    fn run(self) -> bool {
        let AnyBefore(keys, line, limit) = self;
        each_kind!(keys, line.iter().fold(false, |any, &x| any | (keys.key(x) < limit)))
    }
}

struct DecodeFloats<'a, K>(K, &'a mut [K]);

impl<K: Word> Loop for DecodeFloats<'_, K> {
    type Made = ();
    #[inline(always)]
    fn run(self) {
        let (zero, sign) = (K::default(), Keys::<K>::sign());
        for x in self.1 {
            let key = *x ^ self.0;
            *x = if key & sign == zero { !key } else { key ^ sign };
        }
    }
}

struct AnyUntold<'a, K>(K, &'a [K]);

impl<K: Word> Loop for AnyUntold<'_, K> {
    type Made = bool;
    #[inline(always)]
    fn run(self) -> bool {
        let (sign, size) = (Keys::<K>::sign(), K::HIGHEST >> 1);
        self.1.iter().fold(false, |any, &x| any | (x == sign) | (x & size > self.0))
    }
}

/// Elements that are looked at before the search for one ends.
const BLOCK: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(dtype: DType, descending: bool, values: &[f32]) -> Vec<u32> {
        let mut line: Vec<u32> = values.iter().map(|x| x.to_bits()).collect();
        Keys::new(dtype, descending).encode(&mut line);
        line
    }

    #[test]
    fn keys_have_the_order_of_elements() {
        let values = [f32::NEG_INFINITY, -2.0, -1e-45, 0.0, 1e-45, 1.0, f32::INFINITY];
        let (up, down) = (keys(DType::F32, false, &values), keys(DType::F32, true, &values));
        assert!(up.windows(2).all(|w| w[0] < w[1]) && down.windows(2).all(|w| w[0] > w[1]));
        for descending in [false, true] {
            let special = keys(DType::F32, descending, &[f32::NAN, -f32::NAN, 0.0, -0.0]);
            assert_eq!((special[0], special[1], special[2]), (u32::MAX, u32::MAX, special[3]));
            let mut back = if descending { down.clone() } else { up.clone() };
            assert!(back.iter().all(|&key| key < u32::MAX));
            Keys::new(DType::F32, descending).decode(&mut back);
            assert_eq!(back.iter().map(|&x| f32::from_bits(x)).collect::<Vec<_>>(), values);
        }
    }

    #[test]
    fn integers_use_all_keys() {
        for (dtype, low, high) in [(DType::I8, 0x80u8, 0x7F), (DType::UI8, 0, 0xFF), (DType::I1, 0, 7)] {
            let mut line = [low, high];
            Keys::new(dtype, true).encode(&mut line);
            assert!(line[0] > line[1]);
            Keys::new(dtype, true).decode(&mut line);
            assert_eq!(line, [low, if dtype == DType::I1 { 1 } else { high }]);
        }
    }
}
