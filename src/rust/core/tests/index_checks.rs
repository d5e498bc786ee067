//! Positions that a program computes and that are out of range: the reference and plans raise the same error,
//! for what is computed and nothing else, at any number of threads.

mod common;

use anvil_core::dtype::DType;
use anvil_core::error::Error;
use anvil_core::exec::{reference, Executable, Output};
use anvil_core::kernels::cast;
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::kernels::threads;
use anvil_core::ops::Graph;
use anvil_core::shape::Axis;
use common::aligned;

/// The program with these lines, on f32[10] `%x`, i32 `%i`, and f32 `%u` of the shape of `%i`.
fn program(size: &str, lines: &str, output: &str) -> Graph {
    let text = format!(
        "<AnvilGraph>\n  Inputs:\n    %x: f32[10]\n    %i: i32[{size}]\n    %u: f32[{size}]\n  Body:\n{lines}\n  Outputs:\n    {output}\n"
    );
    Graph::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn gather(result: &str, size: usize, operands: &str, mode: &str) -> String {
    format!(
        "    %{result}: f32[{size}] = gather [slice_sizes = 1, offset_axes = c(), collapsed_slice_axes = 1, start_index_map = 1, index_vector_axis = 2, indices_are_sorted = FALSE{mode}] ({operands})"
    )
}

fn scatter(update: &str, mode: &str) -> String {
    format!(
        "    %y: f32[10] = scatter [update_window_axes = c(), inserted_window_axes = 1, scatter_axes_to_operand_axes = 1, index_vector_axis = 2, indices_are_sorted = FALSE, unique_indices = FALSE, update_computation = {update}{mode}] (%x, %i, %u)"
    )
}

/// What running a graph ends in, the same for the reference and plans, with their results if there is no
/// error.
fn run(graph: &Graph, at: &[i32]) -> Result<Vec<Vec<u8>>, Error> {
    let x: Vec<f32> = (0..10).map(|i| i as f32).collect();
    let u: Vec<f32> = at.iter().map(|&i| i as f32 + 0.5).collect();
    let inputs = [aligned(cast::bytes(&x)), aligned(cast::bytes(at)), aligned(cast::bytes(&u))];
    let inputs: Vec<&[u8]> = inputs.iter().map(AlignedBytes::as_slice).collect();
    let want = reference::evaluate(graph, &inputs, &[]);
    let executable = Executable::compile(graph, &[]).unwrap();
    let given: Vec<Option<&[u8]>> = inputs.iter().copied().map(Some).collect();
    for wanted in [1, 3, 1] {
        threads::want(Some(wanted)).unwrap();
        let mut made: Vec<AlignedBytes> =
            executable.outputs().map(|aval| AlignedBytes::zeroed(aval.bytes())).collect();
        let outputs = made.iter_mut().map(|x| Output::Fresh(x.as_mut_slice())).collect();
        let got = executable.run(&given, &[], outputs);
        let got = got.map(|()| made.iter().map(|x| x.as_slice().to_vec()).collect::<Vec<_>>());
        assert_eq!(got, want, "{wanted} threads, {}", executable.graph());
    }
    want
}

#[track_caller]
fn fails(graph: &Graph, at: &[i32], value: i64) {
    match run(graph, at) {
        Err(Error::IndexOutOfRange { value: got, axis: Axis(0), size: 10, .. }) => assert_eq!(got, value),
        other => panic!("{other:?}"),
    }
}

#[test]
fn reads_and_writes_raise_the_first_position_out_of_range() {
    let small = |lines: &str| program("3, 1", lines, "%y: f32[3]").clone();
    let read = small(&gather("y", 3, "%x, %i", ""));
    assert!(run(&read, &[0, 9, 3]).is_ok());
    // Positions count from 0 here, and from 1 in the error.
    fails(&read, &[0, 10, -1], 11);
    fails(&read, &[0, 9, -1], 0);
    fails(&read, &[i32::MIN, 10, 3], i32::MIN as i64 + 1);
    // The smallest number that counts from 1 has become the largest that counts from 0.
    fails(&read, &[1, i32::MAX, 3], i32::MIN.into());
    assert!(run(&small(&gather("y", 3, "%x, %i", ", mode = \"clip\"")), &[0, 10, -1]).is_ok());
    for update in ["\"replace\"", "\"add\"", "\"max\""] {
        let write = |mode| {
            let lines = scatter(update, mode).replace("%u)", "%v)");
            let lines = format!("    %v: f32[3] = reshape [shape = 3, order = \"column\"] (%u)\n{lines}");
            program("3, 1", &lines, "%y: f32[10]")
        };
        assert!(run(&write(""), &[3, 0, 3]).is_ok());
        fails(&write(""), &[3, -4, 10], -3);
        assert!(run(&write(", mode = \"drop\""), &[3, -4, 10]).is_ok());
    }
    let window = |op: &str| program("", op, "%y: f32[10]");
    let put = window(
        "    %v: f32[1] = reshape [shape = 1, order = \"column\"] (%u)\n    %y: f32[10] = dynamic_update_slice(%x, %v, %i)",
    );
    assert!(run(&put, &[9]).is_ok());
    fails(&put, &[10], 11);
    let silent = put.to_string().replace("dynamic_update_slice(", "dynamic_update_slice [mode = \"clip\"] (");
    assert!(run(&Graph::parse(&silent).unwrap(), &[10]).is_ok());
    let cut = program("", "    %y: f32[4] = dynamic_slice [slice_sizes = 4] (%x, %i)", "%y: f32[4]");
    assert!(run(&cut, &[6]).is_ok());
    fails(&cut, &[7], 8);
    assert!(run(&cut, &[7]).unwrap_err().to_string().contains("A window of size 4 starts at 1 to 7"));
}

#[test]
fn the_error_does_not_depend_on_threads_or_on_what_is_fused() {
    const N: usize = 300_000;
    let mut at: Vec<i32> = (0..N as i32).map(|i| i % 10).collect();
    (at[299_999], at[170_001], at[90_000]) = (-5, 12, 77);
    for lines in [
        format!("{}\n    %y: f32[{N}] = exp(%a)", gather("a", N, "%x, %i", "")),
        format!("    %e: f32[10] = exp(%x)\n{}", gather("y", N, "%e, %i", "")),
    ] {
        fails(&program(&format!("{N}, 1"), &lines, &format!("%y: f32[{N}]")), &at, 78);
    }
    let write = scatter("\"add\"", "").replace("%u)", "%v)");
    let write = format!("    %v: f32[{N}] = reshape [shape = {N}, order = \"column\"] (%u)\n{write}");
    fails(&program(&format!("{N}, 1"), &write, "%y: f32[10]"), &at, 78);
}

/// Reads `%x` at `%k`, as `%r`, in a region where these have the given names.
fn one(result: &str, x: &str, k: &str) -> String {
    format!(
        "        %{result}w: f32[1] = dynamic_slice [slice_sizes = 1] ({x}, {k})\n        %{result}: f32[] = reshape [shape = c(), order = \"column\"] (%{result}w)\n"
    )
}

#[test]
fn what_is_not_computed_raises_nothing() {
    let branch = program(
        "",
        &format!(
            "    %in: i1[] = lt(%i, 10:i32)\n    %y: f32[] = if(%in, %x, %i)\n      true(%a: f32[10], %k: i32[]):\n{}        gives (%r)\n      false():\n        gives (0:f32)",
            one("r", "%a", "%k")
        ),
        "%y: f32[]",
    );
    assert!(run(&branch, &[12]).is_ok());
    fails(&branch, &[-2], -1);
    // What a loop reads is the same in all iterations, and is not read before the first.
    let looped = program(
        "",
        &format!(
            "    (%n, %y): (i32[], f32[]) = while(%i, 0:f32, %x, %i)\n      cond(%k: i32[], %s: f32[]):\n        %go: i1[] = lt(%k, 0:i32)\n        gives (%go)\n      body(%k: i32[], %s: f32[], %a: f32[10], %j: i32[]):\n        %next: i32[] = add(%k, 1:i32)\n{}        %t: f32[] = add(%s, %r)\n        gives (%next, %t)",
            one("r", "%a", "%j")
        ),
        "%y: f32[]",
    );
    assert!(run(&looped, &[12]).is_ok());
    fails(&looped, &[-3], -2);
    // The first iteration that fails.
    let walk = looped.to_string().replace("%x4)", "%x1)").replace("lt(%x1, 0:i32)", "lt(%x1, 15:i32)");
    fails(&Graph::parse(&walk).unwrap(), &[4], 11);
    // A window without elements is nowhere.
    let none = program("", "    %y: f32[0] = dynamic_slice [slice_sizes = 0] (%x, %i)", "%y: f32[0]");
    assert!(run(&none, &[99]).is_ok());
}

#[test]
fn an_unused_read_is_left_out() {
    let lines = format!("{}\n    %y: f32[10] = exp(%x)", gather("a", 1, "%x, %i", ""));
    let graph = program("1, 1", &lines, "%y: f32[10]");
    let executable = Executable::compile(&graph, &[]).unwrap();
    assert_eq!(executable.graph().nodes().len(), 1);
    let (x, i) = (aligned(&[0; 40]), aligned(cast::bytes(&[99i32])));
    let mut out = AlignedBytes::zeroed(10 * DType::F32.bytes());
    let given = [Some(x.as_slice()), Some(i.as_slice()), Some(i.as_slice())];
    assert_eq!(executable.run(&given, &[], vec![Output::Fresh(out.as_mut_slice())]), Ok(()));
}

#[test]
fn functions_of_scatters_and_empty_inputs_are_checked() {
    let write = scatter("update", "").replace("%u)", "%v)");
    let lines = format!(
        "    %v: f32[3] = reshape [shape = 3, order = \"column\"] (%u)\n{write}\n      update(%a: f32[], %b: f32[]):\n        %c: f32[] = sub(%a, %b)\n        gives (%c)"
    );
    let graph = program("3, 1", &lines, "%y: f32[10]");
    assert!(run(&graph, &[3, 3, 9]).is_ok());
    fails(&graph, &[3, 3, 10], 11);
    let empty = graph.to_string().replace("f32[10]", "f32[0]");
    let error = reference::evaluate(&Graph::parse(&empty).unwrap(), &[&[], &[0; 12], &[0; 12]], &[]);
    assert!(matches!(error, Err(Error::IndexOutOfRange { value: 1, size: 0, .. })), "{error:?}");
}
