//! Records of promotion: one [`Conversion`] for each operand that an op converted, with what may be lost
//! ([`Loss`]).

use crate::dtype::{DType, Ranked};
use crate::tensor::Literal;
use num_complex::Complex;

/// What a conversion may lose of a value, in order of severity.
///
/// It follows from the dtypes, or from the value if it is known while tracing: `x + 1L` on an `i8` is
/// lossless, `x + 300L` wraps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Loss {
    /// Every value is kept.
    Lossless,
    /// The nearest value of a float of fewer digits, or the whole part of a float.
    Rounds,
    /// Numbers that were finite may become infinite: the largest `f16` is 65504. All other floats reach 3e38.
    Overflows,
    /// An integer keeps its low bits, or a number only whether it is 0.
    Wraps,
    /// A negative number becomes another number.
    DropsSign,
}

impl Loss {
    /// All of them, in order.
    pub const ALL: [Loss; 5] = [Loss::Lossless, Loss::Rounds, Loss::Overflows, Loss::Wraps, Loss::DropsSign];

    /// The name that users choose it by.
    pub fn name(self) -> &'static str {
        match self {
            Loss::Lossless => "lossless",
            Loss::Rounds => "rounds",
            Loss::Overflows => "overflows",
            Loss::Wraps => "wraps",
            Loss::DropsSign => "drops sign",
        }
    }

    /// The loss that is possible for some value of `from` as one of `to`.
    ///
    /// # Sources
    /// Digits and ranges of the floats: IEEE 754-2019, table 3.5; bf16 has the exponent of f32 and 8 digits.
    pub fn of_types(from: DType, to: DType) -> Loss {
        let (part, target) = (from.part(), to.part());
        if part == target || part == DType::I1 {
            return Loss::Lossless;
        }
        if target == DType::I1 {
            return Loss::Wraps;
        }
        match (part.bounds(), target.bounds()) {
            (Some((low, _)), Some((least, _))) if low < 0 && least == 0 => Loss::DropsSign,
            (Some((low, high)), Some((least, most))) if low < least || high > most => Loss::Wraps,
            (Some(_), Some(_)) => Loss::Lossless,
            (None, Some(_)) => Loss::Rounds,
            // The magnitude of a signed integer has a bit less than its width, but for the smallest, a power
            // of two.
            (Some((low, high)), None) => {
                let digits = part.bits() as u32 - u32::from(low < 0);
                match digits <= digits_of(target) {
                    true => Loss::Lossless,
                    false if target == DType::F16 && high > F16_MAX => Loss::Overflows,
                    false => Loss::Rounds,
                }
            }
            (None, None) if digits_of(part) <= digits_of(target) && part != DType::BF16 => Loss::Lossless,
            (None, None) if target == DType::F16 => Loss::Overflows,
            (None, None) if part == DType::BF16 => Loss::Lossless,
            (None, None) => Loss::Rounds,
        }
    }

    /// The loss of this value of the type `from` as one of `to`.
    pub fn of_value(value: &Literal, from: Ranked, to: Ranked) -> Loss {
        let result = value.convert(to.stored());
        if is_finite(value) && !is_finite(&result) {
            return Loss::Overflows;
        }
        // An R number has more digits than its default dtype; to drop those is no loss.
        let value = value.convert(from.dtype);
        match Loss::of_types(from.dtype, to.stored()) {
            Loss::Lossless => Loss::Lossless,
            _ if is_same(&value, &result) => Loss::Lossless,
            Loss::DropsSign if whole(&value) >= 0 => Loss::Wraps,
            Loss::Overflows => Loss::Rounds,
            other => other,
        }
    }
}

/// One operand that an op converted.
#[derive(Clone, PartialEq, Debug)]
pub struct Conversion {
    /// The types in promotion of all operands that were promoted together.
    pub operands: Vec<Ranked>,
    /// Position of the converted operand among them.
    pub operand: usize,
    /// The dtype that it is stored in: that of an ambiguous float may be wider than its default.
    pub stored: DType,
    /// The type that it was converted to.
    pub to: Ranked,
    /// The reason, as a phrase.
    pub rule: String,
    /// What may have been lost.
    pub loss: Loss,
}

/// Largest finite number of f16.
const F16_MAX: i128 = 65504;

/// Binary digits of a float's significand.
fn digits_of(float: DType) -> u32 {
    match float {
        DType::BF16 => 8,
        DType::F16 => 11,
        DType::F32 => 24,
        _ => 53,
    }
}

/// A number of any dtype; whole numbers of more than 53 digits are rounded.
fn number(x: &Literal) -> Complex<f64> {
    x.get()
}

fn is_finite(x: &Literal) -> bool {
    number(x).re.is_finite() && number(x).im.is_finite()
}

/// A boolean or integer as a number.
fn whole(x: &Literal) -> i128 {
    if x.dtype() == DType::UI64 {
        x.get::<u64>().into()
    } else {
        x.get::<i64>().into()
    }
}

/// Whether two numbers of different dtypes are equal; NaN equals NaN.
fn is_same(x: &Literal, y: &Literal) -> bool {
    let same = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan();
    match [x, y].map(|v| v.dtype().part().is_float()) {
        [true, true] => same(number(x).re, number(y).re) && same(number(x).im, number(y).im),
        [false, false] => whole(x) == whole(y),
        // Every finite float below 2^127 is exact in i128 but for its fraction; whole numbers are below 2^64.
        [true, false] => number(x).re.fract() == 0.0 && number(x).re as i128 == whole(y),
        [false, true] => number(y).re as i128 == whole(x),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::{dispatch, promote, Element};

    /// Every value of a dtype of at most 16 bits, and telling ones of the wider dtypes.
    fn values(dtype: DType) -> Vec<Literal> {
        let bits = if dtype == DType::I1 { 1 } else { dtype.bits() };
        if bits <= 16 {
            return (0..1u32 << bits).map(|x| Literal::from_bytes(dtype, &x.to_le_bytes())).collect();
        }
        let telling =
            [0.0, 1.0, -1.0, 255.0, 256.0, 257.0, -129.0, 65504.0, 65520.0, 16777217.0, 1e10, 0.1, 1e30];
        let numbers = telling.map(|x| Literal::new(x).convert(dtype));
        dispatch!(dtype, T => numbers.into_iter().chain([Literal::new(T::LOWEST), Literal::new(T::HIGHEST)]).collect())
    }

    fn real_pairs() -> impl Iterator<Item = (DType, DType)> {
        let pairs = DType::ALL.iter().flat_map(|&from| DType::ALL.iter().map(move |&to| (from, to)));
        pairs.filter(|(from, to)| to.is_complex() || !from.is_complex())
    }

    #[test]
    fn what_is_called_lossless_keeps_every_value() {
        for (from, to) in real_pairs() {
            let kept = |x: &Literal| {
                let back = if to.is_complex() && !from.is_complex() {
                    x.convert(to).convert(to.part())
                } else {
                    x.convert(to)
                };
                is_same(x, &back)
            };
            let all = values(from).iter().all(kept);
            assert_eq!(Loss::of_types(from, to) == Loss::Lossless, all, "{from} to {to}");
        }
    }

    #[test]
    fn a_value_risks_no_more_than_its_dtype() {
        for (from, to) in real_pairs() {
            let worst = Loss::of_types(from, to);
            let seen: Vec<Loss> = values(from)
                .iter()
                .map(|x| Loss::of_value(x, Ranked::known(from), Ranked::known(to)))
                .collect();
            match worst {
                Loss::Lossless => assert!(seen.iter().all(|&x| x == worst), "{from} to {to}"),
                // 1e308 as an f32 and 3.4e38 as a bf16 do overflow, as values.
                Loss::Rounds => assert!(seen.iter().all(|&x| x <= Loss::Overflows), "{from} to {to}"),
                _ => assert!(seen.iter().all(|&x| x <= worst) && seen.contains(&worst), "{from} to {to}"),
            }
        }
    }

    #[test]
    fn every_class_has_the_conversions_that_a_user_expects() {
        let class = |from: &str, to: &str| {
            Loss::of_types(DType::parse(from).unwrap(), DType::parse(to).unwrap()).name()
        };
        for (from, to, expected) in [
            ("i32", "f32", "rounds"),
            ("f64", "f32", "rounds"),
            ("c128", "c64", "rounds"),
            ("f64", "c64", "rounds"),
            ("i64", "f16", "overflows"),
            ("f32", "f16", "overflows"),
            ("bf16", "f16", "overflows"),
            ("i64", "i8", "wraps"),
            ("ui8", "i8", "wraps"),
            ("i32", "ui64", "drops sign"),
            ("i32", "f64", "lossless"),
            ("ui8", "bf16", "lossless"),
            ("i1", "ui8", "lossless"),
        ] {
            assert_eq!(class(from, to), expected, "{from} to {to}");
        }
    }

    #[test]
    fn known_values_are_judged_themselves() {
        let class = |value: Literal, from, to| {
            let [from, to] = [from, to].map(|name| promote::parse(name).unwrap());
            Loss::of_value(&value, from, to).name()
        };
        assert_eq!(class(Literal::new(1i32), "i32", "i8"), "lossless");
        assert_eq!(class(Literal::new(300i32), "i32", "i8"), "wraps");
        assert_eq!(class(Literal::new(-1i32), "i32", "ui8"), "drops sign");
        assert_eq!(class(Literal::new(300i32), "i32", "ui8"), "wraps");
        assert_eq!(class(Literal::new(16777216i32), "i32", "f32"), "lossless");
        assert_eq!(class(Literal::new(16777217i32), "i32", "f32"), "rounds");
        assert_eq!(class(Literal::new(i64::MAX), "i64", "f64"), "rounds");
        // An ambiguous float is a double.
        assert_eq!(class(Literal::new(16777217i32), "i32?", "f32?"), "lossless");
        assert_eq!(class(Literal::new(1e300f64), "f64", "f32?"), "lossless");
        // The digits that an R number has beyond f32 are no loss, its magnitude is.
        assert_eq!(class(Literal::new(0.1f64), "f32?", "f32"), "lossless");
        assert_eq!(class(Literal::new(0.1f64), "f32?", "f16"), "rounds");
        assert_eq!(class(Literal::new(1e300f64), "f32?", "f32"), "overflows");
        assert_eq!(class(Literal::new(1e5f64), "f32?", "f16"), "overflows");
        assert_eq!(class(Literal::new(f64::INFINITY), "f32?", "f16"), "lossless");
        assert_eq!(class(Literal::new(f64::NAN), "f64", "f32"), "lossless");
    }
}
