//! Promotion: the dtype that a set of operands is converted to before an op sees them.
//!
//! Rules are data: the edges of a partial order over types, or a table if the system is no order. Each system
//! is computed and checked once; then a promotion is one load. Under anvil's own rules every pair has exactly
//! one least upper bound, so the join is total, commutative and associative, and operands may be joined in
//! any order. The module knows nothing of tensors, ops or literals.

mod lattice;
mod systems;
#[cfg(test)]
mod tests;

use super::{DType, Kind, Ranked};
use crate::error::{Error, Result};
use lattice::{covers, Lattice};
use std::sync::OnceLock;
use systems::{Ambiguous, Source, System, SYSTEMS};

/// A system of promotion: for each pair of ranked types, the type that both are converted to, or a refusal.
pub struct Rules {
    name: &'static str,
    ambiguous: Ambiguous,
    /// Square matrix over [`node`], the left operand first; `None` if the system refuses the pair.
    joins: Vec<Option<Ranked>>,
    /// The order that the matrix was computed from; `None` if the system is a table.
    lattice: Option<Lattice>,
}

impl Rules {
    /// Cost: once per process, to the fourth power in the number of types.
    ///
    /// # Errors
    /// [`Error::Internal`] if the edges name an unknown type, form a cycle, or leave a pair with upper bounds
    /// but no least one; if the table has another number of cells than its header says, or an unknown type.
    /// The text names the type or the pair.
    fn from_system(system: &System) -> Result<Rules> {
        let mut rules =
            Rules { name: system.name, ambiguous: system.ambiguous, joins: Vec::new(), lattice: None };
        let fault = |what: String| Error::Internal {
            detail: format!("Promotion rules \"{}\": {what}.", system.name),
        };
        let labels: Vec<String> = ranked().map(|x| rules.label(x)).collect();
        let meaning = |label: &str| parse(label).map_err(|_| fault(format!("unknown type {label}")));
        let pairs = labels.iter().flat_map(|a| labels.iter().map(move |b| (a, b)));
        match system.source {
            Source::Edges(edges) => {
                let first = |&i: &usize| labels[..i].iter().all(|earlier| *earlier != labels[i]);
                let distinct = (0..labels.len()).filter(first).map(|i| labels[i].clone()).collect();
                let lattice = Lattice::parse(distinct, edges).map_err(fault)?;
                rules.joins =
                    pairs.map(|(a, b)| lattice.join(a, b).map(meaning).transpose()).collect::<Result<_>>()?;
                rules.lattice = Some(lattice);
            }
            Source::Table(text) => {
                let rows: Vec<Vec<&str>> =
                    text.lines().map(|line| line.trim_end().split(',').collect()).collect();
                let Some(header) = rows.first() else { return Err(fault("an empty table".into())) };
                if let Some(row) = rows.iter().find(|row| row.len() != header.len()) {
                    return Err(fault(format!(
                        "row {} has {} cells, not {}",
                        row[0],
                        row.len(),
                        header.len()
                    )));
                }
                let cell = |a: &str, b: &str| {
                    let row = rows[1..].iter().find(|row| row[0] == a)?;
                    let column = header[1..].iter().position(|&name| name == b)?;
                    (row[column + 1] != "-").then(|| row[column + 1])
                };
                rules.joins =
                    pairs.map(|(a, b)| cell(a, b).map(meaning).transpose()).collect::<Result<_>>()?;
            }
        }
        Ok(rules)
    }

    /// The name a user chooses the system by.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The type that `lhs` and `rhs` promote to; `None` if the system refuses the pair. One load.
    ///
    /// TensorFlow's is the one system in which the order of the operands matters.
    pub fn join(&self, lhs: Ranked, rhs: Ranked) -> Option<Ranked> {
        self.joins[node(lhs) * NODES + node(rhs)]
    }

    /// The type that all operands promote to, joined from the first on; `None` if there are none or a pair is
    /// refused.
    pub fn join_all(&self, operands: impl IntoIterator<Item = Ranked>) -> Option<Ranked> {
        let mut operands = operands.into_iter();
        let first = operands.next()?;
        operands.try_fold(first, |so_far, next| self.join(so_far, next))
    }

    /// Whether ambiguous types have a width.
    pub fn has_ambiguous_widths(&self) -> bool {
        matches!(self.ambiguous, Ambiguous::OfEachWidth)
    }

    /// Whether the system has this dtype, that is, promotes it with anything.
    pub fn knows(&self, dtype: DType) -> bool {
        ranked().any(|x| self.join(known(dtype), x).is_some())
    }

    /// Whether `from` may be promoted to `to`: whether both, in either order, promote to `to`.
    pub fn promotes(&self, from: Ranked, to: Ranked) -> bool {
        let same = |join: Option<Ranked>| join.is_some_and(|join| self.label(join) == self.label(to));
        same(self.join(from, to)) && same(self.join(to, from))
    }

    /// The system's name for a type: `f64?` is `f?` in all but anvil's.
    pub fn label(&self, x: Ranked) -> String {
        let scalar = match (self.ambiguous, x.dtype.kind()) {
            (Ambiguous::OfEachWidth, _) => return x.to_string(),
            (Ambiguous::Scalar, _) if !x.ambiguous => return x.to_string(),
            (Ambiguous::Scalar, Kind::Boolean) => "i1",
            (Ambiguous::Scalar, Kind::Integer | Kind::Unsigned) => "i?",
            (Ambiguous::Scalar, Kind::Float) => "f?",
            (Ambiguous::Scalar, Kind::Complex) => "c?",
        };
        scalar.into()
    }

    /// The types that the system has, in table order and each under its [label](Rules::label) once: those
    /// that it promotes with anything. The default width of a scalar stands for all.
    pub fn types(&self) -> Vec<Ranked> {
        let is_used = |x| ranked().any(|y| self.join(x, y).or(self.join(y, x)).is_some());
        ranked().filter(|&x| parse(&self.label(x)) == Ok(x) && is_used(x)).collect()
    }

    /// The diagram of the system over its [`types`](Rules::types): the pairs (lower, upper) such that the
    /// lower [promotes](Rules::promotes) to the upper, without those that follow by transitivity. Tables have
    /// a diagram too: promotion is an order in each, even if two types have no least upper bound or promote
    /// to another type.
    pub fn edges(&self) -> Vec<(Ranked, Ranked)> {
        let types = self.types();
        let below: Vec<Vec<bool>> =
            types.iter().map(|&a| types.iter().map(|&b| a != b && self.promotes(a, b)).collect()).collect();
        covers(&below).into_iter().map(|(low, high)| (types[low], types[high])).collect()
    }

    /// A shortest chain from one type up to another along the [edges](Rules::edges) of a lattice, both
    /// included, by their [labels](Rules::label); empty if `from` does not promote to `to`.
    ///
    /// # Errors
    /// [`Error::Arg`] if the system is no order but a table.
    pub fn path(&self, from: Ranked, to: Ranked) -> Result<Vec<&str>> {
        let Some(lattice) = &self.lattice else {
            let orders: Vec<&str> = all().iter().filter(|r| r.lattice.is_some()).map(Rules::name).collect();
            return Err(Error::Arg {
                arg: "rules".into(),
                expected: "rules that are a lattice".into(),
                got: format!("\"{}\", a table", self.name),
                hint: format!("Lattices are {}.", orders.join(", ")),
            });
        };
        Ok(lattice.path(&self.label(from), &self.label(to)).unwrap_or_default())
    }

    /// The explicit conversions after which a refused pair is accepted: the dtype to convert to, and which of
    /// the two operands need it. The dtype is the one that anvil's own rules give or, if the system does not
    /// have it, the first that holds it. `None` if there is no such dtype.
    fn cast(&self, lhs: Ranked, rhs: Ranked) -> Option<(DType, [bool; 2])> {
        let wanted = rules().join(lhs, rhs)?.dtype;
        let holds = |d: DType| rules().join(known(wanted), known(d)) == Some(known(d));
        let accepted = |a: Ranked, b: Ranked, to: DType| self.join(a, b) == Some(known(to));
        let mut candidates = std::iter::once(wanted).chain(DType::ALL.iter().copied().filter(|&d| holds(d)));
        let to = candidates.find(|&d| accepted(known(d), known(d), d))?;
        let both = [
            (accepted(lhs, known(to), to), [false, true]),
            (accepted(known(to), rhs, to), [true, false]),
            (true, [true, true]),
        ];
        both.into_iter().find(|(enough, _)| *enough).map(|(_, which)| (to, which))
    }
}

impl std::fmt::Debug for Rules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Rules({})", self.name)
    }
}

/// Names of the systems; the first is the default.
pub fn names() -> &'static [&'static str] {
    static NAMES: OnceLock<Vec<&str>> = OnceLock::new();
    NAMES.get_or_init(|| SYSTEMS.iter().map(|system| system.name).collect())
}

/// The system of that name.
///
/// # Errors
/// [`Error::Arg`] that names the known ones.
///
/// # Examples
/// ```
/// use anvil_kernels::dtype::promote::by_name;
/// assert!(by_name("torch").is_ok());
/// assert!(by_name("R").unwrap_err().to_string().contains("anvil, jax, jax_lax"));
/// ```
pub fn by_name(name: &str) -> Result<&'static Rules> {
    all().iter().find(|rules| rules.name == name).ok_or_else(|| unknown_rules(&format!("\"{name}\"")))
}

/// The error for an argument that names no system; `got` describes it.
pub fn unknown_rules(got: &str) -> Error {
    Error::Arg {
        arg: "rules".into(),
        expected: "the name of promotion rules".into(),
        got: got.into(),
        hint: format!("The rules are {}.", names().join(", ")),
    }
}

/// anvil's own rules. They refuse no pair.
///
/// # Panics
/// If the data of a system are broken, which any test shows.
pub fn rules() -> &'static Rules {
    &all()[0]
}

/// The type that two operands promote to.
///
/// Under anvil's rules the result is ambiguous exactly when the join is a `?` type: when both operands are
/// ambiguous, or when the ambiguous one decides alone (`f32?` with `i32`). A result that a system calls a
/// scalar has the default width of its kind: `i32?`, `f32?`, `c64?`.
///
/// # Errors
/// [`Error::Promotion`] if the system refuses the pair.
///
/// # Examples
/// ```
/// use anvil_kernels::dtype::{promote::{by_name, common_dtype, rules}, DType, Ranked};
/// let double_literal = Ranked { dtype: DType::F32, ambiguous: true };
/// let counts = Ranked { dtype: DType::I64, ambiguous: false };
/// assert_eq!(common_dtype(double_literal, counts, rules()).unwrap().to_string(), "f32?");
/// assert!(common_dtype(double_literal, counts, by_name("strict").unwrap()).is_err());
/// ```
pub fn common_dtype(lhs: Ranked, rhs: Ranked, rules: &Rules) -> Result<Ranked> {
    rules.join(lhs, rhs).ok_or(Error::Promotion { lhs, rhs, rules: rules.name })
}

/// The reason for a promotion, as a phrase: the rules, the types by their labels, and what decided.
///
/// # Examples
/// ```
/// use anvil_kernels::dtype::promote::{by_name, parse, why};
/// let [i64, f32] = ["i64", "f32?"].map(|name| parse(name).unwrap());
/// let rules = by_name("anvil").unwrap();
/// assert_eq!(why(&[i64, f32], f32, rules), "anvil: i64 and f32? give f32?, a float wins over an integer");
/// ```
pub fn why(operands: &[Ranked], to: Ranked, rules: &Rules) -> String {
    let mut labels: Vec<String> = Vec::new();
    for label in operands.iter().map(|&x| rules.label(x)) {
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    // A boolean, an integer, ...
    let rank = |x: &Ranked| match x.dtype.kind() {
        Kind::Boolean => (0, "a boolean"),
        Kind::Integer | Kind::Unsigned => (1, "an integer"),
        Kind::Float => (2, "a float"),
        Kind::Complex => (3, "a complex number"),
    };
    let same = |x: &&Ranked| rules.label(**x) == rules.label(to);
    let others: Vec<&Ranked> = operands.iter().filter(|x| !same(x)).collect();
    let highest = others.iter().map(|x| rank(x)).max();
    let decided = match highest {
        _ if !operands.iter().any(|x| same(&x)) => "the first type above them".into(),
        Some(other) if other.0 < rank(&to).0 => format!("{} wins over {}", rank(&to).1, other.1),
        _ if !to.ambiguous && others.iter().all(|x| x.ambiguous) => {
            "a known type wins over an ambiguous one".into()
        }
        _ => "the higher of them".into(),
    };
    format!("{}: {} give {}, {decided}", rules.name, labels.join(" and "), rules.label(to))
}

/// The ranked type of that name: a dtype, with `?` if it is ambiguous. `i?`, `f?` and `c?` have the default
/// widths.
///
/// # Errors
/// [`Error::UnknownDtype`].
pub fn parse(name: &str) -> Result<Ranked> {
    let ambiguous = |dtype| Ok(Ranked { dtype, ambiguous: true });
    match (name, name.strip_suffix('?')) {
        ("i?", _) => ambiguous(DType::I32),
        ("f?", _) => ambiguous(DType::F32),
        ("c?", _) => ambiguous(DType::C64),
        (_, Some(dtype)) if DType::parse(dtype).is_ok() => ambiguous(DType::parse(dtype)?),
        _ => DType::parse(name).map(known),
    }
}

/// Every ranked type, in table order: each dtype, known and then ambiguous.
pub fn ranked() -> impl Iterator<Item = Ranked> {
    DType::ALL.iter().flat_map(|&dtype| [false, true].map(|ambiguous| Ranked { dtype, ambiguous }))
}

/// Advice about a pair that a system refuses: bullets, each after a line break.
pub(crate) fn advice(lhs: Ranked, rhs: Ranked, name: &str) -> String {
    let Ok(rules) = by_name(name) else { return String::new() };
    let mut out = String::new();
    for (i, x) in [lhs, rhs].into_iter().enumerate() {
        if !(rules.knows(x.dtype) || x.ambiguous || i == 1 && x == lhs) {
            out += &format!("\nx They do not have {x}.");
        }
    }
    let remedy = match rules.cast(lhs, rhs) {
        Some((to, [true, true])) => {
            format!("Convert both operands with `nv_convert(x, \"{to}\")`, or choose")
        }
        Some((to, [first, _])) => {
            let operand = if first { lhs } else { rhs };
            format!("Convert the {operand} operand with `nv_convert(x, \"{to}\")`, or choose")
        }
        None => "They have no dtype that holds both; choose".into(),
    };
    out + &format!("\ni {remedy} other rules, see `promotion_rules()`.")
}

/// Number of ranked types: each dtype, known and ambiguous.
const NODES: usize = 2 * DType::ALL.len();

/// Position of a ranked type in the tables.
fn node(x: Ranked) -> usize {
    2 * x.dtype as usize + usize::from(x.ambiguous)
}

fn known(dtype: DType) -> Ranked {
    Ranked { dtype, ambiguous: false }
}

/// Every system, computed once.
fn all() -> &'static [Rules] {
    static ALL: OnceLock<Vec<Rules>> = OnceLock::new();
    ALL.get_or_init(|| {
        let rules = |system| Rules::from_system(system).unwrap_or_else(|fault| panic!("{fault}"));
        let all: Vec<Rules> = SYSTEMS.iter().map(rules).collect();
        for (a, b) in ranked().flat_map(|a| ranked().map(move |b| (a, b))) {
            assert!(all[0].join(a, b).is_some(), "anvil's promotion rules give {a} and {b} no upper bound");
        }
        all
    })
}
