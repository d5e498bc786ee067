//! Files, functions, types and members that ARCHITECTURE.md and CONTRIBUTING.md name exist.
//!
//! A name is what stands between backquotes. A path is one from the root, or within the engine or its tests;
//! a function ends with `()`; a type begins with a capital letter. Anything else, such as a command, is not
//! looked at.

use super::{check, root, sources};
use std::collections::BTreeSet;
use std::fs;

/// The papers. A source package does without them.
const PAPERS: &[&str] = &["ARCHITECTURE.md", "CONTRIBUTING.md"];

/// Folders that paths may begin in.
const STARTS: &[&str] = &["", "src/rust/core/src/", "src/rust/kernels/src/", "src/rust/core/tests/"];

/// The texts between backquotes in a line.
fn names(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The names that a name is made of, if it is that of a type or of a function, and whether it is a
/// function's.
fn segments(name: &str) -> Option<(Vec<&str>, bool)> {
    let (path, function) = name.strip_suffix("()").map_or((name, false), |path| (path, true));
    let segments: Vec<&str> = path.split("::").collect();
    let capital = path.starts_with(|c: char| c.is_uppercase());
    ((function || capital) && segments.iter().all(|segment| is_name(segment))).then_some((segments, function))
}

#[test]
fn names_are_taken_apart() {
    assert_eq!(names("a `b` c `d e`, `f`").collect::<Vec<_>>(), ["b", "d e", "f"]);
    assert_eq!(segments("A::b()"), Some((vec!["A", "b"], true)));
    assert_eq!(segments("A"), Some((vec!["A"], false)));
    assert_eq!(
        [segments("b"), segments("make x"), segments("A = 1"), segments("f(x)")],
        [None, None, None, None]
    );
}

#[test]
fn papers_name_what_is_there() {
    let texts: Vec<String> = sources().into_iter().map(|source| source.text).collect();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let words: BTreeSet<&str> = texts.iter().flat_map(|text| text.split(|c| !is_word(c))).collect();
    let defines = |name: &str| {
        let rust = [format!("fn {name}("), format!("fn {name}<")];
        let r = format!("{name} <- function(");
        texts.iter().any(|text| rust.iter().any(|f| text.contains(f.as_str())) || text.contains(&r))
    };
    let (mut findings, mut known) = (Vec::new(), BTreeSet::new());
    for paper in PAPERS {
        let Ok(text) = fs::read_to_string(root().join(paper)) else { continue };
        let mut in_code = false;
        for (number, line) in text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                in_code = !in_code;
                continue;
            }
            for name in names(line).filter(|_| !in_code) {
                let path = name.ends_with('/') || name.rsplit_once('.').is_some_and(|(_, end)| is_name(end));
                let plain = name.chars().all(|c| is_word(c) || "/.-".contains(c));
                let there = if path && plain && !name.starts_with('.') {
                    STARTS.iter().any(|start| root().join(start).join(name).exists())
                } else if let Some((segments, function)) = segments(name) {
                    let last = segments[segments.len() - 1];
                    segments.iter().all(|segment| words.contains(segment)) && (!function || defines(last))
                } else {
                    continue;
                };
                known.insert(name.to_string());
                if !there {
                    findings.push(format!("{paper}:{}: there is no `{name}`", number + 1));
                }
            }
        }
        assert!(known.len() > 50, "{paper} names little: {known:?}");
    }
    check(findings);
}
