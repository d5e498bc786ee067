//! Every published cell, and the laws that hold beyond them.

use super::*;

/// A promotion table: names of rows and columns, then cells, all as text.
struct Table {
    file: &'static str,
    names: Vec<String>,
    cells: Vec<Vec<String>>,
}

impl Table {
    fn read(file: &'static str) -> Table {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/testdata/promotion/");
        let text =
            std::fs::read_to_string(format!("{folder}{file}")).expect("promotion tables are committed");
        let mut rows = text.lines().map(|line| line.split(',').map(String::from).collect::<Vec<_>>());
        let names = rows.next().expect("a header")[1..].to_vec();
        let cells: Vec<Vec<String>> = rows
            .zip(&names)
            .map(|(row, name)| {
                assert_eq!(&row[0], name, "{file}: rows and columns share one order");
                row[1..].to_vec()
            })
            .collect();
        assert_eq!(cells.len(), names.len(), "{file}: one row per column");
        assert!(cells.iter().all(|row| row.len() == names.len()), "{file}: one cell per column");
        Table { file, names, cells }
    }

    fn each(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.names.iter().zip(&self.cells).flat_map(move |(row, cells)| {
            self.names.iter().zip(cells).map(move |(col, cell)| (row.as_str(), col.as_str(), cell.as_str()))
        })
    }

    /// Compares every cell with a system, which is asked for `row` and `col` with these endings.
    fn check(&self, rules: &Rules, row_ends: &str, col_ends: &str) {
        for (row, col, cell) in self.each() {
            let named = |name: &str, ends| parse(&format!("{name}{ends}")).unwrap();
            let got = rules.join(named(row, row_ends), named(col, col_ends));
            let text = got.map_or("-".into(), |x| rules.label(x));
            assert_eq!(text, cell, "{}: {row}{row_ends} and {col}{col_ends}", self.file);
        }
    }
}

const PUBLISHED: &[(&str, &str, usize)] = &[
    ("jax", "jax.csv", 18),
    ("jax_lax", "jax-lax.csv", 18),
    ("numpy", "numpy.csv", 18),
    ("torch", "torch.csv", 18),
    ("tensorflow", "tensorflow.csv", 18),
    ("array_api", "array-api.csv", 11),
];

fn ambiguous(dtype: DType) -> Ranked {
    Ranked { dtype, ambiguous: true }
}

fn own(a: Ranked, b: Ranked) -> Ranked {
    common_dtype(a, b, rules()).unwrap()
}

fn of(name: &str) -> &'static Rules {
    by_name(name).unwrap()
}

fn cell(rules: &str, lhs: &str, rhs: &str) -> String {
    of(rules).join(parse(lhs).unwrap(), parse(rhs).unwrap()).map_or("-".into(), |x| x.to_string())
}

// ---- the tables ----

#[test]
fn known_with_known_is_the_published_table() {
    for (file, size) in [("anvil-known.csv", 11), ("anvil-known-extended.csv", DType::ALL.len())] {
        let table = Table::read(file);
        assert_eq!(table.names.len(), size);
        table.check(rules(), "", "");
    }
}

#[test]
fn ambiguous_with_known_is_the_published_table() {
    let table = Table::read("anvil-ambiguous.csv");
    assert_eq!(table.names.len(), 11);
    for (row, col, cell) in table.each() {
        let (row, col) = (DType::parse(row).unwrap(), DType::parse(col).unwrap());
        let got = own(ambiguous(row), known(col));
        assert_eq!(got.dtype.name(), cell, "{row}? and {col}");
        // The published rule for the flag: the ambiguous operand decided, and the known one did not.
        assert_eq!(got.ambiguous, got.dtype == row && got.dtype != col, "flag of {row}? and {col}");
    }
    let extended = Table::read("anvil-ambiguous-extended.csv");
    assert_eq!(extended.names.len(), DType::ALL.len());
    extended.check(rules(), "?", "");
}

#[test]
fn every_system_gives_its_published_table() {
    for &(name, file, size) in PUBLISHED {
        let table = Table::read(file);
        assert_eq!(table.names.len(), size, "{file}");
        table.check(of(name), "", "");
    }
}

#[test]
fn every_width_of_an_ambiguous_type_is_the_same_scalar() {
    for rules in all().iter().filter(|r| r.name != "anvil") {
        let default = |x: Ranked| parse(&rules.label(x)).unwrap();
        for (a, b) in ranked().flat_map(|a| ranked().map(move |b| (a, b))) {
            let got = rules.join(a, b);
            assert_eq!(got, rules.join(default(a), default(b)), "{}: {a} and {b}", rules.name);
            let odd = got.is_some_and(|x| x.ambiguous && parse(&rules.label(x)) != Ok(x));
            assert!(
                !odd,
                "{}: {a} and {b} have an ambiguous result of another width than the default",
                rules.name
            );
        }
    }
    assert_eq!(cell("jax", "i8?", "ui64?"), "i32?");
    assert_eq!(cell("jax", "f64?", "i64"), "f32?");
    assert_eq!(cell("jax", "c128?", "f64?"), "c64?");
    assert_eq!(cell("jax", "i64", "ui64"), "f32?");
    assert_eq!(cell("jax", "i1?", "i1?"), "i1");
    assert_eq!(cell("numpy", "i8?", "i8?"), "i64");
}

#[test]
fn strict_promotes_scalars_where_that_is_safe_and_nothing_else() {
    let strict = of("strict");
    // Kinds from scalar to what holds it.
    let height = |d: DType| match d.kind() {
        Kind::Boolean => None,
        Kind::Integer | Kind::Unsigned => Some(0),
        Kind::Float => Some(1),
        Kind::Complex => Some(2),
    };
    for &a in DType::ALL {
        for &b in DType::ALL {
            assert_eq!(strict.join(known(a), known(b)), (a == b).then_some(known(a)), "{a} and {b}");
            let scalar = (height(a).is_some() && height(a) <= height(b)).then_some(known(b));
            let want = if a == DType::I1 && b == a { Some(known(a)) } else { scalar };
            assert_eq!(strict.join(ambiguous(a), known(b)), want, "{a}? and {b}");
            assert_eq!(strict.join(known(b), ambiguous(a)), want, "{b} and {a}?");
            let both = match height(a).zip(height(b)) {
                Some((i, j)) => Some(parse(["i?", "f?", "c?"][i.max(j)]).unwrap()),
                None => (a == b).then_some(known(DType::I1)),
            };
            assert_eq!(strict.join(ambiguous(a), ambiguous(b)), both, "{a}? and {b}?");
        }
    }
    // As JAX words it: a float array and the scalar 1; not a float and an integer array.
    assert_eq!(cell("strict", "f32", "i?"), "f32");
    assert_eq!(cell("strict", "f32", "i32"), "-");
    assert_eq!(cell("strict", "i32", "f?"), "-");
    assert_eq!(cell("strict", "i1", "i?"), "-");
}

// ---- laws ----

#[test]
fn two_ambiguous_promote_as_known_and_stay_ambiguous() {
    for &a in DType::ALL {
        for &b in DType::ALL {
            let want = ambiguous(own(known(a), known(b)).dtype);
            assert_eq!(own(ambiguous(a), ambiguous(b)), want, "{a}? and {b}?");
        }
    }
}

#[test]
fn the_join_is_idempotent_commutative_and_associative() {
    assert_eq!(ranked().count(), 30);
    for a in ranked() {
        assert_eq!(own(a, a), a);
        for b in ranked() {
            let ab = own(a, b);
            assert_eq!(ab, own(b, a), "{a} and {b}");
            for c in ranked() {
                assert_eq!(own(ab, c), own(a, own(b, c)), "{a}, {b} and {c}");
            }
        }
    }
}

/// Laws over a system's own types: where each fails first. A refusal is a result that refuses everything.
struct Laws {
    symmetric: Option<String>,
    idempotent: Option<String>,
    associative: Option<String>,
}

fn laws(rules: &Rules) -> Laws {
    let types: Vec<Ranked> = ranked().filter(|&x| parse(&rules.label(x)) == Ok(x)).collect();
    let join = |a: Option<Ranked>, b: Option<Ranked>| a.zip(b).and_then(|(a, b)| rules.join(a, b));
    let (mut symmetric, mut idempotent, mut associative) = (None, None, None);
    for a in types.iter().copied().map(Some) {
        let is_used = types.iter().any(|&x| join(a, Some(x)).is_some());
        if is_used && join(a, a) != a {
            idempotent.get_or_insert(rules.label(a.unwrap()));
        }
        for b in types.iter().copied().map(Some) {
            let text = |x: Option<Ranked>| x.map_or("-".into(), |x| rules.label(x));
            if join(a, b) != join(b, a) {
                symmetric.get_or_insert(format!("{} {}", text(a), text(b)));
            }
            for c in types.iter().copied().map(Some) {
                let (left, right) = (join(join(a, b), c), join(a, join(b, c)));
                if left != right {
                    let triple = [a, b, c].map(text).join(" ");
                    associative.get_or_insert(format!("{triple}: {} {}", text(left), text(right)));
                }
            }
        }
    }
    Laws { symmetric, idempotent, associative }
}

#[test]
fn which_systems_are_what_algebra_calls_them() {
    // Rules, and an example of what fails: pairs, types, triples with both results.
    const CASES: &[(&str, [Option<&str>; 3])] = &[
        ("anvil", [None, None, None]),
        ("jax", [None, None, None]),
        ("jax_lax", [None, None, None]),
        // A scalar with a boolean or another scalar takes a width, which is known from then on.
        ("numpy", [None, Some("i?"), Some("i1 i? i8: i64 i8")]),
        ("torch", [None, Some("i?"), Some("i1 i? i8: i64 i8")]),
        // A scalar on the left is converted by itself, one on the right to what it meets.
        ("tensorflow", [Some("i8 i?"), Some("i?"), Some("i8 i? i8: i8 -")]),
        ("array_api", [None, None, None]),
        ("strict", [None, None, None]),
    ];
    assert_eq!(CASES.iter().map(|case| case.0).collect::<Vec<_>>(), names());
    for (name, want) in CASES {
        let laws = laws(of(name));
        let got = [laws.symmetric, laws.idempotent, laws.associative];
        assert_eq!(got.each_ref().map(|x| x.as_deref()), *want, "{name}: symmetric, idempotent, associative");
    }
}

#[test]
fn many_operands_fold() {
    assert_eq!(rules().join_all(ranked()), Some(known(DType::C128)));
    assert_eq!(rules().join_all([]), None);
    assert_eq!(rules().join_all([ambiguous(DType::I1)]), Some(ambiguous(DType::I1)));
    let strict = of("strict");
    assert_eq!(strict.join_all([known(DType::I8), known(DType::I8)]), Some(known(DType::I8)));
    assert_eq!(strict.join_all([known(DType::I8), known(DType::F32), known(DType::I8)]), None);
}

// ---- names, errors, diagrams ----

#[test]
fn systems_are_found_by_name() {
    assert_eq!(names(), ["anvil", "jax", "jax_lax", "numpy", "torch", "tensorflow", "array_api", "strict"]);
    assert!(names().iter().all(|name| of(name).name() == *name));
    assert_eq!(rules().name(), "anvil");
    let fault = by_name("R").unwrap_err();
    assert_eq!(fault.class(), "anvil_error_arg");
    assert!(
        fault.to_string().contains("not \"R\"") && fault.to_string().contains("array_api, strict"),
        "{fault}"
    );
}

#[test]
fn types_parse_by_their_labels() {
    for x in ranked() {
        assert_eq!(parse(&x.to_string()), Ok(x));
    }
    assert_eq!(parse("i?"), Ok(ambiguous(DType::I32)));
    for bad in ["", "?", "f", "f32??", "x?"] {
        assert_eq!(parse(bad), Err(Error::UnknownDtype { got: format!("\"{bad}\"") }));
    }
    assert!(ranked().enumerate().all(|(i, x)| node(x) == i));
    assert_eq!(ranked().count(), NODES);
}

#[test]
fn systems_know_their_dtypes() {
    let missing = |name: &str| {
        let names = DType::ALL.iter().filter(|&&d| !of(name).knows(d)).map(|d| d.name());
        names.collect::<Vec<_>>().join(" ")
    };
    for name in ["anvil", "jax", "jax_lax", "strict"] {
        assert_eq!(missing(name), "", "{name}");
    }
    assert_eq!(missing("numpy"), "bf16");
    assert_eq!(missing("torch"), "ui16 ui32 ui64");
    assert_eq!(missing("tensorflow"), "i1");
    assert_eq!(missing("array_api"), "i1 bf16 c64 c128");
}

#[test]
fn refusals_say_what_to_do() {
    const CASES: &[(&str, &str, &str, &str)] = &[
        (
            "strict",
            "i32",
            "f32",
            "\ni Convert the i32 operand with `nv_convert(x, \"f32\")`, or choose other rules",
        ),
        ("strict", "f64", "f32", "\ni Convert the f32 operand with `nv_convert(x, \"f64\")`,"),
        ("strict", "i8", "ui8", "\ni Convert both operands with `nv_convert(x, \"i16\")`,"),
        ("strict", "i1", "i32?", "\ni Convert the i1 operand with `nv_convert(x, \"i32\")`,"),
        (
            "torch",
            "ui16",
            "i8",
            "\nx They do not have ui16.\ni Convert the ui16 operand with `nv_convert(x, \"i32\")`,",
        ),
        (
            "numpy",
            "bf16",
            "bf16",
            "\nx They do not have bf16.\ni Convert both operands with `nv_convert(x, \"f32\")`,",
        ),
        ("tensorflow", "i32?", "i8", "\ni Convert the i32? operand with `nv_convert(x, \"i8\")`,"),
        (
            "array_api",
            "c64",
            "f32",
            "\nx They do not have c64.\ni They have no dtype that holds both; choose other",
        ),
    ];
    for (name, lhs, rhs, want) in CASES {
        let fault = common_dtype(parse(lhs).unwrap(), parse(rhs).unwrap(), of(name)).unwrap_err();
        let start = format!("No implicit promotion of {lhs} and {rhs} under the rules \"{name}\".{want}");
        assert!(fault.to_string().starts_with(&start), "{fault}\nnot\n{start}");
        assert_eq!(fault.class(), "anvil_error_promotion");
        assert_eq!(fault.fields()[2], ("rules", crate::error::Field::Text(name.to_string())));
    }
}

#[test]
fn what_a_refusal_advises_is_accepted() {
    let mut helpless = Vec::new();
    for rules in all() {
        for (a, b) in ranked().flat_map(|a| ranked().map(move |b| (a, b))) {
            if rules.join(a, b).is_some() {
                continue;
            }
            let Some((to, which)) = rules.cast(a, b) else {
                helpless.push(rules.name);
                continue;
            };
            let [a, b] =
                [(a, which[0]), (b, which[1])].map(|(x, convert)| if convert { known(to) } else { x });
            assert_eq!(rules.join(a, b), Some(known(to)), "{}: {a} and {b}", rules.name);
        }
    }
    helpless.dedup();
    assert_eq!(helpless, ["array_api"], "only a system without complex numbers is at a loss");
}

/// The edges of a system by their labels, as lines `low < high`.
fn drawn(rules: &Rules) -> Vec<String> {
    rules.edges().iter().map(|&(low, high)| format!("{} < {}", rules.label(low), rules.label(high))).collect()
}

#[test]
fn a_system_has_the_types_that_it_promotes() {
    let labels =
        |name: &str| of(name).types().iter().map(|&x| of(name).label(x)).collect::<Vec<_>>().join(" ");
    assert_eq!(of("anvil").types(), ranked().collect::<Vec<_>>());
    let jax = "i1 i8 i16 i32 i? i64 ui8 ui16 ui32 ui64 bf16 f16 f32 f? f64 c64 c? c128";
    assert_eq!(["jax", "jax_lax", "strict"].map(labels), [jax; 3]);
    assert_eq!(labels("numpy"), jax.replace("bf16 ", ""));
    assert_eq!(labels("torch"), jax.replace("ui16 ui32 ui64 ", ""));
    assert_eq!(labels("tensorflow"), jax.replace("i1 ", ""));
    assert_eq!(labels("array_api"), "i8 i16 i32 i64 ui8 ui16 ui32 ui64 f16 f32 f64");
}

#[test]
fn diagrams_hold_what_promotion_needs_and_no_more() {
    for rules in all() {
        let (types, edges) = (rules.types(), rules.edges());
        assert!(edges.iter().all(|(low, high)| types.contains(low) && types.contains(high)));
        // What can be climbed to from a type, with one edge taken out or with none.
        let climb = |from: Ranked, without: Option<(Ranked, Ranked)>| {
            let mut reached = vec![from];
            let mut next = 0;
            while let Some(&low) = reached.get(next) {
                for &(_, high) in edges.iter().filter(|&&edge| edge.0 == low && Some(edge) != without) {
                    if !reached.contains(&high) {
                        reached.push(high);
                    }
                }
                next += 1;
            }
            reached
        };
        for &a in &types {
            let above = climb(a, None);
            for &b in types.iter().filter(|&&b| a != b) {
                assert_eq!(above.contains(&b), rules.promotes(a, b), "{}: {a} to {b}", rules.name);
                assert!(!(rules.promotes(a, b) && rules.promotes(b, a)), "{}: {a} and {b}", rules.name);
            }
        }
        for &(low, high) in &edges {
            let others = climb(low, Some((low, high)));
            assert!(!others.contains(&high), "{}: {low} < {high} follows from others", rules.name);
        }
    }
    let counts = all().iter().map(|rules| rules.edges().len()).collect::<Vec<_>>();
    assert_eq!(counts, [40, 24, 3, 26, 19, 3, 11, 16]);
    assert_eq!(drawn(of("jax_lax")), ["i? < i64", "f? < f64", "c? < c128"]);
    // Only what does not depend on the order of the operands.
    assert_eq!(drawn(of("tensorflow")), ["i? < i32", "f? < f32", "c? < c128"]);
    assert_eq!(
        drawn(of("array_api")).join(", "),
        "i8 < i16, i16 < i32, i32 < i64, ui8 < i16, ui8 < ui16, ui16 < i32, ui16 < ui32, ui32 < i64, ui32 < ui64, \
         f16 < f32, f32 < f64"
    );
    assert!(
        drawn(of("numpy")).contains(&"i64 < f64".into()) && !drawn(of("numpy")).contains(&"i32 < f64".into())
    );
}

#[test]
fn paths_climb_the_diagram_of_a_lattice() {
    for rules in all() {
        if rules.lattice.is_none() {
            let fault = rules.path(known(DType::I8), known(DType::I16)).unwrap_err().to_string();
            assert!(
                fault.contains(rules.name) && fault.contains("Lattices are anvil, jax, strict."),
                "{fault}"
            );
            continue;
        }
        let edges = drawn(rules);
        for (a, b) in ranked().flat_map(|a| ranked().map(move |b| (a, b))) {
            let path = rules.path(a, b).unwrap();
            assert_eq!(path.is_empty(), !rules.promotes(a, b), "{}: {a} to {b}", rules.name);
            assert!(path.windows(2).all(|pair| edges.contains(&pair.join(" < "))));
        }
    }
    let path =
        |name: &str, from, to| of(name).path(parse(from).unwrap(), parse(to).unwrap()).unwrap().join(" ");
    assert_eq!(path("jax", "i32", "f32"), "i32 i64 f? bf16 f32");
    assert_eq!(path("jax", "i8?", "f64?"), "i? i8 i16 i32 i64 f?");
    assert_eq!(path("strict", "i32?", "c64"), "i? f? c? c64");
    assert_eq!(path("anvil", "f32", "f32"), "f32");
    assert_eq!(path("anvil", "f64", "f32"), "");
}

#[test]
fn faults_in_the_data_are_named() {
    const CASES: &[(Source, &str)] = &[
        (Source::Edges("i8 < f8"), "unknown type f8"),
        (Source::Edges("i8 < i16\ni16 < i32\ni32 < i8"), "i8 is below itself"),
        (Source::Edges("i8 ui8 < i16 i32"), "i8 and ui8 have no least upper bound"),
        (Source::Table(""), "an empty table"),
        (Source::Table(",i8,i16\ni8,i8"), "row i8 has 2 cells, not 3"),
        (Source::Table(",i8\ni8,f8"), "unknown type f8"),
    ];
    for (source, want) in CASES {
        let system = System { name: "broken", ambiguous: Ambiguous::OfEachWidth, source: *source };
        let fault = Rules::from_system(&system).unwrap_err().to_string();
        assert!(fault.contains(want) && fault.contains("\"broken\""), "{want}: {fault}");
    }
}
