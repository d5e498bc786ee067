//! Ambiguous floats: stored and computed in double precision, whatever the type that is shown.

mod common;
mod writer;

use anvil_core::apply::{Applier, Defaults};
use anvil_core::dtype::promote::{self, by_name, names, rules};
use anvil_core::dtype::{DType, Ranked};
use anvil_core::graph::{Def, Operation, Value};
use anvil_core::hlo::{narrow_dtype, narrowed};
use anvil_core::ops::attrs::{Attr, Attrs};
use anvil_core::ops::{
    rows, Builder, Convert, Custom, Derivative, Graph, If, Op, Region, Row, Scan, Unary, While,
};
use anvil_core::tensor::{Aval, Literal};
use common::{disagreement, random_tensor};
use std::sync::Arc;
use writer::Writer;

fn type_named(name: &str) -> Ranked {
    promote::parse(name).unwrap()
}

fn input(b: &mut Builder, name: &str) -> Value {
    b.input(Aval::new(type_named(name), [3].into()))
}

fn shown(b: &Builder, v: Value) -> String {
    b.graph().aval(v).ranked().to_string()
}

/// Rows of elementwise ops on floats, which take nothing but operands.
fn elementwise() -> impl Iterator<Item = &'static Row> {
    rows().filter(|row| row.generated && row.accepts.contains(DType::F64))
}

#[test]
fn the_default_dtypes_are_what_numbers_show_and_ops_on_floats_give() {
    let wide = Defaults { float: DType::F64, int: DType::I64 };
    let shown_as = |defaults: Defaults| {
        [DType::F64, DType::I32, DType::C128, DType::I1]
            .map(|stored| defaults.number_type(stored).to_string())
    };
    assert_eq!(shown_as(Defaults::default()), ["f32?", "i32?", "c64?", "i1"]);
    assert_eq!(shown_as(wide), ["f64?", "i64?", "c128?", "i1"]);
    // Rules whose ambiguous types have no width give that of the default.
    for rules in [rules(), by_name("jax").unwrap()] {
        for (defaults, int, float) in [(Defaults::default(), "f32?", "f32?"), (wide, "f64?", "f64?")] {
            let mut b = Builder::default();
            let (i, x) =
                (input(&mut b, "i32"), b.input(Aval::new(defaults.number_type(DType::F64), [3].into())));
            let mut apply = |name: &str, operands: &[Value]| {
                let mut applier = Applier::new(&mut b, rules).by_default(defaults);
                let made = applier.apply(name, operands, &Attrs::new()).unwrap()[0];
                shown(&b, made)
            };
            assert_eq!(apply("sin", &[i]), int, "{rules:?}");
            assert_eq!(apply("add", &[x, x]), float, "{rules:?}");
            assert_eq!(apply("add", &[i, x]), float, "{rules:?}");
        }
    }
}

#[test]
fn ops_compute_doubles_and_show_the_default() {
    let mut count = 0;
    for row in elementwise() {
        for shown_as in ["bf16?", "f16?", "f32?", "f64?"] {
            let mut b = Builder::default();
            let x = input(&mut b, shown_as);
            let operands = vec![x; row.operands.len()];
            let Ok(made) = Applier::new(&mut b, rules()).apply(row.name, &operands, &Attrs::new()) else {
                continue;
            };
            count += 1;
            // The op reads the doubles themselves.
            let converted = b.graph().nodes().iter().any(|node| node.op.get::<Convert>().is_some());
            assert!(!converted, "{}", row.name);
            let aval = b.graph().aval(made[0]);
            if aval.dtype.is_float() {
                assert_eq!(
                    (aval.dtype, aval.ranked().to_string()),
                    (DType::F64, shown_as.into()),
                    "{}",
                    row.name
                );
            }
        }
    }
    assert!(count > 200, "{count}");
}

#[test]
fn the_rules_decide_what_is_shown_and_nothing_else() {
    // Two operands; what their sum is shown as; the dtypes that operands are converted to.
    let cases: &[(&str, &str, &str, &[&str])] = &[
        ("f32?", "f64", "f64", &[]),
        ("f32?", "f32", "f32", &["f32"]),
        ("f64?", "bf16", "bf16", &["bf16"]),
        ("f32?", "i32", "f32?", &["f32?"]),
        ("f32?", "i1?", "f32?", &["f32?"]),
        ("f32?", "f64?", "f64?", &["f64?"]),
        ("bf16?", "f16?", "f32?", &["f32?", "f32?"]),
        ("i32?", "i64", "i64", &["i64"]),
        ("i32?", "i32?", "i32?", &[]),
        ("c64?", "f64", "c128", &["c128"]),
        ("c64?", "c64", "c64", &["c64"]),
        ("c64?", "c128", "c128", &[]),
    ];
    for &(x, y, sum, conversions) in cases {
        let mut b = Builder::default();
        let operands = [input(&mut b, x), input(&mut b, y)];
        let made = Applier::new(&mut b, rules()).apply("add", &operands, &Attrs::new()).unwrap();
        assert_eq!(shown(&b, made[0]), sum, "{x} + {y}");
        let to = |op: &Op| op.get::<Convert>().map(|op| op.to.to_string());
        let found: Vec<String> = b.graph().nodes().iter().filter_map(|node| to(&node.op)).collect();
        assert_eq!(found, conversions, "{x} + {y}");
        b.finish(made).verify().unwrap();
    }
    // In every system, what the table says is what is shown.
    for rules in names().iter().map(|name| by_name(name).unwrap()) {
        for (x, y) in promote::ranked().flat_map(|x| promote::ranked().map(move |y| (x, y))) {
            let Some(join) = rules.join(x, y).filter(|join| join.dtype != DType::I1) else { continue };
            let mut b = Builder::default();
            let operands = [x, y].map(|x| b.input(Aval::new(x, [3].into())));
            let made = Applier::new(&mut b, rules).apply("add", &operands, &Attrs::new()).unwrap();
            assert_eq!(b.graph().aval(made[0]).ranked(), join, "{x} + {y} by {}", rules.name());
        }
    }
}

#[test]
fn conversions_to_ambiguous_floats_keep_digits_and_those_from_them_round_once() {
    let convert = |x: Literal, own: &str, to: &str| {
        let mut b = Builder::default();
        let value = b.literal(x, type_named(own).default());
        let to = type_named(to);
        let attrs = Attrs::new()
            .with("dtype", Attr::Text(to.dtype.name().into()))
            .with("ambiguous", Attr::Logical(to.ambiguous));
        let made = Applier::new(&mut b, rules()).apply("convert", &[value], &attrs).unwrap()[0];
        match b.graph().def(made) {
            Def::Literal(literal) => literal,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(convert(Literal::new(0.1f64), "f64", "f32?"), Literal::new(0.1f64));
    assert_eq!(convert(Literal::new(0.1f32), "f32", "bf16?"), Literal::new(f64::from(0.1f32)));
    assert_eq!(convert(Literal::new(16777217i32), "i32", "f32?"), Literal::new(16777217f64));
    assert_eq!(convert(Literal::new(0.1f64), "f32?", "f32"), Literal::new(0.1f32));
    assert_eq!(convert(Literal::new(0.1f64), "f32?", "f64"), Literal::new(0.1f64));
    assert_eq!(convert(Literal::new(0.1f64), "f32?", "c64?").dtype(), DType::C128);
}

#[test]
fn bits_are_those_of_a_known_dtype_and_products_keep_digits() {
    let mut b = Builder::default();
    let x = b.input(Aval::new(type_named("f32?"), [2, 2].into()));
    let known = b.input(Aval::known(DType::F32, [2, 2].into()));
    let bits = Attrs::new().with("dtype", Attr::Text("i32".into()));
    let mut applier = Applier::new(&mut b, rules());
    let bits = applier.apply("bitcast_convert", &[x], &bits).unwrap()[0];
    let product = applier.apply("matmul", &[x, x], &Attrs::new()).unwrap()[0];
    let met = applier.apply("matmul", &[x, known], &Attrs::new()).unwrap()[0];
    assert_eq!(b.graph().aval(bits).to_string(), "i32[2, 2]");
    assert_eq!((shown(&b, product), shown(&b, met)), ("f32?".into(), "f32".into()));
    assert_eq!(b.graph().aval(product).dtype, DType::F64);
    b.finish(vec![bits, product, met]).verify().unwrap();
}

fn region(types: &[&str], give: impl FnOnce(&mut Builder, &[Value]) -> Vec<Value>) -> Region {
    let mut b = Builder::default();
    let inputs: Vec<Value> = types.iter().map(|x| input(&mut b, x)).collect();
    let outputs = give(&mut b, &inputs);
    Arc::new(b.finish(outputs))
}

fn types_of(graph: &Graph, values: &[Value]) -> Vec<String> {
    values.iter().map(|&v| graph.aval(v).ranked().to_string()).collect()
}

#[test]
fn a_known_dtype_wins_where_regions_meet() {
    let same = |name: &str| region(&[name], |_, x| x.to_vec());
    let types = |names: &[&str]| names.iter().map(|x| type_named(x)).collect::<Vec<_>>();
    // The types of two branches, and of the result.
    for (yes, no, result) in [("f32?", "f32", "f32"), ("f32", "f32?", "f32"), ("f32?", "f32?", "f32?")] {
        let mut b = Builder::default();
        let pred = b.input(Aval::known(DType::I1, [].into()));
        let operands = [pred, input(&mut b, yes), input(&mut b, no)];
        let op = If::from_branches(&same(yes), &same(no)).unwrap();
        let made = b.node1(op, &operands).unwrap();
        assert_eq!(shown(&b, made), result);
        b.finish(vec![made]).verify().unwrap();
    }
    // A loop's state, what its body gives, and what it is.
    let body = |to: &str| {
        let to = Convert { to: type_named(to) };
        region(&["f32?"], |b, x| vec![b.node1(to, x).unwrap()])
    };
    let cond = region(&["f32?"], |b, _| vec![b.literal(Literal::new(1i32).convert(DType::I1), None)]);
    for (to, state) in [("f32", "f32"), ("f32?", "f32?")] {
        let (op, found) = While::from_types(&cond, &body(to), &types(&["f32?"]), None).unwrap();
        assert_eq!(found, types(&[state]));
        let mut b = Builder::default();
        let init = input(&mut b, state);
        let made = b.node1(op, &[init]).unwrap();
        b.finish(vec![made]).verify().unwrap();
        let scan = Scan {
            body: body(to),
            carried: 1,
            sliced: 0,
            length: 4,
            reverse: false,
            last: false,
            checkpoint: false,
        };
        let (op, found) = scan.from_types(&types(&["f32?"])).unwrap();
        assert_eq!(found, types(&[state]));
        let mut b = Builder::default();
        let init = input(&mut b, state);
        let made = b.node1(op, &[init]).unwrap();
        assert_eq!(shown(&b, made), state);
        b.finish(vec![made]).verify().unwrap();
    }
    // Nothing is made of what agrees already, or of types that differ in more than the `?`.
    let region = same("f32?");
    assert!(Arc::ptr_eq(&If::from_branches(&region, &same("f64")).unwrap().branches[0], &region));
    // A function with a derivative of its own: results of `forward`, and gradients, are converted.
    let op = Custom {
        call: same("f32?"),
        arguments: 1,
        derivative: Derivative::Reverse { forward: same("f32"), backward: same("f32"), targets: vec![0] },
    };
    let Derivative::Reverse { forward, backward, .. } = op.agreeing().unwrap().derivative else { panic!() };
    assert_eq!(forward.aval(forward.outputs()[0]).dtype, DType::F64);
    assert_eq!(backward.aval(backward.outputs()[0]).dtype, DType::F64);
}

#[test]
fn a_text_of_ambiguous_floats_is_read_back_with_all_digits() {
    let mut b = Builder::default();
    let x = input(&mut b, "f32?");
    let third = b.literal(Literal::new(1.0f64 / 3.0), Some(DType::F32));
    let fill = Attrs::new()
        .with("value", Attr::Literal(Literal::new(0.1f64 * 3.0), Some(DType::F32)))
        .with("shape", Attr::Numbers(vec![3.0]));
    let mut applier = Applier::new(&mut b, rules());
    let filled = applier.apply("fill", &[], &fill).unwrap()[0];
    let made = applier.apply("mul", &[x, third], &Attrs::new()).unwrap()[0];
    let made = applier.apply("add", &[made, filled], &Attrs::new()).unwrap();
    let graph = b.finish(made);
    let text = graph.to_string();
    assert!(
        text.contains("0.3333333333333333:f32?") && text.contains("value = 0.30000000000000004, dtype = f32")
    );
    let read = Graph::parse(&text).unwrap();
    read.verify().unwrap();
    assert_eq!(read.to_string(), text);
    assert_eq!(types_of(&read, read.outputs()), ["f32?"]);
}

#[test]
fn a_number_of_r_is_stored_as_its_type_says() {
    for dtype in [DType::I1, DType::I32, DType::F64, DType::C128] {
        assert_eq!(Defaults::default().number_type(dtype).stored(), dtype);
    }
}

// ---- narrow programs ------------------------------------------------------------------------------------------------

fn all_values(graph: &Graph, see: &mut dyn FnMut(&Aval)) {
    graph.values().for_each(|v| see(graph.aval(v)));
    for node in graph.nodes() {
        node.op.regions().iter().for_each(|(_, region)| all_values(region, see));
    }
}

#[test]
fn narrow_programs_have_no_doubles_but_known_ones() {
    let mut b = Builder::default();
    let x = input(&mut b, "f32?");
    let z = input(&mut b, "c64?");
    let counts = input(&mut b, "i32");
    let mut applier = Applier::new(&mut b, rules());
    let mut apply = |name, operands: &[Value]| applier.apply(name, operands, &Attrs::new()).unwrap()[0];
    let scaled = apply("mul", &[counts, x]);
    let made = [apply("exp", &[scaled]), apply("mul", &[z, scaled])];
    let graph = b.finish(made.to_vec());
    let narrow = narrowed(&graph).unwrap();
    narrow.verify().unwrap();
    all_values(&narrow, &mut |aval| {
        assert!(![DType::F64, DType::C128].contains(&aval.dtype) && aval.ambiguous.is_none(), "{aval}");
    });
    assert_eq!(types_of(&narrow, narrow.outputs()), ["f32", "c64"]);
    // Next to a known double, it is a double.
    let mut b = Builder::default();
    let (x, y) = (input(&mut b, "f32?"), input(&mut b, "f64"));
    let half = b.node1(Unary::sqrt, &[x]).unwrap();
    let made = Applier::new(&mut b, rules()).apply("mul", &[half, y], &Attrs::new()).unwrap();
    let narrow = narrowed(&b.finish(made)).unwrap();
    narrow.verify().unwrap();
    let dtypes: Vec<String> = narrow.nodes().iter().map(|n| narrow.aval(n.results[0]).to_string()).collect();
    assert_eq!(dtypes, ["f32[3]", "f64[3]", "f64[3]"]);
}

#[test]
fn random_programs_are_narrowed() {
    let names: Vec<(&'static str, usize)> = rows()
        .filter(|row| {
            !["if", "while", "scan", "custom_gradient", "custom_jvp", "print", "callback"].contains(&row.name)
        })
        .map(|row| (row.name, row.operands.len()))
        .collect();
    let mut regions = 0;
    for seed in 0..300 {
        let mut writer = Writer::new(seed);
        writer.depth = 2;
        for _ in 0..15 {
            writer.step(&names);
        }
        let outputs = writer.outputs();
        let Writer { mut rng, b, .. } = writer;
        let graph = b.finish(outputs);
        regions += graph.nodes().iter().filter(|node| node.op.has_regions()).count();
        let narrow = narrowed(&graph).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{graph}"));
        narrow.verify().unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        let types = |graph: &Graph, values: &[Value], of: &dyn Fn(&Aval) -> DType| -> Vec<_> {
            values.iter().map(|&v| (of(graph.aval(v)), graph.aval(v).shape.clone())).collect()
        };
        for (old, new) in [
            (graph.inputs(), narrow.inputs()),
            (graph.constants(), narrow.constants()),
            (graph.outputs(), narrow.outputs()),
        ] {
            assert_eq!(
                types(&graph, old, &narrow_dtype),
                types(&narrow, new, &|aval| aval.dtype),
                "seed {seed}"
            );
        }
        if seed % 10 == 0 {
            let [inputs, constants] = [narrow.inputs(), narrow.constants()].map(|values| {
                values.iter().map(|&v| random_tensor(&mut rng, narrow.aval(v))).collect::<Vec<_>>()
            });
            let differs = disagreement(&narrow, &inputs, &constants, &[]);
            assert!(differs.is_none(), "seed {seed}: {}", differs.unwrap_or_default());
        }
    }
    assert!(regions > 100, "{regions}");
}
