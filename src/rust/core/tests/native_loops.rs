//! Loops on few numbers, which are native code where there is some, against the reference: bit by bit, whatever
//! their bodies do with elements, forwards and backwards, and where an iteration leaves them.

mod common;

use common::both::{check, scans};
use common::Rng;

#[test]
fn numbers() {
    for dtype in ["f64", "f32"] {
        let ty = format!("{dtype}[]");
        let body = format!(
            "%1: {dtype}[] = mul(%x0, 0.9:{dtype})
             %2: {dtype}[] = add(%1, %x1)
             %3: {dtype}[] = max(%2, %x2)
             %4: i1[] = gt(%3, %x1)
             %5: {dtype}[] = div(%3, %2)
             %7: {dtype}[] = clamp(-2:{dtype}, %5, 2:{dtype})
             %8: {dtype}[] = sin(%7)
             %9: i1[] = is_nan(%8)
             %10: {dtype}[] = sign(%x1)
             %11: {dtype}[] = select(%9, %10, %8)
             %6: {dtype}[] = select(%4, %11, %x0)"
        );
        scans(&[&ty], &[&ty], &[&ty], &body, "%6, %x0, %4", &[&ty, "i1[]"]);
    }
}

#[test]
fn numbers_that_change_their_ambiguity_alone() {
    let body = "%1: i1[] = gt(%x1, 3:i32)
         %2: i1?[] = convert [dtype = i1, ambiguous = TRUE] (%1)
         %3: i32?[] = convert [dtype = i32, ambiguous = TRUE] (%x1)
         %4: f64[] = mul(%x0, -0.5:f64)
         %5: f64[] = select(%2, %4, %x0)";
    assert!(scans(&["f64[]"], &["i32[]"], &[], body, "%5, %2, %3", &["i1?[]", "i32?[]"]));
}

#[test]
fn numbers_that_die_away() {
    for dtype in ["f64", "f32"] {
        let ty = format!("{dtype}[]");
        let least = if dtype == "f64" { "1e-300" } else { "1e-36" };
        let body = format!(
            "%1: {dtype}[] = abs(%x0)
             %2: i1[] = gt(%1, {least}:{dtype})
             %3: {dtype}[] = mul(%x0, 0.1:{dtype})
             %4: {dtype}[] = mul(%x0, -0.7:{dtype})
             %5: {dtype}[] = select(%2, %3, %4)
             %6: {dtype}[] = mul(%5, %x1)
             %7: {dtype}[] = mul(%6, %6)
             %8: {dtype}[] = tanh(%6)
             %9: {dtype}[] = sin(%5)
             %10: {dtype}[] = mul(%8, %9)"
        );
        scans(&[&ty], &[&ty], &[], &body, "%5, %6, %7, %8, %9, %10", &[&ty, &ty, &ty, &ty, &ty]);
    }
}

#[test]
fn parts_of_short_vectors_at_known_positions() {
    // The last window does not fit, and is moved.
    scans(
        &["f64[6, 8]"],
        &["f64[]"],
        &["f64[4]"],
        "%1: f64[4, 6] = dynamic_slice [slice_sizes = c(4, 6), mode = \"clip\"] (%x0, 1:i32, 1:i32)
         %2: f64[4, 6] = dynamic_slice [slice_sizes = c(4, 6), mode = \"clip\"] (%x0, 2:i32, 0:i32)
         %3: f64[4, 6] = dynamic_slice [slice_sizes = c(4, 6), mode = \"clip\"] (%x0, 9:i32, -1:i32)
         %4: f64[4, 6] = add(%2, %3)
         %5: f64[4, 6] = broadcast_in_dim [shape = c(4, 6), broadcast_axes = c()] (%x1)
         %6: f64[4, 6] = mul(%4, %5)
         %7: f64[6, 8] = dynamic_update_slice [mode = \"clip\"] (%x0, %6, 1:i32, 1:i32)
         %8: f64[4, 1] = reshape [shape = c(4, 1), order = \"column\"] (%x2)
         %9: f64[6, 8] = dynamic_update_slice [mode = \"clip\"] (%7, %8, 7:i64, 3:i64)",
        "%9, %1",
        &["f64[4, 6]"],
    );
}

#[test]
fn elements_of_short_vectors() {
    scans(
        &["f64[2]"],
        &["f64[]", "f32[3, 2]"],
        &["f64[2, 2]"],
        "%1: f64[1] = static_slice [start_indices = 1, limit_indices = 1, strides = 1] (%x0)
         %2: f64[] = reshape [shape = c(), order = \"column\"] (%1)
         %3: f64[1] = static_slice [start_indices = 2, limit_indices = 2, strides = 1] (%x0)
         %4: f64[2] = concatenate [axis = 1] (%3, %1)
         %5: f64[2] = broadcast_in_dim [shape = 2, broadcast_axes = c()] (%x1)
         %6: f64[2] = mul_no_nan(%4, %5)
         %7: f64[2] = pad [edge_padding_low = 1, edge_padding_high = 0, interior_padding = 0] (%1, 0:f64)
         %8: f64[2] = add(%6, %7)
         %9: f64[] = reduce_sum [axes = 1, drop = TRUE] (%8)
         %10: f32[2, 3] = transpose [permutation = c(2, 1)] (%x2)
         %11: f32[2] = reduce_sum [axes = 2, drop = TRUE] (%10)
         %12: f64[2] = convert [dtype = f64, ambiguous = FALSE] (%11)
         %13: f64[2] = reduce_max [axes = 1, drop = TRUE] (%x3)
         %14: f64[2] = sub(%12, %13)
         %15: f64[2] = reverse [axes = 1] (%14)",
        "%15, %9, %10, %2",
        &["f64[]", "f32[2, 3]", "f64[]"],
    );
}

#[test]
fn long_sums_are_added_in_lanes() {
    scans(
        &["f32[]"],
        &["f32[21]"],
        &[],
        "%1: f32[] = reduce_sum [axes = 1, drop = TRUE] (%x1)
         %2: f32[] = reduce_prod [axes = 1, drop = TRUE] (%x1)
         %3: f32[] = reduce_min [axes = 1, drop = TRUE] (%x1)
         %4: f32[] = add(%1, %x0)
         %5: f32[] = add(%2, %3)",
        "%4, %5",
        &["f32[]"],
    );
}

#[test]
fn integers_of_all_widths() {
    for dtype in ["i8", "i16", "i32", "i64", "ui8", "ui16", "ui32"] {
        let ty = format!("{dtype}[]");
        let body = format!(
            "%1: {dtype}[] = mul(%x0, 5:{dtype})
             %2: {dtype}[] = add(%1, %x1)
             %3: {dtype}[] = xor(%2, %x0)
             %4: i1[] = lt(%3, %x1)
             %5: {dtype}[] = select(%4, %3, %2)
             %6: f64[] = convert [dtype = f64, ambiguous = FALSE] (%5)
             %7: f32[] = convert [dtype = f32, ambiguous = FALSE] (%3)
             %8: i64[] = convert [dtype = i64, ambiguous = FALSE] (%5)
             %9: i16[] = convert [dtype = i16, ambiguous = FALSE] (%8)
             %10: {dtype}[] = convert [dtype = {dtype}, ambiguous = FALSE] (%4)
             %11: {dtype}[] = add(%5, %10)
             %12: {dtype}[] = shift_right_logical(%11, 3:{dtype})
             %13: {dtype}[] = shift_left(%x1, %12)"
        );
        let made = ["f64[]", "f32[]", "i64[]", "i16[]", &ty, &ty];
        scans(&[&ty], &[&ty], &[], &body, "%11, %6, %7, %8, %9, %12, %13", &made);
    }
}

#[test]
fn what_is_carried_changes_places() {
    // More than there are registers for.
    let types = ["f64[]", "f32[]", "f64[3]", "i32[]", "f64[]", "i1[]", "f64[3]", "f32[]", "f64[]"];
    scans(
        &types,
        &[],
        &[],
        "%1: f64[] = add(%x0, %x4)
         %2: i1[] = not(%x5)
         %3: i32[] = add(%x3, 1:i32)",
        "%x8, %x7, %x6, %3, %x0, %2, %x2, %x1, %1, %x4",
        &["f64[]"],
    );
}

/// Guards are true of some numbers: kernels compute these, while registers and the stack hold others.
#[test]
fn functions_of_numbers_that_their_formulas_are_not_for() {
    for dtype in ["f64", "f32"] {
        let ty = format!("{dtype}[]");
        let large = if dtype == "f64" { "1e300" } else { "1e30" };
        let mut body = format!(
            "%1: {dtype}[] = sin(%x0)
             %2: {dtype}[] = mul(%x2, {large}:{dtype})
             %3: {dtype}[] = sin(%2)
             %4: {dtype}[] = cos(%2)
             %5: {dtype}[] = exp(%2)
             %6: {dtype}[] = logistic(%5)
             %7: {dtype}[] = add(%3, %x1)
             %8: {dtype}[] = floor(%x2)
             %9: {dtype}[] = abs(%x0)
             %10: {dtype}[] = pow(%9, %8)
             %11: {dtype}[] = pow(%9, %x2)
             %12: {dtype}[] = pow(3:{dtype}, %8)
             %13: {dtype}[] = log(%x2)
             %14: {dtype}[] = log1p(%x2)
"
        );
        // As many as there are registers for, and more.
        let mut sum = "%1".to_string();
        for i in 0..20 {
            body += &format!(
                "             %{}: {dtype}[] = mul(%x2, %{})\n             %{}: {dtype}[] = log(%{})\n",
                20 + i,
                if i == 0 { 14 } else { 19 + i },
                50 + i,
                20 + i
            );
        }
        for i in 0..20 {
            body += &format!("             %{}: {dtype}[] = sub({sum}, %{})\n", 80 + i, 50 + (7 * i) % 20);
            sum = format!("%{}", 80 + i);
        }
        let made = [ty.as_str(); 10];
        let gives = format!("%1, %7, %4, %5, %6, %10, %11, %12, %13, %14, %39, {sum}");
        scans(&[&ty, &ty], &[&ty], &[], &body, &gives, &made);
    }
}

/// Kernels are called where there is no formula, on elements in registers.
#[test]
fn functions_without_formulas_are_called_on_numbers() {
    for dtype in ["f64", "f32"] {
        let ty = format!("{dtype}[]");
        let body = format!(
            "%1: {dtype}[] = lgamma(%x0)
             %2: {dtype}[] = digamma(%x2)
             %3: {dtype}[] = add(%1, %2)
             %4: {dtype}[] = erfc(%3)
             %5: {dtype}[] = mul(%4, %x3)
             %6: {dtype}[] = mul(%x0, %x1)
             %7: {dtype}[] = sub(%6, %5)"
        );
        scans(&[&ty, &ty], &[&ty], &[&ty], &body, "%4, %7, %2, %5", &[&ty, &ty]);
    }
}

/// Of short vectors on each register, of longer ones on the whole value.
#[test]
fn functions_without_formulas_are_called_on_vectors() {
    for dtype in ["f64", "f32"] {
        for size in [3, 8, 9, 17, 40] {
            let ty = format!("{dtype}[{size}]");
            let body = format!(
                "%1: {dtype}[{size}] = lgamma(%x0)
                 %2: {dtype}[{size}] = digamma(%x2)
                 %3: {dtype}[{size}] = add(%1, %2)
                 %4: {dtype}[{size}] = erfc(%3)
                 %5: {dtype}[{size}] = abs(%4)
                 %6: {dtype}[{size}] = log_gammainc_dx(%5, %x3)
                 %7: {dtype}[{size}] = lbeta(%5, %x3)
                 %8: {dtype}[{size}] = sub(%6, %7)
                 %9: {dtype}[{size}] = is_nan(%8)",
            )
            .replace(&format!("%9: {dtype}"), "%9: i1");
            let made = [ty.as_str(), &ty, &format!("i1[{size}]")];
            assert!(scans(&[&ty, &ty], &[&ty], &[&ty], &body, "%4, %x2, %3, %7, %9", &made), "{ty}");
        }
    }
}

/// A function reads what is carried for the last time, and then what cannot be read leaves the iteration.
#[test]
fn what_is_carried_is_as_it_was_where_an_iteration_is_left() {
    scans(
        &["f64[]", "f64[]"],
        &["i32[]"],
        &["f64[200]"],
        "%1: f64[] = sin(%x0)
         %2: f64[1] = dynamic_slice [slice_sizes = 1, mode = \"clip\"] (%x3, %x2)
         %3: f64[] = reshape [shape = c(), order = \"column\"] (%2)
         %4: f64[] = add(%3, %x1)",
        "%1, %4, %4",
        &["f64[]"],
    );
}

#[test]
fn ops_without_instructions_are_called() {
    scans(
        &["f64[2]", "f64[2, 2]"],
        &["f64[2]"],
        &["f64[200]"],
        "%1: f64[2] = exp(%x0)
         %2: f64[2] = dot_general [contracting_axes = [2, 1], batching_axes = [c(), c()]] (%x1, %1)
         %3: f64[2] = add(%2, %x2)
         %4: f64[2] = tanh(%3)
         %5: f64[] = reduce_sum [axes = 1, drop = TRUE] (%x3)
         %6: f64[2, 2] = transpose [permutation = c(2, 1)] (%x1)
         %7: f64[2] = broadcast_in_dim [shape = 2, broadcast_axes = c()] (%5)
         %8: f64[2] = min(%4, %7)",
        "%8, %6, %3",
        &["f64[2]"],
    );
}

#[test]
fn many_values_at_once() {
    let mut body = String::new();
    for i in 1..=30 {
        let from = if i == 1 { "%x0".to_string() } else { format!("%{}", i - 1) };
        body += &format!("%{i}: f64[] = sub({from}, %x{})\n", 1 + i % 9);
    }
    let mut sum = "%1".to_string();
    for i in 2..=30 {
        body += &format!("%{}: f64[] = mul({sum}, %{})\n", 100 + i, 32 - i);
        sum = format!("%{}", 100 + i);
    }
    let rest = ["f64[]"; 9];
    scans(&["f64[]"], &[], &rest, &body, &format!("%30, {sum}, %7"), &["f64[]", "f64[]"]);
}

/// A loop that sums what it reads at positions from a start on, as far as a limit.
fn reads(start: i64, limit: i64, step: i64, mode: &str) -> String {
    format!(
        "<AnvilGraph>
  Inputs:
    %x: f64[50, 4]
  Body:
    (%i9, %s9): (i32[], f64[]) = while({start}:i32, 0:f64, %x)
      cond(%i: i32[], %s: f64[]):
        %go: i1[] = lt(%i, {limit}:i32)
        gives (%go)
      body(%i: i32[], %s: f64[], %x: f64[50, 4]):
        %next: i32[] = add(%i, {step}:i32)
        %at: f64[2, 2] = dynamic_slice [slice_sizes = c(2, 2){mode}] (%x, %i, 1:i32)
        %two: f64[] = reduce_sum [axes = c(1, 2), drop = TRUE] (%at)
        %sum: f64[] = add(%s, %two)
        gives (%next, %sum)
  Outputs:
    %s9: f64[]
"
    )
}

#[test]
fn positions_that_are_computed() {
    let mut rng = Rng::new(3);
    for mode in ["", ", mode = \"clip\""] {
        for (start, limit, step) in [(0, 49, 1), (5, 5, 1), (5, 4, 1), (0, 40, 7), (48, 49, 1)] {
            check(&reads(start, limit, step, mode), &mut rng).unwrap();
        }
        for (start, limit, step) in [(-3, 49, 1), (0, 60, 1), (40, 2000, 100)] {
            assert_eq!(check(&reads(start, limit, step, mode), &mut rng).is_err(), mode.is_empty());
        }
    }
}

#[test]
fn a_loop_ends_where_its_condition_says() {
    // Also where a piece between two questions whether to stop ends.
    let mut rng = Rng::new(5);
    for limit in [0, 1, 2, 3275, 3276, 3277, 4096, 5461, 8192, 16384, 40000] {
        let text = format!(
            "<AnvilGraph>
  Inputs:
    %x: i32[]
  Body:
    %zero: i32[] = mul(%x, 0:i32)
    (%i9, %s9): (i32[], i64[]) = while(%zero, 0:i64, %x)
      cond(%i: i32[], %s: i64[]):
        %go: i1[] = lt(%i, {limit}:i32)
        gives (%go)
      body(%i: i32[], %s: i64[], %x: i32[]):
        %next: i32[] = add(%i, 1:i32)
        %y: i32[] = xor(%x, %i)
        %z: i64[] = convert [dtype = i64, ambiguous = FALSE] (%y)
        %sum: i64[] = add(%s, %z)
        gives (%next, %sum)
  Outputs:
    %i9: i32[]
    %s9: i64[]
"
        );
        check(&text, &mut rng).unwrap();
    }
}

#[test]
fn a_loop_in_a_loop() {
    let mut rng = Rng::new(9);
    let text = "<AnvilGraph>
  Inputs:
    %x: f64[6]
    %y: f64[]
  Body:
    (%s9, %ys): (f64[], f64[6]) = scan [length = 6, reverse = FALSE, checkpoint = FALSE] (%y, %x)
      body(%s: f64[], %x: f64[]):
        (%i9, %t9): (i32[], f64[]) = while(0:i32, %s, %x)
          cond(%i: i32[], %t: f64[]):
            %go: i1[] = lt(%i, 9:i32)
            gives (%go)
          body(%i: i32[], %t: f64[], %x: f64[]):
            %next: i32[] = add(%i, 1:i32)
            %half: f64[] = mul(%t, 0.5:f64)
            %sum: f64[] = add(%half, %x)
            gives (%next, %sum)
        gives (%t9, %s)
  Outputs:
    %s9: f64[]
    %ys: f64[6]
";
    check(text, &mut rng).unwrap();
}
