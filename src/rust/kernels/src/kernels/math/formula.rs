//! Formulas: the functions of this module as data, for those who generate code.
//!
//! A [`Formula`] is what a function computes of one element: a straight line of [`Step`]s, each an
//! [`Operation`] on the results of earlier steps, which are known by their numbers. [`Kernel1::formula`](super::Kernel1::formula)
//! and those of more operands give that of a kernel and a dtype. It is recorded from the very code that the kernels
//! are compiled from, which runs once on lanes that note what is asked of them ([`Recorded`]), so that code
//! made of it gives their bits:
//!
//! * Steps are IEEE operations, each rounded once, to be done as they are, on lanes of any number: one element
//!   or a vector. Those of a function of singles that is computed in doubles are on doubles, from a
//!   [`Operation::Widen`] to the [`Operation::Narrow`].
//! * Comparisons make masks, as do [`Operation::Both`], [`Operation::Either`] and [`Operation::Not`]; a mask
//!   is read by these, by [`Operation::Select`] as its first operand, and by guards.
//! * **Guards** ([`Formula::guards`]) are masks: where one is true, something rare is the case, and the result
//!   of the steps means nothing. Such an element, or the whole vector that it is in, is to be computed by the
//!   total formula or by the kernel, which are slower, and give the same bits for all elements that no guard is
//!   true of.
//! * A **total formula** ([`Kernel1::total_formula`](super::Kernel1::total_formula)) has no guards: it is the way
//!   that a kernel takes for a vector in whose lanes everything rare occurs. Functions that look at lanes one by
//!   one on that way have none.
//! * Equal steps are one; a step comes after those that it reads, and each is read.

use super::lanes::{by_estrin, by_horner, Lanes, Singles};
use std::cell::RefCell;
use std::collections::HashMap;
use std::mem::take;
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Not, Sub};
use std::sync::OnceLock;

/// What a step does with its operands `x`, `y` and `z`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operation {
    /// The argument of the function with this number.
    Argument(usize),
    /// A number with these bits; the low 32 of singles.
    Constant(u64),
    /// `x + y`.
    Add,
    /// `x - y`.
    Sub,
    /// `x * y`.
    Mul,
    /// `x / y`.
    Div,
    /// `x * y + z`, rounded once.
    MulAdd,
    /// `z - x * y`, rounded once.
    NegMulAdd,
    /// Square root.
    Sqrt,
    /// `x` where `x < y`, else `y`.
    Min,
    /// `x` where `y < x`, else `y`.
    Max,
    /// Whether `x < y`; false for NaN.
    Lt,
    /// Whether `x <= y`; false for NaN.
    Le,
    /// Whether `x == y`; false for NaN.
    Same,
    /// `y` where the mask `x` is true, else `z`.
    Select,
    /// `y` where `x` is NaN and `y` is 0, else `x`: no formula has it. The comparison of `x` with itself has the
    /// bits of 0 where `x` is NaN, and elsewhere those of a NaN: `y` where it equals that, which takes no zero.
    ZeroForNan,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Bitwise and of `y` and the complement of `x`.
    NotAnd,
    /// Sum of the bits as integers, which wrap.
    AddBits,
    /// Difference of the bits as integers.
    SubBits,
    /// Bits shifted left; zeros enter.
    Shl(u32),
    /// Bits shifted right; zeros enter.
    Shr(u32),
    /// Whether both masks are true.
    Both,
    /// Whether one of the masks is true.
    Either,
    /// Whether the mask is false.
    Not,
    /// The single as a double.
    Widen,
    /// The double as a single, rounded.
    Narrow,
}

/// A step of a formula.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Step {
    /// What it does.
    pub operation: Operation,
    /// Whether its result is a double, or a mask of doubles.
    pub is_double: bool,
    operands: [usize; 3],
    count: usize,
}

impl Step {
    /// The numbers of the steps that it reads.
    pub fn operands(&self) -> &[usize] {
        &self.operands[..self.count]
    }

    /// Whether its result is a mask.
    pub fn is_mask(&self) -> bool {
        use Operation::*;
        matches!(self.operation, Lt | Le | Same | Both | Either | Not)
    }
}

/// What a function computes of one element.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Formula {
    /// Its steps.
    pub steps: Vec<Step>,
    /// Masks, by the numbers of their steps: where one is true, the kernel computes the result.
    pub guards: Vec<usize>,
    /// The step that makes the result.
    pub result: usize,
}

/// The formulas of a kernel, of singles and of doubles: how they are recorded, and what was.
#[derive(Debug)]
pub(super) struct Formulas {
    record: [fn() -> Formula; 2],
    guarded: [OnceLock<Formula>; 2],
    total: [OnceLock<Option<Formula>>; 2],
}

impl Formulas {
    /// Formulas that are recorded when they are first asked for: of singles, of doubles.
    pub(super) const fn by(record: [fn() -> Formula; 2]) -> Formulas {
        Formulas {
            record,
            guarded: [OnceLock::new(), OnceLock::new()],
            total: [OnceLock::new(), OnceLock::new()],
        }
    }

    /// The formula of doubles or of singles.
    pub(super) fn guarded(&self, is_double: bool) -> &Formula {
        let at = usize::from(is_double);
        self.guarded[at].get_or_init(|| {
            RECORDER.take();
            self.record[at]()
        })
    }

    /// The total formula of doubles or of singles, unless it is far longer.
    pub(super) fn total(&self, is_double: bool) -> Option<&Formula> {
        let at = usize::from(is_double);
        let record = || {
            RECORDER.set(Recorder { is_total: true, ..Recorder::default() });
            let total = self.record[at]();
            let reads_lanes = RECORDER.take().reads_lanes;
            Some(total).filter(|total| !reads_lanes && total.steps.len() <= LONG)
        };
        self.total[at].get_or_init(record).as_ref()
    }
}

/// Steps of a total formula, at most: a call of the kernel takes no longer than so many.
const LONG: usize = 150;

// ---- recording

/// The formula that is being recorded.
#[derive(Default)]
struct Recorder {
    steps: Vec<Step>,
    known: HashMap<Step, usize>,
    guards: Vec<usize>,
    /// Whether everything rare is taken to be the case.
    is_total: bool,
    /// Whether elements were read one by one.
    reads_lanes: bool,
}

thread_local! {
    static RECORDER: RefCell<Recorder> = RefCell::default();
}

/// The formula of a function of singles, given its arguments.
pub(super) fn record<const N: usize>(function: impl FnOnce([Recorded; N]) -> Recorded) -> Formula {
    written(|| function(std::array::from_fn(|i| Recorded(step(Operation::Argument(i), false, &[])))).0)
}

/// The formula of a function of doubles, given its arguments.
pub(super) fn record_double<const N: usize>(
    function: impl FnOnce([RecordedDouble; N]) -> RecordedDouble,
) -> Formula {
    written(|| function(std::array::from_fn(|i| RecordedDouble(step(Operation::Argument(i), true, &[])))).0)
}

/// The formula of what a function does, which returns the number of its result.
fn written(function: impl FnOnce() -> usize) -> Formula {
    let result = function();
    let (steps, guards) =
        RECORDER.with_borrow_mut(|recorder| (take(&mut recorder.steps), take(&mut recorder.guards)));
    // What is not read is left out.
    let mut is_read = vec![false; steps.len()];
    guards.iter().chain([&result]).for_each(|&at| is_read[at] = true);
    for (at, step) in steps.iter().enumerate().rev() {
        if is_read[at] {
            step.operands().iter().for_each(|&x| is_read[x] = true);
        }
    }
    let (mut numbers, mut left) = (vec![0; steps.len()], vec![]);
    for (at, mut step) in steps.into_iter().enumerate().filter(|&(at, _)| is_read[at]) {
        numbers[at] = left.len();
        (0..step.count).for_each(|i| step.operands[i] = numbers[step.operands[i]]);
        left.push(step);
    }
    Formula {
        steps: left,
        guards: guards.into_iter().map(|at| numbers[at]).collect(),
        result: numbers[result],
    }
}

/// Records a step, unless an equal one is known; returns its number.
fn step(operation: Operation, is_double: bool, from: &[usize]) -> usize {
    if let (Operation::NotAnd, &[x, y]) = (operation, from) {
        // The complement of a constant is one.
        let constant = RECORDER.with_borrow(|recorder| recorder.steps[x].operation);
        if let Operation::Constant(bits) = constant {
            let mask = if is_double { u64::MAX } else { u64::from(u32::MAX) };
            return step(
                Operation::And,
                is_double,
                &[y, step(Operation::Constant(!bits & mask), is_double, &[])],
            );
        }
    }
    let mut operands = [0; 3];
    operands[..from.len()].copy_from_slice(from);
    let step = Step { operation, is_double, operands, count: from.len() };
    RECORDER.with_borrow_mut(|recorder| {
        *recorder.known.entry(step).or_insert_with(|| {
            recorder.steps.push(step);
            recorder.steps.len() - 1
        })
    })
}

/// Guards a mask; whether it is taken to be true.
fn guard(mask: usize) -> bool {
    RECORDER.with_borrow_mut(|recorder| {
        if !recorder.is_total && !recorder.guards.contains(&mask) {
            recorder.guards.push(mask);
        }
        recorder.is_total
    })
}

/// Notes that elements are read or written one by one. The result means nothing.
fn lanes() -> usize {
    RECORDER.with_borrow_mut(|recorder| recorder.reads_lanes = true);
    0
}

/// A single that is not computed: the number of the step that would.
#[derive(Clone, Copy)]
pub(super) struct Recorded(usize);

/// As [`Recorded`], a double.
#[derive(Clone, Copy)]
pub(super) struct RecordedDouble(usize);

/// A mask that is not computed.
#[derive(Clone, Copy)]
pub(super) struct RecordedMask<const DOUBLE: bool>(usize);

impl<const DOUBLE: bool> BitAnd for RecordedMask<DOUBLE> {
    type Output = Self;
    #[inline(never)]
    fn bitand(self, y: Self) -> Self {
        RecordedMask(step(Operation::Both, DOUBLE, &[self.0, y.0]))
    }
}

impl<const DOUBLE: bool> BitOr for RecordedMask<DOUBLE> {
    type Output = Self;
    #[inline(never)]
    fn bitor(self, y: Self) -> Self {
        RecordedMask(step(Operation::Either, DOUBLE, &[self.0, y.0]))
    }
}

impl<const DOUBLE: bool> Not for RecordedMask<DOUBLE> {
    type Output = Self;
    #[inline(never)]
    fn not(self) -> Self {
        RecordedMask(step(Operation::Not, DOUBLE, &[self.0]))
    }
}

/// Methods of lanes that are a step each.
macro_rules! steps {
    ($double:literal: $(fn $name:ident($($arg:ident: $type:ty),*) -> $out:ident = $operation:expr;)+) => {$(
        #[inline(never)]
        fn $name($($arg: $type),*) -> $out<$double> {
            $out(step($operation, $double, &[$($arg.0),*]))
        }
    )+};
    ($double:literal, $vector:ident: $(fn $name:ident($($arg:ident: $type:ty),*) = $operation:expr;)+) => {$(
        #[inline(never)]
        fn $name($($arg: $type),*) -> $vector {
            $vector(step($operation, $double, &[$($arg.0),*]))
        }
    )+};
}

macro_rules! recorded {
    ($vector:ident, $scalar:ident, $double:literal, |$x:ident| $bits:expr) => {
        recorded! { @ $vector $double Add add }
        recorded! { @ $vector $double Sub sub }
        recorded! { @ $vector $double Mul mul }
        recorded! { @ $vector $double Div div }
        impl Lanes for $vector {
            type Scalar = $scalar;
            type Mask = RecordedMask<$double>;
            const LANES: usize = 1;
            const DOUBLE: bool = $double;
            #[inline(never)]
            fn of($x: f64) -> Self {
                $vector(step(Operation::Constant($bits), $double, &[]))
            }
            #[inline(never)]
            fn of_bits(x: u64) -> Self {
                let x = if $double { x } else { x & u64::from(u32::MAX) };
                $vector(step(Operation::Constant(x), $double, &[]))
            }
            fn load(_: &[$scalar]) -> Self {
                $vector(lanes())
            }
            fn store(self, _: &mut [$scalar]) {
                lanes();
            }
            #[inline(never)]
            fn any(mask: RecordedMask<$double>) -> bool {
                guard(mask.0)
            }
            #[inline(never)] // Their code would be long.
            fn horner<const N: usize>(self, coefficients: &[f64; N]) -> Self {
                by_horner(self, coefficients)
            }
            #[inline(never)]
            fn polynomial<const N: usize>(self, coefficients: &[f64; N]) -> Self {
                by_estrin(self, coefficients)
            }
            #[inline(never)]
            fn shl(self, by: u32) -> Self {
                $vector(step(Operation::Shl(by), $double, &[self.0]))
            }
            #[inline(never)]
            fn shr(self, by: u32) -> Self {
                $vector(step(Operation::Shr(by), $double, &[self.0]))
            }
            steps! { $double:
                fn lt(self: Self, y: Self) -> RecordedMask = Operation::Lt;
                fn le(self: Self, y: Self) -> RecordedMask = Operation::Le;
                fn same(self: Self, y: Self) -> RecordedMask = Operation::Same;
            }
            steps! { $double, $vector:
                fn select(mask: RecordedMask<$double>, x: Self, y: Self) = Operation::Select;
                fn mul_add(self: Self, y: Self, z: Self) = Operation::MulAdd;
                fn neg_mul_add(self: Self, y: Self, z: Self) = Operation::NegMulAdd;
                fn sqrt(self: Self) = Operation::Sqrt;
                fn min(self: Self, y: Self) = Operation::Min;
                fn max(self: Self, y: Self) = Operation::Max;
                fn and(self: Self, y: Self) = Operation::And;
                fn or(self: Self, y: Self) = Operation::Or;
                fn xor(self: Self, y: Self) = Operation::Xor;
                fn not_and(self: Self, y: Self) = Operation::NotAnd;
                fn add_bits(self: Self, y: Self) = Operation::AddBits;
                fn sub_bits(self: Self, y: Self) = Operation::SubBits;
            }
        }
    };
    (@ $vector:ident $double:literal $operation:ident $method:ident) => {
        impl $operation for $vector {
            type Output = Self;
            #[inline(never)]
            fn $method(self, y: Self) -> Self {
                $vector(step(Operation::$operation, $double, &[self.0, y.0]))
            }
        }
    };
}
recorded! { Recorded, f32, false, |x| u64::from((x as f32).to_bits()) }
recorded! { RecordedDouble, f64, true, |x| x.to_bits() }

impl Singles for Recorded {
    type Double = RecordedDouble;
    const TOGETHER: bool = false;
    fn widen(self) -> (RecordedDouble, RecordedDouble) {
        let wide = RecordedDouble(step(Operation::Widen, true, &[self.0]));
        (wide, wide)
    }
    fn narrow(low: RecordedDouble, high: RecordedDouble) -> Self {
        assert!(low.0 == high.0, "both halves are computed in one way");
        Recorded(step(Operation::Narrow, false, &[low.0]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::math::*;

    /// The bits of the result of a formula; `None` if a guard is true.
    fn run(formula: &Formula, arguments: &[u64]) -> Option<u64> {
        let mut made: Vec<u64> = vec![];
        for step in &formula.steps {
            let at = |i: usize| made[step.operands()[i]];
            macro_rules! float {
                ($float:ident, $bits:ident, $fma:path) => {{
                    let v = |i: usize| $float::from_bits(at(i) as $bits);
                    let bits = |x: $float| u64::from(x.to_bits());
                    let b = |i: usize| at(i) as $bits;
                    match step.operation {
                        Operation::Add => bits(v(0) + v(1)),
                        Operation::Sub => bits(v(0) - v(1)),
                        Operation::Mul => bits(v(0) * v(1)),
                        Operation::Div => bits(v(0) / v(1)),
                        Operation::MulAdd => bits($fma(v(0), v(1), v(2))),
                        Operation::NegMulAdd => bits($fma(-v(0), v(1), v(2))),
                        Operation::Sqrt => bits(v(0).sqrt()),
                        Operation::Min => bits(if v(0) < v(1) { v(0) } else { v(1) }),
                        Operation::Max => bits(if v(1) < v(0) { v(0) } else { v(1) }),
                        Operation::Lt => u64::from(v(0) < v(1)),
                        Operation::Le => u64::from(v(0) <= v(1)),
                        Operation::Same => u64::from(v(0) == v(1)),
                        Operation::And => u64::from(b(0) & b(1)),
                        Operation::Or => u64::from(b(0) | b(1)),
                        Operation::Xor => u64::from(b(0) ^ b(1)),
                        Operation::NotAnd => u64::from(!b(0) & b(1)),
                        Operation::AddBits => u64::from(b(0).wrapping_add(b(1))),
                        Operation::SubBits => u64::from(b(0).wrapping_sub(b(1))),
                        Operation::Shl(by) => u64::from(b(0) << by),
                        Operation::Shr(by) => u64::from(b(0) >> by),
                        _ => unreachable!("of masks and of two widths"),
                    }
                }};
            }
            let x = match step.operation {
                Operation::Argument(i) => arguments[i],
                Operation::Constant(bits) => bits,
                Operation::Select => at(if at(0) == 1 { 1 } else { 2 }),
                Operation::Both => at(0) & at(1),
                Operation::Either => at(0) | at(1),
                Operation::Not => 1 - at(0),
                Operation::Widen => f64::from(f32::from_bits(at(0) as u32)).to_bits(),
                Operation::Narrow => u64::from((f64::from_bits(at(0)) as f32).to_bits()),
                _ if formula.steps[step.operands()[0]].is_double => float!(f64, u64, libm::fma),
                _ => float!(f32, u32, libm::fmaf),
            };
            made.push(x);
        }
        formula.guards.iter().all(|&mask| made[mask] == 0).then(|| made[formula.result])
    }

    /// Numbers of all sizes, special ones, and NaN with a payload.
    fn numbers(is_double: bool) -> Vec<u64> {
        let mut state = 1u64;
        // The constants are Knuth's (TAOCP, volume 2, 3.3.4, line 26).
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state ^ state >> 32
        };
        let special = [0.0, 1.0, 0.5, 2.0, 1e-300, 1e300, 1e-40, 88.0, 709.0, 1e-9, f64::INFINITY, f64::NAN];
        let special = special.into_iter().flat_map(|x: f64| [x, -x]);
        let near = (0..4000).map(|_| (next() % 4_000_000) as f64 / 1e5 - 20.0).collect::<Vec<_>>();
        let of = |x: f64| if is_double { x.to_bits() } else { u64::from((x as f32).to_bits()) };
        let mut all: Vec<u64> = special.chain(near).map(of).collect();
        let any = (0..4000).map(|_| if is_double { next() } else { next() >> 32 });
        all.extend(any);
        all
    }

    fn check1(kernel: &Kernel1) {
        for is_double in [false, true] {
            let Some(formula) = kernel.formula(is_double) else { continue };
            let total = kernel.total_formula(is_double);
            assert!(total.is_none_or(|total| total.guards.is_empty()));
            let mut right = 0;
            for x in numbers(is_double) {
                let want = if is_double {
                    single(kernel, f64::from_bits(x)).to_bits()
                } else {
                    u64::from(single(kernel, f32::from_bits(x as u32)).to_bits())
                };
                if let Some(y) = total.and_then(|total| run(total, &[x])) {
                    assert_eq!(y, want, "{kernel:?} of {x:x}, {y:x} in place of {want:x}");
                }
                let Some(y) = run(formula, &[x]) else { continue };
                assert_eq!(y, want, "{kernel:?} of {x:x}, {y:x} in place of {want:x}");
                right += 1;
            }
            assert!(right > 300, "{kernel:?}: guards are rare, {right} are right");
        }
    }

    #[test]
    fn formulas_of_one_number_give_the_bits_of_kernels() {
        KERNELS.iter().for_each(|kernel| check1(kernel));
        assert!(KERNELS.iter().filter(|kernel| kernel.formula(true).is_some()).count() > 20);
    }

    #[test]
    fn formulas_of_two_numbers_give_the_bits_of_kernels() {
        for kernel in KERNELS2 {
            for is_double in [false, true] {
                let (formula, all) = (kernel.formula(is_double).unwrap(), numbers(is_double));
                let total = kernel.total_formula(is_double);
                for (&x, &y) in all.iter().zip(all.iter().rev()).chain(all.iter().zip(&all[13..])) {
                    let want = if is_double {
                        pair(kernel, f64::from_bits(x), f64::from_bits(y)).to_bits()
                    } else {
                        u64::from(pair(kernel, f32::from_bits(x as u32), f32::from_bits(y as u32)).to_bits())
                    };
                    for formula in total.into_iter().chain([formula]) {
                        if let Some(z) = run(formula, &[x, y]) {
                            assert_eq!(z, want, "{kernel:?} of {x:x} and {y:x}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn formulas_of_four_numbers_give_the_bits_of_kernels() {
        for kernel in KERNELS4 {
            for is_double in [false, true] {
                let all = numbers(is_double);
                let formulas = kernel.total_formula(is_double).into_iter().chain([kernel.formula(is_double)]);
                for formula in formulas {
                    let mut right = 0;
                    for (i, &a) in all.iter().enumerate() {
                        // Special numbers beside one another, and beside ordinary ones.
                        let beside =
                            |by: usize| all[if i % 3 == 0 { i * by % 24 } else { (i + by) % all.len() }];
                        let of = [a, beside(5), beside(7), beside(11)];
                        let Some(made) = run(formula, &of) else { continue };
                        let want = if is_double {
                            let (x, mut out) = (of.map(f64::from_bits), [0.0]);
                            f64::map4(kernel, x.each_ref().map(std::slice::from_ref), &mut out);
                            out[0].to_bits()
                        } else {
                            let (x, mut out) = (of.map(|x| f32::from_bits(x as u32)), [0.0]);
                            f32::map4(kernel, x.each_ref().map(std::slice::from_ref), &mut out);
                            u64::from(out[0].to_bits())
                        };
                        let is_nan = |x: u64| match is_double {
                            true => f64::from_bits(x).is_nan(),
                            false => f32::from_bits(x as u32).is_nan(),
                        };
                        assert!(made == want || is_nan(made) && is_nan(want), "{kernel:?} of {of:x?}");
                        right += 1;
                    }
                    assert!(right > 1000, "{kernel:?}: guards are rare, {right} are right");
                }
            }
        }
    }

    #[test]
    fn steps_read_earlier_ones_and_are_read() {
        for kernel in KERNELS {
            let widths = [false, true].into_iter();
            let both = |is_double| [kernel.formula(is_double), kernel.total_formula(is_double)];
            for formula in widths.flat_map(both).flatten() {
                let mut is_read = vec![false; formula.steps.len()];
                formula.guards.iter().chain([&formula.result]).for_each(|&at| is_read[at] = true);
                for (at, step) in formula.steps.iter().enumerate() {
                    assert!(step.operands().iter().all(|&x| x < at), "{kernel:?}: {step:?}");
                    step.operands().iter().for_each(|&x| is_read[x] = true);
                }
                assert!(is_read.iter().all(|&read| read), "{kernel:?}");
                assert!(formula.guards.iter().all(|&at| formula.steps[at].is_mask()), "{kernel:?}");
            }
        }
    }
}
