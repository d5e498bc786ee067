//! Functions of one element, in its dtype.

use super::complex_blocks;
use super::map::{by_kind, map, Map};
use crate::dtype::{Bool, Cpx, DType, Element, Int};
use crate::kernels::math::{complex, scalar, Computed};
use crate::kernels::wide::wide;

macro_rules! unary {
    ($($name:ident {
        $(float: |$x:ident| $float:expr,)?
        $(int: |$i:ident| $int:expr,)?
        $(boolean: |$b:ident| $boolean:expr,)?
        $(complex: |$z:ident| $complex:expr,)?
        $(blocks: $blocks:expr,)?
    })+) => {
        /// A function of one element. Those of floats that are not here are [`Map::function`].
        #[allow(non_camel_case_types, missing_docs)]
        #[derive(Clone, Copy, Debug)]
        pub enum Unary { $($name),+ }

        impl Unary {
            fn float<F: Computed>(self) -> Option<Map<1>> {
                match self { $(Unary::$name => {
                    #[allow(unused_mut, unused_assignments)]
                    let mut made = None;
                    $(made = Some(map!([F] -> F, |x; out| wide(|| for (out, &$x) in out.iter_mut().zip(x) { *out = $float })));)?
                    made
                }),+ }
            }

            /// Of a 16-bit float: computed in f32, and rounded once.
            fn half<H: Element>(self) -> Option<Map<1>> {
                match self { $(Unary::$name => {
                    #[allow(unused_mut, unused_assignments)]
                    let mut made = None;
                    $(made = Some(map!([H] -> H, |x; out| wide(|| {
                        #[allow(dead_code)]
                        type F = f32;
                        for (out, v) in out.iter_mut().zip(x) {
                            let $x = v.convert::<f32>();
                            *out = H::from_f32($float);
                        }
                    })));)?
                    made
                }),+ }
            }

            fn int<I: Int>(self) -> Option<Map<1>> {
                match self { $(Unary::$name => {
                    #[allow(unused_mut, unused_assignments)]
                    let mut made = None;
                    $(made = Some(map!([I] -> I, |x; out| wide(|| for (out, &$i) in out.iter_mut().zip(x) { *out = $int })));)?
                    made
                }),+ }
            }

            fn complex<C: Cpx>(self) -> Option<Map<1>> {
                match self { $(Unary::$name => {
                    #[allow(unused_mut, unused_assignments)]
                    let mut made = None;
                    $(made = Some(map!([C] -> C, |x; out| for (out, &$z) in out.iter_mut().zip(x) { *out = $complex }));)?
                    $(made = Some(map!([C] -> C, |x; out| complex_blocks::apply($blocks, x, out)));)?
                    made
                }),+ }
            }

            fn boolean(self) -> Option<Map<1>> {
                match self { $(Unary::$name => {
                    #[allow(unused_mut, unused_assignments)]
                    let mut made = None;
                    $(made = Some(map!([Bool] -> Bool, |x; out| for (out, v) in out.iter_mut().zip(x) {
                        let $b = v.get();
                        *out = ($boolean).into()
                    }));)?
                    made
                }),+ }
            }
        }
    };
}

unary! {
    negate { float: |x| -x, int: |x| x.wrapping_neg(), complex: |z| -z, }
    abs { float: |x| x.abs(), int: |x| x.absolute(), }
    sign { float: |x| scalar::sign(x), int: |x| x.signum(), }
    sqrt { blocks: &complex_blocks::SQRT, }
    rsqrt {}
    cbrt {}
    exp { blocks: &complex_blocks::EXP, }
    exp2 {}
    expm1 {}
    log { blocks: &complex_blocks::LOG, }
    log1p {}
    log2 { blocks: &complex_blocks::LOG2, }
    log10 { blocks: &complex_blocks::LOG10, }
    sin { blocks: &complex_blocks::SIN, }
    cos { blocks: &complex_blocks::COS, }
    tan { blocks: &complex_blocks::TAN, }
    sinpi {}
    cospi {}
    tanpi {}
    asin { complex: |z| z.map(complex::asin), }
    acos { complex: |z| z.map(complex::acos), }
    atan { complex: |z| z.map(complex::atan), }
    sinh { blocks: &complex_blocks::SINH, }
    cosh { blocks: &complex_blocks::COSH, }
    tanh { blocks: &complex_blocks::TANH, }
    asinh { complex: |z| z.map(complex::asinh), }
    acosh { complex: |z| z.map(complex::acosh), }
    atanh { complex: |z| z.map(complex::atanh), }
    logistic {}
    softplus {}
    erf {}
    erfc {}
    erfcx {}
    probit {}
    erf_inv {}
    gamma {}
    lgamma {}
    digamma {}
    floor { float: |x| x.floor(), int: |x| x, }
    ceiling { float: |x| x.ceil(), int: |x| x, }
    trunc { float: |x| x.trunc(), int: |x| x, }
    round_nearest_even { float: |x| x.round_ties_even(), int: |x| x, }
    round_nearest_afz { float: |x| x.round(), int: |x| x, }
    conj { float: |x| x, int: |x| x, complex: |z| { let (re, im) = z.parts(); C::new(re, -im) }, }
    stop_gradient { float: |x| x, int: |x| x, boolean: |x| x, complex: |z| z, }
    not { int: |x| x.not(), boolean: |x| !x, }
    popcnt { int: |x| x.popcnt(), }
}

impl Unary {
    /// Its kernel on elements of a dtype, if it is a function of these.
    pub fn map(self, dtype: DType) -> Option<Map<1>> {
        by_kind!(self, dtype)
    }
}
