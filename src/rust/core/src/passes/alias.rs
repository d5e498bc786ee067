//! Alias analysis: which outputs of a program may take over the memory of donated inputs. It depends on the
//! graph alone; the memory planner chooses among the same candidates by the schedule.

use super::Views;
use crate::dtype::DType;
use crate::graph::{Def, Value, NODE};
use crate::growth::table;
use crate::ops::Graph;
use crate::stop;
use rustc_hash::{FxHashMap, FxHashSet};

/// The outputs of each dtype and number of elements, ascending, and the roots of outputs.
pub(crate) struct Candidates {
    by_type: FxHashMap<(DType, usize), Vec<usize>>,
    returned: FxHashSet<Value>,
}

impl Candidates {
    pub(crate) fn of(graph: &Graph, views: &Views) -> Candidates {
        let mut by_type: FxHashMap<_, Vec<usize>> = FxHashMap::default();
        for (k, &v) in graph.outputs().iter().enumerate() {
            let aval = graph.aval(v);
            by_type.entry((aval.dtype, aval.shape.size())).or_default().push(k);
        }
        Candidates { by_type, returned: graph.outputs().iter().map(|&v| views.root(v)).collect() }
    }

    /// The outputs that may take over the memory of an input: those of its dtype and with as many elements.
    /// There are none if an output is the input or a view of it, since its readers read the input.
    pub(crate) fn for_input(&self, graph: &Graph, input: usize) -> &[usize] {
        let (value, aval) = (graph.inputs()[input], graph.aval(graph.inputs()[input]));
        match self.by_type.get(&(aval.dtype, aval.shape.size())) {
            Some(outputs) if !self.returned.contains(&value) => outputs,
            _ => &[],
        }
    }
}

/// For each output, the donated input whose memory it takes over, if there is one. Inputs choose in the order
/// in which they are `donated`: the first output that is made by the node that reads the input last, or by a
/// later one; if there is none, the first remaining one, which must be computed elsewhere and copied.
pub fn input_output_aliases(graph: &Graph, donated: &[usize]) -> Vec<Option<usize>> {
    let mut aliases = vec![None; graph.outputs().len()];
    if donated.is_empty() {
        return aliases;
    }
    let views = Views::of(graph);
    // For each value, the last node that reads it or a view of it.
    let mut last_read: Vec<Option<usize>> = table(None, graph.values().count());
    for (number, node) in graph.nodes().iter().enumerate() {
        stop::work(NODE);
        node.operands.iter().for_each(|&v| last_read[views.root(v).index()] = Some(number));
    }
    // For each output, the node that makes it, if the output is no view and no earlier output is the same
    // value.
    let mut taken = table(false, graph.values().count());
    let mut made = |&v: &Value| {
        let root = views.root(v);
        let first = views.is_whole(v) && !std::mem::replace(&mut taken[root.index()], true);
        match graph.def(root) {
            Def::Result(node, _) if first => Some(node),
            _ => None,
        }
    };
    let made: Vec<Option<usize>> = graph.outputs().iter().map(&mut made).collect();
    let candidates = Candidates::of(graph, &views);
    for &input in donated {
        let last = last_read[graph.inputs()[input].index()];
        let mut free = candidates.for_input(graph, input).iter().filter(|&&k| aliases[k].is_none());
        let mut in_place = free.clone().filter(|&&k| made[k].is_some_and(|node| Some(node) >= last));
        if let Some(&k) = in_place.next().or(free.next()) {
            aliases[k] = Some(input);
        }
    }
    aliases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reductions::fold::Fold;
    use crate::ops::{Binary, Builder, Convert, Op, Reduction, Transpose, Unary};
    use crate::shape::Axis;
    use crate::tensor::Aval;

    /// The aliases of a program with two donated inputs of one type and these outputs.
    fn pairs(outputs: impl FnOnce(&mut Builder, [Value; 2]) -> Vec<Value>) -> Vec<Option<usize>> {
        let mut b = Builder::default();
        let inputs = [0, 1].map(|_| b.input(Aval::known(DType::F32, [2, 2].into())));
        let outputs = outputs(&mut b, inputs);
        input_output_aliases(&b.finish(outputs), &[0, 1])
    }

    fn unary(b: &mut Builder, op: Unary, x: Value) -> Value {
        b.node1(Op::Unary(op), &[x]).unwrap()
    }

    fn transpose(b: &mut Builder, x: Value) -> Value {
        let permutation = vec![Axis(1), Axis(0)];
        b.node1(Op::Transpose(Transpose { permutation }), &[x]).unwrap()
    }

    #[test]
    fn an_output_is_made_where_an_input_of_its_type_was() {
        assert_eq!(
            pairs(|b, [x, y]| vec![unary(b, Unary::exp, y), unary(b, Unary::exp, x)]),
            [Some(1), Some(0)]
        );
        // The first input chooses first.
        assert_eq!(pairs(|b, [x, y]| vec![b.node1(Op::Binary(Binary::add), &[x, y]).unwrap()]), [Some(0)]);
        let to_double = Op::Convert(Convert::known(DType::F64));
        assert_eq!(pairs(|b, [x, _]| vec![b.node1(to_double, &[x]).unwrap()]), [None]);
        assert_eq!(pairs(|_, _| vec![]), []);
    }

    #[test]
    fn an_input_that_is_an_output_is_not_given_away() {
        assert_eq!(pairs(|b, [x, y]| vec![unary(b, Unary::exp, y), x]), [Some(1), None]);
        let seen = pairs(|b, [x, y]| vec![unary(b, Unary::exp, x), transpose(b, x), transpose(b, y)]);
        assert_eq!(seen, [None; 3]);
    }

    #[test]
    fn outputs_that_are_made_after_the_input_is_read_come_first() {
        // `early` is made before `x` is read, `late` of it.
        let outputs = |b: &mut Builder, [x, y]: [Value; 2]| {
            let early = unary(b, Unary::exp, y);
            let early = unary(b, Unary::sin, early);
            let late = b.node1(Op::Binary(Binary::add), &[x, early]).unwrap();
            (early, late)
        };
        let both = pairs(|b, inputs| {
            let (early, late) = outputs(b, inputs);
            vec![early, late]
        });
        assert_eq!(both, [Some(1), Some(0)]);
        // An output that is made before is taken if there is no other.
        let only = pairs(|b, inputs| {
            let (early, late) = outputs(b, inputs);
            let sum = Op::Reduction(Reduction { fold: Fold::Sum, axes: vec![Axis(0)], drop: true });
            vec![early, b.node1(sum, &[late]).unwrap()]
        });
        assert_eq!(only, [Some(0), None]);
        // A value that is two outputs is made for the first of them.
        let twice = pairs(|b, inputs| {
            let (early, late) = outputs(b, inputs);
            vec![transpose(b, early), late, late]
        });
        assert_eq!(twice, [Some(1), Some(0), None]);
    }
}
