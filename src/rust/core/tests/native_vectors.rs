//! Vectors in native loops, against the reference, bit by bit: random bodies on values whose elements fill vectors, and those
//! that do not.

mod common;

use anvil_core::exec::vm::native::is_here;
use common::both::scans;
use common::Rng;
use std::fmt::Write;

/// A body that is being written.
struct Body {
    text: String,
    /// Values with their dtypes, all of this many elements.
    values: Vec<(String, &'static str)>,
    size: usize,
    next: usize,
}

impl Body {
    fn line(&mut self, dtype: &'static str, size: usize, what: &str) -> String {
        self.next += 1;
        let name = format!("%{}", self.next);
        let shape = if size == 0 { String::new() } else { size.to_string() };
        writeln!(self.text, "{name}: {dtype}[{shape}] = {what}").unwrap();
        name
    }

    fn add(&mut self, dtype: &'static str, what: &str) {
        let name = self.line(dtype, self.size, what);
        self.values.push((name, dtype));
    }

    /// One of the values of a dtype, the later ones more often.
    fn pick(&self, rng: &mut Rng, dtype: &str) -> String {
        let those: Vec<&String> = self.values.iter().filter(|v| v.1 == dtype).map(|v| &v.0).collect();
        let last = those.len() - 1;
        those[last - rng.below(those.len()).min(rng.below(those.len()))].clone()
    }

    /// A value with one element for all, as a value of the body.
    fn spread(&mut self, dtype: &'static str, name: &str) -> String {
        let n = self.size;
        self.line(dtype, n, &format!("broadcast_in_dim [shape = c({n}), broadcast_axes = c()] ({name})"))
    }

    fn op(&mut self, rng: &mut Rng) {
        let dtype = *rng.choose(&["f64", "f64", "f32", "i32"]);
        let (x, y) = (self.pick(rng, dtype), self.pick(rng, dtype));
        let float = dtype != "i32";
        match rng.below(14) {
            0..=2 => self.add(dtype, &format!("{}({x}, {y})", rng.choose(&["add", "sub", "mul"]))),
            3 => self.add(dtype, &format!("{}({x}, {y})", rng.choose(&["max", "min"]))),
            4 if !float => {
                let literal = *rng.choose(&["3:i32", "8:i32", "-5:i32", "10007:i32"]);
                let divisor = if rng.one_in(3) { y } else { self.spread(dtype, literal) };
                self.add(dtype, &format!("{}({x}, {divisor})", rng.choose(&["mod", "floor_div"])));
            }
            4 if float => self.add(dtype, &format!("div({x}, {y})")),
            5 | 6 if float => {
                let f = rng.choose(&[
                    "tanh", "gamma", "exp", "sin", "sqrt", "log", "abs", "floor", "erf", "sign", "atan",
                ]);
                self.add(dtype, &format!("{f}({x})"));
            }
            7 => self.add("i1", &format!("{}({x}, {y})", rng.choose(&["lt", "ge", "eq", "ne"]))),
            8 => {
                let mask = self.pick(rng, "i1");
                self.add(dtype, &format!("select({mask}, {x}, {y})"));
            }
            9 => {
                let (a, b) = (self.pick(rng, "i1"), self.pick(rng, "i1"));
                self.add("i1", &format!("{}({a}, {b})", rng.choose(&["and", "or", "xor"])));
            }
            10 => {
                // The last element comes first.
                let n = self.size;
                let slice = |from, to| {
                    format!("static_slice [start_indices = {from}, limit_indices = {to}, strides = 1] ({x})")
                };
                let last = self.line(dtype, 1, &slice(n, n));
                let others = self.line(dtype, n - 1, &slice(1, n - 1));
                self.add(dtype, &format!("concatenate [axis = 1] ({last}, {others})"));
            }
            11 => {
                let fold = *rng.choose(&["reduce_sum", "reduce_max"]);
                let one = self.line(dtype, 0, &format!("{fold} [axes = 1, drop = TRUE] ({x})"));
                let all = self.spread(dtype, &one);
                self.add(dtype, &format!("sub({y}, {all})"));
            }
            12 => {
                let (from, to) = *rng.choose(&[
                    ("i1", "f64"),
                    ("i1", "f32"),
                    ("i32", "f32"),
                    ("f32", "f64"),
                    ("f64", "f32"),
                    ("i32", "f64"),
                ]);
                let x = self.pick(rng, from);
                self.add(to, &format!("convert [dtype = {to}, ambiguous = FALSE] ({x})"));
            }
            _ => {
                let literal = match dtype {
                    "i32" => "3:i32",
                    "f32" => "0.75:f32",
                    _ => "0.75:f64",
                };
                let all = self.spread(dtype, literal);
                self.add(dtype, &format!("{}({x}, {all})", rng.choose(&["add", "mul", "min"])));
            }
        }
    }

    /// Results of the body: floats with one NaN for all, since what two NaN make is the processor's choice.
    fn result(&mut self, rng: &mut Rng, dtype: &'static str) -> String {
        let x = self.pick(rng, dtype);
        if !dtype.starts_with('f') {
            return x;
        }
        let n = self.size;
        let is_nan = self.line("i1", n, &format!("is_nan({x})"));
        let nan = self.spread(dtype, &format!("NaN:{dtype}"));
        // Numbers do not grow without an end.
        let x = self.line(dtype, n, &format!("{}({x})", rng.choose(&["tanh", "sin", "abs"])));
        self.line(dtype, n, &format!("select({is_nan}, {nan}, {x})"))
    }
}

/// The types of what bodies have.
const TYPES: [&str; 4] = ["f64", "f32", "i32", "i1"];

/// A random body on values of so many elements, and whether it was native code.
fn random_body(rng: &mut Rng, size: usize, ops: usize, nested: bool) -> bool {
    let types: Vec<String> = TYPES.iter().map(|dtype| format!("{dtype}[{size}]")).collect();
    // Two of each float are carried.
    let carried: Vec<&str> = [0, 0, 1, 1, 2, 3].iter().map(|&i| types[i].as_str()).collect();
    let dtypes = ["f64", "f64", "f32", "f32", "i32", "i1"];
    let (sliced, rest) = ([types[0].as_str(), &types[1]], [types[0].as_str(), &types[1], &types[2]]);
    let all = dtypes.iter().chain(&["f64", "f32", "f64", "f32", "i32"]);
    let values: Vec<_> = all.enumerate().map(|(i, &dtype)| (format!("%x{i}"), dtype)).collect();
    let mut body = Body { text: String::new(), values, size, next: 0 };
    (0..ops).for_each(|_| body.op(rng));
    if nested {
        let state = [body.pick(rng, "f64"), body.pick(rng, "f64"), body.pick(rng, "f32")];
        let (outer, other) = (body.pick(rng, "f64"), body.pick(rng, "i32"));
        let mut inner = Body {
            text: String::new(),
            values: ["f64", "f64", "f32", "f64", "i32"]
                .iter()
                .enumerate()
                .map(|(i, &d)| (format!("%y{i}"), d))
                .collect(),
            size,
            next: 0,
        };
        inner.add("i1", "lt(%y0, %y1)");
        (0..ops).for_each(|_| inner.op(rng));
        let gives: Vec<String> = ["f64", "f64", "f32"].iter().map(|dtype| inner.result(rng, dtype)).collect();
        let parameters: Vec<String> =
            [0, 0, 1, 0, 2].iter().enumerate().map(|(i, &k)| format!("%y{i}: {}", types[k])).collect();
        let begins = body.next + 1;
        body.next += 4;
        let condition = "i32[], ".to_string();
        let names: Vec<String> = (begins..begins + 4).map(|i| format!("%{i}")).collect();
        let text = format!(
            "({}): ({condition}{}, {}, {}) = while(0:i32, {}, {outer}, {other})
               cond(%i: i32[], %a: {}, %b: {}, %c: {}):
                 %1: i1[] = lt(%i, {}:i32)
                 gives (%1)
               body(%i: i32[], {}):
                 {}%900: i32[] = add(%i, 1:i32)
                 gives (%900, {})\n",
            names.join(", "),
            types[0],
            types[0],
            types[1],
            state.join(", "),
            types[0],
            types[0],
            types[1],
            rng.below(4),
            parameters.join(", "),
            inner.text,
            gives.join(", ")
        );
        body.text += &text;
        let made = names[1..].iter().zip(["f64", "f64", "f32"]).map(|(name, dtype)| (name.clone(), dtype));
        body.values.extend(made);
        (0..3).for_each(|_| body.op(rng));
    }
    let next: Vec<String> = dtypes.iter().map(|dtype| body.result(rng, dtype)).collect();
    let made: Vec<String> = TYPES.iter().map(|dtype| body.result(rng, dtype)).collect();
    let gives = [next, made].concat().join(", ");
    let made: Vec<&str> = types.iter().map(String::as_str).collect();
    scans(&carried, &sliced, &rest, &body.text, &gives, &made)
}

#[test]
fn random_bodies() {
    let (mut rng, mut native) = (Rng::new(11), 0);
    for size in [4, 5, 7, 8, 9, 12, 16, 19] {
        for _ in 0..6 {
            let ops = 4 + rng.below(20);
            native += usize::from(random_body(&mut rng, size, ops, false));
        }
    }
    assert!(!is_here() || native > 30, "{native} of 48 are native code");
}

#[test]
fn random_bodies_with_loops() {
    let (mut rng, mut native) = (Rng::new(12), 0);
    for size in [4, 5, 8, 10, 17] {
        for _ in 0..5 {
            let ops = 3 + rng.below(8);
            native += usize::from(random_body(&mut rng, size, ops, true));
        }
    }
    assert!(!is_here() || native > 12, "{native} of 25 are native code");
}
