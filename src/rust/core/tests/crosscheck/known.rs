//! The list of intended differences between anvil and XLA: what differs, why, and the source. All versions
//! are those of jaxlib 0.10.2, on a CPU.
#![allow(dead_code)] // each test file uses a part

use super::compare::{is_subnormal, Typed};
use anvil_core::dtype::DType;
use anvil_core::graph::Operation;
use anvil_core::ops::{Graph, Op};
use anvil_core::tensor::Layout;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One element of a result, on both sides: a number, or the two parts of a complex one.
pub struct Pair<'a> {
    pub dtype: DType,
    /// Whether the op sums.
    pub sums: bool,
    /// Whether its first operand is complex.
    pub of_complex: bool,
    pub anvil: &'a [f64],
    pub xla: &'a [f64],
}

impl Pair<'_> {
    fn has(&self, what: impl Fn(f64) -> bool) -> bool {
        self.anvil.iter().chain(self.xla).any(|&x| what(x))
    }
}

/// A difference of single elements.
pub struct Known {
    /// Ops, by name; all if there are none.
    pub ops: &'static [&'static str],
    pub when: fn(&Pair) -> bool,
    /// A sentence, and its source.
    pub why: &'static str,
}

pub const ELEMENTS: &[Known] = &[
    Known {
        ops: &[],
        when: |pair| {
            let gone = |&x: &f64| x == 0.0 || is_subnormal(pair.dtype.part(), x);
            pair.has(|x| is_subnormal(pair.dtype.part(), x))
                && pair.anvil.iter().zip(pair.xla).all(|(x, y)| x == y || x.is_nan() && y.is_nan() || gone(x) && gone(y))
        },
        why: "XLA's CPU backend flushes subnormal results to 0, and anvil keeps them. StableHLO leaves it to IEEE 754; XLA \
              sets the processor's flags (xla/tsl/platform/denormal.h, ScopedFlushDenormal).",
    },
    Known {
        ops: &["mul", "mul_no_nan", "div", "pow", "tan", "tanh", "reduce_prod", "dot_general", "scatter", "reduce_sum", "cumsum", "cumprod"],
        when: |pair| pair.dtype.is_complex() && pair.has(|x| !x.is_finite()),
        why: "Complex products and quotients whose parts are infinite or overflow: anvil follows C99, Annex G, where such a \
              product is infinite; XLA takes the formulas of the parts, which give NaN (StableHLO, `multiply`, defers to \
              no standard for complex numbers).",
    },
    Known {
        ops: &["lgamma"],
        when: |pair| {
            let near = |x: f64| x.abs() < 0.5;
            pair.dtype == DType::F64 && pair.anvil.iter().zip(pair.xla).all(|(&x, &y)| near(x) && (x - y).abs() < 4e-16)
        },
        why: "lgamma(x) near its zeros on the negative axis: XLA subtracts two numbers of about 1 (CHLO, `lgamma`); \
              lgamma(-2.687377583990001) is -0.08433120914522267, by 50 digits, and XLA 13 units from it, anvil 3.",
    },
    Known {
        ops: &["concatenate"],
        when: |pair| pair.dtype.is_complex() && pair.anvil.iter().zip(pair.xla).all(|(x, y)| (x - y).abs() <= 1e-14 * x.abs()),
        why: "Joined products of complex numbers: XLA computes them once for their own result and again in the loop that joins \
              them, whose products are rounded otherwise (a fusion may contract a product and a sum).",
    },
    Known {
        ops: &["lgamma"],
        when: |pair| pair.anvil.iter().all(|&x| x == f64::INFINITY) && pair.xla.iter().all(|x| x.is_finite()),
        why: "lgamma of a negative whole number that is the square of an integer modulo 2^n, where it has a pole: XLA takes every \
              x * x for what is not negative, and leaves out the absolute value (algebraic_simplifier.cc, IsNonNegative).",
    },
    Known {
        ops: &["pow"],
        when: |pair| pair.dtype.is_complex() && pair.anvil.iter().all(|&x| x == 0.0),
        why: "0 to a complex power of positive real part: its limit, 0, in anvil; NaN in XLA, from exp(w log 0).",
    },
    Known {
        ops: &["polygamma"],
        when: |pair| pair.has(|x| !x.is_finite()) || (pair.xla[0] == 0.0 && pair.anvil[0].abs() < 1e-100),
        why: "polygamma(n, x) beyond the range, for negative x, and far out: XLA multiplies exp(lgamma(n + 1)) and a zeta \
              function that is NaN or 0 there (CHLO, `polygamma` and `zeta`); anvil has the limits, and 1 / x for n = 1.",
    },
    Known {
        ops: &["atan", "atanh"],
        when: |pair| pair.dtype.is_complex() && pair.xla[0].is_infinite() | pair.xla[1].is_infinite(),
        why: "atanh(1 + iy) and atan(x + i) where y or x is tiny, about log(2 / y) / 2: XLA's expansion (CHLO, `atanh`) squares \
              it, and has an infinity.",
    },
    Known {
        ops: &["scatter"],
        when: |pair| pair.has(|x| !x.is_finite() || x == 0.0),
        why: "Several updates by a product in one place: another order overflows, or vanishes, on the way (StableHLO, `scatter`, \
              leaves the order open).",
    },
    Known {
        ops: &["cumprod"],
        when: |pair| pair.has(|x| !x.is_finite() || x == 0.0),
        why: "Cumulative products: anvil multiplies one element after the other, the formula products of neighbours, which \
              overflow or vanish elsewhere on the way.",
    },
    Known {
        ops: &["reduce_max", "reduce_min"],
        when: |pair| pair.anvil.iter().all(|x| x.is_nan()) && !pair.dtype.is_complex(),
        why: "Maximum and minimum of many elements of which some are NaN: XLA's vectorised loops lose them, against IEEE 754 and \
              StableHLO (`maximum`).",
    },
    Known {
        ops: &["magnitude", "asin", "acos", "atan", "asinh", "acosh", "atanh", "sqrt", "log", "log1p", "log2", "log10", "exp", "sin", "cos", "sinh", "cosh"],
        when: |pair| (pair.dtype.is_complex() || pair.of_complex) && pair.has(f64::is_nan),
        why: "Complex functions where a part of the operand is NaN: the parts that C99, Annex G, gives a NaN or a limit; XLA's \
              expansions (CHLO) go by branches that a NaN does not take.",
    },
    Known {
        ops: &["dot_general", "reduce_sum", "cumsum", "scatter", "mul", "div", "pow", "tanh", "tan"],
        when: |pair| {
            let zeros = pair.anvil.iter().zip(pair.xla).all(|(x, y)| x.to_bits() == y.to_bits() || *x == 0.0 && *y == 0.0);
            zeros && (pair.dtype.is_complex() || pair.sums)
        },
        why: "The sign of a zero that is a sum of signed zeros: it depends on the first term, and on whether products of \
              complex numbers are one sum or two (StableHLO, `reduce` and `dot_general`, leave the order open).",
    },
    Known {
        ops: &["log", "log1p", "log2", "log10", "acosh", "asinh"],
        when: |pair| pair.anvil.iter().any(|x| x.is_infinite()),
        why: "log(exp(x)) and log(sqrt(exp(x))), in whatever op, where exp(x) is infinite: XLA makes x and x / 2 of them \
              (algebraic_simplifier.cc, HandleLog).",
    },
    Known {
        ops: &["log10", "log2", "log"],
        when: |pair| pair.dtype.is_complex() && pair.anvil.iter().zip(pair.xla).all(|(x, y)| (x - y).abs() <= 1e-14 * x.abs()),
        why: "Logarithms of complex numbers whose modulus is near 1: XLA's lose some digits of the real part (-0.10637874296065489 \
              is log10(0.7827467210850996), by 50 digits; XLA is 36 units from it).",
    },
    Known {
        ops: &["add", "sub"],
        when: |pair| pair.anvil.iter().zip(pair.xla).all(|(x, y)| x == y),
        why: "x + 0 and x - 0 where x is -0: XLA takes them for x (algebraic_simplifier.cc, HandleAdd), and so does not make \
              the 0 of IEEE 754.",
    },
    Known {
        ops: &["mul", "mul_no_nan", "div", "floor_div"],
        when: |pair| pair.xla.iter().all(|&x| x == 0.0) && pair.anvil.iter().all(|&x| x == 0.0 || x.is_nan()),
        why: "Products of a converted boolean, and quotients of it and a constant: XLA makes `select(b, x, 0)` of them \
              (algebraic_simplifier.cc, HandleMultiply), so that -1 * 0, Inf * 0 and 0 / 0 are 0.",
    },
];

/// The number of times that each was met.
static MET: [AtomicUsize; ELEMENTS.len()] = [const { AtomicUsize::new(0) }; ELEMENTS.len()];

/// Whether this difference of an element is known.
pub fn is_known(op: &Op, pair: &Pair) -> bool {
    let of_op = |known: &Known| known.ops.is_empty() || known.ops.contains(&op.row().name);
    let found = ELEMENTS.iter().position(|known| of_op(known) && (known.when)(pair));
    if let Some(i) = found {
        MET[i].fetch_add(1, Ordering::Relaxed);
    }
    found.is_some()
}

/// Differences that were met, a line for each.
pub fn summary() -> String {
    let line = |(known, met): (&Known, &AtomicUsize)| {
        format!("{:>7} elements: {}\n", met.load(Ordering::Relaxed), known.why)
    };
    ELEMENTS.iter().zip(&MET).map(line).collect()
}

/// Whether a node cannot be judged: what it reads is subnormal, and so 0 to XLA (see [`ELEMENTS`]).
pub fn reads_subnormals(op: &Op, operands: &[Typed]) -> bool {
    let is_view = |(x, _): &Typed| {
        let made = op.infer(&[x]).expect("a node of a program");
        op.as_view(&x.shape, &Layout::dense(&x.shape), &made[0]).is_some()
    };
    let moves = op.joined().is_some() || matches!(operands, [operand] if is_view(operand));
    let subnormal = |(aval, x): &Typed| {
        super::compare::is_inexact(aval.dtype)
            && super::compare::numbers(aval.dtype, x).iter().any(|&x| is_subnormal(aval.dtype.part(), x))
    };
    !moves && operands.iter().any(subnormal)
}

/// Whether a program is not for XLA: one that prints, which functions of scatters do, has no lowering.
pub fn is_beyond(graph: &Graph) -> bool {
    let beyond =
        |op: &Op| matches!(op, Op::Print(_)) || op.regions().iter().any(|(_, region)| is_beyond(region));
    graph.nodes().iter().any(|node| beyond(&node.op))
}
