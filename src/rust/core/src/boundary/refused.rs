//! Values of a vector that a dtype cannot hold, and the error about them.

use super::source::Source;
use super::target::Refusal;
use crate::dtype::DType;
use crate::error::Error;

/// Positions that an error lists.
const LISTED: usize = 5;

/// Refused values, for each [`Refusal`]: their number and first positions (0-based).
#[derive(Default, Debug)]
pub(super) struct Refused {
    all: [Positions; 3],
}

#[derive(Default, Debug)]
struct Positions {
    count: usize,
    first: Vec<usize>,
}

impl Refused {
    pub(super) fn is_empty(&self) -> bool {
        self.all.iter().all(|positions| positions.count == 0)
    }

    #[cold]
    pub(super) fn note(&mut self, position: usize, why: Refusal) {
        let positions = &mut self.all[why as usize];
        positions.count += 1;
        if positions.first.len() < LISTED {
            positions.first.push(position);
        }
    }

    /// The error about the most severe refusal: text that is no number, then missing values, then values out
    /// of range.
    pub(super) fn into_error(self, source: &Source, dtype: DType) -> Error {
        let [missing, unrepresentable, not_numbers] = self.all;
        let listed = |positions: &Positions| positions.first.iter().map(|&i| i + 1).collect::<Vec<_>>();
        if let Some(&i) = not_numbers.first.first() {
            let expected = match dtype {
                DType::I1 => "strings \"TRUE\" and \"FALSE\" for dtype i1".to_string(),
                d if d.is_float() => format!("strings that are numbers for dtype {d}"),
                d => format!("strings of decimal digits for dtype {d}"),
            };
            let hint = match not_numbers.count {
                1 => String::new(),
                n => format!("{n} strings are like this."),
            };
            return Error::Arg {
                arg: "data".into(),
                expected,
                got: format!("{} at position {}", source.text(i), i + 1),
                hint,
            };
        }
        if missing.count > 0 {
            return Error::MissingValue {
                arg: "data".into(),
                dtype,
                count: missing.count,
                positions: listed(&missing),
            };
        }
        Error::Unrepresentable {
            dtype,
            count: unrepresentable.count,
            positions: listed(&unrepresentable),
            first: unrepresentable.first.first().map_or_else(String::new, |&i| source.text(i)),
            range: dtype.range(),
        }
    }
}
