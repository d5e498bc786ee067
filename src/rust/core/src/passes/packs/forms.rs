//! Which values are isomorphic, and in which order their slices lie.

use crate::graph::{Def, Value, NODE};
use crate::ops::{Graph, StaticSlice};
use crate::stop;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// Values that are looked at, at most, to find a slice.
const LOOKED: usize = 64;

/// For each value a number that isomorphic ones have in common, wherever their slices begin.
pub(super) fn forms(graph: &Graph, origins: &[Option<Value>]) -> Vec<u64> {
    let mut forms: Vec<u64> = Vec::with_capacity(graph.values().count());
    for value in graph.values() {
        stop::work(NODE);
        let aval = graph.aval(value);
        let mut hash = FxHasher::default();
        (&aval.shape, aval.dtype).hash(&mut hash);
        match graph.def(value) {
            Def::Result(number, k) => {
                let node = &graph.nodes()[number];
                let mut operands = &node.operands[..];
                match (node.op.get::<StaticSlice>(), &origins[number]) {
                    (Some(slice), Some(origin)) => {
                        slice.stride.hash(&mut hash);
                        operands = std::slice::from_ref(origin);
                    }
                    _ => (k, &node.op).hash(&mut hash),
                }
                operands.iter().for_each(|v| forms[v.index()].hash(&mut hash));
            }
            Def::Input(_) | Def::Constant(_) if aval.shape.size() != 1 => value.hash(&mut hash),
            // Numbers are computed one by one.
            Def::Input(_) | Def::Constant(_) | Def::Literal(_) => {}
        }
        forms.push(hash.finish());
    }
    forms
}

/// Isomorphic values in the order in which slices lie that they are made of, or else in their own.
pub(super) fn ordered(graph: &Graph, origins: &[Option<Value>], values: &mut [Value]) {
    values.sort();
    let [a, b, ..] = values[..] else { return };
    let slice = |v: Value| match graph.def(v) {
        Def::Result(number, _) => graph.nodes()[number].op.get::<StaticSlice>().zip(origins[number]),
        Def::Input(_) | Def::Constant(_) | Def::Literal(_) => None,
    };
    // Both in step, with the operands that lead there.
    let (mut left, mut looked) = (vec![(a, b, vec![])], 0);
    while let Some((a, b, path)) = left.pop() {
        looked += 1;
        if a == b || looked > LOOKED {
            continue;
        }
        if let (Some((one, from)), Some((other, of))) = (slice(a), slice(b)) {
            if from == of && one.start != other.start {
                let at = |v: &Value| {
                    let end =
                        path.iter().try_fold(*v, |v, &i: &usize| graph.made_by(v)?.operands.get(i).copied());
                    end.and_then(slice).map(|(slice, _)| slice.start.clone())
                };
                values.sort_by_cached_key(at);
                return;
            }
        }
        let (Some(one), Some(other)) = (graph.made_by(a), graph.made_by(b)) else { continue };
        for (i, (&a, &b)) in one.operands.iter().zip(&other.operands).enumerate().rev() {
            left.push((a, b, path.iter().copied().chain([i]).collect()));
        }
    }
}
