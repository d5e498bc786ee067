//! States of loops that are stored as doubles, and hold nothing but singles: a state that begins with numbers of R is
//! ambiguous, and stays so where elements of singles are assigned to it. They are carried as singles, so that nothing is
//! converted in an iteration. Only the engine runs this pass: the types that a user sees are as they were.

use super::{optimise, rebuilt, within_regions};
use crate::dtype::{DType, Kind, Ranked};
use crate::error::Result;
use crate::graph::{Def, Node, Value};
use crate::growth::table;
use crate::ops::{Builder, Control, Convert, Graph, Op, Scan, While};
use crate::tensor::{Aval, Literal};
use std::sync::Arc;

/// What states are stored as, and what holds all that is in them.
const WIDE: DType = DType::F64;
const NARROW: DType = DType::F32;

/// Iterations of a loop of which it is not known how many there are.
pub(super) const SOME: usize = 16;

/// The graph with such states; `None` if no loop has any.
///
/// # Errors
/// Those of [`Builder::node`]; one would be a bug of the pass.
pub fn narrow(graph: &Graph) -> Result<Option<Graph>> {
    if !graph.nodes().iter().any(|node| node.op.has_regions()) {
        return Ok(None);
    }
    let inner = within_regions(graph, narrow)?;
    let graph = inner.as_ref().unwrap_or(graph);
    let known = Known::of(graph, &[]);
    let mut changed = false;
    let made = rebuilt(graph, |b, number, operands| {
        let node = &graph.nodes()[number];
        let Some(looped) = Looped::of(&node.op).filter(|_| node.results.iter().any(|&v| known.holds(v)))
        else {
            return Ok(None);
        };
        let fits = looped.fitting(&known.of_all(&node.operands));
        if !looped.is_worth_it(&fits) {
            return Ok(None);
        }
        changed = true;
        let mut operands = operands.to_vec();
        for (operand, _) in operands.iter_mut().zip(&fits).filter(|(_, &fits)| fits) {
            *operand = b.node1(Convert::known(NARROW), &[*operand])?;
        }
        let results = b.node(looped.made(&fits)?, &operands)?;
        let wide = |(&old, new): (&Value, Value)| match graph.aval(old).ranked() {
            to if b.graph().aval(new).dtype != to.stored() => b.node1(Convert { to }, &[new]),
            _ => Ok(new),
        };
        node.results.iter().zip(results).map(wide).collect::<Result<Vec<Value>>>().map(Some)
    })?;
    match changed {
        true => optimise(&made).map(Some),
        false => Ok(inner),
    }
}

/// Which values of a graph are doubles that are known to be singles.
struct Known(Vec<bool>);

impl Known {
    /// Where inputs with these numbers are.
    fn of(graph: &Graph, inputs: &[bool]) -> Known {
        let mut known = Known(table(false, graph.values().count()));
        for v in graph.values().filter(|&v| graph.aval(v).dtype == WIDE) {
            known.0[v.index()] = match graph.def(v) {
                Def::Input(i) => inputs.get(i).copied().unwrap_or(false),
                Def::Literal(literal) => is_exact(literal),
                Def::Constant(_) | Def::Result(..) => false,
            };
        }
        for node in graph.nodes() {
            if let Some(looped) = Looped::of(&node.op) {
                let fits = looped.fitting(&known.of_all(&node.operands));
                let state = node.results.iter().zip(&fits[..looped.carried]);
                state.for_each(|(v, &fits)| known.0[v.index()] = fits);
            } else if let Some(&v) = node.results.first().filter(|&&v| graph.aval(v).dtype == WIDE) {
                known.0[v.index()] = known.of_result(graph, node);
            }
        }
        known
    }

    fn of_all(&self, values: &[Value]) -> Vec<bool> {
        values.iter().map(|&v| self.holds(v)).collect()
    }

    fn holds(&self, v: Value) -> bool {
        self.0[v.index()]
    }

    fn of_result(&self, graph: &Graph, node: &Node<Op>) -> bool {
        let parts = node.op.consists_of(node.operands.len());
        widens(graph, node) || !parts.is_empty() && parts.iter().all(|&i| self.holds(node.operands[i]))
    }
}

/// Whether a number is the same as a single and back.
fn is_exact(literal: Literal) -> bool {
    literal.convert(NARROW).convert(WIDE) == literal
}

/// Whether a node makes doubles of singles, or of what these hold.
fn widens(graph: &Graph, node: &Node<Op>) -> bool {
    let from = || graph.aval(node.operands[0]).dtype;
    node.op.get::<Convert>().is_some_and(|op| op.to.stored() == WIDE)
        && from().kind() == Kind::Float
        && from() != WIDE
}

/// Whether a node makes singles.
fn narrows(node: &Node<Op>) -> bool {
    node.op.get::<Convert>().is_some_and(|op| op.to.stored() == NARROW)
}

/// A loop, with its regions and the operands of each: the last one is the body.
struct Looped<'g> {
    regions: Vec<(&'g Graph, Vec<usize>)>,
    carried: usize,
    times: usize,
    op: &'g Op,
}

impl<'g> Looped<'g> {
    fn of(op: &'g Op) -> Option<Looped<'g>> {
        let (regions, carried, times) = match op.control()? {
            Control::Scan(scan) => {
                (vec![(&*scan.body, (0..scan.body.inputs().len()).collect())], scan.carried, scan.length)
            }
            Control::While(repeated) => {
                let state = 0..repeated.carried;
                let tested = repeated.cond.inputs().len();
                let rest = tested..tested + repeated.body.inputs().len() - repeated.carried;
                let regions = vec![
                    (&*repeated.cond, (0..tested).collect()),
                    (&*repeated.body, state.chain(rest).collect()),
                ];
                (regions, repeated.carried, SOME)
            }
            Control::If(_) | Control::Custom(_) => return None,
        };
        Some(Looped { regions, carried, times, op })
    }

    /// Of operands that are singles, those that are in all iterations.
    fn fitting(&self, given: &[bool]) -> Vec<bool> {
        let mut fits = given.to_vec();
        let (body, numbers) = self.regions.last().expect("a loop has a body");
        // Most states are none.
        while fits[..self.carried].contains(&true) {
            let inputs: Vec<bool> = numbers.iter().map(|&i| fits[i]).collect();
            let known = Known::of(body, &inputs);
            let fit = |i: usize| fits[i] && known.holds(body.outputs()[i]);
            let next: Vec<bool> = (0..self.carried).map(fit).collect();
            if next == fits[..self.carried] {
                break;
            }
            fits[..self.carried].copy_from_slice(&next);
        }
        fits
    }

    /// Whether fewer elements are converted then.
    fn is_worth_it(&self, fits: &[bool]) -> bool {
        let (spared, converted) = self.conversions(fits);
        let (body, _) = self.regions.last().expect("a loop has a body");
        let state = (0..self.carried).filter(|&i| fits[i]).map(|i| body.aval(body.inputs()[i]).shape.size());
        // The last state is a double again.
        spared > converted && (spared - converted).saturating_mul(self.times) >= state.sum()
    }

    /// The elements that an iteration converts, and those that it would.
    fn conversions(&self, fits: &[bool]) -> (usize, usize) {
        let (mut spared, mut converted) = (0, 0);
        for (region, numbers) in &self.regions {
            let inputs: Vec<bool> = numbers.iter().map(|&i| fits[i]).collect();
            let known = Known::of(region, &inputs);
            let mut wide = table(false, region.values().count());
            for node in region.nodes() {
                let size = |v: Value| region.aval(v).shape.size();
                if widens(region, node) || narrows(node) && known.holds(node.operands[0]) {
                    spared += size(node.results[0]);
                } else if let Some(looped) = Looped::of(&node.op) {
                    let given = known.of_all(&node.operands);
                    let (more, less) = looped.conversions(&looped.fitting(&given));
                    spared = spared.saturating_add(more.saturating_mul(looped.times));
                    converted = less.saturating_mul(looped.times).saturating_add(converted);
                } else if !known.holds(node.results[0]) {
                    node.operands.iter().for_each(|v| wide[v.index()] = true);
                }
            }
            let outputs = region.outputs().iter().enumerate();
            outputs
                .filter(|&(i, _)| !fits[..self.carried].get(i).copied().unwrap_or(false))
                .for_each(|(_, v)| wide[v.index()] = true);
            let read = region.values().filter(|&v| wide[v.index()] && known.holds(v));
            let read = read.filter(|&v| !matches!(region.def(v), Def::Literal(_)));
            converted = read.fold(converted, |sum, v| sum.saturating_add(region.aval(v).shape.size()));
        }
        (spared, converted)
    }

    /// The loop on singles instead of these operands.
    fn made(&self, fits: &[bool]) -> Result<Op> {
        let mut regions = vec![];
        for (number, (region, numbers)) in self.regions.iter().enumerate() {
            let inputs: Vec<bool> = numbers.iter().map(|&i| fits[i]).collect();
            let is_body = number + 1 == self.regions.len();
            let outputs = if is_body { &fits[..self.carried] } else { &[] };
            regions.push(Arc::new(optimise(&Narrowed::region(region, &inputs, outputs)?)?));
        }
        let body = regions.pop().expect("a loop has a body");
        Ok(match self.op.control() {
            Some(Control::Scan(op)) => Scan { body, ..op.clone() }.into(),
            Some(Control::While(op)) => {
                While { cond: regions.pop().expect("and a condition"), body, ..op.clone() }.into()
            }
            _ => unreachable!("it is a loop"),
        })
    }
}

/// A region that is made anew: of each value the double, the single, or both.
struct Narrowed<'g> {
    from: &'g Graph,
    known: Known,
    b: Builder,
    wide: Vec<Option<Value>>,
    narrow: Vec<Option<Value>>,
}

impl<'g> Narrowed<'g> {
    /// A region with these inputs and outputs as singles.
    fn region(from: &'g Graph, inputs: &[bool], outputs: &[bool]) -> Result<Graph> {
        let count = from.values().count();
        let known = Known::of(from, inputs);
        let mut new = Narrowed {
            from,
            known,
            b: Builder::default(),
            wide: table(None, count),
            narrow: table(None, count),
        };
        for v in from.values() {
            let aval = from.aval(v);
            match from.def(v) {
                Def::Input(_) if new.known.holds(v) => {
                    new.narrow[v.index()] = Some(new.b.input(Aval::known(NARROW, aval.shape.clone())));
                }
                Def::Input(_) => new.wide[v.index()] = Some(new.b.input(aval.clone())),
                Def::Constant(_) => new.wide[v.index()] = Some(new.b.constant(aval.clone())),
                Def::Literal(literal) => new.wide[v.index()] = Some(new.b.literal(literal, aval.ambiguous)),
                Def::Result(number, 0) => new.node(&from.nodes()[number])?,
                Def::Result(..) => {}
            }
        }
        let mut made = vec![];
        for (i, &v) in from.outputs().iter().enumerate() {
            made.push(new.read(v, outputs.get(i).copied().unwrap_or(false))?);
        }
        Ok(new.b.finish(made))
    }

    /// A value as a single, or as what it was.
    fn read(&mut self, v: Value, as_single: bool) -> Result<Value> {
        let all = if as_single { &self.narrow } else { &self.wide };
        if let Some(made) = all[v.index()] {
            return Ok(made);
        }
        let (other, to) = match as_single {
            true => (self.wide[v.index()], Ranked::known(NARROW)),
            false => (self.narrow[v.index()], self.from.aval(v).ranked()),
        };
        let made = self.b.node1(Convert { to }, &[other.expect("operands are made before")])?;
        let all = if as_single { &mut self.narrow } else { &mut self.wide };
        all[v.index()] = Some(made);
        Ok(made)
    }

    fn node(&mut self, node: &Node<Op>) -> Result<()> {
        let holds = |v: &Value| self.known.holds(*v);
        let (op, singles): (Op, Vec<bool>) = match Looped::of(&node.op) {
            Some(looped) if node.results.iter().any(holds) => {
                let fits = looped.fitting(&self.known.of_all(&node.operands));
                (looped.made(&fits)?, fits)
            }
            _ if widens(self.from, node) => {
                let single = self.read(node.operands[0], false)?;
                self.narrow[node.results[0].index()] = Some(match self.b.graph().aval(single).dtype {
                    NARROW => single,
                    _ => self.b.node1(Convert::known(NARROW), &[single])?,
                });
                return Ok(());
            }
            _ => {
                let parts =
                    if holds(&node.results[0]) { node.op.consists_of(node.operands.len()) } else { vec![] };
                (node.op.clone(), (0..node.operands.len()).map(|i| parts.contains(&i)).collect())
            }
        };
        let mut operands = vec![];
        for (&v, &single) in node.operands.iter().zip(&singles) {
            operands.push(self.read(v, single)?);
        }
        for (&old, new) in node.results.iter().zip(self.b.node(op, &operands)?) {
            let all = if self.known.holds(old) { &mut self.narrow } else { &mut self.wide };
            all[old.index()] = Some(new);
        }
        Ok(())
    }
}
