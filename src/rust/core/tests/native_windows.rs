//! Loops in native code that read and replace windows of vectors and matrices in memory, at computed positions, against
//! the reference: bit by bit, in any order, and where an iteration leaves them.

mod common;

use common::both::run;
use common::Rng;

/// Three positions in a list.
fn indices(step: usize, positions: [String; 3], lines: &mut Vec<String>) -> String {
    for (i, position) in positions.iter().enumerate() {
        lines.push(format!("%p{step}_{i}: i32[1] = reshape [shape = 1, order = \"column\"] ({position})"));
    }
    lines.push(format!("%p{step}: i32[3] = concatenate [axis = 1] (%p{step}_0, %p{step}_1, %p{step}_2)"));
    format!("%p{step}")
}

/// A body that reads and replaces elements of three vectors at computed positions, in a random order.
fn body_on_vectors(rng: &mut Rng) -> String {
    let sizes = [400, 200, 6];
    let mut latest: Vec<String> = (0..3).map(|i| format!("%x{i}")).collect();
    let mut versions: Vec<(usize, String)> = latest.iter().cloned().enumerate().collect();
    let (mut numbers, mut positions) = (vec!["%x3".to_string(), "%x7".into()], vec![]);
    let mut lines =
        vec!["%few: i32[] = and(%x5, 3:i32)".to_string(), "%next: i32[] = add(%x4, 1:i32)".into()];
    positions.extend(["%x4", "%x5", "%few", "%next", "2:i32"].map(String::from));
    for step in 0..4 + rng.below(9) {
        let (place, number) = (rng.choose(&positions).clone(), rng.choose(&numbers).clone());
        let mode = *rng.choose(&["", ", mode = \"clip\""]);
        match rng.below(7) {
            0 | 1 => {
                // Sometimes one that was replaced.
                let old = rng.choose(&versions).clone();
                let which = rng.below(3);
                let (_, from) = if rng.one_in(8) { old } else { (which, latest[which].clone()) };
                lines.push(format!(
                    "%w{step}: f64[1] = dynamic_slice [slice_sizes = 1{mode}] ({from}, {place})"
                ));
                lines.push(format!("%n{step}: f64[] = reshape [shape = c(), order = \"column\"] (%w{step})"));
                numbers.push(format!("%n{step}"));
            }
            2 => {
                let other = rng.choose(&numbers).clone();
                let op = *rng.choose(&["add", "mul", "max"]);
                lines.push(format!("%n{step}: f64[] = {op}({number}, {other})"));
                numbers.push(format!("%n{step}"));
            }
            // Several elements at once, and some of them twice.
            3 => {
                let which = rng.below(3);
                let at = indices(step, [(); 3].map(|()| rng.choose(&positions).clone()), &mut lines);
                let windows =
                    "offset_axes = c(), collapsed_slice_axes = 1, start_index_map = 1, index_vector_axis = 2";
                lines.push(format!(
                    "%w{step}: f64[3] = gather [slice_sizes = 1, {windows}, indices_are_sorted = FALSE{mode}] ({}, {at})",
                    latest[which]
                ));
                lines.push(format!("%n{step}: f64[] = reduce_sum [axes = 1, drop = TRUE] (%w{step})"));
                numbers.push(format!("%n{step}"));
            }
            4 => {
                let which = rng.below(3);
                let at = indices(step, [(); 3].map(|()| rng.choose(&positions).clone()), &mut lines);
                let by = *rng.choose(&["replace", "add", "mul", "max"]);
                let mode = if mode.is_empty() { "" } else { ", mode = \"drop\"" };
                let windows =
                    "update_window_axes = c(), inserted_window_axes = 1, scatter_axes_to_operand_axes = 1, \
                               index_vector_axis = 2, indices_are_sorted = FALSE, unique_indices = FALSE";
                lines.push(format!(
                    "%b{step}: f64[3] = broadcast_in_dim [shape = 3, broadcast_axes = c()] ({number})"
                ));
                lines.push(format!(
                    "%v{step}: f64[{}] = scatter [{windows}, update_computation = \"{by}\"{mode}] ({}, {at}, %b{step})",
                    sizes[which], latest[which]
                ));
                latest[which] = format!("%v{step}");
                versions.push((which, latest[which].clone()));
            }
            _ => {
                let which = rng.below(3);
                let before = latest[which].clone();
                let mode = mode.trim_start_matches(", ");
                let mode = if mode.is_empty() { String::new() } else { format!(" [{mode}] ") };
                lines.push(format!(
                    "%b{step}: f64[1] = broadcast_in_dim [shape = 1, broadcast_axes = c()] ({number})"
                ));
                lines.push(format!(
                    "%v{step}: f64[{}] = dynamic_update_slice{mode}({before}, %b{step}, {place})",
                    sizes[which]
                ));
                latest[which] = format!("%v{step}");
                versions.push((which, latest[which].clone()));
            }
        }
    }
    // Each read is needed, or it would not be done, and could not fail.
    let mut total = numbers[0].clone();
    for (i, number) in numbers[1..].iter().enumerate() {
        lines.push(format!("%t{i}: f64[] = max({total}, {number})"));
        total = format!("%t{i}");
    }
    lines.push(format!("gives ({}, {total}, {total})", latest.join(", ")));
    lines.into_iter().map(|line| format!("            {line}\n")).collect()
}

#[test]
fn elements_of_carried_vectors_are_read_and_replaced_in_any_order() {
    let mut rng = Rng::new(11);
    let (mut native, mut failed) = (0, 0);
    for _ in 0..400 {
        let length = *rng.choose(&[1, 3, 40]);
        let body = body_on_vectors(&mut rng);
        let types = "f64[400], f64[200], f64[6], f64[], f64[LENGTH]".replace("LENGTH", &length.to_string());
        let text = format!(
            "<AnvilGraph>\n  Inputs:\n    %x1: f64[400]\n    %x2: f64[200]\n    %x3: f64[6]\n    %x4: f64[]\n    \
             %x5: i32[{length}]\n    %x6: i32[{length}]\n    %x7: f64[]\n  Body:\n    (%r1, %r2, %r3, %r4, %r5): \
             ({types}) = scan [length = {length}, reverse = FALSE, checkpoint = FALSE] (%x1, %x2, %x3, %x4, %x5, %x6, \
             %x7)\n      body(%x0: f64[400], %x1: f64[200], %x2: f64[6], %x3: f64[], %x4: i32[], %x5: i32[], %x7: \
             f64[]):\n{body}  Outputs:\n    %r1: f64[400]\n    %r2: f64[200]\n    %r3: f64[6]\n    %r4: f64[]\n    %r5: \
             f64[{length}]\n"
        );
        let (result, is_native) = run(&text, &mut rng, true);
        native += usize::from(is_native);
        failed += usize::from(result.is_err());
    }
    assert!(native > 200 && (50..350).contains(&failed), "{native} in native code, {failed} out of range");
}

/// Windows of a matrix, each a part of a column, where two numbers say; elements of each column, where a number for each says.
#[test]
fn windows_of_carried_matrices_are_read_and_replaced() {
    let mut rng = Rng::new(13);
    let ways = [("replace", "", 15), ("add", "", 15), ("add", "", 31), ("min", ", mode = \"drop\"", 31)];
    for (by, mode, most) in ways {
        let clip = if mode.is_empty() { "" } else { ", mode = \"clip\"" };
        let text = format!(
            "<AnvilGraph>
  Inputs:
    %x: f64[30, 9]
    %is: i32[6, 2, 3]
    %js: i32[6, 2, 9]
  Body:
    (%r, %s): (f64[30, 9], f64[6]) = scan [length = 6, reverse = FALSE, checkpoint = FALSE] (%x, %is, %js)
      body(%x: f64[30, 9], %i: i32[2, 3], %j: i32[2, 9]):
        %few: i32[2, 3] = broadcast_in_dim [shape = c(2, 3), broadcast_axes = c()] (7:i32)
        %at: i32[2, 3] = and(%i, %few)
        %more: i32[2, 9] = broadcast_in_dim [shape = c(2, 9), broadcast_axes = c()] ({most}:i32)
        %ats: i32[2, 9] = and(%j, %more)
        %parts: f64[4, 3] = gather [slice_sizes = c(4, 1), offset_axes = 1, collapsed_slice_axes = 2, start_index_map = c(1, 2), index_vector_axis = 1, indices_are_sorted = FALSE{clip}] (%x, %at)
        %two: f64[4, 3] = add(%parts, %parts)
        %y: f64[30, 9] = scatter [update_window_axes = 1, inserted_window_axes = 2, scatter_axes_to_operand_axes = c(1, 2), index_vector_axis = 1, indices_are_sorted = FALSE, unique_indices = FALSE, update_computation = \"{by}\"{mode}] (%x, %at, %two)
        %each: f64[2, 9] = gather [slice_sizes = c(1, 1), offset_axes = c(), collapsed_slice_axes = 1, operand_batching_axes = 2, start_indices_batching_axes = 2, start_index_map = 1, index_vector_axis = 3, indices_are_sorted = FALSE{clip}] (%y, %ats)
        %sum: f64[] = reduce_sum [axes = c(1, 2), drop = TRUE] (%each)
        %less: f64[2, 9] = mul(%each, %each)
        %z: f64[30, 9] = scatter [update_window_axes = c(), inserted_window_axes = 1, input_batching_axes = 2, scatter_indices_batching_axes = 2, scatter_axes_to_operand_axes = 1, index_vector_axis = 3, indices_are_sorted = FALSE, unique_indices = FALSE, update_computation = \"{by}\"{mode}] (%y, %ats, %less)
        gives (%z, %sum)
  Outputs:
    %r: f64[30, 9]
    %s: f64[6]
"
        );
        for _ in 0..50 {
            let (result, is_native) = run(&text, &mut rng, true);
            assert!(is_native, "{by}");
            // Some of so many numbers are 30 or 31.
            assert_eq!(result.is_err(), mode.is_empty() && most > 29, "{by}");
        }
    }
}

/// Elements of a matrix by their numbers in it, as of a vector: what `m[cbind(i, j)] <- x` is in R.
#[test]
fn elements_of_carried_matrices_are_read_and_replaced_as_of_vectors() {
    let mut rng = Rng::new(17);
    for order in ["column", "row"] {
        let text = format!(
            "<AnvilGraph>
  Inputs:
    %x: f64[40, 20]
    %is: i32[6, 3]
  Body:
    (%r, %s): (f64[40, 20], f64[6]) = scan [length = 6, reverse = FALSE, checkpoint = FALSE] (%x, %is)
      body(%x: f64[40, 20], %i: i32[3]):
        %most: i32[3] = broadcast_in_dim [shape = 3, broadcast_axes = c()] (511:i32)
        %at: i32[3] = and(%i, %most)
        %flat: f64[800] = reshape [shape = 800, order = \"{order}\"] (%x)
        %parts: f64[3] = gather [slice_sizes = 1, offset_axes = c(), collapsed_slice_axes = 1, start_index_map = 1, index_vector_axis = 2, indices_are_sorted = FALSE] (%flat, %at)
        %two: f64[3] = add(%parts, %parts)
        %some: i32[1] = static_slice [start_indices = 1, limit_indices = 1, strides = 1] (%at)
        %one: i32[] = reshape [shape = c(), order = \"column\"] (%some)
        %first: i32[] = and(%one, 31:i32)
        %row: f64[1, 20] = dynamic_slice [slice_sizes = c(1, 20)] (%x, %first, 0:i32)
        %sum: f64[] = reduce_sum [axes = c(1, 2), drop = TRUE] (%row)
        %new: f64[800] = scatter [update_window_axes = c(), inserted_window_axes = 1, scatter_axes_to_operand_axes = 1, index_vector_axis = 2, indices_are_sorted = FALSE, unique_indices = FALSE, update_computation = \"replace\"] (%flat, %at, %two)
        %y: f64[40, 20] = reshape [shape = c(40, 20), order = \"{order}\"] (%new)
        gives (%y, %sum)
  Outputs:
    %r: f64[40, 20]
    %s: f64[6]
"
        );
        for _ in 0..30 {
            let (result, is_native) = run(&text, &mut rng, false);
            // By rows they have another order.
            assert!(result.is_ok() && (is_native || order == "row"), "{order}");
        }
    }
}
