//! Derivative rules of slicing ops, against central differences, first and second order; and a check that
//! every op is differentiated in some test.

mod common;
#[path = "common/gradients.rs"]
mod gradients;

use anvil_core::dtype::DType;
use anvil_core::graph::Value;
use anvil_core::ops::attrs::{Attr, Attrs};
use anvil_core::ops::{rows, Builder, OpDef, Special};
use anvil_core::shape::Shape;
use anvil_core::tensor::Literal;
use common::Rng;
use gradients::{check, gradient, inputs, integers, numbers, op, run, scalar, weighed};

const AROUND: [[f64; 2]; 1] = [[-1.5, 1.5]];

fn attrs(pairs: &[(&'static str, &[usize])]) -> Attrs {
    pairs.iter().fold(Attrs::new(), |attrs, (name, x)| attrs.with(name, numbers(x)))
}

fn signed(x: &[i64]) -> Attr {
    Attr::Numbers(x.iter().map(|&x| x as f64).collect())
}

/// What to do with positions out of range; an error only if all fit.
fn modes(all_fit: bool) -> impl Iterator<Item = &'static str> {
    ["clip", "drop"].into_iter().chain(all_fit.then_some("error"))
}

/// A value with 0 for the NaN that is read where nothing is.
fn without_nan(b: &mut Builder, x: Value) -> Value {
    let is_nan = op(b, "is_nan", &[x], &Attrs::new());
    let zero = b.literal(Literal::new(0.0), None);
    op(b, "select", &[is_nan, zero, x], &Attrs::new())
}

#[test]
fn concatenate_and_reverse() {
    let rng = &mut Rng::new(1);
    let join = |b: &mut Builder, x: &[Value]| op(b, "concatenate", x, &attrs(&[("axis", &[2])]));
    check("concatenate", &join, &[[2, 3].into(), [2, 0].into(), [2, 1].into()], &AROUND, rng);
    // The same value twice gets both parts.
    let twice =
        |b: &mut Builder, x: &[Value]| op(b, "concatenate", &[x[0], x[1], x[0]], &attrs(&[("axis", &[1])]));
    check("concatenate twice", &twice, &[[2, 2].into(), [1, 2].into()], &AROUND, rng);
    let turn = |b: &mut Builder, x: &[Value]| op(b, "reverse", x, &attrs(&[("axes", &[3, 1])]));
    check("reverse", &turn, &[[2, 3, 2].into()], &AROUND, rng);
}

#[test]
fn static_slices() {
    let rng = &mut Rng::new(2);
    // First, last and stride along each of two axes: whole, part, with steps that end before the limit,
    // empty.
    for (start, limit, strides) in [
        ([1, 1], [7, 3], [1, 1]),
        ([2, 3], [5, 3], [1, 1]),
        ([2, 1], [7, 3], [2, 2]),
        ([1, 2], [6, 3], [3, 5]),
        ([4, 1], [3, 3], [1, 1]),
    ] {
        let attrs = attrs(&[("start_indices", &start), ("limit_indices", &limit), ("strides", &strides)]);
        check("static_slice", &|b, x| op(b, "static_slice", x, &attrs), &[[7, 3].into()], &AROUND, rng);
    }
}

#[test]
fn dynamic_slices_with_starts_that_fit_and_do_not() {
    let rng = &mut Rng::new(3);
    for starts in [[1, 1], [3, 2], [-4, 2], [99, 1], [99, 99]] {
        for mode in modes(starts == [1, 1] || starts == [3, 2]) {
            let read = |b: &mut Builder, x: &[Value]| {
                let starts = starts.map(|i| b.literal(Literal::new(i), None));
                let attrs = attrs(&[("slice_sizes", &[2, 2])]).with("mode", Attr::Text(mode.into()));
                let read = op(b, "dynamic_slice", &[x[0], starts[0], starts[1]], &attrs);
                without_nan(b, read)
            };
            check("dynamic_slice", &read, &[[4, 3].into()], &AROUND, rng);
            let write = |b: &mut Builder, x: &[Value]| {
                let starts = starts.map(|i| b.literal(Literal::new(i), None));
                let attrs = Attrs::new().with("mode", Attr::Text(mode.into()));
                op(b, "dynamic_update_slice", &[x[0], x[1], starts[0], starts[1]], &attrs)
            };
            check("dynamic_update_slice", &write, &[[4, 3].into(), [2, 2].into()], &AROUND, rng);
            check("dynamic_update_slice, empty", &write, &[[4, 3].into(), [2, 0].into()], &AROUND, rng);
        }
    }
}

#[test]
fn pads() {
    let rng = &mut Rng::new(4);
    for (low, high, interior) in [
        ([1, 0], [2, 1], [0, 0]),
        ([0, 1], [0, 0], [2, 1]),
        ([-1, 0], [0, -2], [0, 0]),
        // Cuts between the elements that are pushed apart, and away some of them.
        ([-2, 1], [-1, -3], [1, 2]),
        // More is cut away than there is of one axis; the other grows.
        ([-3, 2], [0, 0], [0, 0]),
    ] {
        let attrs =
            Attrs::new().with("edge_padding_low", signed(&low)).with("edge_padding_high", signed(&high));
        let attrs = attrs.with("interior_padding", signed(&interior));
        for shape in [Shape::from([3, 4]), [3, 0].into()] {
            if shape[1] == 0 && high[1] < 0 {
                continue;
            }
            check("pad", &|b, x| op(b, "pad", x, &attrs), &[shape, Shape::scalar()], &AROUND, rng);
        }
    }
}

/// Rows of a matrix, at positions from 1.
fn rows_of(b: &mut Builder, x: Value, at: &[i32], mode: &str) -> Value {
    let columns = b.graph().aval(x).shape[1];
    let indices = integers(b, at, &[at.len(), 1]);
    let attrs = attrs(&[
        ("offset_axes", &[2]),
        ("collapsed_slice_axes", &[1]),
        ("operand_batching_axes", &[]),
        ("start_indices_batching_axes", &[]),
        ("start_index_map", &[1]),
        ("index_vector_axis", &[2]),
        ("slice_sizes", &[1, columns]),
    ]);
    let attrs = attrs.with("indices_are_sorted", Attr::Logical(false)).with("mode", Attr::Text(mode.into()));
    let rows = op(b, "gather", &[x, indices], &attrs);
    without_nan(b, rows)
}

#[test]
fn gathers() {
    let rng = &mut Rng::new(5);
    // Duplicates, and positions before the first and beyond the last.
    for at in [&[1, 2, 3][..], &[2, 2, 2, 1], &[-7, 0, 4, 99, 3], &[]] {
        for mode in modes(at.iter().all(|i| (1..=3).contains(i))) {
            check(mode, &|b, x| rows_of(b, x[0], at, mode), &[[3, 2].into()], &AROUND, rng);
        }
    }
    // Windows of 2 x 2 that overlap; one of them has to be moved along one axis, one along both.
    let windows = |b: &mut Builder, x: &[Value]| {
        let at = integers(b, &[1, 2, 4, 9, 0, 1, 2, 3, 9, 2], &[5, 2]);
        let attrs = attrs(&[
            ("offset_axes", &[1, 3]),
            ("collapsed_slice_axes", &[]),
            ("operand_batching_axes", &[]),
            ("start_indices_batching_axes", &[]),
            ("start_index_map", &[1, 2]),
            ("index_vector_axis", &[2]),
            ("slice_sizes", &[2, 2]),
        ]);
        let attrs = attrs.with("mode", Attr::Text("clip".into()));
        op(b, "gather", &[x[0], at], &attrs.with("indices_are_sorted", Attr::Logical(false)))
    };
    check("gather of windows", &windows, &[[4, 3].into()], &AROUND, rng);
    // A batch axis, and index vectors along an axis that is not there.
    let batched = |b: &mut Builder, x: &[Value]| {
        let at = integers(b, &[1, 3, 3, 2, 9, 0], &[2, 3]);
        let attrs = attrs(&[
            ("offset_axes", &[]),
            ("collapsed_slice_axes", &[2]),
            ("operand_batching_axes", &[1]),
            ("start_indices_batching_axes", &[1]),
            ("start_index_map", &[2]),
            ("index_vector_axis", &[3]),
            ("slice_sizes", &[1, 1]),
        ]);
        let attrs = attrs.with("mode", Attr::Text("clip".into()));
        op(b, "gather", &[x[0], at], &attrs.with("indices_are_sorted", Attr::Logical(false)))
    };
    check("gather in batches", &batched, &[[2, 3].into()], &AROUND, rng);
}

/// Rows written to a matrix, at positions from 1.
fn rows_into(b: &mut Builder, x: Value, at: &[i32], update: Value, how: &str) -> Value {
    rows_by(b, x, at, update, Attr::Text(how.into()), "drop")
}

fn rows_by(b: &mut Builder, x: Value, at: &[i32], update: Value, how: Attr, mode: &str) -> Value {
    let indices = integers(b, at, &[at.len(), 1]);
    let attrs = attrs(&[
        ("update_window_axes", &[2]),
        ("inserted_window_axes", &[1]),
        ("input_batching_axes", &[]),
        ("scatter_indices_batching_axes", &[]),
        ("scatter_axes_to_operand_axes", &[1]),
        ("index_vector_axis", &[2]),
    ]);
    let attrs = attrs.with("update_computation", how).with("mode", Attr::Text(mode.into()));
    let attrs =
        attrs.with("indices_are_sorted", Attr::Logical(false)).with("unique_indices", Attr::Logical(false));
    op(b, "scatter", &[x, indices, update], &attrs)
}

#[test]
fn scatters() {
    let rng = &mut Rng::new(6);
    for how in ["add", "replace", "mul", "min", "max"] {
        // Duplicates, and positions outside, which are not written.
        for at in [&[1, 3][..], &[2, 2, 1, 2], &[-7, 0, 4, 3, 99], &[]] {
            let update = Shape::try_new(vec![at.len(), 2]).unwrap();
            for mode in modes(at.iter().all(|i| (1..=3).contains(i))) {
                let how = Attr::Text(how.into());
                let rows = |b: &mut Builder, x: &[Value]| rows_by(b, x[0], at, x[1], how.clone(), mode);
                check(mode, &rows, &[[3, 2].into(), update.clone()], &AROUND, rng);
            }
        }
        // Windows of 2 x 2 that overlap in part; the fourth does not fit and is dropped as a whole.
        let windows = |b: &mut Builder, x: &[Value]| {
            let at = integers(b, &[1, 2, 3, 4, 1, 1, 2, 1], &[4, 2]);
            let attrs = attrs(&[
                ("update_window_axes", &[1, 3]),
                ("inserted_window_axes", &[]),
                ("input_batching_axes", &[]),
                ("scatter_indices_batching_axes", &[]),
                ("scatter_axes_to_operand_axes", &[1, 2]),
                ("index_vector_axis", &[2]),
            ]);
            let attrs = attrs.with("update_computation", Attr::Text(how.into()));
            let attrs = attrs
                .with("mode", Attr::Text("drop".into()))
                .with("indices_are_sorted", Attr::Logical(false))
                .with("unique_indices", Attr::Logical(false));
            op(b, "scatter", &[x[0], at, x[1]], &attrs)
        };
        check(how, &windows, &[[4, 3].into(), [2, 4, 2].into()], &AROUND, rng);
    }
}

#[test]
fn scatters_by_mul_at_zeros() {
    let rng = &mut Rng::new(8);
    let shapes = [[3, 2].into(), [5, 2].into()];
    let program = |b: &mut Builder, x: &[Value]| rows_into(b, x[0], &[2, 1, 2, 7, 2], x[1], "mul");
    // Zeros in the input, in one update of a place, in two, in all; in a window that is dropped.
    for (in_x, in_update) in [
        (&[1][..], &[][..]),
        (&[], &[0]),
        (&[1], &[0, 2]),
        (&[], &[0, 2, 4, 9]),
        (&[], &[3, 8]),
        (&[], &[1, 6]),
    ] {
        let point: Vec<Vec<f64>> = [(6, in_x), (10, in_update)]
            .iter()
            .map(|(n, zeros)| {
                (0..*n)
                    .map(|i| if zeros.contains(&i) { 0.0 } else { gradients::uniform(rng, [0.5, 1.5]) })
                    .collect()
            })
            .collect();
        gradients::agrees("scatter by mul at 0", &scalar(&program, &shapes, 3), &shapes, &point, rng);
    }
    // By hand: x = (2, 0), updates 3, 0 for the first, 5, 0 for the second element.
    let shapes = [[2, 1].into(), [4, 1].into()];
    let at = |b: &mut Builder, x: &[Value]| rows_into(b, x[0], &[1, 1, 2, 2], x[1], "mul");
    let got =
        run(&gradient(&ones(&at, &shapes), &shapes).unwrap(), &[vec![2.0, 0.0], vec![3.0, 0.0, 5.0, 0.0]]);
    assert_eq!(got, [vec![0.0, 0.0], vec![0.0, 6.0, 0.0, 0.0]]);
}

#[test]
fn scatters_by_min_and_max_share_among_ties() {
    let shapes = [[3, 1].into(), [5, 1].into()];
    // The first element ties with two updates, two updates of the second tie above it, the third is met by no
    // window.
    let point = [vec![4.0, 1.0, 2.0], vec![4.0, 2.0, 4.0, 2.0, 9.0]];
    for (how, sign) in [("max", 1.0), ("min", -1.0)] {
        let program = |b: &mut Builder, x: &[Value]| rows_into(b, x[0], &[1, 2, 1, 2, 8], x[1], how);
        let point = point.clone().map(|x| x.into_iter().map(|v| sign * v).collect::<Vec<f64>>());
        let got = run(&gradient(&ones(&program, &shapes), &shapes).unwrap(), &point);
        let third = 1.0 / 3.0;
        assert_eq!(got, [vec![third, 0.0, 1.0], vec![third, 0.5, third, 0.5, 0.0]], "{how}");
    }
}

/// The sum of what a program gives, as a graph.
fn ones(program: &gradients::Program, shapes: &[Shape]) -> anvil_core::ops::Graph {
    let mut b = Builder::default();
    let x = inputs(&mut b, shapes);
    let y = program(&mut b, &x);
    let all = Attrs::new().with("axes", Attr::Null).with("drop", Attr::Logical(true));
    let sum = op(&mut b, "reduce_sum", &[y], &all);
    b.finish(vec![sum])
}

#[test]
fn scatters_by_a_function_say_that_they_have_no_rule() {
    let shapes = [[3, 2].into(), [2, 2].into()];
    let mut region = Builder::default();
    let old_and_new = inputs(&mut region, &[Shape::scalar(), Shape::scalar()]);
    let difference = op(&mut region, "sub", &old_and_new, &Attrs::new());
    let region = std::sync::Arc::new(region.finish(vec![difference]));
    let graph =
        scalar(&|b, x| rows_by(b, x[0], &[1, 2], x[1], Attr::Graph(region.clone()), "error"), &shapes, 1);
    let error = gradient(&graph, &shapes).unwrap_err();
    assert!(error.class() == "anvil_error_grad" && error.to_string().contains("by a function"), "{error}");
}

#[test]
fn products_with_zeros_to_second_order() {
    let rng = &mut Rng::new(7);
    // Zeros written by the program itself: differences at a point with a zero are those of any other point.
    for zeros in [&[][..], &[2], &[1, 4], &[1, 2, 3]] {
        for axes in [Attr::Null, numbers(&[1]), numbers(&[2])] {
            let attrs = Attrs::new().with("axes", axes).with("drop", Attr::Logical(true));
            let program = |b: &mut Builder, x: &[Value]| {
                // x - floor(x) * mask is smooth, since the floor of what is in [0.2, 0.8] is 0.
                let flat = op(
                    b,
                    "reshape",
                    &[x[0]],
                    &Attrs::new().with("shape", numbers(&[6])).with("order", Attr::Text("column".into())),
                );
                let at: Vec<f64> = (1..=6).map(|i| if zeros.contains(&i) { 0.5 } else { 0.0 }).collect();
                let shift = gradients::constant(b, &at, &[6].into());
                let moved = op(b, "sub", &[flat, shift], &Attrs::new());
                let x = op(
                    b,
                    "reshape",
                    &[moved],
                    &Attrs::new().with("shape", numbers(&[2, 3])).with("order", Attr::Text("column".into())),
                );
                op(b, "reduce_prod", &[x], &attrs)
            };
            check("reduce_prod", &program, &[[2, 3].into()], &[[0.2, 0.8]], rng);
            // And exactly at the zeros.
            let shapes = [[2, 3].into()];
            let point = [vec![0.5; 6]];
            let first = scalar(&program, &shapes, 3);
            let gradients = gradients::agrees("reduce_prod at 0", &first, &shapes, &point, rng);
            gradients::agrees(
                "reduce_prod at 0, second order",
                &weighed(&gradients, &shapes, 4),
                &shapes,
                &point,
                rng,
            );
        }
    }
    // By hand: d2 (xyz) / dx dy = z, and the others are 0 where z is.
    let shapes = [[3].into()];
    let all = Attrs::new().with("axes", Attr::Null).with("drop", Attr::Logical(true));
    let mut b = Builder::default();
    let x = inputs(&mut b, &shapes);
    let y = op(&mut b, "reduce_prod", &x, &all);
    let first = gradient(&b.finish(vec![y]), &shapes).unwrap();
    assert_eq!(run(&first, &[vec![2.0, 3.0, 0.0]]), [[0.0, 0.0, 6.0]]);
    let mut b = Builder::default();
    let x = inputs(&mut b, &shapes);
    let g = anvil_core::autodiff::Tape::record(&mut b, &first, &x, &[]).unwrap().outputs()[0];
    let third = rows_like_element(&mut b, g, 3);
    let second = gradient(&b.finish(vec![third]), &shapes).unwrap();
    assert_eq!(run(&second, &[vec![2.0, 3.0, 0.0]]), [[3.0, 2.0, 0.0]]);
    assert_eq!(run(&second, &[vec![0.0, 3.0, 0.0]]), [[3.0, 0.0, 0.0]]);
}

#[test]
fn sorted_values() {
    let rng = &mut Rng::new(17);
    for axis in [numbers(&[1]), numbers(&[2]), Attr::Null] {
        for down in [false, true] {
            let sort = Attrs::new().with("axis", axis.clone()).with("decreasing", Attr::Logical(down));
            check("sort", &|b, x| op(b, "sort", x, &sort), &[[4, 3].into()], &AROUND, rng);
            let top = sort.with("k", numbers(&[2]));
            check("top_k", &|b, x| op(b, "top_k", x, &top), &[[4, 3].into()], &AROUND, rng);
        }
        let flags = ["na_rm", "drop"];
        let attrs = flags.iter().fold(Attrs::new(), |attrs, name| attrs.with(name, Attr::Logical(true)));
        let attrs = attrs.with("axis", axis);
        check("median", &|b, x| op(b, "median", x, &attrs), &[[4, 3].into()], &AROUND, rng);
        for kind in 4..=9 {
            // The derivative by the probability too, between two elements.
            let attrs = attrs.clone().with("type", numbers(&[kind]));
            let within = [[-1.5, 1.5], [0.41, 0.49]];
            check(
                "quantile",
                &|b, x| op(b, "quantile", x, &attrs),
                &[[4, 3].into(), Shape::scalar()],
                &within,
                rng,
            );
        }
    }
}

#[test]
fn of_equal_elements_each_has_the_gradient_of_its_place() {
    let shapes = [Shape::from([4]), Shape::from([4])];
    let weigh = |down: bool, x: &[f64]| {
        let mut b = Builder::default();
        let v = inputs(&mut b, &shapes);
        let attrs = Attrs::new().with("axis", Attr::Null).with("decreasing", Attr::Logical(down));
        let sorted = op(&mut b, "sort", &v[..1], &attrs);
        let product = op(&mut b, "mul", &[sorted, v[1]], &Attrs::new());
        let all = Attrs::new().with("axes", Attr::Null).with("drop", Attr::Logical(true));
        let sum = op(&mut b, "reduce_sum", &[product], &all);
        let gradients = gradient(&b.finish(vec![sum]), &shapes).unwrap();
        run(&gradients, &[x.to_vec(), vec![1.0, 2.0, 3.0, 4.0]]).remove(0)
    };
    assert_eq!(weigh(false, &[5.0, 1.0, 5.0, 0.0]), [3.0, 2.0, 4.0, 1.0]);
    assert_eq!(weigh(true, &[5.0, 1.0, 5.0, f64::NAN]), [1.0, 3.0, 2.0, 4.0]);
}

/// One element of a vector, at a position from 1.
fn rows_like_element(b: &mut Builder, x: Value, at: usize) -> Value {
    let one = op(b, "static_slice", &[x], &attrs(&[("start_indices", &[at]), ("limit_indices", &[at])]));
    op(b, "reshape", &[one], &attrs(&[("shape", &[])]).with("order", Attr::Text("column".into())))
}

#[test]
fn cumulations() {
    let rng = &mut Rng::new(8);
    for name in ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"] {
        for (axis, shape) in [(1, Shape::from([7])), (1, [4, 2].into()), (2, [2, 5].into()), (1, [1].into())]
        {
            for reverse in [false, true] {
                let attrs = attrs(&[("axis", &[axis])]).with("reverse", Attr::Logical(reverse));
                check(name, &|b, x| op(b, name, x, &attrs), std::slice::from_ref(&shape), &AROUND, rng);
            }
        }
        let whole = Attrs::new().with("reverse", Attr::Logical(false));
        check(name, &|b, x| op(b, name, x, &whole), &[[2, 3].into()], &AROUND, rng);
        check(name, &|b, x| op(b, name, x, &whole), &[[0].into()], &AROUND, rng);
    }
}

#[test]
fn transforms() {
    let rng = &mut Rng::new(9);
    for (axis, shape) in [(1, Shape::from([6])), (1, [5, 2].into()), (2, [2, 4].into()), (1, [1].into())] {
        let attrs = attrs(&[("axis", &[axis])]).with("n", numbers(&[shape[axis - 1]]));
        for [there, back] in [["rfft", "irfft"], ["fft", "ifft"]] {
            // A convolution of the elements with themselves.
            let f = |b: &mut Builder, x: &[Value]| {
                let y = op(b, there, x, &attrs);
                let y = op(b, "mul", &[y, y], &Attrs::new());
                let y = op(b, back, &[y], &attrs);
                op(b, "real", &[y], &Attrs::new())
            };
            check(there, &f, std::slice::from_ref(&shape), &AROUND, rng);
        }
    }
}

#[test]
fn convolutions() {
    let rng = &mut Rng::new(10);
    let cases: [([&[usize]; 2], [&[usize]; 3], [i64; 2], usize); 6] = [
        ([&[2, 5, 2], &[3, 2, 3]], [&[1], &[1], &[1]], [0, 0], 1),
        ([&[1, 7, 4], &[3, 2, 4]], [&[2], &[1], &[1]], [1, -1], 2),
        ([&[2, 4, 2], &[2, 1, 2]], [&[1], &[2], &[2]], [2, 1], 2),
        ([&[1, 6, 1], &[2, 1, 1]], [&[3], &[1], &[1]], [0, 0], 1),
        ([&[2, 4, 5, 2], &[2, 3, 2, 1]], [&[1, 2], &[1, 1], &[2, 1]], [1, 0], 1),
        ([&[1, 2, 3, 2, 1], &[2, 2, 2, 1, 2]], [&[1, 1, 1], &[1, 1, 1], &[1, 1, 1]], [0, 1], 1),
    ];
    for ([x, kernel], [stride, dilation, base], [low, high], groups) in cases {
        let attrs = attrs(&[("stride", stride), ("dilation", dilation), ("operand_dilation", base)])
            .with("low", signed(&[low]))
            .with("high", signed(&[high]))
            .with("groups", numbers(&[groups]));
        let shapes = [x, kernel].map(|sizes| Shape::try_new(sizes.to_vec()).unwrap());
        check("conv", &|b, v| op(b, "conv", v, &attrs), &shapes, &AROUND, rng);
    }
}

#[test]
fn folds_of_windows() {
    let rng = &mut Rng::new(11);
    for fold in ["sum", "prod", "max", "min"] {
        for (size, stride, dilation, [low, high], shape) in [
            (&[3][..], &[1][..], &[1][..], [0, 0], Shape::from([6])),
            (&[2, 3], &[2, 1], &[1, 1], [1, 0], [5, 4].into()),
            (&[2, 1], &[1, 2], &[3, 1], [-1, 0], [6, 3].into()),
        ] {
            let attrs = attrs(&[("size", size), ("stride", stride), ("dilation", dilation)])
                .with("low", signed(&[low]))
                .with("high", signed(&[high]))
                .with("fold", Attr::Text(fold.into()));
            check("reduce_window", &|b, x| op(b, "reduce_window", x, &attrs), &[shape], &AROUND, rng);
        }
    }
}

/// The gradient of the sum of a cumulation's results.
fn of_cumulation(name: &str, x: &[f64]) -> Vec<f64> {
    let attrs = Attrs::new().with("reverse", Attr::Logical(false));
    let shapes = [[x.len()].into()];
    let graph = ones(&|b, x| op(b, name, x, &attrs), &shapes);
    run(&gradient(&graph, &shapes).unwrap(), &[x.to_vec()]).remove(0)
}

#[test]
fn cumulations_at_zeros_ties_and_infinities() {
    // By hand: of x, xy, xyz the derivatives are 1 + y + yz, x + xz, xy.
    assert_eq!(of_cumulation("cumprod", &[2.0, 0.0, 5.0]), [1.0, 12.0, 0.0]);
    assert_eq!(of_cumulation("cumprod", &[0.0, 0.0, 5.0]), [1.0, 0.0, 0.0]);
    assert_eq!(of_cumulation("cumprod", &[0.0, 3.0, 0.0]), [4.0, 0.0, 0.0]);
    // The first of equal elements.
    assert_eq!(of_cumulation("cummax", &[1.0, 1.0, 0.0, 2.0, 2.0]), [3.0, 0.0, 0.0, 2.0, 0.0]);
    assert_eq!(of_cumulation("cummin", &[1.0, 1.0, 2.0, 0.0, 0.0]), [3.0, 0.0, 0.0, 2.0, 0.0]);
    assert_eq!(of_cumulation("cummax", &[f64::NEG_INFINITY, 1.0]), [1.0, 1.0]);
    // Weights of elements in the results, where none is NaN.
    assert_eq!(of_cumulation("cumlogsumexp", &[f64::NEG_INFINITY, 0.0, 0.0]), [1.0, 1.5, 0.5]);
    assert_eq!(of_cumulation("cumlogsumexp", &[0.0, f64::INFINITY, 0.0]), [1.0, 2.0, 0.0]);
    // exp(1000) is infinite.
    assert_eq!(of_cumulation("cumlogsumexp", &[1000.0, 0.0]), [2.0, 0.0]);
}

/// Ops of floats that tests of this name derive.
const DERIVED: [(&str, &[&str]); 4] = [
    (
        "rules_of_structured_ops_agree_with_differences (gradients.rs)",
        &[
            "reduce_sum",
            "reduce_prod",
            "reduce_max",
            "reduce_min",
            "reduce_squares",
            "reshape",
            "transpose",
            "broadcast_in_dim",
            "dot_general",
            "clamp",
            "select",
            "complex",
            "conj",
            "real",
            "imag",
            "magnitude",
            "arg",
            "convert",
        ],
    ),
    (
        "here",
        &[
            "concatenate",
            "reverse",
            "static_slice",
            "dynamic_slice",
            "dynamic_update_slice",
            "pad",
            "gather",
            "scatter",
            "sort",
            "cumsum",
            "cumprod",
            "cummax",
            "cummin",
            "cumlogsumexp",
            "fft",
            "ifft",
            "rfft",
            "irfft",
            "conv",
            "reduce_window",
        ],
    ),
    ("gradients_control.rs", &["if", "scan"]),
    ("matrices.rs", &["chol", "triangular_solve", "lu", "lu_solve", "qr", "eigh", "svd"]),
];

/// Ops of floats that no test holds to differences, and why.
const NOT_DERIVED: [(&str, &str); 12] = [
    ("stop_gradient", "what it is for is to differ from the differences"),
    ("bitcast_convert", "its result is bits, which jump: it has no gradient"),
    ("order", "gives integers"),
    ("top_k", "gives integers"),
    ("fill", "has no operand"),
    ("iota", "has no operand"),
    ("while", "how often it repeats is not known in advance: an error, tested in gradients_control.rs"),
    ("rng_bits", "takes and gives integers"),
    ("custom_gradient", "the user's rule, tested in test-custom-gradient.R"),
    ("custom_jvp", "the user's rule, tested in test-custom-gradient.R"),
    ("print", "the value itself, tested in test-nv-print.R"),
    ("callback", "the engine does not see what it computes: an error, tested in effects.rs"),
];

#[test]
fn every_op_of_floats_is_derived_somewhere() {
    let mut known: Vec<&str> = DERIVED.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    known.extend(NOT_DERIVED.iter().map(|(name, _)| *name));
    let all: Vec<&str> = rows().map(|row| row.name).collect();
    for name in &known {
        assert!(all.contains(name), "there is no op called {name}");
    }
    for row in rows().filter(|row| row.accepts.contains(DType::F64)) {
        // gradients.rs walks these; what is boolean has no gradient.
        let special = Special::ALL.iter().any(|op| op.row().name == row.name);
        let walked = row.generated || special || row.function == "nv_round";
        assert!(walked || known.contains(&row.name), "no test derives {}", row.name);
    }
}
