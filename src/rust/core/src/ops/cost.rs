//! Estimates of the time that ops take.

use crate::dtype::DType;

/// The time that an element takes, by comparison with known ops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cost {
    /// As long as a sum.
    Simple,
    /// As long as a quotient of floats.
    Division,
    /// As long as a quotient for floats, as an exponential for complex numbers.
    Root,
    /// As long as an exponential.
    Function,
    /// As long as ten exponentials: functions of two operands, with their many cases.
    Functions,
    /// As long as the logarithm of the gamma function.
    Special,
    /// As long as the logarithm of a density, in lanes: in double precision whatever the dtype is.
    Density,
    /// As long as a quotient, which for integers and complex numbers is not vectorised.
    Quotient,
    /// As long as a remainder.
    Remainder,
    /// As long as a sum of many terms.
    Series,
    /// So many picoseconds.
    Picoseconds(usize),
}

impl Cost {
    /// The estimate in picoseconds per element, for operands of these dtypes, on one core with AVX2, in a chain
    /// whose values are in registers (measured on an AMD EPYC, Zen 5, as the difference that an op makes).
    pub(crate) fn picoseconds(self, from: &[DType]) -> usize {
        // Per byte of an element, for what is vectorised: a vector holds half as many doubles as singles.
        const SIMPLE: usize = 5;
        const DIVISION: usize = 12;
        const REMAINDER: usize = 30;
        const SPECIAL: usize = 450;
        const DENSITY: usize = 1_500;
        // Functions of doubles have polynomials of twice the degree, too.
        const FUNCTION: usize = 60;
        const FUNCTION_OF_DOUBLES: usize = 110;
        // Per element, for what is not vectorised.
        const HALF: usize = 2_000;
        const QUOTIENT: usize = 400;
        const QUOTIENT_OF_COMPLEX: usize = 2_000;
        const REMAINDER_OF_INTEGERS: usize = 800;
        const COMPLEX: usize = 30_000;
        const SERIES: usize = 120_000;
        let bytes = from.iter().map(|d| d.bytes()).max().unwrap_or(1);
        let complex = from.iter().any(|d| d.is_complex());
        let float = from.iter().any(|d| d.is_float());
        let function = match bytes {
            _ if complex => COMPLEX,
            8 => FUNCTION_OF_DOUBLES * bytes,
            _ => FUNCTION * bytes,
        };
        let one = match self {
            Cost::Simple => SIMPLE * bytes,
            Cost::Division => DIVISION * bytes,
            Cost::Root | Cost::Quotient if float => DIVISION * bytes,
            Cost::Root | Cost::Function => function,
            Cost::Functions => 10 * function,
            Cost::Special => SPECIAL * bytes,
            Cost::Density => DENSITY * bytes,
            Cost::Remainder if float => REMAINDER * bytes,
            Cost::Remainder => REMAINDER_OF_INTEGERS,
            Cost::Quotient if complex => QUOTIENT_OF_COMPLEX,
            Cost::Quotient => QUOTIENT,
            Cost::Series => SERIES,
            Cost::Picoseconds(picoseconds) => picoseconds,
        };
        let half = from.iter().any(|d| matches!(d, DType::BF16 | DType::F16));
        if half {
            one + HALF
        } else {
            one
        }
    }
}
