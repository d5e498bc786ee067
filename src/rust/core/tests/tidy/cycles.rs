//! No two files of the engine import one another, directly or indirectly: each can be read, and moved, with
//! only those below it.
//!
//! The imports of a file are its paths outside of tests: `use` lines, `crate::`, `super::` and paths that
//! begin with a module that the file declares. Re-exports (`pub use`) are followed to their origin; a
//! declaration of a module (`mod`) is no import.

use super::{check, code, core_sources, within};
use std::collections::{BTreeMap, BTreeSet};

/// Files that do: the start of their paths, and why.
const CYCLES: &[(&str, &str)] = &[
    ("error.rs dtype/ shape.rs", "messages name dtypes and shapes, and these report errors"),
    ("ops/", "an op holds its payload, and payloads have rules that make graphs of ops"),
    ("passes/", "a region is a graph: what simplifies the one calls what simplifies the other"),
    ("autodiff/", "a region is a graph: what derives the one calls what derives the other"),
    ("batch/", "a region is a graph: what batches the one calls what batches the other"),
    ("hlo/", "a region is a graph: what writes the one calls what writes the other"),
];

type Module = Vec<String>;

struct File {
    name: String,
    /// Paths that it uses.
    uses: Vec<String>,
    /// Names that it gives on, with where they are from.
    gives: BTreeMap<String, String>,
}

/// The paths of a tree: `a::b` and `a::c` of `a::{b, c}`; `a` of `a::{self}`.
fn expand(tree: &str) -> Vec<String> {
    let Some((before, rest)) = tree.split_once('{') else {
        return vec![tree.split(" as ").next().unwrap_or("").trim().to_string()];
    };
    let (body, mut depth, mut start, mut out) = (rest.trim_end().trim_end_matches('}'), 0, 0, vec![]);
    let mut parts = vec![];
    for (i, c) in body.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&body[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&body[start..]);
    for path in parts.into_iter().filter(|part| !part.trim().is_empty()).flat_map(expand) {
        let before = before.trim();
        out.push(if path == "self" {
            before.trim_end_matches(':').into()
        } else {
            format!("{before}{path}")
        });
    }
    out
}

/// The path that begins there.
fn path(text: &str) -> String {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').unwrap_or(text.len());
    text[..end].trim_end_matches(':').to_string()
}

/// Positions where a word begins that is followed by `::`.
fn starts<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = usize> + 't {
    let alone = |at: &usize| {
        let before = text[..*at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || ['_', ':', '$'].contains(&c))
            && text[at + word.len()..].starts_with("::")
    };
    text.match_indices(word).map(|(at, _)| at).filter(alone)
}

fn file(name: &str, text: &str) -> File {
    let text = code(text);
    let text = text.split("mod tests {").next().unwrap_or("");
    let (mut uses, mut gives, mut rest, mut tail) = (vec![], BTreeMap::new(), String::new(), text);
    while let Some(at) = tail.find("use ") {
        let line = tail[..at].rsplit('\n').next().unwrap_or("").trim().to_string();
        let Some(end) = tail[at..].find(';').filter(|_| line.is_empty() || line.starts_with("pub")) else {
            rest += &tail[..at + 4];
            tail = &tail[at + 4..];
            continue;
        };
        for path in expand(&tail[at + 4..at + end].replace('\n', " ")) {
            if line.starts_with("pub") {
                gives.insert(path.rsplit("::").next().unwrap_or("").to_string(), path);
            } else {
                uses.push(path);
            }
        }
        rest += &tail[..at];
        tail = &tail[at + end + 1..];
    }
    rest += tail;
    for word in ["crate", "super"] {
        uses.extend(starts(&rest, word).map(|at| path(&rest[at..])));
    }
    let declared = rest.split("mod ").skip(1).filter_map(|after| after.split_once(';'));
    for module in
        declared.map(|(module, _)| module).filter(|m| m.chars().all(|c| c.is_alphanumeric() || c == '_'))
    {
        uses.extend(starts(&rest, module).map(|at| path(&rest[at..])));
    }
    File { name: name.to_string(), uses, gives }
}

/// The file that has what a path names, as seen from a module.
fn find(files: &BTreeMap<Module, File>, from: &Module, path: &str, depth: usize) -> Option<Module> {
    let mut names = path.split("::").peekable();
    let child = |module: &Module, name: &str| {
        let module: Module = module.iter().cloned().chain([name.to_string()]).collect();
        files.contains_key(&module).then_some(module)
    };
    let mut at = match *names.peek()? {
        "crate" => names.next().map(|_| vec![])?,
        "super" => {
            names.next();
            let above = from[..from.len().saturating_sub(1)].to_vec();
            // In a module within the file, `super` is the file.
            let within = names
                .peek()
                .is_some_and(|&n| n == "*" || child(&above, n).is_none() && child(from, n).is_some());
            if within {
                from.clone()
            } else {
                above
            }
        }
        name => child(from, name).map(|_| from.clone())?,
    };
    for name in names {
        match child(&at, name) {
            Some(module) => at = module,
            None => {
                let given = files[&at].gives.get(name).filter(|_| depth > 0);
                return given.and_then(|path| find(files, &at, path, depth - 1)).or(Some(at));
            }
        }
    }
    Some(at)
}

#[test]
fn no_files_import_one_another() {
    let mut files = BTreeMap::new();
    for (_, source) in core_sources() {
        let name = within(&source.name).expect("a file of the engine");
        let mut module: Module = name.trim_end_matches(".rs").split('/').map(str::to_string).collect();
        if module.last().is_some_and(|last| last == "mod" || last == "lib") {
            module.pop();
        }
        files.insert(module, file(name, &source.text));
    }
    let imports = |module: &Module| -> BTreeSet<Module> {
        let found = files[module].uses.iter().filter_map(|path| find(&files, module, path, 5));
        found.filter(|other| other != module && !other.is_empty()).collect()
    };
    let graph: BTreeMap<&Module, BTreeSet<Module>> = files.keys().map(|m| (m, imports(m))).collect();
    assert!(graph.values().map(BTreeSet::len).sum::<usize>() > files.len(), "imports were not found");
    let reached = |from: &Module| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(module) = next.pop() {
            for other in &graph[&module] {
                if seen.insert(other.clone()) {
                    next.push(other.clone());
                }
            }
        }
        seen
    };
    let all: BTreeMap<&Module, BTreeSet<Module>> = files.keys().map(|m| (m, reached(m))).collect();
    let (mut findings, mut excused) = (vec![], BTreeSet::new());
    for module in all.keys() {
        for other in graph[module].iter().filter(|other| all[other].contains(*module)) {
            let (a, b) = (&files[*module].name, &files[other].name);
            let among = |starts: &str, name: &str| starts.split(' ').any(|start| name.starts_with(start));
            match CYCLES.iter().position(|(starts, _)| among(starts, a) && among(starts, b)) {
                Some(i) => drop(excused.insert(i)),
                None => findings.push(format!("{a} imports {b}, which imports it, by way of others or not")),
            }
        }
    }
    for (i, (starts, _)) in CYCLES.iter().enumerate().filter(|(i, _)| !excused.contains(i)) {
        findings.push(format!("exception {}: no cycle in `{starts}`; strike it out", i + 1));
    }
    check(findings);
}

#[test]
fn paths_of_a_file_are_found() {
    assert_eq!(expand("a::{b, c::{self, d as e}}"), ["a::b", "a::c", "a::c::d"]);
    let text = "pub use x::Y;\nuse super::a::{B, C};\nmod x;\nfn f() { crate::d::e(x::g()); $crate::h::i() }";
    let File { uses, gives, .. } = file("f.rs", text);
    assert_eq!(uses, ["super::a::B", "super::a::C", "crate::d::e", "x::g"]);
    assert_eq!(gives["Y"], "x::Y");
}
