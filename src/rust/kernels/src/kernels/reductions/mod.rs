//! Reductions: [`reduce`](reduce::reduce) splits values into tiles, and a [`fold`] folds each.

mod deviations;
pub mod fold;
mod loops;
pub mod partials;
pub mod reduce;
