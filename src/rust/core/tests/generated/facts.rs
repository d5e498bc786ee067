//! What the help page of an op's function says of it, as the op states it itself: dtypes, accuracy, derivative.

use crate::formula::derivatives;
use crate::row_programs::Example;
use crate::Examples;
use anvil_core::dtype::{Class, DType, Kind};
use anvil_core::ops::{find, Binary, Linear, Op, Promotion, Role, Row, Special, Ternary, Unary, Vjp};
use anvil_core::tensor::Aval;
use std::collections::BTreeSet;

/// The lines of the section on the functions of these rows, which have one help page.
pub fn section(rows: &[&'static Row], examples: &Examples) -> Vec<String> {
    let mut lines = vec![" @section Properties:".to_string()];
    let facts: [(&str, fn(&'static Row, &[Example]) -> Option<String>); 3] =
        [("Dtypes", dtypes), ("Accuracy", accuracy), ("Derivative", derivative)];
    for (what, fact) in facts {
        let mut said: Vec<(String, Vec<String>)> = Vec::new();
        for row in rows {
            let examples = &examples[row.name];
            let Some(fact) = fact(row, examples) else { continue };
            let name = name(row, examples, rows);
            match said.iter_mut().find(|(other, _)| *other == fact) {
                Some((_, names)) => names.push(name),
                None => said.push((fact, vec![name])),
            }
        }
        match said.as_slice() {
            [] => (),
            [(fact, names)] if names.len() == rows.len() => lines.push(format!(" * {what}: {fact}")),
            several => {
                lines.push(format!(" * {what}:"));
                for (fact, names) in several {
                    lines.push(format!("     * {}: {fact}", listed(names, "and")));
                }
            }
        }
    }
    lines
}

/// What a row is called among those of its page.
fn name(row: &'static Row, examples: &[Example], page: &[&'static Row]) -> String {
    match page.iter().filter(|other| other.function == row.function).count() {
        1 => format!("`{}()`", row.function),
        _ if examples.iter().all(|x| x.op.get::<Special>().is_some()) => format!("`{}`", row.name),
        _ if examples.iter().all(|x| x.operands[0].dtype.is_complex()) => "Complex numbers".into(),
        _ => "Other numbers".into(),
    }
}

/// `a`, `b` and `c`.
fn listed(words: &[String], and: &str) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [some @ .., last] => format!("{} {and} {last}", some.join(", ")),
    }
}

// ---- dtypes --------------------------------------------------------------------------------------------------------

/// The dtypes of a class, kind by kind.
fn class(class: Class) -> String {
    let accepted: Vec<DType> = DType::ALL.iter().copied().filter(|&d| class.contains(d)).collect();
    match DType::ALL.len() - accepted.len() {
        0 => return "any dtype".into(),
        2 if !class.contains(DType::C64) => return "any dtype but complex numbers".into(),
        _ => (),
    }
    let names = |kind: Kind| -> Vec<String> {
        accepted.iter().filter(|d| d.kind() == kind).map(|d| format!("`{d}`")).collect()
    };
    // All widths from the first to the last.
    let range = |kind: Kind| match names(kind).as_slice() {
        [first, .., last] => Some(format!("{first} to {last}")),
        _ => None,
    };
    let integers: Vec<String> = [range(Kind::Integer), range(Kind::Unsigned)].into_iter().flatten().collect();
    let whole = if integers.len() == 2 { "integers" } else { "signed integers" };
    let kinds = [
        ("booleans", names(Kind::Boolean)),
        (whole, integers),
        ("floats", names(Kind::Float)),
        ("complex numbers", names(Kind::Complex)),
    ];
    let kinds = kinds.into_iter().filter(|(_, dtypes)| !dtypes.is_empty());
    listed(&kinds.map(|(kind, dtypes)| format!("{kind} ({})", dtypes.join(", "))).collect::<Vec<_>>(), "and")
}

fn dtypes(row: &'static Row, examples: &[Example]) -> Option<String> {
    let promotion = find(row.name).expect("a row of the catalogue").promotion;
    let accepts = class(row.accepts);
    let named = |i: usize| format!("`{}`", row.operands[i]);
    // Operands that are not of the dtypes which the row accepts.
    let (mut others, mut said) = (Vec::new(), Vec::new());
    for i in 0..row.operands.len() {
        let role = match promotion {
            Promotion::Each(roles) => roles.get(i).or(roles.last()).copied(),
            _ => None,
        };
        match (role, &examples[0].op) {
            (Some(Role::Position), _) => said.push(format!("{}: integers", named(i))),
            (Some(Role::Assigned), _) => {
                said.push(format!("{} is converted to the dtype of {}", named(i), named(0)))
            }
            (_, Op::If(_)) => said.push(format!("{}: booleans; values of the branches: any dtype", named(i))),
            (_, Op::Ternary(Ternary::Select)) if i == 0 => said.push(format!("{}: booleans", named(i))),
            (_, Op::RngBits(_)) => said.push(format!("{}: `ui64`; `dtype`: {accepts}", named(i))),
            _ => others.push(named(i)),
        }
    }
    if !others.is_empty() {
        let all = others.len() == row.operands.len();
        let named = listed(&others, "and");
        said.insert(0, if all { accepts } else { format!("{named}: {accepts}") });
    } else if row.operands.is_empty() && !examples[0].op.has_regions() {
        said.push(accepts);
    }
    let lifts = row.accepts.contains(DType::F32) && !row.accepts.contains(DType::I32);
    match promotion {
        Promotion::Join if lifts => {
            said.push("integers and booleans are promoted to an ambiguous `f32`".into())
        }
        Promotion::JoinCounted => said.push("booleans count as `i32`".into()),
        Promotion::Each([Role::Counted, ..]) => said.push("booleans count as `i32`".into()),
        Promotion::JoinAsComplex => {
            said.push("real numbers become complex ones, floats of 32 bits and more their parts".into())
        }
        Promotion::JoinOfParts => {
            said.push("16-bit floats, integers and booleans are promoted to `f32`".into())
        }
        Promotion::Follow(i) => {
            let rest: Vec<String> = (0..row.operands.len()).filter(|&j| j != i).map(named).collect();
            said.push(format!("{} are converted to the dtype of {}", listed(&rest, "and"), named(i)));
        }
        Promotion::Join | Promotion::JoinAfterCondition | Promotion::Each(_) => (),
    }
    (!said.is_empty()).then(|| sentence(&said.join("; ")))
}

// ---- accuracy ------------------------------------------------------------------------------------------------------

fn accuracy(row: &'static Row, examples: &[Example]) -> Option<String> {
    let has = |of: fn(DType) -> bool| examples.iter().any(|x| x.results.iter().any(|y| of(y.dtype)));
    if !has(DType::is_float) && !has(DType::is_complex) {
        return None;
    }
    let mut said = match row.ulps {
        0.0 if row.accuracy.is_empty() => "Results are exact.".to_string(),
        0.0 => String::new(),
        0.5 => "Floats are correctly rounded (0.5 ulp).".into(),
        1.0 => "The error is at most 1 ulp (unit in the last place)".into(),
        ulps => format!("The error is at most {ulps} ulps (units in the last place)"),
    };
    if row.ulps > 0.5 {
        said += " in `f32` and `f64`";
        let half = has(|d| d == DType::F16);
        said += if half { "; `bf16` and `f16` are computed in `f32` and rounded once." } else { "." };
    }
    let unbound = row.ulps > 0.0
        && has(DType::is_complex)
        && (examples[0].op.get::<Unary>().is_some() || examples[0].op.get::<Binary>().is_some());
    let more = match row.accuracy {
        "" if unbound => "No bound is stated for complex numbers.",
        more => more,
    };
    Some(format!("{said} {more}").trim().into())
}

// ---- derivative ----------------------------------------------------------------------------------------------------

pub fn inexact(x: &Aval) -> bool {
    x.dtype.is_float() || x.dtype.is_complex()
}

pub fn derivative(row: &'static Row, examples: &[Example]) -> Option<String> {
    let regions = examples[0].op.has_regions();
    if examples[0].operands.is_empty() && !regions {
        return None;
    }
    // Examples whose operands could have a gradient.
    let of: Vec<&Example> = examples.iter().filter(|x| x.operands.iter().any(inexact)).collect();
    let Some(first) = of.first() else { return Some("None: integers and booleans have no gradient.".into()) };
    let rules: Vec<Vjp> = of.iter().map(|x| x.op.vjp()).collect();
    let missing: BTreeSet<&str> = rules
        .iter()
        .filter_map(|rule| match rule {
            Vjp::Partly(_, why) | Vjp::Todo(why) => Some(*why),
            Vjp::By(_) | Vjp::Regions | Vjp::Zero => None,
        })
        .collect();
    let missing = missing.into_iter().collect::<Vec<_>>().join("; ");
    if rules.iter().all(|rule| matches!(rule, Vjp::Todo(_))) {
        return Some(format!("None: {missing}."));
    }
    if rules.iter().all(|rule| matches!(rule, Vjp::Zero)) {
        let all = |is: fn(&Aval) -> bool| of.iter().all(|x| x.results.iter().all(is));
        return Some(
            match (all(|x| x.dtype == DType::I1), all(|x| !inexact(x))) {
                (true, _) => "Zero: the result is boolean.",
                (_, true) => "Zero: the result is an integer.",
                _ => "Zero everywhere.",
            }
            .into(),
        );
    }
    let said = match derivatives(&first.op) {
        _ if regions => "From the derivatives of the functions given.".to_string(),
        _ if matches!(first.op, Op::Unary(Unary::conj)) => {
            "`1` for real numbers; the gradient with respect to a complex number is the conjugate of that of the result.".into()
        }
        Some(slopes) => by_slopes(row, &slopes, &missing),
        None => by_rule(row, &of),
    };
    let some = rules.iter().any(|rule| matches!(rule, Vjp::Todo(_)));
    Some(if some { format!("{said} Not for all arguments: {missing}.") } else { said })
}

fn by_slopes(row: &'static Row, slopes: &[Option<String>], missing: &str) -> String {
    if let [Some(slope)] = slopes {
        return format!("`{slope}`.");
    }
    let each = slopes.iter().zip(row.operands).map(|(slope, operand)| match slope {
        Some(slope) => format!("`{slope}` with respect to `{operand}`"),
        None => format!("none with respect to `{operand}`, since {missing}"),
    });
    sentence(&each.collect::<Vec<_>>().join("; "))
}

fn by_rule(row: &'static Row, examples: &[&Example]) -> String {
    let named = |i: usize| format!("`{}`", row.operands[i]);
    let of: Vec<&&Example> = examples.iter().filter(|x| x.results.iter().any(inexact)).collect();
    let all = 0..row.operands.len();
    let with: Vec<usize> =
        all.filter(|&i| of.iter().any(|x| x.operands.get(i).is_some_and(inexact))).collect();
    let names = |these: &[usize]| listed(&these.iter().map(|&i| named(i)).collect::<Vec<_>>(), "and");
    let linear: BTreeSet<String> = of
        .iter()
        .map(|x| match x.op.linear() {
            Linear::In([]) => String::new(),
            Linear::InAll if with.len() == 1 => names(&with),
            Linear::InAll => format!("{} together", names(&with)),
            Linear::In([one]) => named(*one),
            Linear::In(these) => format!("{} together", names(these)),
            Linear::InEach(these) => format!("each of {}", names(these)),
        })
        .collect();
    match linear.first() {
        // Of all parameters the same.
        Some(those) if linear.len() == 1 && !those.is_empty() => {
            format!("Differentiable, linear in {those}.")
        }
        _ => format!("Differentiable with respect to {}.", names(&with)),
    }
}

/// With a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let (first, rest) = text.split_at(1);
    format!("{}{rest}.", first.to_uppercase())
}
