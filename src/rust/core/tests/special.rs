//! Special functions against values of mpmath over the range that R's own functions have, and the table of
//! their worst errors: `tests/testdata/special/accuracy.md`.

use anvil_core::dtype::DType;
use anvil_core::exec::reference;
use anvil_core::graph::Value;
use anvil_core::hlo::legalize;
use anvil_core::ops::attrs::Attrs;
use anvil_core::ops::{find, Builder, Special, Unary};
use anvil_core::tensor::Aval;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Arguments of a function, and its value.
struct Point {
    x: Vec<f64>,
    value: f64,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/testdata/special")
}

/// The reference values, by op.
fn points() -> BTreeMap<String, Vec<Point>> {
    let text = fs::read_to_string(folder().join("functions.csv")).expect("reference values are committed");
    let mut all: BTreeMap<String, Vec<Point>> = BTreeMap::new();
    for line in text.lines().skip(2) {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |cell: &&str| cell.parse::<f64>().expect("a number");
        let x = cells[1..4].iter().filter(|cell| !cell.is_empty()).map(number).collect();
        all.entry(cells[0].into()).or_default().push(Point { x, value: number(&cells[4]) });
    }
    all
}

/// The function of that name at these points, in this dtype.
fn computed(name: &str, points: &[Point], dtype: DType) -> Vec<f64> {
    values(name, points, dtype, false)
}

/// The same, or its formula for other compilers.
fn values(name: &str, points: &[Point], dtype: DType, lowered: bool) -> Vec<f64> {
    let mut b = Builder::default();
    let column = |i: usize| -> Vec<u8> {
        let values = points.iter().map(|point| point.x[i]);
        match dtype {
            DType::F64 => values.flat_map(f64::to_ne_bytes).collect(),
            _ => values.flat_map(|x| (x as f32).to_ne_bytes()).collect(),
        }
    };
    let count = points[0].x.len();
    let columns: Vec<Vec<u8>> = (0..count).map(column).collect();
    let inputs: Vec<Value> = (0..count).map(|_| b.input(Aval::known(dtype, [points.len()].into()))).collect();
    let aval = Aval::known(dtype, [points.len()].into());
    let entry = find(name).unwrap_or_else(|| panic!("`{name}` is no op"));
    let op = (entry.decode)(entry.row, &Attrs::new(), &vec![&aval; count]).expect("an op without parameters");
    let out = b.node1(op, &inputs).expect("an op of floats");
    let mut graph = b.finish(vec![out]);
    if lowered {
        graph = legalize(&graph).expect("a formula");
    }
    let bytes: Vec<&[u8]> = columns.iter().map(|x| x.as_slice()).collect();
    let out = reference::evaluate(&graph, &bytes, &[]).expect("a program that runs").remove(0);
    match dtype {
        DType::F64 => out.as_slice().chunks(8).map(|e| f64::from_ne_bytes(e.try_into().unwrap())).collect(),
        _ => out.as_slice().chunks(4).map(|e| f32::from_ne_bytes(e.try_into().unwrap()).into()).collect(),
    }
}

/// The size in whose units errors are counted where the result is smaller: beside the zeros of a function.
fn least_size(name: &str, x: &[f64]) -> f64 {
    match name {
        "lbeta" | "lchoose" | "expi" | "log_gammainc_dx" | "log_betainc_dx" => 1.0,
        "bessel_j0" | "bessel_j1" if x[0] > 1.0 => (std::f64::consts::FRAC_2_PI / x[0]).sqrt(),
        "bessel_y0" => (std::f64::consts::FRAC_2_PI / x[0]).sqrt().min(1.0),
        "bessel_y1" if x[0] > 1.0 => (std::f64::consts::FRAC_2_PI / x[0]).sqrt(),
        _ => 0.0,
    }
}

/// How many ulps of the result one of the probability is, where that is more: the condition of a quantile.
fn condition(name: &str, x: &[f64], value: f64) -> f64 {
    let (density, log) = match name.strip_prefix("log_").unwrap_or(name) {
        "gammaincinv" | "gammainccinv" => ("log_gammainc_dx", name.starts_with("log_")),
        "betaincinv" | "betainccinv" => ("log_betainc_dx", name.starts_with("log_")),
        _ => return 1.0,
    };
    let (p, parameters) = x.split_last().expect("a probability");
    let at = Point { x: parameters.iter().copied().chain([value]).collect(), value: 0.0 };
    let density = libm::exp(computed(density, &[at], DType::F64)[0]);
    // A logarithm has an absolute error, its probability a relative one.
    let change = if log { libm::exp(*p) * p.abs() } else { *p };
    (change / (density * value)).max(1.0)
}

/// Distance in units in the last place of the value, or of the least size.
fn error(got: f64, value: f64, least: f64) -> f64 {
    if got == value || (got.is_nan() && value.is_nan()) {
        return 0.0;
    }
    let size = value.abs().max(least);
    let ulp = (f64::from_bits(size.to_bits() + 1) - size).max(f64::from_bits(1));
    if ulp.is_finite() && got.is_finite() {
        (got - value).abs() / ulp
    } else {
        f64::INFINITY
    }
}

const HEAD: &str = "<!-- Written by `cargo test --test special`. Do not edit by hand. -->

# Worst errors of special functions

In units in the last place of `f64`, over the points of `functions.csv`, whose values are those of mpmath. Beside the zeros
of a function units are those of the size that its help page names; of a quantile, one unit of the probability counts as
one. In `f32` all are computed in `f64` and rounded once.

| op | points | worst error | at | bound |
|---|---|---|---|---|
";

#[test]
fn errors_are_within_the_bounds_of_the_rows() {
    let all = points();
    let mut table = HEAD.to_string();
    let mut findings = Vec::new();
    let vectorised = [Unary::gamma, Unary::erfcx, Unary::probit, Unary::sinpi, Unary::cospi, Unary::tanpi];
    let names = vectorised.iter().map(|op| op.row().name).chain(Special::ALL.iter().map(|op| op.row().name));
    for name in names {
        let points = all.get(name).unwrap_or_else(|| panic!("no reference values of `{name}`"));
        assert!(points.len() >= 20, "{name}: {} points", points.len());
        let got = computed(name, points, DType::F64);
        let (mut worst, mut at) = (0.0, String::new());
        for (point, got) in points.iter().zip(got) {
            let units = error(got, point.value, least_size(name, &point.x));
            let units = if units > 1.0 { units / condition(name, &point.x, point.value) } else { units };
            if units > worst || units.is_nan() {
                worst = if units.is_nan() { f64::INFINITY } else { units };
                at = point.x.iter().map(|x| format!("{x:.6}")).collect::<Vec<_>>().join(", ");
                if units > find(name).expect("a row").row.ulps {
                    findings
                        .push(format!("{name}{:?} = {got:e}, not {:e}: {units} ulps", point.x, point.value));
                }
            }
        }
        let bound = find(name).expect("a row").row.ulps;
        writeln!(table, "| `{name}` | {} | {worst:.1} | {at} | {bound} |", points.len()).unwrap();
    }
    assert!(findings.is_empty(), "{}\n{table}", findings.join("\n"));
    let path = folder().join("accuracy.md");
    if fs::read_to_string(&path).unwrap_or_default() != table {
        fs::write(&path, table).unwrap();
        assert!(
            std::env::var_os("ANVIL_REGENERATE").is_some(),
            "accuracy.md was stale and is rewritten: run again"
        );
    }
}

#[test]
fn singles_are_doubles_rounded_once() {
    for (name, points) in points() {
        let single = |x: f64| f64::from(x as f32);
        let points: Vec<Point> = points
            .into_iter()
            .map(|p| Point { x: p.x.into_iter().map(single).collect(), value: p.value })
            .collect();
        let (double, got) = (computed(&name, &points, DType::F64), computed(&name, &points, DType::F32));
        for ((point, double), got) in points.iter().zip(double).zip(got) {
            let near = f64::from(double as f32);
            // Two neighbours are as near where the double is halfway between them.
            let next = f64::from((double * (1.0 + 3e-16)) as f32);
            let same =
                got == near || got == next || (got.is_nan() && near.is_nan()) || (got - near).abs() < 1e-44;
            assert!(same, "{name}{:?} is {got:e} in f32, {double:e} in f64", point.x);
        }
    }
}

/// Ends of the ranges: (op, arguments, value).
const ENDS: &[(&str, &[f64], f64)] = &[
    ("beta", &[0.0, 2.0], f64::INFINITY),
    ("beta", &[-1.0, 2.0], f64::NAN),
    ("beta", &[f64::INFINITY, 2.0], 0.0),
    ("lbeta", &[1.0, 1.0], 0.0),
    ("lbeta", &[2.0, 0.0], f64::INFINITY),
    ("choose", &[5.0, -1.0], 0.0),
    ("choose", &[5.0, 0.0], 1.0),
    ("choose", &[5.0, 6.0], 0.0),
    ("choose", &[50.0, 3.4], 19600.0),
    ("choose", &[60.0, 30.0], 118264581564861424.0),
    ("choose", &[-1.0, 69.0], -1.0),
    ("lchoose", &[5.0, 6.0], f64::NEG_INFINITY),
    ("expi", &[0.0], f64::NEG_INFINITY),
    ("expi", &[f64::NEG_INFINITY], 0.0),
    ("expint", &[0.0, 3.0], 0.5),
    ("expint", &[0.0, 1.0], f64::INFINITY),
    ("expint", &[1.0, 1.5], f64::NAN),
    ("expint", &[-1.0, 1.0], f64::NAN),
    ("owens_t", &[1.0, 0.0], 0.0),
    ("owens_t", &[0.0, f64::INFINITY], 0.25),
    ("zeta", &[1.0, 1.0], f64::INFINITY),
    ("zeta", &[0.0, 1.0], -0.5),
    ("zeta", &[-2.0, 1.0], 0.0),
    ("zeta", &[0.5, 2.0], f64::NAN),
    ("lambert_w0", &[0.0], 0.0),
    ("lambert_w0", &[-1.0], f64::NAN),
    ("lambert_w0", &[f64::INFINITY], f64::INFINITY),
    ("lambert_wm1", &[0.0], f64::NEG_INFINITY),
    ("lambert_wm1", &[1.0], f64::NAN),
    ("bessel_i", &[0.0, 0.0], 1.0),
    ("bessel_i", &[0.0, 1.5], 0.0),
    ("bessel_i", &[-1.0, 1.5], f64::NAN),
    ("bessel_k", &[0.0, 1.0], f64::INFINITY),
    ("bessel_k", &[-1.0, 1.0], f64::NAN),
    ("bessel_k", &[1e4, 1.0], 0.0),
    ("bessel_y0", &[0.0], f64::NEG_INFINITY),
    ("bessel_y1", &[-1.0], f64::NAN),
    ("gammainc", &[2.0, 0.0], 0.0),
    ("gammainc", &[2.0, f64::INFINITY], 1.0),
    ("gammainc", &[0.0, 1.0], 1.0),
    ("gammainc", &[-1.0, 1.0], f64::NAN),
    ("gammaincc", &[2.0, -1.0], f64::NAN),
    ("log_gammainc", &[2.0, 0.0], f64::NEG_INFINITY),
    ("gammaincinv", &[2.0, 0.0], 0.0),
    ("gammaincinv", &[2.0, 1.0], f64::INFINITY),
    ("gammaincinv", &[2.0, 1.5], f64::NAN),
    ("log_gammainccinv", &[2.0, 0.0], 0.0),
    ("betainc", &[2.0, 3.0, 0.0], 0.0),
    ("betainc", &[2.0, 3.0, 1.0], 1.0),
    ("betainc", &[2.0, 3.0, 1.5], f64::NAN),
    ("betainc", &[0.0, 3.0, 0.5], 1.0),
    ("betaincc", &[f64::INFINITY, 3.0, 0.5], 1.0),
    ("betaincinv", &[2.0, 3.0, 0.0], 0.0),
    ("betaincinv", &[2.0, 3.0, 1.0], 1.0),
    ("log_betaincinv", &[2.0, 3.0, 0.5], f64::NAN),
];

#[test]
fn ends_of_ranges_are_exact() {
    for (name, x, want) in ENDS {
        let points = [Point { x: x.to_vec(), value: *want }];
        for dtype in [DType::F64, DType::F32] {
            let got = computed(name, &points, dtype)[0];
            let want = if dtype == DType::F32 { f64::from(*want as f32) } else { *want };
            assert!(
                got == want || (got.is_nan() && want.is_nan()),
                "{name}{x:?} is {got} in {dtype}, not {want}"
            );
        }
    }
    // NaN anywhere gives NaN.
    for op in Special::ALL {
        for i in 0..op.arity() {
            let x: Vec<f64> = (0..op.arity()).map(|j| if i == j { f64::NAN } else { 0.5 }).collect();
            let got = computed(op.row().name, &[Point { x, value: f64::NAN }], DType::F64)[0];
            assert!(got.is_nan(), "{} of NaN is {got}", op.row().name);
        }
    }
}

/// How much less accurate formulas may be than the functions, in units of the bound of the row: other rounding of
/// exponentials and powers, and nodes of another quadrature.
const FORMULA: f64 = 2.0;

#[test]
fn formulas_are_nearly_as_accurate() {
    let vectorised = [Unary::gamma, Unary::erfcx, Unary::probit];
    let names = vectorised.iter().map(|op| op.row().name).chain(Special::ALL.iter().map(|op| op.row().name));
    let (all, mut findings) = (points(), Vec::new());
    for name in names {
        let points = &all[name];
        let bound = find(name).expect("a row").row.ulps * FORMULA;
        let (mut worst, mut found) = (0.0f64, String::new());
        for (point, got) in points.iter().zip(values(name, points, DType::F64, true)) {
            let units = error(got, point.value, least_size(name, &point.x));
            let units = if units > 1.0 { units / condition(name, &point.x, point.value) } else { units };
            if units > worst || units.is_nan() {
                worst = if units.is_nan() { f64::INFINITY } else { units };
                found = format!("{:?} = {got:e}, not {:e}", point.x, point.value);
            }
        }
        if worst > bound {
            findings.push(format!("{name}{found}: {worst} ulps"));
        }
    }
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

#[test]
fn formulas_have_the_same_ends_of_ranges() {
    let mut findings = Vec::new();
    for (name, x, want) in ENDS {
        let points = [Point { x: x.to_vec(), value: *want }];
        for dtype in [DType::F64, DType::F32] {
            let [got, want] = [true, false].map(|lowered| values(name, &points, dtype, lowered)[0]);
            if !((got - want).abs() <= 1e-6 * want.abs() || got == want || (got.is_nan() && want.is_nan())) {
                findings.push(format!("{name}{x:?} is {got} in {dtype}, not {want}"));
            }
        }
    }
    for op in Special::ALL {
        for i in 0..op.arity() {
            let x: Vec<f64> = (0..op.arity()).map(|j| if i == j { f64::NAN } else { 0.5 }).collect();
            let got = values(op.row().name, &[Point { x, value: f64::NAN }], DType::F64, true)[0];
            if !got.is_nan() {
                findings.push(format!("{} of NaN is {got}", op.row().name));
            }
        }
    }
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}
