//! Expansion of ops on floats to steps: of functions to those of their formulas.
//!
//! Steps on doubles in a chain of singles are done twice, for the lower and the upper half of a vector; of one
//! element there is no upper half.

use super::chain::{Chain, MicroOp, Op, Origin, Value};
use crate::dtype::DType;
use crate::kernels::math::formula::{Formula, Operation, Step};
use crate::tensor::Literal;
use rustc_hash::{FxHashMap, FxHashSet};

/// A chain whose floats are computed in steps.
pub struct Expanded {
    /// The chain; its first values are those of the chain that it was.
    pub chain: Chain,
    /// For each op, whether it is on the upper half of vectors.
    pub upper: Vec<bool>,
    /// The ops that are done instead where a guard is true, with total formulas in the place of the others, or
    /// calls; none if there are no guards.
    pub careful: Vec<MicroOp>,
    /// As `upper`, for these.
    pub careful_upper: Vec<bool>,
}

/// The formula of an op on operands of this dtype, if it is a function that has one.
pub fn formula(op: Op, dtype: DType) -> Option<&'static Formula> {
    match op {
        _ if !matches!(dtype, DType::F32 | DType::F64) => None,
        Op::Function(kernel) => kernel.formula(dtype == DType::F64),
        Op::Function2(kernel) => kernel.formula(dtype == DType::F64),
        Op::Function4(kernel) => Some(kernel.formula(dtype == DType::F64)),
        _ => None,
    }
}

/// As [`formula`], the total one.
fn total_formula(op: Op, dtype: DType) -> Option<&'static Formula> {
    match op {
        _ if !matches!(dtype, DType::F32 | DType::F64) => None,
        Op::Function(kernel) => kernel.total_formula(dtype == DType::F64),
        Op::Function2(kernel) => kernel.total_formula(dtype == DType::F64),
        Op::Function4(kernel) => kernel.total_formula(dtype == DType::F64),
        _ => None,
    }
}

/// Steps of total formulas in a chain, at most: the code of more would take a tenth longer to make.
const CAREFUL: usize = 400;

/// The chain with steps in the place of functions and of the other ops on floats, but for the larger and the smaller of two
/// if there are instructions for these.
pub fn expand(chain: &Chain, has_extremes: bool) -> Expanded {
    let mut to = Expansion::of(chain);
    to.has_extremes = has_extremes;
    chain.ops.iter().for_each(|micro| to.op(micro));
    let (ops, upper) = (std::mem::take(&mut to.chain.ops), std::mem::take(&mut to.upper));
    if !to.masks.is_empty() {
        to.forget();
        let total = |micro: &MicroOp| total_formula(micro.op, chain.values[micro.result].dtype);
        let steps: usize = chain.ops.iter().filter_map(total).map(|formula| formula.steps.len()).sum();
        for micro in &chain.ops {
            match total(micro).filter(|_| steps <= CAREFUL) {
                Some(total) => to.formula(total, micro),
                None => to.plain(micro),
            }
        }
    }
    let careful = std::mem::replace(&mut to.chain.ops, ops);
    Expanded { chain: to.chain, upper, careful, careful_upper: to.upper }
}

/// What tells a step from others: its operation or the complement, its operands, whether it is on the upper half, and whether
/// it is on vectors of a loop.
type Key = (Operation, bool, [usize; 3], (bool, bool));

fn key((operation, complement): (Operation, bool), operands: &[usize], lanes: (bool, bool)) -> Key {
    let mut all = [usize::MAX; 3];
    all[..operands.len()].copy_from_slice(operands);
    (operation, complement, all, lanes)
}

/// An expansion under way.
pub struct Expansion {
    /// What it is so far.
    pub chain: Chain,
    /// Masks that are known: they have no steps.
    pub(super) decided: FxHashMap<usize, bool>,
    upper: Vec<bool>,
    /// Whether ops that are added are on vectors, of a loop that has elements, too.
    pub of_vectors: bool,
    /// Results of steps.
    known: FxHashMap<Key, usize>,
    literals: FxHashMap<(bool, u64), usize>,
    /// Literals that are integers.
    pub(super) whole: FxHashMap<i32, usize>,
    /// Quotients of integers, for the dividend and the divisor, and whether they are vectors of a loop.
    pub(super) quotients: FxHashMap<(usize, usize, bool), usize>,
    /// Masks that are guarded.
    masks: Vec<usize>,
    /// Results of steps that are never below zero.
    above: FxHashSet<usize>,
    /// Whether there are instructions for the larger and the smaller of two floats.
    has_extremes: bool,
}

impl Expansion {
    /// One of a chain, none of whose ops are there yet.
    pub fn of(chain: &Chain) -> Expansion {
        Expansion {
            chain: chain.without_ops(),
            upper: vec![],
            of_vectors: false,
            known: FxHashMap::with_capacity_and_hasher(8 * chain.ops.len(), Default::default()),
            literals: FxHashMap::default(),
            whole: FxHashMap::default(),
            quotients: FxHashMap::default(),
            decided: FxHashMap::default(),
            masks: vec![],
            above: FxHashSet::default(),
            has_extremes: false,
        }
    }

    /// Adds the steps of an op.
    pub fn op(&mut self, micro: &MicroOp) {
        match formula(micro.op, self.chain.values[micro.result].dtype) {
            Some(formula) => self.formula(formula, micro),
            None => self.plain(micro),
        }
    }

    /// The mask of where a guard of the op that was added is true, in the place of its guards: there its result
    /// is another than that of its last step.
    pub fn guarded(&mut self, micro: &MicroOp) -> Option<usize> {
        let masks = std::mem::take(&mut self.masks);
        if masks.is_empty() {
            return None;
        }
        let made = std::mem::take(&mut self.chain.ops).into_iter().zip(std::mem::take(&mut self.upper));
        (self.chain.ops, self.upper) = made.filter(|(micro, _)| !matches!(micro.op, Op::Guard(_))).unzip();
        let last = self.chain.ops.iter().rfind(|made| made.result == micro.result);
        if let Some(MicroOp { op: Op::Step(operation), operands, .. }) = last {
            self.known.remove(&key((*operation, false), operands, (false, self.of_vectors)));
        }
        let either = (Operation::Either, false);
        masks.into_iter().reduce(|x, y| self.step(either, &[x, y], DType::I1, false, None))
    }

    /// Forgets which steps there are: of a loop that ends, they are not there after it.
    pub fn forget(&mut self) {
        self.known.clear();
        self.quotients.clear();
    }

    /// The ops that were added since the last time, and which are on the upper half of vectors.
    pub fn taken(&mut self) -> (Vec<MicroOp>, Vec<bool>) {
        (std::mem::take(&mut self.chain.ops), std::mem::take(&mut self.upper))
    }

    pub(super) fn push(&mut self, micro: MicroOp, upper: bool) {
        self.chain.ops.push(micro);
        self.upper.push(upper);
    }

    pub(super) fn value(&mut self, dtype: DType, origin: Origin) -> usize {
        self.chain.values.push(Value { dtype, origin });
        self.chain.values.len() - 1
    }

    /// An op that is no formula: in steps if it is on floats or booleans, and they are instructions.
    fn plain(&mut self, micro: &MicroOp) {
        let dtype = self.chain.values[*micro.operands.last().expect("an op has operands")].dtype;
        let (is_double, is_float) = (dtype == DType::F64, matches!(dtype, DType::F32 | DType::F64));
        let (of, result) = (&micro.operands, micro.result);
        if dtype == DType::I1 {
            let operation = match micro.op {
                Op::Add | Op::Max | Op::Or => Operation::Either,
                Op::Mul | Op::Min | Op::And => Operation::Both,
                Op::Not => Operation::Not,
                _ => return self.push(micro.clone(), false),
            };
            self.step((operation, false), of, DType::I1, false, Some(result));
            return;
        }
        if let Some(is_remainder) = micro.op.quotient(dtype) {
            return self.quotient(micro, is_remainder);
        }
        if !is_float {
            return self.push(micro.clone(), false);
        }
        let mut step = |operation, operands: &[usize], result| {
            self.step((operation, false), operands, dtype, false, result)
        };
        let made = match micro.op {
            Op::Add => step(Operation::Add, of, Some(result)),
            Op::Sub => step(Operation::Sub, of, Some(result)),
            Op::Mul => step(Operation::Mul, of, Some(result)),
            Op::Div => step(Operation::Div, of, Some(result)),
            Op::Select => step(Operation::Select, of, Some(result)),
            Op::Step(operation) => step(operation, of, Some(result)),
            Op::Negate | Op::Abs => {
                let sign = 1 << (8 * dtype.bytes() - 1);
                let (operation, bits) =
                    if micro.op == Op::Negate { (Operation::Xor, sign) } else { (Operation::And, sign - 1) };
                let bits = self.literal(is_double, bits);
                self.step((operation, false), &[of[0], bits], dtype, false, Some(result))
            }
            Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge => {
                let (operation, complement, operands) = match micro.op {
                    Op::Eq => (Operation::Same, false, [of[0], of[1]]),
                    Op::Ne => (Operation::Same, true, [of[0], of[1]]),
                    Op::Lt => (Operation::Lt, false, [of[0], of[1]]),
                    Op::Le => (Operation::Le, false, [of[0], of[1]]),
                    Op::Gt => (Operation::Lt, false, [of[1], of[0]]),
                    _ => (Operation::Le, false, [of[1], of[0]]),
                };
                self.step((operation, complement), &operands, DType::I1, false, Some(result))
            }
            Op::Sqrt => {
                if self.is_never_below_zero(of[0]) {
                    self.step((Operation::Sqrt, false), of, dtype, false, Some(result));
                    return;
                }
                let root = self.step((Operation::Sqrt, false), of, dtype, false, None);
                let zero = self.literal(is_double, 0);
                let nan = if is_double { f64::NAN.to_bits() } else { u64::from(f32::NAN.to_bits()) };
                let nan = self.literal(is_double, nan);
                let below = self.step((Operation::Lt, false), &[of[0], zero], DType::I1, false, None);
                self.step((Operation::Select, false), &[below, nan, root], dtype, false, Some(result))
            }
            Op::MulNoNan => {
                let product = step(Operation::Mul, of, None);
                self.step((Operation::ZeroForNan, false), &[product, of[1]], dtype, false, Some(result))
            }
            Op::Max | Op::Min => self.extreme(micro.op == Op::Max, [of[0], of[1]], dtype, Some(result)),
            Op::Clamp => {
                let raised = self.extreme(true, [of[1], of[0]], dtype, None);
                self.extreme(false, [raised, of[2]], dtype, Some(result))
            }
            Op::Sign => {
                let [zero, one] = [0.0, 1.0].map(|x| self.number(is_double, x));
                let minus = self.number(is_double, -1.0);
                let below = self.step((Operation::Lt, false), &[of[0], zero], DType::I1, false, None);
                let above = self.step((Operation::Lt, false), &[zero, of[0]], DType::I1, false, None);
                let other = self.step((Operation::Select, false), &[below, minus, of[0]], dtype, false, None);
                self.step((Operation::Select, false), &[above, one, other], dtype, false, Some(result))
            }
            Op::IsNan => self.step((Operation::Same, true), &[of[0]; 2], DType::I1, false, Some(result)),
            Op::IsFinite | Op::IsInfinite => {
                let bits = self.literal(is_double, (1 << (8 * dtype.bytes() - 1)) - 1);
                let size = self.step((Operation::And, false), &[of[0], bits], dtype, false, None);
                let infinite = self.number(is_double, f64::INFINITY);
                let operation = if micro.op == Op::IsFinite { Operation::Lt } else { Operation::Same };
                self.step((operation, false), &[size, infinite], DType::I1, false, Some(result))
            }
            _ => {
                self.push(micro.clone(), false);
                result
            }
        };
        debug_assert_eq!(made, result, "an op makes its own result");
    }

    /// A number in all lanes.
    fn number(&mut self, is_double: bool, x: f64) -> usize {
        self.literal(is_double, if is_double { x.to_bits() } else { u64::from((x as f32).to_bits()) })
    }

    /// The larger or smaller of two. The instruction gives its second operand if they are equal or one is NaN:
    /// done both ways, zeros of both signs are told apart by their bits, and a NaN is put in its place, the
    /// first one's first. With a number that is known, only zero needs more than one way.
    fn extreme(&mut self, larger: bool, [x, y]: [usize; 2], dtype: DType, result: Option<usize>) -> usize {
        let (operation, joined) =
            if larger { (Operation::Max, Operation::And) } else { (Operation::Min, Operation::Or) };
        let [known_x, known_y] = [x, y].map(|v| self.known_number(v));
        if let Some((number, known, other)) =
            known_y.map(|number| (number, y, x)).or(known_x.map(|number| (number, x, y)))
        {
            // The zero that is neither larger nor smaller than the other one is in the place of both.
            if number == 0.0 && number.is_sign_negative() != larger {
                let pair = if larger { [other, known] } else { [known, other] };
                let beyond = self.step((Operation::Le, false), &pair, DType::I1, false, None);
                return self.step((Operation::Select, false), &[beyond, known, other], dtype, false, result);
            }
            return self.step((operation, false), &[known, other], dtype, false, result);
        }
        if self.has_extremes && dtype.bytes() == self.chain.width {
            let result = result.unwrap_or_else(|| self.value(dtype, Origin::Made));
            let op = if larger { Op::Max } else { Op::Min };
            self.push(MicroOp { op, operands: vec![x, y], result }, false);
            return result;
        }
        let mut step =
            |operation, of: &[usize], result| self.step((operation, false), of, dtype, false, result);
        let (one, other) = (step(operation, &[x, y], None), step(operation, &[y, x], None));
        let joined = step(joined, &[one, other], None);
        let [no_x, no_y] =
            [x, y].map(|v| self.step((Operation::Same, true), &[v; 2], DType::I1, false, None));
        let right = self.step((Operation::Select, false), &[no_y, y, joined], dtype, false, None);
        self.step((Operation::Select, false), &[no_x, x, right], dtype, false, result)
    }

    /// Whether no element of a value is below zero, whatever its arguments are; it may be NaN or -0.
    fn is_never_below_zero(&self, v: usize) -> bool {
        self.above.contains(&v) || self.known_number(v).is_some_and(|number| number >= 0.0)
    }

    /// As [`Expansion::is_never_below_zero`], for the result of a step.
    fn makes_above(&self, operation: Operation, operands: &[usize]) -> bool {
        let above = |&v: &usize| self.is_never_below_zero(v);
        match operation {
            Operation::And => operands.iter().any(|&v| self.is_without_sign(v)),
            Operation::Add => operands.iter().all(above),
            Operation::Mul => operands[0] == operands[1] || operands.iter().all(above),
            Operation::Select => operands[1..].iter().all(above),
            _ => false,
        }
    }

    /// Whether a value is a literal whose bit of the sign is not set.
    fn is_without_sign(&self, v: usize) -> bool {
        let Origin::Literal(x) = self.chain.values[v].origin else { return false };
        x.to_bytes()[x.dtype().bytes() - 1] & 0x80 == 0
    }

    /// The number that a value is known to be, if it is no NaN.
    fn known_number(&self, v: usize) -> Option<f64> {
        let number = match self.chain.values[v].origin {
            Origin::Literal(x) if x.dtype() == DType::F64 => x.get::<f64>(),
            Origin::Literal(x) => f64::from(x.get::<f32>()),
            _ => return None,
        };
        Some(number).filter(|x| !x.is_nan())
    }

    fn formula(&mut self, formula: &Formula, micro: &MicroOp) {
        // Comparisons that are only read where they are complemented are made so.
        let mut read = vec![false; formula.steps.len()];
        for step in &formula.steps {
            let turned = turned(formula, step).is_some();
            step.operands().iter().filter(|_| !turned).for_each(|&at| read[at] = true);
        }
        formula.guards.iter().chain([&formula.result]).for_each(|&at| read[at] = true);
        // The values of each step: of the lower and of the upper half, or twice that of the vector.
        let mut made: Vec<[usize; 2]> = vec![];
        for (at, step) in formula.steps.iter().enumerate() {
            let result = (at == formula.result).then_some(micro.result);
            let halves = match step.operation {
                Operation::Argument(i) => [micro.operands[i]; 2],
                Operation::Constant(bits) => [self.literal(step.is_double, bits); 2],
                // It is not read.
                _ if !read[at] => [usize::MAX; 2],
                Operation::Narrow => {
                    let [low, high] = made[step.operands()[0]];
                    [self.step((Operation::Narrow, false), &[low, high], DType::F32, false, result); 2]
                }
                operation => {
                    let (step, complement) =
                        turned(formula, step).map_or((step, false), |compared| (compared, true));
                    let op = (step.operation, complement);
                    let dtype = match step.is_double {
                        _ if step.is_mask() => DType::I1,
                        true => DType::F64,
                        false => DType::F32,
                    };
                    let operands =
                        |half: usize| step.operands().iter().map(|&x| made[x][half]).collect::<Vec<_>>();
                    let low = self.step(op, &operands(0), dtype, false, result);
                    let split = step.is_double && self.chain.width == 4;
                    let high = if split && (operation == Operation::Widen || operands(0) != operands(1)) {
                        self.step(op, &operands(1), dtype, true, None)
                    } else {
                        low
                    };
                    [low, high]
                }
            };
            if formula.guards.contains(&at) {
                (0..2).for_each(|half| self.guard(halves[half], formula.steps[at].is_double, half == 1));
            }
            made.push(halves);
        }
    }

    /// The value of a step, which is `result`, if there is one.
    fn step(
        &mut self,
        (operation, complement): (Operation, bool),
        operands: &[usize],
        dtype: DType,
        upper: bool,
        result: Option<usize>,
    ) -> usize {
        if let Some(folded) = self.folded((operation, complement), operands) {
            return self.named(folded, dtype, upper, result);
        }
        let key = key((operation, complement), operands, (upper, self.of_vectors));
        if let (Some(&known), None) = (self.known.get(&key), result) {
            return known;
        }
        let result = result.unwrap_or_else(|| self.value(dtype, Origin::Made));
        self.known.insert(key, result);
        if !complement && self.makes_above(operation, operands) {
            self.above.insert(result);
        }
        let op = if complement { Op::NotStep(operation) } else { Op::Step(operation) };
        self.push(MicroOp { op, operands: operands.to_vec(), result }, upper);
        result
    }

    /// A value that is there, as `result` if there is one.
    fn named(&mut self, v: usize, dtype: DType, upper: bool, result: Option<usize>) -> usize {
        let Some(result) = result else { return v };
        let (operation, v) = if dtype == DType::I1 {
            (Operation::Either, self.readable(v, self.chain.width == 8))
        } else {
            (Operation::Or, v)
        };
        self.push(MicroOp { op: Op::Step(operation), operands: vec![v; 2], result }, upper);
        result
    }

    fn guard(&mut self, mask: usize, is_double: bool, upper: bool) {
        if self.is_never(mask) {
            return;
        }
        let mask = self.readable(mask, is_double);
        if !self.masks.contains(&mask) {
            self.masks.push(mask);
            self.push(MicroOp { op: Op::Guard(is_double), operands: vec![mask], result: mask }, upper);
        }
    }

    /// The literal with these bits.
    pub fn literal(&mut self, is_double: bool, bits: u64) -> usize {
        if let Some(&known) = self.literals.get(&(is_double, bits)) {
            return known;
        }
        let dtype = if is_double { DType::F64 } else { DType::F32 };
        let literal = Literal::from_bytes(dtype, &bits.to_le_bytes());
        let value = self.value(dtype, Origin::Literal(literal));
        self.literals.insert((is_double, bits), value);
        value
    }
}

/// The comparison whose complement a step is.
fn turned<'f>(formula: &'f Formula, step: &Step) -> Option<&'f Step> {
    let of = |step: &Step| &formula.steps[step.operands()[0]];
    let compares = |step: &&Step| matches!(step.operation, Operation::Lt | Operation::Le | Operation::Same);
    (step.operation == Operation::Not).then(|| of(step)).filter(compares)
}
