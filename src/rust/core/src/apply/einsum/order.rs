//! The order in which operands are contracted: that of the fewest multiplications.
//!
//! Up to [`EXACT`] operands all orders are compared, by dynamic programming over their sets; of more, the pair
//! is taken again and again whose product adds the fewest elements.

use std::collections::BTreeMap;

/// The name of an axis.
pub(super) type Label = u32;

/// So many operands are compared in all orders: 3^9 is 20,000 pairs of sets.
const EXACT: usize = 9;

/// Pairs to contract, one after the other: each time the operands with these positions are taken from the
/// list, the first one the smaller, and the product is put at its end.
///
/// # Panics
/// If a label has no size.
pub(super) fn order(
    terms: &[Vec<Label>],
    output: &[Label],
    sizes: &BTreeMap<Label, usize>,
) -> Vec<(usize, usize)> {
    // There are as many letters as 52, and no bits for more axes than 128.
    if terms.len() <= 2 || sizes.len() > 128 {
        return (1..terms.len()).map(|_| (0, 1)).collect();
    }
    // Labels as bits.
    let labels: Vec<Label> = sizes.keys().copied().collect();
    let bit =
        |label: &Label| 1u128 << labels.iter().position(|other| other == label).expect("a label with a size");
    let bits = |term: &[Label]| term.iter().map(bit).fold(0, |all, one| all | one);
    let terms: Vec<u128> = terms.iter().map(|term| bits(term)).collect();
    let problem = Problem { terms, output: bits(output), sizes: sizes.values().map(|&n| n as f64).collect() };
    if problem.terms.len() <= EXACT {
        problem.exact()
    } else {
        problem.greedy()
    }
}

struct Problem {
    /// The labels of each operand.
    terms: Vec<u128>,
    output: u128,
    /// The size of each label.
    sizes: Vec<f64>,
}

impl Problem {
    /// The number of elements of a value with these labels.
    fn size(&self, labels: u128) -> f64 {
        let has = |i: &usize| labels >> i & 1 == 1;
        (0..self.sizes.len()).filter(has).map(|i| self.sizes[i]).product()
    }

    /// The best order of all. For each set of operands: the cost of their product, its labels, and the set of
    /// those on its left.
    fn exact(&self) -> Vec<(usize, usize)> {
        let n = self.terms.len();
        let all = (1usize << n) - 1;
        let union = |set: usize| {
            (0..n).filter(|i| set >> i & 1 == 1).map(|i| self.terms[i]).fold(0, |all, one| all | one)
        };
        // What a product of these keeps is read by the others, or is a part of the result.
        let kept = |set: usize| union(set) & (union(all & !set) | self.output);
        let labels: Vec<u128> = (0..=all).map(kept).collect();
        let mut best = vec![(0.0, 0usize); all + 1];
        for set in 1..=all {
            if set.count_ones() < 2 {
                continue;
            }
            best[set] = (f64::INFINITY, 0);
            // Each split once: the lowest operand is on the left.
            let low = set & set.wrapping_neg();
            let mut left = set;
            while left > 0 {
                left = (left - 1) & set;
                let right = set & !left;
                if left & low == 0 || right == 0 {
                    continue;
                }
                let cost = best[left].0 + best[right].0 + self.size(labels[left] | labels[right]);
                if cost < best[set].0 || best[set].1 == 0 {
                    best[set] = (cost, left);
                }
            }
        }
        // From the whole to its parts, and back.
        let (mut todo, mut pairs) = (vec![all], vec![]);
        while let Some(set) = todo.pop() {
            if set.count_ones() > 1 {
                let left = best[set].1;
                pairs.push((left, set & !left));
                todo.extend([left, set & !left]);
            }
        }
        let mut sets: Vec<usize> = (0..n).map(|i| 1 << i).collect();
        let mut take = |(left, right): (usize, usize)| {
            let at =
                |set: usize| sets.iter().position(|&other| other == set).expect("a product that was made");
            let (i, j) = (at(left).min(at(right)), at(left).max(at(right)));
            sets.remove(j);
            sets.remove(i);
            sets.push(left | right);
            (i, j)
        };
        pairs.into_iter().rev().map(&mut take).collect()
    }

    fn greedy(&self) -> Vec<(usize, usize)> {
        let mut terms = self.terms.clone();
        let mut pairs = vec![];
        while terms.len() > 1 {
            let mut best = (f64::INFINITY, f64::INFINITY, 0, 1, 0);
            for i in 0..terms.len() {
                for j in i + 1..terms.len() {
                    let others = (0..terms.len()).filter(|k| ![i, j].contains(k)).map(|k| terms[k]);
                    let read = others.fold(self.output, |all, one| all | one);
                    let made = (terms[i] | terms[j]) & read;
                    let growth = self.size(made) - self.size(terms[i]) - self.size(terms[j]);
                    let cost = self.size(terms[i] | terms[j]);
                    if (growth, cost) < (best.0, best.1) {
                        best = (growth, cost, i, j, made);
                    }
                }
            }
            let (_, _, i, j, made) = best;
            terms.remove(j);
            terms.remove(i);
            terms.push(made);
            pairs.push((i, j));
        }
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of multiplications of an order.
    fn cost(
        terms: &[Vec<Label>],
        output: &[Label],
        sizes: &BTreeMap<Label, usize>,
        pairs: &[(usize, usize)],
    ) -> f64 {
        let mut terms = terms.to_vec();
        let mut cost = 0.0;
        for &(i, j) in pairs {
            let (right, left) = (terms.remove(j), terms.remove(i));
            let mut union = [left, right].concat();
            union.sort_unstable();
            union.dedup();
            cost += union.iter().map(|label| sizes[label] as f64).product::<f64>();
            union.retain(|label| output.contains(label) || terms.iter().any(|term| term.contains(label)));
            terms.push(union);
        }
        assert_eq!(terms.len(), 1);
        cost
    }

    fn chain(n: u32) -> Vec<Vec<Label>> {
        (0..n).map(|i| vec![i, i + 1]).collect()
    }

    #[test]
    fn a_chain_of_matrices_is_multiplied_in_the_best_order() {
        // The example of Cormen et al., Introduction to Algorithms: 15125 multiplications.
        let sizes: BTreeMap<Label, usize> = (0..).zip([30, 35, 15, 5, 10, 20, 25]).collect();
        let terms = chain(6);
        assert_eq!(cost(&terms, &[0, 6], &sizes, &order(&terms, &[0, 6], &sizes)), 15125.0);
    }

    #[test]
    fn many_operands_are_contracted_too() {
        let sizes: BTreeMap<Label, usize> = (0..41).map(|i| (i, if i == 40 { 1 } else { 10 })).collect();
        let terms = chain(40);
        // From the vector at the end, each step is a product of a matrix and a vector.
        let made = cost(&terms, &[0, 40], &sizes, &order(&terms, &[0, 40], &sizes));
        assert_eq!(made, 39.0 * 100.0);
        assert_eq!(order(&chain(1), &[0, 1], &sizes), []);
        assert_eq!(order(&chain(2), &[0, 2], &sizes), [(0, 1)]);
    }

    #[test]
    fn empty_axes_and_repeated_operands_have_an_order() {
        let sizes: BTreeMap<Label, usize> = [(0, 0), (1, usize::MAX), (2, usize::MAX)].into();
        let terms = vec![vec![0, 1], vec![1, 2], vec![2, 0], vec![]];
        assert_eq!(order(&terms, &[], &sizes).len(), 3);
        let many = vec![vec![1, 2]; 20];
        assert_eq!(order(&many, &[], &sizes).len(), 19);
    }
}
