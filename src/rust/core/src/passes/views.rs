//! Views: values whose elements are those of another value, in a layout of their own, such as transposes,
//! broadcasts, slices, many reshapes, and joined parts of one value that lie evenly in it. They cost no step.

use crate::graph::{Def, Node, Value, NODE};
use crate::growth::table;
use crate::ops::{Graph, Op, Source};
use crate::shape::Axis;
use crate::stop;
use crate::tensor::{Layout, Literal};

/// The root and the layout of all values of a graph.
#[derive(Debug)]
pub struct Views {
    roots: Vec<Value>,
    layouts: Vec<Option<Layout>>,
    whole: Vec<bool>,
    one: Vec<bool>,
}

impl Views {
    /// Finds the views in a graph. Their layouts depend on shapes alone.
    pub fn of(graph: &Graph) -> Views {
        let roots: Vec<Value> = graph.values().collect();
        let count = roots.len();
        let mut views = Views { roots, layouts: table(None, count), whole: table(true, count), one: vec![] };
        views.one = graph.values().map(|v| graph.aval(v).shape.size() == 1).collect();
        for node in graph.nodes() {
            stop::work(NODE);
            let &[result] = node.results.as_slice() else { continue };
            let to = graph.aval(result);
            let Some((root, layout)) = views.view(graph, node) else { continue };
            views.roots[result.index()] = root;
            views.whole[result.index()] = layout.offset == 0
                && layout.is_dense(&to.shape)
                && to.shape.size() == graph.aval(root).shape.size();
            let repeats =
                layout.strides.iter().zip(to.shape.iter()).all(|(&stride, &size)| stride == 0 || size == 1);
            views.one[result.index()] = views.one[root.index()] || repeats;
            views.layouts[result.index()] = Some(layout);
        }
        views
    }

    /// The root and the layout of a node's result, if it is a view.
    fn view(&self, graph: &Graph, node: &Node<Op>) -> Option<(Value, Layout)> {
        match node.operands.as_slice() {
            &[operand] => {
                let (own, to) = (self.layout(graph, operand), graph.aval(node.results[0]));
                let layout = node.op.as_view(&graph.aval(operand).shape, &own, to)?;
                Some((self.root(operand), layout))
            }
            _ => self.joined(graph, node, node.op.joined()?),
        }
    }

    /// That of what is joined along an axis, if its parts lie in one buffer, each as far from the one before:
    /// so do lagged columns of one series, which overlap, and every second column of a matrix.
    fn joined(&self, graph: &Graph, node: &Node<Op>, axis: Axis) -> Option<(Value, Layout)> {
        let shape = |v: Value| &graph.aval(v).shape;
        if shape(node.results[0]).size() == 0 {
            return None;
        }
        let mut parts = node.operands.iter().copied().filter(|&v| shape(v)[axis.0] > 0);
        let first = parts.next()?;
        let (root, mut whole) = (self.root(first), self.layout(graph, first));
        // Known from the first part that has two elements along the axis, or from the first two parts.
        let mut stride = (shape(first)[axis.0] > 1).then(|| whole.strides[axis.0]);
        let mut before = shape(first)[axis.0];
        for v in parts {
            if self.root(v) != root {
                return None;
            }
            let (own, size) = (self.layout(graph, v), shape(v)[axis.0]);
            let from = own.offset as isize - whole.offset as isize;
            let step = *stride.get_or_insert(from);
            let goes_on = from == before as isize * step && (size == 1 || own.strides[axis.0] == step);
            let is_beside = (0..own.strides.len())
                .all(|i| i == axis.0 || shape(v)[i] == 1 || own.strides[i] == whole.strides[i]);
            if !goes_on || !is_beside {
                return None;
            }
            before += size;
        }
        whole.strides[axis.0] = stride?;
        Some((root, whole))
    }

    /// The value in whose buffer its elements are; the value itself unless it is a view.
    pub fn root(&self, value: Value) -> Value {
        self.roots[value.index()]
    }

    /// Whether it is a view of another value.
    pub fn is_view(&self, value: Value) -> bool {
        self.root(value) != value
    }

    /// Whether it has all elements of its root in the same order, as the root itself has.
    pub fn is_whole(&self, value: Value) -> bool {
        self.whole[value.index()]
    }

    /// Whether all its elements are one element of the root.
    pub fn is_one(&self, value: Value) -> bool {
        self.one[value.index()]
    }

    /// The element that it consists of, if it is a fill, or a literal that is repeated.
    pub fn fill(&self, graph: &Graph, value: Value) -> Option<Literal> {
        match graph.def(self.root(value)) {
            Def::Literal(literal) => Some(literal),
            Def::Result(node, _) => match graph.nodes()[node].op.source()? {
                Source::Fill(literal) => Some(literal),
                Source::Count { .. } => None,
            },
            Def::Input(_) | Def::Constant(_) => None,
        }
    }

    /// Whether it has all elements of its root in order, each repeated `segment` times side by side.
    pub fn repeats(&self, graph: &Graph, value: Value, segment: usize) -> bool {
        let (Some(layout), shape) = (&self.layouts[value.index()], &graph.aval(value).shape) else {
            return false;
        };
        let (mut seen, mut root) = (1, 1);
        let in_place =
            shape.iter().zip(&layout.strides).filter(|(&size, _)| size != 1).all(|(&size, &stride)| {
                let within = seen < segment;
                let wanted = if within { 0 } else { root };
                seen *= size;
                root *= if within { 1 } else { size as isize };
                // An axis that begins within a segment ends within it.
                stride == wanted && (!within || seen <= segment)
            });
        let whole = self.root(value);
        in_place
            && layout.offset == 0
            && root as usize == graph.aval(whole).shape.size()
            && seen == segment * root as usize
    }

    /// Whether a value's elements are those of its root, `rows` of them, all of them again and again.
    pub fn cycles(&self, graph: &Graph, value: Value, rows: usize) -> bool {
        let (Some(layout), shape) = (&self.layouts[value.index()], &graph.aval(value).shape) else {
            return false;
        };
        let mut seen = 1;
        let in_place =
            shape.iter().zip(&layout.strides).filter(|(&size, _)| size != 1).all(|(&size, &stride)| {
                let wanted = if seen < rows { seen as isize } else { 0 };
                let within = seen < rows;
                seen *= size;
                stride == wanted && (!within || seen <= rows)
            });
        in_place && layout.offset == 0 && graph.aval(self.root(value)).shape.size() == rows && seen > rows
    }

    /// Its layout in the buffer of its root.
    pub fn layout(&self, graph: &Graph, value: Value) -> Layout {
        self.layouts[value.index()].clone().unwrap_or_else(|| Layout::dense(&graph.aval(value).shape))
    }
}
