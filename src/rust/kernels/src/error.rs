//! Errors of the engine: one enum, every variant with fields.
//!
//! The text of a variant is what the user reads: one sentence with what was expected and what came, then
//! lines that start with `x` (what was found) or `i` (what to do). `class()` and `fields()` become the class
//! and the fields of the R condition. Knows dtypes and shapes, nothing of graphs or R.

use crate::dtype::promote::advice;
use crate::dtype::{DType, Ranked};
use crate::shape::{Axis, Shape};

/// The result of fallible functions of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error. `op` is always the function as the user writes it, such as `nv_add`.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
// Fields are the placeholders of the message above them.
#[allow(missing_docs)]
pub enum Error {
    // --- arguments ---
    /// An argument that the function does not take.
    #[error("`{arg}` must be {expected}, not {got}.{}", hint_line(.hint))]
    Arg { arg: String, expected: String, got: String, hint: String },
    /// An equation of an einsum that does not parse.
    #[error(
        "`equation` must have {expected} at character {at}, not {got}.\nx {equation}\n  {}^",
        " ".repeat(.at.saturating_sub(1))
    )]
    Equation { equation: String, at: usize, expected: String, got: String },
    /// Missing values for a dtype that has none, or only a NaN, which they would become in silence.
    #[error(
        "`{arg}` holds {count} missing value{}, which {dtype} {}.\nx First at position{} {}.\ni {}",
        plural(*.count), lacks(*.dtype), plural(.positions.len()), list(.positions), instead_of_missing(*.dtype)
    )]
    MissingValue { arg: String, dtype: DType, count: usize, positions: Vec<usize> },
    /// Values outside the range of an integer dtype, or not whole, or not numbers.
    #[error(
        "`data` holds {count} value{} that {dtype} cannot represent.\nx First at position{} {}: {first}.\ni {dtype} holds {range}; choose another dtype, or convert with `nv_convert()`, which truncates and saturates.",
        plural(*.count), plural(.positions.len()), list(.positions)
    )]
    Unrepresentable { dtype: DType, count: usize, positions: Vec<usize>, first: String, range: String },
    /// Numbers beyond the range of a float that nobody asked for: `wide` holds them.
    #[error(
        "`data` holds {count} value{} beyond the range of {dtype}, the dtype that they have by default.\nx First at position{} {}: {first}.\ni Use `dtype = \"{wide}\"`; with `dtype = \"{dtype}\"` they become infinite.",
        plural(*.count), plural(.positions.len()), list(.positions)
    )]
    Overflow { dtype: DType, wide: DType, count: usize, positions: Vec<usize>, first: String },
    /// A sequence that leaves the range of its integer dtype.
    #[error("A sequence from {from} to {to} does not fit {dtype}.\ni {dtype} holds {}; choose another dtype.", .dtype.range())]
    SequenceRange { dtype: DType, from: i128, to: i128 },

    // --- dtype ---
    /// Not the name of a dtype.
    #[error("Unknown dtype {got}.\ni The dtypes are {}.", DType::names())]
    UnknownDtype { got: String },
    /// The op does not take operands of this dtype.
    #[error("`{op}()` accepts {accepts}, not {got}.\nx `{operand}` has dtype {got}.{}", hint_line(.hint))]
    UnsupportedDtype { op: String, operand: String, accepts: String, got: DType, hint: String },
    /// Operands that had to share a dtype do not.
    #[error("`{op}()` needs operands of one dtype, not {lhs} and {rhs}.")]
    DtypeMismatch { op: String, lhs: DType, rhs: DType },
    /// Types that the rules of promotion do not join.
    #[error("No implicit promotion of {lhs} and {rhs} under the rules \"{rules}\".{}", advice(*.lhs, *.rhs, .rules))]
    Promotion { lhs: Ranked, rhs: Ranked, rules: &'static str },
    /// A conversion that would lose the imaginary part.
    #[error("Cannot convert {from} to {to}: the imaginary part would be lost.\ni Take `nv_real()`, `nv_imag()` or `nv_abs()` first.")]
    ComplexToReal { from: DType, to: DType },
    /// A bit pattern cannot be read as this dtype.
    #[error("Cannot bitcast {from} of shape {shape} to {to}.\nx {reason}.")]
    Bitcast { from: DType, to: DType, shape: Shape, reason: String },

    // --- shape ---
    /// Shapes that do not meet: see [`Shape::repeated_down`].
    #[error("`{op}()` cannot combine shapes {lhs} and {rhs}.{}", meeting(.lhs, .rhs))]
    ShapeMismatch { op: String, lhs: Shape, rhs: Shape },
    /// A shape that cannot be broadcast to another.
    #[error("Shape {from} cannot be broadcast to {to}.\nx Axis {axis} is {l} and {r}; sizes must be equal, or the first must be 1.")]
    Broadcast { from: Shape, to: Shape, axis: Axis, l: usize, r: usize },
    /// More axes than the target has.
    #[error("Shape {from} cannot be broadcast to {to}.\nx It has {}, the target has {}.", axes(.from.rank()), .to.rank())]
    BroadcastRank { from: Shape, to: Shape },
    /// Number of elements and shape disagree.
    #[error("Data has length {len}, but shape {shape} holds {size} element{}.\ni Length-1 data is recycled to any shape; nothing else is.", plural(*.size))]
    DataLength { len: usize, shape: Shape, size: usize },
    /// A reshape that changes the number of elements.
    #[error("`{op}()` cannot turn shape {from} into {to}: {} and {} elements.", .from.size(), .to.size())]
    Reshape { op: String, from: Shape, to: Shape },
    /// More elements or bytes than can be addressed.
    #[error("Shape {shape} is too large: a tensor holds at most 2^52 elements and 2^62 bytes, and 2^31 - 1 elements along an axis.")]
    TooLarge { shape: String },
    /// Wrong number of axes.
    #[error("`{operand}` of `{op}()` must have {expected}, not {}.\nx Its shape is {shape}.{}", axes(.shape.rank()), hint_line(.hint))]
    Rank { op: String, operand: String, expected: String, shape: Shape, hint: String },
    /// Matrices that are not square.
    #[error("`{operand}` of `{op}()` must have square matrices, not {rows} by {columns}.\nx Its shape is {shape}.")]
    Square { op: String, operand: String, shape: Shape, rows: usize, columns: usize },
    /// Sizes of two axes that are joined differ.
    #[error("`{op}()` cannot combine shapes {lhs} and {rhs}.\nx {what}: {l} and {r}.")]
    SizeMismatch { op: String, lhs: Shape, rhs: Shape, what: String, l: usize, r: usize },

    // --- axis ---
    /// An axis that the operand does not have.
    #[error("Axis {got} is out of range for shape {shape}, which has {}.\ni Axes are numbered from 1; negative numbers count from the end.", axes(.shape.rank()))]
    AxisOutOfRange { op: String, got: i64, shape: Shape },
    /// The same axis twice.
    #[error("Axis {axis} is given more than once.")]
    DuplicateAxis { op: String, axis: Axis },
    /// Not a permutation of all axes.
    #[error("`permutation` must hold each of {expected} once, not {got}.")]
    Permutation { op: String, expected: String, got: String },

    // --- subscripts ---
    /// A position that an axis does not have.
    #[error("Index {index} is out of bounds for axis {axis} of size {size}.{}", bounds(*.size))]
    IndexOutOfBounds { index: String, axis: Axis, size: usize },
    /// A position that a program computed, and that a value does not have: of an element, or of the start of
    /// a window. `call` says where the program reads or writes there, if it is known.
    #[error("Index {value} is out of range for axis {axis} of size {size}{}.{}\ni {}", in_call(.call), starts(*.size, *.window), other_modes(*.value, .call))]
    IndexOutOfRange { value: i64, axis: Axis, size: usize, window: usize, call: String },
    /// More subscripts than axes, or not the number that is needed.
    #[error("Subscripts for {} were given, but shape {shape} has {}.\ni {hint}", axes(*.got), .shape.rank())]
    SubscriptCount { got: usize, shape: Shape, hint: String },
    /// A single subscript of several axes, `written` so: R and tensor libraries mean different things by it.
    #[error("`{written}` has two meanings for shape {shape}: elements in R, positions of the first axis in tensor libraries.\ni {advice}")]
    SingleSubscript { written: String, shape: Shape, advice: String },
    /// Not something that selects positions.
    #[error("Subscript {axis} must be {expected}, not {got}.{}", hint_line(.hint))]
    Subscript { axis: Axis, expected: String, got: String, hint: String },
    /// A value whose dtype is above that of what it is assigned to.
    #[error("A value of dtype {value} cannot be assigned to elements of a tensor of dtype {to}.\ni Convert one of them: `nv_convert(value, \"{to}\")`, or the tensor before the assignment.")]
    AssignDtype { value: DType, to: DType },
    /// A value whose shape is not that of the elements that it is assigned to.
    #[error("The value has shape {value}, the elements that it is assigned to have {subset}.\ni {}", fitting(.value, .subset))]
    AssignShape { value: Shape, subset: Shape },
    /// A window that does not fit.
    #[error("A window of size {window} does not fit axis {axis} of size {size}.")]
    Window { window: usize, axis: Axis, size: usize },

    // --- tracing ---
    /// A tracer met a trace that is not its own, or one that has ended.
    #[error("A tracer was used outside the trace that made it.\nx It belongs to the trace of {trace}, which has {state}.\ni Return values from the traced function instead of storing tracers with `<<-` or in an environment.")]
    LeakedTracer { trace: String, state: String },
    /// The tensor's memory was given away.
    #[error("This tensor was deleted or donated: its memory was handed to a `jit()` call by `donate = `.\ni Use the result of that call instead, or do not donate.")]
    Donated,

    // --- functions that running programs call ---
    /// A function that gave something else than was said of it.
    #[error("A callback must give what `result` says.\nx `{path}` must be {expected}, not {got}.{}", hint_line(.hint))]
    Callback { path: String, expected: String, got: String, hint: String },

    // --- derivatives ---
    /// A derivative that does not exist or is not implemented.
    #[error("No gradient through `{op}()`: {why}.")]
    NoGradient { op: String, why: String },

    // --- batches ---
    /// An op that has no rule for a batch.
    #[error("No batches of `{op}()`: {why}.")]
    NoBatch { op: String, why: String },

    // --- export ---
    /// A program that cannot be exported to StableHLO.
    #[error("`{op}()` cannot be exported: {why}.{}", hint_line(.hint))]
    Export { op: String, why: String, hint: String },
    /// An axis that cannot be split equally over the devices of a mesh.
    #[error("Axis {axis} of argument {input} has size {size}, which {devices} devices cannot share equally.\ni Choose an axis whose size is a multiple of {devices}, or pad it with `nv_pad()`.")]
    Mesh { input: usize, axis: Axis, size: usize, devices: usize },

    // --- resources ---
    /// Memory for a result or a temporary value could not be had.
    #[error("Cannot allocate {bytes} bytes.\ni Free some memory, or work on smaller pieces.")]
    OutOfMemory { bytes: usize },

    // --- broken invariants ---
    /// A bug in anvil.
    #[error("Internal error in anvil: {detail}\ni Please report this, with the code that led here and `anvil_sitrep()`.")]
    Internal { detail: String },
}

macro_rules! classes {
    ($($name:ident $class:literal $when:literal,)+) => {
        /// Classes of conditions, in the order of the package's help page: what [`Error::class`] gives, and
        /// what R's own code signals.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Class { $(#[doc = $when] $name),+ }

        impl Class {
            /// All of them.
            pub const ALL: &'static [Class] = &[$(Class::$name),+];

            /// The name in R.
            pub const fn name(self) -> &'static str {
                match self { $(Class::$name => concat!("anvil_error_", $class)),+ }
            }

            /// When there is such a condition, for users.
            pub const fn when(self) -> &'static str {
                match self { $(Class::$name => $when),+ }
            }
        }
    };
}

// Classes without a variant of `Error` are signalled by R code: only R knows the function that asked for the
// elements of a tracer (concrete), looks into the environment of a static argument (static), walks lists
// (structure), dispatches its own generics (unsupported) and opens files (file).
classes! {
    Arg "arg" "an argument is not what the function takes",
    Value "value" "data that a dtype cannot hold: missing, out of range",
    Dtype "dtype" "an unknown dtype, or one that an op does not take",
    Promotion "promotion" "types that the promotion rules do not combine",
    Shape "shape" "shapes or numbers of elements that do not fit, sizes that cannot be addressed",
    Axis "axis" "an axis that is out of range or given twice",
    Index "index" "an index out of bounds, in a running program too; too many or too few subscripts",
    Structure "structure" "a loop's body, branch, rule or object that has another structure or type",
    Concrete "concrete" "a traced value where R needs a number, as in `if (x > 0)`",
    LeakedTracer "leaked_tracer" "a tracer that is used after its trace",
    Donated "donated" "a tensor whose memory was given away",
    Callback "callback" "a function called by a running program that gives another type than was said",
    Static "static" "a static argument that cannot be part of a cache key",
    Grad "grad" "a derivative that does not exist or is not implemented",
    Batch "batch" "sizes of a batch that differ, or an op that cannot be batched",
    Unsupported "unsupported" "a base R function without a counterpart for tensors",
    Export "export" "a program that cannot be exported, such as one that prints",
    File "file" "a file that cannot be read or written",
    Memory "memory" "memory for a result or temporary value cannot be allocated",
    Internal "internal" "a bug in anvil: please report it",
}

/// A value attached to an R condition.
#[derive(Debug, Clone, PartialEq)]
pub enum Field {
    /// Text.
    Text(String),
    /// Whole numbers: sizes, counts, 1-based positions and axes.
    Numbers(Vec<f64>),
}

impl Error {
    /// The most specific R condition class; `anvil_error` follows it.
    pub fn class(&self) -> &'static str {
        use Error::*;
        let class = match self {
            Arg { .. } | Equation { .. } => Class::Arg,
            MissingValue { .. } | Unrepresentable { .. } | Overflow { .. } | SequenceRange { .. } => {
                Class::Value
            }
            UnknownDtype { .. }
            | UnsupportedDtype { .. }
            | DtypeMismatch { .. }
            | Bitcast { .. }
            | ComplexToReal { .. }
            | AssignDtype { .. } => Class::Dtype,
            Promotion { .. } => Class::Promotion,
            ShapeMismatch { .. }
            | Broadcast { .. }
            | BroadcastRank { .. }
            | DataLength { .. }
            | Reshape { .. }
            | TooLarge { .. }
            | Rank { .. }
            | Square { .. }
            | SizeMismatch { .. }
            | AssignShape { .. }
            | Window { .. }
            | Mesh { .. } => Class::Shape,
            AxisOutOfRange { .. } | DuplicateAxis { .. } | Permutation { .. } => Class::Axis,
            IndexOutOfBounds { .. }
            | IndexOutOfRange { .. }
            | SubscriptCount { .. }
            | SingleSubscript { .. }
            | Subscript { .. } => Class::Index,
            LeakedTracer { .. } => Class::LeakedTracer,
            Donated => Class::Donated,
            Callback { .. } => Class::Callback,
            NoGradient { .. } => Class::Grad,
            NoBatch { .. } => Class::Batch,
            Export { .. } => Class::Export,
            OutOfMemory { .. } => Class::Memory,
            Internal { .. } => Class::Internal,
        };
        class.name()
    }

    /// The fields of the R condition, under the names of the variant's own fields.
    pub fn fields(&self) -> Vec<(&'static str, Field)> {
        use Error::*;
        let text = |x: &dyn std::fmt::Display| Field::Text(x.to_string());
        let shape = |s: &Shape| Field::Numbers(s.iter().map(|&d| d as f64).collect());
        let number = |n: usize| Field::Numbers(vec![n as f64]);
        let numbers = |ns: &[usize]| Field::Numbers(ns.iter().map(|&n| n as f64).collect());
        match self {
            Arg { arg, expected, got, .. } => {
                vec![("arg", text(arg)), ("expected", text(expected)), ("got", text(got))]
            }
            Equation { equation, at, expected, got } => {
                vec![
                    ("arg", text(&"equation")),
                    ("expected", text(expected)),
                    ("got", text(got)),
                    ("equation", text(equation)),
                    ("position", number(*at)),
                ]
            }
            MissingValue { arg, dtype, count, positions } => {
                vec![
                    ("arg", text(arg)),
                    ("dtype", text(dtype)),
                    ("count", number(*count)),
                    ("positions", numbers(positions)),
                ]
            }
            Unrepresentable { dtype, count, positions, first, .. }
            | Overflow { dtype, count, positions, first, .. } => {
                vec![
                    ("dtype", text(dtype)),
                    ("count", number(*count)),
                    ("positions", numbers(positions)),
                    ("first", text(first)),
                ]
            }
            SequenceRange { dtype, from, to } => {
                vec![("dtype", text(dtype)), ("range", Field::Numbers(vec![*from as f64, *to as f64]))]
            }
            UnknownDtype { got } => vec![("got", text(got))],
            UnsupportedDtype { op, operand, accepts, got, .. } => {
                vec![
                    ("op", text(op)),
                    ("operand", text(operand)),
                    ("accepts", text(accepts)),
                    ("got", text(got)),
                ]
            }
            DtypeMismatch { op, lhs, rhs } => vec![("op", text(op)), ("lhs", text(lhs)), ("rhs", text(rhs))],
            Callback { path, expected, got, .. } => {
                vec![("path", text(path)), ("expected", text(expected)), ("got", text(got))]
            }
            NoGradient { op, why } | NoBatch { op, why } => vec![("op", text(op)), ("reason", text(why))],
            Promotion { lhs, rhs, rules } => {
                vec![("lhs", text(lhs)), ("rhs", text(rhs)), ("rules", text(rules))]
            }
            ComplexToReal { from, to } => vec![("from", text(from)), ("to", text(to))],
            Bitcast { from, to, shape: s, reason } => {
                vec![("from", text(from)), ("to", text(to)), ("shape", shape(s)), ("reason", text(reason))]
            }
            ShapeMismatch { op, lhs, rhs } => {
                vec![("op", text(op)), ("lhs", shape(lhs)), ("rhs", shape(rhs))]
            }
            Broadcast { from, to, axis, .. } => {
                vec![("from", shape(from)), ("to", shape(to)), ("axis", number(axis.one_based()))]
            }
            BroadcastRank { from, to } => vec![("from", shape(from)), ("to", shape(to))],
            DataLength { len, shape: s, size } => {
                vec![("len", number(*len)), ("shape", shape(s)), ("size", number(*size))]
            }
            Reshape { op, from, to } => vec![("op", text(op)), ("from", shape(from)), ("to", shape(to))],
            TooLarge { shape } => vec![("shape", text(shape))],
            Rank { op, operand, expected, shape: s, .. } => {
                vec![
                    ("op", text(op)),
                    ("operand", text(operand)),
                    ("expected", text(expected)),
                    ("shape", shape(s)),
                ]
            }
            Square { op, operand, shape: s, rows, columns } => {
                vec![
                    ("op", text(op)),
                    ("operand", text(operand)),
                    ("shape", shape(s)),
                    ("rows", number(*rows)),
                    ("columns", number(*columns)),
                ]
            }
            SizeMismatch { op, lhs, rhs, l, r, .. } => {
                vec![
                    ("op", text(op)),
                    ("lhs", shape(lhs)),
                    ("rhs", shape(rhs)),
                    ("sizes", numbers(&[*l, *r])),
                ]
            }
            AxisOutOfRange { op, got, shape: s } => {
                vec![
                    ("op", text(op)),
                    ("axis", Field::Numbers(vec![*got as f64])),
                    ("shape", shape(s)),
                    ("rank", number(s.rank())),
                ]
            }
            DuplicateAxis { op, axis } => vec![("op", text(op)), ("axis", number(axis.one_based()))],
            Permutation { op, expected, got } => {
                vec![("op", text(op)), ("expected", text(expected)), ("got", text(got))]
            }
            IndexOutOfBounds { index, axis, size } => {
                vec![("index", text(index)), ("axis", number(axis.one_based())), ("size", number(*size))]
            }
            IndexOutOfRange { value, axis, size, .. } => {
                vec![
                    ("value", Field::Numbers(vec![*value as f64])),
                    ("axis", number(axis.one_based())),
                    ("size", number(*size)),
                ]
            }
            SubscriptCount { got, shape: s, .. } => {
                vec![("got", number(*got)), ("shape", shape(s)), ("rank", number(s.rank()))]
            }
            SingleSubscript { shape: s, .. } => vec![("shape", shape(s)), ("rank", number(s.rank()))],
            Subscript { axis, expected, got, .. } => {
                vec![("axis", number(axis.one_based())), ("expected", text(expected)), ("got", text(got))]
            }
            AssignDtype { value, to } => vec![("value", text(value)), ("to", text(to))],
            AssignShape { value, subset } => vec![("value", shape(value)), ("subset", shape(subset))],
            Window { window, axis, size } => {
                vec![("window", number(*window)), ("axis", number(axis.one_based())), ("size", number(*size))]
            }
            LeakedTracer { trace, state } => vec![("trace", text(trace)), ("state", text(state))],
            Donated => vec![],
            Export { op, why, .. } => vec![("op", text(op)), ("reason", text(why))],
            Mesh { input, axis, size, devices } => {
                vec![
                    ("input", number(*input)),
                    ("axis", number(axis.one_based())),
                    ("size", number(*size)),
                    ("devices", number(*devices)),
                ]
            }
            OutOfMemory { bytes } => vec![("bytes", number(*bytes))],
            Internal { detail } => vec![("detail", text(detail))],
        }
    }

    /// The same error about an argument of another name.
    pub fn for_argument(self, name: &str) -> Error {
        match self {
            Error::Arg { expected, got, hint, .. } => Error::Arg { arg: name.into(), expected, got, hint },
            Error::MissingValue { dtype, count, positions, .. } => {
                Error::MissingValue { arg: name.into(), dtype, count, positions }
            }
            other => other,
        }
    }

    /// An argument error without a hint.
    pub fn arg(arg: impl Into<String>, expected: impl Into<String>, got: impl Into<String>) -> Error {
        Error::Arg { arg: arg.into(), expected: expected.into(), got: got.into(), hint: String::new() }
    }
}

fn hint_line(hint: &str) -> String {
    if hint.is_empty() {
        String::new()
    } else {
        format!("\ni {hint}")
    }
}

fn bounds(size: usize) -> String {
    match size {
        0 => "\ni It has no elements.".into(),
        1 => "\ni Its only index is 1.".into(),
        n => format!("\ni Indices run from 1 to {n}."),
    }
}

fn in_call(call: &str) -> String {
    if call.is_empty() {
        String::new()
    } else {
        format!(", in {call}")
    }
}

/// Where windows of this size may start.
fn starts(size: usize, window: usize) -> String {
    match size.checked_sub(window) {
        _ if window <= 1 => bounds(size),
        None => String::new(),
        Some(last) => format!("\ni A window of size {window} starts at 1 to {}.", last + 1),
    }
}

/// Which values can be assigned: of subscripts those of as many elements, of slices those of their shape.
fn fitting(value: &Shape, subset: &Shape) -> &'static str {
    match value.size() == subset.size() {
        true => "Shapes must be equal, or the value 0-d.",
        false => "There must be as many elements, or one.",
    }
}

/// What to do about a position that is out of range.
fn other_modes(value: i64, call: &str) -> &'static str {
    if value == 0 && call.starts_with("`match(") {
        "An element without a match has no position: `match(.., nomatch = 0L)` gives 0 for it, `x %in% table` says which have one."
    } else if value < 0 {
        "A position in a tensor counts from 1. In a traced function `x[-i]` leaves these out, where it is written so; `x[nv_which(!nv_isin(seq_along(x), i), size = n)]` has the n others."
    } else {
        "The argument `mode` of `nv_subset()` and its like chooses otherwise: \"clip\" moves an index to the nearest, \"drop\" leaves it out."
    }
}

fn plural(n: usize) -> &'static str {
    if n == 1 {
        ""
    } else {
        "s"
    }
}

fn lacks(dtype: DType) -> &'static str {
    if dtype.is_float() || dtype.is_complex() {
        "stores as NaN only if they are doubles"
    } else {
        "cannot represent"
    }
}

fn instead_of_missing(dtype: DType) -> &'static str {
    if dtype.is_float() || dtype.is_complex() {
        "Convert with `as.double()` first, which makes them `NA_real_`, or replace them."
    } else {
        "Replace them first, or use a float dtype and `as.double()`: `NA_real_` becomes NaN."
    }
}

fn axes(n: usize) -> String {
    if n == 1 {
        "1 axis".into()
    } else {
        format!("{n} axes")
    }
}

/// Why two shapes do not meet in an elementwise op, and what to do: bullets, each after a line break.
fn meeting(lhs: &Shape, rhs: &Shape) -> String {
    let (short, long) = if lhs.rank() <= rhs.rank() { (lhs, rhs) } else { (rhs, lhs) };
    // Whether R would recycle one as a whole: what it means is said, not done.
    let recycled = |short: &Shape, long: &Shape| {
        let whole = short.rank() == 1 && short.size() > 0 && long.size() % short.size() == 0;
        whole.then(|| format!("`rep_len(x, {})` repeats the shorter one as R recycles it", long.size()))
    };
    if let ([length], true) = (&short[..], long.rank() > 1) {
        let mut lengths: Vec<usize> = (1..=long.rank()).map(|axes| long[..axes].iter().product()).collect();
        lengths.dedup();
        let lengths: Vec<String> = lengths.iter().map(usize::to_string).collect();
        let advice = if long.last() == Some(length) {
            format!("`nv_broadcast_to(x, c({}))` lays it along the last axis instead", list(long))
        } else if let Some(advice) = recycled(short, long) {
            advice
        } else {
            "`nv_broadcast_to()` and `nv_reshape()` give it the shape that you mean".into()
        };
        return format!(
            "\nx A 1-d operand is repeated down the first axes, as in R, and must be as long as they are: {}, not {length}.\ni {advice}.",
            lengths.join(" or ")
        );
    }
    if long.rank() == 1 {
        let (short, long) = if lhs.size() <= rhs.size() { (lhs, rhs) } else { (rhs, lhs) };
        if let Some(advice) = recycled(short, long) {
            return format!("\nx Two 1-d operands must be equally long.\ni {advice}.");
        }
    }
    let advice = if lhs.broadcast(rhs).is_ok() {
        "Axes of size 1 are not repeated by themselves: `nv_broadcast_tensors()` and `nv_broadcast_to()` do that"
    } else if long.rank() == 1 {
        "Two 1-d operands must be equally long: neither is recycled"
    } else if lhs.iter().eq(rhs.iter().rev()) {
        "`t()` transposes one of them"
    } else if lhs.size() == rhs.size() {
        "`nv_reshape()` gives one the shape of the other"
    } else {
        "`nv_broadcast_to()` repeats an operand along the axes that you mean"
    };
    format!("\nx Shapes must be equal, or one operand 0-d, or 1-d and as long as the first axes of the other.\ni {advice}.")
}

fn list(xs: &[usize]) -> String {
    xs.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
