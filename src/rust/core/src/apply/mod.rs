//! From a call as the user wrote it to nodes of a graph. Promotion and the recycling of scalars and vectors
//! become explicit nodes here and nowhere else; all later stages see equal dtypes and shapes.
//!
//! Eager and traced calls both take this way; the caller chooses the graph.

mod applier;
mod compose;
mod conversion;
mod convolve;
mod covariance;
mod defaults;
mod einsum;
mod elements;
mod indexed;
mod linalg;
mod masked;
mod matrices;
mod order;
pub mod patterns;
mod positions;
mod products;
mod promote;
mod quantile;
mod random;
pub mod selection;
mod sequences;
mod shapes;
mod signal;
mod statistics;
pub mod subset;

pub use applier::{compares, is_elementwise, takes_na, Applier};
pub use conversion::{Conversion, Loss};
pub use defaults::Defaults;
pub use indexed::applies_at_positions;

use crate::error::Result;
use crate::graph::Value;
use crate::ops::attrs::Attrs;
use applier::Composition;
use std::collections::HashMap;
use std::sync::OnceLock;

impl Applier<'_> {
    /// Applies the op (or the short composition) called `name` to operands as the user gave them; returns its
    /// results.
    ///
    /// # Errors
    /// Errors for unknown dtypes, dtypes that the op does not accept or the rules do not join, shapes that do
    /// not fit, and parameters out of range: see [`Error`](crate::error::Error). The builder may hold unused
    /// nodes then.
    pub fn apply(&mut self, name: &str, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        match composition(name) {
            Some(compose) => compose(self, operands, attrs),
            None => self.op(name, operands, attrs),
        }
    }
}

/// The compositions, by the file that they are in.
const FAMILIES: &[&[(&str, Composition)]] = &[
    compose::ALL,
    convolve::ALL,
    covariance::ALL,
    einsum::ALL,
    indexed::ALL,
    linalg::ALL,
    matrices::ALL,
    order::ALL,
    products::ALL,
    quantile::ALL,
    random::ALL,
    sequences::ALL,
    shapes::ALL,
    signal::ALL,
    statistics::ALL,
];

/// The composition of this name.
fn composition(name: &str) -> Option<Composition> {
    static BY_NAME: OnceLock<HashMap<&str, Composition>> = OnceLock::new();
    let all = BY_NAME.get_or_init(|| FAMILIES.iter().flat_map(|family| family.iter()).copied().collect());
    all.get(name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::promote::rules;
    use crate::error::Error;
    use crate::ops::Builder;
    use std::collections::HashSet;

    #[test]
    fn compositions_have_names_of_their_own() {
        let names: Vec<&str> =
            FAMILIES.iter().flat_map(|family| family.iter()).map(|(name, _)| *name).collect();
        assert_eq!(names.len(), names.iter().collect::<HashSet<_>>().len());
    }

    #[test]
    fn unknown_names_are_refused() {
        let mut builder = Builder::default();
        let refused = Applier::new(&mut builder, rules()).apply("nothing", &[], &Attrs::new());
        assert!(
            matches!(refused, Err(Error::Internal { detail }) if detail == "there is no op called nothing")
        );
    }
}
