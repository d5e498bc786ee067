//! Code that benchmarks of programs share: inputs, and a clock.

use anvil_core::exec::{Executable, Output};
use anvil_core::graph::Value;
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::ops::Graph;
use anvil_core::tensor::{Aval, Literal};
use std::time::Instant;

/// Elements of an input that differ; the rest repeats them. A prime, so that lines of a matrix differ too.
const DIFFERENT: usize = 1009;

/// Nanoseconds of the fastest of several runs of a program, and of the median. `value` is an element of an
/// input, by its number.
pub fn time(graph: &Graph, value: impl Fn(&Aval, usize) -> f64) -> (f64, f64) {
    let executable = Executable::compile(graph, &[]).unwrap();
    let fill = |&v: &Value| {
        let aval = graph.aval(v);
        let (mut bytes, size) = (AlignedBytes::zeroed(aval.bytes()), aval.dtype.bytes());
        let element = |i: usize| Literal::new(value(aval, i)).convert(aval.dtype).to_bytes();
        let elements: Vec<[u8; 16]> = (0..DIFFERENT).map(element).collect();
        for (out, element) in bytes.as_mut_slice().chunks_mut(size).zip(elements.iter().cycle()) {
            out.copy_from_slice(&element[..size]);
        }
        bytes
    };
    let inputs: Vec<AlignedBytes> = graph.inputs().iter().map(fill).collect();
    let mut outputs: Vec<AlignedBytes> =
        graph.outputs().iter().map(|&v| AlignedBytes::zeroed(graph.aval(v).bytes())).collect();
    let inputs: Vec<Option<&[u8]>> = inputs.iter().map(|x| Some(x.as_slice())).collect();
    let mut run = |times: usize| {
        let start = Instant::now();
        for _ in 0..times {
            let buffers = outputs.iter_mut().map(|x| Output::Fresh(x.as_mut_slice())).collect();
            executable.run(&inputs, &[], buffers).unwrap();
        }
        start.elapsed().as_nanos() as f64 / times as f64
    };
    let first = run(1);
    let times = (2e6 / first).clamp(1.0, 10_000.0) as usize;
    let mut all: Vec<f64> = (0..9).map(|_| run(times)).collect();
    all.sort_by(f64::total_cmp);
    (all[0], all[4])
}
