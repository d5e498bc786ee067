//! Comparisons of elements.

use super::map::{map, Map};
use crate::dtype::{dispatch, Bool, DType, Element};
use crate::kernels::wide::wide;

macro_rules! compare {
    ($($name:ident |$x:ident, $y:ident| $any:expr;)+) => {
        /// A comparison.
        #[allow(non_camel_case_types, missing_docs)]
        #[derive(Clone, Copy, Debug)]
        pub enum Compare { $($name),+ }

        impl Compare {
            fn of<T: Element>(self) -> Map<2> {
                match self { $(Compare::$name =>
                    map!([T, T] -> Bool, |x, y; out| wide(|| for ((out, $x), $y) in out.iter_mut().zip(x).zip(y) { *out = ($any).into() }))
                ),+ }
            }
        }
    };
}
compare! {
    eq |x, y| x == y;
    ne |x, y| x != y;
    gt |x, y| y.lt(*x);
    ge |x, y| y.le(*x);
    lt |x, y| x.lt(*y);
    le |x, y| x.le(*y);
}

impl Compare {
    /// Its kernel on elements of a dtype.
    pub fn map(self, dtype: DType) -> Map<2> {
        dispatch!(dtype, T => self.of::<T>())
    }
}
