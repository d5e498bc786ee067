//! Rules about the source tree: layers, sizes of files, headers, confinement of `unsafe`, banned words.

#[path = "tidy/cycles.rs"]
mod cycles;
#[path = "tidy/inline.rs"]
mod inline;
#[path = "tidy/papers.rs"]
mod papers;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The sources of the crates of the engine, from the bottom up.
const CRATES: &[&str] = &["src/rust/kernels/src/", "src/rust/core/src/"];

/// Modules from the bottom up, as in the tables of the crates' documentation: each knows only those before it.
const LAYERS: &[&str] = &[
    "error", "growth", "stop", "raised", "dtype", "shape", "tensor", "kernels", "format", "boundary",
    "exec::vm", "graph", "ops", "autodiff", "batch", "passes", "hlo", "exec", "apply",
];

/// Exceptions: modules that know a module above them: who, whom, why.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("error", "dtype", "messages name dtypes, and dtypes report errors: one of the two has to look up"),
    ("error", "shape", "messages name shapes and axes, and shapes report errors"),
];

/// More lines than this are two files.
const MAX_LINES: usize = 600;

/// Folders with sources, from the root of the repository.
const FOLDERS: &[&str] = &["src", "R", "tests", "tools", "bench", "inst", ".ci"];

/// Folders of crates, in that of Rust.
const MANIFESTS: [&str; 4] = ["", "src/", "core/", "kernels/"];

/// Endings of sources.
const SOURCES: &[&str] = &["rs", "R", "c", "h", "sh", "py"];

// ---- what is read --------------------------------------------------------------------------------------------------

struct Source {
    /// Path from the root of the repository, with `/`.
    name: String,
    text: String,
}

impl Source {
    fn ends_with(&self, ending: &str) -> bool {
        self.name.rsplit_once('.').is_some_and(|(_, e)| e == ending)
    }

    /// Lines with their numbers, from 1.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(i, line)| (i + 1, line))
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn collect(dir: &Path, name: &str, out: &mut Vec<Source>) {
    // Not every folder is in every copy of the tree; a built package leaves some out.
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries {
        let entry = entry.expect("a readable folder");
        let file = entry.file_name().into_string().expect("file names are plain text");
        let (path, name) = (entry.path(), format!("{name}/{file}"));
        if path.is_dir() {
            // Build products and vendored crates.
            if !["target", "vendor", ".cargo"].contains(&file.as_str()) {
                collect(&path, &name, out);
            }
        } else if path.extension().is_some_and(|e| SOURCES.iter().any(|s| e == *s)) {
            let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
            out.push(Source { name, text });
        }
    }
}

fn sources() -> Vec<Source> {
    let mut out = Vec::new();
    for folder in FOLDERS {
        collect(&root().join(folder), folder, &mut out);
    }
    out.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(out.len() > 30, "the sources were not found: {} files", out.len());
    out
}

/// Sources of the engine, with the module that each belongs to.
fn core_sources() -> Vec<(String, Source)> {
    let module = |s: Source| {
        let path = within(&s.name)?.trim_end_matches(".rs").replace('/', "::");
        let module = layer_of(&path).unwrap_or(&path).to_string();
        Some((module, s))
    };
    sources().into_iter().filter_map(module).collect()
}

/// The path of a file of the engine within its crate.
fn within(name: &str) -> Option<&str> {
    CRATES.iter().find_map(|sources| name.strip_prefix(sources))
}

/// The layer that a path within a crate belongs to: the longest that it begins with.
fn layer_of(path: &str) -> Option<&'static str> {
    let begins =
        |layer: &&&str| path.strip_prefix(**layer).is_some_and(|r| r.is_empty() || r.starts_with("::"));
    LAYERS.iter().filter(begins).max_by_key(|layer| layer.len()).copied()
}

/// Code without comments, and with the content of strings removed, line by line.
fn code(text: &str) -> String {
    let (mut out, mut chars) = (String::new(), text.chars().peekable());
    while let Some(c) = chars.next() {
        match c {
            '/' if chars.peek() == Some(&'/') => {
                while chars.peek().is_some_and(|&c| c != '\n') {
                    chars.next();
                }
            }
            '"' => {
                out.push('"');
                while let Some(c) = chars.next() {
                    match c {
                        '\\' => drop(chars.next()),
                        '"' => break,
                        '\n' => out.push('\n'),
                        _ => {}
                    }
                }
                out.push('"');
            }
            // A character such as '"' or '\''; a lifetime has no second quote.
            '\'' => {
                let rest: String = chars.clone().take(3).collect();
                let len = match rest.as_bytes() {
                    [b'\\', _, b'\''] => 3,
                    _ if rest.chars().nth(1) == Some('\'') => 2,
                    _ => 0,
                };
                chars.by_ref().take(len).for_each(drop);
                out.push('\'');
            }
            c => out.push(c),
        }
    }
    out
}

/// The paths that start at `crate::`: `a::b` of `a::b`, `a` and `d` of `{a::{b, c}, d}`.
fn paths(path: &str) -> Vec<String> {
    let name = |s: &str| {
        let path = s.trim().chars().take_while(|c| c.is_alphanumeric() || ['_', ':'].contains(c));
        path.collect::<String>().trim_end_matches(':').to_string()
    };
    let Some(body) = path.trim_start().strip_prefix('{') else { return vec![name(path)] };
    let (mut depth, mut start, mut out) = (0, 0, Vec::new());
    for (i, c) in body.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                out.push(name(&body[start..i]));
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                out.push(name(&body[start..i]));
                start = i + 1;
            }
            _ => {}
        }
    }
    out.retain(|s| !s.is_empty());
    out
}

/// Fails with all findings at once.
fn check(findings: Vec<String>) {
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}

// ---- the rules -----------------------------------------------------------------------------------------------------

#[test]
fn paths_are_taken_apart() {
    assert_eq!(paths("a::b;"), ["a::b"]);
    assert_eq!(paths("{a::{b, c}, d, e::f}; x"), ["a", "d", "e::f"]);
    assert_eq!(paths("{\n    a,\n    b::*,\n}"), ["a", "b"]);
    assert_eq!(
        [layer_of("exec::vm::Code"), layer_of("exec::plan"), layer_of("kern")],
        [Some("exec::vm"), Some("exec"), None]
    );
    assert_eq!(code("a // b \"c\nd(\"// \\\" e\") '\"' f<'a>"), "a \nd(\"\") ' f<'a>");
}

#[test]
fn layers_are_those_of_the_crate_documentation() {
    let name = |line: &str| line.strip_prefix("//! | [`")?.split('`').next().map(str::to_string);
    let mut layers = Vec::new();
    for sources in CRATES {
        let lib = fs::read_to_string(root().join(sources).join("lib.rs")).expect("lib.rs");
        let listed: Vec<String> = lib.lines().filter_map(name).collect();
        let declared: BTreeSet<&str> =
            lib.lines().filter_map(|l| l.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
        // A room of a module may be a layer of its own.
        let modules = listed.iter().map(String::as_str).filter(|layer| !layer.contains("::"));
        assert_eq!(declared, modules.collect(), "{sources}");
        layers.extend(listed);
    }
    assert_eq!(layers, LAYERS);
}

#[test]
fn modules_know_only_those_below() {
    let layer = |m: &str| LAYERS.iter().position(|l| *l == m);
    let (mut findings, mut excused) = (Vec::new(), BTreeSet::new());
    for (module, source) in core_sources().iter().filter(|(m, _)| m != "lib") {
        let text = code(&source.text);
        let Some(own) = layer(module) else {
            findings.push(format!("{}: module `{module}` is in no layer", source.name));
            continue;
        };
        // `$crate` in a macro names what the macro's user gets, by its full path.
        for (at, _) in text.match_indices("crate::").filter(|(at, _)| !text[..*at].ends_with('$')) {
            for used in paths(&text[at + "crate::".len()..]) {
                let Some(used) = layer_of(&used) else {
                    findings.push(format!("{}: `crate::{used}` is in no layer", source.name));
                    continue;
                };
                match layer(used) {
                    Some(other) if other > own => {
                        match EXCEPTIONS.iter().position(|(who, whom, _)| *who == module && *whom == used) {
                            Some(i) => drop(excused.insert(i)),
                            None => findings.push(format!(
                                "{}: `{module}` knows `{used}`, which is above it",
                                source.name
                            )),
                        }
                    }
                    _ => {}
                }
            }
        }
        // Other routes out of a module would escape the rule above.
        if text.contains("super::super::") {
            findings.push(format!("{}: name a path from `crate::` instead of `super::super::`", source.name));
        }
        let outside_tests = text.split("mod tests {").next().unwrap_or("");
        let path = module.replace("::", "/");
        let file = within(&source.name).expect("a file of the engine");
        let is_root = file == format!("{path}.rs") || file == format!("{path}/mod.rs");
        if is_root && outside_tests.contains("super::") {
            findings.push(format!("{}: name a path from `crate::` instead of `super::`", source.name));
        }
    }
    for (i, (who, whom, _)) in EXCEPTIONS.iter().enumerate().filter(|(i, _)| !excused.contains(i)) {
        findings.push(format!("exception {}: `{who}` does not know `{whom}`; strike it out", i + 1));
    }
    check(findings);
}

#[test]
fn the_engine_knows_nothing_of_r() {
    let named = |s: &Source| ["extendr", "libR_sys", "SEXP"].into_iter().find(|w| code(&s.text).contains(w));
    let finding = |(_, s): &(String, Source)| named(s).map(|word| format!("{}: names `{word}`", s.name));
    check(core_sources().iter().filter_map(finding).collect());
}

#[test]
fn files_are_short() {
    let long = |s: &Source| {
        let lines = s.text.lines().count();
        (lines > MAX_LINES).then(|| format!("{}: {lines} lines, at most {MAX_LINES}", s.name))
    };
    check(sources().iter().filter_map(long).collect());
}

#[test]
fn rust_files_begin_with_their_purpose() {
    let bare = |s: &&Source| s.ends_with("rs") && !s.text.starts_with("//! ");
    check(sources().iter().filter(bare).map(|s| format!("{}: the first line is no `//!`", s.name)).collect());
}

#[test]
fn unsafe_code_is_confined_and_justified() {
    let mut findings = Vec::new();
    for source in sources().iter().filter(|s| s.ends_with("rs")) {
        // Allocations cannot be counted without an allocator.
        let allowed = [
            "src/rust/kernels/src/kernels/",
            "src/rust/kernels/src/dtype/truncate.rs",
            "src/rust/core/src/exec/vm/",
            "src/rust/src/",
            "src/rust/core/tests/memory.rs",
            "src/rust/core/tests/allocations.rs",
        ]
        .iter()
        .any(|place| source.name.starts_with(place));
        let lines: Vec<&str> = source.text.lines().collect();
        let code = code(&source.text);
        for (number, line) in code.lines().enumerate() {
            let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            if !words.contains(&"unsafe") {
                continue;
            }
            let place = format!("{}:{}", source.name, number + 1);
            if !allowed {
                findings.push(format!(
                    "{place}: `unsafe` outside of `kernels/`, `dtype/truncate.rs`, `exec/vm/` and the R side"
                ));
            }
            // An `unsafe fn` states its contract in its documentation; what relies on one says why it holds.
            let line = line.replace("unsafe{", "unsafe {");
            let relies = line.contains("unsafe {")
                || line.contains("unsafe impl")
                || line.trim_end().ends_with("unsafe");
            let reason = lines[number.saturating_sub(3)..=number].iter().any(|l| l.contains("// SAFETY:"))
                || long_reason(&lines[..number]);
            if relies && !reason {
                findings.push(format!("{place}: no `// SAFETY:` within 3 lines above"));
            }
        }
    }
    check(findings);
}

/// Whether the lines end with a comment that began with `// SAFETY:`, however long it is.
fn long_reason(lines: &[&str]) -> bool {
    let comment = lines.iter().rev().take_while(|l| l.trim_start().starts_with("//"));
    comment.into_iter().any(|l| l.trim_start().starts_with("// SAFETY:"))
}

#[test]
fn words_that_promise_instead_of_do() {
    // Written in two parts, so that this file does not find itself.
    let (sync, later) = (concat!("keep in ", "sync"), ["TO", "DO"].concat());
    let mut findings = Vec::new();
    for source in sources() {
        for (number, line) in source.lines() {
            let place = format!("{}:{number}", source.name);
            if line.to_lowercase().contains(sync) {
                findings.push(format!("{place}: \"{sync}\": write the test instead"));
            }
            let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '#');
            let numbered = line.split('#').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
            if words.any(|w| w == later || w == concat!("FIX", "ME")) && !numbered {
                findings.push(format!("{place}: {later} without the number of an issue"));
            }
        }
    }
    check(findings);
}

/// Folders in which members of `Op` may be named; elsewhere the contract is asked.
const NAMES_OPS: &[(&str, &str)] = &[
    ("hlo/", "which ops formulas are made of"),
    ("exec/vm/native/", "it has an enum `Op` of its own, of instructions"),
    ("apply/", "what each call makes"),
];

/// Places where a member of the enum `Op` is named, not of one in another module (`native::Op`).
fn members(code: &str) -> impl Iterator<Item = usize> + '_ {
    code.match_indices("Op::").map(|(at, _)| at).filter(|&at| {
        let before = code[..at].chars().next_back().unwrap_or(' ');
        let after = code[at + "Op::".len()..].chars().next().unwrap_or(' ');
        !(before.is_alphanumeric() || before == '_' || before == ':') && after.is_uppercase()
    })
}

/// The patterns of each `match` in code without comments and strings, with the place where it begins.
fn matches(code: &str) -> Vec<(usize, Vec<String>)> {
    let mut out = Vec::new();
    for (at, _) in code.match_indices("match ") {
        if code[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_') {
            continue;
        }
        // The body is the first block that is in no parentheses.
        let (mut depth, mut body) = (0, None);
        for (i, c) in code[at..].char_indices() {
            match c {
                '(' | '[' => depth += 1,
                ')' | ']' => depth -= 1,
                '{' if depth == 0 => {
                    body = Some(at + i + 1);
                    break;
                }
                _ => {}
            }
        }
        let Some(body) = body else { continue };
        let (mut depth, mut start, mut pattern, mut patterns) = (0, body, true, Vec::new());
        let text: Vec<(usize, char)> = code[body..].char_indices().map(|(i, c)| (body + i, c)).collect();
        for (n, &(i, c)) in text.iter().enumerate() {
            match c {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' => depth -= 1,
                '}' if depth == 0 => break,
                '}' => {
                    depth -= 1;
                    // An arm that is a block ends without a comma.
                    if depth == 0 && !pattern {
                        (pattern, start) = (true, i + 1);
                    }
                }
                // No pattern has one that is in no parentheses.
                ',' if depth == 0 => (pattern, start) = (true, i + 1),
                '=' if depth == 0 && pattern && text.get(n + 1).is_some_and(|(_, c)| *c == '>') => {
                    patterns.push(code[start..i].trim().to_string());
                    pattern = false;
                }
                _ => {}
            }
        }
        out.push((at, patterns));
    }
    out
}

#[test]
fn matches_are_taken_apart() {
    let code = "match f(|x| { x }) { A(x) | B { .. } => { x } C => match x { _ => 1 }, _ if y => 2, }";
    let of = |patterns: &[&str]| patterns.iter().map(|p| p.to_string()).collect::<Vec<_>>();
    let found: Vec<Vec<String>> = matches(code).into_iter().map(|(_, patterns)| patterns).collect();
    assert_eq!(found, [of(&["A(x) | B { .. }", "C", "_ if y"]), of(&["_"])]);
    assert_eq!(members("Op::A native::Op::B Op::from MyOp::C (Op::D").collect::<Vec<_>>(), [0, 38]);
}

#[test]
fn ops_are_asked_and_not_listed() {
    let (mut findings, mut used) = (Vec::new(), BTreeSet::new());
    for (_, source) in core_sources() {
        let file = within(&source.name).expect("a file of the engine");
        let code = code(&source.text);
        let line = |at: usize| format!("{}:{}", source.name, code[..at].matches('\n').count() + 1);
        let outside_tests = code.split("mod tests {").next().unwrap_or("");
        if file.ends_with("/tests.rs") {
            continue;
        }
        let allowed = NAMES_OPS.iter().position(|(start, _)| file.starts_with(start));
        for at in members(outside_tests) {
            match allowed {
                Some(i) => drop(used.insert(i)),
                None => findings.push(format!("{}: a member of `Op` is named; ask the op", line(at))),
            }
        }
        // What is no op of a family would be forgotten in silence when another row comes.
        for (at, patterns) in matches(outside_tests) {
            let family = ["Unary::", "Binary::", "Compare::", "Predicate::", "Part::", "Ternary::"];
            let rows = patterns.iter().any(|p| family.iter().any(|f| p.starts_with(f)));
            if file.starts_with("ops/") && rows && patterns.iter().any(|p| p == "_") {
                findings.push(format!("{}: a `_ =>` over rows of ops", line(at)));
            }
        }
    }
    for (i, (start, _)) in NAMES_OPS.iter().enumerate().filter(|(i, _)| !used.contains(i)) {
        findings.push(format!("exception {}: nothing in `{start}`; strike it out", i + 1));
    }
    check(findings);
}

/// Functions of floats that the standard library takes from the system, which has other bits elsewhere:
/// `libm` has them too.
const FROM_THE_SYSTEM: &[&str] = &[
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "exp", "exp2",
    "exp_m1", "hypot", "ln", "ln_1p", "log", "log10", "log2", "mul_add", "powf", "sin", "sin_cos", "sinh",
    "tan", "tanh",
];

/// Files in which methods of these names are our own, by the start of the file's name.
const OTHER_METHODS: &[(&str, &str)] = &[
    (
        "kernels/math/",
        "of `Lanes`, and of sums of two doubles in `special/`; `portable` asks for an instruction before it fuses a scalar",
    ),
    ("hlo/formulas/", "of formulas, which become nodes of a graph"),
    ("ops/unary.rs", "of formulas for slopes"),
    ("ops/binary.rs", "of formulas for slopes"),
    ("ops/special_rows.rs", "of formulas for slopes"),
];

/// Files beside those of `Lanes` whose methods are those of numbers.
const OF_NUMBERS: &[&str] = &["kernels/math/complex.rs", "kernels/math/scalar.rs", "kernels/math/special.rs"];

#[test]
fn no_function_of_floats_is_the_system_s() {
    let (mut findings, mut used) = (Vec::new(), BTreeSet::new());
    for (_, source) in core_sources() {
        let file = within(&source.name).expect("a file of the engine");
        let text = code(&source.text);
        let outside_tests = text.split("mod tests {").next().unwrap_or("");
        if file.ends_with("/tests.rs") {
            continue;
        }
        let of_numbers = OF_NUMBERS.contains(&file);
        let excused = OTHER_METHODS.iter().position(|(start, _)| file.starts_with(start) && !of_numbers);
        for (number, line) in outside_tests.lines().enumerate() {
            for name in FROM_THE_SYSTEM {
                let place = format!("{}:{}: `{name}`", source.name, number + 1);
                // As a path it is that of the type.
                if ["f32", "f64"].iter().any(|float| is_path(line, &format!("{float}::{name}"))) {
                    findings.push(place);
                } else if line.contains(&format!(".{name}(")) {
                    match excused {
                        Some(i) => drop(used.insert(i)),
                        None => findings.push(place),
                    }
                }
            }
        }
    }
    for (i, (start, _)) in OTHER_METHODS.iter().enumerate().filter(|(i, _)| !used.contains(i)) {
        findings.push(format!("exception {}: nothing in `{start}`; strike it out", i + 1));
    }
    check(findings);
}

/// Whether a path stands in a line as it is, and not as the start of a longer one.
fn is_path(line: &str, path: &str) -> bool {
    line.match_indices(path)
        .any(|(at, _)| !line[at + path.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

#[test]
fn nothing_is_printed() {
    let mut findings = Vec::new();
    for source in sources()
        .iter()
        .filter(|s| s.ends_with("rs") && s.name.starts_with("src/rust/") && s.name.contains("/src/"))
    {
        for (number, line) in code(&source.text).lines().enumerate() {
            for word in ["println!", "print!", "dbg!", "todo!", "unimplemented!"] {
                if line.contains(word) {
                    findings.push(format!("{}:{}: {word}", source.name, number + 1));
                }
            }
        }
    }
    check(findings);
}

/// What stands in a file of the repository between two pieces of text.
fn between(name: &str, before: &str, after: &str) -> String {
    let text = read(name);
    let rest = text.split_once(before).unwrap_or_else(|| panic!("{name}: no {before:?}")).1;
    rest.split_once(after).unwrap_or_else(|| panic!("{name}: no {after:?}")).0.to_string()
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn the_version_is_the_same_everywhere() {
    let version = between("DESCRIPTION", "\nVersion: ", "\n");
    for crate_ in MANIFESTS.map(|folder| format!("src/rust/{folder}Cargo.toml")) {
        assert_eq!(between(&crate_, "\nversion = \"", "\""), version, "{crate_}");
    }
    for paper in ["README.md", "vignettes/anvil.Rmd", "vignettes/installation.Rmd"] {
        let text = read(paper);
        let tarballs = text.split("anvil_").filter_map(|rest| rest.split_once(".tar.gz"));
        let named: Vec<&str> =
            tarballs.map(|(named, _)| named).filter(|named| !named.contains(' ')).collect();
        assert!(!named.is_empty() && named.iter().all(|&named| named == version), "{paper}: {named:?}");
    }
    assert_eq!(between("README.md", "The version is ", ", "), version, "README.md");
    assert!(
        read("NEWS.md").starts_with(&format!("# anvil {version}\n")),
        "NEWS.md begins with another version"
    );
}

#[test]
fn the_oldest_compiler_is_the_same_everywhere() {
    let oldest = between("DESCRIPTION", "rustc (>= ", ")");
    for crate_ in MANIFESTS.map(|folder| format!("src/rust/{folder}Cargo.toml")) {
        assert_eq!(between(&crate_, "\nrust-version = \"", "\""), oldest, "{crate_}");
        // `make lint` refuses what is newer in the standard library.
        assert!(read(&crate_).contains("\nincompatible_msrv = \"deny\"\n"), "{crate_} without the lint");
    }
    assert_eq!(between("README.md", "cargo and rustc (", " or newer)"), oldest);
}

#[test]
fn no_folder_is_left_out_of_a_source_package() {
    // `R CMD build` leaves out folders whose names end so, wherever they are (tools::build, "Old" versions of
    // a folder).
    let left_out = |folder: &str| {
        folder.ends_with("old") || folder.ends_with("Old") || folder == "check" || folder == "chm"
    };
    for source in sources() {
        let folders = source.name.rsplit_once('/').map_or("", |(folders, _)| folders);
        assert!(!folders.split('/').any(left_out), "{} would be missing in a source package", source.name);
    }
}
