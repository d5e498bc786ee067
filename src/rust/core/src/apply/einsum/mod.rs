//! Sums of products of any number of tensors over named axes.
//!
//! Operands are contracted in pairs, in the order that costs the fewest multiplications. A pair is one
//! [`DotGeneral`] where axes are summed over; its operands are not transposed, and its result only where no
//! order of operands and batch axes gives the axes as they are asked for.

mod equation;
mod order;

use super::applier::{Applier, Composition};
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::ops::attrs::Attrs;
use crate::ops::*;
use crate::shape::{Axis, Shape};
use equation::{Equation, Part, Term};
use order::{order, Label};
use std::collections::BTreeMap;

/// By name.
pub(super) const ALL: &[(&str, Composition)] = &[("einsum", |a, operands, attrs| a.einsum(operands, attrs))];

/// The label of the last axis that `...` stands for; those before it count down from here, so that labels are
/// in the order of axes. Letters are labelled after them.
const LAST: Label = 1 << 16;

/// A value and the names of its axes.
#[derive(Clone, Debug)]
struct Named {
    value: Value,
    labels: Vec<Label>,
}

/// The labels of a term of an operand or result with so many axes under `...`.
fn labels(term: &Term, unnamed: usize) -> Vec<Label> {
    let of_part = |&(part, _): &(Part, usize)| match part {
        Part::Letter(c) => vec![LAST + 1 + c as Label],
        Part::Ellipsis => (0..unnamed as Label).rev().map(|i| LAST - i).collect(),
    };
    term.parts.iter().flat_map(of_part).collect()
}

fn letter(label: Label) -> String {
    match char::from_u32(label.saturating_sub(LAST + 1)) {
        Some(c) if label > LAST => format!("`{c}`"),
        _ => "`...`".into(),
    }
}

impl Applier<'_> {
    fn einsum(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        let equation = Equation::parse(&attrs.text("equation")?)?;
        let (count, terms) = (operands.len(), equation.inputs.len());
        if count != terms {
            let expected = format!("an equation with a term for each of {count} operands");
            return Err(Error::arg("equation", expected, format!("one with {terms}")));
        }
        let values = self.join_counted(operands)?;
        let mut named = Vec::with_capacity(count);
        let mut unnamed = 0;
        for (term, &value) in equation.inputs.iter().zip(&values) {
            let (rank, letters) = (self.aval(value).shape.rank(), term.letters());
            if letters > rank || letters < rank && !term.has_ellipsis() {
                let expected = format!(
                    "{rank} letter{} for the axes of operand {}",
                    if rank == 1 { "" } else { "s" },
                    named.len() + 1
                );
                // Of too many letters the first that has no axis.
                let surplus = term.parts.iter().filter(|(part, _)| *part != Part::Ellipsis).nth(rank);
                return equation.wrong(surplus.map_or(term.end, |&(_, at)| at), &expected);
            }
            unnamed = unnamed.max(rank - letters);
            named.push(Named { value, labels: labels(term, rank - letters) });
        }
        let sizes = self.sizes(&mut named)?;
        let output = match &equation.output {
            Some(term) if unnamed > 0 && !term.has_ellipsis() => {
                let expected = "\"...\" for the axes that it stands for in operands";
                return equation.wrong(term.end, expected);
            }
            Some(term) => labels(term, unnamed),
            None => {
                let all: Vec<Label> = equation.inputs.iter().flat_map(|term| labels(term, 0)).collect();
                let once = |label: &Label| all.iter().filter(|other| *other == label).count() == 1;
                let unnamed = (0..unnamed as Label).rev().map(|i| LAST - i);
                let mut letters: Vec<Label> = all.iter().copied().filter(once).collect();
                letters.sort_unstable();
                unnamed.chain(letters).collect()
            }
        };
        for term in &mut named {
            self.take_diagonals(term)?;
        }
        for i in 0..named.len() {
            let read = self.read_by_others(&named, i, &output);
            self.sum_out(&mut named[i], &read)?;
        }
        let terms: Vec<Vec<Label>> = named.iter().map(|term| term.labels.clone()).collect();
        for (i, j) in order(&terms, &output, &sizes) {
            let (right, left) = (named.remove(j), named.remove(i));
            let mut read: Vec<Label> = output.clone();
            read.extend(named.iter().flat_map(|term| term.labels.iter().copied()));
            let asked = if named.is_empty() { Some(output.as_slice()) } else { None };
            named.push(self.contract(left, right, &read, asked)?);
        }
        let Named { value, labels } = named.pop().expect("an equation has a term");
        let axes = output.iter().map(|label| labels.iter().position(|other| other == label));
        // An axis that `...` broadcasts may be in no operand at all, if it has size 1 in each.
        let axes: Vec<Axis> = axes.flatten().map(Axis).collect();
        let value = self.formula([value], |[x]| x.transposed(axes))?;
        let shape = Shape::try_new(output.iter().map(|label| sizes[label]).collect())?;
        Ok(vec![self.reshape_to(value, shape)?])
    }

    /// The size of each label. Axes of size 1 that `...` repeats are taken from their operands.
    fn sizes(&mut self, named: &mut [Named]) -> Result<BTreeMap<Label, usize>> {
        let mut sizes: BTreeMap<Label, usize> = BTreeMap::new();
        for (i, term) in named.iter().enumerate() {
            for (axis, &label) in term.labels.iter().enumerate() {
                let size = self.aval(term.value).shape[axis];
                let known = *sizes.get(&label).unwrap_or(&size);
                let repeats = label <= LAST && (known == 1 || size == 1);
                if known != size && !repeats {
                    let first = named[..=i].iter().find(|term| term.labels.contains(&label));
                    let lhs = self.shape(first.unwrap_or(term).value);
                    let (op, rhs) = ("nv_einsum".into(), self.shape(term.value));
                    let what = format!("Axes called {} have two sizes", letter(label));
                    return Err(Error::SizeMismatch { op, lhs, rhs, what, l: known, r: size });
                }
                sizes.insert(label, if known == 1 { size } else { known });
            }
        }
        for term in named {
            let shape = self.shape(term.value);
            let is_one = |axis: usize, label: Label| label <= LAST && shape[axis] == 1;
            let ones: Vec<Axis> =
                (0..shape.rank()).filter(|&axis| is_one(axis, term.labels[axis])).map(Axis).collect();
            term.value = self.reshape_to(term.value, shape.without(&ones))?;
            let mut axis = 0;
            term.labels.retain(|_| {
                axis += 1;
                !ones.contains(&Axis(axis - 1))
            });
        }
        Ok(sizes)
    }

    /// The diagonals of axes that have one label.
    fn take_diagonals(&mut self, term: &mut Named) -> Result<()> {
        let repeated = |labels: &[Label]| {
            let twice = |&(i, label): &(usize, &Label)| labels[..i].contains(label);
            let (second, label) = labels.iter().enumerate().find(twice)?;
            Some((labels.iter().position(|other| other == label)?, second))
        };
        while let Some((first, second)) = repeated(&term.labels) {
            term.value = self.diagonal(term.value, Axis(first), Axis(second), [0, 0])?;
            let label = term.labels.remove(second);
            term.labels.remove(first);
            term.labels.push(label);
        }
        Ok(())
    }

    /// Labels that other operands or the result have.
    fn read_by_others(&self, named: &[Named], i: usize, output: &[Label]) -> Vec<Label> {
        let others = named.iter().enumerate().filter(|&(j, _)| j != i);
        others.flat_map(|(_, term)| term.labels.iter()).chain(output).copied().collect()
    }

    /// The sum over axes that nothing reads.
    fn sum_out(&mut self, term: &mut Named, read: &[Label]) -> Result<()> {
        let axes: Vec<Axis> =
            (0..term.labels.len()).filter(|&axis| !read.contains(&term.labels[axis])).map(Axis).collect();
        term.value = self.formula([term.value], |[x]| x.summed(axes))?;
        term.labels.retain(|label| read.contains(label));
        Ok(())
    }

    /// The product of two values, summed over the labels that nothing else reads; with its axes as they are
    /// asked for, if that costs nothing.
    fn contract(
        &mut self,
        left: Named,
        right: Named,
        read: &[Label],
        asked: Option<&[Label]>,
    ) -> Result<Named> {
        let shared: Vec<Label> = left.labels.iter().copied().filter(|l| right.labels.contains(l)).collect();
        let (mut batch, summed): (Vec<Label>, Vec<Label>) =
            shared.iter().partition(|label| read.contains(label));
        let free =
            |term: &Named| term.labels.iter().copied().filter(|l| !shared.contains(l)).collect::<Vec<_>>();
        let (own, others) = (free(&left), free(&right));
        let dtype = self.aval(left.value).dtype;
        // Without rows and columns, or without a sum, there are no matrices to multiply.
        let is_elementwise = summed.is_empty() || own.is_empty() && others.is_empty();
        if !batch.is_empty() && is_elementwise && !dtype.is_half() {
            let all = [&own[..], &others, &batch, &summed].concat();
            return self.product_of_elements(left, right, all, &summed, asked);
        }
        if let Some(asked) = asked {
            batch.sort_by_key(|label| asked.iter().position(|other| other == label));
        }
        let candidates = [(false, true), (true, true), (false, false), (true, false)];
        let labels_of = |&(swapped, batch_last): &(bool, bool)| {
            let rest = if swapped { [&others[..], &own].concat() } else { [&own[..], &others].concat() };
            if batch_last {
                [rest, batch.clone()].concat()
            } else {
                [batch.clone(), rest].concat()
            }
        };
        let fits = candidates.iter().find(|&one| asked.is_some_and(|asked| labels_of(one) == asked));
        let chosen = fits.unwrap_or(&candidates[0]);
        let labels = labels_of(chosen);
        let (lhs, rhs) = if chosen.0 { (right, left) } else { (left, right) };
        let axes = |term: &Named, of: &[Label]| -> Vec<Axis> {
            of.iter()
                .filter_map(|label| term.labels.iter().position(|other| other == label))
                .map(Axis)
                .collect()
        };
        let op = DotGeneral {
            contracting: [axes(&lhs, &summed), axes(&rhs, &summed)],
            batching: [axes(&lhs, &batch), axes(&rhs, &batch)],
            batch_last: chosen.1 && !batch.is_empty(),
        };
        let value = self.builder.node1(Op::DotGeneral(op), &[lhs.value, rhs.value])?;
        Ok(Named { value, labels })
    }

    /// The product of elements with equal labels, which are these, and its sum.
    fn product_of_elements(
        &mut self,
        left: Named,
        right: Named,
        mut all: Vec<Label>,
        summed: &[Label],
        asked: Option<&[Label]>,
    ) -> Result<Named> {
        if let Some(asked) = asked {
            all.sort_by_key(|label| asked.iter().position(|other| other == label).unwrap_or(asked.len()));
        }
        let size = |label: &Label| {
            let of = |term: &Named| {
                let axis = term.labels.iter().position(|other| other == label)?;
                Some(self.aval(term.value).shape[axis])
            };
            of(&left).or(of(&right)).expect("a label of one of both")
        };
        let shape = Shape::try_new(all.iter().map(size).collect())?;
        let places = [&left, &right].map(|term| {
            let place =
                |label: &Label| all.iter().position(|other| other == label).expect("one of all labels");
            term.labels.iter().map(|label| Axis(place(label))).collect::<Vec<_>>()
        });
        let gone: Vec<Axis> = (0..all.len()).filter(|&i| summed.contains(&all[i])).map(Axis).collect();
        let value = self.formula([left.value, right.value], |[x, y]| {
            let [x, y] = [(x, &places[0]), (y, &places[1])].map(|(x, axes)| {
                let mut order: Vec<usize> = (0..axes.len()).collect();
                order.sort_by_key(|&i| axes[i]);
                let sorted: Vec<Axis> = order.iter().map(|&i| axes[i]).collect();
                x.transposed(order.into_iter().map(Axis).collect()).repeated(&shape, &sorted)
            });
            (x * y).summed(gone)
        })?;
        all.retain(|label| !summed.contains(label));
        Ok(Named { value, labels: all })
    }
}
