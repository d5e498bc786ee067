//! Values of functions that are asked for again and again: the parameters of a distribution are the same for many
//! elements, and counts are few.

use std::cell::Cell;

/// Values that are kept, a power of 2.
const KEPT: usize = 64;

/// The values of a function of two numbers at some points, each in one of the two places that its point hashes to: of
/// ten points some two are likely to have the same place.
pub(super) struct Memo<T> {
    /// Apart from the values: those may be long, and only one is read.
    points: [Cell<[u64; 2]>; KEPT],
    values: [Cell<Option<T>>; KEPT],
}

impl<T: Copy> Memo<T> {
    pub const fn new() -> Memo<T> {
        Memo { points: [const { Cell::new([0; 2]) }; KEPT], values: [const { Cell::new(None) }; KEPT] }
    }

    /// The value at a point, made if it is not kept.
    #[inline]
    pub fn get(&self, x: f64, y: f64, make: impl FnOnce(f64, f64) -> T) -> T {
        let point = [x.to_bits(), y.to_bits()];
        let hash = (point[0] ^ point[1].rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let first = (hash >> (64 - KEPT.trailing_zeros())) as usize & !1;
        let second = first + 1;
        // Without a branch for each: which of the two it is cannot be predicted.
        let place = if self.points[second].get() == point { second } else { first };
        if self.points[place].get() == point {
            if let Some(value) = self.values[place].get() {
                return value;
            }
        }
        let value = make(x, y);
        // The one that was made last stays.
        self.points[second].set(self.points[first].get());
        self.values[second].set(self.values[first].get());
        self.points[first].set(point);
        self.values[first].set(Some(value));
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_points_of_one_place_are_both_kept() {
        // Eleven counts out of ten: some two of them have the same place.
        let memo = Memo::new();
        let made = Cell::new(0);
        for i in 0..1000 {
            let k = f64::from(i * 7 % 11);
            memo.get(k + 1.0, 11.0 - k, |x, _| {
                made.set(made.get() + 1);
                x
            });
        }
        assert_eq!(made.get(), 11);
    }

    #[test]
    fn values_are_those_of_the_function() {
        let memo = Memo::new();
        let made = Cell::new(0);
        for i in 0..3000 {
            let (x, y) = (f64::from(i % 500) * 0.25, f64::from(i % 7));
            let value = memo.get(x, y, |x, y| {
                made.set(made.get() + 1);
                x - 2.0 * y
            });
            assert_eq!(value, x - 2.0 * y);
        }
        let before = made.get();
        for _ in 0..10 {
            memo.get(0.5, -0.0, |x, y| x - 2.0 * y);
            memo.get(0.5, -0.0, |_, _| unreachable!("it is kept"));
        }
        assert!(before > 500 && before <= 3000);
    }
}
