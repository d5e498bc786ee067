//! R's vectors as plain slices, by the type of their elements.

use num_complex::Complex;

/// Characters of a user's string that an error repeats.
const QUOTED: usize = 40;

/// A vector of R. `NA` is [`NA_INTEGER`](super::NA_INTEGER) among integers and logicals,
/// [`NA_INTEGER64`](super::NA_INTEGER64) among 64-bit integers, and `None` among strings.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// A double vector.
    Doubles(&'a [f64]),
    /// An integer vector.
    Integers(&'a [i32]),
    /// A logical vector: 0 and 1.
    Logicals(&'a [i32]),
    /// A vector of class `integer64`: 64-bit integers, stored as doubles.
    Integer64(&'a [i64]),
    /// A character vector: a function from position (0-based) to string, and the number of strings.
    Strings(&'a dyn Fn(usize) -> Option<&'a str>, usize),
    /// A raw vector: integers from 0 to 255.
    Raw(&'a [u8]),
    /// A complex vector.
    Complexes(&'a [Complex<f64>]),
}

impl Source<'_> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Source::Doubles(x) => x.len(),
            Source::Integers(x) | Source::Logicals(x) => x.len(),
            Source::Integer64(x) => x.len(),
            Source::Strings(_, len) => *len,
            Source::Raw(x) => x.len(),
            Source::Complexes(x) => x.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An element as R would print it.
    pub(super) fn text(&self, i: usize) -> String {
        match self {
            Source::Doubles(x) => double_text(x[i]),
            Source::Integers(x) | Source::Logicals(x) => x[i].to_string(),
            Source::Integer64(x) => x[i].to_string(),
            Source::Raw(x) => x[i].to_string(),
            Source::Complexes(x) => {
                let im = double_text(x[i].im);
                let plus = if im.starts_with('-') { "" } else { "+" };
                format!("{}{plus}{im}i", double_text(x[i].re))
            }
            Source::Strings(get, _) => {
                let whole = get(i).unwrap_or("NA");
                let shown: String = whole.chars().take(QUOTED).collect();
                let more = if shown.len() < whole.len() { "..." } else { "" };
                format!("\"{shown}{more}\"")
            }
        }
    }
}

fn double_text(x: f64) -> String {
    if x.is_infinite() {
        return if x > 0.0 { "Inf".into() } else { "-Inf".into() };
    }
    if x != 0.0 && !(1e-5..1e15).contains(&x.abs()) {
        // `1e20` is `1e+20` in R.
        let text = format!("{x:e}");
        return if text.contains("e-") { text } else { text.replace('e', "e+") };
    }
    x.to_string()
}
