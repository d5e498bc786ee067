//! Parts of the bodies of native loops that are more than ops on elements, against the reference, bit by bit: products
//! and factors of small matrices, folds, cumulations, and windows of short values at computed positions.

mod common;

use common::both::scans;

/// As [`scans`], of a body with these results, the first of them carried, in which floats have no other NaN than the usual
/// one: what one of two NaN an op gives is the processor's choice, by the order in which the compiler has them.
fn scans_of_one_nan(carried: &[&str], sliced: &[&str], body: &str, results: &[(&str, &str)]) {
    let (mut body, mut gives) = (body.to_string(), vec![]);
    for &(number, ty) in results {
        let (dtype, sizes) = ty.split_once('[').unwrap();
        if !dtype.starts_with('f') {
            gives.push(number.to_string());
            continue;
        }
        let shape = sizes.trim_end_matches(']');
        body += &format!(
            "\n{number}001: i1[{sizes} = is_nan({number})
             {number}002: {ty} = broadcast_in_dim [shape = c({shape}), broadcast_axes = c()] (NaN:{dtype})
             {number}003: {ty} = select({number}001, {number}002, {number})"
        );
        gives.push(format!("{number}003"));
    }
    let made: Vec<&str> = results[1..].iter().map(|(_, ty)| *ty).collect();
    scans(carried, sliced, &[], &body, &gives.join(", "), &made);
}

#[test]
fn products_of_small_matrices() {
    for (dtype, [m, k, n]) in [
        ("f64", [2, 2, 2]),
        ("f32", [3, 4, 1]),
        ("f64", [1, 5, 4]),
        ("f64", [4, 1, 3]),
        ("f32", [7, 7, 7]),
        ("f64", [8, 7, 8]),
    ] {
        let body = format!(
            "%1: {dtype}[{m}, {n}] = dot_general [contracting_axes = [2, 1], batching_axes = [c(), c()]] (%x1, %x2)
             %2: {dtype}[{n}, {m}] = dot_general [contracting_axes = [1, 2], batching_axes = [c(), c()]] (%x2, %x1)
             %3: {dtype}[{m}, {n}] = add(%x0, %1)
             %4: {dtype}[{n}, {m}] = sub(%2, %2)
             %5: {dtype}[{n}, {m}] = add(%2, %4)"
        );
        let types =
            [format!("{dtype}[{m}, {n}]"), format!("{dtype}[{m}, {k}]"), format!("{dtype}[{k}, {n}]")];
        let turned = format!("{dtype}[{n}, {m}]");
        scans(&[&types[0]], &[&types[1], &types[2]], &[], &body, "%3, %5", &[&turned]);
    }
    // Batches in front and behind; sums over two axes, and over none.
    scans(
        &["f64[2]"],
        &["f64[2, 3, 2]", "f64[3, 2, 2]"],
        &[],
        "%1: f64[2, 3, 3] = dot_general [contracting_axes = [3, 2], batching_axes = [1, 3]] (%x1, %x2)
         %2: f64[3, 3, 2] = dot_general [contracting_axes = [3, 2], batching_axes = [1, 3], batch_last = TRUE] (%x1, %x2)
         %3: f64[2, 2] = dot_general [contracting_axes = [c(2, 3), c(1, 2)], batching_axes = [c(), c()]] (%x1, %x2)
         %4: f64[2, 2] = dot_general [contracting_axes = [c(), c()], batching_axes = [c(), c()]] (%x0, %x0)",
        "%x0, %1, %2, %3, %4",
        &["f64[2, 3, 3]", "f64[3, 3, 2]", "f64[2, 2]", "f64[2, 2]"],
    );
}

#[test]
fn factors_of_small_matrices() {
    for (dtype, n, m) in [
        ("f64", 1, 2),
        ("f64", 2, 1),
        ("f32", 2, 2),
        ("f64", 3, 2),
        ("f64", 4, 1),
        ("f32", 4, 3),
        ("f64", 5, 2),
    ] {
        let square = format!("{dtype}[{n}, {n}]");
        let sides = format!("{dtype}[{n}, {m}]");
        // Many elements are zero, or have the size of another one, so that pivots vanish and choices are close. Of
        // the products with the own transpose some are positive definite.
        let body = format!(
            "%1: {square} = broadcast_in_dim [shape = c({n}, {n}), broadcast_axes = c()] (0.5:{dtype})
             %2: i1[{n}, {n}] = lt(%x1, %1)
             %3: {square} = sub(%1, %1)
             %4: {square} = trunc(%x1)
             %5: {square} = select(%2, %3, %4)
             (%6, %7, %8): ({square}, i32[{n}], i32[{n}]) = lu(%5)
             %9: {sides} = lu_solve [adjoint = FALSE] (%5, %6, %8, %x2)
             %10: {sides} = lu_solve [adjoint = TRUE] (%5, %6, %8, %x2)
             (%11, %12, %13): ({square}, i32[{n}], i32[{n}]) = lu(%x1)
             %14: {sides} = lu_solve [adjoint = FALSE] (%x1, %11, %13, %x2)
             %15: {sides} = lu_solve [adjoint = TRUE] (%x1, %11, %13, %x2)
             %16: {square} = dot_general [contracting_axes = [2, 2], batching_axes = [c(), c()]] (%5, %5)
             %17: {square} = chol [lower = FALSE] (%16)
             %18: {square} = dot_general [contracting_axes = [2, 2], batching_axes = [c(), c()]] (%x1, %x1)
             %19: {square} = chol [lower = TRUE] (%18)
             %20: {sides} = triangular_solve [lower = TRUE, unit_diagonal = FALSE, adjoint = FALSE] (%19, %x2)
             %21: {sides} = triangular_solve [lower = FALSE, unit_diagonal = TRUE, adjoint = TRUE] (%5, %x2)
             %22: {sides} = triangular_solve [lower = FALSE, unit_diagonal = FALSE, adjoint = FALSE] (%5, %x2)
             %23: {square} = add(%x0, %x1)"
        );
        let integers = format!("i32[{n}]");
        let results = [
            ("%23", &*square),
            ("%6", &square),
            ("%7", &integers),
            ("%8", &integers),
            ("%9", &sides),
            ("%10", &sides),
            ("%11", &square),
            ("%12", &integers),
            ("%13", &integers),
            ("%14", &sides),
            ("%15", &sides),
            ("%17", &square),
            ("%19", &square),
            ("%20", &sides),
            ("%21", &sides),
            ("%22", &sides),
        ];
        scans_of_one_nan(&[&square], &[&square, &sides], &body, &results);
    }
    // More rows than columns, and more columns than rows.
    scans(
        &["f64[]"],
        &["f64[4, 2]", "f64[2, 3]"],
        &[],
        "(%1, %2, %3): (f64[4, 2], i32[2], i32[4]) = lu(%x1)
         (%4, %5, %6): (f64[2, 3], i32[2], i32[2]) = lu(%x2)",
        "%x0, %1, %2, %3, %4, %5, %6",
        &["f64[4, 2]", "i32[2]", "i32[4]", "f64[2, 3]", "i32[2]", "i32[2]"],
    );
}

#[test]
fn folds_and_cumulations() {
    for (dtype, n) in [("f64", 1), ("f32", 5), ("f64", 8), ("f32", 9), ("f64", 20), ("f32", 31)] {
        let [matrix, vector, pair] =
            [format!("{n}, 2"), n.to_string(), "2".into()].map(|sizes| format!("{dtype}[{sizes}]"));
        // The squares of the large numbers are infinite.
        let large = if dtype == "f64" { "1e200" } else { "1e30" };
        let body = format!(
            "%1: {pair} = reduce_squares [axes = 1, drop = TRUE] (%x1)
             %20: {matrix} = broadcast_in_dim [shape = c({n}, 2), broadcast_axes = c()] ({large}:{dtype})
             %21: {matrix} = mul(%x1, %20)
             %2: {pair} = reduce_squares [axes = 1, drop = TRUE] (%21)
             %3: {vector} = reduce_squares [axes = 2, drop = TRUE] (%x1)
             %4: {matrix} = cumsum [axis = 1, reverse = FALSE] (%x1)
             %5: {matrix} = cumsum [axis = 2, reverse = TRUE] (%x1)
             %6: {matrix} = cumprod [axis = 1, reverse = TRUE] (%x1)
             %7: {matrix} = cummax [axis = 1, reverse = FALSE] (%x1)
             %8: {matrix} = cummin [axis = 1, reverse = TRUE] (%x1)
             %9: {pair} = reduce_sum [axes = 1, drop = TRUE] (%x1)
             %10: {pair} = add(%9, %x0)"
        );
        let results = [
            ("%10", &*pair),
            ("%1", &pair),
            ("%2", &pair),
            ("%3", &vector),
            ("%4", &matrix),
            ("%5", &matrix),
            ("%6", &matrix),
            ("%7", &matrix),
            ("%8", &matrix),
        ];
        scans_of_one_nan(&[&pair], &[&matrix], &body, &results);
    }
    scans(
        &["i32[3]"],
        &["i32[4]", "i1[4]"],
        &[],
        "%1: i32[4] = cumsum [axis = 1, reverse = FALSE] (%x1)
         %2: i32[4] = cumprod [axis = 1, reverse = TRUE] (%x1)
         %3: i32[4] = cummax [axis = 1, reverse = FALSE] (%x1)
         %4: i1[4] = cummax [axis = 1, reverse = FALSE] (%x2)",
        "%x0, %1, %2, %3, %4",
        &["i32[4]", "i32[4]", "i32[4]", "i1[4]"],
    );
}

#[test]
fn windows_of_short_values_at_computed_positions() {
    let reads = "offset_axes = c(), collapsed_slice_axes = 1, start_index_map = 1, index_vector_axis = 2";
    let writes =
        "update_window_axes = c(), inserted_window_axes = 1, scatter_axes_to_operand_axes = 1, index_vector_axis = 2";
    let flags = "indices_are_sorted = FALSE";
    // Positions that are now and then out of range, and are moved or left out.
    for (limit, update) in [("3:i32", "\"add\""), ("5:i32", "\"max\""), ("3:i32", "\"min\"")] {
        let body = format!(
            "%1: i32[] = and(%x2, {limit})
             %2: i32[] = add(%1, -1:i32)
             %3: f64[4] = add(%x0, %x0)
             %4: f64[1] = dynamic_slice [slice_sizes = 1, mode = \"clip\"] (%3, %2)
             %5: f64[2] = dynamic_slice [slice_sizes = 2, mode = \"clip\"] (%x1, %1)
             %6: f64[4, 4] = transpose [permutation = c(2, 1)] (%x3)
             %7: f64[1, 2] = reshape [shape = c(1, 2), order = \"column\"] (%5)
             %8: f64[4, 4] = dynamic_update_slice [mode = \"clip\"] (%6, %7, %1, %2)
             %9: i32[1] = reshape [shape = 1, order = \"column\"] (%1)
             %10: i32[1] = reshape [shape = 1, order = \"column\"] (%2)
             %11: i32[3] = concatenate [axis = 1] (%9, %10, %9)
             %12: f64[3] = gather [slice_sizes = 1, {reads}, {flags}, mode = \"clip\"] (%3, %11)
             %13: f64[4] = scatter [{writes}, {flags}, unique_indices = FALSE, update_computation = {update}, mode = \"drop\"] (%3, %11, %12)
             %14: f64[4] = mul(%13, %x1)"
        );
        let results = [
            ("%14", "f64[4]"),
            ("%4", "f64[1]"),
            ("%5", "f64[2]"),
            ("%8", "f64[4, 4]"),
            ("%12", "f64[3]"),
            ("%13", "f64[4]"),
        ];
        scans_of_one_nan(&["f64[4]"], &["f64[4]", "i32[]", "f64[4, 4]"], &body, &results);
    }
}

#[test]
fn branches_and_short_loops() {
    let body = "%1: i1[] = lt(%x2, 0:f64)
         (%2, %3, %4): (f64[3], i1[3], f64[]) = if(%1, %x0, %x1, %x0, %x1)
           true(%a: f64[3], %b: f64[3]):
             %1: f64[3] = cumsum [axis = 1, reverse = FALSE] (%a)
             %2: i1[3] = lt(%a, %b)
             %3: f64[3] = sqrt(%1)
             %4: f64[] = reduce_max [axes = 1, drop = TRUE] (%b)
             gives (%3, %2, %4)
           false(%a: f64[3], %b: f64[3]):
             %1: f64[3] = reverse [axes = 1] (%a)
             %2: i1[3] = gt(%1, %b)
             %3: f64[] = reduce_sum [axes = 1, drop = TRUE] (%a)
             %4: f64[] = atan2(%3, 3:f64)
             gives (%b, %2, %4)
         (%5, %6, %7): (i32[], f64[3], f64[2, 3]) = scan [length = 2, reverse = REVERSE, checkpoint = FALSE] (0:i32, %2, %x3, %4)
           body(%i: i32[], %a: f64[3], %row: f64[3], %c: f64[]):
             %1: f64[1] = dynamic_slice [slice_sizes = 1] (%row, %i)
             %2: f64[1] = add(%1, %1)
             %3: f64[3] = dynamic_update_slice (%a, %2, %i)
             %4: i32[] = add(%i, 1:i32)
             %5: f64[3] = broadcast_in_dim [shape = 3, broadcast_axes = c()] (%c)
             %6: f64[3] = sub(%3, %5)
             gives (%4, %6, %3)
         %8: f64[3] = min(%6, %x1)";
    for reverse in ["FALSE", "TRUE"] {
        let body = body.replace("REVERSE", reverse);
        let results =
            [("%8", "f64[3]"), ("%2", "f64[3]"), ("%3", "i1[3]"), ("%4", "f64[]"), ("%7", "f64[2, 3]")];
        scans_of_one_nan(&["f64[3]"], &["f64[3]", "f64[]", "f64[2, 3]"], &body, &results);
    }
}

#[test]
fn values_without_elements() {
    scans(
        &["f64[2]"],
        &["f64[0, 0]", "f64[0, 2]", "f64[2, 0]", "f64[0]"],
        &[],
        "(%1, %2, %3): (f64[0, 0], i32[0], i32[0]) = lu(%x1)
         %4: f64[0, 2] = lu_solve [adjoint = FALSE] (%x1, %1, %3, %x2)
         %5: f64[0, 2] = lu_solve [adjoint = TRUE] (%x1, %1, %3, %x2)
         %6: f64[0, 0] = chol [lower = TRUE] (%x1)
         %7: f64[0, 2] = triangular_solve [lower = TRUE, unit_diagonal = FALSE, adjoint = FALSE] (%x1, %x2)
         %8: f64[2, 2] = dot_general [contracting_axes = [2, 1], batching_axes = [c(), c()]] (%x3, %x2)
         %9: f64[0] = cumsum [axis = 1, reverse = FALSE] (%x4)
         %10: f64[2] = reduce_sum [axes = 1, drop = TRUE] (%x2)
         %11: f64[2] = reduce_squares [axes = 1, drop = TRUE] (%x2)
         %12: f64[2] = add(%x0, %10)",
        "%12, %4, %5, %6, %7, %8, %9, %11",
        &["f64[0, 2]", "f64[0, 2]", "f64[0, 0]", "f64[0, 2]", "f64[2, 2]", "f64[0]", "f64[2]"],
    );
}
