//! Partial orders, given by edges: least upper bounds, the Hasse diagram, and chains in it.
//!
//! The module works on names alone and does not know their meaning.

use std::collections::VecDeque;

/// A partial order in which any two types that have upper bounds have a least one.
#[derive(Debug)]
pub(super) struct Lattice {
    names: Vec<String>,
    /// Square matrix: the least upper bound of each pair, as a position in `names`.
    joins: Vec<Option<usize>>,
    /// The cover relation: pairs (lower, upper) with nothing between them.
    covers: Vec<(usize, usize)>,
}

impl Lattice {
    /// The order that `edges` generates over `names`. In `a b < c`, everything on the left of `<` is below
    /// everything on its right; what follows by transitivity need not be written.
    ///
    /// Cost: cubic in the number of names for the order, to the fourth power for the check of the bounds.
    ///
    /// # Errors
    /// A clause that names the offending type or pair: an unknown name, a cycle, or upper bounds without a
    /// least one.
    pub(super) fn parse(names: Vec<String>, edges: &str) -> Result<Lattice, String> {
        let n = names.len();
        let position = |name: &str| {
            names
                .iter()
                .position(|known| known == name)
                .ok_or_else(|| format!("unknown type {name} in an edge"))
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
        Ok(Lattice { names, joins, covers: covers(&below) })
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// The least upper bound; `None` if there is no upper bound, or a name is not of this order.
    pub(super) fn join(&self, a: &str, b: &str) -> Option<&str> {
        let join = self.joins[self.position(a)? * self.names.len() + self.position(b)?];
        join.map(|i| self.names[i].as_str())
    }

    /// A shortest chain upwards along the edges of the diagram, both ends included; `None` if `to` is not
    /// above `from`.
    pub(super) fn path(&self, from: &str, to: &str) -> Option<Vec<&str>> {
        let (start, end) = (self.position(from)?, self.position(to)?);
        // Breadth-first search from `to` downwards; each node that is reached gets its successor on the
        // chain.
        let mut next = vec![None; self.names.len()];
        let mut queue = VecDeque::from([end]);
        while let Some(high) = queue.pop_front() {
            for &(low, _) in self.covers.iter().filter(|cover| cover.1 == high) {
                if low != end && next[low].is_none() {
                    next[low] = Some(high);
                    queue.push_back(low);
                }
            }
        }
        let mut chain = vec![start];
        while *chain.last()? != end {
            chain.push(next[*chain.last()?]?);
        }
        Some(chain.into_iter().map(|i| self.names[i].as_str()).collect())
    }
}

/// The cover relation of an order: the pairs (lower, upper) with nothing between them, sorted. `below` is the
/// strict order as a square matrix, transitively closed.
///
/// Cost: cubic in its size.
pub(super) fn covers(below: &[Vec<bool>]) -> Vec<(usize, usize)> {
    let nodes = || 0..below.len();
    let pairs = nodes().flat_map(|low| nodes().map(move |high| (low, high)));
    pairs
        .filter(|&(low, high)| below[low][high] && !nodes().any(|i| below[low][i] && below[i][high]))
        .collect()
}
