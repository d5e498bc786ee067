//! Transforms on half of the numbers give what those on all give, but for roundings.

mod common;
#[path = "common/gradients.rs"]
mod gradients;
#[path = "common/loops.rs"]
mod loops;
#[path = "common/rounding.rs"]
mod rounding;

use anvil_core::graph::Value;
use anvil_core::kernels::fourier::Kind;
use anvil_core::ops::*;
use anvil_core::passes::{optimise, spectra};
use anvil_core::shape::Axis;
use common::Rng;
use loops::{float, plain, region};
use rounding::agree;

/// A transform along an axis.
fn along(b: &mut Builder, x: Value, kind: Kind, axis: usize) -> Value {
    b.node1(Fourier { kind, axis: Axis(axis), size: 0 }, &[x]).unwrap()
}

/// Transforms along all axes.
fn all(b: &mut Builder, mut x: Value, kind: Kind) -> Value {
    for axis in 0..b.graph().aval(x).shape.rank() {
        x = along(b, x, kind, axis);
    }
    x
}

/// A graph on `inputs` real values of these sizes.
fn program(sizes: &[usize], inputs: usize, f: impl FnOnce(&mut Builder, &[Value]) -> Vec<Value>) -> Graph {
    optimise(&region(&vec![float(sizes); inputs], f)).unwrap()
}

/// Names of ops, those in regions too.
fn ops(graph: &Graph) -> Vec<&'static str> {
    let inner = |node: &anvil_core::graph::Node<Op>| {
        let regions = node.op.regions().into_iter().flat_map(|(_, region)| ops(region));
        std::iter::once(node.op.row().name).chain(regions).collect::<Vec<_>>()
    };
    graph.nodes().iter().flat_map(inner).collect()
}

const SIZES: [&[usize]; 14] = [
    &[1],
    &[2],
    &[3],
    &[4],
    &[5],
    &[8],
    &[12],
    &[67],
    &[1, 4],
    &[4, 1],
    &[4, 6],
    &[5, 3],
    &[2, 7],
    &[3, 4, 5],
];

#[test]
fn what_is_real_is_transformed_by_half() {
    type Body = fn(&mut Builder, &[Value]) -> Vec<Value>;
    let cases: [Body; 6] = [
        // A convolution, and a correlation.
        |b, x| {
            let [one, other] = [x[0], x[1]].map(|x| all(b, x, Kind::Forward));
            let product = plain(b, "mul", &[one, other]);
            let back = all(b, product, Kind::Inverse);
            vec![plain(b, "real", &[back])]
        },
        |b, x| {
            let [one, other] = [x[0], x[1]].map(|x| all(b, x, Kind::Forward));
            let other = plain(b, "conj", &[other]);
            let product = plain(b, "mul", &[one, other]);
            let scaled = plain(b, "negate", &[product]);
            let back = all(b, scaled, Kind::Inverse);
            let moved = plain(b, "add", &[back, x[1]]);
            vec![plain(b, "real", &[moved])]
        },
        // Autocovariances: the transform of squares, either way.
        |b, x| {
            let one = all(b, x[0], Kind::Forward);
            let size = plain(b, "magnitude", &[one]);
            let square = plain(b, "mul", &[size, size]);
            let back = all(b, square, Kind::Inverse);
            vec![plain(b, "real", &[back])]
        },
        |b, x| {
            let one = all(b, x[0], Kind::Inverse);
            let size = plain(b, "magnitude", &[one]);
            let back = all(b, size, Kind::Forward);
            vec![plain(b, "real", &[back])]
        },
        // The parts, put together again.
        |b, x| {
            let one = all(b, x[0], Kind::Forward);
            let [re, im] = ["real", "imag"].map(|part| plain(b, part, &[one]));
            let im = plain(b, "negate", &[im]);
            let turned = plain(b, "complex", &[re, im]);
            let e = plain(b, "exp", &[turned]);
            let back = all(b, e, Kind::Inverse);
            vec![plain(b, "real", &[back])]
        },
        // A product of what is real and complex by its type.
        |b, x| {
            let one = all(b, x[0], Kind::Forward);
            let product = plain(b, "mul", &[one, one]);
            let back = all(b, product, Kind::Inverse);
            let product = plain(b, "mul", &[back, x[1]]);
            vec![plain(b, "real", &[product])]
        },
    ];
    let rng = &mut Rng::new(3);
    for sizes in SIZES {
        for (i, case) in cases.iter().enumerate() {
            let old = program(sizes, 2, case);
            let new = spectra(&old).unwrap().unwrap_or_else(|| panic!("case {i} of {sizes:?} stays\n{old}"));
            let names = ops(&new);
            assert!(names.contains(&"irfft"), "{new}");
            // Of one number, everything is real.
            if sizes.len() == 1 && sizes[0] > 1 {
                assert!(!names.contains(&"ifft") && !names.contains(&"fft"), "{new}");
            }
            agree(&old, &new, rng);
        }
    }
}

/// A loop reads the transform of a real value that is outside of it.
#[test]
fn loops_know_what_they_read() {
    let rng = &mut Rng::new(4);
    for sizes in SIZES {
        let shape = float(sizes);
        let old = program(sizes, 2, |b, x| {
            let outside = all(b, x[1], Kind::Forward);
            let spectrum = b.graph().aval(outside).clone();
            let body = region(&[shape.clone(), spectrum], |b, x| {
                let one = all(b, x[0], Kind::Forward);
                let product = plain(b, "mul", &[one, x[1]]);
                let back = all(b, product, Kind::Inverse);
                let real = plain(b, "real", &[back]);
                vec![plain(b, "sin", &[real])]
            });
            let op = Scan {
                carried: 1,
                sliced: 0,
                length: 3,
                reverse: false,
                last: false,
                checkpoint: false,
                body,
            };
            vec![b.node1(op, &[x[0], outside]).unwrap()]
        });
        let new = spectra(&old).unwrap().expect("a loop");
        assert!(ops(&new).contains(&"irfft"), "{new}");
        agree(&old, &new, rng);
    }
}

/// Half of a spectrum that a slice reads.
#[test]
fn slices_within_half_read_half() {
    let rng = &mut Rng::new(5);
    for (n, limit, half) in
        [(8, 5, true), (8, 6, false), (9, 5, true), (9, 6, false), (1, 1, true), (2, 2, true)]
    {
        let old = program(&[n, 3], 1, |b, x| {
            let one = along(b, x[0], Kind::Forward, 0);
            let size = plain(b, "magnitude", &[one]);
            let slice = StaticSlice { start: vec![0, 1], limit: vec![limit, 3], stride: vec![1, 1] };
            vec![b.node1(slice, &[size]).unwrap()]
        });
        let new = spectra(&old).unwrap();
        assert_eq!(new.is_some(), half, "{n} {limit}");
        new.inspect(|new| agree(&old, new, rng));
    }
}

/// Values that are wanted whole stay, and so do those that are not symmetric.
#[test]
fn what_has_no_symmetry_stays() {
    let stays = |f: fn(&mut Builder, &[Value]) -> Vec<Value>| {
        let old = program(&[6, 4], 2, f);
        assert!(spectra(&old).unwrap().is_none(), "{old}");
    };
    stays(|b, x| vec![all(b, x[0], Kind::Forward)]);
    // A real factor that is another one on the other side.
    stays(|b, x| {
        let one = all(b, x[0], Kind::Forward);
        let zero = plain(b, "sub", &[x[1], x[1]]);
        let factor = plain(b, "complex", &[x[1], zero]);
        let product = plain(b, "mul", &[one, factor]);
        let back = all(b, product, Kind::Inverse);
        vec![plain(b, "real", &[back])]
    });
    // The transform is read by others, too.
    stays(|b, x| {
        let one = all(b, x[0], Kind::Forward);
        let back = all(b, one, Kind::Inverse);
        vec![plain(b, "real", &[back]), plain(b, "imag", &[back])]
    });
    // The argument of a negative number is pi, and so is that of its conjugate.
    stays(|b, x| {
        let one = all(b, x[0], Kind::Forward);
        let angle = plain(b, "arg", &[one]);
        let back = all(b, angle, Kind::Inverse);
        vec![plain(b, "real", &[back])]
    });
}

/// Random programs of transforms and what is done with spectra, with and without symmetries.
#[test]
fn random_programs_keep_their_values() {
    let rng = &mut Rng::new(6);
    let mut changed = 0;
    for _ in 0..1500 {
        let sizes = *rng.choose(&SIZES);
        let old = program(sizes, 2, |b, x| {
            let mut pool = x.to_vec();
            for _ in 0..3 + rng.below(10) {
                // The last ones are likelier.
                let pick =
                    |rng: &mut Rng| pool[pool.len() - 1 - rng.below(pool.len()).min(rng.below(pool.len()))];
                let (v, w) = (pick(rng), pick(rng));
                let is_complex = b.graph().aval(v).dtype.is_complex();
                let axis = rng.below(sizes.len());
                let made = match rng.below(12) {
                    0 => along(b, v, Kind::Forward, axis),
                    1 => along(b, v, Kind::Inverse, axis),
                    2 => all(b, v, Kind::Forward),
                    3 | 4 => all(b, v, Kind::Inverse),
                    5 if is_complex => plain(b, rng.choose::<&str>(&["conj", "negate"]), &[v]),
                    5 | 6 if is_complex => plain(b, rng.choose::<&str>(&["real", "imag", "magnitude"]), &[v]),
                    7 if !is_complex && !b.graph().aval(w).dtype.is_complex() => plain(b, "complex", &[v, w]),
                    8 => plain(b, rng.choose::<&str>(&["add", "sub"]), &[v, w]),
                    9 if !is_complex => plain(b, "sin", &[v]),
                    _ => plain(b, "mul", &[v, w]),
                };
                pool.push(made);
            }
            let last = *pool.last().expect("values");
            let real = match b.graph().aval(last).dtype.is_complex() {
                true => plain(b, "real", &[last]),
                false => last,
            };
            match rng.below(4) {
                0 => vec![real, pool[pool.len() - 2]],
                _ => vec![real],
            }
        });
        if let Some(new) = spectra(&old).unwrap() {
            changed += 1;
            agree(&old, &new, rng);
        }
    }
    assert!(changed > 300, "{changed}");
}
