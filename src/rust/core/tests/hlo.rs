//! Export to StableHLO: formulas have the meaning of their ops, and the text is the expected one.

mod common;
#[path = "common/exported.rs"]
mod exported;
#[path = "common/rows.rs"]
mod row_programs;

use anvil_core::dtype::DType;
use anvil_core::error::Error;
use anvil_core::exec::reference;
use anvil_core::hlo::{export, legalize, Mesh, Options, Sharding};
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::ops::{
    rows, Binary, BroadcastInDim, Builder, Compare, Convert, Graph, If, Lower, Lowering, Op, Print, Scan,
    Special, Transpose, Unary, While,
};
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::{Aval, Layout, Literal, View};
use common::{random_tensor, Rng};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Random tensors for the inputs of a graph, and for its constants.
fn tensors(rng: &mut Rng, graph: &Graph) -> [Vec<AlignedBytes>; 2] {
    [graph.inputs(), graph.constants()]
        .map(|values| values.iter().map(|&v| random_tensor(rng, graph.aval(v))).collect())
}

fn slices(tensors: &[AlignedBytes]) -> Vec<&[u8]> {
    tensors.iter().map(|x| x.as_slice()).collect()
}

// ---- formulas ------------------------------------------------------------------------------------------------------

/// Distances that formulas may have from their ops, in units in the last place of f32 and f64: those that
/// are no rounding of the same number. All others give the same bits.
const ULP: &[(&str, f64)] = &[
    ("acosh", 1.0),
    ("asin", 1.0),
    ("asinh", 1.0),
    ("atan", 1.0),
    ("atanh", 4.0),
    ("cos", 3.0),
    ("cosh", 3.0),
    ("digamma", 6.0),
    ("erf_inv", 3.0),
    ("erfc", 3.0),
    ("exp", 3.0),
    ("exp2", 2.0),
    ("lgamma", 4.0),
    ("log10", 3.0),
    ("log1p", 2.0),
    ("log2", 3.0),
    ("polygamma", 4.0),
    ("sinpi", 2.0),
    ("cospi", 2.0),
    ("tanpi", 4.0),
    ("reduce_squares", 3.0),
    ("sin", 3.0),
    ("sinh", 3.0),
    ("softplus", 2.0),
];

/// Ops whose formulas join elements in another order.
const REORDERED: [&str; 5] = ["cumsum", "cumprod", "cumlogsumexp", "fft", "ifft"];

/// How results of these differ by more than some units in the last place: of the largest element in sums, where
/// terms may cancel. What overflows or vanishes on the way, which another order need not, is left out.
fn reordered(row: &str, aval: &Aval, [x, got, want]: [&[u8]; 3]) -> Option<String> {
    let part = aval.dtype.part();
    if !part.is_float() {
        return common::first_difference(aval.dtype, got, want);
    }
    let [x, got, want] = [x, got, want].map(|bytes| floats(part, bytes));
    let group = if aval.dtype.is_complex() { 2 } else { 1 };
    let largest = |x: &[f64]| x.iter().map(|x| x.abs()).filter(|x| x.is_finite()).fold(0.0, f64::max);
    for (i, (g, w)) in got.chunks(group).zip(want.chunks(group)).enumerate() {
        let size = if row == "cumprod" { largest(w) } else { largest(&x).max(1.0) };
        let lost = |x: &f64| !x.is_finite() || x.abs() < 1e-30 && row == "cumprod";
        if g.iter().chain(w).any(lost) {
            continue;
        }
        if g.iter().zip(w).any(|(g, w)| (g - w).abs() > 32.0 * ulp(part, size)) {
            return Some(format!("element {i}: {g:?} is not {w:?}"));
        }
    }
    None
}

fn floats(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    match dtype {
        DType::BF16 => bytes.chunks(2).map(|x| half::bf16::from_le_bytes([x[0], x[1]]).into()).collect(),
        DType::F16 => bytes.chunks(2).map(|x| half::f16::from_le_bytes([x[0], x[1]]).into()).collect(),
        DType::F32 => {
            bytes.chunks(4).map(|x| f32::from_le_bytes(x.try_into().expect("4 bytes")).into()).collect()
        }
        _ => bytes.chunks(8).map(|x| f64::from_le_bytes(x.try_into().expect("8 bytes"))).collect(),
    }
}

/// Distance of neighbours of a size.
fn ulp(dtype: DType, size: f64) -> f64 {
    let (digits, smallest) = match dtype {
        DType::BF16 => (8, f64::from(f32::MIN_POSITIVE)),
        DType::F16 => (11, 2f64.powi(-14)),
        DType::F32 => (24, f64::from(f32::MIN_POSITIVE)),
        _ => (53, f64::MIN_POSITIVE),
    };
    let size = size.max(smallest);
    let exponent = size.log2().floor() as i32 + 1 - digits;
    // In two steps: a power that is subnormal would be 1 over Inf.
    2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2)
}

/// How two results differ by more than `bound` units in the last place: of the absolute value for complex
/// numbers, and of 1 or more where `zeros` says that functions have zeros which no digits of the operand
/// tell.
fn difference(aval: &Aval, got: &[u8], want: &[u8], bound: f64, zeros: &[bool]) -> Option<String> {
    let part = aval.dtype.part();
    if bound == 0.0 || !part.is_float() {
        return common::first_difference(aval.dtype, got, want);
    }
    let (got, want) = (floats(part, got), floats(part, want));
    let group = if aval.dtype.is_complex() { 2 } else { 1 };
    for (i, (g, w)) in got.chunks(group).zip(want.chunks(group)).enumerate() {
        let least = if zeros.get(i) == Some(&true) { 1.0 } else { 0.0 };
        let size = w.iter().map(|x| x.abs()).filter(|x| x.is_finite()).fold(least, f64::max);
        // Beside NaN the sign of an infinite part is not defined.
        let unsigned = w.iter().any(|x| x.is_nan());
        for (&g, &w) in g.iter().zip(w) {
            let (g, w) = if unsigned && w.is_infinite() { (g.abs(), w.abs()) } else { (g, w) };
            let same = g == w && (g != 0.0 || g.is_sign_negative() == w.is_sign_negative())
                || g.is_nan() && w.is_nan();
            if !same && ((g - w).abs() > bound * ulp(part, size) || g.is_nan() != w.is_nan() || g == w) {
                return Some(format!("element {i}: {g:e} is not {w:e}"));
            }
        }
    }
    None
}

/// Whether `special.rs` holds the function and its formula to their accuracy.
fn is_special(row: &str) -> bool {
    ["gamma", "erfcx", "probit"].contains(&row) || Special::ALL.iter().any(|op| op.row().name == row)
}

/// How results of special functions differ by more than rounding explains. At the ends of the range the kernels lose the
/// errors of products, and with them the result; the formulas do not.
fn nearly(aval: &Aval, inputs: &[&[u8]], got: &[u8], want: &[u8]) -> Option<String> {
    let all: Vec<Vec<f64>> = inputs.iter().map(|x| floats(aval.dtype, x)).collect();
    for (i, (g, w)) in floats(aval.dtype, got).into_iter().zip(floats(aval.dtype, want)).enumerate() {
        let relative = if aval.dtype == DType::F64 { 1e-9 } else { 2.0 * ulp(aval.dtype, 1.0) };
        // Where quotients of arguments are out of range, kernels know limits that formulas do not.
        let is_far = all.iter().any(|x| x[i].abs() > 1e75 || x[i] != 0.0 && x[i].abs() < 1e-290);
        let same = g == w || g.is_nan() && w.is_nan() || is_far;
        let apart = (g - w).abs();
        if !same && (apart.is_nan() || apart > relative * w.abs() && apart > 1e-13) {
            let x: Vec<f64> = all.iter().map(|x| x[i]).collect();
            return Some(format!("at {x:?}: {g:e} is not {w:e}"));
        }
    }
    None
}

#[test]
fn formulas_mean_what_their_ops_mean() {
    let mut rng = Rng::new(7);
    let (mut found, mut replaced) = (BTreeSet::new(), BTreeSet::new());
    for program in row_programs::programs(row_programs::ELEMENTS) {
        let avals: Vec<Aval> =
            program.graph.inputs().iter().map(|&v| program.graph.aval(v).clone()).collect();
        if matches!(program.graph.nodes()[0].op.lower(&avals), Lowering::Todo { .. }) {
            continue;
        }
        let plain = legalize(&program.graph).unwrap_or_else(|e| panic!("{}: {e}", program.name));
        plain.verify().unwrap_or_else(|e| panic!("{}: {e}", program.name));
        if plain.nodes().len() != 1 {
            replaced.insert(program.row);
        }
        // These take long: one draw, and doubles and singles, of which others are rounded.
        let halves = program.graph.inputs().iter().any(|&v| program.graph.aval(v).dtype.is_half());
        let draws = if !is_special(program.row) { 3 } else { usize::from(!halves) };
        for _ in 0..draws {
            let [inputs, _] = tensors(&mut rng, &program.graph);
            let inputs = slices(&inputs);
            let want = reference::evaluate(&program.graph, &inputs, &[]).unwrap();
            let got = reference::evaluate(&plain, &inputs, &[]).unwrap();
            let bound = ULP.iter().find(|(name, _)| *name == program.row).map_or(0.0, |(_, bound)| *bound);
            // The operand of functions that have zeros on the negative axis.
            let gamma = [("lgamma", 0), ("digamma", 0), ("polygamma", 1)];
            let zeros: Vec<bool> = match gamma.iter().find(|(name, _)| *name == program.row) {
                Some(&(_, x)) => {
                    let dtype = program.graph.aval(program.graph.inputs()[x]).dtype;
                    floats(dtype, inputs[x]).iter().map(|&x| x < 0.0).collect()
                }
                None => vec![],
            };
            for (&v, (got, want)) in program.graph.outputs().iter().zip(got.iter().zip(&want)) {
                let aval = program.graph.aval(v);
                let differs = match program.row {
                    row if REORDERED.contains(&row) => reordered(row, aval, [inputs[0], got, want]),
                    row if is_special(row) => nearly(aval, &inputs, got, want),
                    _ => difference(aval, got, want, bound, &zeros),
                };
                if let Some(what) = differs {
                    found.insert(format!("{}: {what}", program.name));
                }
            }
        }
    }
    assert!(
        found.is_empty(),
        "{} differ:\n{}",
        found.len(),
        found.into_iter().collect::<Vec<_>>().join("\n")
    );
    for name in ["scan", "rng_bits", "mod", "log2", "is_nan", "gather", "scatter", "bitcast_convert"] {
        assert!(replaced.contains(name), "{name} in {replaced:?}");
    }
}

// ---- rows ----------------------------------------------------------------------------------------------------------

/// Ops that cannot leave, with the reason.
const MISSING: &[(&str, &str)] = &[
    ("callback", "StableHLO has no op that calls a function of R"),
    ("print", "StableHLO has no op that prints"),
];

#[test]
fn every_row_is_lowered_or_has_a_reason() {
    let reason = |lowering: Lowering| match lowering {
        Lowering::Todo { why, .. } => Some(why),
        Lowering::Op(_) | Lowering::Formula(..) => None,
    };
    let mut missing: Vec<(&str, &str)> = Vec::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for program in row_programs::programs(row_programs::ELEMENTS) {
        let avals: Vec<Aval> =
            program.graph.inputs().iter().map(|&v| program.graph.aval(v).clone()).collect();
        seen.insert(program.row);
        missing.extend(reason(program.graph.nodes()[0].op.lower(&avals)).map(|why| (program.row, why)));
    }
    for name in ["callback", "print"].into_iter().chain(row_programs::MATRICES) {
        let example = &row_programs::examples()[name][0];
        seen.insert(name);
        missing.extend(reason(example.op.lower(&example.operands)).map(|why| (name, why)));
    }
    missing.dedup();
    assert_eq!(missing, MISSING);
    // Every row was looked at.
    let unseen: Vec<&str> = rows().map(|row| row.name).filter(|name| !seen.contains(name)).collect();
    assert!(unseen.is_empty(), "{unseen:?}");
    for lower in Unary::ALL.iter().map(|op| op.lowering()) {
        if let Lower::Op(name) | Lower::On(_, name, _) = lower {
            assert!(name.starts_with("stablehlo.") || name.starts_with("chlo."), "{name}");
        }
    }
}

// ---- text ----------------------------------------------------------------------------------------------------------

fn known(dtype: DType, sizes: &[usize]) -> Aval {
    Aval::known(dtype, Shape::try_new(sizes.to_vec()).expect("a small shape"))
}

fn text(graph: &Graph, constants: &[&[u8]], options: &Options) -> String {
    exported::text(graph, constants, options).unwrap_or_else(|e| panic!("{e}")).0
}

#[test]
fn a_small_program_is_short() {
    let mut b = Builder::default();
    let (x, y) = (b.input(known(DType::F32, &[2, 3])), b.input(known(DType::F32, &[3, 2])));
    let t = b.node1(Op::Transpose(Transpose { permutation: vec![Axis(1), Axis(0)] }), &[y]).unwrap();
    let three = b.literal(Literal::new(3f32), None);
    let threes = BroadcastInDim { shape: [2, 3].into(), axes: vec![] };
    let threes = b.node1(Op::BroadcastInDim(threes), &[three]).unwrap();
    let sum = b.node1(Op::Binary(Binary::add), &[x, t]).unwrap();
    let out = b.node1(Op::Binary(Binary::mul), &[sum, threes]).unwrap();
    let half = b.node1(Op::Convert(Convert::known(DType::BF16)), &[out]).unwrap();
    let graph = b.finish(vec![out, half]);
    let want = "\
module @anvil {
  func.func public @main(%arg0: tensor<2x3xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<3x2xf32>) -> (tensor<2x3xf32>, tensor<2x3xbf16>) {
    %0 = stablehlo.transpose %arg1, dims = [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
    %c0 = stablehlo.constant dense<3.000000e+00> : tensor<2x3xf32>
    %1 = stablehlo.add %arg0, %0 : tensor<2x3xf32>
    %2 = stablehlo.multiply %1, %c0 : tensor<2x3xf32>
    %3 = stablehlo.convert %2 : (tensor<2x3xf32>) -> tensor<2x3xbf16>
    return %2, %3 : tensor<2x3xf32>, tensor<2x3xbf16>
  }
}
";
    let options = Options { donated: vec![true, false], ..Options::default() };
    assert_eq!(text(&graph, &[], &options), want);
    // The same every time.
    assert_eq!(text(&graph, &[], &options), text(&graph, &[], &options));
    // Two donated inputs of one type, of which one has an output to be.
    let both = text(&graph, &[], &Options { donated: vec![true, true], ..Options::default() });
    assert_eq!(both.matches("tf.aliasing_output").count(), 1, "{both}");
}

#[test]
fn branches_and_loops_are_regions() {
    let f = known(DType::F64, &[]);
    let region =
        |types: &[Aval],
         body: &dyn Fn(&mut Builder, &[anvil_core::graph::Value]) -> Vec<anvil_core::graph::Value>| {
            let mut b = Builder::default();
            let inputs: Vec<_> = types.iter().map(|t| b.input(t.clone())).collect();
            let outputs = body(&mut b, &inputs);
            Arc::new(b.finish(outputs))
        };
    let exp = region(std::slice::from_ref(&f), &|b, x| vec![b.node1(Op::Unary(Unary::exp), x).unwrap()]);
    let number = region(&[], &|b, _| vec![b.literal(Literal::new(0.1f64), None)]);
    let mut b = Builder::default();
    let (pred, x) = (b.input(known(DType::I1, &[])), b.input(f.clone()));
    let y = b.node1(Op::If(If { branches: [exp, number] }), &[pred, x]).unwrap();
    let cond = region(&[f.clone(), f.clone()], &|b, x| vec![b.node1(Op::Compare(Compare::lt), x).unwrap()]);
    let body = region(std::slice::from_ref(&f), &|b, x| {
        vec![b.node1(Op::Binary(Binary::add), &[x[0], x[0]]).unwrap()]
    });
    let z = b.node1(Op::While(While { cond, body, carried: 1, bound: None }), &[y, x]).unwrap();
    let want = "\
module @anvil {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<f64>) -> tensor<f64> {
    %0 = \"stablehlo.if\"(%arg0) ({
      %1 = stablehlo.exponential %arg1 : tensor<f64>
      stablehlo.return %1 : tensor<f64>
    }, {
      %c0 = stablehlo.constant dense<1.000000e-01> : tensor<f64>
      stablehlo.return %c0 : tensor<f64>
    }) : (tensor<i1>) -> tensor<f64>
    %2 = stablehlo.while(%s0 = %0) : tensor<f64>
    cond {
      %3 = stablehlo.compare LT, %s0, %arg1, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %4 = stablehlo.add %s0, %s0 : tensor<f64>
      stablehlo.return %4 : tensor<f64>
    }
    return %2 : tensor<f64>
  }
}
";
    assert_eq!(text(&b.finish(vec![z]), &[], &Options::default()), want);
    // A scan is a loop with a counter.
    let body = region(&[f.clone(), f.clone()], &|b, x| {
        let sum = b.node1(Op::Binary(Binary::add), x).unwrap();
        vec![sum, sum]
    });
    let mut b = Builder::default();
    let (init, xs) = (b.input(f), b.input(known(DType::F64, &[5])));
    let scan =
        Scan { body, carried: 1, sliced: 1, length: 5, reverse: false, last: false, checkpoint: false };
    let made = b.node(Op::Scan(scan), &[init, xs]).unwrap();
    let scan = text(&b.finish(made), &[], &Options::default());
    for line in [
        "%0:3 = stablehlo.while(%s0 = %c1, %s1 = %arg0, %s2 = %c0) : tensor<i32>, tensor<f64>, tensor<5xf64>",
        "stablehlo.dynamic_slice %arg1, %s0, sizes = [1] : (tensor<5xf64>, tensor<i32>) -> tensor<1xf64>",
        "return %0#1, %0#2 : tensor<f64>, tensor<5xf64>",
    ] {
        assert!(scan.contains(line), "{line}\n{scan}");
    }
}

#[test]
fn constants_are_exact() {
    let constant = |dtype, sizes: &[usize], bytes: &[u8], limit| {
        let mut b = Builder::default();
        let v = b.constant(known(dtype, sizes));
        let graph = b.finish(vec![v]);
        let data = common::aligned(bytes);
        let options = Options { inline_limit: limit, ..Options::default() };
        let (text, arguments) = exported::text(&graph, &[data.as_slice()], &options).unwrap();
        let line = text.lines().find(|line| line.contains("constant")).map(|line| line.trim().to_string());
        (line.unwrap_or_default(), arguments)
    };
    let line = |dtype, sizes: &[usize], bytes: &[u8]| {
        let (line, arguments) = constant(dtype, sizes, bytes, 100);
        assert!(arguments.is_empty());
        line.trim_start_matches("%c0 = stablehlo.constant ").to_string()
    };
    let f32s = |x: &[f32]| x.iter().flat_map(|x| x.to_ne_bytes()).collect::<Vec<u8>>();
    let i32s = |x: &[i32]| x.iter().flat_map(|x| x.to_ne_bytes()).collect::<Vec<u8>>();
    assert_eq!(line(DType::F32, &[], &f32s(&[0.1])), "dense<0x3DCCCCCD> : tensor<f32>");
    assert_eq!(line(DType::F32, &[], &f32s(&[-0.0])), "dense<-0.000000e+00> : tensor<f32>");
    assert_eq!(
        line(DType::F32, &[], &f32s(&[f32::from_bits(0x7FC0_0123)])),
        "dense<0x7FC00123> : tensor<f32>"
    );
    assert_eq!(
        line(DType::F32, &[2], &f32s(&[1.5, f32::INFINITY])),
        "dense<[1.500000e+00, 0x7F800000]> : tensor<2xf32>"
    );
    assert_eq!(
        line(DType::C64, &[], &f32s(&[1.0, -2.0])),
        "dense<(1.000000e+00, -2.000000e+00)> : tensor<complex<f32>>"
    );
    // Column-major here, row-major there.
    assert_eq!(line(DType::I32, &[2, 2], &i32s(&[1, 2, 3, 4])), "dense<[[1, 3], [2, 4]]> : tensor<2x2xi32>");
    assert_eq!(line(DType::I32, &[2, 2], &i32s(&[7; 4])), "dense<7> : tensor<2x2xi32>");
    assert_eq!(line(DType::I1, &[2], &[0, 5]), "dense<[false, true]> : tensor<2xi1>");
    assert_eq!(line(DType::F32, &[0, 3], &[]), "dense<> : tensor<0x3xf32>");
    assert_eq!(line(DType::UI8, &[1], &[255]), "dense<255> : tensor<1xui8>");
    let many: Vec<f32> = (0..17).map(|i| i as f32).collect();
    assert!(line(DType::F32, &[17], &f32s(&many)).starts_with("dense<\"0x000000000000803F00000040"));
    // Many elements are an argument, unless they are all the same.
    assert_eq!(constant(DType::F32, &[17], &f32s(&many), 16), (String::new(), vec![0]));
    assert_eq!(constant(DType::F32, &[17], &f32s(&[2.0; 17]), 16).1, Vec::<usize>::new());
}

#[test]
fn views_are_read_in_row_major_order() {
    let mut b = Builder::default();
    let v = b.constant(known(DType::I32, &[2, 2]));
    let graph = b.finish(vec![v]);
    let data = common::aligned(&[1i32, 2, 3, 4, 5].map(i32::to_ne_bytes).concat());
    // Every second column backwards, from the end.
    let (shape, layout) = (Shape::from([2, 2]), Layout { strides: vec![-1, -3], offset: 4 });
    let view = View { dtype: DType::I32, shape: &shape, layout: &layout, data: data.as_slice() };
    let module = export(&graph, &[view], &Options::default()).unwrap();
    assert!(module.text.contains("dense<[[5, 2], [4, 1]]>"), "{}", module.text);
    let wrong = export(&graph, &[], &Options::default());
    assert!(matches!(wrong, Err(Error::Internal { .. })), "{wrong:?}");
}

#[test]
fn inputs_are_cut_along_an_axis_of_a_mesh() {
    let mut b = Builder::default();
    let (x, y) = (b.input(known(DType::F32, &[8, 3])), b.input(known(DType::F32, &[8, 3])));
    let sum = b.node1(Op::Binary(Binary::add), &[x, y]).unwrap();
    let graph = b.finish(vec![sum]);
    let options = |axis: usize, devices: usize| Options {
        mesh: Some(Mesh { name: "x".into(), devices }),
        sharding: vec![Some(Sharding { axis: Axis(axis) })],
        donated: vec![true],
        ..Options::default()
    };
    let made = text(&graph, &[], &options(0, 4));
    for part in [
        "module @anvil attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {",
        "sdy.mesh @mesh = <[\"x\"=4]>",
        "%arg0: tensor<8x3xf32> {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}",
        "%arg1: tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}",
    ] {
        assert!(made.contains(part), "{part}\n{made}");
    }
    let refused = |options: &Options| export(&graph, &[], options).unwrap_err();
    let e = refused(&options(1, 4));
    assert_eq!(e.class(), "anvil_error_shape");
    assert!(e.to_string().contains("Axis 2 of argument 1 has size 3, which 4 devices"), "{e}");
    assert_eq!(refused(&options(2, 4)).class(), "anvil_error_axis");
    assert_eq!(refused(&options(0, 0)).class(), "anvil_error_arg");
    assert_eq!(refused(&Options { mesh: None, ..options(0, 4) }).class(), "anvil_error_arg");
}

#[test]
fn integers_are_not_divided_by_a_zero_that_is_known() {
    let divided = |divisor: Literal| {
        let mut b = Builder::default();
        let x = b.input(known(DType::I32, &[]));
        let y = b.literal(divisor, None);
        let outputs = [Binary::div, Binary::remainder].map(|op| b.node1(Op::Binary(op), &[x, y]).unwrap());
        text(&b.finish(outputs.to_vec()), &[], &Options::default())
    };
    let by_three = divided(Literal::new(3i32));
    assert_eq!(by_three.lines().count(), 8, "{by_three}");
    let by_zero = divided(Literal::new(0i32));
    // -1, and the dividend.
    assert!(by_zero.contains("dense<-1>") && by_zero.contains("return %c0, %arg0"), "{by_zero}");
    assert!(!by_zero.contains("stablehlo.divide") && !by_zero.contains("stablehlo.remainder"), "{by_zero}");
}

#[test]
fn what_prints_does_not_leave() {
    let mut b = Builder::default();
    let x = b.input(known(DType::F32, &[2]));
    let print = Print { label: "x".into(), ambiguous: None, number: 0 };
    let y = b.node1(Op::Print(print), &[x]).unwrap();
    let e = export(&b.finish(vec![y]), &[], &Options::default()).unwrap_err();
    assert_eq!(e.class(), "anvil_error_export");
    assert!(e.to_string().contains("Remove `nv_print()`"), "{e}");
    let e = export(&row_programs::callback(), &[], &Options::default()).unwrap_err();
    assert_eq!(e.class(), "anvil_error_export");
    assert!(e.to_string().contains("Remove `nv_callback()`"), "{e}");
}
