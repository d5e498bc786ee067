//! Reductions: [`reduce`](reduce::reduce) cuts values into tiles, and a [`fold`] is what is done with each.

mod deviations;
pub mod fold;
mod loops;
pub mod parts;
pub mod reduce;
