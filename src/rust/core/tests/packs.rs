//! What is computed part by part and then joined is computed as a whole.

mod common;

use anvil_core::dtype::DType;
use anvil_core::graph::Value;
use anvil_core::ops::layout::Order;
use anvil_core::ops::*;
use anvil_core::passes::{optimise, packs, Rounding};
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::{Aval, Literal};
use common::{disagreement, random_inputs, Rng};

fn shape(sizes: &[usize]) -> Shape {
    Shape::try_new(sizes.to_vec()).unwrap()
}

fn node(b: &mut Builder, op: impl Into<Op>, operands: &[Value]) -> Value {
    b.node1(op.into(), operands).unwrap()
}

fn reshaped(b: &mut Builder, v: Value, sizes: &[usize]) -> Value {
    node(b, Reshape { shape: shape(sizes), order: Order::Column }, &[v])
}

fn number(b: &mut Builder, value: f64, sizes: &[usize]) -> Value {
    let value = b.literal(Literal::new(value), None);
    node(b, BroadcastInDim { shape: shape(sizes), axes: vec![] }, &[value])
}

/// How parts are joined.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Concatenated,
    Stacked,
    Updated,
    Added,
}

const WAYS: [Way; 4] = [Way::Concatenated, Way::Stacked, Way::Updated, Way::Added];

/// The slices of a value along an axis, `n` of them, without that axis if they have one element along it.
fn slices(b: &mut Builder, x: Value, axis: usize, n: usize) -> Vec<Value> {
    let sizes = b.graph().aval(x).shape.to_vec();
    let each = sizes[axis] / n;
    let slice = |b: &mut Builder, i: usize| {
        let range = i * each..(i + 1) * each;
        let v = node(b, StaticSlice::along(&shape(&sizes), Axis(axis), range), &[x]);
        let mut sizes = sizes.clone();
        sizes[axis] = each;
        if each == 1 {
            sizes.remove(axis);
        }
        reshaped(b, v, &sizes)
    };
    (0..n).map(|i| slice(b, i)).collect()
}

/// What is made of parts; `order` is that in which they are put in their places.
fn joined(
    b: &mut Builder,
    parts: &[Value],
    axis: usize,
    way: Way,
    order: &[usize],
    base: Option<Value>,
) -> Value {
    let sizes = b.graph().aval(parts[0]).shape.to_vec();
    let mut own = sizes.clone();
    if way != Way::Concatenated {
        own.insert(axis, 1);
    }
    let parts: Vec<Value> = parts.iter().map(|&v| reshaped(b, v, &own)).collect();
    let mut whole = own.clone();
    whole[axis] *= parts.len();
    if matches!(way, Way::Concatenated | Way::Stacked) {
        return node(b, Concatenate { axis: Axis(axis) }, &parts);
    }
    let zero = b.literal(Literal::new(0.0), None);
    let mut all = base;
    if way == Way::Updated && all.is_none() {
        all = Some(number(b, 0.0, &whole));
    }
    for &i in order {
        let at = i * own[axis];
        all = Some(if way == Way::Updated {
            let mut operands = vec![all.expect("it has a base"), parts[i]];
            for k in 0..own.len() {
                operands.push(b.literal(Literal::new(if k == axis { at as i32 } else { 0 }), None));
            }
            node(b, DynamicUpdateSlice { check: Check::Silent }, &operands)
        } else {
            let (mut low, mut high) = (vec![0; own.len()], vec![0; own.len()]);
            low[axis] = at as i64;
            high[axis] = (whole[axis] - at - own[axis]) as i64;
            let pad = node(b, Pad { low, high, interior: vec![0; own.len()] }, &[parts[i], zero]);
            match all {
                Some(all) => node(b, Binary::add, &[all, pad]),
                None => pad,
            }
        });
    }
    all.expect("there are parts")
}

#[test]
fn parts_of_rows_and_columns_are_computed_as_a_whole() {
    for (sizes, axis) in [(vec![20, 6, 4], 0), (vec![6, 20, 4], 1), (vec![6, 4, 20], 2), (vec![20, 30], 0)] {
        for way in WAYS {
            for place in 0..sizes.len() {
                let mut b = Builder::default();
                let x = b.input(Aval::known(DType::F64, shape(&sizes)));
                let y = b.input(Aval::known(DType::F64, shape(&sizes)));
                let (x, y) = (slices(&mut b, x, axis, 20), slices(&mut b, y, axis, 20));
                let mut parts = vec![];
                for (&x, &y) in x.iter().zip(&y) {
                    let own = b.graph().aval(x).shape.to_vec();
                    let half = number(&mut b, 0.5, &own);
                    let v = node(&mut b, Binary::mul, &[half, x]);
                    let v = node(&mut b, Binary::add, &[v, y]);
                    parts.push(node(&mut b, Unary::sqrt, &[v]));
                }
                let order: Vec<usize> = (0..20).collect();
                let rank = b.graph().aval(parts[0]).shape.rank();
                let place = place.min(rank - usize::from(way == Way::Concatenated));
                let whole = joined(&mut b, &parts, place, way, &order, None);
                let graph = optimise(&b.finish(vec![whole])).unwrap();
                let packed = packs(&graph, Rounding::Same).unwrap();
                let packed =
                    packed.unwrap_or_else(|| panic!("{sizes:?}, {way:?}, {place}: not packed\n{graph}"));
                assert!(packed.nodes().len() <= 12, "{sizes:?}, {way:?}, {place}:\n{packed}");
                let data = random_inputs(&mut Rng::new(1), &graph);
                assert_eq!(disagreement(&graph, &data, &[], &[]), None, "{sizes:?}, {way:?}, {place}");
            }
        }
    }
}

#[test]
fn slices_of_several_values_are_no_pack() {
    for start in 0..2 {
        let mut b = Builder::default();
        let x = b.input(Aval::known(DType::F64, shape(&[20, 4])));
        let y = b.input(Aval::known(DType::F64, shape(&[80])));
        let column = node(&mut b, StaticSlice::along(&shape(&[20, 4]), Axis(1), 0..1), &[x]);
        let mut parts = vec![reshaped(&mut b, column, &[20])];
        parts.extend(slices(&mut b, y, 0, 4));
        let whole = joined(&mut b, &parts[start..], 0, Way::Stacked, &[], None);
        let graph = optimise(&b.finish(vec![whole])).unwrap();
        // Those of one value are a slice of it.
        let packed = packs(&graph, Rounding::Same).unwrap().unwrap();
        assert_eq!(
            packed.nodes().iter().filter(|node| node.op.get::<Concatenate>().is_some()).count(),
            1 - start
        );
        let data = random_inputs(&mut Rng::new(1), &graph);
        assert_eq!(disagreement(&graph, &data, &[], &[]), None);
    }
}

/// What is computed of each part: of slices, of what is the same for all, of numbers of their own.
fn computed(b: &mut Builder, rng: &mut Rng, sources: &[Vec<Value>], extra: &mut Vec<Value>) -> Vec<Value> {
    let (n, own) = (sources[0].len(), b.graph().aval(sources[0][0]).shape.to_vec());
    let weights = b.input(Aval::known(DType::F64, shape(&[n])));
    let shared = b.input(Aval::known(DType::F64, shape(&own)));
    let mut now: Vec<Value> = sources[0].clone();
    for _ in 0..1 + rng.below(5) {
        let op = *rng.choose(&[Binary::add, Binary::mul, Binary::sub, Binary::max]);
        let other: Vec<Value> = match rng.below(6) {
            0 => vec![shared; n],
            1 => (0..n)
                .map(|i| {
                    let v = node(b, StaticSlice::along(&shape(&[n]), Axis(0), i..i + 1), &[weights]);
                    let v = reshaped(b, v, &[]);
                    node(b, BroadcastInDim { shape: shape(&own), axes: vec![] }, &[v])
                })
                .collect(),
            2 => (0..n).map(|i| number(b, i as f64 + 1.0, &own)).collect(),
            3 => vec![number(b, 0.25, &own); n],
            4 => now.iter().map(|&v| node(b, Unary::negate, &[v])).collect(),
            _ => rng.choose(sources).clone(),
        };
        if rng.one_in(20) {
            extra.push(now[rng.below(n)]);
        }
        now = now.iter().zip(&other).map(|(&x, &y)| node(b, op, &[x, y])).collect();
    }
    now
}

#[test]
fn random_programs_of_parts_agree_with_the_reference() {
    let (mut met, mut programs) = (0, 0);
    for seed in 0..1_500 {
        let mut rng = Rng::new(seed);
        let mut b = Builder::default();
        let rank = 1 + rng.below(3);
        let n = 3 + rng.below(6);
        let mut sizes: Vec<usize> = (0..rank).map(|_| 2 + rng.below(9)).collect();
        let mut sources = vec![];
        let axis = rng.below(rank);
        sizes[axis] = 1 + if rng.one_in(3) { rng.below(3) } else { 0 };
        for _ in 0..1 + rng.below(2) {
            // Slices along any axis of a value in which parts have this shape.
            let mut whole = sizes.clone();
            let along = if sizes[axis] == 1 && rng.one_in(2) { rng.below(rank) } else { axis };
            if along != axis {
                whole.remove(axis);
                whole.insert(along, 1);
            }
            whole[along] *= n;
            if whole[along] / n != sizes[axis] {
                continue;
            }
            let x = b.input(Aval::known(DType::F64, shape(&whole)));
            let mut parts = slices(&mut b, x, along, n);
            if rng.one_in(6) {
                parts.rotate_left(1);
            }
            sources.push(parts);
        }
        let own = |b: &Builder, v: Value| b.graph().aval(v).shape.clone();
        let Some(first) = sources.first().map(|parts| own(&b, parts[0])) else { continue };
        sources.retain(|parts| own(&b, parts[0]) == first);
        let mut outputs = vec![];
        let parts = computed(&mut b, &mut rng, &sources, &mut outputs);
        let way = *rng.choose(&WAYS);
        let most = first.rank() + usize::from(way != Way::Concatenated);
        if most == 0 {
            continue;
        }
        let place = rng.below(most);
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, rng.below(i + 1));
        }
        if rng.one_in(4) {
            order.retain(|&i| i > 0);
        }
        let base = rng.one_in(2).then(|| {
            let mut whole = first.to_vec();
            if way != Way::Concatenated {
                whole.insert(place, 1);
            }
            whole[place] *= n;
            b.input(Aval::known(DType::F64, shape(&whole)))
        });
        outputs.push(joined(&mut b, &parts, place, way, &order, base));
        let graph = b.finish(outputs);
        programs += 1;
        met += usize::from(packs(&optimise(&graph).unwrap(), Rounding::Same).unwrap().is_some());
        let data = random_inputs(&mut rng, &graph);
        if let Some(what) = disagreement(&graph, &data, &[], &[]) {
            panic!("seed {seed}, {way:?}: {what}\n{graph}");
        }
    }
    assert!(met > programs / 5 && met < programs, "{met} of {programs} programs have packs");
}

/// `for (j in order) x[, j] <- f(x[, j])`, where some reads are of columns that were replaced before.
#[test]
fn updates_of_what_was_read_before_are_computed_as_a_whole() {
    let mut met = 0;
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let n = 3 + rng.below(6);
        let sizes = if rng.one_in(2) { [n, 24] } else { [24, n] };
        let axis = sizes.iter().position(|&size| size == n).unwrap();
        let mut b = Builder::default();
        let x = b.input(Aval::known(DType::F64, shape(&sizes)));
        let mut order: Vec<usize> = (0..n).collect();
        if rng.one_in(2) {
            order.reverse();
        }
        let again = rng.one_in(4);
        let (mut all, mut outputs) = (x, vec![]);
        for (number, &i) in order.iter().enumerate() {
            let read = if again && number > 0 && rng.one_in(2) { order[number - 1] } else { i };
            let v = node(&mut b, StaticSlice::along(&shape(&sizes), Axis(axis), read..read + 1), &[all]);
            let v = node(&mut b, Unary::exp, &[v]);
            let mut operands = vec![all, v];
            for k in 0..2 {
                operands.push(b.literal(Literal::new(if k == axis { i as i32 } else { 0 }), None));
            }
            if rng.one_in(40) {
                outputs.push(all);
            }
            all = node(&mut b, DynamicUpdateSlice { check: Check::Silent }, &operands);
        }
        outputs.push(all);
        let plain = outputs.len() == 1;
        let graph = b.finish(outputs);
        let is_packed = packs(&optimise(&graph).unwrap(), Rounding::Same).unwrap().is_some();
        assert!(is_packed || again || !plain, "{graph}");
        met += usize::from(is_packed);
        let data = random_inputs(&mut rng, &graph);
        if let Some(what) = disagreement(&graph, &data, &[], &[]) {
            panic!("seed {seed}: {what}\n{graph}");
        }
    }
    assert!(met > 100, "{met}");
}
