//! Batches of branches and loops: examples that differ in what they take, and what raises an error in one.

#[path = "common/batches.rs"]
mod batches;
mod common;

use anvil_core::apply::Applier;
use anvil_core::dtype::promote::rules;
use anvil_core::dtype::DType;
use anvil_core::graph::Value;
use anvil_core::kernels::cast;
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::kernels::reductions::fold::Fold;
use anvil_core::ops::attrs::Attrs;
use anvil_core::ops::{
    Builder, Check, Custom, Derivative, DynamicSlice, DynamicUpdateSlice, Gather, Graph, If, Reduction,
    Region, Scan, Scatter, Site, Update, While, Windows,
};
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::{Aval, Literal};
use batches::{bits, differs, evaluate, subsets, types, vmap, Data};
use common::{aligned, Rng};
use std::sync::Arc;

fn float(sizes: &[usize]) -> Aval {
    Aval::known(DType::F64, Shape::try_new(sizes.to_vec()).unwrap())
}

fn integer(sizes: &[usize]) -> Aval {
    Aval::known(DType::I32, Shape::try_new(sizes.to_vec()).unwrap())
}

fn flag() -> Aval {
    Aval::known(DType::I1, Shape::scalar())
}

fn graph(inputs: &[Aval], f: impl FnOnce(&mut Builder, &[Value]) -> Vec<Value>) -> Graph {
    let mut b = Builder::default();
    let x: Vec<Value> = inputs.iter().map(|aval| b.input(aval.clone())).collect();
    let outputs = f(&mut b, &x);
    b.finish(outputs)
}

fn region(inputs: &[Aval], f: impl FnOnce(&mut Builder, &[Value]) -> Vec<Value>) -> Region {
    Arc::new(graph(inputs, f))
}

fn op(b: &mut Builder, name: &str, operands: &[Value]) -> Value {
    Applier::new(b, rules()).apply(name, operands, &Attrs::new()).unwrap_or_else(|e| panic!("{name}: {e}"))[0]
}

/// The sum of all elements.
fn total(b: &mut Builder, x: Value) -> Value {
    let axes = (0..b.graph().aval(x).shape.rank()).map(Axis).collect();
    b.node1(Reduction { fold: Fold::Sum, axes, drop: true }, &[x]).unwrap()
}

fn number(b: &mut Builder, x: i32) -> Value {
    b.literal(Literal::new(x), None)
}

fn raises() -> Check {
    Check::Raises(Site::default())
}

/// `x[i]` of a vector, checked.
fn element(b: &mut Builder, x: Value, i: Value) -> Value {
    let slice = b.node1(DynamicSlice { sizes: vec![1], check: raises() }, &[x, i]).unwrap();
    total(b, slice)
}

/// Small whole numbers, so that examples end at different times and sums are exact.
fn draw(rng: &mut Rng, aval: &Aval) -> AlignedBytes {
    let n = aval.shape.size();
    match aval.dtype {
        DType::F64 => {
            let x: Vec<f64> = (0..n).map(|_| rng.below(9) as f64 - 4.0).collect();
            aligned(cast::bytes(&x))
        }
        DType::I32 => {
            let x: Vec<i32> = (0..n).map(|_| rng.below(8) as i32 - 1).collect();
            aligned(cast::bytes(&x))
        }
        _ => aligned(&(0..n).map(|_| rng.below(2) as u8).collect::<Vec<u8>>()),
    }
}

/// Holds a program on every choice of batched inputs to a loop of single runs; gives how many runs failed,
/// and how many there were.
fn check(what: &str, graph: &Graph) -> [usize; 2] {
    let (mut rng, mut failed, mut all) = (Rng::new(3), 0, 0);
    for marks in subsets(graph.inputs().len()) {
        for size in [0, 1, 3, 7] {
            for _ in 0..3 {
                let data = Data::new(graph, &marks, size, |aval| draw(&mut rng, aval));
                if let Some(how) = differs(graph, &marks, &data, &bits) {
                    panic!("{what}: {how}");
                }
                let runs = data.loop_of_runs(graph);
                failed += runs.iter().filter(|run| run.is_err()).count();
                all += runs.len();
            }
        }
    }
    [failed, all]
}

fn check_sound(what: &str, graph: &Graph) {
    let [failed, all] = check(what, graph);
    assert!(failed == 0 && all > 0, "{what}: {failed}");
}

/// Some runs of a program fail, and some do not.
fn check_raising(what: &str, graph: &Graph) {
    let [failed, all] = check(what, graph);
    assert!(failed > all / 20 && failed < all * 19 / 20, "{what}: {failed} of {all}");
}

/// `while (i < n) { i = i + 1; ... }` for the state `i`, `x`, ...; the bodies get the state and `captured`.
fn counted(
    b: &mut Builder,
    state: &[Value],
    n: Value,
    captured: &[Value],
    next: impl FnOnce(&mut Builder, &[Value]) -> Vec<Value>,
) -> Vec<Value> {
    let of = |b: &Builder, values: &[Value]| types(b.graph(), values);
    let of_state = of(b, state);
    let cond =
        region(&[of_state.clone(), of(b, &[n])].concat(), |b, v| vec![op(b, "lt", &[v[0], v[v.len() - 1]])]);
    let body = region(&[of_state, of(b, captured)].concat(), |b, v| {
        let one = number(b, 1);
        let mut all = vec![op(b, "add", &[v[0], one])];
        all.extend(next(b, v));
        all
    });
    let operands = [state, &[n], captured].concat();
    b.node(While { cond, body, carried: state.len(), bound: None }, &operands).unwrap()
}

#[test]
fn branches_of_which_examples_take_either() {
    let g = graph(&[flag(), float(&[2]), float(&[])], |b, x| {
        let yes = region(&[float(&[2]), float(&[])], |b, v| {
            let wide = op(b, "add", &[v[0], v[1]]);
            let constant = op(b, "mul", &[v[1], v[1]]);
            vec![wide, constant, v[0]]
        });
        let no = region(&[float(&[2]), float(&[])], |b, v| {
            let product = op(b, "mul", &[v[0], v[0]]);
            vec![product, v[1], v[0]]
        });
        b.node(If { branches: [yes, no] }, &[x[0], x[1], x[2], x[1], x[2]]).unwrap()
    });
    check_sound("if", &g);
    // What both branches give alike is no choice.
    let batched = vmap(&g, &[true, false, false], 3).unwrap();
    let selections = batched.nodes().iter().filter(|node| node.op.row().name == "select").count();
    assert_eq!(selections, 2, "{batched}");
}

#[test]
fn loops_that_examples_leave_at_different_times() {
    // The state `x` begins alike for all, `y` depends on the batch from the second iteration on at the
    // earliest, and `z` never changes.
    let g = graph(&[integer(&[]), float(&[2]), float(&[]), float(&[2])], |b, x| {
        let zero = number(b, 0);
        counted(b, &[zero, x[1], x[2], x[3]], x[0], &[x[2]], |b, v| {
            let sum = op(b, "add", &[v[1], v[3]]);
            let sum = op(b, "add", &[sum, v[2]]);
            let total = total(b, v[1]);
            vec![sum, op(b, "sub", &[total, v[4]]), v[3]]
        })
    });
    check_sound("while", &g);
    // An unbatched loop whose state becomes batched, one value after the other.
    let g = graph(&[float(&[]), float(&[]), float(&[]), float(&[2])], |b, x| {
        let (zero, five) = (number(b, 0), number(b, 5));
        counted(b, &[zero, x[0], x[1], x[2]], five, &[x[3]], |b, v| {
            let total = total(b, v[4]);
            vec![v[2], v[3], op(b, "add", &[total, v[3]])]
        })
    });
    check_sound("a chain", &g);
}

#[test]
fn scans_whose_state_becomes_batched() {
    for (length, reverse) in [(0, false), (1, true), (4, false), (4, true)] {
        let g = graph(&[float(&[2]), float(&[]), float(&[length, 2]), float(&[2])], |b, x| {
            let body = region(&[float(&[2]), float(&[]), float(&[2]), float(&[2])], |b, v| {
                let next = op(b, "add", &[v[0], v[1]]);
                let total = total(b, v[2]);
                let alike = op(b, "mul", &[v[3], v[3]]);
                vec![next, total, v[0], alike, v[2]]
            });
            let scan = Scan { body, carried: 2, sliced: 1, length, reverse, last: false, checkpoint: false };
            b.node(scan, x).unwrap()
        });
        check_sound("scan", &g);
    }
}

#[test]
fn branches_and_loops_inside_of_each_other() {
    let inputs = [integer(&[]), flag(), float(&[4]), float(&[])];
    let g = graph(&inputs, |b, x| {
        let loops = region(&[integer(&[]), float(&[4]), float(&[])], |b, v| {
            let zero = number(b, 0);
            let all = counted(b, &[zero, v[2]], v[0], &[v[1]], |b, w| {
                // Element `i` of 4, which is there as long as `i < 4`.
                let four = number(b, 4);
                let inside = op(b, "lt", &[w[0], four]);
                let read = region(&[float(&[4]), integer(&[])], |b, u| vec![element(b, u[0], u[1])]);
                let none = region(&[float(&[])], |_, u| vec![u[0]]);
                let x = b.node(If { branches: [read, none] }, &[inside, w[2], w[0], w[1]]).unwrap();
                vec![op(b, "add", &[w[1], x[0]])]
            });
            vec![all[1]]
        });
        let scans = region(&[integer(&[]), float(&[4]), float(&[])], |b, v| {
            let body = region(&[float(&[]), float(&[]), integer(&[])], |b, u| {
                let zero = number(b, 0);
                let all = counted(b, &[zero, u[0]], u[2], &[u[1]], |b, w| vec![op(b, "add", &[w[1], w[2]])]);
                vec![all[1], u[0]]
            });
            let scan = Scan {
                body,
                carried: 1,
                sliced: 1,
                length: 4,
                reverse: true,
                last: false,
                checkpoint: false,
            };
            let all = b.node(scan, &[v[2], v[1], v[0]]).unwrap();
            vec![all[0]]
        });
        let given = [x[1], x[0], x[2], x[3], x[0], x[2], x[3]];
        b.node(If { branches: [loops, scans] }, &given).unwrap()
    });
    check_sound("nested", &g);
}

#[test]
fn a_read_out_of_range_raises_where_an_example_runs_it() {
    // In a branch.
    let g = graph(&[flag(), float(&[3]), integer(&[])], |b, x| {
        let read = region(&[float(&[3]), integer(&[])], |b, v| vec![element(b, v[0], v[1])]);
        let none = region(&[], |b, _| vec![b.literal(Literal::new(0.0), None)]);
        b.node(If { branches: [read, none] }, &[x[0], x[1], x[2]]).unwrap()
    });
    check_raising("in a branch", &g);
    // In the iterations of a loop, which others are beyond.
    let g = graph(&[integer(&[]), float(&[3]), float(&[])], |b, x| {
        let zero = number(b, 0);
        counted(b, &[zero, x[2]], x[0], &[x[1]], |b, v| {
            let read = element(b, v[2], v[0]);
            vec![op(b, "add", &[v[1], read])]
        })
    });
    check_raising("in a loop", &g);
    // In the condition of a loop: `while (i < 5 && x[i] > 0) i = i + 1`.
    let g = graph(&[integer(&[]), float(&[3])], |b, x| {
        let cond = region(&[integer(&[]), float(&[3])], |b, v| {
            let (read, zero) = (element(b, v[1], v[0]), b.literal(Literal::new(0.0), None));
            let (five, positive) = (number(b, 5), op(b, "gt", &[read, zero]));
            let before = op(b, "lt", &[v[0], five]);
            vec![op(b, "and", &[before, positive])]
        });
        let body = region(&[integer(&[])], |b, v| {
            let one = number(b, 1);
            vec![op(b, "add", &[v[0], one])]
        });
        b.node(While { cond, body, carried: 1, bound: None }, x).unwrap()
    });
    check_raising("in a condition", &g);
}

#[test]
fn every_op_that_checks_its_positions_is_quiet_where_no_example_runs_it() {
    let along = |rank: usize| Windows {
        window_axes: (1..rank).map(Axis).collect(),
        dropped: vec![Axis(0)],
        batching: vec![],
        index_batching: vec![],
        index_map: vec![Axis(0)],
        index_vector_axis: Axis(1),
    };
    let gather =
        || Gather { windows: along(2), slice_sizes: vec![1, 2], indices_are_sorted: true, check: raises() };
    let scatter = |update| Scatter {
        windows: along(2),
        update,
        indices_are_sorted: true,
        unique_indices: false,
        check: raises(),
    };
    let add = region(&[float(&[]), float(&[])], |b, v| vec![op(b, "add", v)]);
    type Make<'a> = Box<dyn Fn(&mut Builder, &[Value]) -> Value + 'a>;
    let ops: Vec<(&str, Make)> = vec![
        (
            "gather",
            Box::new(|b, v| {
                let rows = b.node1(gather(), &[v[0], v[1]]).unwrap();
                total(b, rows)
            }),
        ),
        (
            "scatter",
            Box::new(|b, v| {
                let all = b.node1(scatter(Update::Replace), &[v[0], v[1], v[2]]).unwrap();
                total(b, all)
            }),
        ),
        (
            "scatter by a function",
            Box::new(|b, v| {
                let all = b.node1(scatter(Update::By(add.clone())), &[v[0], v[1], v[2]]).unwrap();
                total(b, all)
            }),
        ),
        (
            "dynamic_slice",
            Box::new(|b, v| {
                let all = b.node1(DynamicSlice { sizes: vec![2, 1], check: raises() }, &[v[0], v[3], v[4]]);
                total(b, all.unwrap())
            }),
        ),
        (
            "dynamic_update_slice",
            Box::new(|b, v| {
                let all = b.node1(DynamicUpdateSlice { check: raises() }, &[v[0], v[2], v[3], v[4]]);
                total(b, all.unwrap())
            }),
        ),
        // Without axes there are no positions.
        (
            "dynamic_slice of a number",
            Box::new(|b, v| {
                let sum = total(b, v[0]);
                b.node1(DynamicSlice { sizes: vec![], check: raises() }, &[sum]).unwrap()
            }),
        ),
        (
            "dynamic_update_slice of a number",
            Box::new(|b, v| {
                let (sum, other) = (total(b, v[0]), total(b, v[2]));
                b.node1(DynamicUpdateSlice { check: raises() }, &[sum, other]).unwrap()
            }),
        ),
    ];
    let given = [float(&[3, 2]), integer(&[2]), float(&[2, 2]), integer(&[]), integer(&[])];
    for (what, make) in ops {
        let g = graph(&[&[flag()], &given[..]].concat(), |b, x| {
            let run = region(&given, |b, v| vec![make(b, v)]);
            let none = region(&[], |b, _| vec![b.literal(Literal::new(0.0), None)]);
            b.node(If { branches: [run, none] }, x).unwrap()
        });
        let [failed, all] = check(what, &g);
        let may = !what.ends_with("number");
        assert!((failed > 0) == may && failed < all, "{what}: {failed} of {all}");
    }
}

#[test]
fn a_write_to_an_axis_without_elements_is_quiet_where_no_example_runs_it() {
    let Gather { windows, .. } = Gather::along(Axis(0), &[1].into(), Check::Silent);
    let given = [float(&[0]), integer(&[2]), float(&[2])];
    let g = graph(&[&[flag()], &given[..]].concat(), |b, x| {
        let run = region(&given, |b, v| {
            let update = Update::Replace;
            let (windows, check) = (windows.clone(), raises());
            let scatter =
                Scatter { windows, update, indices_are_sorted: false, unique_indices: false, check };
            vec![b.node1(scatter, v).unwrap()]
        });
        let none = region(&given[..1], |_, v| vec![v[0]]);
        b.node(If { branches: [run, none] }, &[x, &x[1..2]].concat()).unwrap()
    });
    check_raising("no element", &g);
}

#[test]
fn a_loop_without_end_is_not_run_where_no_example_runs_it() {
    // `if (p) while (x < 1) x = x + step else x`: with a step of 0 and an `x` of 0 for all it has no end.
    let g = graph(&[flag(), float(&[]), float(&[])], |b, x| {
        let endless = region(&[float(&[]), float(&[])], |b, v| {
            let cond = region(&[float(&[])], |b, w| {
                let one = b.literal(Literal::new(1.0), None);
                vec![op(b, "lt", &[w[0], one])]
            });
            let body = region(&[float(&[]), float(&[])], |b, w| vec![op(b, "add", w)]);
            b.node(While { cond, body, carried: 1, bound: None }, v).unwrap()
        });
        let same = region(&[float(&[])], |_, v| vec![v[0]]);
        b.node(If { branches: [endless, same] }, &[x[0], x[1], x[2], x[1]]).unwrap()
    });
    let zero = || aligned(cast::bytes(&[0.0f64]));
    for marks in subsets(3).filter(|marks| marks[0]) {
        let batched = vmap(&g, &marks, 2).unwrap();
        let zeros = |mark: bool| if mark { aligned(cast::bytes(&[0.0f64; 2])) } else { zero() };
        let inputs = [aligned(&[0, 0]), zeros(marks[1]), zeros(marks[2])];
        assert_eq!(evaluate(&batched, &inputs).unwrap()[0], cast::bytes(&[0.0f64; 2]), "{marks:?}");
        // Where one does, it ends when that one does.
        let inputs = [
            aligned(&[0, 1]),
            zeros(marks[1]),
            aligned(cast::bytes(&vec![0.5f64; 1 + usize::from(marks[2])])),
        ];
        assert_eq!(evaluate(&batched, &inputs).unwrap()[0], cast::bytes(&[0.0f64, 1.0]), "{marks:?}");
    }
}

#[test]
fn what_does_not_depend_on_the_batch_is_computed_once() {
    let g = graph(&[float(&[3]), float(&[3])], |b, x| {
        let zero = number(b, 0);
        let four = number(b, 4);
        let all = counted(b, &[zero, x[1]], four, &[], |b, v| vec![op(b, "exp", &[v[1]])]);
        vec![op(b, "add", &[x[0], all[1]])]
    });
    let batched = vmap(&g, &[true, false], 1000).unwrap();
    let of_loop: Vec<Aval> = batched
        .nodes()
        .iter()
        .filter(|node| node.op.row().name == "while")
        .flat_map(|node| types(&batched, &node.results))
        .collect();
    assert_eq!(of_loop, [integer(&[]), float(&[3])]);
}

#[test]
fn functions_with_derivatives_of_their_own_keep_them() {
    let x = [float(&[2]), float(&[])];
    let call = region(&[x[0].clone(), x[1].clone(), float(&[2])], |b, v| {
        let product = op(b, "mul", &[v[0], v[2]]);
        vec![op(b, "add", &[product, v[1]])]
    });
    let forward = region(&[x[0].clone(), x[1].clone(), float(&[])], |b, v| {
        let sum = op(b, "add", &[v[0], v[2]]);
        vec![sum, v[1]]
    });
    let backward = region(&[float(&[]), float(&[2]), float(&[2])], |b, v| {
        let product = op(b, "mul", &[v[1], v[2]]);
        vec![op(b, "add", &[product, v[0]])]
    });
    let reverse = Derivative::Reverse { forward, backward, targets: vec![0] };
    let push = region(&[&x[..], &x[..], &[float(&[])]].concat(), |b, v| {
        let product = op(b, "mul", &[v[0], v[4]]);
        let tangent = op(b, "mul", &[v[2], v[4]]);
        vec![product, op(b, "add", &[tangent, v[3]])]
    });
    for (derivative, captured) in [
        (reverse, vec![float(&[2]), float(&[]), float(&[2])]),
        (Derivative::Forward(push), vec![float(&[2]), float(&[])]),
    ] {
        let inputs = [&x[..], &captured[..]].concat();
        let g = graph(&inputs, |b, v| {
            let custom = Custom { call: call.clone(), arguments: 2, derivative: derivative.clone() };
            b.node(custom, v).unwrap()
        });
        check_sound("custom", &g);
        let batched = vmap(&g, &[true, false, false, true, false][..inputs.len()], 3).unwrap();
        let names: Vec<&str> = batched.nodes().iter().map(|node| node.op.row().name).collect();
        assert!(names.contains(&g.nodes()[0].op.row().name), "{names:?}");
    }
}
