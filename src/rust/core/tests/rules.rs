//! The contract of ops: the table of ops and rules, and checks of their properties.

mod common;
#[path = "common/rows.rs"]
mod row_programs;

use anvil_core::dtype::DType;
use anvil_core::exec::reference;
use anvil_core::graph::Value;
use anvil_core::ops::{rows, Batch, Binary, Builder, Fourier, Jvp, Linear, Lowering, Row, Unary, Vjp};
use anvil_core::tensor::{Aval, Layout, Literal};
use common::{aligned, Rng};
use row_programs::{examples, Example};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

// ---- the table -----------------------------------------------------------------------------------------------------

const HEAD: &str = "<!-- Generated from the ops by `make generate`. Do not edit by hand. -->

# Ops and their rules

What each op says of itself, by the contract in `src/rust/core/src/ops/contract.rs`.

* **vjp**, **jvp**, **batch**: how it is derived in reverse and in forward mode, and batched. `linear` ops are applied
  to the tangents, those that are the `same` to operands that have the batch axis. `zero` is a derivative
  that is 0 everywhere, `regions` one by derivatives of the graphs that the op runs.
* **StableHLO**: the operation that it becomes, or the `formula` of other ops.
* **linear in**: operands in which it is linear, at once or each by itself. Ops with a slope have their derivatives in
  both directions from that.
* A hole is `todo`, or `partly` where some operands have a rule: why, is below the table.

";

/// Sentences of holes, by column, with the ops that have them.
type Holes = BTreeMap<(&'static str, &'static str), BTreeSet<&'static str>>;

fn todo(holes: &mut Holes, column: &'static str, row: &Row, why: &'static str) -> &'static str {
    holes.entry((column, why)).or_default().insert(row.name);
    "todo"
}

fn line(row: &'static Row, examples: &[Example], holes: &mut Holes) -> String {
    let mut cells: [BTreeSet<String>; 7] = Default::default();
    for Example { op, operands, results } in examples {
        let [vjp, jvp, batch, lower, view, linear, properties] = &mut cells;
        let by = match op.vjp() {
            Vjp::By(_) => "rule",
            Vjp::Partly(_, why) => {
                todo(holes, "vjp", row, why);
                "partly"
            }
            Vjp::Regions => "regions",
            Vjp::Zero => "zero",
            Vjp::Todo(why) => todo(holes, "vjp", row, why),
        };
        vjp.insert(by.into());
        let by = match op.jvp() {
            Jvp::Linear => "linear",
            Jvp::By(_) => "rule",
            Jvp::Partly(_, why) => {
                todo(holes, "jvp", row, why);
                "partly"
            }
            Jvp::Regions => "regions",
            Jvp::Zero => "zero",
            Jvp::Todo(why) => todo(holes, "jvp", row, why),
        };
        jvp.insert(by.into());
        let by = match op.batch() {
            // Never asked: without operands there is none that differs between examples.
            _ if operands.is_empty() => "",
            Batch::Same => "same",
            Batch::By(_) => "rule",
            Batch::Regions => "regions",
            Batch::Todo(why) => todo(holes, "batch", row, why),
        };
        batch.insert(by.into());
        lower.insert(match op.lower(operands) {
            Lowering::Op(op) => op.name.trim_start_matches("stablehlo.").into(),
            Lowering::Formula(..) => "formula".into(),
            Lowering::Todo { why, .. } => todo(holes, "StableHLO", row, why).into(),
        });
        if let [x] = operands.as_slice() {
            if op.as_view(&x.shape, &Layout::dense(&x.shape), &results[0]).is_some() {
                view.insert("view".into());
            }
        }
        let names = |of: &[usize]| of.iter().map(|&i| row.operands[i]).collect::<Vec<_>>().join(", ");
        let slope = op.get::<Unary>().is_some() || op.get::<Binary>().is_some();
        let of = match op.linear() {
            Linear::InAll => "all".to_string(),
            Linear::In(these) => names(these),
            Linear::InEach(these) => format!("each of {}", names(these)),
        };
        linear.extend(Some(if slope { "slope".into() } else { of }).filter(|of| !of.is_empty()));
        let from: Vec<DType> = operands.iter().map(|x| x.dtype).collect();
        let has = [
            (!from.is_empty() && op.is_elementwise(&from), "elementwise"),
            (op.moves_only(), "moves only"),
            (op.is_cheap(), "cheap"),
            (op.reads_transposed(), "reads transposed"),
            (op.effect(), "effect"),
        ];
        properties.extend(has.into_iter().filter(|(has, _)| *has).map(|(_, what)| what.to_string()));
    }
    let [rules @ .., properties] = cells.map(|cell| cell.into_iter().collect::<Vec<String>>());
    let rules = rules.map(|cell| cell.join(" or ")).join(" | ");
    format!("| `{}` | {rules} | {} |\n", row.name, properties.join(", "))
}

#[test]
fn generated_table_of_rules_is_up_to_date() {
    let (examples, mut holes) = (examples(), Holes::new());
    let mut text = HEAD.to_string();
    text += "| op | vjp | jvp | batch | StableHLO | view | linear in | properties |\n";
    text += "|---|---|---|---|---|---|---|---|\n";
    for row in rows() {
        let examples = examples.get(row.name).unwrap_or_else(|| panic!("no example of {}", row.name));
        text += &line(row, examples, &mut holes);
    }
    text += "\n## Holes\n\n";
    for ((column, why), ops) in &holes {
        let all = ops.len() == rows().count();
        let ops: Vec<String> = ops.iter().map(|op| format!("`{op}`")).collect();
        let ops = if all { "all ops".into() } else { ops.join(", ") };
        writeln!(text, "* **{column}** of {ops}: {why}.").unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/testdata/rules.md");
    if fs::read_to_string(&path).unwrap_or_default() != text {
        fs::write(&path, text).unwrap();
        let forgiven = std::env::var_os("ANVIL_REGENERATE").is_some();
        assert!(forgiven, "tests/testdata/rules.md was out of date and is rewritten: run again");
    }
}

#[test]
fn holes_are_sentences_for_the_user() {
    for (row, examples) in examples() {
        for Example { op, .. } in examples {
            let backward = match op.vjp() {
                Vjp::Partly(_, why) | Vjp::Todo(why) => Some(why),
                Vjp::By(_) | Vjp::Regions | Vjp::Zero => None,
            };
            let forward = match op.jvp() {
                Jvp::Partly(_, why) | Jvp::Todo(why) => Some(why),
                Jvp::Linear | Jvp::By(_) | Jvp::Regions | Jvp::Zero => None,
            };
            let batched = match op.batch() {
                Batch::Todo(why) => Some(why),
                Batch::Same | Batch::By(_) | Batch::Regions => None,
            };
            for why in [forward, batched, backward].into_iter().flatten() {
                assert!(why.len() > 20 && !why.ends_with('.'), "{row}: {why:?}");
            }
        }
    }
}

// ---- what is linear --------------------------------------------------------------------------------------------

/// Results of an op on operands of small whole numbers, as numbers.
fn results(example: &Example, operands: &[Vec<f64>]) -> Vec<f64> {
    let mut b = Builder::default();
    let inputs: Vec<Value> = example.operands.iter().map(|x| b.input(x.clone())).collect();
    let outputs = b.node(example.op.clone(), &inputs).unwrap();
    let graph = b.finish(outputs);
    let bytes = |(x, aval): (&Vec<f64>, &Aval)| {
        let of = |&x: &f64| {
            let element = Literal::new(x).convert(aval.dtype);
            element.to_bytes()[..aval.dtype.bytes()].to_vec()
        };
        aligned(&x.iter().flat_map(of).collect::<Vec<u8>>())
    };
    let inputs: Vec<_> = operands.iter().zip(&example.operands).map(bytes).collect();
    let inputs: Vec<&[u8]> = inputs.iter().map(|x| x.as_slice()).collect();
    let out = reference::evaluate(&graph, &inputs, &[]).unwrap();
    let numbers = |(bytes, aval): (&Vec<u8>, &Aval)| {
        let element = |x: &[u8]| Literal::from_bytes(aval.dtype, x).get::<f64>();
        bytes.chunks(aval.dtype.bytes()).map(element).collect::<Vec<f64>>()
    };
    out.iter().zip(&example.results).flat_map(numbers).collect()
}

#[test]
fn ops_are_linear_where_they_say_so() {
    let (mut rng, mut checked) = (Rng::new(7), BTreeSet::new());
    for (row, examples) in examples() {
        for example in examples {
            let count = example.operands.len();
            let together: Vec<Vec<usize>> = match example.op.linear() {
                Linear::InAll => vec![(0..count).collect()],
                Linear::In(these) => vec![these.to_vec()],
                Linear::InEach(these) => these.iter().map(|&i| vec![i]).collect(),
            };
            // Whole numbers of a dtype that adds them exactly.
            let exact = |aval: &Aval| matches!(aval.dtype, DType::F64 | DType::I64 | DType::C128);
            for these in together.into_iter().filter(|these| !these.is_empty()) {
                if !these.iter().all(|&i| exact(&example.operands[i])) || !example.results.iter().all(exact) {
                    continue;
                }
                let mut draw = |aval: &Aval| -> Vec<f64> {
                    (0..aval.shape.size()).map(|_| rng.below(3) as f64).collect()
                };
                let x: Vec<Vec<f64>> = example.operands.iter().map(&mut draw).collect();
                let (mut y, mut sum) = (x.clone(), x.clone());
                for &i in &these {
                    y[i] = draw(&example.operands[i]);
                    sum[i] = x[i].iter().zip(&y[i]).map(|(x, y)| 3.0 * x - y).collect();
                }
                let [fx, fy, of_sum] = [x, y, sum].map(|operands| results(&example, &operands));
                let sum_of: Vec<f64> = fx.iter().zip(&fy).map(|(x, y)| 3.0 * x - y).collect();
                // Roots of unity are no whole numbers.
                let rounding = if example.op.get::<Fourier>().is_some() { 1e-11 } else { 0.0 };
                let same = of_sum.iter().zip(&sum_of).all(|(x, y)| (x - y).abs() <= rounding);
                assert!(same, "{row} in {these:?}: {:?} {of_sum:?} {sum_of:?}", example.op);
                checked.insert(row);
            }
        }
    }
    let some =
        ["concatenate", "convert", "dot_general", "gather", "pad", "reduce_sum", "scatter", "transpose"];
    assert!(some.iter().all(|row| checked.contains(row)), "{checked:?}");
}
