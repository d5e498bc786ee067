//! Loops and branches within the iterations of native loops, against the reference, bit by bit.

mod common;

use anvil_core::exec::vm::native::is_here;
use anvil_core::exec::{Executable, Output};
use anvil_core::ops::Graph;
use common::both::{run, scans};
use common::{aligned, asking_every, Rng};
use std::cell::Cell;
use std::fmt::Write;
use std::rc::Rc;

/// As [`scans`]; the loop must be in native code, where there is some.
fn native(carried: &[&str], sliced: &[&str], rest: &[&str], body: &str, gives: &str, made: &[&str]) {
    assert_eq!(scans(carried, sliced, rest, body, gives, made), is_here(), "{body}");
}

/// The body of a loop with a `while` that some numbers carry, as often as the slice says: seldom not at all.
const COUNTED: &str = "%1: f64[] = abs(%x2)
    %2: f64[] = mul(%1, 3:f64)
    (%3, %4, %5, %6, %7): (f64[], f64[], f64[3], i1[3], f64[]) = while(%2, %x1, %x0, %x3, 1:f64, 1:f64, %x0)
      cond(%n: f64[], %a: f64[], %v: f64[3], %m: i1[3], %p: f64[], %one: f64[]):
        %1: i1[] = gt(%n, %one)
        gives (%1)
      body(%n: f64[], %a: f64[], %v: f64[3], %m: i1[3], %p: f64[], %w: f64[3]):
        %1: f64[] = sub(%n, 1:f64)
        %2: f64[] = add(%a, %n)
        %3: f64[3] = reverse [axes = 1] (%v)
        %4: f64[3] = mul(%3, %w)
        %5: f64[3] = tanh(%4)
        %6: i1[3] = lt(%5, %w)
        %7: i1[3] = xor(%6, %m)
        %8: f64[3] = select(%7, %5, %v)
        gives (%1, %p, %8, %7, %2)
    %8: f64[] = add(%4, %7)
    %9: f64[] = min(%8, 3:f64)";

#[test]
fn loops_of_unknown_length() {
    native(&["f64[3]", "f64[]"], &["f64[]", "i1[3]"], &[], COUNTED, "%5, %9, %3, %6", &["f64[]", "i1[3]"]);
}

#[test]
fn more_is_carried_than_registers_hold() {
    for dtype in ["f64", "f32", "i32"] {
        let step = if dtype == "i32" { "xor" } else { "sub" };
        let body = format!(
            "(%1, %2): (i32[], {dtype}[20]) = while(0:i32, %x0, %x1)
               cond(%i: i32[], %v: {dtype}[20]):
                 %1: i1[] = lt(%i, 5:i32)
                 gives (%1)
               body(%i: i32[], %v: {dtype}[20], %w: {dtype}[20]):
                 %1: i32[] = add(%i, 1:i32)
                 %2: {dtype}[20] = reverse [axes = 1] (%v)
                 %3: {dtype}[20] = {step}(%2, %w)
                 %4: {dtype}[20] = max(%3, %v)
                 gives (%1, %4)
             %3: {dtype}[20] = {step}(%2, %x1)"
        );
        let vector = format!("{dtype}[20]");
        native(&[&vector], &[&vector], &[], &body, "%3, %2", &[&vector]);
    }
}

#[test]
fn loops_along_slices() {
    // The slices are read from numbers, from what is captured whole, and from what another loop has made.
    for (reverse, back) in [("FALSE", "TRUE"), ("TRUE", "FALSE"), ("FALSE", "FALSE")] {
        let body = format!(
            "%1: f64[20] = add(%x1, %x1)
             (%2, %3, %4, %5): (f64[2], f64[20], f64[20, 2, 2], i1[20, 2]) = scan [length = 20, reverse = {reverse}, checkpoint = FALSE] (%x0, %1, %x2, %x1)
               body(%s: f64[2], %t: f64[], %u: f64[5], %w: f64[20]):
                 %1: f64[2] = broadcast_in_dim [shape = 2, broadcast_axes = c()] (%t)
                 %2: f64[2] = sub(%1, %s)
                 %3: f64[2] = static_slice [start_indices = 2, limit_indices = 3, strides = 1] (%u)
                 %4: f64[2] = max(%2, %3)
                 %5: i32[] = convert [dtype = i32, ambiguous = FALSE] (%t)
                 %6: i32[] = min(%5, 19:i32)
                 %7: i32[] = max(%6, 0:i32)
                 %8: f64[1] = dynamic_slice [slice_sizes = 1] (%w, %7)
                 %9: f64[] = reshape [shape = c(), order = \"column\"] (%8)
                 %10: f64[2, 2] = broadcast_in_dim [shape = c(2, 2), broadcast_axes = 1] (%4)
                 %11: i1[2] = lt(%4, %s)
                 gives (%4, %9, %10, %11)
             (%6, %7): (f64[2], f64[20, 2]) = scan [length = 20, reverse = {back}, checkpoint = FALSE] (%x0, %4, %3, %5)
               body(%s: f64[2], %t: f64[2, 2], %u: f64[], %m: i1[2]):
                 %1: f64[2] = reduce_max [axes = 2, drop = TRUE] (%t)
                 %2: f64[2] = select(%m, %1, %s)
                 %3: f64[2] = broadcast_in_dim [shape = 2, broadcast_axes = c()] (%u)
                 %4: f64[2] = sub(%2, %3)
                 gives (%4, %2)
             %8: f64[2] = min(%6, %2)"
        );
        native(
            &["f64[2]"],
            &["f64[20]"],
            &["f64[20, 5]"],
            &body,
            "%8, %3, %7, %5",
            &["f64[20]", "f64[20, 2]", "i1[20, 2]"],
        );
    }
}

#[test]
fn long_branches() {
    // A call in a branch that is not taken must not run: it is of an op on numbers that another branch has.
    let mut body = "%1: i1[] = lt(%x1, 0:f64)
         (%2, %3): (f64[9], i1[9]) = if(%1, %x0, %x2, %x0)
           true(%a: f64[9], %b: f64[9]):
             %1: f64[9] = sort [axis = 1, decreasing = FALSE] (%b)
             %2: f64[9] = sub(%a, %1)
             %3: i1[9] = lt(%a, %b)
             gives (%2, %3)
           false(%a: f64[9]):
             %0: f64[9] = add(%a, %a)"
        .to_string();
    for i in 1..40 {
        let (before, op) = (i - 1, ["sub", "mul", "max", "div"][i % 4]);
        write!(body, "\n %{i}: f64[9] = {op}(%{before}, %a)").unwrap();
    }
    body += "\n %40: i1[9] = gt(%39, %a)
             gives (%39, %40)
         %4: f64[9] = min(%2, %x2)";
    native(&["f64[9]"], &["f64[]", "f64[9]"], &[], &body, "%4, %2, %3", &["f64[9]", "i1[9]"]);
}

#[test]
fn loops_in_loops_in_loops() {
    let body = "(%1, %2): (i32[], f64[]) = while(0:i32, %x0, %x1)
         cond(%i: i32[], %s: f64[]):
           %1: i1[] = lt(%i, 3:i32)
           gives (%1)
         body(%i: i32[], %s: f64[], %x: f64[]):
           (%1, %2): (f64[], f64[]) = while(%s, %x, %x)
             cond(%t: f64[], %u: f64[]):
               %1: f64[] = abs(%t)
               %2: i1[] = lt(%1, 50:f64)
               %3: f64[] = abs(%u)
               %4: i1[] = lt(%3, 9:f64)
               %5: i1[] = and(%2, %4)
               gives (%5)
             body(%t: f64[], %u: f64[], %x: f64[]):
               %1: f64[] = mul(%t, 1.5:f64)
               %2: f64[] = add(%1, %x)
               %3: f64[] = add(%u, 1:f64)
               gives (%2, %3)
           %3: f64[] = div(%1, 40:f64)
           %4: i32[] = add(%i, 1:i32)
           %5: f64[] = sub(%3, %2)
           gives (%4, %5)";
    native(&["f64[]"], &["f64[]"], &[], body, "%2, %2", &["f64[]"]);
}

/// Slices of a dtype that native code does not have, and more iterations than can be counted in a time.
#[test]
fn loops_that_are_not_native() {
    let body = "%1: f64[] = add(%x0, %x1)
         %2: f64[] = scan [length = 20, reverse = FALSE, checkpoint = FALSE] (%1, %x2)
           body(%s: f64[], %t: f16[]):
             %1: f64[] = convert [dtype = f64, ambiguous = FALSE] (%t)
             %2: f64[] = sub(%1, %s)
             gives (%2)";
    assert!(!scans(&["f64[]"], &["f64[]"], &["f16[20]"], body, "%2, %1", &["f64[]"]));
    // Only compiled.
    let mut body = "%1: f64[] = sub(%s, 1:f64)".to_string();
    for _ in 0..3 {
        body = format!(
            "%1: f64[] = scan [length = 2000000000, reverse = FALSE, checkpoint = FALSE] (%s)\nbody(%s: f64[]):\n{body}\ngives (%1)"
        );
    }
    let text =
        format!("<AnvilGraph>\n  Inputs:\n    %s: f64[]\n  Body:\n{body}\n  Outputs:\n    %1: f64[]\n");
    Executable::compile(&Graph::parse(&text).unwrap(), &[]).unwrap();
}

/// Windows at positions that an inner loop computes: some are out of range, so that the iteration is run in another
/// way, from its start, or fails.
#[test]
fn windows_out_of_range() {
    let mut rng = Rng::new(3);
    let (mut are_native, mut failed) = (0, 0);
    for raises in [true, false] {
        let mode = if raises { "" } else { ", mode = \"clip\"" };
        for _ in 0..100 {
            let text = format!(
                "<AnvilGraph>
  Inputs:
    %a0: f64[]
    %a1: i8[40]
    %a2: f64[100]
  Body:
    %n: i32[40] = convert [dtype = i32, ambiguous = FALSE] (%a1)
    (%r0, %r1): (f64[], f64[40]) = scan [length = 40, reverse = FALSE, checkpoint = FALSE] (%a0, %n, %a2)
      body(%s: f64[], %k: i32[], %w: f64[100]):
        (%1, %2): (i32[], f64[]) = while(0:i32, %s, %k, %w)
          cond(%i: i32[], %t: f64[]):
            %1: i1[] = lt(%i, 3:i32)
            gives (%1)
          body(%i: i32[], %t: f64[], %k: i32[], %w: f64[100]):
            %1: i32[] = add(%i, 1:i32)
            %2: i32[] = div(%k, 6:i32)
            %3: i32[] = add(%2, %i)
            %4: i32[] = add(%3, 20:i32)
            %5: f64[1] = dynamic_slice [slice_sizes = 1{mode}] (%w, %4)
            %6: f64[] = reshape [shape = c(), order = \"column\"] (%5)
            %7: f64[] = sub(%6, %t)
            gives (%1, %7)
        gives (%2, %2)
  Outputs:
    %r0: f64[]
    %r1: f64[40]
"
            );
            let (made, is_native) = run(&text, &mut rng, true);
            are_native += usize::from(is_native);
            failed += usize::from(made.is_err());
        }
    }
    assert!(are_native == if is_here() { 200 } else { 0 }, "{are_native}");
    assert!((1..100).contains(&failed), "{failed}");
}

/// A loop within an iteration may have no end.
#[test]
fn an_inner_loop_is_stopped_on_its_way() {
    let text = "<AnvilGraph>
  Inputs:
    %a0: f64[]
    %a1: f64[4]
  Body:
    (%r0, %r1): (f64[], f64[4]) = scan [length = 4, reverse = FALSE, checkpoint = FALSE] (%a0, %a1)
      body(%s: f64[], %x: f64[]):
        (%1, %2): (f64[], f64[]) = while(%x, %s)
          cond(%n: f64[], %t: f64[]):
            %1: i1[] = lt(%n, 0:f64)
            gives (%1)
          body(%n: f64[], %t: f64[]):
            %1: f64[] = add(%n, 1:f64)
            %2: f64[] = sub(%t, %n)
            gives (%1, %2)
        gives (%2, %2)
  Outputs:
    %r0: f64[]
    %r1: f64[4]
";
    let graph = Graph::parse(text).unwrap();
    let program = Executable::compile(&graph, &[]).unwrap();
    assert_eq!(program.lines().iter().any(|line| line.native), is_here());
    let sums = |xs: [f64; 4]| {
        let bytes: Vec<u8> = xs.iter().flat_map(|x| x.to_ne_bytes()).collect();
        let (zero, xs, mut last, mut all) =
            (aligned(&[0; 8]), aligned(&bytes), aligned(&[0; 8]), aligned(&[0; 32]));
        let outputs = vec![Output::Fresh(last.as_mut_slice()), Output::Fresh(all.as_mut_slice())];
        program.run(&[Some(zero.as_slice()), Some(xs.as_slice())], &[], outputs).unwrap();
        f64::from_ne_bytes(last.as_slice().try_into().unwrap())
    };
    let (count, every) = (Rc::new(Cell::new(0)), 1000);
    for stop_at in [1, 2, 30] {
        let asked = count.clone();
        asked.set(0);
        let ask = move |_| asked.replace(asked.get() + 1) + 1 == stop_at;
        // The second loop has no end: 1 is lost beside so large a number.
        assert_eq!(asking_every(every, ask, || sums([-1.0, -1e300, 0.0, -2.0])), None);
        assert_eq!((count.get(), sums([-1.0, -3.0, 0.0, -2.0])), (stop_at, 10.0));
    }
    let never = |_| false;
    assert_eq!(
        asking_every(every, never, || sums([-4.0, -1e5, 0.0, -2.0])),
        Some(10.0 + 5e4 * 100_001.0 + 3.0)
    );
}
