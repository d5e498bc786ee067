//! Batches: a program on values with a batch axis gives what a loop of single runs gives.

#[path = "common/batches.rs"]
mod batches;
mod common;
#[path = "common/rows.rs"]
mod row_programs;

use batches::{bits, differs, subsets, Data};
use common::Rng;
use row_programs::programs;

/// Sizes of batches.
const SIZES: [usize; 4] = [0, 1, 3, 7];

#[test]
fn rows_agree_with_a_loop_of_single_runs() {
    let mut rng = Rng::new(1);
    let mut failed = std::collections::BTreeMap::new();
    let mut n = 0;
    for program in programs(4) {
        for marks in subsets(program.graph.inputs().len()) {
            for size in SIZES {
                let data = Data::random(&mut rng, &program.graph, &marks, size);
                n += 1;
                if let Some(what) = differs(&program.graph, &marks, &data, &bits) {
                    failed.entry(program.row).or_insert_with(|| (vec![], what)).0.push(program.name.clone());
                }
            }
        }
    }
    for (row, (names, what)) in failed {
        println!("=== {row} {} {:?}\n{what}", names.len(), &names[..names.len().min(10)]);
    }
    println!("{n}");
}
