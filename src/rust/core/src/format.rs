//! Text of a tensor, as `print()` and `format()` show it.
//!
//! A tensor prints as matrices over its last two dimensions: the leading indices name a slice, wide matrices
//! are cut into windows of columns, and a budget of rows bounds the output. Invariant: only elements that are
//! printed are read, except that the notation of a float or complex slice is chosen from all of its values.
//! Knows shapes and numbers, not where the elements live: the caller hands in a function from position to
//! value.
//!
//! # Sources
//! The layout is that of the printer of pjrt, on which users' eyes and snapshots rely; where it misprints
//! (sign of the scale, tokens of `10.0000`, `-0`, a truncation line that names no option of ours) this module
//! does not follow it.

use crate::dtype::Ranked;
use crate::error::{Error, Result};
use crate::growth::{collect, push};
use crate::shape::{join, Shape};
use crate::stop;

/// First line of a printed tensor.
pub const HEADER: &str = "AnvilTensor";

const TRUNCATED: &str = " ... [output was truncated, set options(anvil.print_max_rows = -1) to see all]";

/// Integers of more digits than this, and floats as large, print in scientific notation.
const PLAIN_DIGITS: u32 = 6;

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

/// How much of a tensor is printed; `None` is no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Rows in all: the budget that each window of each slice draws on. Option `anvil.print_max_rows`.
    pub max_rows: Option<usize>,
    /// Characters in a line. Option `anvil.print_max_width`.
    pub max_width: Option<usize>,
    /// Rows of one slice. Option `anvil.print_max_rows_slice`, by default that of `max_rows`.
    pub max_rows_slice: Option<usize>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { max_rows: Some(30), max_width: Some(85), max_rows_slice: Some(30) }
    }
}

/// The limit that the value of an R option stands for: negative is none.
///
/// # Errors
/// [`Error::Arg`] for 0, naming `option`.
pub fn limit(option: &str, value: i64) -> Result<Option<usize>> {
    match usize::try_from(value) {
        Err(_) => Ok(None),
        Ok(0) => Err(Error::arg(option, "a positive whole number, or -1 for no limit", "0")),
        Ok(n) => Ok(Some(n)),
    }
}

/// The lines between header and footer; none for a tensor without elements.
///
/// `at` gives the element at a position of the dense column-major layout of `shape`. A 0-d tensor prints as
/// `[1, 1]`, a 1-d one of shape `[n]` as `[n, 1]`. Cost: reads each printed element twice, and each element
/// of a printed float or complex slice once more.
///
/// # Examples
/// ```
/// use anvil_core::format::{data_lines, Limits, Number};
/// let lines = data_lines(&[2, 2].into(), |i| Number::Float([1.0, 2.5, 3.0, -4.0][i]), &Limits::default());
/// assert_eq!(lines, ["  1.0000  3.0000", "  2.5000 -4.0000"]);
/// ```
pub fn data_lines(shape: &Shape, at: impl Fn(usize) -> Number, limits: &Limits) -> Vec<String> {
    let mut lines = Vec::new();
    if shape.size() == 0 {
        return lines;
    }
    let strides = shape.strides();
    let lead = shape.rank().saturating_sub(2);
    let side = |axis: usize| shape.get(axis).copied().unwrap_or(1);
    let stride = |axis: usize| strides.get(axis).copied().unwrap_or(0);
    let (rows, columns) = (side(lead), side(lead + 1));

    let mut budget = limits.max_rows.unwrap_or(usize::MAX);
    let mut truncated = false;
    let mut index = vec![0; lead];
    loop {
        if lead > 0 {
            let numbers: Vec<usize> = index.iter().map(|i| i + 1).collect();
            push(&mut lines, format!("({},.,.) =", join(&numbers, ",")));
        }
        let origin: usize = index.iter().zip(&strides).map(|(i, s)| i * s).sum();
        let value = |row: usize, column: usize| at(origin + row * stride(lead) + column * stride(lead + 1));
        let shown = rows.min(limits.max_rows_slice.unwrap_or(usize::MAX)).min(budget);
        let next_column =
            slice_lines(&mut lines, (rows, shown, columns), value, limits.max_width, &mut budget);
        truncated |= shown < rows || next_column < columns;

        // The next slice, last leading index fastest.
        let Some(axis) = (0..lead).rev().find(|&axis| index[axis] + 1 < shape[axis]) else { break };
        if budget == 0 {
            truncated = true;
            break;
        }
        index[axis] += 1;
        index[axis + 1..].fill(0);
        push(&mut lines, String::new());
    }
    if truncated {
        push(&mut lines, TRUNCATED.into());
    }
    lines
}

/// Last line of a printed tensor, such as `[ CPUf32?{2,3} ]`. Without a `platform`, as inside a program: `[
/// f32{3} ]`.
pub fn footer(platform: &str, dtype: Ranked, shape: &Shape) -> String {
    format!("[ {}{dtype}{{{}}} ]", platform.to_uppercase(), join(shape, ","))
}

/// A tensor in one line, such as `AnvilTensor(dtype=f32?, shape=2x3)`; the shape of a 0-d tensor is empty.
pub fn summary(dtype: Ranked, shape: &Shape) -> String {
    format!("{HEADER}(dtype={dtype}, shape={})", join(shape, "x"))
}

/// How the floats of one slice are written, or both parts of its complex numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Notation {
    /// As integers: all finite values are whole.
    Whole,
    /// `123.4567`.
    Fixed,
    /// `1.2346e+02`.
    Scientific,
    /// `1.2346`, under a line that names the power of ten that all share. Not for complex numbers, whose two
    /// parts would rarely share one.
    Scaled(i32),
}

/// Writes the windows of one slice while the budget of rows lasts; returns the first column that was not
/// reached. Every window prints the same `shown` rows, so that the columns of a row can be read together.
fn slice_lines(
    lines: &mut Vec<String>,
    (rows, shown, columns): (usize, usize, usize),
    value: impl Fn(usize, usize) -> Number,
    max_width: Option<usize>,
    budget: &mut usize,
) -> usize {
    let notation = notation(rows, columns, &value);
    if let Notation::Scaled(exponent) = notation {
        push(lines, format!("1e{exponent:+03} *"));
    }
    // Each line starts with a space.
    let room = max_width.map_or(usize::MAX, |width| width.saturating_sub(1));
    let column = |j: usize| -> Vec<Token> { collect((0..shown).map(|i| token(value(i, j), notation))) };

    let mut start = 0;
    let mut next = Some(column(0));
    while let Some(first) = next.take() {
        let mut width = Width::default().of(&first);
        let mut window = vec![first];
        // The column that did not fit opens the next window: no column is formatted twice.
        while start + window.len() < columns {
            let candidate = column(start + window.len());
            let wider = width.of(&candidate);
            if (window.len() + 1).saturating_mul(wider.total()).saturating_add(window.len()) > room {
                next = Some(candidate);
                break;
            }
            width = wider;
            push(&mut window, candidate);
        }
        if window.len() < columns {
            push(lines, format!("Columns {} to {}", start + 1, start + window.len()));
        }
        for i in 0..shown {
            push(lines, window.iter().map(|tokens| width.pad(&tokens[i])).collect());
        }
        start += window.len();
        *budget = budget.saturating_sub(shown);
        if *budget == 0 {
            break;
        }
    }
    start
}

/// The notation of a slice, from all of its values; real and imaginary parts count alike.
fn notation(rows: usize, columns: usize, value: impl Fn(usize, usize) -> Number) -> Notation {
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
    if whole {
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
struct Token(String, Option<(char, String)>);

/// Characters of the widest tokens.
#[derive(Clone, Copy, Default)]
struct Width {
    /// Of numbers and real parts.
    first: usize,
    /// Of imaginary parts, with their sign and the `i`; 0 for real numbers.
    second: usize,
}

impl Width {
    /// This, or what the tokens need if that is more.
    fn of(self, tokens: &[Token]) -> Width {
        tokens.iter().fold(self, |w, Token(first, second)| Width {
            first: w.first.max(first.len()),
            second: w.second.max(second.as_ref().map_or(0, |(_, size)| size.len() + 2)),
        })
    }

    fn total(self) -> usize {
        self.first + self.second
    }

    /// A token after a space. The parts of complex numbers are aligned each for itself, as R does.
    fn pad(self, Token(first, second): &Token) -> String {
        let Width { first: width, second: rest } = self;
        match second {
            None => format!(" {first:>width$}"),
            Some((sign, size)) => format!(" {first:>width$}{sign}{size:>rest$}i", rest = rest - 2),
        }
    }
}

fn token(number: Number, notation: Notation) -> Token {
    // A text takes about as long as so many elements of other work.
    stop::work(256);
    match number {
        Number::Int(i) if i.unsigned_abs() < 10u128.pow(PLAIN_DIGITS) => Token(i.to_string(), None),
        Number::Int(i) => Token(c_exponent(format!("{i:.4e}")), None),
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
        Notation::Whole if x.abs() < 10f64.powi(PLAIN_DIGITS as i32) => format!("{x:.0}"),
        Notation::Fixed => format!("{x:.4}"),
        // The digits of the scientific token: dividing by a power of ten would round twice, or overflow.
        Notation::Scaled(_) => format!("{x:.4e}").split('e').next().unwrap_or_default().into(),
        Notation::Whole | Notation::Scientific => c_exponent(format!("{x:.4e}")),
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
    use super::*;
    use crate::dtype::DType;
    use std::cell::Cell;

    fn floats<const N: usize>(shape: [usize; N], xs: &[f64]) -> Vec<String> {
        data_lines(&shape.into(), |i| Number::Float(xs[i]), &Limits::default())
    }

    fn singles<const N: usize>(shape: [usize; N], xs: &[f32]) -> Vec<String> {
        data_lines(&shape.into(), |i| Number::Float(xs[i].into()), &Limits::default())
    }

    fn ints<const N: usize>(shape: [usize; N], xs: &[i128]) -> Vec<String> {
        data_lines(&shape.into(), |i| Number::Int(xs[i]), &Limits::default())
    }

    /// 1, 2, 3, ... in memory order.
    fn count<const N: usize>(shape: [usize; N], limits: &Limits) -> Vec<String> {
        data_lines(&shape.into(), |i| Number::Int(i as i128 + 1), limits)
    }

    fn rows(max_rows: usize) -> Limits {
        Limits { max_rows: Some(max_rows), max_rows_slice: Some(max_rows), ..Limits::default() }
    }

    #[test]
    fn vectors_print_one_value_per_line() {
        assert_eq!(ints([4, 1], &[1, 2, 3, 4]), [" 1", " 2", " 3", " 4"]);
        assert_eq!(ints([2], &[1, 0]), [" 1", " 0"]);
        assert_eq!(floats([2], &[1.0, 2.5]), [" 1.0000", " 2.5000"]);
        assert_eq!(ints([10], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10])[8..], ["  9", " 10"]);
        assert_eq!(ints([1, 4], &[1000, 1, 10, 100]), [" 1000    1   10  100"]);
    }

    #[test]
    fn scalars_print_as_a_matrix_of_one() {
        assert_eq!(floats([], &[1.0]), [" 1"]);
        assert_eq!(floats([], &[-10.1213]), [" -10.1213"]);
        assert_eq!(ints([], &[0]), [" 0"]);
    }

    #[test]
    fn nothing_prints_for_no_elements() {
        assert!(ints([0], &[]).is_empty());
        assert!(ints([3, 0], &[]).is_empty());
        assert!(floats([2, 0, 4], &[]).is_empty());
        assert!(floats([0, 2, 2], &[]).is_empty());
    }

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
    fn integers_beyond_six_digits_are_scientific_each_for_itself() {
        const CASES: &[(i128, &str)] = &[
            (123456, " 123456"),
            (-999999, " -999999"),
            (1000000, " 1.0000e+06"),
            (1234567, " 1.2346e+06"),
            (-1234567, " -1.2346e+06"),
            (9999999, " 1.0000e+07"),
            (10000000, " 1.0000e+07"),
            (u64::MAX as i128, " 1.8447e+19"),
            (i64::MIN as i128, " -9.2234e+18"),
            (i64::MAX as i128, " 9.2234e+18"),
        ];
        for &(x, want) in CASES {
            assert_eq!(ints([], &[x]), [want]);
        }
        assert_eq!(
            ints([2, 2], &[10000000, 20000000, 30000000, 1]),
            [" 1.0000e+07 3.0000e+07", " 2.0000e+07          1"]
        );
    }

    #[test]
    fn integers_and_doubles_round_alike() {
        for x in
            [1000050i128, 1000150, 1000250, 1000049, 1000051, -1000150, 123455000000000000, 9999949, 9999950]
        {
            assert_eq!(ints([], &[x]), floats([], &[x as f64]), "{x}");
        }
    }

    #[test]
    fn whole_floats_print_as_integers() {
        assert_eq!(floats([], &[1e5]), [" 100000"]);
        assert_eq!(floats([], &[-1e6]), [" -1.0000e+06"]);
        assert_eq!(floats([2], &[-0.0, 3.0]), [" 0", " 3"]);
        assert_eq!(floats([], &[-0.0]), [" 0"]);
        // 2^63 and beyond have no 64-bit integer.
        assert_eq!(
            floats([3], &[9223372036854775808.0, -1e300, 7.0]),
            ["   9.2234e+18", " -1.0000e+300", "            7"]
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

    fn complexes<const N: usize>(shape: [usize; N], xs: &[(f64, f64)]) -> Vec<String> {
        data_lines(&shape.into(), |i| Number::Complex(xs[i].0, xs[i].1), &Limits::default())
    }

    #[test]
    fn complex_numbers_share_a_notation() {
        assert_eq!(complexes([], &[(1.0, 2.5)]), [" 1.0000+2.5000i"]);
        assert_eq!(complexes([2], &[(1.0, 2.0), (-10.0, -2.0)]), ["   1+2i", " -10-2i"]);
        // One part that is not whole, in any element, is enough.
        assert_eq!(complexes([2], &[(1.0, 2.0), (0.0, -0.5)]), [" 1.0000+2.0000i", " 0.0000-0.5000i"]);
        assert_eq!(complexes([2], &[(-0.0, -0.0), (3.0, -0.0)]), [" 0+0i", " 3+0i"]);
        assert_eq!(complexes([], &[(-0.0, 0.5)]), [" 0.0000+0.5000i"]);
        // Large whole parts are scientific each for itself, as whole floats are.
        assert_eq!(complexes([], &[(1e6, -999999.0)]), [" 1.0000e+06-999999i"]);
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
    fn complex_columns_are_aligned_and_cut_by_their_width() {
        let xs = [(1.0, 2.0), (10.0, -3.0), (0.0, 0.0), (-1.0, 1.0)];
        assert_eq!(complexes([2, 2], &xs), ["  1+2i  0+0i", " 10-3i -1+1i"]);
        let limits = Limits { max_width: Some(15), ..Limits::default() };
        let lines = data_lines(&[1, 2].into(), |_| Number::Complex(0.5, 0.5), &limits);
        assert_eq!(lines, ["Columns 1 to 1", " 0.5000+0.5000i", "Columns 2 to 2", " 0.5000+0.5000i"]);
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

    #[test]
    fn slices_of_three_and_more_dimensions() {
        assert_eq!(
            count([2, 3, 4], &Limits::default()),
            [
                "(1,.,.) =",
                "  1  7 13 19",
                "  3  9 15 21",
                "  5 11 17 23",
                "",
                "(2,.,.) =",
                "  2  8 14 20",
                "  4 10 16 22",
                "  6 12 18 24"
            ]
        );
        let four = count([2, 2, 1, 2], &Limits::default());
        assert_eq!(
            four,
            [
                "(1,1,.,.) =",
                " 1 5",
                "",
                "(1,2,.,.) =",
                " 3 7",
                "",
                "(2,1,.,.) =",
                " 2 6",
                "",
                "(2,2,.,.) =",
                " 4 8"
            ]
        );
        assert_eq!(count([1, 1, 1, 1, 1, 2, 2], &Limits::default()), ["(1,1,1,1,1,.,.) =", " 1 3", " 2 4"]);
    }

    #[test]
    fn width_and_notation_are_chosen_per_slice() {
        assert_eq!(
            floats([2, 1, 2], &[1.0, 1e-7, 2.0, 2e-7]),
            ["(1,.,.) =", " 1 2", "", "(2,.,.) =", "1e-07 *", " 1.0000 2.0000"]
        );
        assert_eq!(floats([2, 1, 1], &[100.0, 0.5]), ["(1,.,.) =", " 100", "", "(2,.,.) =", " 0.5000"]);
    }

    #[test]
    fn wide_matrices_are_cut_into_windows() {
        let lines = count([2, 50], &Limits::default());
        assert_eq!(lines.len(), 9);
        assert_eq!(lines[0], "Columns 1 to 28");
        assert_eq!(lines[1].len(), 84);
        assert_eq!(lines[3], "Columns 29 to 49");
        assert_eq!(lines[4], " 57 59 61 63 65 67 69 71 73 75 77 79 81 83 85 87 89 91 93 95 97");
        assert_eq!(lines[6..], ["Columns 50 to 50", "  99", " 100"]);

        let width = |max_width| Limits { max_width: Some(max_width), ..Limits::default() };
        let hundreds = |limits: &Limits| data_lines(&[1, 3].into(), |_| Number::Int(100), limits);
        assert_eq!(hundreds(&width(7))[..2], ["Columns 1 to 1", " 100"]);
        assert_eq!(hundreds(&width(8)), ["Columns 1 to 2", " 100 100", "Columns 3 to 3", " 100"]);
        assert_eq!(hundreds(&width(12)), [" 100 100 100"]);
        assert_eq!(hundreds(&width(1)).len(), 6, "at least one column a window");
        let unlimited = Limits { max_width: None, ..Limits::default() };
        assert_eq!(count([1, 1000], &unlimited).len(), 1);
    }

    #[test]
    fn the_scale_is_named_once_before_the_windows() {
        let limits = Limits { max_width: Some(8), ..Limits::default() };
        let lines = data_lines(&[1, 2, 2].into(), |_| Number::Float(1e-9), &limits);
        let token = " 1.0000";
        assert_eq!(
            lines,
            ["(1,.,.) =", "1e-09 *", "Columns 1 to 1", token, token, "Columns 2 to 2", token, token]
        );
    }

    #[test]
    fn rows_beyond_the_budget_are_cut() {
        let lines = count([50], &Limits::default());
        assert_eq!((lines.len(), lines[0].as_str(), lines[29].as_str()), (31, "  1", " 30"));
        assert_eq!(lines[30], TRUNCATED);
        assert_eq!(count([30], &Limits::default()).len(), 30);
        assert_eq!(count([11, 1], &rows(10)).len(), 11);
        assert_eq!(count([10, 1], &rows(10)).len(), 10);
        assert_eq!(count([100], &rows(100))[99], " 100");
        let unlimited = Limits { max_rows: None, max_rows_slice: None, ..Limits::default() };
        assert_eq!(count([1000], &unlimited).len(), 1000);
    }

    #[test]
    fn windows_draw_on_the_budget() {
        // 15 windows of 2 rows, as in 28 + 14 * 21 columns.
        let lines = count([1, 2, 500], &Limits::default());
        assert_eq!(lines.len(), 1 + 15 * 3 + 1);
        assert_eq!(lines[43], "Columns 302 to 322");
        assert_eq!(lines[46], TRUNCATED);
        let limits = Limits { max_width: Some(7), ..rows(1) };
        let lines = data_lines(&[1, 3].into(), |_| Number::Int(100), &limits);
        assert_eq!(lines, ["Columns 1 to 1", " 100", TRUNCATED]);
    }

    #[test]
    fn slices_draw_on_the_budget() {
        assert_eq!(
            count([3, 2, 1], &rows(3)),
            ["(1,.,.) =", " 1", " 4", "", "(2,.,.) =", " 2", TRUNCATED],
            "second slice cut"
        );
        assert_eq!(
            count([3, 2, 1], &rows(4)),
            ["(1,.,.) =", " 1", " 4", "", "(2,.,.) =", " 2", " 5", TRUNCATED],
            "third slice left out"
        );
        assert_eq!(count([2, 2, 1], &rows(4)).last().map(String::as_str), Some(" 4"), "nothing left out");
        let per_slice = Limits { max_rows_slice: Some(1), ..Limits::default() };
        assert_eq!(
            count([2, 2, 1], &per_slice),
            ["(1,.,.) =", " 1", "", "(2,.,.) =", " 2", TRUNCATED],
            "a cut in any slice is told"
        );
    }

    #[test]
    fn only_what_is_printed_is_read() {
        let reads = Cell::new(0);
        let read = |shape: Shape, float: bool| {
            reads.set(0);
            let at = |i: usize| {
                reads.set(reads.get() + 1);
                if float {
                    Number::Float(i as f64)
                } else {
                    Number::Int(i as i128)
                }
            };
            data_lines(&shape, at, &Limits::default());
            reads.get()
        };
        assert_eq!(read([1 << 40].into(), false), 30 + 1);
        assert!(read([1, 1 << 40].into(), false) < 1000);
        assert!(read([1 << 20, 1 << 16, 1 << 16].into(), false) < 1000);
        assert!(read([1 << 30, 10, 2].into(), true) < 200, "only the floats of printed slices");
    }

    #[test]
    fn options_become_limits() {
        assert_eq!(limit("anvil.print_max_rows", -1), Ok(None));
        assert_eq!(limit("anvil.print_max_rows", 7), Ok(Some(7)));
        let text = limit("anvil.print_max_rows", 0).unwrap_err().to_string();
        assert!(text.contains("`anvil.print_max_rows` must be a positive whole number, or -1"), "{text}");
    }

    #[test]
    fn footer_and_summary() {
        let known = |dtype| Ranked { dtype, ambiguous: false };
        let f32_ambiguous = Ranked { dtype: DType::F32, ambiguous: true };
        assert_eq!(footer("cpu", f32_ambiguous, &[2, 3].into()), "[ CPUf32?{2,3} ]");
        assert_eq!(footer("CPU", known(DType::I1), &[4].into()), "[ CPUi1{4} ]");
        assert_eq!(footer("", known(DType::F32), &[3].into()), "[ f32{3} ]");
        assert_eq!(footer("cpu", known(DType::I32), &Shape::scalar()), "[ CPUi32{} ]");
        assert_eq!(summary(known(DType::I32), &[4, 1].into()), "AnvilTensor(dtype=i32, shape=4x1)");
        assert_eq!(summary(f32_ambiguous, &Shape::scalar()), "AnvilTensor(dtype=f32?, shape=)");
    }
}
