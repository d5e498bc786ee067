//! Programs of complex numbers on parts, against the reference, bit by bit: random ones, and what each kind of op becomes.

mod common;

use anvil_core::dtype::DType;
use anvil_core::exec::{reference, Executable, Output};
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::ops::Graph;
use anvil_core::passes::{optimise, planar};
use common::{aligned, Rng};

/// Numbers of all kinds, most of them ordinary.
fn part(rng: &mut Rng, is_wild: bool) -> f64 {
    const WILD: [f64; 10] =
        [0.0, -0.0, 1e300, -1e-300, 1e160, 5e-324, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1.0];
    match is_wild && rng.below(4) == 0 {
        true => WILD[rng.below(WILD.len())],
        false => (rng.below(2000) as f64 - 1000.0) / 500.0,
    }
}

/// The dtype of a float, or of the parts of a complex number.
fn floats(dtype: DType) -> Option<DType> {
    matches!(dtype.part(), DType::F32 | DType::F64).then(|| dtype.part())
}

fn input(dtype: DType, bytes: usize, rng: &mut Rng, is_wild: bool) -> AlignedBytes {
    let mut all = vec![];
    while all.len() < bytes {
        let x = part(rng, is_wild);
        match floats(dtype) {
            Some(DType::F32) => all.extend((x as f32).to_ne_bytes()),
            Some(_) => all.extend(x.to_ne_bytes()),
            None => all.push(rng.below(2) as u8),
        }
    }
    aligned(&all[..bytes])
}

/// Whether both are the same numbers, NaN of any kind among them.
fn same(dtype: DType, got: &[u8], want: &[u8]) -> bool {
    let pairs = |width: usize| got.chunks(width).zip(want.chunks(width));
    let single = |x: &[u8]| f32::from_ne_bytes(x.try_into().unwrap());
    let double = |x: &[u8]| f64::from_ne_bytes(x.try_into().unwrap());
    match floats(dtype) {
        Some(DType::F32) => pairs(4).all(|(x, y)| x == y || single(x).is_nan() && single(y).is_nan()),
        Some(_) => pairs(8).all(|(x, y)| x == y || double(x).is_nan() && double(y).is_nan()),
        None => got == want,
    }
}

/// The first parts that differ.
fn different(dtype: DType, got: &[u8], want: &[u8]) -> String {
    let width = floats(dtype).map_or(1, DType::bytes);
    let all = got.chunks(width).zip(want.chunks(width)).enumerate();
    let mut all = all.filter(|(_, (x, y))| !same(dtype, x, y));
    all.next().map_or(String::new(), |(at, (x, y))| format!("part {at} is {x:x?}, not {y:x?}"))
}

/// Whether a program is on parts; it gives what the reference does.
fn check(text: &str, seed: usize) -> bool {
    let graph = Graph::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let executable = Executable::compile(&graph, &[]).unwrap();
    let mut rng = Rng::new(seed as u64);
    for is_wild in [false, true] {
        let inputs: Vec<AlignedBytes> = graph
            .inputs()
            .iter()
            .map(|&v| input(graph.aval(v).dtype, graph.aval(v).bytes(), &mut rng, is_wild))
            .collect();
        let inputs: Vec<&[u8]> = inputs.iter().map(AlignedBytes::as_slice).collect();
        let want = reference::evaluate(&graph, &inputs, &[]).unwrap();
        let given: Vec<Option<&[u8]>> = inputs.iter().copied().map(Some).collect();
        let mut made: Vec<AlignedBytes> =
            executable.outputs().map(|aval| AlignedBytes::zeroed(aval.bytes())).collect();
        let outputs = made.iter_mut().map(|x| Output::Fresh(x.as_mut_slice())).collect();
        executable.run(&given, &[], outputs).unwrap();
        for (number, (aval, (got, want))) in executable.outputs().zip(made.iter().zip(&want)).enumerate() {
            let got = got.as_slice();
            assert!(
                same(aval.dtype, got, want),
                "{text}\nresult {number}: {}",
                different(aval.dtype, got, want)
            );
        }
    }
    planar(&optimise(&graph).unwrap()).unwrap().is_some()
}

/// A random line of ops on matrices, all of one shape.
struct Line {
    complex: Vec<String>,
    real: Vec<String>,
    text: String,
    next: usize,
    indent: &'static str,
    types: [String; 3],
}

impl Line {
    fn add(&mut self, of: usize, op: &str) -> String {
        self.next += 1;
        let name = format!("%{}", self.next);
        self.text += &format!("{}{name}: {} = {op}\n", self.indent, self.types[of]);
        name
    }

    fn op(&mut self, rng: &mut Rng) {
        let pick = |all: &[String], rng: &mut Rng| all[all.len() - 1 - rng.below(all.len().min(4))].clone();
        let (x, y, r) = (pick(&self.complex, rng), pick(&self.complex, rng), pick(&self.real, rng));
        let [z, f, _] = &self.types;
        let (dtype, shape) = z.split_once('[').unwrap();
        let (part, shape) = (f.split_once('[').unwrap().0, shape.trim_end_matches(']').to_string());
        let all = |x: &str, dtype: &str| {
            format!("broadcast_in_dim [shape = c({shape}), broadcast_axes = c()] ({x}:{dtype})")
        };
        let (three, scale) = (all("3+0i", dtype), all("0.5-2i", dtype));
        let (two, convert) =
            (all("2+0i", dtype), format!("convert [dtype = {dtype}, ambiguous = FALSE] ({r})"));
        let half = all("0.5", part);
        let made = match rng.below(20) {
            0..=3 => self.add(0, &format!("mul({x}, {y})")),
            4 | 5 => self.add(0, &format!("add({x}, {y})")),
            6 => self.add(0, &format!("sub({x}, {y})")),
            7 | 8 => self.add(0, &format!("div({x}, {y})")),
            9 => self.add(0, &format!("negate({x})")),
            10 => self.add(0, &format!("conj({x})")),
            11 => {
                let n = self.add(0, if rng.below(2) == 0 { &two } else { &three });
                self.add(0, &format!("pow({x}, {n})"))
            }
            12 => {
                let by = self.add(0, &scale);
                self.add(0, &format!("mul({by}, {x})"))
            }
            13 => self.add(0, &format!("complex({r}, {r})")),
            14 => self.add(0, &convert),
            15 => {
                let equal = self.add(2, &format!("{}({x}, {y})", ["eq", "ne"][rng.below(2)]));
                self.add(0, &format!("select({equal}, {y}, {x})"))
            }
            16 => {
                let middle = self.add(1, &half);
                let is_more = self.add(2, &format!("gt({r}, {middle})"));
                self.add(0, &format!("select({is_more}, {x}, {y})"))
            }
            17 => self.add(0, &format!("reverse [axes = 1] ({x})")),
            18 => self.add(0, &format!("exp({x})")),
            _ => {
                let op = ["real", "imag", "magnitude", "arg"][rng.below(4)];
                let made = self.add(1, &format!("{op}({x})"));
                self.real.push(made);
                return;
            }
        };
        self.complex.push(made);
    }
}

/// A program of so many ops, in a loop of so many iterations if there are any.
fn program(rng: &mut Rng, dtype: &str, ops: usize, length: usize) -> String {
    let shape = ["[3, 4]", "[1, 1]", "[2, 37]", "[0, 2]"][rng.below(4)];
    let part = if dtype == "c64" { "f32" } else { "f64" };
    let types = [dtype, part, "i1"].map(|ty| format!("{ty}{shape}"));
    let [z, f, _] = &types;
    let mut line = Line {
        complex: vec!["%x1".into(), "%x2".into()],
        real: vec!["%x3".into()],
        text: String::new(),
        next: 0,
        indent: if length > 0 { "        " } else { "    " },
        types: types.clone(),
    };
    (0..ops).for_each(|_| line.op(rng));
    let (last, other) = (line.complex.last().unwrap(), line.real.last().unwrap());
    let before = line.complex[line.complex.len() / 2].clone();
    let inputs = format!("<AnvilGraph>\n  Inputs:\n    %x1: {z}\n    %x2: {z}\n    %x3: {f}\n  Body:\n");
    if length == 0 {
        let sum = line.next + 1;
        return format!(
            "{inputs}{}    %{sum}: {dtype}[] = reduce_sum [axes = c(1, 2), drop = TRUE] ({last})\n  Outputs:\n    {last}: {z}\n    {other}: {f}\n    {before}: {z}\n    %{sum}: {dtype}[]\n",
            line.text
        );
    }
    let sizes = shape.trim_matches(['[', ']']);
    format!(
        "{inputs}    (%1, %2): ({z}, {dtype}[{length}, {sizes}]) = scan [length = {length}, reverse = FALSE, checkpoint = FALSE] (%x1, %x2, %x3)\n      body(%x1: {z}, %x2: {z}, %x3: {f}):\n{}        gives ({last}, {before})\n  Outputs:\n    %1: {z}\n    %2: {dtype}[{length}, {sizes}]\n",
        line.text
    )
}

#[test]
fn random_programs_give_what_the_reference_gives() {
    for dtype in ["c64", "c128"] {
        let mut parted = 0;
        for seed in 0..400 {
            let mut rng = Rng::new(seed as u64 + 17);
            let length = [0, 0, 1, 7][rng.below(4)];
            let ops = 3 + rng.below(14);
            let text = program(&mut rng, dtype, ops, length);
            parted += usize::from(check(&text, seed));
        }
        assert!(parted > 100, "{dtype}: {parted} of them are on parts");
    }
}

#[test]
fn sums_of_parts_are_those_of_numbers() {
    for dtype in ["c64", "c128"] {
        for (rows, columns) in [(1, 3000), (3000, 1), (37, 211), (300, 40)] {
            for (axes, made) in
                [("1", format!("[{columns}]")), ("2", format!("[{rows}]")), ("c(1, 2)", "[]".into())]
            {
                let z = format!("{dtype}[{rows}, {columns}]");
                let text = format!(
                    "<AnvilGraph>\n  Inputs:\n    %x1: {z}\n    %x2: {z}\n  Body:\n    %1: {z} = mul(%x1, %x2)\n    %2: {z} = mul(%1, %x2)\n    %3: {dtype}{made} = reduce_sum [axes = {axes}, drop = TRUE] (%2)\n  Outputs:\n    %3: {dtype}{made}\n"
                );
                assert!(check(&text, rows), "{text}");
            }
        }
    }
}

#[test]
fn loops_on_numbers_are_native_code() {
    for dtype in ["c64", "c128"] {
        let body = format!(
            "        %1: {dtype}[] = mul(%x1, %x1)\n        %2: {dtype}[] = add(%1, %x2)\n        %3: {dtype}[] = div(%2, %x2)\n"
        );
        let text = format!(
            "<AnvilGraph>\n  Inputs:\n    %x1: {dtype}[]\n    %x2: {dtype}[]\n  Body:\n    %1: {dtype}[] = scan [length = 50, reverse = FALSE, checkpoint = FALSE] (%x1, %x2)\n      body(%x1: {dtype}[], %x2: {dtype}[]):\n{body}        gives (%3)\n  Outputs:\n    %1: {dtype}[]\n"
        );
        assert!(check(&text, 1));
        let executable = Executable::compile(&Graph::parse(&text).unwrap(), &[]).unwrap();
        assert!(executable.lines().iter().any(|line| line.native) || cfg!(not(target_arch = "x86_64")));
    }
}

#[test]
fn one_op_between_others_that_need_whole_numbers_stays() {
    let text = "<AnvilGraph>\n  Inputs:\n    %x1: c128[64]\n    %x2: c128[64]\n  Body:\n    %1: c128[64] = exp(%x1)\n    %2: c128[64] = mul(%1, %x2)\n    %3: c128[64] = exp(%2)\n  Outputs:\n    %3: c128[64]\n";
    assert!(!check(text, 3));
}
