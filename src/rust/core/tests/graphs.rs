//! Programs as text, with expected results: the files in `tests/testdata/graphs/`.
//!
//! A file begins with lines that describe it. Then come cases: a line `== ` with a claim, lines of
//! parameters, a program as `print(trace_fn())` writes it, and expected results, each after a line `-- `:
//!
//! | `-- steps` | what the plan's steps run |
//! | `-- plan` | the plan, as `explain_plan()` has it |
//! | `-- donated 1 3` | the plan if these inputs are donated, and which outputs take their buffers |
//! | `-- optimised` | the program after all passes |
//! | `-- gradient` | a program of the gradients of its inputs, given those of its outputs, after all passes |
//! | `-- stablehlo` | the program as StableHLO |
//!
//! A line `for n in 1 7 TILE+1` repeats a case with `{n}` in the program replaced, `{n+1}` and `{2*n}` too;
//! several such lines make all combinations, and `for (m, n) in (1, 2) (3, 4)` replaces two at once.
//! Parameters with the same result share a paragraph. Each program is also held to the reference interpreter
//! on random inputs, and its text is parsed.
//!
//! `ANVIL_REGENERATE=1 cargo test -p anvil-core --test graphs` writes the results into the files: read the
//! difference.

mod common;

use anvil_core::autodiff::{is_differentiable, Tape};
use anvil_core::exec::describe::Line;
use anvil_core::exec::Executable;
use anvil_core::graph::Value;
use anvil_core::hlo::{export, Options};
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::kernels::tile::TILE;
use anvil_core::ops::{Builder, Graph};
use anvil_core::passes::optimise;
use common::{disagreement, random_tensor, Rng};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

/// One test for each file, and one that there are no others.
macro_rules! files {
    ($($name:ident)+) => {
        $(#[test] fn $name() { check(stringify!($name)); })+

        #[test]
        fn every_file_is_checked() {
            let files = fs::read_dir(folder()).expect("tests/testdata/graphs");
            let name = |file: fs::DirEntry| file.file_name().into_string().expect("plain text");
            let files: BTreeSet<String> = files.map(|file| name(file.expect("a file"))).collect();
            assert_eq!(files, [$(concat!(stringify!($name), ".txt").to_string()),+].into());
        }
    };
}
files! { branches chains donation gradients indexing loops pieces products random_bits reductions segments sorting }

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../tests/testdata/graphs")
}

// ---- files ---------------------------------------------------------------------------------------------------------

/// Names and values of parameters, for each line of them.
type Row<'a> = Vec<Vec<(&'a str, &'a str)>>;

/// A program with what is expected of it.
struct Case<'a> {
    /// Everything before the first section.
    head: &'a str,
    /// Titles and contents.
    sections: Vec<(&'a str, &'a str)>,
}

/// The text before the first line that begins with a mark, and the sections that such lines begin.
fn split<'a>(text: &'a str, mark: &str) -> (&'a str, Vec<&'a str>) {
    let mark = format!("\n{mark}");
    let starts: Vec<usize> = text.match_indices(&mark).map(|(at, _)| at + 1).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let parts = starts.iter().zip(ends).map(|(&start, end)| &text[start..end]).collect();
    (&text[..starts.first().copied().unwrap_or(text.len())], parts)
}

impl<'a> Case<'a> {
    fn new(text: &'a str) -> Case<'a> {
        let (head, sections) = split(text, "-- ");
        let section = |text: &'a str| {
            let (title, content) = text.split_once('\n').unwrap_or((text, ""));
            (&title[3..], content)
        };
        Case { head, sections: sections.into_iter().map(section).collect() }
    }

    /// The claim.
    fn name(&self) -> &'a str {
        &self.head.lines().next().unwrap_or("")[3..]
    }

    /// Each combination of parameters: for each line of them, names and values.
    fn rows(&self) -> Vec<Row<'a>> {
        let mut rows: Vec<Row> = vec![vec![]];
        for line in self.head.lines().filter_map(|line| line.strip_prefix("for ")) {
            let (names, values) = line.split_once(" in ").expect("for .. in ..");
            let names = list(names);
            let values: Vec<Vec<&str>> = match values.starts_with('(') {
                true => values.split_inclusive(')').map(|group| list(group.trim())).collect(),
                false => values.split_whitespace().map(|value| vec![value]).collect(),
            };
            let mut longer = Vec::new();
            for row in &rows {
                for group in &values {
                    assert_eq!(names.len(), group.len(), "{line}");
                    let pairs = names.iter().copied().zip(group.iter().copied()).collect();
                    longer.push([&row[..], &[pairs]].concat());
                }
            }
            rows = longer;
        }
        rows
    }

    /// The program for some parameters.
    fn program(&self, row: &Row) -> Graph {
        let row: Vec<(&str, &str)> = row.iter().flatten().copied().collect();
        let at = self.head.find("<AnvilGraph>").unwrap_or_else(|| panic!("{}: no program", self.name()));
        let mut text = String::new();
        let mut parts = self.head[at..].split('{');
        text += parts.next().unwrap_or("");
        for part in parts {
            let (hole, rest) = part.split_once('}').expect("a closing brace");
            match row.iter().find(|(name, _)| *name == hole) {
                Some((_, value)) if value.parse::<usize>().is_err() && !value.contains("TILE") => {
                    text += value
                }
                _ => text += &number(hole, &row).to_string(),
            }
            text += rest;
        }
        Graph::parse(&text).unwrap_or_else(|e| panic!("{}, the program: {e}\n{text}", self.name()))
    }
}

/// `a` or `(a, b)`.
fn list(text: &str) -> Vec<&str> {
    let text = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text);
    text.split(',').map(str::trim).collect()
}

/// The value of a sum of products of numbers, parameters and `TILE`; a difference is taken from all before
/// it.
fn number(text: &str, row: &[(&str, &str)]) -> usize {
    if let Some((left, right)) = text.rsplit_once(['+', '-']) {
        let (left, right, plus) =
            (number(left, row), number(right, row), text.as_bytes()[left.len()] == b'+');
        return if plus { left + right } else { left - right };
    }
    if let Some((left, right)) = text.split_once('*') {
        return number(left, row) * number(right, row);
    }
    match row.iter().find(|(name, _)| *name == text) {
        Some((_, value)) => number(value, &[]),
        None if text == "TILE" => TILE,
        None => text.parse().unwrap_or_else(|_| panic!("{text:?} is no number and no parameter")),
    }
}

/// Holds a file to what is made, or writes that into it.
fn check(name: &str) {
    let path = folder().join(format!("{name}.txt"));
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let (head, cases) = split(&text, "== ");
    let mut fresh = head.to_string();
    for case in cases.into_iter().map(Case::new) {
        let rows = case.rows();
        let graphs: Vec<Graph> = rows.iter().map(|row| case.program(row)).collect();
        for (graph, row) in graphs.iter().zip(&rows) {
            agrees(graph, case.name(), row);
        }
        fresh += case.head;
        for (title, _) in &case.sections {
            let made = graphs.iter().map(|graph| made(title, graph)).collect();
            write!(fresh, "-- {title}\n{}\n", paragraphs(&rows, made)).expect("a text");
        }
    }
    let fresh = format!("{}\n", fresh.trim_end());
    if fresh == text {
        return;
    }
    if std::env::var_os("ANVIL_REGENERATE").is_some() {
        return fs::write(&path, fresh).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
    panic!("{name}.txt is not what is made:\n{}", difference(&text, &fresh));
}

/// Texts for combinations of parameters, equal ones once. Lines of parameters that make no difference are not
/// named.
fn paragraphs(rows: &[Row], made: Vec<String>) -> String {
    if let [one] = &made[..] {
        return one.clone();
    }
    let differ = |line: usize, i: usize, j: usize| {
        let others = (0..rows[i].len()).all(|k| k == line || rows[i][k] == rows[j][k]);
        others && made[i] != made[j]
    };
    let pairs = || (0..rows.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
    let named: Vec<usize> =
        (0..rows[0].len()).filter(|&line| pairs().any(|(i, j)| differ(line, i, j))).collect();
    let label = |row: &Row| -> String {
        let pairs = named.iter().flat_map(|&line| &row[line]);
        pairs.map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
    };
    let mut groups: Vec<(Vec<String>, &str)> = Vec::new();
    for (row, text) in rows.iter().zip(&made) {
        let label = label(row);
        match groups.iter_mut().find(|(_, known)| known == text) {
            Some((labels, _)) if labels.contains(&label) => {}
            Some((labels, _)) => labels.push(label),
            None => groups.push((vec![label], text)),
        }
    }
    let paragraph = |(labels, text): &(Vec<String>, &str)| {
        let title = if named.is_empty() { "always".into() } else { labels.join("\n") };
        let text: String = text.lines().map(|line| format!("    {line}\n")).collect();
        format!("{title}:\n{text}")
    };
    groups.iter().map(paragraph).collect()
}

/// The first lines in which two texts differ, and what comes before.
fn difference(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let at = old.iter().zip(&new).take_while(|(x, y)| x == y).count();
    let case = old[..at].iter().rev().find(|line| line.starts_with("== ")).unwrap_or(&"");
    let show = |lines: &[&str], mark: &str| -> String {
        lines[at.min(lines.len())..].iter().take(12).map(|line| format!("{mark} {line}\n")).collect()
    };
    format!("{case}\nfrom line {} on\n{}{}", at + 1, show(&old, "-"), show(&new, "+"))
}

// ---- what is made --------------------------------------------------------------------------------------------------

/// The text of a section for a program.
fn made(title: &str, graph: &Graph) -> String {
    let compile =
        |donated: &[usize]| Executable::compile(graph, donated).unwrap_or_else(|e| panic!("{e}\n{graph}"));
    let (what, donated) = title.split_once(' ').unwrap_or((title, ""));
    match what {
        "steps" => steps(&compile(&[]).lines()),
        "plan" => compile(&[]).describe(),
        "donated" => {
            let inputs = donated.split(' ').map(|input| input.parse::<usize>().expect("a number from 1") - 1);
            let executable = compile(&inputs.collect::<Vec<_>>());
            let mut text = executable.describe();
            for (output, input) in executable.donations().iter().enumerate() {
                match input {
                    Some(input) => {
                        writeln!(text, "output {} takes the buffer of input {}", output + 1, input + 1)
                    }
                    None => writeln!(text, "output {} takes no input's buffer", output + 1),
                }
                .expect("a text");
            }
            text
        }
        "optimised" => optimise(graph).unwrap_or_else(|e| panic!("{e}\n{graph}")).to_string(),
        "gradient" => gradient(graph).to_string(),
        "stablehlo" => {
            export(graph, &[], &Options::default()).unwrap_or_else(|e| panic!("{e}\n{graph}")).text
        }
        other => panic!("no section is called {other:?}"),
    }
}

/// The ops of each step, without sizes and bytes.
fn steps(lines: &[Line]) -> String {
    let what = |line: &Line| match line.kind.as_str() {
        "group" => format!("group: {}", line.ops.join(", ")),
        kind => kind.to_string(),
    };
    let indent = |line: &Line| "  ".repeat(line.path.matches('.').count());
    lines.iter().map(|line| format!("{}{}. {}\n", indent(line), line.path, what(line))).collect()
}

/// The gradients of all inputs that have some. More inputs than the program's are those of its outputs.
fn gradient(graph: &Graph) -> Graph {
    let mut b = Builder::default();
    let inputs: Vec<Value> = graph.inputs().iter().map(|&v| b.input(graph.aval(v).clone())).collect();
    let has = |v: &Value| is_differentiable(graph.aval(*v).dtype);
    let wrt: Vec<usize> = (0..inputs.len()).filter(|&i| has(&graph.inputs()[i])).collect();
    let seeds: Vec<Option<Value>> =
        graph.outputs().iter().map(|v| has(v).then(|| b.input(graph.aval(*v).clone()))).collect();
    let tape = Tape::record(&mut b, graph, &inputs, &wrt).unwrap_or_else(|e| panic!("{e}\n{graph}"));
    let gradients = tape.pull(&mut b, &seeds, &wrt).unwrap_or_else(|e| panic!("{e}\n{graph}"));
    optimise(&b.finish(gradients)).unwrap_or_else(|e| panic!("{e}\n{graph}"))
}

/// Holds a program to the reference, with every input donated and with none.
fn agrees(graph: &Graph, name: &str, row: &Row) {
    let all: Vec<usize> = (0..graph.inputs().len()).collect();
    // Those that branch several times.
    let draws = if graph.nodes().iter().any(|node| node.op.has_regions()) { 4 } else { 1 };
    for draw in 0..draws {
        let mut rng = Rng::new(draw + 1);
        let mut random = |values: &[Value]| -> Vec<AlignedBytes> {
            values.iter().map(|&v| random_tensor(&mut rng, graph.aval(v))).collect()
        };
        let (inputs, constants) = (random(graph.inputs()), random(graph.constants()));
        for donated in [&all[..], &[]] {
            if let Some(what) = disagreement(graph, &inputs, &constants, donated) {
                let plan = Executable::compile(graph, donated).map(|executable| executable.describe());
                panic!("{name}, {row:?}: {what}\n{graph}\n{}", plan.unwrap_or_else(|e| e.to_string()));
            }
        }
    }
}
