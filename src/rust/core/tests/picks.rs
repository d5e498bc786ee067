//! Single elements at computed places of each example of a batch, which groups read, against the reference, bit by bit.

mod common;

use common::both::{check, line_ops};
use common::Rng;

/// A gather of an element for each index, of this type, from a value of this type; `axes` are the parameters that say which.
fn picks(value: &str, indices: &str, result: &str, axes: &str, mode: &str) -> String {
    format!(
        "<AnvilGraph>
  Inputs:
    %x: {value}
    %i: {indices}
    %y: {result}
  Body:
    %1: {result} = gather [{axes}, indices_are_sorted = FALSE{mode}] (%x, %i)
    %2: {result} = sub(%1, %y)
    %3: {result} = mul(%2, %1)
  Outputs:
    %3: {result}
"
    )
}

#[test]
fn elements_of_each_example() {
    let mut rng = Rng::new(5);
    let last =
        "slice_sizes = c(1, 1), offset_axes = c(), collapsed_slice_axes = 1, operand_batching_axes = 2, \
                start_indices_batching_axes = 2, start_index_map = 1";
    let kept = last.replace(
        "offset_axes = c(), collapsed_slice_axes = 1",
        "offset_axes = 1, collapsed_slice_axes = c()",
    );
    let first =
        "slice_sizes = c(1, 1), offset_axes = c(), collapsed_slice_axes = 2, operand_batching_axes = 1, \
                 start_indices_batching_axes = 1, start_index_map = 2";
    let two = "slice_sizes = c(1, 1, 1), offset_axes = c(), collapsed_slice_axes = 2, operand_batching_axes = c(1, 3), \
               start_indices_batching_axes = c(2, 1), start_index_map = 2";
    let middle =
        "slice_sizes = c(1, 1), offset_axes = c(), collapsed_slice_axes = 2, operand_batching_axes = 1, \
                  start_indices_batching_axes = 2, start_index_map = 2";
    for index in ["i32", "ui8", "i64"] {
        for (size, fits) in [(300, true), (200, false)] {
            for (value, indices, result, axes, at) in [
                // One for each example, with and without an axis of the only one; several; many, more than are found at once.
                (format!("{size}, 50"), "1, 50", "50", last, 1),
                (format!("{size}, 50"), "1, 50", "1, 50", kept.as_str(), 1),
                (format!("{size}, 50"), "7, 50", "7, 50", last, 3),
                (format!("{size}, 3"), "700, 3", "700, 3", last, 3),
                (format!("{size}, 600"), "1, 600", "600", last, 1),
                (format!("{size}, 1"), "9, 1", "9, 1", last, 3),
                (format!("50, {size}"), "50, 4", "50, 4", first, 3),
                (format!("4, {size}, 5"), "5, 4, 6", "5, 4, 6", two, 4),
                // More examples than a table of offsets has, which begin again, of one window and of some.
                (format!("2100, {size}"), "2100, 2", "2100, 2", first, 3),
                (format!("420, {size}"), "5, 420, 2", "5, 420, 2", middle, 4),
                (format!("70, {size}"), "40, 70, 2", "40, 70, 2", middle, 4),
                (format!("30, {size}"), "5, 30, 3", "5, 30, 3", middle, 4),
            ] {
                for mode in ["", ", mode = \"clip\""] {
                    let axes = format!("{axes}, index_vector_axis = {at}");
                    let [value, result] = [&value[..], result].map(|sizes| format!("f64[{sizes}]"));
                    let text = picks(&value, &format!("{index}[{indices}]"), &result, &axes, mode);
                    let made = check(&text, &mut rng);
                    assert!(made.is_ok() || !fits && mode.is_empty(), "{text}");
                    let ops = line_ops(&text);
                    assert_eq!(ops, [["gather", "sub", "mul"]], "{text}");
                }
            }
        }
    }
}

/// A program with rows of a matrix of this type at indices of this one, and what is computed from them.
fn rows(dtype: &str, [of, rows, columns]: [usize; 3], index: &str, mode: &str) -> String {
    format!(
        "<AnvilGraph>
  Inputs:
    %x: {dtype}[{of}, {columns}]
    %i: {index}[{rows}]
    %y: {dtype}[{rows}, {columns}]
  Body:
    %1: {dtype}[{rows}, {columns}] = gather [slice_sizes = c(1, {columns}), offset_axes = 2, collapsed_slice_axes = 1, \
start_index_map = 1, index_vector_axis = 2, indices_are_sorted = FALSE{mode}] (%x, %i)
    %2: {dtype}[{rows}, {columns}] = max(%1, %y)
  Outputs:
    %1: {dtype}[{rows}, {columns}]
    %2: {dtype}[{rows}, {columns}]
"
    )
}

#[test]
fn rows_of_matrices() {
    let mut rng = Rng::new(9);
    for dtype in ["f64", "f32", "i32", "i64", "ui16", "i8", "bf16"] {
        for (size, fits) in [(300, true), (200, false)] {
            for count in [0, 1, 100, 260, 700] {
                for columns in [1, 2, 3, 4, 6, 9, 16] {
                    for index in ["i32", "i64", "ui8"] {
                        for mode in ["", ", mode = \"clip\""] {
                            let text = rows(dtype, [size, count, columns], index, mode);
                            let made = check(&text, &mut rng);
                            assert!(made.is_ok() || !fits && mode.is_empty(), "{text}");
                        }
                    }
                }
            }
        }
    }
}
