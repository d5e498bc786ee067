//! Programs as StableHLO: compositions mean what their ops mean, and the text is what it should be.

mod common;
#[path = "common/exported.rs"]
mod exported;
#[path = "common/rows.rs"]
mod row_programs;
mod writer;

use anvil_core::hlo::Options;
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::ops::Graph;
use common::{random_tensor, Rng};

/// Random tensors for the inputs of a graph, and for its constants.
fn tensors(rng: &mut Rng, graph: &Graph) -> [Vec<AlignedBytes>; 2] {
    [graph.inputs(), graph.constants()].map(|values| values.iter().map(|&v| random_tensor(rng, graph.aval(v))).collect())
}

fn slices(tensors: &[AlignedBytes]) -> Vec<&[u8]> {
    tensors.iter().map(|x| x.as_slice()).collect()
}

/// Writes programs to the folder that `ANVIL_HLO_FOLDER` names: one of each row and dtype, and random ones.
#[test]
#[ignore = "writes files for a check with another compiler"]
fn write_programs() {
    let folder = std::env::var("ANVIL_HLO_FOLDER").expect("ANVIL_HLO_FOLDER names a folder");
    let folder = std::path::Path::new(&folder);
    let mut rng = Rng::new(1);
    for program in row_programs::programs() {
        let [inputs, constants] = tensors(&mut rng, &program.graph);
        let (inputs, constants) = (slices(&inputs), slices(&constants));
        exported::write(folder, &program.name, &program.graph, &inputs, &constants, &Options::default())
            .unwrap_or_else(|e| panic!("{}: {e}", program.name));
    }
    let names: Vec<(&str, usize)> = writer_names();
    for seed in 1..=3_500u64 {
        let mut writer = writer::Writer::new(seed);
        writer.depth = 2;
        for _ in 0..2 + writer.rng.below(14) {
            writer.step(&names);
        }
        if seed % 3 == 0 {
            writer.control(&names);
        }
        let outputs = writer.outputs();
        let writer::Writer { mut rng, b, .. } = writer;
        let graph = b.finish(outputs);
        let [inputs, constants] = tensors(&mut rng, &graph);
        let (inputs, constants) = (slices(&inputs), slices(&constants));
        let donated = (0..inputs.len()).map(|_| rng.one_in(2)).collect();
        let options = Options { inline_limit: rng.below(40), donated, ..Options::default() };
        exported::write(folder, &format!("random-{seed}"), &graph, &inputs, &constants, &options)
            .unwrap_or_else(|e| panic!("{seed}: {e}\n{graph}"));
    }
}

/// Names of the ops that random programs are made of; none that prints.
fn writer_names() -> Vec<(&'static str, usize)> {
    let mut names: Vec<(&'static str, usize)> =
        anvil_core::ops::rows().map(|row| (row.name, row.operands.len())).collect();
    names.retain(|(name, _)| !["if", "while", "scan", "custom_gradient", "print"].contains(name));
    names.extend(["promote", "broadcast", "matmul", "runif", "rnorm", "rbinom", "sample_int", "split_state"].map(|name| (name, 1)));
    for name in ["reshape", "transpose", "convert", "gather", "scatter", "matmul", "dot_general", "pad"] {
        names.extend([(name, 1); 4]);
    }
    names
}
