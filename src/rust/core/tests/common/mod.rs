//! Code that tests of whole programs share: seeded random data, and runs of a program by both executors.
#![allow(dead_code)] // each test file uses a part

pub mod both;
pub mod large;
pub mod text;

use anvil_core::dtype::{DType, Kind};
use anvil_core::error::Error;
use anvil_core::exec::{reference, Executable, Output};
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::ops::Graph;
use anvil_core::stop::{watched, Watch};
use anvil_core::tensor::Aval;
use std::cell::RefCell;
use std::time::Duration;

/// Marsaglia's xorshift64*: the same numbers everywhere, for ever.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        // Neighbouring seeds start far apart.
        Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number from `0..n`.
    pub fn below(&mut self, n: usize) -> usize {
        ((self.bits() >> 32) as usize) % n
    }

    /// Whether an event of probability `1 / n` happens.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn choose<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    pub fn shuffle<T>(&mut self, x: &mut [T]) {
        for i in (1..x.len()).rev() {
            x.swap(i, self.below(i + 1));
        }
    }
}

/// Floats at which something happens.
const SPECIAL: [f64; 18] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    2.0,
    -3.0,
    1e-40,
    -5e-324,
    1e30,
    -1e300,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// One random element: special values, small numbers, and any bits at all.
pub fn random_element(rng: &mut Rng, dtype: DType) -> Vec<u8> {
    if dtype.is_complex() {
        return [random_element(rng, dtype.part()), random_element(rng, dtype.part())].concat();
    }
    let float = |rng: &mut Rng| match rng.below(4) {
        0 => *rng.choose(&SPECIAL),
        1 => rng.below(9) as f64 - 4.0,
        2 => (rng.bits() >> 11) as f64 / (1u64 << 53) as f64 * 8.0 - 4.0,
        _ => f64::from_bits(rng.bits()),
    };
    let bits = match dtype.kind() {
        Kind::Boolean => rng.bits() >> 63,
        Kind::Float if dtype == DType::F32 => u64::from((float(rng) as f32).to_bits()),
        Kind::Float if dtype == DType::F16 => half::f16::from_f32(float(rng) as f32).to_bits().into(),
        Kind::Float if dtype == DType::BF16 => half::bf16::from_f32(float(rng) as f32).to_bits().into(),
        Kind::Float => float(rng).to_bits(),
        _ => match rng.below(4) {
            // Lowest, highest, -1, 0, 1 of the width, as the low bits of these.
            0 => *rng.choose(&[1 << (dtype.bits() - 1), (1 << (dtype.bits() - 1)) - 1, u64::MAX, 0, 1]),
            1 => (rng.below(9) as u64).wrapping_sub(4),
            2 => rng.below(100) as u64,
            _ => rng.bits(),
        },
    };
    match dtype.bytes() {
        1 => (bits as u8).to_ne_bytes().to_vec(),
        2 => (bits as u16).to_ne_bytes().to_vec(),
        4 => (bits as u32).to_ne_bytes().to_vec(),
        _ => bits.to_ne_bytes().to_vec(),
    }
}

/// Bytes that are aligned for every dtype.
pub fn aligned(bytes: &[u8]) -> AlignedBytes {
    let mut out = AlignedBytes::zeroed(bytes.len());
    out.as_mut_slice().copy_from_slice(bytes);
    out
}

/// A random tensor of this type.
pub fn random_tensor(rng: &mut Rng, aval: &Aval) -> AlignedBytes {
    let bytes: Vec<u8> = (0..aval.shape.size()).flat_map(|_| random_element(rng, aval.dtype)).collect();
    aligned(&bytes)
}

/// Random inputs of a graph.
pub fn random_inputs(rng: &mut Rng, graph: &Graph) -> Vec<AlignedBytes> {
    graph.inputs().iter().map(|&v| random_tensor(rng, graph.aval(v))).collect()
}

/// The first element in which two tensors differ; NaN is the same as any NaN, -0 is not 0.
pub fn first_difference(dtype: DType, x: &[u8], y: &[u8]) -> Option<String> {
    assert_eq!(x.len(), y.len(), "tensors of one size");
    if dtype.is_complex() {
        // Part by part, since one may be NaN.
        return first_difference(dtype.part(), x, y);
    }
    let is_nan = |e: &[u8]| match dtype {
        DType::F32 => f32::from_ne_bytes(e.try_into().expect("4 bytes")).is_nan(),
        DType::F64 => f64::from_ne_bytes(e.try_into().expect("8 bytes")).is_nan(),
        DType::F16 => half::f16::from_ne_bytes(e.try_into().expect("2 bytes")).is_nan(),
        DType::BF16 => half::bf16::from_ne_bytes(e.try_into().expect("2 bytes")).is_nan(),
        _ => false,
    };
    let pairs = x.chunks_exact(dtype.bytes()).zip(y.chunks_exact(dtype.bytes()));
    let mut differing = pairs.enumerate().filter(|(_, (x, y))| x != y && !(is_nan(x) && is_nan(y)));
    differing.next().map(|(i, (x, y))| format!("element {i} of {dtype}: {x:02x?} is not {y:02x?}"))
}

/// Runs a program as a whole, and node by node; returns how they differ. `donated` inputs are given away. A
/// panic is a disagreement too, so that the program is shown.
pub fn disagreement(
    graph: &Graph,
    inputs: &[AlignedBytes],
    constants: &[AlignedBytes],
    donated: &[usize],
) -> Option<String> {
    let compared = std::panic::AssertUnwindSafe(|| compare(graph, inputs, constants, donated));
    std::panic::catch_unwind(compared).unwrap_or_else(|_| Some(format!("panicked, donated {donated:?}")))
}

fn compare(
    graph: &Graph,
    inputs: &[AlignedBytes],
    constants: &[AlignedBytes],
    donated: &[usize],
) -> Option<String> {
    let inputs: Vec<&[u8]> = inputs.iter().map(|x| x.as_slice()).collect();
    let constants: Vec<&[u8]> = constants.iter().map(|x| x.as_slice()).collect();
    if let Err(e) = graph.verify() {
        return Some(format!("before: {e}"));
    }
    if let Some(what) = text::misread(graph) {
        return Some(what);
    }
    let want = reference::evaluate(graph, &inputs, &constants);
    let may_raise = graph.nodes().iter().any(|node| node.op.may_raise());
    assert!(may_raise || want.is_ok(), "an error of nobody");
    let executable = match Executable::compile(graph, donated) {
        Ok(executable) => executable,
        Err(e) => return Some(format!("compile: {e}")),
    };
    if let Err(e) = executable.graph().verify() {
        return Some(format!("after: {e}"));
    }
    if let Some(what) = text::misread(executable.graph()) {
        return Some(format!("after: {what}"));
    }
    let types: Vec<&Aval> = graph.outputs().iter().map(|&v| graph.aval(v)).collect();
    if !executable.outputs().eq(types.iter().copied()) {
        let changed = executable.outputs().zip(&types).find(|(now, before)| now != *before);
        return Some(format!("optimisation changed the type of an output: {changed:?}"));
    }
    // Cold, with memory from the run before, with donation, and once more without.
    for donates in [false, false, true, false] {
        let (want, got) = match (&want, run(&executable, &inputs, &constants, &types, donates)) {
            (Ok(want), Ok(got)) => (want, got),
            (Ok(_), Err(e)) => return Some(format!("fails: {e}")),
            // The reference runs what nothing reads, too. Tests that know what is read ask for the error.
            (Err(_), _) => continue,
        };
        for (k, (got, want)) in got.iter().zip(want).enumerate() {
            if let Some(what) = first_difference(types[k].dtype, got.as_slice(), want) {
                return Some(format!(
                    "output {k}, donated {donated:?} ({donates}): {what}\n{}",
                    executable.graph()
                ));
            }
        }
    }
    None
}

fn run(
    executable: &Executable,
    inputs: &[&[u8]],
    constants: &[&[u8]],
    types: &[&Aval],
    donates: bool,
) -> Result<Vec<AlignedBytes>, Error> {
    let mut inputs: Vec<Option<&[u8]>> = inputs.iter().copied().map(Some).collect();
    let mut outputs: Vec<AlignedBytes> = Vec::new();
    let mut given = Vec::new();
    for (aval, donation) in types.iter().zip(executable.donations()) {
        match donation.filter(|_| donates) {
            Some(i) => outputs.push(aligned(inputs[i].take().expect("an input is given away once"))),
            // What was there before must not matter.
            None => outputs.push(aligned(&vec![0xA5; aval.bytes()])),
        }
        given.push(donation.filter(|_| donates));
    }
    let buffers = outputs.iter_mut().zip(given).map(|(bytes, donation)| match donation {
        Some(i) => Output::Donated(bytes.as_mut_slice(), i),
        None => Output::Fresh(bytes.as_mut_slice()),
    });
    let buffers = buffers.collect();
    executable.run(&inputs, constants, buffers)?;
    Ok(outputs)
}

type Ask = Box<dyn FnMut(usize) -> bool>;

thread_local! {
    /// Who is asked on this thread.
    static ASK: RefCell<Option<Ask>> = const { RefCell::new(None) };
}

/// Runs `body`; whenever it reports work, `ask` is told how much and says whether to stop: `None` then.
pub fn asking<T>(ask: impl FnMut(usize) -> bool + 'static, body: impl FnOnce() -> T) -> Option<T> {
    asking_every(1, ask, body)
}

/// As [`asking`], when so many elements were reported.
pub fn asking_every<T>(
    every: usize,
    ask: impl FnMut(usize) -> bool + 'static,
    body: impl FnOnce() -> T,
) -> Option<T> {
    ASK.set(Some(Box::new(ask)));
    let ask = |done: usize| {
        // Not borrowed meanwhile: it may run what asks again.
        let mut ask = ASK.take().expect("set above");
        let stop = ask(done);
        ASK.set(Some(ask));
        stop
    };
    let out = watched(Watch { ask, every, period: Duration::ZERO }, body);
    ASK.set(None);
    out
}
