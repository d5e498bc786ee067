//! What doubles lose in an f32 that nobody asked for: the default dtype has half their bits.
//!
//! Doubles that a person typed or measured round, as they do in every program; a number that becomes infinite
//! is refused, and whole numbers that lose digits (counts, times, keys) are counted.

use super::source::Source;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernels::cast;
use std::ops::Range;

/// Positions that an error lists.
const LISTED: usize = 5;
/// All whole numbers up to this one are f32.
const EXACT: f64 = 16_777_216.0;
/// Beyond this one doubles do not hold all whole numbers themselves, so that being one says nothing.
const WHOLE: f64 = 9_007_199_254_740_992.0;

/// Whole numbers that a dtype rounds.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Lost {
    /// How many.
    pub count: usize,
    /// The first one, as R prints it.
    pub first: String,
}

/// Counts both kinds of losses, if it is open.
pub(super) struct Narrowing {
    open: bool,
    infinite: usize,
    /// First positions of those.
    positions: Vec<usize>,
    rounded: usize,
    /// The first of those.
    first: f64,
}

impl Narrowing {
    pub(super) fn new(open: bool) -> Narrowing {
        Narrowing { open, infinite: 0, positions: Vec::new(), rounded: 0, first: 0.0 }
    }

    /// Looks at a part of the data, of which whoever reads it next finds it in the processor's cache.
    pub(super) fn look(&mut self, source: &Source, part: Range<usize>) {
        if !self.open {
            return;
        }
        match source {
            Source::Doubles(x) => self.look_at(&x[part.clone()], part.start, 1),
            Source::Complexes(x) => self.look_at(cast::slice(cast::bytes(&x[part.clone()])), part.start, 2),
            _ => {}
        }
    }

    /// `each` numbers are an element; the first one is at this position.
    fn look_at(&mut self, x: &[f64], position: usize, each: usize) {
        // Two instructions for each vector of a processor, where most data have no number that is so large.
        if !x.iter().fold(false, |found, &x| found | (x.abs() > EXACT)) {
            return;
        }
        // Counted before any is looked for, so that this is a loop without branches.
        let count = |is: fn(f64) -> bool| x.iter().map(|&x| usize::from(is(x))).sum::<usize>();
        let (infinite, rounded) = (count(becomes_infinite), count(loses_digits));
        if infinite > 0 {
            for (i, _) in x.iter().enumerate().filter(|(_, &x)| becomes_infinite(x)) {
                let at = position + i / each;
                if self.positions.len() == LISTED {
                    break;
                }
                if self.positions.last() != Some(&at) {
                    self.positions.push(at);
                }
            }
        }
        if self.rounded == 0 && rounded > 0 {
            self.first = x.iter().copied().find(|&x| loses_digits(x)).unwrap_or(0.0);
        }
        self.infinite += infinite;
        self.rounded += rounded;
    }

    /// What was lost.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub(super) fn finish(self, source: &Source, dtype: DType) -> Result<Lost> {
        if let Some(&first) = self.positions.first() {
            return Err(Error::Overflow {
                dtype,
                wide: if dtype.is_complex() { DType::C128 } else { DType::F64 },
                count: self.infinite,
                positions: self.positions.iter().map(|i| i + 1).collect(),
                first: source.text(first),
            });
        }
        let first = if self.rounded > 0 { format!("{}", self.first) } else { String::new() };
        Ok(Lost { count: self.rounded, first })
    }
}

fn becomes_infinite(x: f64) -> bool {
    (x as f32).is_infinite() & x.is_finite()
}

fn loses_digits(x: f64) -> bool {
    /// From here on all doubles are whole, and what is added to a smaller one takes its fraction away.
    const NO_FRACTION: f64 = 4_503_599_627_370_496.0;
    let size = x.abs();
    let whole = ((size + NO_FRACTION) - NO_FRACTION == size) | (size >= NO_FRACTION);
    (size > EXACT) & (size <= WHOLE) & (f64::from(x as f32) != x) & whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boundary::{import, Filling};
    use crate::shape::Shape;

    fn by_default(source: &Source, dtype: DType, shape: Shape, filling: Filling) -> Result<Lost> {
        let mut out = vec![0u64; (shape.size() * dtype.bytes()).div_ceil(8)];
        let bytes = &mut cast::bytes_mut(&mut out)[..shape.size() * dtype.bytes()];
        import(source, dtype, true, &shape, filling, bytes)
    }

    fn doubles(x: &[f64]) -> Result<Lost> {
        by_default(&Source::Doubles(x), DType::F32, [x.len()].into(), Filling::Column)
    }

    #[test]
    fn whole_numbers_that_lose_digits_are_counted() {
        let lost = |count, first: &str| Lost { count, first: first.into() };
        for x in [123456789.0, -123456789.0, 16777217.0, 9007199254740991.0, 1e11] {
            assert_eq!(doubles(&[0.5, x, x]).unwrap(), lost(2, &format!("{x}")), "{x}");
        }
        let kept =
            [16777216.0, 16777218.0, 1e10, 0.1, 123456789.5, 1e16, 1e30, 3e38, f64::INFINITY, f64::NAN];
        assert_eq!(doubles(&kept).unwrap(), Lost::default());
        assert_eq!(doubles(&[]).unwrap(), Lost::default());
        // In every part of the data, in each order; and in an empty tensor there is nothing.
        let mut many = vec![1.0; 50_000];
        many[49_999] = 123456789.0;
        many[20_000] = 16777217.0;
        assert_eq!(doubles(&many).unwrap(), lost(2, "16777217"));
        let source = Source::Doubles(&many);
        let row = by_default(&source, DType::F32, [2, 25_000].into(), Filling::Row).unwrap();
        assert_eq!(row, lost(2, "16777217"));
        let one = Source::Doubles(&[16777217.0]);
        assert_eq!(by_default(&one, DType::F32, [3].into(), Filling::Column).unwrap(), lost(1, "16777217"));
        assert_eq!(by_default(&one, DType::F32, [0].into(), Filling::Column).unwrap(), Lost::default());
        let parts = [num_complex::Complex::new(1.0, 16777217.0)];
        let complex = by_default(&Source::Complexes(&parts), DType::C64, [1].into(), Filling::Column);
        assert_eq!(complex.unwrap(), lost(1, "16777217"));
    }

    #[test]
    fn numbers_that_become_infinite_are_refused() {
        let refused = |result: Result<Lost>| match result {
            Err(Error::Overflow { count, positions, first, wide, .. }) => (count, positions, first, wide),
            other => panic!("expected an overflow, got {other:?}"),
        };
        // The largest double that rounds to the largest f32 is below halfway to the next power of two.
        let limit = f64::from(f32::MAX) + 2f64.powi(103);
        assert!(doubles(&[libm::nextafter(limit, 0.0), f64::NEG_INFINITY]).is_ok());
        for x in [limit, -limit, 1e40, f64::MAX] {
            assert_eq!(refused(doubles(&[1.0, x])).1, [2], "{x}");
        }
        let many = [1e40, 123456789.0, -1e300, f64::INFINITY];
        assert_eq!(refused(doubles(&many)), (2, vec![1, 3], "1e+40".into(), DType::F64));
        assert_eq!(refused(doubles(&[1e40; 9])).1, [1, 2, 3, 4, 5]);
        let parts = [num_complex::Complex::new(1.0, 0.0), num_complex::Complex::new(1e40, -1e40)];
        let complex = by_default(&Source::Complexes(&parts), DType::C64, [2].into(), Filling::Column);
        assert_eq!(refused(complex), (2, vec![2], "1e+40-1e+40i".into(), DType::C128));
    }

    #[test]
    fn a_dtype_that_was_asked_for_rounds_as_it_does() {
        let mut out = [0f32; 2];
        let source = Source::Doubles(&[1e40, 123456789.0]);
        let lost =
            import(&source, DType::F32, false, &[2].into(), Filling::Column, cast::bytes_mut(&mut out));
        assert_eq!((lost.unwrap(), out), (Lost::default(), [f32::INFINITY, 123456792.0]));
        assert_eq!(by_default(&source, DType::F64, [2].into(), Filling::Column).unwrap(), Lost::default());
    }
}
