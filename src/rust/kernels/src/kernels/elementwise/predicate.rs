//! Properties of elements.

use super::map::{map, Map};
use crate::dtype::{Bool, Cpx, DType, Element};
use half::{bf16, f16};
use num_complex::Complex;

macro_rules! predicate {
    ($($name:ident |$x:ident| $float:expr, other: $other:literal;)+) => {
        /// A property of an element.
        #[allow(non_camel_case_types, missing_docs)]
        #[derive(Clone, Copy, Debug)]
        pub enum Predicate { $($name),+ }

        impl Predicate {
            fn float<F: Element>(self) -> Map<1> {
                match self { $(Predicate::$name => map!([F] -> Bool, |x; out| for (out, v) in out.iter_mut().zip(x) {
                    // Widening changes no answer.
                    let $x = v.convert::<f64>();
                    *out = ($float).into()
                })),+ }
            }

            /// A complex number is finite if both parts are, and infinite or NaN if one is.
            fn complex<C: Cpx>(self) -> Map<1> {
                match self { $(Predicate::$name => map!([C] -> Bool, |x; out| for (out, z) in out.iter_mut().zip(x) {
                    let z = z.convert::<Complex<f64>>();
                    let of = |$x: f64| $float;
                    *out = (if $other { of(z.re) && of(z.im) } else { of(z.re) || of(z.im) }).into()
                })),+ }
            }

            /// The answer for integers and booleans, which are all finite.
            fn other(self, dtype: DType) -> Map<1> {
                let map = match self { $(Predicate::$name => map!([u8] -> Bool, |_x; out| out.fill(Bool::from($other)))),+ };
                Map { from: [dtype], ..map }
            }
        }
    };
}
predicate! {
    is_finite |x| x.is_finite(), other: true;
    is_infinite |x| x.is_infinite(), other: false;
    is_nan |x| x.is_nan(), other: false;
}

impl Predicate {
    /// Its kernel on elements of a dtype.
    pub fn map(self, dtype: DType) -> Map<1> {
        match dtype {
            DType::BF16 => self.float::<bf16>(),
            DType::F16 => self.float::<f16>(),
            DType::F32 => self.float::<f32>(),
            DType::F64 => self.float::<f64>(),
            DType::C64 => self.complex::<Complex<f32>>(),
            DType::C128 => self.complex::<Complex<f64>>(),
            _ => self.other(dtype),
        }
    }
}
