//! Ops with effects: in the order of the program, once for each time that it comes to them, in branches, loops
//! and derivatives too.

mod common;
mod writer;

use anvil_core::autodiff::Tape;
use anvil_core::dtype::DType;
use anvil_core::error::{Error, Result};
use anvil_core::exec::reference::evaluate;
use anvil_core::exec::{Executable, Output};
use anvil_core::graph::Value;
use anvil_core::kernels::cast;
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::ops::callback::{Callee, Function};
use anvil_core::ops::print::set_printer;
use anvil_core::ops::*;
use anvil_core::shape::Shape;
use anvil_core::tensor::{Aval, Literal, View, ViewMut};
use common::{aligned, random_tensor};
use std::cell::RefCell;
use std::sync::Arc;
use writer::Writer;

thread_local! {
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn log(what: String) {
    LOG.with_borrow_mut(|log| log.push(what));
}

/// A function that logs its name and its operands, which are numbers, and gives the first one plus 1.
struct Logged(&'static str);

impl Function for Logged {
    fn call(&self, types: &[Aval], operands: &[View], results: &mut [ViewMut]) -> Result<()> {
        let given: Vec<f64> = operands.iter().map(|x| cast::slice::<f64>(x.data)[0]).collect();
        assert!(types.iter().all(|aval| *aval == float()));
        log(format!("{} {given:?}", self.0));
        if self.0 == "fails" {
            return Err(Error::Internal { detail: "on purpose".into() });
        }
        results.iter_mut().for_each(|out| cast::slice_mut::<f64>(out.data)[0] = given[0] + 1.0);
        Ok(())
    }
}

fn float() -> Aval {
    Aval::known(DType::F64, Shape::scalar())
}

/// A call that gives a number.
fn call(b: &mut Builder, name: &'static str, x: Value) -> Value {
    let op = Callback::new(Callee::new(Logged(name)), &[&float()], vec![float()], false);
    b.node1(op, &[x]).unwrap()
}

/// A call for its effect.
fn report(b: &mut Builder, name: &'static str, x: Value) {
    b.node(Callback::new(Callee::new(Logged(name)), &[&float()], vec![], false), &[x]).unwrap();
}

fn number(b: &mut Builder, x: f64) -> Value {
    b.literal(Literal::new(x), None)
}

/// A program of numbers.
fn program(inputs: usize, f: impl FnOnce(&mut Builder, &[Value]) -> Vec<Value>) -> Graph {
    let mut b = Builder::default();
    let x: Vec<Value> = (0..inputs).map(|_| b.input(float())).collect();
    let outputs = f(&mut b, &x);
    b.finish(outputs)
}

/// What a program logs, and its results, in the reference and as a plan; they must agree.
fn logged(graph: &Graph, inputs: &[f64]) -> Result<(Vec<String>, Vec<f64>)> {
    let bytes: Vec<&[u8]> = inputs.iter().map(|x| cast::bytes(std::slice::from_ref(x))).collect();
    graph.verify().unwrap();
    LOG.take();
    let want = evaluate(graph, &bytes, &[]).map(|made| made.into_iter().map(|x| aligned(&x)).collect());
    let (want_log, executable) = (LOG.take(), Executable::compile(graph, &[]).unwrap());
    assert_eq!(LOG.take(), Vec::<String>::new(), "nothing is called by the compiler");
    for _ in 0..2 {
        let mut outputs: Vec<AlignedBytes> =
            executable.outputs().map(|aval| AlignedBytes::zeroed(aval.bytes())).collect();
        let given = outputs.iter_mut().map(|x| Output::Fresh(x.as_mut_slice())).collect();
        let inputs: Vec<Option<&[u8]>> = bytes.iter().copied().map(Some).collect();
        let got = executable.run(&inputs, &[], given).map(|()| outputs);
        let slices = |made: &Result<Vec<AlignedBytes>>| {
            made.clone().map(|all| all.iter().map(|x| x.as_slice().to_vec()).collect::<Vec<_>>())
        };
        assert_eq!(slices(&got), slices(&want), "{graph}");
        assert_eq!(LOG.take(), want_log, "{graph}\n{}", executable.graph());
    }
    Ok((want_log, want?.iter().map(|x: &AlignedBytes| cast::slice::<f64>(x.as_slice())[0]).collect()))
}

fn region(inputs: usize, f: impl FnOnce(&mut Builder, &[Value]) -> Vec<Value>) -> Region {
    Arc::new(program(inputs, f))
}

#[test]
fn a_call_is_neither_dropped_nor_folded_nor_merged() {
    let graph = program(1, |b, x| {
        let two = number(b, 2.0);
        report(b, "unread", x[0]);
        report(b, "unread", x[0]);
        let known = call(b, "known", two);
        let (one, other) = (call(b, "equal", known), call(b, "equal", known));
        vec![b.node1(Binary::add, &[one, other]).unwrap()]
    });
    let (log, made) = logged(&graph, &[1.0]).unwrap();
    assert_eq!(log, ["unread [1.0]", "unread [1.0]", "known [2.0]", "equal [3.0]", "equal [3.0]"]);
    assert_eq!(made, [8.0]);
}

#[test]
fn one_branch_is_called_also_if_it_gives_nothing() {
    let pred = |b: &mut Builder, x: Value| {
        let zero = number(b, 0.0);
        b.node1(Compare::gt, &[x, zero]).unwrap()
    };
    let graph = program(1, |b, x| {
        let yes = region(1, |b, x| {
            report(b, "yes", x[0]);
            vec![]
        });
        let no = region(1, |b, x| {
            report(b, "no", x[0]);
            report(b, "no again", x[0]);
            vec![]
        });
        let pred = pred(b, x[0]);
        b.node(If::from_branches(&yes, &no).unwrap(), &[pred, x[0], x[0]]).unwrap();
        let short = [region(1, |b, x| vec![call(b, "short", x[0])]), region(1, |_, x| vec![x[0]])];
        b.node(If { branches: short }, &[pred, x[0], x[0]]).unwrap()
    });
    assert_eq!(logged(&graph, &[1.0]).unwrap(), (vec!["yes [1.0]".into(), "short [1.0]".into()], vec![2.0]));
    let no = vec!["no [-1.0]".into(), "no again [-1.0]".into()];
    assert_eq!(logged(&graph, &[-1.0]).unwrap(), (no, vec![-1.0]));
}

/// `x <- f(x)` so often, with calls that depend on the state and calls that do not.
fn repeated(b: &mut Builder, x: Value, length: usize, checkpoint: bool) -> Value {
    let body = region(2, |b, x| {
        report(b, "fixed", x[1]);
        let next = b.node1(Binary::mul, x).unwrap();
        report(b, "next", next);
        vec![next]
    });
    let op = Scan { body, carried: 1, sliced: 0, length, reverse: false, last: false, checkpoint };
    b.node1(op, &[x, x]).unwrap()
}

#[test]
fn loops_call_in_each_iteration() {
    let graph = program(1, |b, x| {
        let made = repeated(b, x[0], 2, false);
        report(b, "after", x[0]);
        // Nobody reads this one.
        repeated(b, x[0], 1, false);
        repeated(b, x[0], 0, false);
        vec![made]
    });
    let (log, made) = logged(&graph, &[3.0]).unwrap();
    let all = [
        "fixed [3.0]",
        "next [9.0]",
        "fixed [3.0]",
        "next [27.0]",
        "after [3.0]",
        "fixed [3.0]",
        "next [9.0]",
    ];
    assert_eq!((log, made), (all.map(String::from).to_vec(), vec![27.0]));

    let graph = program(1, |b, x| {
        let cond = region(1, |b, x| {
            report(b, "cond", x[0]);
            let four = number(b, 4.0);
            vec![b.node1(Compare::lt, &[x[0], four]).unwrap()]
        });
        let body = region(1, |b, x| vec![call(b, "body", x[0])]);
        b.node(While { cond, body, carried: 1, bound: None }, x).unwrap()
    });
    let (log, made) = logged(&graph, &[2.0]).unwrap();
    assert_eq!(log, ["cond [2.0]", "body [2.0]", "cond [3.0]", "body [3.0]", "cond [4.0]"]);
    assert_eq!(made, [4.0]);

    // A loop without a state.
    let graph = program(1, |b, x| {
        let body = region(1, |b, x| {
            report(b, "again", x[0]);
            vec![]
        });
        let op =
            Scan { body, carried: 0, sliced: 0, length: 2, reverse: false, last: false, checkpoint: false };
        b.node(op.from_types(&[]).unwrap().0, x).unwrap();
        vec![]
    });
    assert_eq!(logged(&graph, &[2.0]).unwrap().0, ["again [2.0]", "again [2.0]"]);
}

/// The gradient of a program of one result with respect to its input.
fn gradient(graph: &Graph) -> Graph {
    program(1, |b, x| {
        let tape = Tape::record(b, graph, x, &[0]).unwrap();
        let one = number(b, 1.0);
        let pulled = tape.pull(b, &[Some(one)], &[0]).unwrap();
        [tape.outputs(), pulled].concat()
    })
}

/// The value that a function logs, with the derivative of `x + 1`, or of the square of what was called if
/// `backward` calls too.
fn derived(b: &mut Builder, x: Value) -> Value {
    let run = region(1, |b, x| vec![call(b, "called", x[0])]);
    let forward = region(1, |b, x| {
        let y = call(b, "forward", x[0]);
        vec![y, y]
    });
    let backward = region(2, |b, x| {
        report(b, "backward", x[1]);
        vec![b.node1(Binary::mul, x).unwrap()]
    });
    let derivative = Derivative::Reverse { forward, backward, targets: vec![0] };
    b.node1(Custom { call: run, arguments: 1, derivative }, &[x]).unwrap()
}

#[test]
fn a_derivative_calls_once() {
    let graph = program(1, |b, x| vec![derived(b, x[0])]);
    assert_eq!(logged(&graph, &[2.0]).unwrap(), (vec!["called [2.0]".into()], vec![3.0]));
    let (log, made) = logged(&gradient(&graph), &[2.0]).unwrap();
    assert_eq!((log, made), (vec!["forward [2.0]".into(), "backward [1.0]".into()], vec![3.0, 3.0]));

    // In a branch, and in a loop with checkpoints and without: y' = y (y + 1), of y = x + 1 twice.
    let branch = |b: &mut Builder, x: Value| {
        let zero = number(b, 0.0);
        let pred = b.node1(Compare::gt, &[x, zero]).unwrap();
        let yes = region(1, |b, x| {
            report(b, "yes", x[0]);
            let y = derived(b, x[0]);
            vec![b.node1(Binary::mul, &[y, y]).unwrap()]
        });
        let no = region(1, |b, x| {
            report(b, "no", x[0]);
            vec![b.node1(Unary::sqrt, &[x[0]]).unwrap()]
        });
        b.node1(If::from_branches(&yes, &no).unwrap(), &[pred, x, x]).unwrap()
    };
    let graph = program(1, |b, x| vec![branch(b, x[0])]);
    let (log, made) = logged(&gradient(&graph), &[2.0]).unwrap();
    assert_eq!(log, ["yes [2.0]", "forward [2.0]", "backward [6.0]"]);
    assert_eq!(made, [9.0, 18.0]);
    let (log, made) = logged(&gradient(&graph), &[-4.0]).unwrap();
    assert_eq!(log, ["no [-4.0]"]);
    assert!(made[0].is_nan());

    for checkpoint in [false, true] {
        let graph = program(1, |b, x| {
            let body = region(1, |b, x| {
                report(b, "body", x[0]);
                vec![branch(b, x[0])]
            });
            let op = Scan { body, carried: 1, sliced: 0, length: 2, reverse: false, last: false, checkpoint };
            b.node(op, x).unwrap()
        });
        let (log, made) = logged(&gradient(&graph), &[1.0]).unwrap();
        let ahead = ["body [1.0]", "yes [1.0]", "forward [1.0]", "body [4.0]", "yes [4.0]", "forward [4.0]"];
        // The gradient of y y is 2 y, that of y is y: 2 * 5 * 5, times 2 * 2 * 2.
        assert_eq!(log, [&ahead[..], &["backward [10.0]", "backward [200.0]"]].concat());
        assert_eq!(made, [25.0, 400.0]);
    }

    // What is printed, too: its value is read by the derivative.
    for checkpoint in [false, true] {
        let graph = program(1, |b, x| vec![repeated(b, x[0], 2, checkpoint)]);
        let (log, made) = logged(&gradient(&graph), &[3.0]).unwrap();
        assert_eq!(log, ["fixed [3.0]", "next [9.0]", "fixed [3.0]", "next [27.0]"]);
        assert_eq!(made, [27.0, 27.0]);
    }
}

#[test]
fn no_derivative_by_itself() {
    let graph = program(1, |b, x| vec![call(b, "called", x[0])]);
    let mut b = Builder::default();
    let x = b.input(float());
    let tape = Tape::record(&mut b, &graph, &[x], &[0]).unwrap();
    let one = number(&mut b, 1.0);
    let error = tape.pull(&mut b, &[Some(one)], &[0]).unwrap_err();
    assert_eq!(error.class(), "anvil_error_grad");
    // One that gives nothing stands in no way.
    let graph = program(1, |b, x| {
        report(b, "called", x[0]);
        vec![b.node1(Binary::mul, &[x[0], x[0]]).unwrap()]
    });
    assert_eq!(logged(&gradient(&graph), &[3.0]).unwrap(), (vec!["called [3.0]".into()], vec![9.0, 6.0]));
}

#[test]
fn an_error_ends_the_run() {
    let graph = program(1, |b, x| {
        let made = call(b, "first", x[0]);
        let failed = call(b, "fails", made);
        report(b, "never", failed);
        vec![failed]
    });
    let error = Err(Error::Internal { detail: "on purpose".into() });
    assert_eq!(logged(&graph, &[1.0]), error);
    let graph = program(1, |b, x| {
        let body = region(1, |b, x| vec![call(b, "fails", x[0])]);
        let op =
            Scan { body, carried: 1, sliced: 0, length: 3, reverse: false, last: false, checkpoint: false };
        b.node(op, x).unwrap()
    });
    assert_eq!(logged(&graph, &[1.0]), error);
}

#[test]
fn an_error_that_was_raised_comes_before_a_call() {
    let graph = program(1, |b, x| {
        let (nine, zero) = (b.literal(Literal::new(9i32), None), number(b, 0.0));
        let shape = Shape::from([2]);
        let both = b.node1(BroadcastInDim { shape, axes: vec![] }, &[x[0]]).unwrap();
        let attrs = attrs::Attrs::new()
            .with("slice_sizes", attrs::Attr::Numbers(vec![1.0]))
            .with("mode", attrs::Attr::Text("error".into()));
        let mut applier = anvil_core::apply::Applier::new(b, anvil_core::dtype::promote::rules());
        let part = applier.apply("dynamic_slice", &[both, nine], &attrs).unwrap()[0];
        let part = b.node1(Reshape { shape: Shape::scalar(), order: layout::Order::Row }, &[part]).unwrap();
        let part = b.node1(Binary::add, &[part, zero]).unwrap();
        report(b, "never", part);
        vec![part]
    });
    assert!(matches!(logged(&graph, &[1.0]), Err(Error::IndexOutOfRange { .. })));
}

#[test]
fn random_programs_print_in_order() {
    const PROGRAMS: u64 = 3_000;
    const EXCLUDED: [&str; 6] = ["if", "while", "scan", "custom_gradient", "custom_jvp", "callback"];
    // Which NaN a sum of several gives is left open.
    set_printer(|label, aval, data| {
        let is_nan = |x: &[u8]| match (aval.dtype, x) {
            (DType::F16, &[low, high]) => u16::from_le_bytes([low, high]) & 0x7fff > 0x7c00,
            (DType::BF16, &[low, high]) => u16::from_le_bytes([low, high]) & 0x7fff > 0x7f80,
            (DType::F32, x) => f32::from_le_bytes(x.try_into().expect("four bytes")).is_nan(),
            (DType::F64, x) => f64::from_le_bytes(x.try_into().expect("eight bytes")).is_nan(),
            _ => false,
        };
        let elements = data.chunks(aval.dtype.bytes()).map(|x| if is_nan(x) { &[] } else { x });
        log(format!("{label} {aval} {:?}", elements.collect::<Vec<_>>()))
    });
    let mut names: Vec<(&'static str, usize)> = rows().map(|row| (row.name, row.operands.len())).collect();
    names.retain(|(name, _)| !EXCLUDED.contains(name));
    names.extend([("print", 1); 80]);
    let (mut shown, mut inside) = (0, 0);
    for seed in 0..PROGRAMS {
        let mut writer = Writer::new(seed);
        for _ in 0..2 + writer.rng.below(8) {
            writer.step(&names);
            if writer.rng.one_in(4) {
                writer.depth = 2;
                writer.control(&names);
            }
        }
        let outputs = writer.outputs();
        let Writer { mut rng, b, .. } = writer;
        let graph = b.finish(outputs);
        if is_lost(&graph) {
            continue;
        }
        let mut tensors = |values: &[Value]| -> Vec<AlignedBytes> {
            values.iter().map(|&v| random_tensor(&mut rng, graph.aval(v))).collect()
        };
        let (inputs, constants) = (tensors(graph.inputs()), tensors(graph.constants()));
        let inputs: Vec<&[u8]> = inputs.iter().map(AlignedBytes::as_slice).collect();
        let constants: Vec<&[u8]> = constants.iter().map(AlignedBytes::as_slice).collect();
        LOG.take();
        let want = evaluate(&graph, &inputs, &constants);
        let want_log = LOG.take();
        let executable = Executable::compile(&graph, &[]).unwrap();
        let mut outputs: Vec<AlignedBytes> =
            executable.outputs().map(|aval| AlignedBytes::zeroed(aval.bytes())).collect();
        let outputs = outputs.iter_mut().map(|x| Output::Fresh(x.as_mut_slice())).collect();
        let inputs: Vec<Option<&[u8]>> = inputs.into_iter().map(Some).collect();
        let got = executable.run(&inputs, &constants, outputs);
        let got_log = LOG.take();
        // After an error values differ.
        if want.is_ok() && got.is_ok() {
            assert_eq!(got_log, want_log, "seed {seed}\n{graph}\n{}", executable.graph());
            shown += want_log.len();
            inside +=
                usize::from(graph.nodes().iter().any(|node| node.op.has_regions() && node.op.has_effect()));
        }
    }
    assert!(shown > 10_000 && inside > 300, "{shown} shown, {inside} programs");
}

/// Whether a program has an op with an effect and without results, which R makes none of.
fn is_lost(graph: &Graph) -> bool {
    let lost = |node: &anvil_core::graph::Node<Op>| {
        node.op.has_effect() && node.results.is_empty()
            || node.op.regions().iter().any(|(_, region)| is_lost(region))
    };
    graph.nodes().iter().any(lost)
}
