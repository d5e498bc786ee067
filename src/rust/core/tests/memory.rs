//! Allocations of programs, compared with their memory plans.

mod common;

use anvil_core::exec::{Executable, Output};
use anvil_core::graph::{Def, Value};
use anvil_core::kernels::threads::want;
use anvil_core::ops::Graph;
use common::large::program;
use common::{random_inputs, Rng};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Counts bytes that are allocated, and their maximum.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator does it; here it is counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        MOST.fetch_max(NOW.fetch_add(layout.size(), SeqCst) + layout.size(), SeqCst);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), SeqCst);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Peak of a first and a second run, inputs and outputs included, and what the plan says.
fn peaks(graph: &Graph, seed: u64) -> ([usize; 2], usize) {
    let mut rng = Rng::new(seed);
    let inputs = random_inputs(&mut rng, graph);
    let inputs: Vec<Option<&[u8]>> = inputs.iter().map(|x| Some(x.as_slice())).collect();
    let given: usize = graph.inputs().iter().map(|&v| graph.aval(v).bytes()).sum();
    let before = NOW.load(SeqCst);
    let executable = Executable::compile(graph, &[]).unwrap();
    let most = [(); 2].map(|()| {
        MOST.store(NOW.load(SeqCst), SeqCst);
        // An output that is an input as it is takes no memory.
        let is_input = |v: &Value| matches!(executable.graph().def(*v), Def::Input(_));
        let made: Vec<bool> = executable.graph().outputs().iter().map(|v| !is_input(v)).collect();
        let bytes = executable.outputs().zip(&made).map(|(aval, &made)| if made { aval.bytes() } else { 0 });
        let mut outputs: Vec<Vec<u8>> = bytes.map(|n| vec![0; n]).collect();
        let outputs = outputs.iter_mut().zip(&made);
        let outputs =
            outputs.map(|(x, &made)| if made { Output::Fresh(x) } else { Output::Unused }).collect();
        executable.run(&inputs, &[], outputs).unwrap();
        MOST.load(SeqCst) - before + given
    });
    (most, executable.memory_plan().peak())
}

/// One test, since it counts what the process allocates.
#[test]
fn the_peak_is_within_a_tenth_of_the_plan() {
    // A product copies what is not dense, which no plan tells. Each thread takes a few hundred kilobytes for
    // the blocks of a product.
    want(Some(2)).unwrap();
    for seed in 0..15 {
        let graph = program(&mut Rng::new(seed), 8, 700, false);
        let (most, planned) = peaks(&graph, seed);
        for (run, &most) in most.iter().enumerate() {
            assert!(
                most as f64 <= 1.1 * planned as f64,
                "seed {seed}, run {run}: {most} bytes, {planned} planned\n{}",
                Executable::compile(&graph, &[]).unwrap().describe()
            );
        }
        // Nor does the plan promise what is not needed.
        assert!(planned as f64 <= 1.1 * most[0] as f64, "seed {seed}: {most:?} bytes, {planned} planned");
    }
}
