//! The text of a number, in a notation that all numbers of a slice share.
//!
//! A slice is a function from position to value here; [`format`](crate::format) makes its lines.

use crate::stop;

/// Whole floats print as integers where none is of this size, as R does where its scientific notation would not be
/// shorter.
const PLAIN: f64 = 1e12;

/// Value of an element. All elements of one tensor are of one variant.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    /// Of a boolean (0 or 1) or an integer.
    Int(i128),
    /// Of a float, widened exactly.
    Float(f64),
    /// Real and imaginary part of a complex number, widened exactly.
    Complex(f64, f64),
}

/// The notation of the floats of one slice, or of both parts of its complex numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Notation {
    /// As integers: all finite values are whole, and none is very large.
    Whole,
    /// `123.4567`.
    Fixed,
    /// `1.2346e+02`.
    Scientific,
    /// `1.2346`, under a line that names the power of ten that all share. Not for complex numbers, whose two
    /// parts would rarely share one.
    Scaled(i32),
}

/// The notation of a slice, from all of its values; real and imaginary parts count alike.
pub(super) fn notation(rows: usize, columns: usize, value: impl Fn(usize, usize) -> Number) -> Notation {
    let (mut whole, mut low, mut high) = (true, f64::INFINITY, 0f64);
    let mut see = |x: f64| {
        if x.is_finite() && x != 0.0 {
            whole &= x.trunc() == x;
            (low, high) = (low.min(x.abs()), high.max(x.abs()));
        }
    };
    let mut scalable = rows * columns > 1;
    // Down the columns, as the elements lie in memory.
    for j in 0..columns {
        for i in 0..rows {
            if i % stop::EVERY == 0 {
                stop::work((rows - i).min(stop::EVERY));
            }
            match value(i, j) {
                Number::Int(_) => return Notation::Whole,
                Number::Float(x) => see(x),
                Number::Complex(re, im) => {
                    scalable = false;
                    see(re);
                    see(im);
                }
            }
        }
    }
    if whole && high < PLAIN {
        Notation::Whole
    } else if low > 1e-4 && high < 1e6 {
        Notation::Fixed
    } else if scalable && exponent(low) == exponent(high) {
        Notation::Scaled(exponent(low))
    } else {
        Notation::Scientific
    }
}

/// The power of ten of a number as it is printed, after rounding: that of 9.99999e-8 is -7. So the tokens of
/// a scaled slice lie between 1.0000 and 9.9999 whatever the rounding of the data.
fn exponent(x: f64) -> i32 {
    let text = format!("{x:.4e}");
    let (_, exponent) = text.split_once('e').expect("scientific notation has an exponent");
    exponent.parse().expect("the exponent of a finite number")
}

/// One element as text, without padding: a number, or the real part; and the sign and size of the imaginary
/// part.
pub(super) struct Token(String, Option<(char, String)>);

/// Characters of the widest tokens.
#[derive(Clone, Copy, Default)]
pub(super) struct Width {
    /// Of numbers and real parts.
    first: usize,
    /// Of imaginary parts, with their sign and the `i`; 0 for real numbers.
    second: usize,
}

impl Width {
    /// The larger of this and the width of the tokens.
    pub(super) fn of(self, tokens: &[Token]) -> Width {
        tokens.iter().fold(self, |w, Token(first, second)| Width {
            first: w.first.max(first.len()),
            second: w.second.max(second.as_ref().map_or(0, |(_, size)| size.len() + 2)),
        })
    }

    pub(super) fn total(self) -> usize {
        self.first + self.second
    }

    /// A token after a space. The parts of complex numbers are aligned each for itself, as R does.
    pub(super) fn pad(self, Token(first, second): &Token) -> String {
        let Width { first: width, second: rest } = self;
        match second {
            None => format!(" {first:>width$}"),
            Some((sign, size)) => format!(" {first:>width$}{sign}{size:>rest$}i", rest = rest - 2),
        }
    }
}

pub(super) fn token(number: Number, notation: Notation) -> Token {
    // Formatting takes about as long as so many elements of other work.
    stop::work(256);
    match number {
        Number::Int(i) => Token(i.to_string(), None),
        Number::Float(x) => Token(float(x, notation), None),
        Number::Complex(re, im) => {
            let im = float(im, notation);
            let (sign, size) = im.strip_prefix('-').map_or(('+', im.as_str()), |size| ('-', size));
            Token(float(re, notation), Some((sign, size.to_string())))
        }
    }
}

fn float(x: f64, notation: Notation) -> String {
    if x.is_nan() {
        return "nan".into();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf" } else { "-inf" }.into();
    }
    let x = x + 0.0; // drops the sign of a zero
    match notation {
        Notation::Whole => format!("{x:.0}"),
        Notation::Fixed => format!("{x:.4}"),
        // The digits of the scientific token: dividing by a power of ten would round twice, or overflow.
        Notation::Scaled(_) => format!("{x:.4e}").split('e').next().unwrap_or_default().into(),
        Notation::Scientific => c_exponent(format!("{x:.4e}")),
    }
}

/// `1.5e7` as C and R write it: `1.5e+07`, a sign and at least two digits.
fn c_exponent(text: String) -> String {
    let (mantissa, exponent) = text.split_once('e').expect("scientific notation has an exponent");
    let exponent: i32 = exponent.parse().expect("the exponent of a finite number");
    format!("{mantissa}e{exponent:+03}")
}

#[cfg(test)]
mod tests {
    use crate::format::tests::{complexes, floats, ints, singles};

    #[test]
    fn infinities_and_nan() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        assert_eq!(floats([4], &[inf, -inf, nan, 1.0]), ["  inf", " -inf", "  nan", "    1"]);
        assert_eq!(
            singles([4], &[f32::INFINITY, f32::INFINITY, f32::NAN, 100011.234]),
            ["         inf", "         inf", "         nan", " 100011.2344"]
        );
        assert_eq!(floats([2], &[nan, -nan]), [" nan", " nan"]);
        assert_eq!(floats([], &[-inf]), [" -inf"]);
        assert_eq!(floats([2], &[inf, 1e-10]), ["1e-10 *", "    inf", " 1.0000"]);
    }

    #[test]
    fn integers_print_all_digits() {
        for x in [123456, -999999, 1000000, -1234567, i128::from(u64::MAX), i128::from(i64::MIN)] {
            assert_eq!(ints([], &[x]), [format!(" {x}")]);
        }
        assert_eq!(
            ints([2, 2], &[10000000, 20000000, 30000000, 1]),
            [" 10000000 30000000", " 20000000        1"]
        );
    }

    #[test]
    fn whole_floats_print_as_integers() {
        assert_eq!(floats([], &[1e5]), [" 100000"]);
        assert_eq!(floats([], &[-1e6]), [" -1000000"]);
        assert_eq!(floats([2], &[1e12, 1.0]), [" 1.0000e+12", " 1.0000e+00"]);
        assert_eq!(floats([2], &[-0.0, 3.0]), [" 0", " 3"]);
        assert_eq!(floats([], &[-0.0]), [" 0"]);
        // Very large ones give all of a slice their notation.
        assert_eq!(
            floats([3], &[9223372036854775808.0, -1e300, 7.0]),
            ["   9.2234e+18", " -1.0000e+300", "   7.0000e+00"]
        );
    }

    #[test]
    fn notation_of_other_floats() {
        // fixed: all magnitudes in (1e-4, 1e6)
        assert_eq!(floats([3], &[0.00011, 999999.5, 0.0]), ["      0.0001", " 999999.5000", "      0.0000"]);
        assert_eq!(floats([2], &[-0.0, 0.5]), [" 0.0000", " 0.5000"]);
        // one element outside that range
        assert_eq!(floats([], &[1e-10]), [" 1.0000e-10"]);
        assert_eq!(floats([1], &[1234567.5]), [" 1.2346e+06"]);
        assert_eq!(floats([], &[5e-324]), [" 4.9407e-324"]);
        // one power of ten for all
        assert_eq!(floats([2], &[1234567.5, -2345678.0]), ["1e+06 *", "  1.2346", " -2.3457"]);
        assert_eq!(floats([3], &[1e-7, 2.5e-7, -0.0]), ["1e-07 *", " 1.0000", " 2.5000", " 0.0000"]);
        assert_eq!(floats([2], &[5e-324, -5e-324]), ["1e-324 *", "  4.9407", " -4.9407"]);
        // several powers of ten
        assert_eq!(floats([2], &[1e10, 1e-10]), [" 1.0000e+10", " 1.0000e-10"]);
        assert_eq!(floats([3], &[0.5, 1e6, 0.0]), [" 5.0000e-01", " 1.0000e+06", " 0.0000e+00"]);
    }

    #[test]
    fn single_precision_just_below_a_power_of_ten_keeps_its_exponent() {
        assert!(f64::from(1e-6f32) < 1e-6 && f64::from(1e-9f32) < 1e-9);
        assert_eq!(singles([2], &[1e-6, 1e-6]), ["1e-06 *", " 1.0000", " 1.0000"]);
        assert_eq!(singles([2], &[1e-6, 2e-6]), ["1e-06 *", " 1.0000", " 2.0000"]);
        assert_eq!(singles([2], &[1e-9, 9e-9]), ["1e-09 *", " 1.0000", " 9.0000"]);
        assert_eq!(floats([2], &[9.999951e-8, 9.99994e-7]), ["1e-07 *", " 1.0000", " 9.9999"]);
        assert_eq!(floats([2], &[2e-7, 9.99996e-7]), [" 2.0000e-07", " 1.0000e-06"]);
    }

    #[test]
    fn complex_numbers_share_a_notation() {
        assert_eq!(complexes([], &[(1.0, 2.5)]), [" 1.0000+2.5000i"]);
        assert_eq!(complexes([2], &[(1.0, 2.0), (-10.0, -2.0)]), ["   1+2i", " -10-2i"]);
        // One part that is not whole, in any element, is enough.
        assert_eq!(complexes([2], &[(1.0, 2.0), (0.0, -0.5)]), [" 1.0000+2.0000i", " 0.0000-0.5000i"]);
        assert_eq!(complexes([2], &[(-0.0, -0.0), (3.0, -0.0)]), [" 0+0i", " 3+0i"]);
        assert_eq!(complexes([], &[(-0.0, 0.5)]), [" 0.0000+0.5000i"]);
        assert_eq!(complexes([], &[(1e6, -999999.0)]), [" 1000000-999999i"]);
        assert_eq!(complexes([], &[(1e12, -1.0)]), [" 1.0000e+12-1.0000e+00i"]);
        assert_eq!(complexes([], &[(1e-10, 0.0)]), [" 1.0000e-10+0.0000e+00i"]);
        assert_eq!(
            complexes([2], &[(0.5, 1.0), (1.0, -1e-7)]),
            [" 5.0000e-01+1.0000e+00i", " 1.0000e+00-1.0000e-07i"]
        );
    }

    #[test]
    fn complex_numbers_are_not_scaled() {
        assert_eq!(
            complexes([2], &[(1e-7, 2.5e-7), (-3e-7, -1e-7)]),
            ["  1.0000e-07+2.5000e-07i", " -3.0000e-07-1.0000e-07i"]
        );
    }

    #[test]
    fn infinite_and_nan_parts() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        assert_eq!(
            complexes([4], &[(nan, 1.5), (1.0, nan), (inf, -inf), (-inf, -nan)]),
            ["    nan+1.5000i", " 1.0000+   nani", "    inf-   infi", "   -inf+   nani"]
        );
        assert_eq!(complexes([2], &[(nan, 1.0), (-inf, 0.0)]), ["  nan+1i", " -inf+0i"]);
    }

    #[test]
    fn parts_are_aligned_as_in_r() {
        // c(1+2i, 10-10.5i, -1+100i)
        assert_eq!(complexes([2], &[(1.0, 2.0), (10.0, -10.0)]), ["  1+ 2i", " 10-10i"]);
        assert_eq!(
            complexes([3], &[(1.0, 2.0), (10.0, -10.5), (-1.0, 100.0)]),
            ["  1.0000+  2.0000i", " 10.0000- 10.5000i", " -1.0000+100.0000i"]
        );
    }

    #[test]
    fn floats_of_sixteen_bits_print_as_single_precision_does() {
        let narrow = |x: f64| half::bf16::from_f64(x).to_f32();
        assert_eq!(singles([2], &[narrow(0.1), narrow(-3.0)]), ["  0.1001", " -3.0000"]);
        assert_eq!(singles([2], &[narrow(100.0), narrow(f64::NAN)]), [" 100", " nan"]);
        assert_eq!(singles([], &[narrow(1e38)]), [" 9.9692e+37"]);
        let narrow = |x: f64| half::f16::from_f64(x).to_f32();
        assert_eq!(singles([2], &[narrow(0.1), narrow(65504.0)]), ["     0.1000", " 65504.0000"]);
        assert_eq!(singles([2], &[narrow(6e-8), narrow(6e-8)]), ["1e-08 *", " 5.9605", " 5.9605"]);
    }
}
