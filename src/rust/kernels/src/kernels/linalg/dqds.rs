//! Singular values of bidiagonal matrices, without vectors, by the differential quotient difference algorithm
//! with shifts (Fernando and Parlett, *Accurate singular values and differential qd algorithms*, 1994).
//!
//! With `q` the squares of the diagonal and `e` those above it, a sweep makes the `q` and `e` of a bidiagonal
//! matrix whose squared singular values are less by the shift. No number is subtracted but the shift, so that
//! small values are as accurate as large ones. A step is one division, where a rotation takes two roots and four
//! divisions. Shifts follow Parlett and Marques, *An implementation of the dqds algorithm (positive case)*, 2000: as
//! long as all numbers stay positive, the shift was below the least value.

use super::scalar::beside;
use crate::stop;

/// Sweeps for one singular value, on average at most: three to four are usual.
const SWEEPS: usize = 100;

/// Shifts that are tried before a sweep is made without one, which cannot fail.
const TRIES: usize = 4;

/// How much larger the last number may be than the first before the matrix is turned about: sweeps find the least
/// value at the end.
const TURN: f64 = 1.5;

/// Ratio of squares below which what is above the diagonal is 0, whatever has been shifted by so far.
const NOTHING: f64 = 64.0 * f64::EPSILON * f64::EPSILON;

/// What is above the diagonal is 0 below this, too, in units of the largest square: quotients by it would overflow.
const LOST: f64 = 1e-290;

/// A part of the matrix that is by itself.
struct Block {
    from: usize,
    to: usize,
    shifted: Shifted,
}

/// The sum of the shifts, with what its rounding left out.
#[derive(Clone, Copy, Default)]
struct Shifted {
    sum: f64,
    rest: f64,
}

impl Shifted {
    fn add(&mut self, shift: f64) {
        let (large, small) = if shift < self.sum { (self.sum, shift) } else { (shift, self.sum) };
        let sum = large + small;
        self.rest += small - (sum - large);
        self.sum = sum;
    }

    /// The singular value of what is left of its square.
    #[inline]
    fn value(self, q: f64) -> f64 {
        (self.sum + (q + self.rest)).max(0.0).sqrt()
    }
}

/// What a sweep has seen.
struct Seen {
    /// The last three pivots, from the end.
    last: [f64; 3],
    /// The least of all pivots, of all but the last, and of all but the last two.
    least: [f64; 3],
    /// The least number above the diagonal.
    above: f64,
}

/// Squares of singular values, and the room for those of the next sweep.
struct Squares {
    q: Vec<f64>,
    e: Vec<f64>,
    next_q: Vec<f64>,
    next_e: Vec<f64>,
    /// What may be left out, in units of what has been shifted by.
    precision: f64,
}

/// Singular values of the upper bidiagonal matrix with the diagonal `d` and `above` it, in any order, in place of
/// `d`. `epsilon` is the rounding error that they need not be better than. False if a number is not finite, or if
/// sweeps do not converge.
pub fn singular_values(d: &mut [f64], above: &[f64], epsilon: f64) -> bool {
    let n = d.len();
    // Squares neither overflow nor, if they matter, vanish.
    let unit = beside(d.iter().chain(above).fold(0.0, |most: f64, x| most.max(x.abs())));
    let square = |x: &f64| (x * unit) * (x * unit);
    let mut squares = Squares {
        q: d.iter().map(square).collect(),
        e: above.iter().map(square).collect(),
        next_q: vec![0.0; n],
        next_e: vec![0.0; n.saturating_sub(1)],
        precision: epsilon / 8.0,
    };
    let mut sweeps = SWEEPS * n;
    let mut blocks = vec![Block { from: 0, to: n, shifted: Shifted::default() }];
    while let Some(block) = blocks.pop() {
        if !squares.solve(block, d, &mut blocks, &mut sweeps) {
            return false;
        }
    }
    d.iter_mut().for_each(|x| *x /= unit);
    true
}

impl Squares {
    /// The singular values of a block; parts that turn out to be by themselves are added to `blocks`.
    fn solve(&mut self, block: Block, d: &mut [f64], blocks: &mut Vec<Block>, sweeps: &mut usize) -> bool {
        let Block { mut from, mut to, mut shifted } = block;
        let (mut seen, mut found, mut ratio): (Option<Seen>, usize, f64) = (None, 0, RATIO);
        let mut is_new = true;
        loop {
            // Values at the end that are by themselves.
            if from == to {
                return true;
            } else if from + 1 == to || self.is_nothing(to - 2, shifted) {
                d[to - 1] = shifted.value(self.q[to - 1]);
                (to, found) = (to - 1, found + 1);
                continue;
            } else if from + 2 == to || self.is_nothing(to - 3, shifted) {
                let both = of_two(self.q[to - 2], self.e[to - 2], self.q[to - 1]);
                [d[to - 2], d[to - 1]] = both.map(|q| shifted.value(q));
                (to, found) = (to - 2, found + 2);
                continue;
            }
            let nothing = LOST.max(NOTHING * shifted.sum);
            if is_new || seen.as_ref().is_some_and(|seen| seen.above <= nothing) {
                if let Some(at) = (from..to - 1).rev().find(|&i| self.e[i] <= nothing) {
                    blocks.push(Block { from, to: at + 1, shifted });
                    (from, seen, found, is_new) = (at + 1, None, 0, true);
                    continue;
                }
            }
            if (is_new || found > 0) && TURN * self.q[from] < self.q[to - 1] {
                self.q[from..to].reverse();
                self.e[from..to - 1].reverse();
                seen = None;
            }
            is_new = false;
            let (q, e) = (&self.q[from..to], &self.e[from..to - 1]);
            let mut shift = seen.as_ref().map_or(0.0, |seen| next_shift(q, e, seen, found, &mut ratio));
            let (next_q, next_e) = (&mut self.next_q[from..to], &mut self.next_e[from..to - 1]);
            found = 0;
            for tried in 1.. {
                if *sweeps == 0 {
                    return false;
                }
                *sweeps -= 1;
                stop::work(to - from);
                let made = sweep(q, e, shift, next_q, next_e);
                let [least, but_last, _] = made.least;
                if least.is_nan() {
                    return false;
                }
                if least >= 0.0 {
                    seen = Some(made);
                    break;
                }
                shift = match () {
                    () if tried >= TRIES || shift == 0.0 => 0.0,
                    // If the last pivot alone is negative, then it says by how much the shift was too large.
                    () if tried == 1 && but_last > 0.0 => ((shift + least) * (1.0 - f64::EPSILON)).max(0.0),
                    () => shift / 4.0,
                };
            }
            self.q[from..to].swap_with_slice(next_q);
            self.e[from..to - 1].swap_with_slice(next_e);
            shifted.add(shift);
        }
    }

    /// Whether the number above the diagonal in row `i` changes no value by more than the precision: those of the
    /// rows up to it are changed by `e[i]` at most, those of the rows after it by the root of `e[i] * q[i + 1]`,
    /// and none is less than what has been shifted by.
    fn is_nothing(&self, i: usize, shifted: Shifted) -> bool {
        let (e, q, small) = (self.e[i], self.q[i + 1], self.precision * shifted.sum);
        e <= LOST.max(NOTHING * (shifted.sum + q)) || (e <= small && e * q <= small * small)
    }
}

/// The squares of the singular values of two rows, the larger one first.
fn of_two(q0: f64, e: f64, q1: f64) -> [f64; 2] {
    let (large, small) = if q1 > q0 { (q1, q0) } else { (q0, q1) };
    if e <= NOTHING * small {
        return [large, small];
    }
    let half = 0.5 * ((large - small) + e);
    let part = small * (e / half);
    // The root of a quadratic equation, without a difference.
    let added = if part <= half {
        small * (e / (half * (1.0 + (1.0 + part / half).sqrt())))
    } else {
        small * (e / (half + half.sqrt() * (half + part).sqrt()))
    };
    let sum = large + (added + e);
    [sum, small * (large / sum)]
}

/// Makes `next_q` and `next_e` of `q` and `e`, of at least three rows.
fn sweep(q: &[f64], e: &[f64], shift: f64, next_q: &mut [f64], next_e: &mut [f64]) -> Seen {
    let n = q.len();
    let (e, next_q, next_e) = (&e[..n - 1], &mut next_q[..n], &mut next_e[..n - 1]);
    let less = |x: f64, y: f64| if x < y { x } else { y };
    let (mut pivot, mut above) = (q[0] - shift, f64::INFINITY);
    let mut step = |i: usize, pivot: f64| {
        let sum = pivot + e[i];
        let factor = q[i + 1] / sum;
        (next_q[i], next_e[i]) = (sum, e[i] * factor);
        above = less(next_e[i], above);
        pivot * factor - shift
    };
    let mut first = pivot;
    for i in 0..n - 3 {
        pivot = step(i, pivot);
        first = less(pivot, first);
    }
    let before = step(n - 3, pivot);
    let last = step(n - 2, before);
    next_q[n - 1] = last;
    let but_last = less(before, first);
    // A NaN anywhere reaches the last one.
    let least = if last.is_nan() { last } else { less(last, but_last) };
    Seen { last: [last, before, pivot], least: [least, but_last, first], above }
}

/// The share of the least pivot that is the first shift, where nothing else is known.
const RATIO: f64 = 0.25;

/// A shift that is probably below the least value, and close to it, when `found` values have been found after the
/// sweep that saw `seen`. `ratio` is the share of the least pivot where the least is not at the end.
fn next_shift(q: &[f64], e: &[f64], seen: &Seen, found: usize, ratio: &mut f64) -> f64 {
    let Some(&least) = seen.least.get(found).filter(|&&least| least > 0.0) else { return 0.0 };
    let pivots = &seen.last[found..];
    let is_last = least == pivots[0];
    let next = seen.least.get(found + 1).copied();
    let is_ordered = is_last && next.is_some() && next == pivots.get(1).copied();
    if found > 0 {
        *ratio = RATIO;
        if !is_last {
            return RATIO * least;
        }
        let Some(next) = next.filter(|_| is_ordered) else { return 0.5 * least };
        return from_vector(least, above_row(q, e, q.len() - 1), next).max(least / 3.0);
    }
    if is_ordered {
        return from_gap(q, e, least, seen.least[2]);
    }
    let row = match () {
        () if is_last => q.len() - 1,
        () if least == pivots[1] => q.len() - 2,
        () if least == pivots[2] => return RATIO * least,
        () => {
            *ratio += (1.0 - *ratio) / 3.0;
            return *ratio * least;
        }
    };
    let below = if row + 1 < q.len() { e[row] / pivots[1] } else { 0.0 };
    let squares = above_row(q, e, row) + below;
    if squares < SHORT {
        least * (1.0 - squares.sqrt()) / (1.0 + squares)
    } else {
        RATIO * least
    }
}

/// The sum of squares of an approximate vector beside its element 1, up to which it is one.
const SHORT: f64 = 0.563;

/// The sum of the squares of the elements above `row` of the approximate vector that has a 1 there.
fn above_row(q: &[f64], e: &[f64], row: usize) -> f64 {
    /// What is left out is made good for.
    const MORE: f64 = 1.05;
    let (mut square, mut sum) = (1.0, 0.0);
    for j in (0..row).rev() {
        if e[j] > q[j] {
            return 1.0;
        }
        let before = square;
        square *= e[j] / q[j];
        sum += square;
        if 100.0 * square.max(before) < sum || sum > SHORT {
            break;
        }
    }
    sum * MORE
}

/// The shift from the last pivot and the approximate vector with a 1 there, with the distance to the pivot before.
fn from_vector(least: f64, squares: f64, next: f64) -> f64 {
    let size = squares.sqrt();
    let value = least / (1.0 + squares);
    let gap = 0.5 * next - value;
    let error = if gap > size * value { value * squares / gap } else { size };
    value * (1.0 - 1.01 * error)
}

/// The shift where the last two pivots are the least ones: the last, less what its neighbour may take from it.
fn from_gap(q: &[f64], e: &[f64], least: f64, others: f64) -> f64 {
    let n = q.len();
    let beside = (q[n - 1] * e[n - 2]).sqrt();
    let before = (q[n - 2] * e[n - 3]).sqrt();
    let diagonal = q[n - 2] + e[n - 2];
    let far = 0.75 * others - diagonal;
    let near = if far > before {
        diagonal - least - before * before / far
    } else {
        diagonal - least - (beside + before)
    };
    if near > beside {
        return (least - beside * beside / near).max(least / 2.0);
    }
    let discs = (least - beside).max(0.0).min((diagonal - (beside + before)).max(0.0));
    discs.max(least / 3.0)
}
