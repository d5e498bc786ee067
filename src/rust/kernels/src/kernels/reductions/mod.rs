//! Reductions: [`reduce`](reduce::reduce) splits values into tiles, and a [`fold`] folds each. Cumulations:
//! [`cumulative`](cumulative::cumulative) walks along lines.

pub mod accumulators;
mod beside;
pub mod carrier;
pub mod cumulative;
mod cumulative_sums;
mod deviations;
mod extremes;
pub mod fold;
#[cfg(target_arch = "x86_64")]
mod group_sums;
mod lines;
mod log_sum_exp;
mod loops;
pub mod partials;
pub mod reduce;
pub mod segments;
mod vectors;
mod way;
pub mod windows;
