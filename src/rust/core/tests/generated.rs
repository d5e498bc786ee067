//! Files that are generated from the table of ops. A stale file is rewritten, and the test fails once; with
//! `ANVIL_REGENERATE` set it does not fail.

#[path = "generated/catalogue.rs"]
mod catalogue;
mod common;
#[path = "generated/facts.rs"]
mod facts;
#[path = "generated/formula.rs"]
mod formula;
#[path = "generated/pages.rs"]
mod pages;
#[path = "common/rows.rs"]
mod row_programs;

use anvil_core::dtype::DType;
use anvil_core::error::Class;
use anvil_core::ops::{rows, Binary, Compare, Part, Predicate, Row, Special, Unary};
use row_programs::Example;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Examples of each row.
type Examples = BTreeMap<&'static str, Vec<Example>>;

#[test]
fn generated_r_functions_are_up_to_date() {
    let unary = Unary::ALL.iter().map(|op| op.row());
    let predicate = Predicate::ALL.iter().map(|op| op.row());
    let binary = Binary::ALL.iter().map(|op| op.row());
    let special = Special::ALL.iter().map(|op| op.row());
    let compare = Compare::ALL.iter().map(|op| op.row());
    let part = Part::ALL.iter().map(|op| op.row());
    let same = "A tensor of the operand's shape, dtype and ambiguity.";
    let boolean = "A tensor of the operand's shape and of dtype `i1`.";
    let common =
        "A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are, once promoted.";
    let flags =
        "A tensor of dtype `i1` and of the shape with the most axes; ambiguous if both operands are, once promoted.";
    let parts =
        "A tensor of the operand's shape and ambiguity, and of the dtype of its parts: `f32` for `c64`, \
         `f64` for `c128`; a real operand's own.";
    let examples = row_programs::examples();
    let unary_of = |file: &str| {
        let rows = unary.clone().filter(|row| unary_file(row) == file);
        functions(rows, |row| if row.function == "nv_abs" { parts } else { same }, &examples)
    };
    let unary = UNARY_FILES.map(|file| write(file, &unary_of(file)));
    let fresh = [
        unary.iter().all(|&f| f),
        write("ops-part.R", &functions(part, |_| parts, &examples)),
        write("ops-predicate.R", &functions(predicate, |_| boolean, &examples)),
        write("ops-binary.R", &functions(binary, |_| common, &examples)),
        write(
            "ops-special.R",
            &functions(special, |row| if row.operands.len() == 1 { same } else { common }, &examples),
        ),
        write("ops-compare.R", &functions(compare, |_| flags, &examples)),
        write("ops-generics.R", &methods()),
    ];
    let forgiven = std::env::var_os("ANVIL_REGENERATE").is_some();
    assert!(
        forgiven || fresh.iter().all(|&f| f),
        "files in R/ were out of date and are rewritten: run again"
    );
}

/// Files of functions of one operand: they are too many for one.
const UNARY_FILES: [&str; 3] = ["ops-unary.R", "ops-unary-exponential.R", "ops-unary-trigonometry.R"];

/// The one of [`UNARY_FILES`] that has the function of a row.
fn unary_file(row: &Row) -> &'static str {
    let is_one_of = |functions: &[&str]| functions.iter().any(|f| row.name.contains(f));
    if is_one_of(&["sin", "cos", "tan"]) {
        UNARY_FILES[2]
    } else if is_one_of(&["exp", "log", "softplus"]) {
        UNARY_FILES[1]
    } else {
        UNARY_FILES[0]
    }
}

/// Brings a file to this content; says whether it had it.
fn write(file: &str, body: &str) -> bool {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../R").join(file);
    let head =
        "# Generated from the rows in src/rust/core/src/ops/ by `make generate`. Do not edit by hand.\n";
    let want = format!("{head}{body}");
    let fresh = fs::read_to_string(&path).unwrap_or_default() == want;
    if !fresh {
        fs::write(&path, want).unwrap();
    }
    fresh
}

#[test]
fn generated_sections_of_other_pages_are_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../R");
    let examples = row_programs::examples();
    let written = rows().filter(|row| !row.generated);
    let stale = pages::bring_up_to_date(&folder, written, |page| {
        let mut section = String::new();
        facts::section(page, &examples).iter().for_each(|text| roxygen(&mut section, text));
        section
    });
    let forgiven = std::env::var_os("ANVIL_REGENERATE").is_some();
    assert!(
        forgiven || stale.is_empty(),
        "sections of {stale:?} were out of date and are rewritten: run again"
    );
}

#[test]
fn generated_table_of_ops_is_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../inst/catalogue");
    let (path, want) = (folder.join("ops.tsv"), catalogue::text(&row_programs::examples()));
    if fs::read_to_string(&path).unwrap_or_default() != want {
        fs::write(&path, want).unwrap();
        let forgiven = std::env::var_os("ANVIL_REGENERATE").is_some();
        assert!(forgiven, "inst/catalogue/ops.tsv was out of date and is rewritten: run again");
    }
}

#[test]
fn help_pages_hold_the_sections() {
    if std::env::var_os("ANVIL_REGENERATE").is_some() {
        return;
    }
    let man = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../man");
    let lagging = pages::lagging(&man.join("../R"), &man);
    assert!(lagging.is_empty(), "{lagging:?} in man/ were made from other comments: run `make doc`");
}

#[test]
fn generated_table_of_conditions_is_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../R");
    let page = folder.join("anvil-package.R");
    let text = fs::read_to_string(&page).unwrap();
    let head = "#' | class | when |\n#' |---|---|\n";
    let (before, rest) = text.split_once(head).expect("the table of classes");
    let after: String = rest.split_inclusive('\n').skip_while(|line| line.starts_with("#' |")).collect();
    let row = |class: &Class| format!("#' | `{}` | {} |\n", class.name(), class.when());
    let want = format!("{before}{head}{}{after}", Class::ALL.iter().map(row).collect::<String>());
    if text != want {
        fs::write(&page, want).unwrap();
        let forgiven = std::env::var_os("ANVIL_REGENERATE").is_some();
        assert!(forgiven, "the table of R/anvil-package.R was out of date and is rewritten: run again");
    }

    // R signals and documents no other ones.
    let known: BTreeSet<&str> = Class::ALL.iter().map(|class| class.name()).collect();
    let mut signalled = BTreeSet::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        for (at, _) in text.match_indices("anvil_error_") {
            let end = text[at..].find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(0);
            let class = &text[at..at + end];
            assert!(known.contains(class), "{}: `{class}` is none of `Class`", path.display());
            if text[..at].ends_with('"') {
                signalled.insert(class.to_string());
            }
        }
    }
    // Classes that no error of the engine has.
    for class in [Class::Structure, Class::Concrete, Class::Static, Class::Unsupported, Class::File] {
        assert!(signalled.contains(class.name()), "nothing in R/ signals `{}`", class.name());
    }
}

/// The functions of a family, with help pages; `result` is what each of them returns.
fn functions(
    rows: impl Iterator<Item = &'static Row>,
    result: impl Fn(&Row) -> &'static str,
    examples: &Examples,
) -> String {
    let mut out = String::new();
    rows.filter(|row| row.generated).for_each(|row| function(&mut out, row, result(row), examples));
    out
}

/// One method for each generic and operator that rows answer to.
fn methods() -> String {
    let mut out = String::new();
    generics().into_iter().for_each(|generic| method(&mut out, generic));
    out
}

/// The facts on the function of that name.
fn properties(function: &str, examples: &Examples) -> Vec<String> {
    let page: Vec<_> = rows().filter(|row| row.function == function).collect();
    facts::section(&page, examples)
}

fn function(out: &mut String, row: &Row, result: &str, examples: &Examples) {
    let promotes = row.operands.len() > 1;
    let formals = row.operands.join(", ");
    // `apply` brings whole numbers to floats where an op takes none.
    let lifts = row.accepts.contains(DType::F32) && !row.accepts.contains(DType::I32);
    let (title, details) = row.doc.split_first().expect("every row is documented");
    out.push('\n');
    let mut line = |text: &str| roxygen(out, text);
    head(&mut line, title.trim_end_matches('.'), details);
    let mut accepts = format!("of {}", row.accepts.name);
    if lifts {
        accepts += "; integers and booleans are promoted to an ambiguous `f32`";
    }
    let what = if row.operands.len() == 1 { "A tensor or traced value" } else { "Tensors or traced values" };
    line(&format!(
        " @param {} {what} {accepts}. R numbers, logicals and arrays are accepted too.",
        row.operands.join(",")
    ));
    if promotes {
        line(
            "   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one \
             operand a single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].",
        );
    }
    line(&format!(" @return {result}"));
    properties(row.function, examples).iter().for_each(|text| line(text));
    line(" @section Errors:");
    let whole = |d: DType| d.is_integer() || d == DType::I1;
    let refuses = DType::ALL.iter().any(|&d| !(row.accepts.contains(d) || lifts && whole(d)));
    if refuses {
        let whole = if lifts { ", integers and booleans" } else { "" };
        let refused = match row.accepts.name.strip_prefix("any dtype but ") {
            Some(others) => format!("{others} operands"),
            None => format!("operands other than {}{whole}", row.accepts.name),
        };
        line(&format!(" `anvil_error_dtype` for {refused}."));
    }
    if promotes {
        line(" `anvil_error_shape` with both shapes if they do not meet so.");
    }
    line(" `anvil_error_arg` for anything that is neither tensor, number nor array.");
    if let Some(generic) = row.generic {
        let call = match (row.operands.len(), generic.chars().all(|c| c.is_alphanumeric() || c == '.')) {
            (_, true) => format!("{generic}(x)"),
            (1, false) => format!("{generic}x"),
            (_, false) => format!("x {generic} y"),
        };
        line(&format!(" @details `{}` is the same on tensors.", call.replace('%', "\\%")));
    }
    line(" @examples");
    line(&format!(" {}({})", row.function, example(row.example)));
    line(" @export");
    writeln!(out, "{} <- function({formals}) .External(anvil_op, \"{}\", {formals})", row.function, row.name)
        .unwrap();
}

/// A line of roxygen, on several lines if it is longer than lines of R code may be.
fn roxygen(out: &mut String, text: &str) {
    const WIDTH: usize = 110;
    let list = text.trim_start().starts_with("* ");
    let indent = match text.len() - text.trim_start().len() {
        spaces if list => format!("#'{}", " ".repeat(spaces + 2)),
        1 if !text.starts_with(" @") => "#' ".into(),
        _ => "#'   ".to_string(),
    };
    let mut line = format!("#'{text}").trim_end().to_string();
    while line.len() > WIDTH {
        // A line that began with an operator would be an item of a list.
        let begins_item = |at: usize| ["* ", "+ ", "- "].iter().any(|mark| line[at + 1..].starts_with(mark));
        let mut spaces = line[..=WIDTH].rmatch_indices(' ').map(|(at, _)| at);
        let at = spaces.find(|&at| !begins_item(at)).expect("a space among this many characters");
        writeln!(out, "{}", &line[..at]).unwrap();
        line = format!("{indent}{}", &line[at + 1..]);
    }
    writeln!(out, "{line}").unwrap();
}

fn head(line: &mut impl FnMut(&str), title: &str, details: &[&str]) {
    line(title);
    line("");
    for text in details.iter().skip_while(|text| text.trim().is_empty()) {
        line(&text.replace('%', "\\%"));
    }
    if !details.is_empty() {
        line("");
    }
}

/// Wraps each `c(...)` of a row's example in `nv_tensor()`.
fn example(arguments: &str) -> String {
    let mut out = String::new();
    let mut rest = arguments;
    while let Some(at) = rest.find("c(") {
        let end = at + rest[at..].find(')').expect("an example's vector is closed") + 1;
        write!(out, "{}nv_tensor({})", &rest[..at], &rest[at..end]).unwrap();
        rest = &rest[end..];
    }
    out + rest
}

/// Generics and operators with the rows that answer to them, in the order of the catalogue.
fn generics() -> Vec<(&'static str, Vec<&'static Row>)> {
    let mut all: Vec<(&str, Vec<&Row>)> = Vec::new();
    for row in rows() {
        let Some(generic) = row.generic else { continue };
        match all.iter_mut().find(|(g, _)| *g == generic) {
            Some((_, rows)) => rows.push(row),
            None => all.push((generic, vec![row])),
        }
    }
    all
}

fn method(out: &mut String, (generic, rows): (&str, Vec<&Row>)) {
    let call = |row: &Row, arguments: &str| format!(".External(anvil_op, \"{}\", {arguments})", row.name);
    let unary = rows.iter().find(|row| row.operands.len() == 1);
    let binary = rows.iter().find(|row| row.operands.len() == 2);
    let (formals, body) = match (unary, binary) {
        // The formals of the generics in base R, by group.
        (Some(one), None) if ["Re", "Im", "Mod", "Arg", "Conj"].contains(&generic) => ("z", call(one, "z")),
        (Some(one), None) => ("x", call(one, "x")),
        (one, Some(two)) => {
            // An operator that may stand before its only operand: minus has an op for that, plus checks it.
            let alone = one
                .map(|one| call(one, "e1"))
                .or_else(|| (generic == "+").then(|| "unsigned(e1)".to_string()));
            let both = call(two, "e1, e2");
            // R calls `*`(x) too. A default costs nothing where there are two operands, as missing() would.
            match alone {
                Some(alone) => ("e1, e2", format!("{{\n  if (missing(e2)) {alone} else {both}\n}}")),
                None => ("e1, e2 = abort_missing(\"e2\")", both),
            }
        }
        (None, None) => unreachable!("a generic has a row"),
    };
    writeln!(out, "\n#' @method {generic} AnvilValue\n#' @export").unwrap();
    // R looks for a method of the first class before one of the second, in all frames of the function that calls,
    // variable by variable, and in all packages: in a function of 400 variables that is half of the time to trace it.
    for class in ["AnvilTensor", "AnvilTracer"] {
        writeln!(out, "#' @rawNamespace S3method(\"{generic}\",{class},\"{generic}.AnvilValue\")").unwrap();
    }
    writeln!(out, "`{generic}.AnvilValue` <- function({formals}) {body}").unwrap();
}
