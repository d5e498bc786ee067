//! Random bits, from a state that is an operand; the next state is a result.

use super::attrs::{logical, vector, Attrs};
use super::contract::{Cost, Form, OpDef, Promotion, Ready, Role, Simplified, WholeKernel};
use super::lower::{Formula, Lowering};
use super::rules::{Batch, Vjp};
use super::{written, Binary, Builder, Fill, Iota, Op, Row};
use crate::dtype::{DType, Ranked, INTEGER};
use crate::error::{Error, Result};
use crate::exec::vm::Kernel;
use crate::graph::syntax::Parsed;
use crate::graph::Value;
use crate::kernels::cast;
use crate::kernels::random::{Algorithm, Draw, ELEMENT};
use crate::shape::{Axis, Shape};
use crate::tensor::{Aval, Layout, Literal, View, ViewMut};

/// Uniform random bits and the next state. A state is `ui64[2]`, a key and a counter; elements are numbered
/// in row-major order. A batch of states has further axes, which the bits have after those of the shape: each
/// state gives the bits that it gives by itself.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RngBits {
    /// The cipher that makes bits from the key and the counter.
    pub algorithm: Algorithm,
    /// Dtype of the bits: an integer.
    pub dtype: DType,
    /// Shape of the bits of one state.
    pub shape: Shape,
    /// Whether the next state is the first result.
    pub with_state: bool,
}

static RNG_BITS: Row = written("rng_bits", "nv_rng_bits", &["state"], INTEGER);

/// Algorithms by the names that R knows.
const ALGORITHMS: [(&str, Algorithm); 2] = [("threefry", Algorithm::ThreeFry), ("philox", Algorithm::Philox)];

impl OpDef for RngBits {
    fn row(&self) -> &'static Row {
        &RNG_BITS
    }

    fn rows() -> Vec<&'static Row> {
        vec![&RNG_BITS]
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
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

    fn promotion(_row: &'static Row) -> Promotion {
        Promotion::Each(&[Role::Own])
    }

    fn decode(_row: &'static Row, attrs: &Attrs, operands: &[&Aval]) -> Result<Op> {
        operands.iter().try_for_each(|state| check_state(state))?;
        let chosen = attrs.choice("algorithm", &ALGORITHMS.map(|(name, _)| name))?;
        let algorithm = ALGORITHMS.iter().find(|(name, _)| *name == chosen).map(|(_, a)| *a);
        let algorithm = algorithm.unwrap_or(Algorithm::ThreeFry);
        let (dtype, shape) = (attrs.dtype("dtype")?, attrs.shape("shape")?);
        Ok(RngBits { algorithm, dtype, shape, with_state: true }.into())
    }

    fn parse(form: &Form) -> Parsed<RngBits> {
        form.takes(1)?;
        Ok(RngBits {
            algorithm: form.one_of("algorithm", &ALGORITHMS)?,
            dtype: form.dtype("dtype")?,
            shape: form.shape("shape")?,
            with_state: !form.has("with_state") || form.logical("with_state")?,
        })
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let state = operands[0];
        let [2, batch @ ..] = &state.shape[..] else { return Err(no_state(state)) };
        if state.dtype != DType::UI64 {
            return Err(no_state(state));
        }
        if !RNG_BITS.accepts.contains(self.dtype) {
            return Err(Error::arg("dtype", "the dtype of an integer", self.dtype.to_string()));
        }
        let sizes = self.shape.iter().chain(batch).copied().collect();
        let bits = Aval::known(self.dtype, Shape::try_new(sizes)?);
        let next = Aval::known(DType::UI64, state.shape.clone());
        Ok(if self.with_state { vec![next, bits] } else { vec![bits] })
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        self.fill(&self.draw(), &operands[0], results);
    }

    /// Of the state, for the bits alone.
    fn whole_kernel(&self, operands: &[(&Shape, Layout)], _from: &[DType]) -> Option<WholeKernel> {
        let (shape, layout) = &operands[0];
        let (draw, bytes) = (self.draw(), self.dtype.bytes());
        let places = Places::new(shape, layout);
        let at = Box::new(move |state| places.at(state));
        let kernel = move || Kernel::random(draw, bytes, at);
        Some(WholeKernel { whole: 1, kernel: Box::new(kernel) })
    }

    fn prepare(&self, _operands: &[(&Shape, &Layout)]) -> Option<Ready> {
        let (op, draw) = (self.clone(), self.draw());
        Some(Box::new(move |operands, results| op.fill(&draw, &operands[0], results)))
    }

    fn cost(&self) -> Cost {
        Cost::Picoseconds(ELEMENT)
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::Zero
    }

    fn batch(&self) -> Batch<'_> {
        Batch::Same
    }

    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        Lowering::Formula(Formula::Random(self), None)
    }

    /// The next state and the bits as nodes of their own, as far as they are read, so that the bits can be
    /// fused with their readers. The next state is the key and an advanced counter.
    fn simplify(&self, b: &mut Builder, operands: &[Value], read: &[bool]) -> Result<Simplified> {
        if !self.with_state {
            return Ok(None);
        }
        let state = operands[0];
        let mut next = None;
        if read[0] {
            let shape = b.graph().aval(state).shape.clone();
            let which =
                Iota { axis: Axis(0), to: Ranked::known(DType::UI64), shape: shape.clone(), start: 0 };
            let which = b.node1(which, &[])?;
            let used = b.node1(Fill { value: Literal::new(self.used()), shape, ambiguous: None }, &[])?;
            let ahead = b.node1(Binary::mul, &[which, used])?;
            next = Some(b.node1(Binary::add, &[state, ahead])?);
        }
        let bits = RngBits { with_state: false, ..self.clone() };
        Ok(Some(vec![next, if read[1] { Some(b.node1(bits, &[state])?) } else { None }]))
    }
}

impl RngBits {
    /// The number of cipher blocks that it uses, by which the counter of the next state is larger.
    fn used(&self) -> u64 {
        self.draw().next([0, 0])[1]
    }

    /// The draw, before the state is known.
    fn draw(&self) -> Draw {
        Draw::new(self.algorithm, &self.shape, self.dtype.bytes())
    }

    fn fill(&self, draw: &Draw, state: &View, results: &mut [ViewMut]) {
        let [next @ .., bits] = results else { unreachable!("infer gives the bits") };
        let (data, places) = (cast::slice::<u64>(state.data), Places::new(state.shape, state.layout));
        let state = |i: usize| places.at(i).map(|at| data[at]);
        for next in next {
            let pairs = cast::slice_mut::<u64>(next.data).chunks_exact_mut(2);
            pairs.enumerate().for_each(|(i, next)| next.copy_from_slice(&draw.next(state(i))));
        }
        draw.fill(&state, bits.data);
    }
}

/// Checks that an operand of a call is one state; only programs for a batch have several.
///
/// # Errors
/// [`Error::Arg`] if it is not.
pub(crate) fn check_state(state: &Aval) -> Result<()> {
    match (state.dtype, &state.shape[..]) {
        (DType::UI64, [2]) => Ok(()),
        _ => Err(no_state(state)),
    }
}

fn no_state(got: &Aval) -> Error {
    Error::Arg {
        arg: "state".into(),
        expected: "the state of a random number generator, ui64[2]".into(),
        got: got.to_string(),
        hint: "Start with `nv_rng_state()`; each draw returns the state for the next one.".into(),
    }
}

/// Where the states of a batch are.
struct Places {
    /// Of the first key.
    first: isize,
    /// From a key to its counter.
    step: isize,
    /// Sizes and strides of the axes of the batch.
    batch: Vec<(usize, isize)>,
}

impl Places {
    fn new(shape: &Shape, layout: &Layout) -> Places {
        let axes = shape.iter().copied().zip(layout.strides.iter().copied());
        Places { first: layout.offset as isize, step: layout.strides[0], batch: axes.skip(1).collect() }
    }

    /// The positions of the key and the counter of a state.
    fn at(&self, state: usize) -> [usize; 2] {
        let (mut rest, mut key) = (state, self.first);
        for (size, stride) in &self.batch {
            key += (rest % size) as isize * stride;
            rest /= size;
        }
        [key as usize, (key + self.step) as usize]
    }
}
