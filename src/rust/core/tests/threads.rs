//! The number of threads changes no bit: random programs on large matrices, next to the reference.

mod common;

use anvil_core::kernels::threads::{threads, want};
use common::large::program;
use common::{disagreement, random_inputs, Rng};

/// Programs that are tried.
const PROGRAMS: u64 = 25;

/// One test, since the number is that of the process.
#[test]
fn programs_give_the_bits_of_the_reference_on_any_number_of_threads() {
    for seed in 0..PROGRAMS {
        let mut rng = Rng::new(seed);
        let graph = program(&mut rng, 6, 300, true);
        let inputs = random_inputs(&mut rng, &graph);
        for number in [1, 2, 5] {
            want(Some(number)).unwrap();
            if let Some(what) = disagreement(&graph, &inputs, &[], &[]) {
                panic!("seed {seed}, {} threads: {what}\n{graph}", threads());
            }
        }
    }
}
