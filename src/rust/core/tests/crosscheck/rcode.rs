//! A program as R code that a person can paste.

use super::Program;
use anvil_core::dtype::DType;
use anvil_core::graph::{Def, Operation, Value};
use anvil_core::ops::{Graph, Op};
use anvil_core::tensor::{Aval, Literal};

/// Numbers as R reads them, exactly.
fn element(literal: Literal) -> String {
    let float = |x: f64| match x {
        _ if x.is_nan() => "NaN".into(),
        _ if x == f64::INFINITY => "Inf".into(),
        _ if x == f64::NEG_INFINITY => "-Inf".into(),
        // f16 and f32 are among the doubles.
        _ => format!("{x:?}"),
    };
    match literal.dtype() {
        DType::I1 => {
            if literal.get::<u8>() != 0 {
                "TRUE".into()
            } else {
                "FALSE".into()
            }
        }
        DType::I64 => format!("\"{}\"", literal.get::<i64>()),
        DType::UI64 => format!("\"{}\"", literal.get::<u64>()),
        dtype if dtype.is_complex() => {
            let z = literal.convert(DType::C128).get::<num_complex::Complex<f64>>();
            format!("complex(real = {}, imaginary = {})", float(z.re), float(z.im))
        }
        _ => float(literal.convert(DType::F64).get::<f64>()),
    }
}

fn tensor(aval: &Aval, bytes: &[u8]) -> String {
    let (dtype, shape) = (aval.ranked().dtype, sizes(aval.shape.iter().copied()));
    if aval.shape.size() == 0 {
        return format!("nv_empty(\"{dtype}\", {shape})");
    }
    let elements: Vec<String> =
        bytes.chunks_exact(aval.dtype.bytes()).map(|x| element(Literal::from_bytes(aval.dtype, x))).collect();
    let flag = if aval.ambiguous.is_some() { ", ambiguous = TRUE" } else { "" };
    format!("nv_tensor(c({}), dtype = \"{dtype}\", shape = {shape}{flag})", elements.join(", "))
}

fn sizes(x: impl Iterator<Item = usize>) -> String {
    let x: Vec<String> = x.map(|d| d.to_string()).collect();
    if x.is_empty() {
        "integer()".into()
    } else {
        format!("c({})", x.join(", "))
    }
}

/// A parameter as the graph's text has it, as a call has it.
fn attribute(text: &str) -> String {
    let text = text.replace("c()", "integer()");
    match text.strip_prefix('[') {
        Some(pair) => format!("list({})", pair.trim_end_matches(']')),
        None => text,
    }
}

struct Code {
    lines: Vec<String>,
    next: usize,
}

impl Code {
    fn name(&mut self) -> String {
        self.next += 1;
        format!("v{}", self.next)
    }

    /// The lines of a graph's nodes, with these names of its inputs; gives the names of its outputs.
    fn graph(&mut self, graph: &Graph, inputs: &[String], indent: &str) -> Vec<String> {
        let mut names = vec![String::new(); graph.values().count()];
        let of = |names: &[String], values: &[Value]| -> Vec<String> {
            values.iter().map(|v| names[v.index()].clone()).collect()
        };
        for v in graph.values() {
            let aval = graph.aval(v);
            match graph.def(v) {
                Def::Input(i) => names[v.index()] = inputs[i].clone(),
                Def::Literal(literal) => {
                    names[v.index()] = tensor(aval, &literal.to_bytes()[..aval.dtype.bytes()])
                }
                Def::Result(number, 0) => {
                    let node = &graph.nodes()[number];
                    let operands = of(&names, &node.operands);
                    let made: Vec<String> = node.results.iter().map(|_| self.name()).collect();
                    let call = self.call(&node.op, &operands, indent);
                    if let [one] = made.as_slice() {
                        let pick = if node.op.has_regions() { "[[1]]" } else { "" };
                        self.lines.push(format!("{indent}{one} <- {call}{pick}"));
                    } else {
                        let all = self.name();
                        self.lines.push(format!("{indent}{all} <- {call}"));
                        made.iter().enumerate().for_each(|(k, name)| {
                            self.lines.push(format!("{indent}{name} <- {all}[[{}]]", k + 1))
                        });
                    }
                    node.results.iter().zip(made).for_each(|(v, name)| names[v.index()] = name);
                }
                _ => {}
            }
        }
        of(&names, graph.outputs())
    }

    /// A function of `arguments` that runs a region on `inputs`, as lines of their own; its result is what
    /// `gives` makes.
    fn function(
        &mut self,
        region: &Graph,
        head: &str,
        inputs: &[String],
        indent: &str,
        gives: impl Fn(&[String]) -> String,
    ) -> String {
        let outer = std::mem::take(&mut self.lines);
        let inner = format!("{indent}  ");
        let outputs = self.graph(region, inputs, &inner);
        let body = std::mem::replace(&mut self.lines, outer);
        format!("{head} {{\n{}\n{inner}{}\n{indent}}}", body.join("\n"), gives(&outputs))
    }

    fn call(&mut self, op: &Op, operands: &[String], indent: &str) -> String {
        let list = |x: &[String]| format!("list({})", x.join(", "));
        let state = |n: usize, of: &str| (1..=n).map(|i| format!("{of}[[{i}]]")).collect::<Vec<_>>();
        match op {
            Op::If(op) => {
                let (one, other) = operands[1..].split_at(op.branches[0].inputs().len());
                let [yes, no] = [(0, one), (1, other)]
                    .map(|(i, x)| self.function(&op.branches[i], "function()", x, indent, list));
                format!("nv_if({}, {yes}, {no})", operands[0])
            }
            Op::While(op) => {
                let (init, rest) = operands.split_at(op.carried);
                let (for_cond, for_body) = rest.split_at(op.cond.inputs().len() - op.carried);
                let with = |rest: &[String]| [state(op.carried, "s"), rest.to_vec()].concat();
                let cond = self.function(&op.cond, "function(s)", &with(for_cond), indent, |x| x[0].clone());
                let body = self.function(&op.body, "function(s)", &with(for_body), indent, list);
                format!("nv_while({}, {cond}, {body})", list(init))
            }
            Op::Scan(op) => {
                let (init, rest) = operands.split_at(op.carried);
                let (along, rest) = rest.split_at(op.sliced);
                let inputs = [state(op.carried, "s"), state(op.sliced, "x"), rest.to_vec()].concat();
                let gives =
                    |x: &[String]| format!("list({}, {})", list(&x[..op.carried]), list(&x[op.carried..]));
                let body = self.function(&op.body, "function(s, x)", &inputs, indent, gives);
                let reverse = if op.reverse { "TRUE" } else { "FALSE" };
                let scan = format!(
                    "nv_scan({body}, {}, {}, {}, reverse = {reverse})",
                    list(init),
                    list(along),
                    op.length
                );
                format!("unname(do.call(c, {scan}))")
            }
            _ => {
                let quoted = |name: &str, value: String| match (name, op) {
                    ("dtype" | "algorithm", _) => format!("\"{value}\""),
                    ("value", Op::Fill(fill)) => element(fill.value),
                    _ => value,
                };
                let attributes = op
                    .attributes()
                    .into_iter()
                    .map(|(name, value)| format!("{name} = {}", quoted(name, attribute(&value))));
                // Positions count from 1 in R.
                let positions = match op {
                    Op::Gather(_) | Op::DynamicSlice(_) => 1..operands.len(),
                    Op::Scatter(_) => 1..2,
                    Op::DynamicUpdateSlice(_) => 2..operands.len(),
                    _ => 0..0,
                };
                let operand = |(i, x): (usize, &String)| {
                    if positions.contains(&i) {
                        format!("nv_convert({x}, \"i64\") + 1L")
                    } else {
                        x.clone()
                    }
                };
                let arguments: Vec<String> =
                    operands.iter().enumerate().map(operand).chain(attributes).collect();
                format!("{}({})", op.row().function, arguments.join(", "))
            }
        }
    }
}

/// The program with its inputs; its last line is the list of its results.
pub fn program(program: &Program) -> String {
    let mut code = Code { lines: vec![], next: 0 };
    let mut inputs = Vec::new();
    for (&v, bytes) in program.graph.inputs().iter().zip(&program.inputs) {
        inputs.push(format!("x{}", inputs.len() + 1));
        code.lines.push(format!("x{} <- {}", inputs.len(), tensor(program.graph.aval(v), bytes)));
    }
    let outputs = code.graph(&program.graph, &inputs, "");
    code.lines.push(format!("list({})", outputs.join(", ")));
    code.lines.join("\n")
}
