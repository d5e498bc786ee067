//! Import of R's vectors to the bytes of a tensor.

use super::narrowing::{Lost, Narrowing};
use super::refused::Refused;
use super::source::Source;
use super::target::{Refusal, Target};
use super::{NA_INTEGER, NA_INTEGER64};
use crate::dtype::{dispatch, DType, Element};
use crate::error::{Error, Result};
use crate::kernels::cast;
use crate::shape::{Axis, Shape};
use crate::stop;
use std::cell::RefCell;

/// The order in which data fills the axes of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Filling {
    /// First axis fastest, as `array()` does.
    Column,
    /// Last axis fastest, as in StableHLO and NumPy.
    Row,
}

/// Converts data to the elements of a tensor of this dtype and shape, dense and column-major in `out`. Data
/// of length 1 is repeated. Gives what whole numbers among doubles lost in a float that nobody asked for: with
/// `by_default`, the dtype is the default of the data.
///
/// Numbers round to the nearest float, beyond its range to an infinity; NaN keeps its payload in f64, so
/// `NA_real_` comes back as such. Complex dtypes take both parts by the rules of floats (c128 bit for bit, so
/// `NA_complex_` comes back), and real data with an imaginary part of 0. For all other dtypes values must be
/// there exactly: whole, and in range (0 and 1 for i1). Strings are decimal integers for integer dtypes, of
/// any number of digits; numbers, `Inf` and `NaN` for floats; `TRUE` and `FALSE` for i1. `NA` that is neither
/// a double nor complex is refused by floats and complex dtypes too, where it would turn into a number that R
/// no longer knows as missing.
///
/// # Errors
/// [`Error::Arg`] for complex data and a dtype that is not, for strings and a complex dtype, and for strings
/// that are no numbers; [`Error::DataLength`] if lengths disagree; [`Error::MissingValue`] for `NA` (and NaN,
/// unless a float or complex dtype takes it); [`Error::Unrepresentable`] for values that the dtype does not
/// have. `out` is unspecified then.
///
/// # Panics
/// If `out` is not aligned, or has not the bytes of the tensor.
pub fn import(
    source: &Source,
    dtype: DType,
    by_default: bool,
    shape: &Shape,
    filling: Filling,
    out: &mut [u8],
) -> Result<Lost> {
    check_kinds(source, dtype)?;
    let (len, size) = (source.len(), shape.size());
    if len != size && len != 1 {
        return Err(Error::DataLength { len, shape: shape.clone(), size });
    }
    assert_eq!(out.len(), size * dtype.bytes(), "the buffer is that of the tensor");
    if size == 0 {
        return Ok(Lost::default());
    }
    let mut narrowing = Narrowing::new(by_default && matches!(dtype, DType::F32 | DType::C64) && size > 0);
    dispatch!(dtype, T => {
        import_as::<T>(source, &mut narrowing, shape, filling, cast::slice_mut::<T>(out))
    })?;
    narrowing.finish(source, dtype)
}

/// Refuses kinds of data whatever their values: complex data for a real dtype, whose imaginary part would be
/// lost, and text for a complex dtype, which R can parse.
fn check_kinds(source: &Source, dtype: DType) -> Result<()> {
    let (expected, got, hint) = match source {
        Source::Complexes(_) if !dtype.is_complex() => (
            "real",
            "a complex vector",
            "Take its `Re()`, `Im()` or `Mod()` first, or choose dtype c64 or c128.",
        ),
        Source::Strings(..) if dtype.is_complex() => {
            ("numeric or complex", "a character vector", "Convert with `as.complex()` first.")
        }
        _ => return Ok(()),
    };
    Err(Error::Arg {
        arg: "data".into(),
        expected: format!("{expected} for dtype {dtype}"),
        got: got.into(),
        hint: hint.into(),
    })
}

/// Reads the elements of the data from a position on into a slice, and notes those that it refuses.
type Read<'a, T> = &'a dyn Fn(usize, &mut [T], &mut Refused);

/// Elements that are read at once where they do not go side by side.
const BUFFERED: usize = 256;

// Not inlined: compilation takes ten times as long with all dtypes in one function.
#[inline(never)]
fn import_as<T: Target>(
    source: &Source,
    narrowing: &mut Narrowing,
    shape: &Shape,
    filling: Filling,
    out: &mut [T],
) -> Result<()> {
    let narrowing = RefCell::new(narrowing);
    let whole = |x: i128, is_missing: bool| if is_missing { Err(Refusal::Missing) } else { T::from_whole(x) };
    // The loop stands once for each kind of data: how the elements are arranged is none of its business.
    let mut fill = |read: Read<T>| {
        fill(source.len(), shape, filling, out, &|start, out, refused| {
            narrowing.borrow_mut().look(source, start..start + out.len());
            read(start, out, refused);
        })
    };
    let filled = match *source {
        Source::Doubles(x) => fill(&each(x, T::from_double)),
        Source::Integers(x) => fill(&each(x, |x| whole(x.into(), x == NA_INTEGER))),
        Source::Logicals(x) => fill(&each(x, |x| match x {
            NA_INTEGER => Err(Refusal::Missing),
            x => Ok(T::from_bool(x != 0)),
        })),
        Source::Integer64(x) => fill(&each(x, |x| whole(x.into(), x == NA_INTEGER64))),
        Source::Raw(x) => fill(&each(x, |x| T::from_whole(x.into()))),
        Source::Complexes(x) if T::DTYPE.is_complex() => fill(&each(x, |x| Ok(T::from_c128(x)))),
        Source::Strings(get, _) if !T::DTYPE.is_complex() => fill(&|start, out, refused| {
            for (i, slot) in (start..).zip(out) {
                let read = match get(i).map(str::trim) {
                    None | Some("NA") => Err(Refusal::Missing),
                    Some(x) => T::from_text(x),
                };
                match read {
                    Ok(x) => *slot = x,
                    Err(why) => refused.note(i, why),
                }
            }
        }),
        Source::Complexes(_) | Source::Strings(..) => unreachable!("refused by `check_kinds`"),
    };
    filled.map_err(|refused| refused.into_error(source, T::DTYPE))
}

/// [`Read`] of a slice.
fn each<'a, S: Copy, T>(
    x: &'a [S],
    read: impl Fn(S) -> Result<T, Refusal> + 'a,
) -> impl Fn(usize, &mut [T], &mut Refused) + 'a {
    move |start, out, refused| {
        for (i, (slot, &x)) in out.iter_mut().zip(&x[start..]).enumerate() {
            match read(x) {
                Ok(x) => *slot = x,
                Err(why) => refused.note(start + i, why),
            }
        }
    }
}

/// Reads every element once, in the order of the data, and writes it to its position.
fn fill<T: Element>(
    len: usize,
    shape: &Shape,
    filling: Filling,
    out: &mut [T],
    read: Read<T>,
) -> Result<(), Refused> {
    let mut refused = Refused::default();
    if len == 1 {
        // An empty tensor holds no element, so the value is not checked.
        if let Some((first, _)) = out.split_first_mut() {
            read(0, std::slice::from_mut(first), &mut refused);
            let first = *first;
            stop::fill(out, first);
        }
    } else if filling == Filling::Column || shape.rank() < 2 {
        for (part, out) in out.chunks_mut(stop::EVERY).enumerate() {
            stop::work(out.len());
            read(part * stop::EVERY, out, &mut refused);
        }
    } else {
        // Runs along the last axis, which data fill first.
        let (rows, columns) = (shape.without(&[Axis(shape.rank() - 1)]), shape[shape.rank() - 1]);
        let (mut buffer, mut done, mut ready) = ([T::default(); BUFFERED], 0, 0..0);
        for first in row_major_positions(&rows) {
            let mut slots = out[first..].iter_mut().step_by(rows.size());
            let mut left = columns;
            while left > 0 {
                if ready.is_empty() {
                    ready = 0..BUFFERED.min(len - done);
                    stop::work(ready.len());
                    read(done, &mut buffer[ready.clone()], &mut refused);
                    done += ready.len();
                }
                let now = left.min(ready.len());
                let part = &buffer[ready.start..ready.start + now];
                part.iter().zip(&mut slots).for_each(|(&x, slot)| *slot = x);
                (left, ready.start) = (left - now, ready.start + now);
            }
        }
    }
    if refused.is_empty() {
        Ok(())
    } else {
        Err(refused)
    }
}

/// Positions in the column-major layout of the elements in row-major order.
fn row_major_positions(shape: &Shape) -> impl Iterator<Item = usize> {
    let (sizes, strides) = (shape.to_vec(), shape.strides());
    let (mut index, mut position) = (vec![0; sizes.len()], 0);
    (0..shape.size()).map(move |_| {
        let here = position;
        for axis in (0..sizes.len()).rev() {
            index[axis] += 1;
            position += strides[axis];
            if index[axis] < sizes[axis] {
                break;
            }
            position -= sizes[axis] * strides[axis];
            index[axis] = 0;
        }
        here
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boundary::NA_REAL_BITS;
    use crate::dtype::{Bool, HasDType};
    use half::{bf16, f16};
    use num_complex::Complex;
    use std::fmt::Debug;

    fn try_fill<T: Element>(source: Source, shape: Shape, filling: Filling) -> Result<Vec<T>> {
        let mut out = vec![T::default(); shape.size()];
        import(&source, T::DTYPE, false, &shape, filling, cast::bytes_mut(&mut out))?;
        Ok(out)
    }

    fn try_import<T: Element>(source: Source) -> Result<Vec<T>> {
        let shape = Shape::try_new(vec![source.len()]).unwrap();
        try_fill(source, shape, Filling::Column)
    }

    fn strings<T: Element>(x: &[Option<&str>]) -> Result<Vec<T>> {
        try_import(Source::Strings(&|i| x[i], x.len()))
    }

    /// Count and positions of an error about missing values.
    fn missing<T: Debug>(result: Result<T>) -> (usize, Vec<usize>) {
        match result {
            Err(Error::MissingValue { count, positions, .. }) => (count, positions),
            other => panic!("expected missing values, got {other:?}"),
        }
    }

    /// Count, positions and first text of an error about values that do not fit.
    fn unrepresentable<T: Debug>(result: Result<T>) -> (usize, Vec<usize>, String) {
        match result {
            Err(Error::Unrepresentable { count, positions, first, .. }) => (count, positions, first),
            other => panic!("expected values that do not fit, got {other:?}"),
        }
    }

    const NA_REAL: f64 = f64::from_bits(NA_REAL_BITS);

    /// Lowest and highest value of an integer dtype.
    fn bounds(dtype: DType) -> (i128, i128) {
        let bits = dtype.bits() as u32;
        match dtype.kind() {
            crate::dtype::Kind::Integer => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            _ => (0, (1 << bits) - 1),
        }
    }

    #[test]
    fn doubles_go_into_integers_up_to_the_exact_bounds() {
        for &dtype in DType::ALL.iter().filter(|d| !d.is_float() && !d.is_complex()) {
            let (lowest, highest) = bounds(dtype);
            let next_down = |x: f64| libm::nextafter(x, f64::NEG_INFINITY);
            dispatch!(dtype, T => {
                let try_one = |x: f64| try_import::<T>(Source::Doubles(&[x]));
                for x in [lowest as f64, -0.0, 0.0, 1.0] {
                    assert_eq!(try_one(x).unwrap(), [<T as Element>::from_f64(x)], "{x} into {dtype}");
                }
                // The largest 64-bit integers are no doubles: the next one above is out of range, the next
                // below is not.
                let top = if dtype.bits() == 64 { next_down(highest as f64) } else { highest as f64 };
                assert_eq!(try_one(top).unwrap()[0].convert::<f64>(), top, "{dtype}");
                let above = if dtype.bits() == 64 { highest as f64 } else { (highest + 1) as f64 };
                let below = if dtype.bits() == 64 { next_down(lowest as f64 - 1.0) } else { (lowest - 1) as f64 };
                for x in [above, below, 0.5, -0.5, 1e300, f64::INFINITY, f64::NEG_INFINITY, 5e-324] {
                    assert_eq!(unrepresentable(try_one(x)).0, 1, "{x} into {dtype}");
                }
                for x in [f64::NAN, NA_REAL] {
                    assert_eq!(missing(try_one(x)), (1, vec![1]), "{dtype}");
                }
            });
        }
    }

    #[test]
    fn doubles_go_into_floats_rounded() {
        let x = [0.1, -0.0, 1e300, -1e300, 1e-50, f64::INFINITY, 16777217.0];
        let want = [0.1f32, -0.0, f32::INFINITY, f32::NEG_INFINITY, 0.0, f32::INFINITY, 16777216.0];
        let bits = |x: Vec<f32>| x.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(try_import(Source::Doubles(&x)).unwrap()), bits(want.to_vec()));
        assert!(try_import::<f32>(Source::Doubles(&[f64::NAN, NA_REAL])).unwrap().iter().all(|x| x.is_nan()));
        let kept = try_import::<f64>(Source::Doubles(&[NA_REAL, 0.1])).unwrap();
        assert_eq!((kept[0].to_bits(), kept[1]), (NA_REAL_BITS, 0.1));
    }

    #[test]
    fn integers_go_into_every_dtype_that_holds_them() {
        for &dtype in DType::ALL {
            dispatch!(dtype, T => {
                let zero_one = try_import::<T>(Source::Integers(&[0, 1])).unwrap();
                assert_eq!(zero_one, [T::from_bool(false), T::from_bool(true)], "{dtype}");
                let ends = try_import::<T>(Source::Integers(&[i32::MAX, -i32::MAX]));
                let inexact = dtype.is_float() || dtype.is_complex();
                let fits = inexact || bounds(dtype).0 <= -(i32::MAX as i128) && bounds(dtype).1 >= i32::MAX as i128;
                assert_eq!(ends.is_ok(), fits, "{dtype}");
                assert_eq!(missing(try_import::<T>(Source::Integers(&[1, NA_INTEGER, 0]))), (1, vec![2]), "{dtype}");
            });
        }
        assert_eq!(
            unrepresentable(try_import::<i8>(Source::Integers(&[127, 128, -129]))),
            (2, vec![2, 3], "128".into())
        );
        assert_eq!(unrepresentable(try_import::<u64>(Source::Integers(&[-1]))), (1, vec![1], "-1".into()));
        assert_eq!(unrepresentable(try_import::<Bool>(Source::Integers(&[2]))).0, 1);
        assert_eq!(try_import::<f32>(Source::Integers(&[16777217])).unwrap(), [16777216.0]);
    }

    #[test]
    fn logicals_are_zero_and_one_everywhere() {
        for &dtype in DType::ALL {
            dispatch!(dtype, T => {
                let got = try_import::<T>(Source::Logicals(&[1, 0, 1])).unwrap();
                assert_eq!(got, [true, false, true].map(T::from_bool), "{dtype}");
                assert_eq!(missing(try_import::<T>(Source::Logicals(&[NA_INTEGER, 1, NA_INTEGER]))), (2, vec![1, 3]));
            });
        }
    }

    #[test]
    fn integer64_is_exact() {
        let x = [i64::MAX, i64::MIN + 1, (1 << 53) + 1, -1];
        assert_eq!(try_import::<i64>(Source::Integer64(&x)).unwrap(), x);
        assert_eq!(try_import::<u64>(Source::Integer64(&x[..1])).unwrap(), [i64::MAX as u64]);
        let refused = unrepresentable(try_import::<u64>(Source::Integer64(&x)));
        assert_eq!(refused, (2, vec![2, 4], (i64::MIN + 1).to_string()));
        assert_eq!(try_import::<f64>(Source::Integer64(&[(1 << 53) + 1])).unwrap(), [9007199254740992.0]);
        for &dtype in DType::ALL {
            dispatch!(dtype, T => {
                assert_eq!(try_import::<T>(Source::Integer64(&[1])).unwrap(), [T::from_bool(true)]);
                assert_eq!(missing(try_import::<T>(Source::Integer64(&[NA_INTEGER64]))), (1, vec![1]), "{dtype}");
            });
        }
    }

    #[test]
    fn raw_bytes_are_integers() {
        assert_eq!(try_import::<u8>(Source::Raw(&[0, 255])).unwrap(), [0, 255]);
        assert_eq!(try_import::<i16>(Source::Raw(&[255])).unwrap(), [255]);
        assert_eq!(try_import::<f32>(Source::Raw(&[255])).unwrap(), [255.0]);
        assert_eq!(try_import::<Bool>(Source::Raw(&[1, 0])).unwrap(), [Bool::TRUE, Bool::FALSE]);
        assert_eq!(unrepresentable(try_import::<i8>(Source::Raw(&[127, 128]))), (1, vec![2], "128".into()));
        assert_eq!(unrepresentable(try_import::<Bool>(Source::Raw(&[2]))).0, 1);
    }

    #[test]
    fn strings_are_read_exactly() {
        let some = |x: &'static str| [Some(x)];
        assert_eq!(strings::<i64>(&some("9223372036854775807")).unwrap(), [i64::MAX]);
        assert_eq!(strings::<i64>(&some("-9223372036854775808")).unwrap(), [i64::MIN]);
        assert_eq!(strings::<u64>(&some("18446744073709551615")).unwrap(), [u64::MAX]);
        assert_eq!(strings::<i64>(&some(" +9007199254740993 ")).unwrap(), [9007199254740993]);
        assert_eq!(strings::<u8>(&some("-0")).unwrap(), [0]);
        assert_eq!(
            unrepresentable(strings::<u64>(&some("18446744073709551616"))).2,
            "\"18446744073709551616\""
        );
        assert_eq!(unrepresentable(strings::<u8>(&some("-1"))).0, 1);
        let long = "9".repeat(100);
        let refused = unrepresentable(strings::<i64>(&[Some(&long)]));
        assert_eq!(refused.2, format!("\"{}...\"", "9".repeat(40)));

        let x = [Some("1e5"), Some("Inf"), Some("-Inf"), Some("0.1"), Some(" -2 ")];
        assert_eq!(strings::<f64>(&x).unwrap(), [1e5, f64::INFINITY, f64::NEG_INFINITY, 0.1, -2.0]);
        assert!(strings::<f64>(&some("NaN")).unwrap()[0].is_nan());
        assert_eq!(strings::<f32>(&some("1e39")).unwrap(), [f32::INFINITY]);
        // By way of f64 this would round to 1 instead of up to the next f32.
        assert_eq!(strings::<f32>(&some("1.00000005960464478")).unwrap(), [1.0000001]);

        assert_eq!(
            strings::<Bool>(&[Some("TRUE"), Some("FALSE"), Some("T")]).unwrap(),
            [true, false, true].map(Bool::from)
        );
    }

    #[test]
    fn strings_that_are_no_numbers_are_named() {
        for (bad, integer, float, boolean) in [
            ("abc", true, true, true),
            ("", true, true, true),
            ("1.5", true, false, true),
            ("1e5", true, false, true),
            ("0x10", true, true, true),
            ("-", true, true, true),
            ("+-1", true, true, true),
            ("1 2", true, true, true),
            ("Inf", true, false, true),
            ("1", false, false, true),
            ("TRUE", true, true, false),
        ] {
            let refused = |e: Option<Error>| matches!(e, Some(Error::Arg { .. }));
            assert_eq!(refused(strings::<i32>(&[Some(bad)]).err()), integer, "{bad:?} as i32");
            assert_eq!(refused(strings::<f32>(&[Some(bad)]).err()), float, "{bad:?} as f32");
            assert_eq!(refused(strings::<Bool>(&[Some(bad)]).err()), boolean, "{bad:?} as i1");
        }
        let e = strings::<i32>(&[Some("1"), Some("x"), None, Some("y")]).unwrap_err().to_string();
        assert!(
            e.contains("`data` must be strings of decimal digits for dtype i32, not \"x\" at position 2"),
            "{e}"
        );
        assert!(e.contains("2 strings"), "{e}");
        for &dtype in DType::ALL.iter().filter(|d| !d.is_complex()) {
            dispatch!(dtype, T => {
                assert_eq!(missing(strings::<T>(&[None, Some("NA"), Some(" NA ")])), (3, vec![1, 2, 3]), "{dtype}");
            });
        }
    }

    #[test]
    fn integers_round_once_to_sixteen_bits() {
        let halfway = (1i64 << 40) + (1 << 32);
        let x = [halfway - 1, halfway, halfway + 1, -halfway - 1, halfway + (1 << 33)];
        let (low, high) = (2f32.powi(40), 2f32.powi(40) + 2f32.powi(33));
        let want = [low, low, high, -high, 2f32.powi(40) + 2f32.powi(34)].map(bf16::from_f32);
        assert_eq!(try_import::<bf16>(Source::Integer64(&x)).unwrap(), want);
        // More digits than a double has.
        let top = (1i64 << 62) + (1 << 54) + 1;
        let up = 2f32.powi(62) + 2f32.powi(55);
        assert_eq!(
            try_import::<bf16>(Source::Integer64(&[top, i64::MAX])).unwrap(),
            [up, 2f32.powi(63)].map(bf16::from_f32)
        );
        assert_eq!(
            try_import::<f16>(Source::Integers(&[2049, 2051, 65519, 65520, -i32::MAX])).unwrap(),
            [2048.0, 2052.0, 65504.0, f32::INFINITY, f32::NEG_INFINITY].map(f16::from_f32)
        );
        let text =
            strings::<f16>(&[Some("0.1"), Some("-Inf"), Some("65520"), Some("1.00048828125000001")]).unwrap();
        assert_eq!(text, [0.1, f32::NEG_INFINITY, f32::INFINITY, 1.0].map(f16::from_f32));
        assert!(strings::<bf16>(&[Some("NaN")]).unwrap()[0].is_nan());
    }

    fn bits(x: &[Complex<f64>]) -> Vec<[u64; 2]> {
        x.iter().map(|z| [z.re.to_bits(), z.im.to_bits()]).collect()
    }

    #[test]
    fn complex_data_go_into_c128_bit_for_bit_and_into_c64_rounded() {
        let odd_nan = f64::from_bits(0xFFF8_0000_1234_5678);
        let x = [
            Complex::new(0.1, -0.0),
            Complex::new(NA_REAL, NA_REAL),
            Complex::new(-0.0, odd_nan),
            Complex::new(f64::NEG_INFINITY, 5e-324),
        ];
        assert_eq!(bits(&try_import::<Complex<f64>>(Source::Complexes(&x)).unwrap()), bits(&x));
        let got = try_import::<Complex<f32>>(Source::Complexes(&x)).unwrap();
        assert_eq!((got[0], got[0].im.is_sign_negative()), (Complex::new(0.1, 0.0), true));
        assert!(
            got[1].re.is_nan() && got[1].im.is_nan() && got[2].im.is_nan() && got[2].re.is_sign_negative()
        );
        assert_eq!(got[3], Complex::new(f32::NEG_INFINITY, 0.0));
        let y = [Complex::new(16777217.0, 1e300), Complex::new(16777219.0, -1e300)];
        let got = try_import::<Complex<f32>>(Source::Complexes(&y)).unwrap();
        assert_eq!(
            got,
            [Complex::new(16777216.0, f32::INFINITY), Complex::new(16777220.0, f32::NEG_INFINITY)]
        );

        let z = |re: f64| Complex::new(re, 0.0);
        let matrix =
            try_fill(Source::Complexes(&[z(1.0), z(2.0), z(3.0), z(4.0)]), [2, 2].into(), Filling::Row);
        assert_eq!(matrix, Ok([1.0, 3.0, 2.0, 4.0].map(z).to_vec()));
        assert_eq!(try_fill(Source::Complexes(&x[..1]), [3].into(), Filling::Column), Ok(vec![x[0]; 3]));
    }

    #[test]
    fn real_data_get_an_imaginary_part_of_zero() {
        let got = try_import::<Complex<f64>>(Source::Doubles(&[NA_REAL, -0.0, 0.1])).unwrap();
        assert_eq!(bits(&got), [NA_REAL, -0.0, 0.1].map(|re| [re.to_bits(), 0]));
        assert_eq!(try_import::<Complex<f32>>(Source::Doubles(&[0.1])).unwrap(), [Complex::new(0.1, 0.0)]);
        assert_eq!(
            try_import::<Complex<f32>>(Source::Integers(&[16777217])).unwrap(),
            [Complex::new(16777216.0, 0.0)]
        );
        assert_eq!(try_import::<Complex<f64>>(Source::Raw(&[7])).unwrap(), [Complex::new(7.0, 0.0)]);
        assert_eq!(try_import::<Complex<f64>>(Source::Logicals(&[1])).unwrap(), [Complex::new(1.0, 0.0)]);
    }

    #[test]
    fn complex_data_and_real_dtypes_do_not_mix_nor_do_strings_and_complex_dtypes() {
        for &dtype in DType::ALL {
            dispatch!(dtype, T => {
                // Even if the imaginary part is zero, and of data of any length.
                for x in [&[][..], &[Complex::new(1.0, 0.0); 2]] {
                    match try_import::<T>(Source::Complexes(x)) {
                        Ok(_) => assert!(dtype.is_complex(), "{dtype}"),
                        Err(e) => {
                            assert!(!dtype.is_complex() && e.class() == "anvil_error_arg", "{dtype}");
                            let want = format!("`data` must be real for dtype {dtype}, not a complex vector.");
                            let text = e.to_string();
                            assert!(text.starts_with(&want) && text.contains("`Re()`, `Im()` or `Mod()`"), "{text}");
                        }
                    }
                }
                let e = strings::<T>(&[Some("1+2i")]).unwrap_err();
                assert_eq!(e.to_string().contains("as.complex()"), dtype.is_complex(), "{e}");
            });
        }
        assert_eq!(Source::Complexes(&[Complex::new(1.5, -2.0)]).text(0), "1.5-2i");
        assert_eq!(Source::Complexes(&[Complex::new(-1e20, f64::INFINITY)]).text(0), "-1e+20+Infi");
    }

    #[test]
    fn errors_count_all_and_list_five() {
        let x = [1.5; 9];
        assert_eq!(
            unrepresentable(try_import::<i32>(Source::Doubles(&x))),
            (9, vec![1, 2, 3, 4, 5], "1.5".into())
        );
        // Missing values are reported before those that do not fit.
        assert_eq!(missing(try_import::<i32>(Source::Doubles(&[1.5, f64::NAN]))), (1, vec![2]));
        let first = |x: f64| unrepresentable(try_import::<i32>(Source::Doubles(&[x]))).2;
        assert_eq!(
            [first(1e300), first(-1e-300), first(f64::NEG_INFINITY), first(4e9)],
            ["1e+300", "-1e-300", "-Inf", "4000000000"]
        );
    }

    #[test]
    fn messages_say_what_to_do() {
        let e = try_import::<f32>(Source::Integers(&[NA_INTEGER])).unwrap_err();
        assert!(e.to_string().contains("as.double()"), "{e}");
        assert_eq!(e.class(), "anvil_error_value");
        let e = try_import::<i32>(Source::Integers(&[NA_INTEGER])).unwrap_err();
        assert!(e.to_string().contains("position 1") && e.to_string().contains("Replace"), "{e}");
        let e = try_import::<u8>(Source::Doubles(&[256.0])).unwrap_err();
        assert!(e.to_string().contains("0 to 255"), "{e}");
    }

    #[test]
    fn rows_fill_first_if_asked() {
        let x: Vec<i32> = (0..24).collect();
        let got = try_fill::<i32>(Source::Integers(&x[..6]), [2, 3].into(), Filling::Row).unwrap();
        assert_eq!(got, [0, 3, 1, 4, 2, 5]);
        assert_eq!(
            try_fill::<i32>(Source::Integers(&x[..6]), [2, 3].into(), Filling::Column).unwrap(),
            x[..6]
        );
        let got = try_fill::<i16>(Source::Integers(&x), [2, 3, 4].into(), Filling::Row).unwrap();
        for (i, j, k) in [(0, 0, 0), (1, 2, 3), (1, 0, 2), (0, 2, 1)] {
            assert_eq!(got[i + 2 * j + 6 * k] as usize, (i * 3 + j) * 4 + k);
        }
        assert_eq!(try_fill::<i32>(Source::Integers(&x[..4]), [4].into(), Filling::Row).unwrap(), x[..4]);
        assert_eq!(try_fill::<i32>(Source::Integers(&[]), [0, 3].into(), Filling::Row).unwrap(), [0i32; 0]);
        // Positions are those in the data, not those in the tensor.
        let y = [1, 1, NA_INTEGER, 1, NA_INTEGER, 1];
        assert_eq!(
            missing(try_fill::<i32>(Source::Integers(&y), [2, 3].into(), Filling::Row)),
            (2, vec![3, 5])
        );
    }

    #[test]
    fn one_value_fills_any_shape_and_nothing_else_does() {
        for filling in [Filling::Column, Filling::Row] {
            assert_eq!(try_fill::<f32>(Source::Doubles(&[2.5]), [2, 2].into(), filling).unwrap(), [2.5; 4]);
            assert_eq!(try_fill::<f32>(Source::Doubles(&[2.5]), Shape::scalar(), filling).unwrap(), [2.5]);
            let na = |shape: Shape| try_fill::<i8>(Source::Integers(&[NA_INTEGER]), shape, filling);
            assert_eq!(na([0].into()).unwrap(), [0i8; 0]);
            assert_eq!(missing(na([3].into())), (1, vec![1]));
            for (len, shape) in
                [(2, Shape::from([4])), (0, Shape::scalar()), (0, Shape::from([1])), (3, [0].into())]
            {
                let x = vec![1.0; len];
                let e = try_fill::<f64>(Source::Doubles(&x), shape.clone(), filling).unwrap_err();
                assert_eq!(e, Error::DataLength { len, size: shape.size(), shape });
            }
        }
        assert!(Source::Raw(&[]).is_empty());
        assert_eq!(i32::DTYPE, DType::I32);
    }
}
