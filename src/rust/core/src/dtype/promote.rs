//! Promotion: the dtype that a set of operands is converted to before an op sees them.
//!
//! Rules are data: the edges of a partial order over ranked types (a dtype, known or ambiguous), whose joins are worked
//! out and checked once and then read from a table. Invariant of anvil's own rules: every pair has exactly one least
//! upper bound, so the join is total, commutative and associative, and operands may be folded in any order. Knows
//! nothing of tensors, ops or literals.

use super::{DType, Ranked};
use crate::error::{Error, Result};
use std::sync::OnceLock;

/// The order of anvil's ranked types. In `a b < c`, everything on the left of `<` is below everything on its right;
/// what follows from other lines (`i1? < f64`) need not be written. A dtype is added by adding lines.
///
/// Shape of the whole: booleans below ambiguous integers below known integers below ambiguous floats below known
/// floats. Hence a literal never widens a known operand of its own kind, and any float wins over any integer.
///
/// # Sources
/// Equal to both tables of anvil's type-promotion article (`tests/testdata/promotion`); the idea of a lattice with
/// ambiguous (weak) types is that of JAX, JEP 9407.
const ANVIL: &str = "
    i1?  < i1 < i8? ui8?
    i8?  < i16?  < i32?  < i64? < i8 ui8
    ui8? < ui16? < ui32? < ui64? < i64?
    ui8? < i16?
    ui16? < i32?
    ui32? < i64?
    i8   < i16   < i32   < i64
    ui8  < ui16  < ui32  < ui64 < i64
    ui8  < i16
    ui16 < i32
    ui32 < i64
    i64  < f32?  < f64?  < f32 < f64
";

/// A system of promotion: for each pair of ranked types, the type that both are converted to, or a refusal.
#[derive(Debug)]
pub struct Rules {
    name: &'static str,
    /// Square matrix over [`node`]; `None` where the system refuses the pair.
    joins: Vec<Option<Ranked>>,
}

impl Rules {
    /// The system in which the join of a pair is its least upper bound; a pair without an upper bound is refused.
    ///
    /// `edges` is written as [`ANVIL`] is. Cost: once per process, cubic in the number of ranked types.
    ///
    /// # Errors
    /// [`Error::Internal`] if a line names an unknown type, if the edges form a cycle, or if a pair has upper bounds
    /// but no least one; the text names the type or the pair.
    fn from_edges(name: &'static str, edges: &str) -> Result<Rules> {
        let nodes: Vec<Ranked> = nodes().collect();
        let names: Vec<String> = nodes.iter().map(Ranked::to_string).collect();
        let joins = least_upper_bounds(&names, edges)
            .map_err(|fault| Error::Internal { detail: format!("Promotion rules \"{name}\": {fault}.") })?;
        Ok(Rules { name, joins: joins.into_iter().map(|join| join.map(|i| nodes[i])).collect() })
    }

    /// The name a user chooses the system by.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The type that `a` and `b` promote to; `None` if the system refuses the pair. One load.
    pub fn join(&self, a: Ranked, b: Ranked) -> Option<Ranked> {
        self.joins[node(a) * NODES + node(b)]
    }

    /// The type that all operands promote to, folded from the first; `None` if there are none or a pair is refused.
    pub fn join_all(&self, operands: impl IntoIterator<Item = Ranked>) -> Option<Ranked> {
        let mut operands = operands.into_iter();
        let first = operands.next()?;
        operands.try_fold(first, |so_far, next| self.join(so_far, next))
    }
}

/// anvil's own rules. They refuse no pair.
///
/// # Panics
/// If the edges in this file are no lattice: the first use in any test tells.
pub fn rules() -> &'static Rules {
    static RULES: OnceLock<Rules> = OnceLock::new();
    RULES.get_or_init(|| {
        let rules = Rules::from_edges("anvil", ANVIL).unwrap_or_else(|fault| panic!("{fault}"));
        for (a, b) in nodes().flat_map(|a| nodes().map(move |b| (a, b))) {
            assert!(rules.join(a, b).is_some(), "anvil's promotion rules give {a} and {b} no upper bound");
        }
        rules
    })
}

/// The type that two operands promote to under anvil's own rules.
///
/// The result is ambiguous exactly when the join is a `?` type: when both operands are ambiguous, or when the ambiguous
/// one decides alone (`f32?` with `i32`).
///
/// # Examples
/// ```
/// use anvil_core::dtype::{promote::common_dtype, DType, Ranked};
/// let double_literal = Ranked { dtype: DType::F32, ambiguous: true };
/// let counts = Ranked { dtype: DType::I64, ambiguous: false };
/// assert_eq!(common_dtype(double_literal, counts).to_string(), "f32?");
/// ```
pub fn common_dtype(lhs: Ranked, rhs: Ranked) -> Ranked {
    rules().join(lhs, rhs).expect("anvil's own rules are total, checked when they are built")
}

/// Number of ranked types: each dtype, known and ambiguous.
const NODES: usize = 2 * DType::ALL.len();

/// Position of a ranked type in the table.
fn node(x: Ranked) -> usize {
    2 * x.dtype as usize + usize::from(x.ambiguous)
}

/// Every ranked type, in the order of [`node`].
fn nodes() -> impl Iterator<Item = Ranked> {
    DType::ALL.iter().flat_map(|&dtype| [false, true].map(|ambiguous| Ranked { dtype, ambiguous }))
}

/// Joins of the partial order that `edges` generates over `names`, as a square matrix of positions in `names`; `None`
/// for a pair without an upper bound. Works on names alone, so that a test can try dtypes before they exist.
///
/// The error is a clause that names the offending type or pair.
fn least_upper_bounds(names: &[String], edges: &str) -> Result<Vec<Option<usize>>, String> {
    let n = names.len();
    let position = |name: &str| {
        names.iter().position(|known| known == name).ok_or_else(|| format!("unknown type {name} in an edge"))
    };

    let mut below = vec![vec![false; n]; n];
    for line in edges.lines() {
        let groups: Vec<Vec<usize>> = line
            .split('<')
            .map(|group| group.split_whitespace().map(position).collect())
            .collect::<Result<_, _>>()?;
        for pair in groups.windows(2) {
            for &low in &pair[0] {
                pair[1].iter().for_each(|&high| below[low][high] = true);
            }
        }
    }

    // Transitive closure (Warshall): paths through `via` on top of paths through earlier nodes.
    for via in 0..n {
        let above = below[via].clone();
        for row in below.iter_mut().filter(|row| row[via]) {
            row.iter_mut().zip(&above).for_each(|(reached, &further)| *reached |= further);
        }
    }
    if let Some(i) = (0..n).find(|&i| below[i][i]) {
        return Err(format!("{} is below itself", names[i]));
    }

    let at_most = |low: usize, high: usize| low == high || below[low][high];
    let mut joins = Vec::with_capacity(n * n);
    for a in 0..n {
        for b in 0..n {
            let bounds: Vec<usize> = (0..n).filter(|&u| at_most(a, u) && at_most(b, u)).collect();
            let least = bounds.iter().copied().find(|&u| bounds.iter().all(|&v| at_most(u, v)));
            if least.is_none() && !bounds.is_empty() {
                return Err(format!("{} and {} have no least upper bound", names[a], names[b]));
            }
            joins.push(least);
        }
    }
    Ok(joins)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A promotion table: names of rows and columns, then cells, all as text.
    struct Table {
        names: Vec<String>,
        cells: Vec<Vec<String>>,
    }

    impl Table {
        fn read(file: &str) -> Table {
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
            Table { names, cells }
        }

        fn each(&self) -> impl Iterator<Item = (&str, &str, &str)> {
            self.names.iter().zip(&self.cells).flat_map(move |(row, cells)| {
                self.names
                    .iter()
                    .zip(cells)
                    .map(move |(col, cell)| (row.as_str(), col.as_str(), cell.as_str()))
            })
        }

        /// The cells between dtypes that exist.
        fn existing(&self) -> Vec<(DType, DType, &str)> {
            self.each()
                .filter_map(|(row, col, cell)| Some((DType::parse(row).ok()?, DType::parse(col).ok()?, cell)))
                .collect()
        }
    }

    fn known(dtype: DType) -> Ranked {
        Ranked { dtype, ambiguous: false }
    }

    fn ambiguous(dtype: DType) -> Ranked {
        Ranked { dtype, ambiguous: true }
    }

    const CELLS: usize = DType::ALL.len() * DType::ALL.len();

    #[test]
    fn known_with_known_is_the_published_table() {
        for file in ["anvil-known.csv", "anvil-known-extended.csv"] {
            let table = Table::read(file);
            let cells = table.existing();
            assert_eq!(cells.len(), CELLS, "{file} covers every dtype");
            for (row, col, cell) in cells {
                assert_eq!(common_dtype(known(row), known(col)).to_string(), cell, "{file}: {row} and {col}");
            }
        }
    }

    #[test]
    fn ambiguous_with_known_is_the_published_table() {
        let table = Table::read("anvil-ambiguous.csv");
        let cells = table.existing();
        assert_eq!(cells.len(), CELLS);
        for (row, col, cell) in cells {
            let got = common_dtype(ambiguous(row), known(col));
            assert_eq!(got.dtype.name(), cell, "{row}? and {col}");
            // The published rule for the flag: the ambiguous operand decided, and the known one did not.
            assert_eq!(got.ambiguous, got.dtype == row && got.dtype != col, "flag of {row}? and {col}");
        }
        let extended = Table::read("anvil-ambiguous-extended.csv");
        let cells = extended.existing();
        assert_eq!(cells.len(), CELLS);
        for (row, col, cell) in cells {
            assert_eq!(common_dtype(ambiguous(row), known(col)).to_string(), cell, "{row}? and {col}");
        }
    }

    #[test]
    fn two_ambiguous_promote_as_known_and_stay_ambiguous() {
        for &a in DType::ALL {
            for &b in DType::ALL {
                let want = ambiguous(common_dtype(known(a), known(b)).dtype);
                assert_eq!(common_dtype(ambiguous(a), ambiguous(b)), want, "{a}? and {b}?");
            }
        }
    }

    #[test]
    fn the_join_is_idempotent_commutative_and_associative() {
        for a in nodes() {
            assert_eq!(common_dtype(a, a), a);
            for b in nodes() {
                let ab = common_dtype(a, b);
                assert_eq!(ab, common_dtype(b, a), "{a} and {b}");
                for c in nodes() {
                    assert_eq!(common_dtype(ab, c), common_dtype(a, common_dtype(b, c)), "{a}, {b} and {c}");
                }
            }
        }
    }

    #[test]
    fn many_operands_fold() {
        let all = rules().join_all(nodes());
        assert_eq!(all, Some(known(DType::F64)));
        assert_eq!(rules().join_all([]), None);
        assert_eq!(rules().join_all([ambiguous(DType::I1)]), Some(ambiguous(DType::I1)));
        assert_eq!(rules().name(), "anvil");
    }

    #[test]
    fn nodes_are_numbered_in_order() {
        assert_eq!(nodes().count(), NODES);
        assert!(nodes().enumerate().all(|(i, x)| node(x) == i));
    }

    /// The lines that four more dtypes will add, tried against the extended tables before the dtypes exist.
    #[test]
    fn adding_dtypes_is_adding_lines() {
        let added = "
            i64  < bf16? f16? < f32?
            f64? < bf16 f16 < f32
            f64? < c64? < c128? < c64 < c128
            f32  < c64
            f64  < c128";
        let table = Table::read("anvil-known-extended.csv");
        let names: Vec<String> = table.names.iter().flat_map(|d| [d.clone(), format!("{d}?")]).collect();
        let joins = least_upper_bounds(&names, &format!("{ANVIL}{added}")).unwrap();
        let at = |name: &str| names.iter().position(|n| n == name).unwrap();
        let join = |a: &str, b: &str| names[joins[at(a) * names.len() + at(b)].unwrap()].as_str();
        for (row, col, cell) in table.each() {
            assert_eq!(join(row, col), cell, "{row} and {col}");
        }
        for (row, col, cell) in Table::read("anvil-ambiguous-extended.csv").each() {
            assert_eq!(join(&format!("{row}?"), col), cell, "{row}? and {col}");
        }
    }

    #[test]
    fn faults_in_the_edges_are_named() {
        const CASES: &[(&str, &str)] = &[
            ("i8 < f8", "unknown type f8"),
            ("i8 < i16\ni16 < i32\ni32 < i8", "i8 is below itself"),
            ("i8 ui8 < i16 i32", "i8 and ui8 have no least upper bound"),
        ];
        for (edges, want) in CASES {
            let fault = Rules::from_edges("broken", edges).unwrap_err().to_string();
            assert!(fault.contains(want) && fault.contains("\"broken\""), "{edges}: {fault}");
        }
    }

    #[test]
    fn a_system_may_refuse_pairs() {
        let strict = Rules::from_edges("strict", "").unwrap();
        assert_eq!(strict.join(known(DType::I8), known(DType::I16)), None);
        assert_eq!(strict.join_all([known(DType::I8), known(DType::I8)]), Some(known(DType::I8)));
        assert_eq!(strict.join_all([known(DType::I8), known(DType::F32), known(DType::I8)]), None);
    }
}
