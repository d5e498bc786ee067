//! Code that the implementations of lanes share.

/// Methods that are one expression of intrinsics.
macro_rules! methods {
    ($(fn $name:ident($($arg:ident: $type:ty),*) -> $out:ty = $body:expr;)+) => {$(
        #[inline(always)]
        #[allow(unused_unsafe)]
        fn $name($($arg: $type),*) -> $out {
            // SAFETY: values of these types exist only in functions compiled for the instructions of their
            // module, which run only where the processor has them (see `Lanes`, `Computed`).
            unsafe { $body }
        }
    )+};
}
#[allow(unused_imports)]
pub(super) use methods;

/// Arithmetic by intrinsics.
macro_rules! operators {
    ($vector:ident: add $add:ident, sub $sub:ident, mul $mul:ident, div $div:ident) => {
        $crate::kernels::math::macros::operators! { @one $vector Add add $add }
        $crate::kernels::math::macros::operators! { @one $vector Sub sub $sub }
        $crate::kernels::math::macros::operators! { @one $vector Mul mul $mul }
        $crate::kernels::math::macros::operators! { @one $vector Div div $div }
    };
    (@one $vector:ident $trait:ident $method:ident $intrinsic:ident) => {
        impl std::ops::$trait for $vector {
            type Output = Self;
            $crate::kernels::math::macros::methods! { fn $method(self: Self, y: Self) -> Self = Self($intrinsic(self.0, y.0)); }
        }
    };
}
#[allow(unused_imports)]
pub(super) use operators;

/// Logic of masks by intrinsics.
macro_rules! mask_operators {
    ($mask:ident: and $and:path, or $or:path, not |$x:ident| $not:expr) => {
        impl std::ops::BitAnd for $mask {
            type Output = Self;
            $crate::kernels::math::macros::methods! { fn bitand(self: Self, y: Self) -> Self = Self($and(self.0, y.0)); }
        }
        impl std::ops::BitOr for $mask {
            type Output = Self;
            $crate::kernels::math::macros::methods! { fn bitor(self: Self, y: Self) -> Self = Self($or(self.0, y.0)); }
        }
        impl $mask {
            $crate::kernels::math::macros::methods! { fn turned(self: Self) -> Self = { let $x = self.0; Self($not) }; }
        }
        impl std::ops::Not for $mask {
            type Output = Self;
            #[inline(always)]
            fn not(self) -> Self {
                self.turned()
            }
        }
    };
}
#[allow(unused_imports)]
pub(super) use mask_operators;

/// A function of doubles on singles, rounded once. A macro, as a function that is passed on would not be
/// compiled for the instructions of its caller.
macro_rules! by_doubles {
    ($function:expr, $($x:ident),+) => {{
        if V::TOGETHER {
            $(let $x = $x.widen();)+
            V::narrow($function($($x.0),+), $function($($x.1),+))
        } else {
            $(let $x = <[V::Double; 2]>::from($x.widen());)+
            let mut halves = [V::Double::of(0.0); 2];
            for (i, half) in halves.iter_mut().enumerate() {
                *half = $function($($x[i]),+);
            }
            V::narrow(halves[0], halves[1])
        }
    }};
}
pub(super) use by_doubles;
