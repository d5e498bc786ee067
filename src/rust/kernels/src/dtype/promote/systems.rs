//! The systems of promotion, as data: the edges of an order, or a table if the system is no order.

/// The data of a system.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// Edges of an order over the system's types; a pair promotes to its least upper bound.
    Edges(&'static str),
    /// Comma-separated: a header with the right operands, then one row for each left operand; `-` is a
    /// refusal.
    Table(&'static str),
}

/// The meaning of an ambiguous dtype in a system.
#[derive(Clone, Copy)]
pub(super) enum Ambiguous {
    /// A type of its own for each width: `i8?`, `f64?`.
    OfEachWidth,
    /// A scalar without a width: `i?`, `f?` or `c?`; an ambiguous `i1` is an `i1`.
    Scalar,
}

/// A system, as it is written.
pub(super) struct System {
    /// The name a user chooses it by.
    pub name: &'static str,
    pub ambiguous: Ambiguous,
    pub source: Source,
}

/// Every system; the first is the default.
pub(super) const SYSTEMS: &[System] = &[
    System { name: "anvil", ambiguous: Ambiguous::OfEachWidth, source: Source::Edges(ANVIL) },
    System { name: "jax", ambiguous: Ambiguous::Scalar, source: Source::Edges(JAX) },
    table("jax_lax", include_str!("../rules/jax_lax.csv")),
    table("numpy", include_str!("../rules/numpy.csv")),
    table("torch", include_str!("../rules/torch.csv")),
    table("tensorflow", include_str!("../rules/tensorflow.csv")),
    table("array_api", include_str!("../rules/array_api.csv")),
    System { name: "strict", ambiguous: Ambiguous::Scalar, source: Source::Edges(STRICT) },
];

const fn table(name: &'static str, text: &'static str) -> System {
    System { name, ambiguous: Ambiguous::Scalar, source: Source::Table(text) }
}

/// The order of anvil's ranked types. In `a b < c`, everything on the left of `<` is below everything on its
/// right; what follows from other lines (`i1? < f64`) need not be written. A dtype is added by adding lines.
///
/// Booleans are below ambiguous integers below known integers below ambiguous floats below known floats;
/// complex numbers above the floats of their parts. Hence a literal never widens a known operand of its own
/// kind, any float wins over any integer, and two ambiguous types promote as the known ones do.
///
/// # Sources
/// Equal to both tables of anvil's type-promotion article (`tests/testdata/promotion`); the idea of a lattice
/// with ambiguous (weak) types is that of JAX, JEP 9407.
pub(super) const ANVIL: &str = "
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
    i64  < bf16? f16? < f32? < f64? < bf16 f16 < f32 < f64
    f32? < c64? < c128? < c64 < c128
    f64? < c128?
    f32  < c64
    f64  < c128
";

/// JAX's order, with one ambiguous (weak) type of each kind.
///
/// # Sources
/// The lattice of JAX's type-promotion page; its table is that of JEP 9407.
const JAX: &str = "
    i1   < i? < i8 ui8
    i8   < i16   < i32   < i64  < f?
    ui8  < ui16  < ui32  < ui64 < f?
    ui8  < i16
    ui16 < i32
    ui32 < i64
    f?   < c? bf16 f16
    bf16 f16 < f32 < f64 c64
    f64  < c128
    c?   < c64 < c128
";

/// JAX's strict mode: known types promote to themselves alone, and scalars to what holds them. Booleans stand
/// alone.
///
/// # Sources
/// JAX's type-promotion page, "Strict dtype promotion"; `jax._src.dtypes`.
const STRICT: &str = "
    i? < f? < c?
    i? < i8 i16 i32 i64 ui8 ui16 ui32 ui64
    f? < bf16 f16 f32 f64
    c? < c64 c128
";
