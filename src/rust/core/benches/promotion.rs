//! Benchmark of promotion while a function is traced: 1,000 additions of mixed dtypes go into a graph, and
//! the 1,000 promotions among them are timed alone. `make bench` runs this; the target is a share under 1 %.

use anvil_core::apply::Applier;
use anvil_core::dtype::promote::rules;
use anvil_core::dtype::{DType, Ranked};
use anvil_core::graph::Value;
use anvil_core::ops::attrs::Attrs;
use anvil_core::ops::Builder;
use anvil_core::tensor::Aval;
use std::hint::black_box;
use std::time::{Duration, Instant};

const OPS: usize = 1000;
const ROUNDS: usize = 101;

/// Median time of one run.
fn median(mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[ROUNDS / 2]
}

/// Dtypes in turn, every third one ambiguous, so that most neighbours differ.
fn ranked(i: usize) -> Ranked {
    Ranked { dtype: DType::ALL[i * 7 % DType::ALL.len()], ambiguous: i % 3 == 0 }
}

fn main() {
    let pairs: Vec<[Ranked; 2]> = (0..OPS).map(|i| [ranked(i), ranked(i + 1)]).collect();
    let traced = median(|| {
        let mut builder = Builder::default();
        let inputs: Vec<Value> = (0..=OPS).map(|i| builder.input(Aval::new(ranked(i), [3].into()))).collect();
        for pair in inputs.windows(2) {
            black_box(
                Applier::new(&mut builder, rules())
                    .apply("add", pair, &Attrs::new())
                    .expect("numbers add up"),
            );
        }
    });
    let promoted = median(|| {
        for &[lhs, rhs] in black_box(&pairs) {
            black_box(rules().join(lhs, rhs));
        }
    });
    let microseconds = |t: Duration| t.as_secs_f64() * 1e6;
    println!(
        "{OPS} additions of mixed dtypes as nodes of a graph {:8.1} us\ntheir {OPS} promotions, as loads from a table        {:8.1} us   share {:.2} %   target 1 %",
        microseconds(traced),
        microseconds(promoted),
        100.0 * promoted.as_secs_f64() / traced.as_secs_f64()
    );
}
