//! Text of a tensor, as `print()` and `format()` show it.
//!
//! A tensor prints as matrices over its last two axes: the leading indices name a slice, wide matrices are
//! cut into windows of columns, and a budget of rows bounds the output. A long vector prints in rows that begin
//! with the number of their first element. Invariant: only elements that are printed are read, and of a long
//! vector those that would be if they were one digit each, except that the notation of a float or complex
//! slice is chosen from all of its values.
//! The module knows shapes and numbers, not where elements are: the caller passes a function from position to
//! value.
//!
//! # Sources
//! The layout is that of the printer of pjrt, on which users' eyes and snapshots rely; where it misprints
//! (sign of the scale, tokens of `10.0000`, `-0`, a truncation line that names no option of ours) this module
//! does not follow it. The rows of long vectors are those of R's `print.default()`.

mod notation;

pub use notation::Number;

use crate::dtype::Ranked;
use crate::error::{Error, Result};
use crate::growth::{collect, push};
use crate::shape::{join, Shape};
use notation::{notation, token, Notation, Token, Width};

/// First line of a printed tensor.
pub const HEADER: &str = "AnvilTensor";

const TRUNCATED: &str = " ... [output was truncated, set options(anvil.print_max_rows = -1) to see all]";

/// Elements of the longest vector that prints as a column, one value per line.
const COLUMN: usize = 10;

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

/// The limit that the value of an R option stands for; a negative value is no limit.
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
/// `[1, 1]`, a 1-d one of shape `[n]` as `[n, 1]` up to 10 elements and in rows beyond. Cost: reads each printed element twice, and each element
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
    if shape.rank() == 1 && shape.size() > COLUMN {
        vector_lines(&mut lines, shape.size(), at, limits);
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

/// Writes `n` elements in rows, each after the number of its first element as `[1]`, in one width.
fn vector_lines(lines: &mut Vec<String>, n: usize, at: impl Fn(usize) -> Number, limits: &Limits) {
    let value = |i: usize, _: usize| at(i);
    let notation = notation(n, 1, value);
    push_scale(lines, notation);
    let label = n.to_string().len() + 2;
    let room = limits.max_width.map_or(usize::MAX, |width| width.saturating_sub(label));
    let max_rows = limits.max_rows.unwrap_or(usize::MAX).min(limits.max_rows_slice.unwrap_or(usize::MAX));
    // How many elements a row has of this width, each after a space.
    let fit = |width: usize| (room / (width + 1)).max(1);
    let candidates = n.min(fit(1).saturating_mul(max_rows));
    let tokens: Vec<Token> = collect((0..candidates).map(|i| token(at(i), notation)));
    let width = Width::default().of(&tokens);
    let per_row = fit(width.total()).min(n);
    for (i, row) in tokens.chunks(per_row).take(max_rows).enumerate() {
        let first = format!("[{}]", i * per_row + 1);
        let elements: String = row.iter().map(|token| width.pad(token)).collect();
        push(lines, format!("{first:>label$}{elements}"));
    }
    if max_rows.saturating_mul(per_row) < n {
        push(lines, TRUNCATED.into());
    }
}

fn push_scale(lines: &mut Vec<String>, notation: Notation) {
    if let Notation::Scaled(exponent) = notation {
        push(lines, format!("1e{exponent:+03} *"));
    }
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
    push_scale(lines, notation);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use std::cell::Cell;

    pub(super) fn floats<const N: usize>(shape: [usize; N], xs: &[f64]) -> Vec<String> {
        data_lines(&shape.into(), |i| Number::Float(xs[i]), &Limits::default())
    }

    pub(super) fn singles<const N: usize>(shape: [usize; N], xs: &[f32]) -> Vec<String> {
        data_lines(&shape.into(), |i| Number::Float(xs[i].into()), &Limits::default())
    }

    pub(super) fn ints<const N: usize>(shape: [usize; N], xs: &[i128]) -> Vec<String> {
        data_lines(&shape.into(), |i| Number::Int(xs[i]), &Limits::default())
    }

    pub(super) fn complexes<const N: usize>(shape: [usize; N], xs: &[(f64, f64)]) -> Vec<String> {
        data_lines(&shape.into(), |i| Number::Complex(xs[i].0, xs[i].1), &Limits::default())
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
    fn long_vectors_print_in_rows() {
        let eleven = count([11], &Limits::default());
        assert_eq!(eleven, [" [1]  1  2  3  4  5  6  7  8  9 10 11"]);
        // As print(1:50) of R in 40 columns: 4 for the label, 12 times 3.
        let limits = Limits { max_width: Some(40), ..Limits::default() };
        let lines = count([50], &limits);
        assert_eq!(lines[0], " [1]  1  2  3  4  5  6  7  8  9 10 11 12");
        assert_eq!(lines[1], "[13] 13 14 15 16 17 18 19 20 21 22 23 24");
        assert_eq!(lines[4], "[49] 49 50");
        assert_eq!(lines.len(), 5);
        let narrow = Limits { max_width: Some(1), ..Limits::default() };
        assert_eq!(count([11], &narrow)[9..], ["[10] 10", "[11] 11"], "at least one element a row");
        let endless = Limits { max_width: None, ..Limits::default() };
        assert_eq!(count([1000], &endless).len(), 1);
        let scaled = floats([11], &[1e-9; 11]);
        assert_eq!(scaled[0], "1e-09 *");
        assert!(scaled[1].starts_with(" [1] 1.0000 1.0000"), "{scaled:?}");
        let complex = complexes([11], &[(10.0, -3.5); 11]);
        assert_eq!(complex[0], format!(" [1]{}", " 10.0000-3.5000i".repeat(5)));
        assert_eq!(complex[2], "[11] 10.0000-3.5000i");
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
    fn complex_columns_are_aligned_and_cut_by_their_width() {
        let xs = [(1.0, 2.0), (10.0, -3.0), (0.0, 0.0), (-1.0, 1.0)];
        assert_eq!(complexes([2, 2], &xs), ["  1+2i  0+0i", " 10-3i -1+1i"]);
        let limits = Limits { max_width: Some(15), ..Limits::default() };
        let lines = data_lines(&[1, 2].into(), |_| Number::Complex(0.5, 0.5), &limits);
        assert_eq!(lines, ["Columns 1 to 1", " 0.5000+0.5000i", "Columns 2 to 2", " 0.5000+0.5000i"]);
    }

    #[test]
    fn slices_of_three_and_more_axes() {
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
        let lines = count([50, 1], &Limits::default());
        assert_eq!((lines.len(), lines[0].as_str(), lines[29].as_str()), (31, "  1", " 30"));
        assert_eq!(lines[30], TRUNCATED);
        assert_eq!(count([30, 1], &Limits::default()).len(), 30);
        assert_eq!(count([11, 1], &rows(10)).len(), 11);
        assert_eq!(count([10, 1], &rows(10)).len(), 10);
        assert_eq!(count([100, 1], &rows(100))[99], " 100");
        let unlimited = Limits { max_rows: None, max_rows_slice: None, ..Limits::default() };
        assert_eq!(count([1000, 1], &unlimited).len(), 1000);
        // Elements of the two digits that are shown, after a label for four.
        let vector = count([1000], &rows(2));
        assert_eq!(vector.len(), 3);
        assert!(vector[1].starts_with("  [27] 27 28") && vector[1].ends_with(" 52"), "{vector:?}");
        assert_eq!(vector[2], TRUNCATED);
        assert_eq!(count([1000], &unlimited).last().unwrap().split_whitespace().last(), Some("1000"));
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
        assert_eq!(read([1 << 40, 1].into(), false), 30 + 1);
        assert!(read([1 << 40].into(), false) < 30 * 43);
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
