//! What is known of the symmetry of values: `v[-k] = conj(v[k])`, or its negative, where `-k` turns the indices
//! along some axes around, all but the first.

use crate::graph::{Def, Node, NODE};
use crate::growth::table;
use crate::ops::{
    Binary, BroadcastInDim, Convert, Fourier, Graph, MakeComplex, Op, Part, Ternary, Transpose, Unary,
};
use crate::passes::transposes::is_elementwise;
use crate::shape::Axis;
use crate::stop;
use crate::tensor::{Aval, Literal};
use num_complex::Complex;

/// Axes, each a bit.
pub(super) type Axes = u64;

/// The axis as a bit; none for one beyond the 64th, along which nothing is symmetric.
pub(super) fn bit(axis: Axis) -> Axes {
    1u64.checked_shl(axis.0 as u32).unwrap_or(0)
}

/// Symmetries of a value.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Symmetry {
    /// Axes along which an index may be turned around or not: those where all elements are the same, or at most two.
    free: Axes,
    /// Sets of axes along which indices are turned around together, each with whether the conjugate is negated.
    /// A set of none says that the value is real, or imaginary.
    sets: Vec<(Axes, bool)>,
}

/// Sets that are kept of a value, at most.
const MOST: usize = 6;

impl Symmetry {
    /// Of a value of which only the type is known.
    pub fn of(aval: &Aval) -> Symmetry {
        let sets = if aval.dtype.is_complex() { vec![] } else { vec![(0, false)] };
        Symmetry { free: short(aval), sets }
    }

    /// Whether it is the conjugate of itself with these axes turned around.
    pub fn has(&self, axes: Axes) -> bool {
        self.sets.iter().any(|&(set, odd)| !odd && (set ^ axes) & !self.free == 0)
    }

    /// Whether all elements are real.
    pub fn is_real(&self) -> bool {
        self.has(0)
    }

    fn new(free: Axes, sets: impl IntoIterator<Item = (Axes, bool)>) -> Symmetry {
        let mut kept: Vec<(Axes, bool)> = vec![];
        for (set, odd) in sets {
            let set = (set & !free, odd);
            if kept.len() < MOST && !kept.contains(&set) {
                kept.push(set);
            }
        }
        Symmetry { free, sets: kept }
    }

    /// Of values that are symmetric together: the sets of axes that all of them may be turned around along, each with
    /// the signs.
    fn met(all: &[&Symmetry]) -> (Axes, Vec<(Axes, Vec<bool>)>) {
        let Some((first, rest)) = all.split_first() else { return (Axes::MAX, vec![(0, vec![])]) };
        let mut free = first.free;
        let mut met: Vec<(Axes, Vec<bool>)> = first.sets.iter().map(|&(set, odd)| (set, vec![odd])).collect();
        for other in rest {
            let mut next = vec![];
            for (set, signs) in &met {
                for &(with, odd) in &other.sets {
                    if set & !with & !other.free == 0 && with & !set & !free == 0 && next.len() < MOST {
                        next.push((set | with, signs.iter().copied().chain([odd]).collect()));
                    }
                }
            }
            met = next;
            free &= other.free;
        }
        (free, met)
    }
}

/// Axes of at most two elements.
fn short(aval: &Aval) -> Axes {
    (0..aval.shape.rank()).filter(|&i| aval.shape[i] <= 2).fold(0, |axes, i| axes | bit(Axis(i)))
}

/// The symmetries of all values of a graph, of whose inputs these are known.
pub(super) fn symmetries(graph: &Graph, inputs: &[Symmetry]) -> Vec<Symmetry> {
    let mut known: Vec<Symmetry> = table(Symmetry::default(), graph.values().count());
    for value in graph.values() {
        stop::work(NODE);
        let aval = graph.aval(value);
        known[value.index()] = match graph.def(value) {
            Def::Input(i) => inputs[i].clone(),
            Def::Constant(_) => Symmetry::of(aval),
            Def::Literal(literal) => of_literal(&literal),
            Def::Result(number, _) => of_node(graph, &graph.nodes()[number], aval, &known),
        };
    }
    known
}

fn of_literal(literal: &Literal) -> Symmetry {
    let mut sets = vec![];
    if literal.dtype().is_complex() {
        let z: Complex<f64> = literal.get();
        sets.extend((z.im == 0.0).then_some((0, false)));
        sets.extend((z.re == 0.0).then_some((0, true)));
    } else {
        sets.push((0, false));
    }
    Symmetry { free: 0, sets }
}

fn of_node(graph: &Graph, node: &Node<Op>, aval: &Aval, known: &[Symmetry]) -> Symmetry {
    let least = Symmetry::of(aval);
    let made = if is_elementwise(graph, node) {
        elementwise(graph, node, aval, known)
    } else {
        rearranged(node, known)
    };
    match made {
        Some(made) => {
            let free = made.free | least.free;
            // What is real by its type is so in any case.
            Symmetry::new(free, least.sets.into_iter().chain(made.sets))
        }
        None => least,
    }
}

/// Of an op that is no function of elements at the same place.
fn rearranged(node: &Node<Op>, known: &[Symmetry]) -> Option<Symmetry> {
    let x = &known[node.operands.first()?.index()];
    if let Some(op) = node.op.get::<Fourier>() {
        let axis = bit(op.axis);
        if !op.is_whole() {
            return None;
        }
        // Of equal elements, all but the first number are 0.
        let turned = if x.free & axis == 0 { axis } else { 0 };
        return (axis != 0)
            .then(|| Symmetry::new(x.free, x.sets.iter().map(|&(set, odd)| (set ^ turned, odd))));
    }
    if let Some(op) = node.op.get::<BroadcastInDim>() {
        let moved = |axes| moved(axes, &op.axes);
        let new = (0..op.shape.rank()).map(Axis).filter(|axis| !op.axes.contains(axis));
        let free = new.fold(moved(x.free), |axes, axis| axes | bit(axis));
        return Some(Symmetry::new(free, x.sets.iter().map(|&(set, odd)| (moved(set), odd))));
    }
    if let Some(op) = node.op.get::<Transpose>() {
        let mut to = vec![Axis(0); op.permutation.len()];
        op.permutation.iter().enumerate().for_each(|(i, axis)| to[axis.0] = Axis(i));
        let sets = x.sets.iter().map(|&(set, odd)| (moved(set, &to), odd));
        return Some(Symmetry::new(moved(x.free, &to), sets));
    }
    // Elements of real values are real wherever they go.
    let real = node.op.rearranges() && node.operands.iter().all(|v| known[v.index()].is_real());
    real.then(|| Symmetry::new(0, [(0, false)]))
}

/// Axes as axes of another value: axis `i` is `to[i]` there.
fn moved(axes: Axes, to: &[Axis]) -> Axes {
    to.iter()
        .enumerate()
        .filter(|(i, _)| axes & bit(Axis(*i)) != 0)
        .fold(0, |axes, (_, &axis)| axes | bit(axis))
}

/// Of a function of elements at the same place.
fn elementwise(graph: &Graph, node: &Node<Op>, aval: &Aval, known: &[Symmetry]) -> Option<Symmetry> {
    let all: Vec<&Symmetry> = node.operands.iter().map(|v| &known[v.index()]).collect();
    let complex = aval.dtype.is_complex() || node.operands.iter().any(|v| graph.aval(*v).dtype.is_complex());
    let (free, met) = Symmetry::met(&all);
    Some(Symmetry::new(
        free,
        met.into_iter().filter_map(|(set, odd)| Some((set, sign(&node.op, &odd, complex)?))),
    ))
}

/// Whether a function of operands that are odd or not is odd; `None` if it is neither odd nor even, or nobody knows.
fn sign(op: &Op, odd: &[bool], complex: bool) -> Option<bool> {
    let alike = |odd: &[bool]| odd.iter().all(|x| *x == odd[0]).then_some(odd[0]);
    if let Some(op) = op.get::<Binary>() {
        if matches!(op, Binary::mul | Binary::mul_no_nan | Binary::div) {
            return Some(odd[0] ^ odd[1]);
        }
        if matches!(op, Binary::add | Binary::sub) {
            return alike(odd);
        }
    }
    if let Some(op) = op.get::<Unary>() {
        if matches!(op, Unary::negate | Unary::conj) {
            return Some(odd[0]);
        }
        // Functions without a branch cut: that of a conjugate is the conjugate.
        if complex && matches!(op, Unary::exp | Unary::sin | Unary::cos | Unary::sinh | Unary::cosh) {
            return (!odd[0]).then_some(false);
        }
    }
    if let Some(op) = op.get::<Part>() {
        return match op {
            Part::real => Some(odd[0]),
            Part::imag => Some(!odd[0]),
            Part::magnitude => Some(false),
            // That of a negative number is no odd function.
            Part::arg => None,
        };
    }
    if op.get::<MakeComplex>().is_some() {
        return (odd[0] != odd[1]).then_some(odd[0]);
    }
    if op.get::<Convert>().is_some() {
        return Some(odd[0]);
    }
    if op.get::<Ternary>() == Some(&Ternary::Select) {
        return alike(&odd[1..]).filter(|_| !odd[0]);
    }
    // Any function of real numbers that are the same on both sides.
    (!complex && odd.iter().all(|odd| !odd)).then_some(false)
}
