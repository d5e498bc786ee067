//! Values: their types at trace time ([`Aval`]), single known elements ([`Literal`]), and values in memory
//! ([`Layout`], [`View`]). A layout belongs to a value, never to the meaning of an op.

use crate::dtype::{dispatch, Bool, DType, Element, Ranked};
use crate::shape::{join, Shape};
use num_complex::Complex;
use std::fmt;

/// Abstract value: all that is known of a value while a function is traced.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Aval {
    /// Element type, in which it is stored and computed: that of [`Ranked::stored`].
    pub dtype: DType,
    /// Sizes of the axes.
    pub shape: Shape,
    /// The default dtype of an ambiguous value, which it has in promotion and for the user: that of an
    /// ambiguous float may be narrower than `dtype`. `None` if the value is of a known dtype.
    pub ambiguous: Option<DType>,
}

impl Aval {
    /// A value of a type in promotion.
    pub fn new(ranked: Ranked, shape: Shape) -> Aval {
        Aval { dtype: ranked.stored(), shape, ambiguous: ranked.default() }
    }

    /// A value of a known dtype.
    pub fn known(dtype: DType, shape: Shape) -> Aval {
        Aval { dtype, shape, ambiguous: None }
    }

    /// The dtype as promotion and the user see it.
    #[inline]
    pub fn ranked(&self) -> Ranked {
        Ranked { dtype: self.ambiguous.unwrap_or(self.dtype), ambiguous: self.ambiguous.is_some() }
    }

    /// The default dtype of what two values of one dtype make: an ambiguous one only of two ambiguous ones.
    pub fn ambiguous_with(&self, other: &Aval) -> Option<DType> {
        // The later in table order is the wider.
        self.ambiguous.zip(other.ambiguous).map(|(x, y)| x.max(y))
    }

    /// Bytes of the dense value.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.shape.size() * self.dtype.bytes()
    }
}

impl fmt::Display for Aval {
    /// `f32?[2, 3]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.ranked(), join(&self.shape, ", "))
    }
}

/// One element of any dtype, compared and hashed by its bits, so that NaN equals itself and -0 differs from
/// 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Literal {
    dtype: DType,
    bits: u128,
}

impl Literal {
    /// The literal that holds `x`.
    pub fn new<T: Element>(x: T) -> Literal {
        Literal { dtype: T::DTYPE, bits: u128::from_ne_bytes(x.to_bytes()) }
    }

    /// Reads one element of `dtype` from the first bytes of `bytes`.
    pub fn from_bytes(dtype: DType, bytes: &[u8]) -> Literal {
        let mut buffer = [0u8; 16];
        buffer[..dtype.bytes()].copy_from_slice(&bytes[..dtype.bytes()]);
        Literal { dtype, bits: u128::from_ne_bytes(buffer) }
    }

    /// Its dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Its bytes, as a tensor of one element would hold them, padded to 16.
    pub fn to_bytes(&self) -> [u8; 16] {
        self.bits.to_ne_bytes()
    }

    /// Its value as a Rust type, by the rules of `nv_convert()`.
    pub fn get<T: Element>(&self) -> T {
        let bytes = self.to_bytes();
        dispatch!(self.dtype, S => <S as Element>::from_bytes(&bytes).convert::<T>())
    }

    /// The same value in another dtype, by the rules of `nv_convert()`.
    pub fn convert(&self, dtype: DType) -> Literal {
        dispatch!(dtype, T => Literal::new(self.get::<T>()))
    }

    /// Parses an element of a dtype, as printing writes it; `None` if the text is none.
    pub fn parse(dtype: DType, text: &str) -> Option<Literal> {
        let float = |text: &str| text.parse::<f64>().ok();
        Some(match dtype {
            DType::I1 => match text {
                "TRUE" => Literal::new(Bool::TRUE),
                "FALSE" => Literal::new(Bool::FALSE),
                _ => return None,
            },
            d if d.is_complex() => {
                let parts = text.strip_suffix('i')?;
                // The sign of the imaginary part; the first may be the real part's.
                let at = parts.rfind(['+', '-']).filter(|&at| at > 0)?;
                Literal::new(Complex::new(float(&parts[..at])?, float(&parts[at..])?)).convert(dtype)
            }
            DType::F32 => Literal::new(text.parse::<f32>().ok()?),
            d if d.is_float() => Literal::new(float(text)?).convert(dtype),
            _ => {
                let (low, high) = dtype.bounds()?;
                let whole: i128 = text.parse().ok().filter(|x| (low..=high).contains(x))?;
                // Conversion wraps, so unsigned numbers above the signed ones are restored.
                Literal::new(whole as i64).convert(dtype)
            }
        })
    }
}

impl fmt::Display for Literal {
    /// The value as R would print it: `1`, `0.1`, `TRUE`, `NaN`, `-Inf`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.dtype {
            DType::I1 => {
                if self.get::<Bool>().get() {
                    "TRUE".into()
                } else {
                    "FALSE".into()
                }
            }
            DType::UI64 => self.get::<u64>().to_string(),
            DType::F32 => self.get::<f32>().to_string(),
            d if d.is_complex() => {
                let z = self.get::<Complex<f64>>();
                // As R prints it: 1+2i.
                let text =
                    format!("{}{}{}i", z.re, if z.im.is_sign_negative() { "-" } else { "+" }, z.im.abs());
                text.replace("inf", "Inf")
            }
            d if d.is_float() => self.get::<f64>().to_string(),
            _ => self.get::<i64>().to_string(),
        };
        f.write_str(match text.as_str() {
            "inf" => "Inf",
            "-inf" => "-Inf",
            other => other,
        })
    }
}

/// Positions of a value's elements in its buffer, in elements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Distance between neighbours along each axis; 0 repeats one element.
    pub strides: Vec<isize>,
    /// Position of the first element.
    pub offset: usize,
}

impl Layout {
    /// Dense, column-major, from the start of the buffer.
    pub fn dense(shape: &Shape) -> Layout {
        Layout { strides: shape.strides().iter().map(|&s| s as isize).collect(), offset: 0 }
    }

    /// Whether the elements lie in column-major order without gaps.
    #[inline]
    pub fn is_dense(&self, shape: &Shape) -> bool {
        let mut dense = 1;
        shape.iter().zip(&self.strides).all(|(&size, &stride)| {
            let is_here = size <= 1 || stride == dense as isize;
            dense *= size.max(1);
            is_here
        })
    }

    /// Shape and layout of the same elements with the axes joined that lie in one line; those of one element are
    /// left out, and an element that is repeated everywhere has none.
    pub fn merged(&self, shape: &Shape) -> (Shape, Layout) {
        let mut lines = self.lines(shape, 0..shape.rank());
        if lines.iter().all(|&(_, stride)| stride == 0) {
            lines.clear();
        }
        let (sizes, strides) = lines.into_iter().unzip();
        (Shape::try_new(sizes).expect("as many elements as before"), Layout { strides, offset: self.offset })
    }

    /// The same strides from an element on that lies so far behind the first.
    pub fn moved(&self, way: isize) -> Layout {
        Layout { strides: self.strides.clone(), offset: (self.offset as isize + way) as usize }
    }

    /// Sizes and strides of some axes. Axes with a single stride are joined; axes of size 1 are left out.
    pub fn lines(&self, shape: &Shape, axes: impl Iterator<Item = usize>) -> Vec<(usize, isize)> {
        let mut lines: Vec<(usize, isize)> = Vec::new();
        for (size, stride) in axes.map(|i| (shape[i], self.strides[i])).filter(|&(size, _)| size != 1) {
            match lines.last_mut() {
                Some((n, s)) if *s * *n as isize == stride => *n *= size,
                _ => lines.push((size, stride)),
            }
        }
        lines
    }
}

/// A value in memory, for reading.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// Element type.
    pub dtype: DType,
    /// Sizes of the axes.
    pub shape: &'a Shape,
    /// Positions of the elements in `data`.
    pub layout: &'a Layout,
    /// The buffer, aligned for the dtype.
    pub data: &'a [u8],
}

/// A value in memory, for writing: always dense and column-major.
pub struct ViewMut<'a> {
    /// Element type.
    pub dtype: DType,
    /// Sizes of the axes.
    pub shape: &'a Shape,
    /// The buffer, aligned for the dtype, of exactly the value's bytes.
    pub data: &'a mut [u8],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_print_as_r_does() {
        let show = |l: Literal| l.to_string();
        assert_eq!(show(Literal::new(1.0f32)), "1");
        assert_eq!(show(Literal::new(0.1f32)), "0.1");
        assert_eq!(show(Literal::new(f64::NEG_INFINITY)), "-Inf");
        assert_eq!(show(Literal::new(f64::NAN)), "NaN");
        assert_eq!(show(Literal::new(u64::MAX)), u64::MAX.to_string());
        assert_eq!(show(Literal::new(crate::dtype::Bool::TRUE)), "TRUE");
        assert_eq!(Literal::new(-1i8).convert(DType::UI8), Literal::new(255u8));
    }

    #[test]
    fn what_is_printed_is_read_back() {
        for &dtype in DType::ALL {
            for bits in (0..2000u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (i << 60)) {
                let literal = Literal::from_bytes(
                    dtype,
                    &[bits.to_ne_bytes(), bits.swap_bytes().to_ne_bytes()].concat(),
                );
                let text = literal.to_string();
                // What is not printed: which true byte, and the bits of a NaN.
                let read = Literal::parse(dtype, &text).unwrap_or_else(|| panic!("{text} of {dtype}"));
                assert!(read == literal || dtype == DType::I1 || text.contains("NaN"), "{text} of {dtype}");
                assert_eq!(read.to_string(), text, "{dtype}");
            }
        }
        let refused = [(DType::I1, "1"), (DType::I8, "128"), (DType::UI8, "-1"), (DType::I32, "1.5")];
        for (dtype, text) in
            refused.into_iter().chain([(DType::F32, "TRUE"), (DType::C64, "1"), (DType::C64, "i")])
        {
            assert_eq!(Literal::parse(dtype, text), None, "{text} of {dtype}");
        }
    }

    #[test]
    fn unit_axes_do_not_spoil_density() {
        let layout = Layout { strides: vec![1, 99, 2], offset: 0 };
        assert!(layout.is_dense(&[2, 1, 3].into()));
        assert!(!layout.is_dense(&[2, 2, 3].into()));
    }
}
