//! Functions of single elements in `anvil-kernels` are `#[inline]`: loops of `anvil-core` call them for each
//! element, and the compiler inlines a function of another crate only if it is generic, marked so, or so
//! small that it calls no other.

use super::{check, code, core_sources};

/// The file whose functions are all for elements, however long they are.
const OF_ELEMENTS: &str = "src/rust/kernels/src/dtype/element.rs";

/// Lines of the body of a function of numbers that is to be inlined, at most.
const MAX_INLINED: usize = 3;

/// Types of numbers, in macros too; and what they are combined by.
const NUMBERS: &[&str] = &[
    "self", "Self", "bool", "Bool", "i8", "i16", "i32", "i64", "i128", "u8", "u16", "u32", "u64", "u128",
    "f32", "f64", "bf16", "f16", "Complex", "C", "Option", "$type", "$part",
];

/// A function that has a body, as code without comments shows it.
struct Function<'a> {
    line: usize,
    name: &'a str,
    /// From the name on.
    signature: &'a str,
    /// Lines of the body.
    lines: usize,
    is_inline: bool,
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// The text before a character that stands in no parentheses, and the character.
fn until<'a>(text: &'a str, ends: &[char]) -> Option<(&'a str, char)> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            c if depth == 0 && ends.contains(&c) => return Some((&text[..at], c)),
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn functions(code: &str) -> Vec<Function<'_>> {
    let mut out = vec![];
    for (at, _) in code.match_indices("fn ") {
        let (before, rest) = (&code[..at], &code[at + "fn ".len()..]);
        let name = rest.split(|c| !is_word(c)).next().unwrap_or("");
        if name.is_empty() || before.ends_with(is_word) {
            continue;
        }
        let Some((signature, '{')) = until(rest, &['{', ';']) else { continue };
        // The argument of a macro that makes functions, whose attributes stand in the macro.
        if signature.contains(" = ") {
            continue;
        }
        let Some((body, _)) = until(&rest[signature.len() + 1..], &['}']) else { continue };
        // Attributes are on its line, or on lines above, where comments have left empty ones.
        let (above, own) = before.rsplit_once('\n').unwrap_or(("", before));
        let mut attributes =
            above.lines().rev().map(str::trim).take_while(|line| line.is_empty() || line.starts_with("#["));
        out.push(Function {
            line: before.matches('\n').count() + 1,
            name,
            signature,
            lines: body.lines().filter(|line| !line.trim().is_empty()).count(),
            is_inline: own.contains("#[inline") || attributes.any(|line| line.starts_with("#[inline")),
        });
    }
    out
}

/// Whether a function takes numbers by value, and gives some: its types, all that stands after a colon or
/// an arrow, are numbers.
fn is_of_numbers(Function { name, signature, .. }: &Function) -> bool {
    let Some((parameters, result)) =
        signature[name.len()..].strip_prefix('(').and_then(|rest| rest.rsplit_once(") -> "))
    else {
        return false;
    };
    let types =
        parameters.split(',').map(|parameter| parameter.rsplit(':').next().unwrap_or("")).chain([result]);
    let is_number = |x: &str| {
        let mut words = x.split(|c| !is_word(c)).filter(|word| !word.is_empty() && *word != "mut");
        !x.contains(['&', '*', '[']) && words.all(|word| NUMBERS.contains(&word))
    };
    !parameters.is_empty() && types.into_iter().all(is_number)
}

#[test]
fn functions_are_taken_apart() {
    let code =
        "#[inline]\n\nfn a(x: f32) -> f32 {\n  x\n}\nfn b<T>(x: T) -> T { x }\nfn c(self, y: [u8; 4]);\n\
                $(fn $d(self, y: Complex<f32>) -> $type {\n { y }\n z\n})+ fn e(x: &f32) -> f32 { *x }";
    let found = functions(code);
    let shown = |f: &Function| (f.line, f.name.to_string(), f.lines, f.is_inline, is_of_numbers(f));
    let of = |line, name: &str, lines, inline, numbers| (line, name.to_string(), lines, inline, numbers);
    assert_eq!(
        found.iter().map(shown).collect::<Vec<_>>(),
        [
            of(3, "a", 1, true, true),
            of(6, "b", 1, false, false),
            of(8, "$d", 2, false, true),
            of(11, "e", 1, false, false)
        ]
    );
}

#[test]
fn functions_of_elements_are_inlined_in_other_crates() {
    let (mut findings, mut seen) = (vec![], 0);
    for (_, source) in core_sources() {
        if !source.name.starts_with("src/rust/kernels/src/") || source.name.ends_with("/tests.rs") {
            continue;
        }
        let text = code(&source.text);
        let outside_tests = text.split("mod tests {").next().unwrap_or("");
        let all = functions(outside_tests);
        let of_elements =
            |f: &&Function| source.name == OF_ELEMENTS || f.lines <= MAX_INLINED && is_of_numbers(f);
        for function in all.iter().filter(of_elements) {
            seen += 1;
            if !function.is_inline {
                findings
                    .push(format!("{}:{}: `{}` is not inline", source.name, function.line, function.name));
            }
        }
    }
    assert!(seen > 50, "functions of elements were not found: {seen}");
    check(findings);
}
