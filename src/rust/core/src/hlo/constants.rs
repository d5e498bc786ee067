//! Types and constants as MLIR writes them.

use crate::dtype::{dispatch, Bool, DType, Element};
use crate::growth::{table, Text};
use crate::stop;
use crate::tensor::{Aval, Literal, View};
use num_complex::Complex;
use std::fmt::Write;

/// Floats beyond this number are written as one string of bytes.
const LISTED: usize = 16;

/// `tensor<2x3xf32>`.
pub fn type_of(aval: &Aval) -> String {
    let mut out = String::from("tensor<");
    for size in aval.shape.iter() {
        let _ = write!(out, "{size}x");
    }
    match aval.dtype {
        DType::C64 => out.push_str("complex<f32>"),
        DType::C128 => out.push_str("complex<f64>"),
        dtype => out.push_str(dtype.name()),
    }
    out.push('>');
    out
}

/// A value that is this literal everywhere.
pub fn splat(value: Literal, aval: &Aval) -> String {
    let text = if aval.shape.size() == 0 { String::new() } else { element(value) };
    format!("dense<{text}> : {}", type_of(aval))
}

/// A tensor, if it has at most `limit` elements or they are all equal.
pub fn tensor(x: &View, aval: &Aval, limit: usize) -> Option<String> {
    if aval.shape.size() == 0 {
        return Some(splat(Literal::new(0i32).convert(aval.dtype), aval));
    }
    let first = literal(x, x.layout.offset);
    let mut places = Positions::new(x);
    if places.all(|at| literal(x, at) == first) {
        return Some(splat(first, aval));
    }
    if aval.shape.size() > limit {
        return None;
    }
    let mut all: Vec<Literal> = table(first, aval.shape.size());
    all.iter_mut().zip(Positions::new(x)).for_each(|(element, at)| *element = literal(x, at));
    let mut text = Text::default();
    text.append("dense<");
    if aval.dtype.part().is_float() && all.len() > LISTED {
        text.append("\"0x");
        for element in &all {
            let parts = [element.to_bytes()];
            let size = aval.dtype.bytes();
            little_endian(&parts[0][..size], aval.dtype.part().bytes()).for_each(|byte| {
                let _ = write!(text, "{byte:02X}");
            });
        }
        text.append("\"");
    } else {
        nested(&aval.shape, &all, &mut text);
    }
    text.append(&format!("> : {}", type_of(aval)));
    Some(text.into_string())
}

/// Bytes of numbers of this width in little-endian order, on any machine.
fn little_endian(bytes: &[u8], width: usize) -> impl Iterator<Item = u8> + '_ {
    bytes.chunks(width).flat_map(|number| {
        let mut number = number.to_vec();
        if cfg!(target_endian = "big") {
            number.reverse();
        }
        number
    })
}

fn nested(sizes: &[usize], elements: &[Literal], out: &mut Text) {
    let Some((&first, rest)) = sizes.split_first() else {
        return elements.iter().take(1).for_each(|&x| out.append(&element(x)));
    };
    let size = elements.len() / first.max(1);
    out.append("[");
    for i in 0..first {
        if i > 0 {
            out.append(", ");
        }
        nested(rest, &elements[i * size..(i + 1) * size], out);
    }
    out.append("]");
}

/// The element at a position in memory.
fn literal(x: &View, at: usize) -> Literal {
    stop::work(8);
    let size = x.dtype.bytes();
    let made = Literal::from_bytes(x.dtype, &x.data[at * size..(at + 1) * size]);
    // Any byte but 0 is true.
    if x.dtype == DType::I1 {
        Literal::new(made.get::<Bool>()).convert(DType::I1)
    } else {
        made
    }
}

/// Positions of the elements in memory, in row-major order.
struct Positions<'a> {
    x: &'a View<'a>,
    index: Vec<usize>,
    left: usize,
}

impl<'a> Positions<'a> {
    fn new(x: &'a View<'a>) -> Positions<'a> {
        Positions { x, index: vec![0; x.shape.rank()], left: x.shape.size() }
    }
}

impl Iterator for Positions<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let offsets = self.index.iter().zip(&self.x.layout.strides);
        let offset: isize = offsets.map(|(&i, &stride)| i as isize * stride).sum();
        for (i, &size) in self.index.iter_mut().zip(self.x.shape.iter()).rev() {
            *i += 1;
            if *i < size {
                break;
            }
            *i = 0;
        }
        Some((self.x.layout.offset as isize + offset) as usize)
    }
}

/// One element: booleans and integers as such, floats in decimal if few digits are exact, else by their bits.
pub fn element(x: Literal) -> String {
    match x.dtype() {
        DType::I1 => x.get::<Bool>().get().to_string(),
        DType::UI64 => x.get::<u64>().to_string(),
        DType::BF16 => float(x.get::<f64>(), x.get::<half::bf16>().to_bits().into(), 4),
        DType::F16 => float(x.get::<f64>(), x.get::<half::f16>().to_bits().into(), 4),
        DType::F32 => float(x.get::<f64>(), x.get::<f32>().to_bits().into(), 8),
        DType::F64 => float(x.get::<f64>(), x.get::<f64>().to_bits(), 16),
        DType::C64 => {
            let z = x.get::<Complex<f32>>();
            format!("({}, {})", element(Literal::new(z.re)), element(Literal::new(z.im)))
        }
        DType::C128 => {
            let z = x.get::<Complex<f64>>();
            format!("({}, {})", element(Literal::new(z.re)), element(Literal::new(z.im)))
        }
        dtype => dispatch!(dtype, T => x.get::<T>().convert::<i64>().to_string()),
    }
}

fn float(x: f64, bits: u64, digits: usize) -> String {
    let decimal = format!("{x:.6e}");
    let few = x.is_finite() && decimal.parse::<f64>().is_ok_and(|y| y.to_bits() == x.to_bits());
    match decimal.split_once('e') {
        Some((mantissa, exponent)) if few => {
            let (sign, size) = exponent.strip_prefix('-').map_or(("+", exponent), |rest| ("-", rest));
            format!("{mantissa}e{sign}{size:0>2}")
        }
        _ => format!("0x{bits:0digits$X}"),
    }
}
