//! Results of ops against those of XLA, NumPy and mpmath in `tests/testdata/ops/`, written by `make.py`
//! there.
//!
//! Integers, booleans, comparisons, conversions and correctly rounded float ops must agree in every bit (NaN
//! is NaN); functions within the error bounds of their rows; intended differences are in [`DIFFERENCES`].

mod common;

use anvil_core::apply::Applier;
use anvil_core::dtype::promote::rules;
use anvil_core::dtype::{DType, Kind};
use anvil_core::exec::{Executable, Output};
use anvil_core::ops::attrs::{Attr, Attrs};
use anvil_core::ops::{rows, Builder};
use anvil_core::shape::Shape;
use anvil_core::tensor::Aval;
use common::aligned;
use common::text::read_back;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Intended differences from XLA: the reason, and whether it explains a case with other bits.
const DIFFERENCES: &[(&str, fn(&Case, u64) -> bool)] = &[
    ("XLA on CPU takes subnormal floats for zero; we keep them, as IEEE 754 asks (see float-subnormal.csv).", |case, got| {
        let subnormal = |x: &u64| is_subnormal(case.dtype, *x);
        case.is_from_xla && (case.operands.iter().any(subnormal) || is_subnormal(case.result_dtype(), got))
    }),
    (
        "XLA looks only at the low bits of an integer exponent, and takes unsigned ones from 2^(bits - 1) on for negative; \
         our powers are exact modulo 2^bits (see integer-power.csv).",
        |case, _| {
            let negative = |x: u64| case.dtype.kind() == Kind::Integer && (x as i64) < 0;
            let wide = |x: u64| x >= case.dtype.bits() as u64 && !negative(x);
            case.is_from_xla && case.op == "pow" && case.dtype.is_integer() && wide(case.operands[1])
        },
    ),
];

/// One row of a table.
struct Case {
    file: String,
    is_from_xla: bool,
    line: usize,
    op: String,
    into: Option<DType>,
    dtype: DType,
    /// Bits of the operands and of the result.
    operands: Vec<u64>,
    result: u64,
}

impl Case {
    fn result_dtype(&self) -> DType {
        self.into.unwrap_or(self.dtype)
    }

    fn show(&self, got: u64) -> String {
        let text = |d, x| show(d, x);
        let operands: Vec<String> = self.operands.iter().map(|&x| text(self.dtype, x)).collect();
        let (want, got) = (text(self.result_dtype(), self.result), text(self.result_dtype(), got));
        let place = format!("{}:{}", self.file, self.line);
        format!("{place}: {} {} ({}): {got}, not {want}", self.op, self.dtype, operands.join(", "))
    }
}

/// Bits of a value as the tables write it, sign-extended for signed integers.
fn parse(dtype: DType, text: &str) -> u64 {
    let bits = match (dtype.kind(), text) {
        (Kind::Boolean, "TRUE") => Some(1),
        (Kind::Boolean, "FALSE") => Some(0),
        (Kind::Boolean, _) => None,
        (Kind::Float, "NaN") if dtype == DType::F32 => Some(f32::NAN.to_bits().into()),
        (Kind::Float, "NaN") => Some(f64::NAN.to_bits()),
        (Kind::Float, _) => u64::from_str_radix(text.trim_start_matches("0x"), 16).ok(),
        (Kind::Integer, _) => text.parse::<i64>().ok().map(|x| x as u64),
        (Kind::Unsigned, _) => text.parse().ok(),
        (Kind::Complex, _) => None,
    };
    bits.unwrap_or_else(|| panic!("{text:?} is no {dtype}"))
}

fn show(dtype: DType, bits: u64) -> String {
    match dtype {
        DType::F32 => format!("{:e}", f32::from_bits(bits as u32)),
        DType::F64 => format!("{:e}", f64::from_bits(bits)),
        d if d.kind() == Kind::Integer => (bits as i64).to_string(),
        _ => bits.to_string(),
    }
}

fn to_bytes(dtype: DType, bits: u64) -> Vec<u8> {
    match dtype.bytes() {
        1 => (bits as u8).to_ne_bytes().to_vec(),
        2 => (bits as u16).to_ne_bytes().to_vec(),
        4 => (bits as u32).to_ne_bytes().to_vec(),
        _ => bits.to_ne_bytes().to_vec(),
    }
}

fn from_bytes(dtype: DType, bytes: &[u8]) -> u64 {
    let bits = match *bytes {
        [a] => u8::from_ne_bytes([a]).into(),
        [a, b] => u16::from_ne_bytes([a, b]).into(),
        [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
        _ => u64::from_ne_bytes(bytes.try_into().expect("8 bytes")),
    };
    let unused = 64 - 8 * bytes.len() as u32;
    if dtype.kind() == Kind::Integer {
        ((bits << unused) as i64 >> unused) as u64
    } else {
        bits
    }
}

/// Value of a float from its bits.
fn float(dtype: DType, bits: u64) -> f64 {
    if dtype == DType::F32 {
        f32::from_bits(bits as u32).into()
    } else {
        f64::from_bits(bits)
    }
}

fn is_subnormal(dtype: DType, bits: u64) -> bool {
    match dtype {
        DType::F32 => f32::from_bits(bits as u32).is_subnormal(),
        DType::F64 => f64::from_bits(bits).is_subnormal(),
        _ => false,
    }
}

/// Number of floats between two, of one dtype; 0 for two NaN, and huge for a NaN and a number.
fn distance(dtype: DType, x: u64, y: u64) -> u64 {
    let (nan_x, nan_y) = (float(dtype, x).is_nan(), float(dtype, y).is_nan());
    if nan_x || nan_y {
        return if nan_x && nan_y { 0 } else { u64::MAX };
    }
    let sign = 1u64 << (8 * dtype.bytes() - 1);
    // Order of the floats as order of integers. -0 and 0 are one apart.
    let rank =
        |bits: u64| if bits & sign == 0 { i128::from(bits) } else { -i128::from(bits & (sign - 1)) - 1 };
    u64::try_from((rank(x) - rank(y)).abs()).unwrap_or(u64::MAX)
}

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/testdata/ops");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("tests/testdata/ops").map(|f| f.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "csv"));
    files.sort();
    let mut out = Vec::new();
    for path in files {
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut lines = text.lines().enumerate().map(|(i, line)| (i + 1, line));
        let (_, origin) = lines.next().expect("a first line, which says where the values are from");
        assert!(origin.starts_with("# ") && origin.ends_with("; python3 make.py"), "{file}: {origin}");
        let is_from_xla = origin.contains("XLA");
        assert!(
            lines.next().is_some_and(|(_, l)| l.starts_with("op,dtype,") && l.ends_with(",result")),
            "{file}"
        );
        for (line, row) in lines {
            let cells: Vec<&str> = row.split(',').collect();
            let (op, into) = cells[0].split_once(' ').map_or((cells[0], None), |(op, d)| (op, Some(d)));
            let (dtype, into) = (DType::parse(cells[1]).unwrap(), into.map(|d| DType::parse(d).unwrap()));
            let (last, operands) = cells[2..].split_last().unwrap();
            let operands = operands.iter().map(|x| parse(dtype, x)).collect();
            let result = parse(into.unwrap_or(dtype), last);
            out.push(Case {
                file: file.clone(),
                is_from_xla,
                line,
                op: op.into(),
                into,
                dtype,
                operands,
                result,
            });
        }
    }
    out
}

/// The results of our op for all cases, which share op and dtypes: one program on vectors.
fn results(cases: &[&Case]) -> Vec<u64> {
    let (first, shape) = (cases[0], Shape::from([cases.len()]));
    let mut b = Builder::default();
    let operands: Vec<_> =
        (0..first.operands.len()).map(|_| b.input(Aval::known(first.dtype, shape.clone()))).collect();
    let attrs = Attrs::new()
        .with("dtype", Attr::Text(first.result_dtype().name().into()))
        .with("ambiguous", Attr::Logical(false));
    let result = Applier::new(&mut b, rules())
        .apply(&first.op, &operands, &attrs)
        .unwrap_or_else(|e| panic!("{}: {e}", first.op));
    let graph = read_back(b.finish(result));
    assert_eq!(graph.aval(graph.outputs()[0]).dtype, first.result_dtype(), "{} {}", first.op, first.dtype);
    let inputs: Vec<_> = (0..operands.len())
        .map(|i| aligned(&cases.iter().flat_map(|c| to_bytes(c.dtype, c.operands[i])).collect::<Vec<u8>>()))
        .collect();
    let width = first.result_dtype().bytes();
    let mut out = aligned(&vec![0; cases.len() * width]);
    let inputs: Vec<Option<&[u8]>> = inputs.iter().map(|x| Some(x.as_slice())).collect();
    let executable = Executable::compile(&graph, &[]).unwrap();
    executable.run(&inputs, &[], vec![Output::Fresh(out.as_mut_slice())]).unwrap();
    out.as_slice().chunks_exact(width).map(|x| from_bytes(first.result_dtype(), x)).collect()
}

#[test]
fn ops_give_the_golden_values() {
    let cases = cases();
    let mut groups: BTreeMap<(&str, DType, Option<DType>), Vec<&Case>> = BTreeMap::new();
    for case in &cases {
        groups.entry((&case.op, case.dtype, case.into)).or_default().push(case);
    }
    let (mut findings, mut used, mut compared) = (Vec::new(), BTreeSet::new(), 0);
    let mut worst: BTreeMap<(&str, DType), u64> = BTreeMap::new();
    for (&(op, dtype, _), group) in &groups {
        // The true value is rounded too; a result that is rounded correctly is the same.
        let bound = rows().find(|row| row.name == op).map_or(0.0, |row| row.ulps);
        let bound = if bound <= 0.5 { 0 } else { (bound + 0.5).floor() as u64 };
        for (case, got) in group.iter().zip(results(group)) {
            let into = case.result_dtype();
            let apart = if into.is_float() {
                distance(into, got, case.result)
            } else {
                u64::from(got != case.result)
            };
            compared += 1;
            if apart == 0 {
                continue;
            }
            if let Some(i) = DIFFERENCES.iter().position(|(_, applies)| applies(case, got)) {
                used.insert(i);
                continue;
            }
            // Within a bound both are of the same sign, and neither is infinite.
            let (x, y) = (float(into, got), float(into, case.result));
            let near = into.is_float()
                && x.is_sign_negative() == y.is_sign_negative()
                && x.is_finite() == y.is_finite();
            let measured = worst.entry((op, dtype)).or_default();
            *measured = apart.max(*measured);
            if !near || apart > bound {
                findings.push(format!("{} ({apart} ulp)", case.show(got)));
            }
        }
    }
    let all = findings.join("\n");
    assert!(findings.is_empty(), "{} of {compared}:\n{all}\nLargest distances: {worst:?}", findings.len());
    assert!(compared > 12_000, "{compared}");
    let idle: Vec<_> =
        (0..DIFFERENCES.len()).filter(|i| !used.contains(i)).map(|i| DIFFERENCES[i].0).collect();
    assert!(idle.is_empty(), "no longer different: {idle:?}");
    let covered: BTreeSet<&str> = cases.iter().map(|c| c.op.as_str()).collect();
    let is_elementwise = |name: &&str| rows().any(|row| row.name == *name);
    assert!(covered.iter().all(is_elementwise), "{covered:?}");
}
