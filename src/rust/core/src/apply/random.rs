//! Random numbers from random bits. These compositions alone determine what is drawn from a state.

use super::applier::{Applier, Composition};
use crate::dtype::{DType, Ranked, FLOAT, INTEGER, NUMERIC};
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::kernels::random::Algorithm;
use crate::kernels::reductions::fold::Fold;
use crate::ops::attrs::Attrs;
use crate::ops::random::check_state;
use crate::ops::*;
use crate::shape::{Axis, Shape};
use crate::tensor::Literal;

/// Functions that draw from a state and return the next state and the numbers, and functions that make
/// states.
pub(super) const ALL: &[(&str, Composition)] = &[
    ("rng_state", |a, _, attrs| Ok(vec![a.state_of(attrs.integer("seed")?)?])),
    ("split_state", |a, operands, attrs| a.split(operands, attrs)),
    ("runif", |a, operands, attrs| a.uniform(operands, attrs)),
    ("rnorm", |a, operands, attrs| a.normal(operands, attrs)),
    ("rbinom", |a, operands, attrs| a.binomial(operands, attrs)),
    ("sample_int", |a, operands, attrs| a.sample_int(operands, attrs)),
];

impl Applier<'_> {
    /// The state of a seed: the low and the high 16 bits of its 32.
    fn state_of(&mut self, seed: i64) -> Result<Value> {
        let bits = i32::try_from(seed).map_err(|_| {
            let expected = format!("a whole number from {} to {}", i32::MIN, i32::MAX);
            Error::arg("seed", expected, seed.to_string())
        })? as u32;
        let mut halves = Vec::with_capacity(2);
        for half in [bits & 0xFFFF, bits >> 16] {
            let value = Literal::new(u64::from(half));
            halves
                .push(self.builder.node1(Op::Fill(Fill { value, shape: [1].into(), ambiguous: None }), &[])?);
        }
        self.builder.node1(Op::Concatenate(Concatenate { axis: Axis(0) }), &halves)
    }

    /// The next state, and bits of ThreeFry.
    fn bits(&mut self, state: Value, dtype: DType, shape: &Shape) -> Result<[Value; 2]> {
        let op = RngBits { algorithm: Algorithm::ThreeFry, dtype, shape: shape.clone(), with_state: true };
        check_state(self.aval(state))?;
        let results = self.builder.node(Op::RngBits(op), &[state])?;
        Ok([results[0], results[1]])
    }

    /// An op of a value and a 0-d value of its dtype.
    pub(super) fn with_scalar(&mut self, op: Binary, x: Value, scalar: Value) -> Result<Value> {
        let shape = self.shape(x);
        let scalar = self.broadcast(scalar, &shape)?;
        self.builder.node1(Op::Binary(op), &[x, scalar])
    }

    /// An op of a value and a number that its dtype holds.
    fn with_number(&mut self, op: Binary, x: Value, number: f64) -> Result<Value> {
        self.with(op, x, Literal::new(number).convert(self.aval(x).dtype))
    }

    /// A parameter of a distribution, in the dtype of the computation.
    fn parameter(&mut self, function: &str, name: &str, x: Value, dtype: DType) -> Result<Value> {
        let shape = self.shape(x);
        if shape.rank() > 0 {
            return Err(Error::Rank {
                op: function.into(),
                operand: name.into(),
                expected: "no axes".into(),
                shape,
                hint: "Draw with one number, and scale the result with tensor ops.".into(),
            });
        }
        self.cast(x, Ranked::known(dtype))
    }

    /// The next state, and uniform numbers in [0, 1) of `digits` binary digits, from the highest of the
    /// random bits. 52 digits are for f64, fewer for f32.
    fn unit(&mut self, state: Value, digits: u32, shape: &Shape) -> Result<[Value; 2]> {
        let (bits, float) = if digits == 52 { (DType::I64, DType::F64) } else { (DType::I32, DType::F32) };
        let [next, mut x] = self.bits(state, bits, shape)?;
        if digits == 52 {
            // The highest bit is not used: XLA and JAX shift it out into the exponent.
            x = self.with_number(Binary::shift_left, x, 1.0)?;
        }
        let unused = (bits.bits() as u32 - digits) as f64;
        let whole = self.with_number(Binary::shift_right_logical, x, unused)?;
        // Signed integers convert faster than unsigned ones; these are not negative.
        let whole = self.cast(whole, Ranked::known(float))?;
        Ok([next, self.with_number(Binary::mul, whole, 0.5f64.powi(digits as i32))?])
    }

    /// As [`Applier::unit`], with half of the smallest positive number in place of 0.
    fn open_unit(&mut self, state: Value, digits: u32, shape: &Shape) -> Result<[Value; 2]> {
        let [next, x] = self.unit(state, digits, shape)?;
        Ok([next, self.with_number(Binary::max, x, 0.5f64.powi(digits as i32 + 1))?])
    }

    /// Uniform numbers in (0, 1), or from the first to the second operand after the state.
    fn uniform(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let function = "nv_runif";
        let (dtype, shape) = (float(attrs)?, attrs.shape("shape")?);
        let state = state(function, operands, 3)?;
        // As many digits as the dtype holds exactly, so that none is rounded up to 1.
        let (digits, computed) = match dtype {
            DType::F64 => (52, dtype),
            DType::F16 => (11, DType::F32),
            DType::BF16 => (8, DType::F32),
            _ => (23, DType::F32),
        };
        let [next, u] = self.open_unit(state, digits, &shape)?;
        let to = Ranked::known(dtype);
        let u = match operands {
            [_, lower, upper] => {
                let bounds = [("lower", lower), ("upper", upper)];
                let [lower, upper] = bounds.map(|(name, x)| self.parameter(function, name, *x, dtype));
                let (lower, upper) = (lower?, upper?);
                let wide = Ranked::known(computed);
                let (from, until) = (self.cast(lower, wide)?, self.cast(upper, wide)?);
                let range = self.builder.node1(Op::Binary(Binary::sub), &[until, from])?;
                let scaled = self.with_scalar(Binary::mul, u, range)?;
                let scaled = self.with_scalar(Binary::add, scaled, from)?;
                let scaled = self.cast(scaled, to)?;
                // The sum may be rounded up to the upper bound, which is excluded; it is replaced by the
                // lower one.
                let [lower, upper] = [lower, upper].map(|bound| self.broadcast(bound, &shape));
                let inside = self.builder.node1(Op::Compare(Compare::lt), &[scaled, upper?])?;
                self.builder.node1(Op::Ternary(Ternary::Select), &[inside, scaled, lower?])?
            }
            _ => self.cast(u, to)?,
        };
        Ok(vec![next, u])
    }

    /// Normal numbers by the method of Box and Muller, standard or of the mean and the standard deviation
    /// that follow the state.
    fn normal(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let function = "nv_rnorm";
        let (dtype, shape) = (float(attrs)?, attrs.shape("shape")?);
        let state = state(function, operands, 3)?;
        let (digits, computed) = if dtype == DType::F64 { (52, dtype) } else { (23, DType::F32) };
        let size = shape.size();
        let half = [size.div_ceil(2)].into();
        // 0 is excluded, since its logarithm is infinite.
        let [middle, u] = self.open_unit(state, digits, &half)?;
        let [next, v] = self.unit(middle, digits, &half)?;
        let log = self.builder.node1(Op::Unary(Unary::log), &[u])?;
        let square = self.with_number(Binary::mul, log, -2.0)?;
        let radius = self.builder.node1(Op::Unary(Unary::sqrt), &[square])?;
        let angle = self.with_number(Binary::mul, v, std::f64::consts::TAU)?;
        // Of the last pair only one may be needed.
        let cut = StaticSlice { start: vec![0], limit: vec![size / 2], stride: vec![1] };
        let halves = [(Unary::sin, None), (Unary::cos, (size % 2 == 1).then_some(cut))];
        let [first, second] = halves.map(|(side, cut)| {
            let cut =
                |b: &mut Builder, x| cut.clone().map_or(Ok(x), |cut| b.node1(Op::StaticSlice(cut), &[x]));
            let (radius, angle) = (cut(self.builder, radius)?, cut(self.builder, angle)?);
            let side = self.builder.node1(Op::Unary(side), &[angle])?;
            self.builder.node1(Op::Binary(Binary::mul), &[radius, side])
        });
        let (first, second) = (first?, second?);
        let mut z = self.builder.node1(Op::Concatenate(Concatenate { axis: Axis(0) }), &[first, second])?;
        if shape.rank() != 1 {
            z = self.builder.node1(Op::Reshape(Reshape { shape, order: layout::Order::Row }), &[z])?;
        }
        if let [_, mean, sd] = operands {
            let sd = self.parameter(function, "sd", *sd, computed)?;
            let mean = self.parameter(function, "mean", *mean, computed)?;
            z = self.with_scalar(Binary::mul, z, sd)?;
            z = self.with_scalar(Binary::add, z, mean)?;
        }
        Ok(vec![next, self.cast(z, Ranked::known(dtype))?])
    }

    /// Numbers of successes in `n` trials with the probability that follows the state, from a uniform number
    /// for each trial.
    fn binomial(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let function = "nv_rbinom";
        let (dtype, shape) = (numeric(attrs)?, attrs.shape("shape")?);
        // Successes are counted in i32.
        let n = count(attrs, 0, dtype)?.min(count(attrs, 0, DType::I32)?);
        let state = state(function, operands, 2)?;
        let Some(&prob) = operands.get(1) else { return Err(Error::arg("prob", "a probability", "nothing")) };
        let prob = self.parameter(function, "prob", prob, DType::F64)?;
        let mut trials = vec![n as usize];
        trials.extend(shape.iter());
        let [next, u] = self.unit(state, 52, &Shape::try_new(trials)?)?;
        let all = self.shape(u);
        let prob = self.broadcast(prob, &all)?;
        let success = self.builder.node1(Op::Compare(Compare::lt), &[u, prob])?;
        let sum = Reduction { fold: Fold::Sum, axes: vec![Axis(0)], drop: true };
        let one = self.cast(success, Ranked::known(DType::I32))?;
        let sum = self.builder.node1(Op::Reduction(sum), &[one])?;
        Ok(vec![next, self.cast(sum, Ranked::known(dtype))?])
    }

    /// Whole numbers from 1 to `n`: remainders of 64 bits, whose probabilities differ by at most 2^-64.
    fn sample_int(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let (dtype, shape) = (attrs.dtype("dtype")?, attrs.shape("shape")?);
        if !INTEGER.contains(dtype) {
            return Err(Error::arg("dtype", "the dtype of an integer", dtype.to_string()));
        }
        let n = count(attrs, 1, dtype)?;
        let state = state("nv_sample_int", operands, 1)?;
        let [next, bits] = self.bits(state, DType::UI64, &shape)?;
        let below = self.with_number(Binary::remainder, bits, n as f64)?;
        let value = self.with_number(Binary::add, below, 1.0)?;
        Ok(vec![next, self.cast(value, Ranked::known(dtype))?])
    }

    /// `n` states whose keys and counters are random bits of the one given.
    fn split(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let n = attrs.integer("n")?;
        if !(1..=MAX_STATES).contains(&n) {
            return Err(Error::arg("n", format!("a whole number from 1 to {MAX_STATES}"), n.to_string()));
        }
        let mut state = state("nv_split_state", operands, 1)?;
        let mut states = Vec::with_capacity(n as usize);
        for _ in 0..n {
            let [next, bits] = self.bits(state, DType::UI64, &[2].into())?;
            state = next;
            states.push(bits);
        }
        Ok(states)
    }
}

/// States of one split, at most: each is a node of the graph.
const MAX_STATES: i64 = 10_000;

/// The first operand as a state; `count` or one operands are expected. The op checks the state's type.
fn state(function: &str, operands: &[Value], count: usize) -> Result<Value> {
    arity(function, operands.len(), if operands.len() == 1 { 1 } else { count })?;
    Ok(operands[0])
}

fn float(attrs: &Attrs) -> Result<DType> {
    let dtype = attrs.dtype("dtype")?;
    if FLOAT.contains(dtype) {
        return Ok(dtype);
    }
    Err(Error::arg("dtype", "the dtype of a float", dtype.to_string()))
}

fn numeric(attrs: &Attrs) -> Result<DType> {
    let dtype = attrs.dtype("dtype")?;
    if NUMERIC.contains(dtype) {
        return Ok(dtype);
    }
    Err(Error::arg("dtype", "the dtype of an integer or float", dtype.to_string()))
}

/// The parameter `n`, at least `least`, and no more than the dtype of a count can hold.
fn count(attrs: &Attrs, least: i64, dtype: DType) -> Result<i64> {
    let n = attrs.integer("n")?;
    if n < least {
        return Err(Error::arg("n", format!("at least {least}"), n.to_string()));
    }
    match dtype.bounds() {
        Some((_, most)) if i128::from(n) > most => {
            Err(Error::arg("n", format!("at most {most}, the largest {dtype}"), n.to_string()))
        }
        _ => Ok(n),
    }
}
