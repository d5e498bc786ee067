//! Random bits: a state in, the next state and the bits out.

use super::attrs::{logical, vector};
use super::{written, Row};
use crate::dtype::{DType, INTEGER};
use crate::error::{Error, Result};
use crate::exec::vm::Kernel;
use crate::kernels::cast;
use crate::kernels::random::{Algorithm, Draw};
use crate::shape::Shape;
use crate::tensor::{Aval, Layout, View, ViewMut};

/// Uniform random bits, and the state after them. The state is `ui64[2]`, a key and a counter; elements are
/// numbered in row-major order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RngBits {
    /// The cipher that makes bits of the key and the counter.
    pub algorithm: Algorithm,
    /// Dtype of the bits: an integer.
    pub dtype: DType,
    /// Shape of the bits.
    pub shape: Shape,
    /// Whether the state after them is a result too, the first.
    pub with_state: bool,
}

pub(super) static RNG_BITS: Row = written("rng_bits", "nv_rng_bits", &["state"], INTEGER);

/// Algorithms by the names that R knows.
pub(crate) const ALGORITHMS: [(&str, Algorithm); 2] =
    [("threefry", Algorithm::ThreeFry), ("philox", Algorithm::Philox)];

impl RngBits {
    pub(super) fn attributes(&self) -> Vec<(&'static str, String)> {
        let name = ALGORITHMS.iter().find(|(_, a)| *a == self.algorithm).map_or("", |(name, _)| name);
        let mut all = vec![
            ("algorithm", name.to_string()),
            ("dtype", self.dtype.to_string()),
            ("shape", vector(&self.shape)),
        ];
        if !self.with_state {
            all.push(("with_state", logical(false)));
        }
        all
    }

    pub(super) fn infer(&self, state: &Aval) -> Result<Vec<Aval>> {
        let expected = Aval::known(DType::UI64, [2].into());
        if (state.dtype, &state.shape) != (expected.dtype, &expected.shape) {
            return Err(Error::Arg {
                arg: "state".into(),
                expected: format!("the state of a random number generator, {expected}"),
                got: state.to_string(),
                hint: "Start with `nv_rng_state()`; each draw returns the state for the next one.".into(),
            });
        }
        if !RNG_BITS.accepts.contains(self.dtype) {
            return Err(Error::arg("dtype", "the dtype of an integer", self.dtype.to_string()));
        }
        let bits = Aval::known(self.dtype, self.shape.clone());
        Ok(if self.with_state { vec![expected, bits] } else { vec![bits] })
    }

    /// How many blocks of the stream it uses: by so much the counter of the state after it is further.
    pub(crate) fn used(&self) -> u64 {
        self.draw().next([0, 0])[1]
    }

    /// Makes a tile of the bits alone, from all of a state of this layout.
    pub(crate) fn kernel(&self, layout: &Layout) -> Kernel {
        let (draw, place) =
            (self.draw(), [0, 1].map(|i| (layout.offset as isize + i * layout.strides[0]) as usize));
        match self.dtype.bytes() {
            1 => Kernel::random::<u8>(draw, place),
            2 => Kernel::random::<u16>(draw, place),
            4 => Kernel::random::<u32>(draw, place),
            _ => Kernel::random::<u64>(draw, place),
        }
    }

    /// What there is to know before the state is.
    pub(super) fn draw(&self) -> Draw {
        Draw::new(self.algorithm, &self.shape, self.dtype.bytes())
    }

    pub(super) fn eval(&self, draw: &Draw, state: &View, results: &mut [ViewMut]) {
        let [next @ .., bits] = results else { unreachable!("infer gives the bits") };
        let (data, layout) = (cast::slice::<u64>(state.data), state.layout);
        let number = |i: isize| data[(layout.offset as isize + i * layout.strides[0]) as usize];
        let state = [number(0), number(1)];
        next.iter_mut().for_each(|next| cast::slice_mut::<u64>(next.data).copy_from_slice(&draw.next(state)));
        match self.dtype.bytes() {
            1 => draw.fill(state, cast::slice_mut::<u8>(bits.data)),
            2 => draw.fill(state, cast::slice_mut::<u16>(bits.data)),
            4 => draw.fill(state, cast::slice_mut::<u32>(bits.data)),
            _ => draw.fill(state, cast::slice_mut::<u64>(bits.data)),
        }
    }
}
