//! Parts of complex numbers, and complex numbers of parts.

use super::complex_blocks;
use super::map::{map, Map};
use crate::dtype::{Cpx, DType};
use crate::kernels::math::{self, Computed};
use crate::kernels::wide::wide;
use num_complex::Complex;

macro_rules! parts {
    ($($name:ident |$x:ident, $out:ident| $loop:expr;)+) => {
        /// A real-valued part of a complex number.
        #[allow(non_camel_case_types, missing_docs)]
        #[derive(Clone, Copy, Debug)]
        pub enum Part { $($name),+ }

        impl Part {
            fn of<C: Cpx>(self) -> Map<1>
            where
                C::Part: Computed,
            {
                match self { $(Part::$name => map!([C] -> C::Part, |$x; $out| $loop)),+ }
            }
        }
    };
}
parts! {
    real |x, out| wide(|| out.iter_mut().zip(x).for_each(|(out, z)| *out = z.parts().0));
    imag |x, out| wide(|| out.iter_mut().zip(x).for_each(|(out, z)| *out = z.parts().1));
    arg |x, out| complex_blocks::of_parts(x, out, |re, im, out| Computed::map2(&math::ATAN2, im, re, out));
    magnitude |x, out| complex_blocks::of_parts(x, out, |re, im, out| Computed::map2(&math::MAGNITUDE, re, im, out));
}

impl Part {
    /// Its kernel on elements of a complex dtype.
    pub fn map(self, dtype: DType) -> Map<1> {
        match dtype {
            DType::C64 => self.of::<Complex<f32>>(),
            _ => self.of::<Complex<f64>>(),
        }
    }
}

/// Complex numbers of real and imaginary parts, which are floats of 32 or 64 bits.
pub fn join(part: DType) -> Map<2> {
    match part {
        DType::F32 => join_of::<Complex<f32>>(),
        _ => join_of::<Complex<f64>>(),
    }
}

fn join_of<C: Cpx>() -> Map<2> {
    map!([C::Part, C::Part] -> C, |re, im; out| wide(|| for ((out, &re), &im) in out.iter_mut().zip(re).zip(im) {
        *out = C::new(re, im);
    }))
}
