//! Programs in text, by the engine and by the reference, bit by bit.

use super::{aligned, Rng};
use anvil_core::dtype::DType;
use anvil_core::error::Error;
use anvil_core::exec::{reference, Executable, Output};
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::ops::Graph;

/// Runs a graph in both ways on random inputs.
pub fn check(text: &str, rng: &mut Rng) -> Result<Vec<Vec<u8>>, Error> {
    run(text, rng, false).0
}

/// As [`check`], and whether it has a loop in native code. Of several errors any may be the first.
pub fn run(text: &str, rng: &mut Rng, several: bool) -> (Result<Vec<Vec<u8>>, Error>, bool) {
    let graph = Graph::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let inputs: Vec<AlignedBytes> =
        graph.inputs().iter().map(|&v| random(graph.aval(v).dtype, graph.aval(v).bytes(), rng)).collect();
    let inputs: Vec<&[u8]> = inputs.iter().map(AlignedBytes::as_slice).collect();
    let want = reference::evaluate(&graph, &inputs, &[]);
    let executable = Executable::compile(&graph, &[]).unwrap();
    let given: Vec<Option<&[u8]>> = inputs.iter().copied().map(Some).collect();
    for _ in 0..2 {
        let mut made: Vec<AlignedBytes> =
            executable.outputs().map(|aval| AlignedBytes::zeroed(aval.bytes())).collect();
        let outputs = made.iter_mut().map(|x| Output::Fresh(x.as_mut_slice())).collect();
        let got = executable.run(&given, &[], outputs);
        let got = got.map(|()| made.iter().map(|x| x.as_slice().to_vec()).collect::<Vec<_>>());
        assert!(got == want || several && got.is_err() && want.is_err(), "{text}\n{got:?}\n{want:?}");
    }
    (want, executable.lines().iter().any(|line| line.native))
}

/// Elements of a dtype: small numbers, and some that are none.
fn random(dtype: DType, bytes: usize, rng: &mut Rng) -> AlignedBytes {
    let mut out = vec![];
    while out.len() < bytes {
        let x = (rng.below(2000) as f64 - 1000.0) / 250.0;
        match dtype {
            DType::F64 if rng.below(40) == 0 => out.extend(f64::NAN.to_ne_bytes()),
            DType::F64 => out.extend(x.to_ne_bytes()),
            DType::F32 if rng.below(40) == 0 => out.extend(f32::INFINITY.to_ne_bytes()),
            DType::F32 => out.extend((x as f32).to_ne_bytes()),
            DType::I1 => out.push(rng.below(2) as u8),
            _ => out.extend((0..dtype.bytes()).map(|i| if i == 0 { rng.below(256) as u8 } else { 0 })),
        }
    }
    aligned(&out[..bytes])
}

/// A scan of a body with these inputs and outputs, for several lengths, in both directions; whether the longest has a loop
/// in native code.
pub fn scans(
    carried: &[&str],
    sliced: &[&str],
    rest: &[&str],
    body: &str,
    gives: &str,
    made: &[&str],
) -> bool {
    let (mut rng, mut is_native) = (Rng::new(7), false);
    for length in [0, 1, 2, 5, 64, 1000] {
        for reverse in ["FALSE", "TRUE"] {
            let along = |ty: &str| {
                let (dtype, sizes) = ty.split_once('[').unwrap();
                let sizes = sizes.trim_end_matches(']');
                match sizes {
                    "" => format!("{dtype}[{length}]"),
                    _ => format!("{dtype}[{length}, {sizes}]"),
                }
            };
            let outside: Vec<String> = carried
                .iter()
                .map(|ty| (*ty).to_string())
                .chain(sliced.iter().map(|ty| along(ty)))
                .chain(rest.iter().map(|ty| (*ty).to_string()))
                .collect();
            let inside: Vec<&str> = carried.iter().chain(sliced).chain(rest).copied().collect();
            let results: Vec<String> =
                carried.iter().map(|ty| (*ty).to_string()).chain(made.iter().map(|ty| along(ty))).collect();
            let declared: Vec<String> =
                outside.iter().enumerate().map(|(i, ty)| format!("    %a{i}: {ty}\n")).collect();
            let parameters: Vec<String> =
                inside.iter().enumerate().map(|(i, ty)| format!("%x{i}: {ty}")).collect();
            let arguments: Vec<String> = (0..outside.len()).map(|i| format!("%a{i}")).collect();
            let names: Vec<String> = (0..results.len()).map(|i| format!("%r{i}")).collect();
            let (left, types) = match names.len() {
                1 => (names[0].clone(), results[0].clone()),
                _ => (format!("({})", names.join(", ")), format!("({})", results.join(", "))),
            };
            let outputs: Vec<String> =
                names.iter().zip(&results).map(|(name, ty)| format!("    {name}: {ty}\n")).collect();
            let lines: Vec<String> = body.lines().map(|line| format!("        {}\n", line.trim())).collect();
            let text = format!(
                "<AnvilGraph>\n  Inputs:\n{}  Body:\n    {left}: {types} = scan [length = {length}, reverse = {reverse}, checkpoint = FALSE] ({})\n      body({}):\n{}        gives ({gives})\n  Outputs:\n{}",
                declared.concat(),
                arguments.join(", "),
                parameters.join(", "),
                lines.concat(),
                outputs.concat(),
            );
            is_native = run(&text, &mut rng, false).1;
        }
    }
    is_native
}

/// The ops of each step of a program.
pub fn line_ops(text: &str) -> Vec<Vec<&'static str>> {
    let executable = Executable::compile(&Graph::parse(text).unwrap(), &[]).unwrap();
    executable.lines().into_iter().map(|line| line.ops).collect()
}
