//! Chains of updates at known places are what was written, joined, to the bit.

mod common;

use anvil_core::dtype::DType;
use anvil_core::exec::reference::evaluate;
use anvil_core::exec::Executable;
use anvil_core::graph::Value;
use anvil_core::ops::*;
use anvil_core::passes::{mosaics, optimise};
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::{Aval, Literal};
use common::{disagreement, first_difference, random_inputs, Rng};

/// A program under construction, and the sizes of its chain.
struct Chain {
    b: Builder,
    dtype: DType,
    sizes: Vec<usize>,
}

impl Chain {
    fn aval(&self, sizes: &[usize]) -> Aval {
        Aval::known(self.dtype, Shape::try_new(sizes.to_vec()).unwrap())
    }

    fn input(&mut self, sizes: &[usize]) -> Value {
        let aval = self.aval(sizes);
        self.b.input(aval)
    }

    fn number(&mut self, x: i32) -> Value {
        self.b.literal(Literal::new(x).convert(self.dtype), None)
    }

    fn fill(&mut self, x: i32) -> Value {
        let (x, shape) = (self.number(x), Shape::try_new(self.sizes.clone()).unwrap());
        self.b.node1(BroadcastInDim { shape, axes: vec![] }, &[x]).unwrap()
    }

    /// The value with another one in it, from this place on.
    fn update(&mut self, x: Value, part: Value, start: &[usize]) -> Value {
        let mut operands = vec![x, part];
        operands.extend(start.iter().map(|&at| self.b.literal(Literal::new(at as i32), None)));
        self.b.node1(DynamicUpdateSlice { check: Check::Silent }, &operands).unwrap()
    }

    /// The value, and another one added to its elements from this place on, as the gradient of a slice is.
    fn sum(&mut self, x: Value, part: Value, start: &[usize], first: bool) -> Value {
        let shape = self.b.graph().aval(part).shape.clone();
        let (zero, rank) = (self.number(0), start.len());
        let low = start.iter().map(|&at| at as i64).collect();
        let high = (0..rank).map(|i| (self.sizes[i] - start[i] - shape[i]) as i64).collect();
        let pad = self.b.node1(Pad { low, high, interior: vec![0; rank] }, &[part, zero]).unwrap();
        self.b.node1(Binary::add, &if first { [pad, x] } else { [x, pad] }).unwrap()
    }

    fn slice(&mut self, x: Value, start: &[usize], sizes: &[usize], stride: &[usize]) -> Value {
        let limit = (0..start.len()).map(|i| start[i] + (sizes[i] - 1) * stride[i] + 1).collect();
        self.b.node1(StaticSlice { start: start.to_vec(), limit, stride: stride.to_vec() }, &[x]).unwrap()
    }
}

/// The results of a graph and of what the pass makes of it; whether it makes something.
fn agree(rng: &mut Rng, old: &Graph) -> bool {
    let given = random_inputs(rng, old);
    let bytes: Vec<&[u8]> = given.iter().map(|x| x.as_slice()).collect();
    let want = evaluate(old, &bytes, &[]).unwrap();
    let mut any = false;
    for all in [false, true] {
        let Some(new) = mosaics(old, all).unwrap() else { continue };
        any = true;
        new.verify().unwrap();
        let got = evaluate(&new, &bytes, &[]).unwrap();
        for ((want, got), &v) in want.iter().zip(&got).zip(old.outputs()) {
            let difference = first_difference(old.aval(v).dtype, want.as_slice(), got.as_slice());
            assert!(difference.is_none(), "{difference:?}\n{old}\n{new}");
        }
    }
    assert_eq!(disagreement(old, &given, &[], &[]), None);
    any
}

fn place(rng: &mut Rng, sizes: &[usize], one: bool) -> (Vec<usize>, Vec<usize>) {
    let own = |&size: &usize, rng: &mut Rng| if one { 1 } else { 1 + rng.below(size) };
    let part: Vec<usize> = sizes.iter().map(|size| own(size, rng)).collect();
    let start = sizes.iter().zip(&part).map(|(size, own)| rng.below(size - own + 1)).collect();
    (start, part)
}

#[test]
fn chains_of_updates_and_sums_are_joined() {
    let rng = &mut Rng::new(1);
    let shapes: [&[usize]; 6] = [&[12], &[5], &[7, 3], &[4, 6], &[3, 4, 2], &[1, 9]];
    let mut found = 0;
    for round in 0..600 {
        let sizes = rng.choose(&shapes).to_vec();
        let dtype = *rng.choose(&[DType::F32, DType::F64, DType::I32, DType::UI8, DType::C128, DType::I1]);
        let mut c = Chain { b: Builder::default(), dtype, sizes: sizes.clone() };
        let mut versions = vec![match rng.below(3) {
            0 => c.fill(0),
            1 => c.fill(1),
            _ => c.input(&sizes),
        }];
        let (mut parts, mut outputs) = (vec![], vec![]);
        for _ in 0..rng.below(14) {
            // Mostly the last value goes on.
            let x = if rng.one_in(8) { *rng.choose(&versions) } else { versions[versions.len() - 1] };
            let one = rng.below(3) > 0;
            let (start, part) = place(rng, &sizes, one);
            let usable = parts.iter().copied().find(|&v| c.b.graph().aval(v).shape[..] == part[..]);
            let written = usable.filter(|_| rng.one_in(2)).unwrap_or_else(|| c.input(&part));
            let adds = dtype != DType::I1 && rng.one_in(3);
            let next = match adds {
                true => {
                    let first = rng.one_in(3);
                    c.sum(x, written, &start, first)
                }
                false => c.update(x, written, &start),
            };
            versions.push(next);
            // Elements that were just written, or others, of this value or an older one.
            if rng.below(3) > 0 {
                let of = if rng.one_in(3) { *rng.choose(&versions) } else { next };
                let (start, part) = if rng.one_in(2) { (start, part) } else { place(rng, &sizes, false) };
                let stride: Vec<usize> = (0..part.len())
                    .map(|i| if part[i] > 1 && start[i] + 2 * part[i] - 1 <= sizes[i] { 2 } else { 1 })
                    .collect();
                let read = c.slice(of, &start, &part, &stride);
                outputs.push(read);
                parts.push(read);
            }
            if rng.one_in(6) {
                outputs.push(next);
            }
        }
        if rng.one_in(2) || outputs.is_empty() {
            outputs.push(versions[versions.len() - 1]);
        }
        let old = optimise(&c.b.finish(outputs)).unwrap();
        found += usize::from(agree(rng, &old));
        assert!(round < 100 || found > 0);
    }
    assert!(found > 150, "{found}");
}

#[test]
fn what_is_appended_is_joined_once() {
    let rng = &mut Rng::new(2);
    for dtype in [DType::F32, DType::I64, DType::I1] {
        for (sizes, axis) in [(vec![1], 0), (vec![2, 3], 1), (vec![2, 3], 0)] {
            let mut c = Chain { b: Builder::default(), dtype, sizes: sizes.clone() };
            let (mut x, mut outputs) = (c.input(&sizes), vec![]);
            for i in 0..9 {
                let more = c.input(&sizes);
                let mut joined = vec![x, more];
                joined.extend((i % 3 == 2).then_some(more));
                x = c.b.node1(Concatenate { axis: Axis(axis) }, &joined).unwrap();
                let shape = c.b.graph().aval(x).shape.to_vec();
                let mut start = vec![0; shape.len()];
                start[axis] = shape[axis] - 1 - rng.below(shape[axis]);
                let mut part = shape.clone();
                part[axis] = 1;
                outputs.push(c.slice(x, &start, &part, &vec![1; part.len()]));
            }
            outputs.push(x);
            let old = optimise(&c.b.finish(outputs)).unwrap();
            assert!(agree(rng, &old));
            let new = mosaics(&old, false).unwrap().unwrap();
            let joins = new.nodes().iter().filter(|node| node.op.get::<Concatenate>().is_some()).count();
            assert_eq!(joins, 1, "{new}");
        }
    }
}

#[test]
fn values_without_elements_stay() {
    let rng = &mut Rng::new(3);
    let mut c = Chain { b: Builder::default(), dtype: DType::F64, sizes: vec![0] };
    let mut x = c.input(&[0]);
    for _ in 0..5 {
        let part = c.input(&[0]);
        x = c.update(x, part, &[0]);
    }
    let old = c.b.finish(vec![x]);
    assert!(!agree(rng, &old));
    // Nor do empty updates write anything.
    let mut c = Chain { b: Builder::default(), dtype: DType::F64, sizes: vec![3] };
    let mut x = c.fill(2);
    for i in 0..3 {
        let (part, none) = (c.input(&[1]), c.input(&[0]));
        x = c.update(x, part, &[i]);
        x = c.update(x, none, &[i]);
    }
    let old = c.b.finish(vec![x]);
    agree(rng, &old);
}

/// `e[t] <- y[t] - a * e[t - 1]`, so many times.
fn filter(steps: usize) -> Graph {
    let mut c = Chain { b: Builder::default(), dtype: DType::F64, sizes: vec![steps] };
    let (y, a) = (c.input(&[steps]), c.input(&[1]));
    let mut e = c.fill(0);
    for t in 1..steps {
        let (now, before) = (c.slice(y, &[t], &[1], &[1]), c.slice(e, &[t - 1], &[1], &[1]));
        let product = c.b.node1(Binary::mul, &[a, before]).unwrap();
        let next = c.b.node1(Binary::sub, &[now, product]).unwrap();
        e = c.update(e, next, &[t]);
    }
    c.b.finish(vec![e])
}

#[test]
fn elements_that_are_filled_one_by_one_are_few_steps() {
    let rng = &mut Rng::new(4);
    let old = filter(150);
    assert!(agree(rng, &optimise(&old).unwrap()));
    let steps = Executable::compile(&old, &[]).unwrap().lines().len();
    assert!(steps <= 3, "{steps}");
}

#[test]
fn long_chains_stay_as_long() {
    let old = optimise(&filter(2000)).unwrap();
    let new = mosaics(&old, false).unwrap().unwrap();
    assert!(new.nodes().len() <= old.nodes().len(), "{} of {}", new.nodes().len(), old.nodes().len());
}
