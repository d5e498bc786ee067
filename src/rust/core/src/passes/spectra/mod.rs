//! Fourier transforms of real values, and those whose results are real, are computed on half of the numbers: the
//! other half of the transform of a real value is its conjugate. Bits change, so that whoever compiles a program asks
//! for this pass, as for [`accurate`](super::accurate).
//!
//! A walk from the results back notes what is wanted of each value: all of it, its real part where it is real, or its
//! first half along an axis ([`Wanted`]). A walk forwards makes that. The real part of a transform whose
//! operand is symmetric ([`symmetry`]) is one to real numbers, of half of the operand; half of a product is the
//! product of halves, and half of the transform of a real value is made in half the time.

mod symmetry;

use super::strips::strip;
use super::transposes::is_elementwise;
use super::{flagged, optimise, reads, rebuilt_from, with_regions};
use crate::error::Result;
use crate::graph::{Node, Value, NODE};
use crate::growth::table;
use crate::kernels::fourier::Kind;
use crate::ops::create::everywhere;
use crate::ops::{Binary, Builder, Convert, Fourier, Graph, MakeComplex, Op, Part, StaticSlice, Unary};
use crate::shape::Axis;
use crate::stop;
use crate::tensor::Literal;
use symmetry::{bit, symmetries, Axes, Symmetry};

/// The graph with transforms on halves, those in branches and loops too; `None` if there are none.
///
/// # Errors
/// Those of [`Builder::node`]; one would be a bug of the pass.
pub fn spectra(graph: &Graph) -> Result<Option<Graph>> {
    let inputs: Vec<Symmetry> = graph.inputs().iter().map(|&v| Symmetry::of(graph.aval(v))).collect();
    match halved(graph, &inputs)? {
        Some(made) => optimise(&made).map(Some),
        None => Ok(None),
    }
}

/// As [`spectra`], of a graph of whose inputs this is known.
fn halved(graph: &Graph, inputs: &[Symmetry]) -> Result<Option<Graph>> {
    if !has_transforms(graph) {
        return Ok(None);
    }
    let program = Program::of(graph, inputs);
    let wanted = program.wanted();
    let mut found = wanted.iter().any(|wanted| wanted.real || wanted.halves != 0);
    let mut made = Made { real: table(None, wanted.len()), halves: table(vec![], wanted.len()) };
    let out = rebuilt_from(graph, |b, number, new| {
        stop::work(NODE);
        let node = &graph.nodes()[number];
        if node.op.control().is_some() {
            let Some(op) = program.regions(node)? else { return Ok(None) };
            found = true;
            return b.node(op, &node.operands.iter().map(|v| new[v.index()]).collect::<Vec<_>>()).map(Some);
        }
        let &[v] = &node.results[..] else { return Ok(None) };
        let mut making = Making { b, program: &program, new, made: &mut made };
        if wanted[v.index()].real {
            let real = making.real_part(v)?;
            making.made.real[v.index()] = Some(real);
        }
        for axis in axes(wanted[v.index()].halves) {
            let half = making.first_half(v, axis)?;
            making.made.halves[v.index()].push((axis, half));
        }
        making.whole(number)
    })?;
    Ok(found.then_some(out))
}

/// Whether there are transforms in a graph, or in its branches and loops.
fn has_transforms(graph: &Graph) -> bool {
    graph.nodes().iter().any(|node| {
        transform(node).is_some() || node.op.regions().iter().any(|(_, region)| has_transforms(region))
    })
}

/// The node as a transform with as many results as operands.
fn transform(node: &Node<Op>) -> Option<&Fourier> {
    node.op.get::<Fourier>().filter(|op| op.is_whole())
}

/// The axes of a set.
fn axes(set: Axes) -> impl Iterator<Item = Axis> {
    (0..Axes::BITS as usize).map(Axis).filter(move |&axis| set & bit(axis) != 0)
}

/// What readers want of a value.
#[derive(Clone, Default, Debug)]
struct Wanted {
    whole: bool,
    /// Its real part, of a complex value.
    real: bool,
    /// Its first half along each of these axes: `n / 2 + 1` of `n` elements.
    halves: Axes,
}

/// A graph, and what is known of its values.
struct Program<'g> {
    graph: &'g Graph,
    symmetry: Vec<Symmetry>,
    reads: Vec<usize>,
    /// For each value, the axes along which half of it is made of a transform of a real value.
    reach: Vec<Axes>,
    /// Whether the real part of a value is made of transforms to real numbers.
    leads: Vec<bool>,
}

/// Transforms one after the other that make a real value of a symmetric one.
struct Chain<'g> {
    /// What they transform.
    base: Value,
    /// The last one first.
    transforms: Vec<&'g Fourier>,
    /// The number of the one that is made last instead, of half of the numbers along its axis.
    last: usize,
}

/// How the real part of a value is made.
enum Real<'g> {
    Chain(Chain<'g>),
    /// By the same op of the real parts of its operands.
    Parts,
    /// It is this value.
    Operand(Value),
}

/// How half of a value is made.
enum Half {
    /// It is half of the transform of a real value.
    Transform,
    /// By this op, of halves of operands along these axes, or whole ones.
    Strip(Box<Op>, Vec<Option<Axis>>),
}

/// How all of a value is made, if not as it was.
enum Whole {
    /// It is the real part of this value.
    Real(Value),
    /// It is a slice within the first half of this value along this axis.
    Slice(Value, Axis),
    /// It is the transform of the real part of its operand.
    OfReal(Value),
}

impl<'g> Program<'g> {
    fn of(graph: &'g Graph, inputs: &[Symmetry]) -> Program<'g> {
        let values = graph.values().count();
        let reads = reads(graph);
        let symmetry = symmetries(graph, inputs);
        let (reach, leads) = (table(0, values), table(false, values));
        let mut program = Program { graph, symmetry, reads, reach, leads };
        for node in graph.nodes() {
            stop::work(NODE);
            let &[v] = &node.results[..] else { continue };
            program.reach[v.index()] = program.reaches(node);
            program.leads[v.index()] = program.chain(v).is_some() || program.leads_by(node);
        }
        program
    }

    fn is_complex(&self, v: Value) -> bool {
        self.graph.aval(v).dtype.is_complex()
    }

    fn is_real(&self, v: Value) -> bool {
        self.symmetry[v.index()].is_real()
    }

    /// Whether nothing else reads it than the node that does.
    fn once(&self, v: Value) -> bool {
        self.reads[v.index()] == 1
    }

    fn reaches(&self, node: &Node<Op>) -> Axes {
        if let Some(op) = transform(node) {
            let x = node.operands[0];
            return if self.is_real(x) { bit(op.axis) } else { self.reach[x.index()] & !bit(op.axis) };
        }
        match is_elementwise(self.graph, node) {
            true => node.operands.iter().fold(0, |all, v| all | self.reach[v.index()]),
            false => 0,
        }
    }

    /// Whether the real part of its result is the same of real parts, of which one leads to a transform.
    fn leads_by(&self, node: &Node<Op>) -> bool {
        let leads = node.operands.iter().any(|&v| self.leads[v.index()] && self.once(v));
        let real = |i: usize| self.is_real(node.operands[i]);
        let apart = match (node.op.get::<Binary>(), node.op.get::<Unary>()) {
            (Some(Binary::add | Binary::sub), _) | (_, Some(Unary::negate)) => true,
            (Some(Binary::mul), _) => real(0) || real(1),
            (Some(Binary::div), _) => real(1),
            _ => false,
        };
        leads && apart
    }

    /// The longest chain of transforms of which the value is the last one, if their result is real.
    fn chain(&self, v: Value) -> Option<Chain<'g>> {
        let (mut base, mut turned, mut transforms) = (v, 0, vec![]);
        while let Some(node) = self.graph.made_by(base) {
            let Some(op) = transform(node) else { break };
            let axis = bit(op.axis);
            if axis == 0 || turned & axis != 0 || !transforms.is_empty() && !self.once(base) {
                break;
            }
            turned |= axis;
            transforms.push(op);
            base = node.operands[0];
        }
        let shape = &self.graph.aval(base).shape;
        if transforms.is_empty() || shape.size() == 0 || !self.symmetry[base.index()].has(turned) {
            return None;
        }
        let made_real = |op: &&Fourier| self.reach[base.index()] & bit(op.axis) != 0;
        let last = transforms.iter().rposition(made_real).unwrap_or(transforms.len() - 1);
        Some(Chain { base, transforms, last })
    }

    fn real(&self, v: Value) -> Option<Real<'g>> {
        let node = self.graph.made_by(v)?;
        if node.op.get::<MakeComplex>().is_some()
            || node.op.get::<Convert>().is_some() && !self.is_complex(node.operands[0])
        {
            return Some(Real::Operand(node.operands[0]));
        }
        let chain = self.leads[v.index()].then(|| self.chain(v));
        chain.map(|chain| chain.map_or(Real::Parts, Real::Chain))
    }

    fn half(&self, v: Value, axis: Axis) -> Option<Half> {
        let node = self.graph.made_by(v)?;
        if transform(node).is_some_and(|op| op.axis == axis && self.is_real(node.operands[0])) {
            return Some(Half::Transform);
        }
        let &[v] = &node.results[..] else { return None };
        let size = self.graph.aval(v).shape[axis.0] / 2 + 1;
        strip(self.graph, node, axis, size).map(|(op, axes)| Half::Strip(Box::new(op), axes))
    }

    fn whole(&self, number: usize) -> Option<Whole> {
        let node = &self.graph.nodes()[number];
        let &x = node.operands.first()?;
        if node.op.get::<Part>() == Some(&Part::real) {
            return (self.leads[x.index()] && self.once(x)).then_some(Whole::Real(x));
        }
        if let Some(op) = node.op.get::<StaticSlice>() {
            let shape = &self.graph.aval(x).shape;
            let inside = |axis: &Axis| op.limit[axis.0] <= shape[axis.0] / 2 + 1;
            return axes(self.reach[x.index()]).find(inside).map(|axis| Whole::Slice(x, axis));
        }
        let of_real = transform(node).is_some() && self.is_complex(x) && self.is_real(x);
        of_real.then_some(Whole::OfReal(x))
    }

    /// What is wanted of each value.
    fn wanted(&self) -> Vec<Wanted> {
        let graph = self.graph;
        let mut wanted: Vec<Wanted> = table(Wanted::default(), graph.values().count());
        graph.outputs().iter().for_each(|v| wanted[v.index()].whole = true);
        for (number, node) in graph.nodes().iter().enumerate().rev() {
            stop::work(NODE);
            let mut whole = node.op.has_effect();
            for &v in &node.results {
                let own = &mut wanted[v.index()];
                own.whole |= own.real && self.real(v).is_none();
                own.whole |= axes(own.halves).any(|axis| self.half(v, axis).is_none());
                if own.whole {
                    // The rest is taken of that.
                    (own.real, own.halves) = (false, 0);
                }
                whole |= own.whole;
                let Wanted { real, halves, .. } = *own;
                if real {
                    self.want_for_real(v, node, &mut wanted);
                }
                axes(halves).for_each(|axis| self.want_for_half(v, axis, node, &mut wanted));
            }
            match self.whole(number).filter(|_| whole) {
                Some(Whole::Real(x) | Whole::OfReal(x)) => wanted[x.index()].real = true,
                Some(Whole::Slice(x, axis)) => wanted[x.index()].halves |= bit(axis),
                None if whole => node.operands.iter().for_each(|v| wanted[v.index()].whole = true),
                None => {}
            }
        }
        wanted
    }

    fn want_for_real(&self, v: Value, node: &Node<Op>, wanted: &mut [Wanted]) {
        match self.real(v) {
            Some(Real::Chain(chain)) => {
                wanted[chain.base.index()].halves |= bit(chain.transforms[chain.last].axis);
            }
            Some(Real::Parts) => node.operands.iter().for_each(|v| wanted[v.index()].real = true),
            Some(Real::Operand(x)) => wanted[x.index()].whole = true,
            None => {}
        }
    }

    fn want_for_half(&self, v: Value, axis: Axis, node: &Node<Op>, wanted: &mut [Wanted]) {
        match self.half(v, axis) {
            Some(Half::Transform) if self.is_complex(node.operands[0]) => {
                wanted[node.operands[0].index()].real = true;
            }
            Some(Half::Strip(_, axes)) => {
                for (v, axis) in node.operands.iter().zip(axes) {
                    match axis {
                        Some(axis) => wanted[v.index()].halves |= bit(axis),
                        None => wanted[v.index()].whole = true,
                    }
                }
            }
            Some(Half::Transform) | None => wanted[node.operands[0].index()].whole = true,
        }
    }

    /// A branch or a loop whose regions have transforms on halves; `None` if they have none.
    fn regions(&self, node: &Node<Op>) -> Result<Option<Op>> {
        with_regions(node, |region, own, outside| {
            // What a loop carries or slices is known by its type alone; what regions read of outside is as it is there.
            let own = region.inputs()[..own].iter().map(|&v| Symmetry::of(region.aval(v)));
            let given: Vec<Symmetry> =
                own.chain(outside.iter().map(|v| self.symmetry[v.index()].clone())).collect();
            halved(region, &given)
        })
    }
}

/// What was made of values beside all of them.
struct Made {
    real: Vec<Option<Value>>,
    halves: Vec<Vec<(Axis, Value)>>,
}

/// A node that is made.
struct Making<'a, 'g> {
    b: &'a mut Builder,
    program: &'a Program<'g>,
    /// All of each earlier value.
    new: &'a [Value],
    made: &'a mut Made,
}

impl Making<'_, '_> {
    /// The real part of an earlier value.
    fn real(&mut self, v: Value) -> Result<Value> {
        match self.made.real[v.index()] {
            Some(real) => Ok(real),
            None if self.program.is_complex(v) => self.b.node1(Part::real, &[self.new[v.index()]]),
            None => Ok(self.new[v.index()]),
        }
    }

    /// The first half of an earlier value along an axis.
    fn half(&mut self, v: Value, axis: Axis) -> Result<Value> {
        if let Some((_, half)) = self.made.halves[v.index()].iter().find(|(of, _)| *of == axis) {
            return Ok(*half);
        }
        let whole = self.new[v.index()];
        let shape = &self.b.graph().aval(whole).shape;
        let slice = StaticSlice::along(shape, axis, 0..shape[axis.0] / 2 + 1);
        self.b.node1(slice, &[whole])
    }

    /// All of the result of a node, if it is not made as it was.
    fn whole(&mut self, number: usize) -> Result<Option<Vec<Value>>> {
        let node = &self.program.graph.nodes()[number];
        let made = match self.program.whole(number) {
            Some(Whole::Real(x)) => self.real(x)?,
            Some(Whole::Slice(x, axis)) => {
                let half = self.half(x, axis)?;
                self.b.node1(node.op.clone(), &[half])?
            }
            Some(Whole::OfReal(x)) => {
                let real = self.real(x)?;
                self.b.node1(node.op.clone(), &[real])?
            }
            None => return Ok(None),
        };
        let ambiguous = self.program.graph.aval(node.results[0]).ambiguous;
        Ok(Some(vec![flagged(self.b, made, ambiguous)?]))
    }

    /// The real part of the result of a node.
    fn real_part(&mut self, v: Value) -> Result<Value> {
        let node = self.program.graph.made_by(v).expect("a result");
        match self.program.real(v).expect("it is wanted") {
            Real::Operand(x) => {
                let (x, dtype) = (self.new[x.index()], self.program.graph.aval(v).dtype.part());
                match self.b.graph().aval(x).dtype == dtype {
                    true => Ok(x),
                    false => self.b.node1(Convert::known(dtype), &[x]),
                }
            }
            Real::Parts => {
                let parts: Vec<Value> = node.operands.iter().map(|&x| self.real(x)).collect::<Result<_>>()?;
                self.b.node1(node.op.clone(), &parts)
            }
            Real::Chain(chain) => self.transformed(&chain),
        }
    }

    /// What transforms make of half of a symmetric value.
    fn transformed(&mut self, Chain { base, transforms, last }: &Chain) -> Result<Value> {
        let axis = transforms[*last].axis;
        let size = self.program.graph.aval(*base).shape[axis.0];
        let mut v = self.half(*base, axis)?;
        for (_, &op) in transforms.iter().enumerate().rev().filter(|(i, _)| i != last) {
            v = self.b.node1(*op, &[v])?;
        }
        if !self.b.graph().aval(v).dtype.is_complex() {
            let zero = self.filled(v, 0.0)?;
            v = self.b.node1(MakeComplex, &[v, zero])?;
        }
        let forward = transforms[*last].kind == Kind::Forward;
        if forward {
            // The inverse of the conjugate is the conjugate, which is the number itself, divided by their number.
            v = self.b.node1(Unary::conj, &[v])?;
        }
        v = self.b.node1(Fourier { kind: Kind::RealInverse, axis, size }, &[v])?;
        if forward {
            let size = self.filled(v, size as f64)?;
            v = self.b.node1(Binary::mul, &[v, size])?;
        }
        Ok(v)
    }

    /// The first half of the result of a node.
    fn first_half(&mut self, v: Value, axis: Axis) -> Result<Value> {
        let node = self.program.graph.made_by(v).expect("a result");
        let x = node.operands[0];
        match self.program.half(v, axis).expect("it is wanted") {
            Half::Strip(op, axes) => {
                let mut operands = vec![];
                for (&x, axis) in node.operands.iter().zip(axes) {
                    operands.push(match axis {
                        Some(axis) => self.half(x, axis)?,
                        None => self.new[x.index()],
                    });
                }
                self.b.node1(*op, &operands)
            }
            Half::Transform => {
                let op = transform(node).expect("it is one");
                let real = self.real(x)?;
                let half = self.b.node1(Fourier { kind: Kind::Real, ..*op }, &[real])?;
                if op.kind == Kind::Forward {
                    return Ok(half);
                }
                let size = self.program.graph.aval(v).shape[axis.0];
                let conjugate = self.b.node1(Unary::conj, &[half])?;
                let size = self.filled(half, size as f64)?;
                self.b.node1(Binary::div, &[conjugate, size])
            }
        }
    }

    /// This number, as often as a value has elements, and of its dtype.
    fn filled(&mut self, like: Value, number: f64) -> Result<Value> {
        let aval = self.b.graph().aval(like).clone();
        let value = self.b.literal(Literal::new(number).convert(aval.dtype), None);
        everywhere(self.b, value, aval.shape)
    }
}
