//! The same bits at every level of the processor's instructions and for any number of threads. Both are
//! chosen once in a process, so each choice is a process of its own, which prints the results of its
//! programs.

mod common;
#[allow(dead_code)]
mod writer;

use anvil_core::dtype::DType;
use anvil_core::exec::{Executable, Output};
use anvil_core::graph::Value;
use anvil_core::kernels::math::Level;
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::ops::{rows, Graph};
use anvil_core::shape::Shape;
use common::{random_tensor, Rng};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::Command;
use writer::Writer;

/// Programs on small tensors; `ANVIL_PROGRAMS` says how many.
const PROGRAMS: u64 = 500;

/// One program in so many is on tensors that are large enough for threads.
const LARGE: u64 = 12;

/// Numbers of threads: none to share with, the usual, and more than there are processors.
const THREADS: [&str; 3] = ["1", "2", "5"];

/// Shapes of many tiles, of which no size is a multiple of a vector.
fn large() -> Vec<Shape> {
    [&[][..], &[613, 347], &[347], &[613], &[212_711], &[347, 613]]
        .map(|s| Shape::try_new(s.to_vec()).unwrap())
        .to_vec()
}

/// A random program with its inputs and constants.
fn program(seed: u64) -> (Graph, Vec<AlignedBytes>) {
    let all: Vec<(&str, usize)> = rows().map(|row| (row.name, row.operands.len())).collect();
    let mut writer =
        if seed % LARGE == 0 { Writer::on(seed, Rng::new(seed), large()) } else { Writer::new(seed) };
    let names: Vec<(&str, usize)> = if seed % LARGE == 0 {
        // No products of everything with everything, which would be larger than memory.
        const GROWING: [&str; 11] = [
            "dot_general",
            "gather",
            "scatter",
            "pad",
            "concatenate",
            "broadcast_in_dim",
            "dynamic_slice",
            "dynamic_update_slice",
            "fill",
            "iota",
            "print",
        ];
        all.into_iter().filter(|(name, _)| !GROWING.contains(name)).collect()
    } else {
        all
    };
    // Products within factorisations give 0 or -0 where they underflow, by level.
    const FACTORS: [&str; 7] = ["chol", "triangular_solve", "lu", "lu_solve", "qr", "eigh", "svd"];
    let names: Vec<(&str, usize)> = names
        .into_iter()
        .filter(|(name, _)| !FACTORS.contains(name))
        .filter(|(name, _)| {
            !["if", "while", "scan", "custom_gradient", "custom_jvp", "print", "callback"].contains(name)
        })
        .collect();
    for _ in 0..2 + writer.rng.below(if seed % LARGE == 0 { 12 } else { 30 }) {
        writer.step(&names);
    }
    if seed % 5 == 0 && seed % LARGE != 0 {
        writer.depth = 1;
        writer.control(&names);
    }
    let outputs: Vec<Value> = writer.outputs();
    let Writer { mut rng, b, .. } = writer;
    let graph = b.finish(outputs);
    let values = graph.inputs().iter().chain(graph.constants());
    let data = values.map(|&v| random_tensor(&mut rng, graph.aval(v))).collect();
    (graph, data)
}

/// A number for the bits of a value. Which NaN an operation on two of them gives is up to the processor.
fn fingerprint(dtype: DType, bytes: &[u8], hasher: &mut DefaultHasher) {
    let part = if dtype.is_complex() { dtype.part() } else { dtype };
    for element in bytes.chunks_exact(part.bytes()) {
        let is_nan = match part {
            DType::F32 => f32::from_ne_bytes(element.try_into().unwrap()).is_nan(),
            DType::F64 => f64::from_ne_bytes(element.try_into().unwrap()).is_nan(),
            DType::F16 => half::f16::from_ne_bytes(element.try_into().unwrap()).is_nan(),
            DType::BF16 => half::bf16::from_ne_bytes(element.try_into().unwrap()).is_nan(),
            _ => false,
        };
        hasher.write(if is_nan { b"NaN" } else { element });
    }
}

fn run(seed: u64) -> u64 {
    let (graph, data) = program(seed);
    let executable = Executable::compile(&graph, &[]).unwrap();
    let data: Vec<&[u8]> = data.iter().map(AlignedBytes::as_slice).collect();
    let (inputs, constants) = data.split_at(graph.inputs().len());
    let inputs: Vec<Option<&[u8]>> = inputs.iter().copied().map(Some).collect();
    let mut outputs: Vec<AlignedBytes> =
        executable.outputs().map(|aval| AlignedBytes::zeroed(aval.bytes())).collect();
    let buffers = outputs.iter_mut().map(|bytes| Output::Fresh(bytes.as_mut_slice())).collect();
    // What is made before a program fails is the same, too.
    let failed = executable.run(&inputs, constants, buffers).err();
    let mut hasher = DefaultHasher::new();
    for (aval, bytes) in executable.outputs().zip(&outputs) {
        fingerprint(aval.dtype, bytes.as_slice(), &mut hasher);
    }
    format!("{failed:?}").hash(&mut hasher);
    hasher.finish()
}

fn programs() -> u64 {
    std::env::var("ANVIL_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(PROGRAMS)
}

/// Prints the fingerprint of each program, on a line of its own.
#[test]
#[ignore = "a part of the test below, which runs it in processes of its own"]
fn print_fingerprints() {
    for seed in 1..=programs() {
        println!("\nprogram {seed} {:016x}", run(seed));
    }
}

#[test]
fn a_level_that_no_processor_has_is_an_error() {
    let run = |level: &str| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "print_fingerprints", "--nocapture"]);
        command.envs([("ANVIL_SIMD", level), ("ANVIL_PROGRAMS", "1")]);
        let out = command.output().unwrap();
        (out.status.success(), String::from_utf8_lossy(&out.stderr).into_owned())
    };
    let (done, text) = run("avx3");
    assert!(!done && text.contains("ANVIL_SIMD") && text.contains("avx3"), "{text}");
    // One that other processors have is.
    for level in ["", "portable", "avx2", "avx512", "neon"] {
        let (done, text) = run(level);
        assert!(done, "{level}: {text}");
    }
}

#[test]
fn levels_and_threads_change_no_bit() {
    let levels = Level::ALL.iter().filter(|level| level.is_here());
    let choices: Vec<(&str, &str)> =
        levels.flat_map(|level| THREADS.map(|threads| (level.name(), threads))).collect();
    let mut first: Option<BTreeMap<u64, String>> = None;
    for (level, threads) in choices {
        let out = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "print_fingerprints", "--nocapture"])
            .envs([("ANVIL_SIMD", level), ("ANVIL_NUM_THREADS", threads)])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&out.stdout);
        assert!(
            out.status.success(),
            "{level}, {threads} threads: {text}{}",
            String::from_utf8_lossy(&out.stderr)
        );
        let lines = text.lines().filter_map(|line| line.strip_prefix("program ")?.split_once(' '));
        let prints: BTreeMap<u64, String> =
            lines.map(|(seed, print)| (seed.parse().unwrap(), print.to_string())).collect();
        assert_eq!(prints.len() as u64, programs(), "{level}, {threads} threads");
        let first = first.get_or_insert_with(|| prints.clone());
        for (seed, print) in &prints {
            assert_eq!(
                &first[seed],
                print,
                "seed {seed} at level {level} with {threads} threads\n{}",
                program(*seed).0
            );
        }
    }
}
