//! Complex values as two real ones, their parts: ops on these have native code, in chains and in loops, whose states are
//! carried in parts. Values that an op needs whole are put together for it. Only the engine runs this pass: no bit
//! changes, and the types that a user sees are as they were.

use super::narrow::SOME;
use super::{flagged, optimise};
use crate::dtype::{DType, Ranked};
use crate::error::Result;
use crate::graph::{Def, Node, Value};
use crate::growth::table;
use crate::kernels::reductions::fold::Fold;
use crate::ops::create::{everywhere, uniform};
use crate::ops::{
    Binary, Builder, Compare, Control, Convert, Graph, If, MakeComplex, Op, Part, Planar, Scan, Ternary,
    Unary, While,
};
use crate::tensor::{Aval, Literal};
use num_complex::Complex;
use std::sync::Arc;

/// Picoseconds for an element, measured on an AMD EPYC, Zen 4: to part a number or to put it together, and what is
/// spared where parts are multiplied, divided, and combined otherwise.
const CONVERTED: usize = 300;
const PRODUCT: usize = 800;
const QUOTIENT: usize = 1_500;
const SIMPLE: usize = 250;

/// Products of which a whole power is made, at most.
const POWER: u32 = 8;

/// The graph on parts of complex values; `None` if it has no such values, or would take longer.
///
/// # Errors
/// Those of [`Builder::node`]; one would be a bug of the pass.
pub fn planar(graph: &Graph) -> Result<Option<Graph>> {
    if !has_arithmetic(graph) {
        return Ok(None);
    }
    let mut times = Times::default();
    let mut new = Parted::new(graph, &mut times, 1);
    for &v in graph.inputs() {
        let whole = new.b.input(graph.aval(v).clone());
        new.whole[v.index()] = Some(whole);
    }
    let outputs = new.outputs(false)?;
    let made = new.b.finish(outputs);
    match times.spared > times.converted {
        true => optimise(&made).map(Some),
        false => Ok(None),
    }
}

/// Whether complex numbers are multiplied or divided somewhere.
fn has_arithmetic(graph: &Graph) -> bool {
    let of = |node: &Node<Op>| {
        let op = node.op.get::<Binary>();
        op.is_some_and(|op| matches!(op, Binary::mul | Binary::div | Binary::pow))
            && graph.aval(node.results[0]).dtype.is_complex()
            || node.op.regions().iter().any(|(_, region)| has_arithmetic(region))
    };
    graph.nodes().iter().any(of)
}

/// What the parts of a conversion to complex numbers are converted to.
fn part_of(op: &Convert) -> Ranked {
    Ranked { dtype: op.to.dtype.part(), ..op.to }
}

/// Estimates, in picoseconds.
#[derive(Default)]
struct Times {
    spared: usize,
    converted: usize,
}

/// A graph that is made anew: of each value the whole, its parts, or both.
struct Parted<'g, 't> {
    from: &'g Graph,
    b: Builder,
    whole: Vec<Option<Value>>,
    parts: Vec<Option<[Value; 2]>>,
    times: &'t mut Times,
    /// How often it runs.
    runs: usize,
}

/// The values of an op: of a whole one, or of the parts of one.
enum Made {
    Whole(Vec<Value>),
    Parts([Value; 2]),
}

impl<'g, 't> Parted<'g, 't> {
    fn new(from: &'g Graph, times: &'t mut Times, runs: usize) -> Parted<'g, 't> {
        let count = from.values().count();
        Parted {
            from,
            b: Builder::default(),
            whole: table(None, count),
            parts: table(None, count),
            times,
            runs,
        }
    }

    /// Makes all nodes, and gives the outputs: whole ones, or each that is complex as its parts.
    fn outputs(&mut self, in_parts: bool) -> Result<Vec<Value>> {
        for v in self.from.values() {
            let aval = self.from.aval(v);
            match self.from.def(v) {
                Def::Input(_) => {}
                Def::Constant(_) => self.whole[v.index()] = Some(self.b.constant(aval.clone())),
                Def::Literal(literal) => self.literal(v, literal),
                Def::Result(number, 0) => self.node(&self.from.nodes()[number])?,
                Def::Result(..) => {}
            }
        }
        self.all(self.from.outputs(), in_parts)
    }

    /// The values, whole ones, or each that is complex as its parts.
    fn all(&mut self, values: &[Value], in_parts: bool) -> Result<Vec<Value>> {
        let mut all = vec![];
        for &v in values {
            if in_parts && self.is_complex(v) {
                all.extend(self.parts(v)?);
            } else {
                all.push(self.whole(v)?);
            }
        }
        Ok(all)
    }

    fn is_complex(&self, v: Value) -> bool {
        self.from.aval(v).dtype.is_complex()
    }

    /// Whether the parts of a value are there.
    fn is_parted(&self, v: Value) -> bool {
        self.parts[v.index()].is_some()
    }

    fn size(&self, v: Value) -> usize {
        self.from.aval(v).shape.size()
    }

    fn spare(&mut self, v: Value, picoseconds: usize) {
        let time = self.size(v).saturating_mul(picoseconds).saturating_mul(self.runs);
        self.times.spared = self.times.spared.saturating_add(time);
    }

    fn convert(&mut self, v: Value) {
        let time = self.size(v).saturating_mul(CONVERTED).saturating_mul(self.runs);
        self.times.converted = self.times.converted.saturating_add(time);
    }

    /// A literal, and its parts.
    fn literal(&mut self, v: Value, literal: Literal) {
        let aval = self.from.aval(v);
        self.whole[v.index()] = Some(self.b.literal(literal, aval.ambiguous));
        if aval.dtype.is_complex() {
            let (part, z): (DType, Complex<f64>) = (aval.dtype.part(), literal.get());
            let ambiguous = aval.ambiguous.map(DType::part);
            let part = |x: f64, b: &mut Builder| b.literal(Literal::new(x).convert(part), ambiguous);
            self.parts[v.index()] = Some([part(z.re, &mut self.b), part(z.im, &mut self.b)]);
        }
    }

    /// A value as it was.
    fn whole(&mut self, v: Value) -> Result<Value> {
        if let Some(made) = self.whole[v.index()] {
            return Ok(made);
        }
        let [re, im] = self.parts[v.index()].expect("operands are made before");
        self.convert(v);
        let made = self.b.node1(MakeComplex, &[re, im])?;
        let made = flagged(&mut self.b, made, self.from.aval(v).ambiguous)?;
        self.whole[v.index()] = Some(made);
        Ok(made)
    }

    /// The parts of a complex value.
    fn parts(&mut self, v: Value) -> Result<[Value; 2]> {
        if let Some(made) = self.parts[v.index()] {
            return Ok(made);
        }
        let whole = self.whole[v.index()].expect("operands are made before");
        if uniform(self.b.graph(), whole).is_none() {
            self.convert(v);
        }
        let made = [self.b.node1(Part::real, &[whole])?, self.b.node1(Part::imag, &[whole])?];
        self.parts[v.index()] = Some(made);
        Ok(made)
    }

    fn node(&mut self, node: &Node<Op>) -> Result<()> {
        let made = match self.made(node)? {
            Some(made) => made,
            None => {
                let operands = self.all(&node.operands, false)?;
                Made::Whole(self.b.node(node.op.clone(), &operands)?)
            }
        };
        match made {
            Made::Parts(parts) => self.parts[node.results[0].index()] = Some(parts),
            Made::Whole(all) => {
                for (old, new) in node.results.iter().zip(all) {
                    self.whole[old.index()] = Some(new);
                }
            }
        }
        Ok(())
    }

    /// What a node makes of parts; `None` if it is as it was.
    fn made(&mut self, node: &Node<Op>) -> Result<Option<Made>> {
        if let Some(control) = node.op.control() {
            let is_complex = |v: &Value| self.is_complex(*v);
            if !node.operands.iter().chain(&node.results).any(is_complex) {
                return self.real_control(node, &control);
            }
            return self.control(node, &control);
        }
        let Some(&x) = node.operands.iter().find(|&&v| self.is_complex(v)) else {
            return self.of_real(node);
        };
        let result = node.results[0];
        if let Some(&part) = node.op.get::<Part>() {
            return self.part(part, x, result).map(Some);
        }
        if let Some(&op) = node.op.get::<Binary>() {
            return self.binary(op, node);
        }
        if let Some(&op) = node.op.get::<Compare>() {
            return self.compared(op, node);
        }
        if let Some(&op) = node.op.get::<Unary>() {
            return self.unary(op, x, result);
        }
        if let Some(op) = node.op.get::<Convert>().filter(|op| op.to.stored().is_complex()) {
            if !self.is_parted(x) {
                return Ok(None);
            }
            let to = part_of(op);
            let [re, im] = self.parts(x)?;
            return Ok(Some(Made::Parts([
                self.b.node1(Convert { to }, &[re])?,
                self.b.node1(Convert { to }, &[im])?,
            ])));
        }
        if node.op.fold().is_some_and(|(fold, _)| fold == Fold::Sum) && self.is_parted(x) {
            let [re, im] = self.parts(x)?;
            return Ok(Some(Made::Parts([
                self.b.node1(node.op.clone(), &[re])?,
                self.b.node1(node.op.clone(), &[im])?,
            ])));
        }
        self.moved(node)
    }

    /// Complex numbers of real ones.
    fn of_real(&mut self, node: &Node<Op>) -> Result<Option<Made>> {
        let result = node.results[0];
        if !self.is_complex(result) {
            return Ok(None);
        }
        if node.op.get::<MakeComplex>().is_some() {
            let [re, im] = [self.whole(node.operands[0])?, self.whole(node.operands[1])?];
            return Ok(Some(Made::Parts([re, im])));
        }
        let Some(op) = node.op.get::<Convert>() else { return Ok(None) };
        let to = part_of(op);
        let x = self.whole(node.operands[0])?;
        let re = self.b.node1(Convert { to }, &[x])?;
        let zero = self.b.literal(Literal::new(0.0).convert(to.stored()), self.b.graph().aval(re).ambiguous);
        let im = everywhere(&mut self.b, zero, self.from.aval(result).shape.clone())?;
        Ok(Some(Made::Parts([re, im])))
    }

    /// A real value with the ambiguity of the node's result.
    fn real(&mut self, made: Value, result: Value) -> Result<Made> {
        Ok(Made::Whole(vec![flagged(&mut self.b, made, self.from.aval(result).ambiguous)?]))
    }

    fn part(&mut self, part: Part, x: Value, result: Value) -> Result<Made> {
        if !self.is_parted(x) && matches!(part, Part::magnitude | Part::arg) {
            let whole = self.whole(x)?;
            return Ok(Made::Whole(self.b.node(part, &[whole])?));
        }
        let [re, im] = self.parts(x)?;
        let made = match part {
            Part::real => re,
            Part::imag => im,
            Part::magnitude => self.b.node1(Planar::Magnitude, &[re, im])?,
            Part::arg => self.b.node1(Binary::atan2, &[im, re])?,
        };
        self.real(made, result)
    }

    fn binary(&mut self, op: Binary, node: &Node<Op>) -> Result<Option<Made>> {
        let (result, operands) = (node.results[0], &node.operands);
        if op == Binary::pow {
            return self.power(operands, result);
        }
        let spared = match op {
            Binary::add | Binary::sub => SIMPLE,
            Binary::mul => PRODUCT,
            Binary::div => QUOTIENT,
            _ => return Ok(None),
        };
        let ([a, b], [c, d]) = (self.parts(operands[0])?, self.parts(operands[1])?);
        self.spare(result, spared);
        let made = match op {
            Binary::mul => self.product([a, b], [c, d])?,
            Binary::div => [
                self.b.node1(Planar::QuotientReal, &[a, b, c, d])?,
                self.b.node1(Planar::QuotientImag, &[a, b, c, d])?,
            ],
            _ => [self.b.node1(op, &[a, c])?, self.b.node1(op, &[b, d])?],
        };
        Ok(Some(Made::Parts(made)))
    }

    fn product(&mut self, [a, b]: [Value; 2], [c, d]: [Value; 2]) -> Result<[Value; 2]> {
        Ok([
            self.b.node1(Planar::ProductReal, &[a, b, c, d])?,
            self.b.node1(Planar::ProductImag, &[a, b, c, d])?,
        ])
    }

    /// A short whole power: the products of its kernel.
    fn power(&mut self, operands: &[Value], result: Value) -> Result<Option<Made>> {
        let exponent = uniform(self.from, operands[1]).map(|n| n.get::<Complex<f64>>());
        let Some(n) = exponent.filter(|n| n.im == 0.0 && (1..=POWER).any(|k| n.re == f64::from(k))) else {
            return Ok(None);
        };
        let mut base = self.parts(operands[0])?;
        self.spare(result, 2 * PRODUCT);
        let (mut left, mut made) = (n.re as u32, None);
        loop {
            if left & 1 == 1 {
                made = Some(match made {
                    None => base,
                    Some(made) => self.product(made, base)?,
                });
            }
            left >>= 1;
            if left == 0 {
                break;
            }
            base = self.product(base, base)?;
        }
        Ok(made.map(Made::Parts))
    }

    fn compared(&mut self, op: Compare, node: &Node<Op>) -> Result<Option<Made>> {
        let all = match op {
            Compare::eq => Binary::and,
            Compare::ne => Binary::or,
            _ => return Ok(None),
        };
        if !node.operands.iter().any(|&v| self.is_parted(v)) {
            return Ok(None);
        }
        let ([a, b], [c, d]) = (self.parts(node.operands[0])?, self.parts(node.operands[1])?);
        let (re, im) = (self.b.node1(op, &[a, c])?, self.b.node1(op, &[b, d])?);
        let made = self.b.node1(all, &[re, im])?;
        self.real(made, node.results[0]).map(Some)
    }

    fn unary(&mut self, op: Unary, x: Value, result: Value) -> Result<Option<Made>> {
        if !matches!(op, Unary::negate | Unary::conj) {
            return Ok(None);
        }
        let [re, im] = self.parts(x)?;
        self.spare(result, SIMPLE);
        let re = if op == Unary::conj { re } else { self.b.node1(op, &[re])? };
        Ok(Some(Made::Parts([re, self.b.node1(Unary::negate, &[im])?])))
    }

    /// The parts of what consists of elements of parts.
    fn moved(&mut self, node: &Node<Op>) -> Result<Option<Made>> {
        let consists = match node.op.get::<Ternary>() {
            Some(Ternary::Select) => vec![1, 2],
            _ => node.op.consists_of(node.operands.len()),
        };
        let result = node.results[0];
        let moves = |&(i, &v): &(usize, &Value)| self.is_complex(v) == consists.contains(&i);
        let is_parted = consists.iter().any(|&i| self.is_parted(node.operands[i]));
        if !is_parted || node.results.len() > 1 || !node.operands.iter().enumerate().all(|pair| moves(&pair))
        {
            return Ok(None);
        }
        let (mut re, mut im) = (vec![], vec![]);
        for &v in &node.operands {
            let [x, y] = if self.is_complex(v) { self.parts(v)? } else { [self.whole(v)?; 2] };
            re.push(x);
            im.push(y);
        }
        // Some have a number of their own.
        let types: Vec<&Aval> = re.iter().map(|&v| self.b.graph().aval(v)).collect();
        let part = self.from.aval(result).dtype.part();
        if !node.op.infer(&types).is_ok_and(|made| made[0].dtype == part) {
            return Ok(None);
        }
        Ok(Some(Made::Parts([self.b.node1(node.op.clone(), &re)?, self.b.node1(node.op.clone(), &im)?])))
    }

    // ---- branches and loops

    /// A branch or a loop on real values alone, inside of which there may be complex ones.
    fn real_control(&mut self, node: &Node<Op>, control: &Control) -> Result<Option<Made>> {
        if !node.op.regions().iter().any(|(_, region)| has_arithmetic(region)) {
            return Ok(None);
        }
        self.control(node, control)
    }

    /// A branch or a loop whose operands and results are parts.
    fn control(&mut self, node: &Node<Op>, control: &Control) -> Result<Option<Made>> {
        let operands = &node.operands;
        let (op, given): (Op, Vec<Value>) = match control {
            Control::If(op) => {
                let [yes, no] = &op.branches;
                let (one, other) = operands[1..].split_at(yes.inputs().len());
                let branches = [self.region(yes, 0, 1)?, self.region(no, 0, 1)?];
                let mut given = self.all(&operands[..1], true)?;
                given.extend(self.given(one)?);
                given.extend(self.given(other)?);
                (If { branches }.into(), given)
            }
            Control::While(op) => {
                let (state, rest) = operands.split_at(op.carried);
                let (one, other) = rest.split_at(op.cond.inputs().len() - op.carried);
                let cond = self.region(&op.cond, op.carried, SOME)?;
                let body = self.region(&op.body, op.carried, SOME)?;
                let mut given = self.all(state, true)?;
                let carried = given.len();
                given.extend(self.given(one)?);
                given.extend(self.given(other)?);
                (While { cond, body, carried, bound: op.bound }.into(), given)
            }
            Control::Scan(op) => {
                let (state, rest) = operands.split_at(op.carried);
                let (sliced, rest) = rest.split_at(op.sliced);
                let body = self.region(&op.body, op.carried + op.sliced, op.length)?;
                let mut given = self.all(state, true)?;
                let carried = given.len();
                given.extend(self.all(sliced, true)?);
                let sliced = given.len() - carried;
                given.extend(self.given(rest)?);
                (Scan { body, carried, sliced, ..(*op).clone() }.into(), given)
            }
            Control::Custom(_) => return Ok(None),
        };
        let mut made = self.b.node(op, &given)?.into_iter();
        let mut next = || made.next().expect("a result for each part");
        for &v in &node.results {
            if self.from.aval(v).dtype.is_complex() {
                self.parts[v.index()] = Some([next(), next()]);
            } else {
                self.whole[v.index()] = Some(next());
            }
        }
        Ok(Some(Made::Whole(vec![])))
    }

    /// What a region captures: complex values whole and in parts. What it does not read is left out afterwards.
    fn given(&mut self, values: &[Value]) -> Result<Vec<Value>> {
        let mut all = vec![];
        for &v in values {
            all.push(self.whole(v)?);
            if self.is_complex(v) {
                all.extend(self.parts(v)?);
            }
        }
        Ok(all)
    }

    /// A region on parts, of which so many inputs, the first, are given in parts alone.
    fn region(&mut self, region: &Graph, own: usize, times: usize) -> Result<Arc<Graph>> {
        let mut new = Parted::new(region, self.times, self.runs.saturating_mul(times));
        for (i, &v) in region.inputs().iter().enumerate() {
            let aval = region.aval(v);
            if i >= own || !aval.dtype.is_complex() {
                new.whole[v.index()] = Some(new.b.input(aval.clone()));
            }
            if aval.dtype.is_complex() {
                let part = Aval {
                    dtype: aval.dtype.part(),
                    ambiguous: aval.ambiguous.map(DType::part),
                    ..aval.clone()
                };
                new.parts[v.index()] = Some([new.b.input(part.clone()), new.b.input(part)]);
            }
        }
        let outputs = new.outputs(true)?;
        Ok(Arc::new(new.b.finish(outputs)))
    }
}
