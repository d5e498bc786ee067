//! Derivatives in both modes as graphs, and their values at points, for the tests of forward mode.
//!
//! Gradients `u` of results and tangents `v` of inputs meet in the real part of the sum of `u v`: the convention
//! for complex numbers, in which the gradient of a real function of `x + iy` is its derivative by `x` minus
//! `i` times that by `y`.
#![allow(dead_code)] // each test file uses a part

use crate::common::text::read_back;
use crate::common::{aligned, random_element, Rng};
use crate::gradients::{uniform, STEP, TOLERANCE};
use anvil_core::autodiff::{is_differentiable, linearize, push, Linearized, Tape};
use anvil_core::dtype::DType;
use anvil_core::error::Error;
use anvil_core::exec::reference::evaluate;
use anvil_core::graph::Value;
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::ops::{Builder, Fill, Graph, Op, While};
use anvil_core::tensor::{Aval, Literal};
use num_complex::Complex;

/// A tensor: its elements in any float dtype, or its bytes in another.
#[derive(Clone, Debug)]
pub enum Tensor {
    Floats(Vec<Complex<f64>>),
    Other(Vec<u8>),
}

impl Tensor {
    /// Its elements, of which an integer has none.
    pub fn floats(&self) -> &[Complex<f64>] {
        match self {
            Tensor::Floats(x) => x,
            Tensor::Other(_) => &[],
        }
    }

    /// The bytes of a tensor of this dtype.
    pub fn bytes(&self, dtype: DType) -> Vec<u8> {
        let element = |x: &Complex<f64>| {
            let literal = Literal::new(*x).convert(dtype);
            literal.to_bytes()[..dtype.bytes()].to_vec()
        };
        match self {
            Tensor::Floats(x) => x.iter().flat_map(element).collect(),
            Tensor::Other(bytes) => bytes.clone(),
        }
    }

    fn read(dtype: DType, bytes: &[u8]) -> Tensor {
        if !is_differentiable(dtype) {
            return Tensor::Other(bytes.to_vec());
        }
        let parts = bytes.chunks(dtype.bytes());
        Tensor::Floats(parts.map(|x| Literal::from_bytes(dtype, x).get()).collect())
    }

    /// The value that a tensor of this dtype has.
    pub fn rounded(self, dtype: DType) -> Tensor {
        Tensor::read(dtype, &self.bytes(dtype))
    }

    /// `self + h v`.
    pub fn moved(&self, h: f64, v: &Tensor) -> Tensor {
        match self {
            Tensor::Floats(x) => Tensor::Floats(x.iter().zip(v.floats()).map(|(x, v)| x + v * h).collect()),
            Tensor::Other(_) => self.clone(),
        }
    }
}

/// The sum of products, and the size of its terms.
pub fn pairing(u: &[Tensor], v: &[Tensor]) -> (f64, f64) {
    assert_eq!(u.len(), v.len());
    let terms = u
        .iter()
        .zip(v)
        .flat_map(|(u, v)| u.floats().iter().zip(v.floats()).map(|(u, v)| (u * v, u.norm() * v.norm())));
    terms.fold((0.0, 0.0), |(sum, size), (term, norm)| (sum + term.re, size + norm))
}

pub fn types(graph: &Graph, values: &[Value]) -> Vec<Aval> {
    values.iter().map(|&v| graph.aval(v).clone()).collect()
}

/// The inputs that are floats.
pub fn floats(types: &[Aval]) -> Vec<usize> {
    (0..types.len()).filter(|&i| is_differentiable(types[i].dtype)).collect()
}

fn zeros(b: &mut Builder, aval: &Aval) -> Value {
    let value = Literal::new(0.0).convert(aval.dtype);
    let fill = Fill { value, shape: aval.shape.clone(), ambiguous: aval.ambiguous };
    b.node1(fill, &[]).expect("zeros of any dtype")
}

/// From the inputs, and tangents of those that are `active`, to the outputs, and tangents of those that are
/// floats.
pub fn pushed(graph: &Graph, active: &[usize]) -> Result<Graph, Error> {
    let mut b = Builder::default();
    let avals = types(graph, graph.inputs());
    let x: Vec<Value> = avals.iter().map(|aval| b.input(aval.clone())).collect();
    let mut v = vec![None; x.len()];
    active.iter().for_each(|&i| v[i] = Some(b.input(avals[i].clone())));
    let made = push(&mut b, graph, &x, &v)?;
    let results = types(graph, graph.outputs());
    let mut outputs = made.outputs.clone();
    for i in floats(&results) {
        outputs.push(made.tangents[i].unwrap_or_else(|| zeros(&mut b, &results[i])));
    }
    for (i, tangent) in made.tangents.iter().enumerate() {
        if let Some(t) = tangent {
            assert_eq!(b.graph().aval(*t), &results[i], "a tangent has the type of its value\n{graph}");
        }
    }
    Ok(read_back(b.finish(outputs)))
}

/// From the inputs, and gradients of the outputs that are floats, to the outputs, and gradients of the inputs
/// that are `active`.
pub fn pulled(graph: &Graph, active: &[usize]) -> Result<Graph, Error> {
    let mut b = Builder::default();
    let avals = types(graph, graph.inputs());
    let x: Vec<Value> = avals.iter().map(|aval| b.input(aval.clone())).collect();
    let results = types(graph, graph.outputs());
    let mut u = vec![None; results.len()];
    floats(&results).into_iter().for_each(|i| u[i] = Some(b.input(results[i].clone())));
    let tape = Tape::record(&mut b, graph, &x, active)?;
    let gradients = tape.pull(&mut b, &u, active)?;
    let outputs = [tape.outputs(), gradients].concat();
    Ok(read_back(b.finish(outputs)))
}

/// The graph with the outputs from this one on.
pub fn from_output(graph: &Graph, from: usize) -> Graph {
    let mut b = Builder::default();
    let x: Vec<Value> = types(graph, graph.inputs()).into_iter().map(|aval| b.input(aval)).collect();
    let outputs = b.inline(graph, &x).expect("a sound graph");
    b.finish(outputs[from..].to_vec())
}

pub fn run(graph: &Graph, inputs: &[&[Tensor]]) -> Result<Vec<Tensor>, Error> {
    let given = inputs.iter().flat_map(|x| x.iter());
    let bytes: Vec<Vec<u8>> = given.zip(graph.inputs()).map(|(x, &v)| x.bytes(graph.aval(v).dtype)).collect();
    let bytes: Vec<AlignedBytes> = bytes.iter().map(|x| aligned(x)).collect();
    let bytes: Vec<&[u8]> = bytes.iter().map(|x| x.as_slice()).collect();
    let made = evaluate(graph, &bytes, &[])?;
    Ok(made.iter().zip(graph.outputs()).map(|(x, &v)| Tensor::read(graph.aval(v).dtype, x)).collect())
}

/// A tensor of this type with floats from a range, and small integers; complex numbers have their real parts
/// in the first range, imaginary ones in the second.
pub fn point(rng: &mut Rng, aval: &Aval, range: [f64; 2], imaginary: [f64; 2]) -> Tensor {
    let (size, dtype) = (aval.shape.size(), aval.dtype);
    if is_differentiable(dtype) {
        let complex = |rng: &mut Rng| {
            let re = uniform(rng, range);
            Complex::new(re, if dtype.is_complex() { uniform(rng, imaginary) } else { 0.0 })
        };
        return Tensor::Floats((0..size).map(|_| complex(rng)).collect()).rounded(dtype);
    }
    let element = |rng: &mut Rng| match dtype {
        DType::I1 => random_element(rng, dtype),
        _ => Literal::new(rng.below(4) as i32).convert(dtype).to_bytes()[..dtype.bytes()].to_vec(),
    };
    Tensor::Other((0..size).flat_map(|_| element(rng)).collect())
}

/// Directions, or gradients, for values of these types.
pub fn directions(rng: &mut Rng, types: &[Aval], which: &[usize]) -> Vec<Tensor> {
    which.iter().map(|&i| point(rng, &types[i], [-1.0, 1.0], [-1.0, 1.0])).collect()
}

/// Distance from 1 to the next number of a dtype.
pub fn epsilon(dtype: DType) -> f64 {
    match dtype.part() {
        DType::F64 => f64::EPSILON,
        DType::F32 => f64::from(f32::EPSILON),
        DType::F16 => 2f64.powi(-10),
        _ => 2f64.powi(-7),
    }
}

/// The largest epsilon of the floats in a graph and in its regions.
pub fn coarsest(graph: &Graph) -> f64 {
    let own = graph.values().map(|v| graph.aval(v).dtype).filter(|&d| is_differentiable(d)).map(epsilon);
    let inside = graph.nodes().iter().flat_map(|node| node.op.regions()).map(|(_, region)| coarsest(region));
    own.chain(inside).fold(f64::EPSILON, f64::max)
}

/// First and second derivatives of a graph at a point, with respect to some of its inputs. Says whether they
/// were held to differences.
pub fn check(what: &str, graph: &Graph, active: &[usize], x: &[Tensor], rng: &mut Rng) -> bool {
    let fail = |e: Error| -> Graph { panic!("{what}: {e}\n{graph}") };
    let count = graph.outputs().len();
    let ahead = from_output(&pushed(graph, active).unwrap_or_else(fail), count);
    let compared = check_differences(what, graph, &ahead, active, x, rng);
    let (inputs, outputs) = (types(graph, graph.inputs()), types(graph, graph.outputs()));
    let results = floats(&outputs);
    let run = |graph: &Graph, x: &[&[Tensor]]| run(graph, x).unwrap_or_else(|e| panic!("{what}: {e}"));
    let [v, w] = [(); 2].map(|()| directions(rng, &inputs, active));
    let u = directions(rng, &outputs, &results);
    // The tangents as a function of the point, along w, with v fixed.
    let twice = from_output(&pushed(&ahead, active).unwrap_or_else(fail), results.len());
    let along = pairing(&u, &run(&twice, &[x, &v, &w]));
    if has_while(graph) {
        let other = pairing(&u, &run(&twice, &[x, &w, &v]));
        near(coarsest(&twice), along, other, || {
            format!("{what}, v and w exchanged at {x:?}\n{graph}{twice}")
        });
        return compared;
    }
    let back = check_transpose(what, graph, active, x, rng);
    // The gradients as a function of the point, along v, in both modes.
    let ahead_of_back = from_output(&pushed(&back, active).unwrap_or_else(fail), active.len());
    let back_of_back = from_output(&pulled(&back, active).unwrap_or_else(fail), active.len());
    let hv = pairing(&run(&ahead_of_back, &[x, &u, &v]), &w);
    let eps = coarsest(&back_of_back).max(coarsest(&twice));
    let say = |what: &str, graph: &Graph| format!("{what} at {x:?}\n{graph}{back}{ahead_of_back}");
    near(eps, hv, along, || say(&format!("{what}, forward over reverse and forward over forward"), graph));
    let vh = pairing(&run(&back_of_back, &[x, &u, &v]), &w);
    near(eps, hv, vh, || say(&format!("{what}, forward over reverse and reverse over reverse"), graph));
    compared
}

/// Whether a graph, or a region of it, has a loop that reverse mode does not go through.
fn has_while(graph: &Graph) -> bool {
    graph.nodes().iter().any(|node| {
        matches!(node.op, Op::While(While { bound: None, .. }))
            || node.op.regions().iter().any(|(_, region)| has_while(region))
    })
}

/// Two sums agree within what their terms are rounded to.
fn near(eps: f64, (one, size): (f64, f64), (other, more): (f64, f64), what: impl Fn() -> String) {
    assert!((one - other).abs() <= 100.0 * eps * (size + more + 1.0), "{}\n{one} is not {other}", what());
}

/// `<u, J v> = <J' u, v>`. Gives the graph of gradients.
pub fn check_transpose(what: &str, graph: &Graph, active: &[usize], x: &[Tensor], rng: &mut Rng) -> Graph {
    let fail = |e: Error| -> Graph { panic!("{what}: {e}\n{graph}") };
    let count = graph.outputs().len();
    let ahead = from_output(&pushed(graph, active).unwrap_or_else(fail), count);
    let back = from_output(&pulled(graph, active).unwrap_or_else(fail), count);
    let (inputs, outputs) = (types(graph, graph.inputs()), types(graph, graph.outputs()));
    let v = directions(rng, &inputs, active);
    let u = directions(rng, &outputs, &floats(&outputs));
    let run = |graph: &Graph, x: &[&[Tensor]]| run(graph, x).unwrap_or_else(|e| panic!("{what}: {e}"));
    let (one, other) = (pairing(&u, &run(&ahead, &[x, &v])), pairing(&run(&back, &[x, &u]), &v));
    near(coarsest(&ahead).max(coarsest(&back)), one, other, || {
        format!("{what}, <u, J v> and <J' u, v> at {x:?}\n{graph}{ahead}{back}")
    });
    back
}

/// Tangents against differences; only of floats of 64 bits are they exact enough. Says whether it was done.
fn check_differences(
    what: &str,
    graph: &Graph,
    ahead: &Graph,
    active: &[usize],
    x: &[Tensor],
    rng: &mut Rng,
) -> bool {
    let (inputs, outputs) = (types(graph, graph.inputs()), types(graph, graph.outputs()));
    let results = floats(&outputs);
    if coarsest(graph) != f64::EPSILON || results.is_empty() {
        return false;
    }
    let v = directions(rng, &inputs, active);
    let tangents = run(ahead, &[x, &v]).unwrap_or_else(|e| panic!("{what}: {e}"));
    let at = |h: f64| {
        let mut x = x.to_vec();
        active.iter().zip(&v).for_each(|(&i, v)| x[i] = x[i].moved(h, v));
        run(graph, &[&x]).unwrap()
    };
    let (above, below) = (at(STEP), at(-STEP));
    for (&i, tangent) in results.iter().zip(&tangents) {
        for (k, t) in tangent.floats().iter().enumerate() {
            let (high, low) = (above[i].floats()[k], below[i].floats()[k]);
            // The extreme of nothing is infinite, whatever moves.
            let expected = if high.is_finite() { (high - low) / (2.0 * STEP) } else { Complex::default() };
            let ok = (t - expected).norm() <= TOLERANCE * expected.norm().max(1.0);
            assert!(ok, "{what}: tangent {t}, differences {expected} at {x:?} along {v:?}\n{graph}{ahead}");
        }
    }
    true
}

/// Outputs, and tangents of those that are floats, by way of the linear map.
pub fn linearized(graph: &Graph, active: &[usize], x: &[Tensor], v: &[Tensor]) -> Result<Vec<Tensor>, Error> {
    let Linearized { value, linear } = linearize(graph, active)?;
    let (value, linear) = (read_back(value), read_back(linear));
    let mut outputs = run(&value, &[x])?;
    let residuals = outputs.split_off(graph.outputs().len());
    outputs.extend(run(&linear, &[&residuals, v])?);
    Ok(outputs)
}
