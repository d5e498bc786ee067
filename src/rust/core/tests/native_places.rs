//! Values in memory of which loops within the iterations of a native loop read and replace parts, against the reference, bit
//! by bit: random programs of loops, branches, reads and replacements.

mod common;

use anvil_core::exec::vm::native::is_here;
use common::both::run;
use common::Rng;
use std::fmt::Write;

/// The vectors that programs carry: their sizes.
const SIZES: [usize; 2] = [400, 97];

/// What is known at some place of a program: names of the vectors, of numbers and of positions.
#[derive(Clone)]
struct Scope {
    vectors: [String; 2],
    numbers: Vec<String>,
    positions: Vec<String>,
}

struct Program {
    next: usize,
    /// What is done with positions that are out of range, and how far they reach.
    mode: &'static str,
    reach: usize,
}

impl Program {
    fn name(&mut self) -> String {
        self.next += 1;
        format!("%{}", self.next)
    }

    /// A position that is computed, most of the time one in range.
    fn position(&mut self, rng: &mut Rng, scope: &mut Scope, text: &mut String) -> String {
        let [a, b, c] = [(); 3].map(|()| self.name());
        let (x, y) = (rng.choose(&scope.positions).clone(), rng.choose(&scope.positions).clone());
        let op = rng.choose(&["add", "mul", "sub"]);
        writeln!(text, "{a}: i32[] = {op}({x}, {y})\n{b}: i32[] = add({a}, {}:i32)", rng.below(40)).unwrap();
        writeln!(text, "{c}: i32[] = mod({b}, {}:i32)", self.reach).unwrap();
        scope.positions.push(c.clone());
        c
    }

    fn statement(&mut self, rng: &mut Rng, scope: &mut Scope, depth: usize, text: &mut String) {
        let which = rng.below(2);
        let size = SIZES[which];
        let vector = scope.vectors[which].clone();
        let number = rng.choose(&scope.numbers).clone();
        match rng.below(if depth < 3 { 10 } else { 7 }) {
            0 | 1 => {
                let at = self.position(rng, scope, text);
                let [part, x] = [(); 2].map(|()| self.name());
                let mode = self.mode;
                writeln!(text, "{part}: f64[1] = dynamic_slice [slice_sizes = 1{mode}] ({vector}, {at})")
                    .unwrap();
                writeln!(text, "{x}: f64[] = reshape [shape = c(), order = \"column\"] ({part})").unwrap();
                scope.numbers.push(x);
            }
            2 | 3 => {
                let at = self.position(rng, scope, text);
                let [part, new] = [(); 2].map(|()| self.name());
                let mode = self.mode.trim_start_matches(", ");
                let mode = if mode.is_empty() { String::new() } else { format!(" [{mode}] ") };
                writeln!(
                    text,
                    "{part}: f64[1] = broadcast_in_dim [shape = 1, broadcast_axes = c()] ({number})"
                )
                .unwrap();
                writeln!(text, "{new}: f64[{size}] = dynamic_update_slice{mode}({vector}, {part}, {at})")
                    .unwrap();
                scope.vectors[which] = new;
            }
            4 => {
                // Some of which several may be at one position.
                let at = self.position(rng, scope, text);
                let [all, add, ats, parts, new] = [(); 5].map(|()| self.name());
                let by = rng.choose(&["replace", "add", "max"]);
                let mode = if self.mode.is_empty() { "" } else { ", mode = \"drop\"" };
                writeln!(
                    text,
                    "{all}: i32[3, 1] = broadcast_in_dim [shape = c(3, 1), broadcast_axes = c()] ({at})"
                )
                .unwrap();
                writeln!(text, "{add}: i32[3, 1] = iota [axis = 1, dtype = i32, shape = c(3, 1), start = 0, ambiguous = FALSE] ()").unwrap();
                writeln!(text, "{ats}: i32[3, 1] = add({all}, {add})").unwrap();
                writeln!(
                    text,
                    "{parts}: f64[3] = broadcast_in_dim [shape = 3, broadcast_axes = c()] ({number})"
                )
                .unwrap();
                writeln!(text, "{new}: f64[{size}] = scatter [update_window_axes = c(), inserted_window_axes = 1, scatter_axes_to_operand_axes = 1, index_vector_axis = 2, indices_are_sorted = FALSE, unique_indices = FALSE, update_computation = \"{by}\"{mode}] ({vector}, {ats}, {parts})").unwrap();
                scope.vectors[which] = new;
            }
            5 => {
                let x = self.name();
                let other = rng.choose(&scope.numbers).clone();
                let op = rng.choose(&["add", "sub", "max", "min"]);
                writeln!(text, "{x}: f64[] = {op}({number}, {other})").unwrap();
                scope.numbers.push(x);
            }
            6 => {
                // A part of what is known to be there, at a known and at a computed position.
                let at = self.position(rng, scope, text);
                let [view, one, x, other, y, sum] = [(); 6].map(|()| self.name());
                let (mode, first, step) = (self.mode, 1 + rng.below(3), 1 + rng.below(2));
                let limit = size - rng.below(3);
                let count = (limit - first) / step + 1;
                writeln!(text, "{view}: f64[{count}] = static_slice [start_indices = {first}, limit_indices = {limit}, strides = {step}] ({vector})").unwrap();
                let place = 1 + rng.below(size);
                writeln!(text, "{one}: f64[1] = static_slice [start_indices = {place}, limit_indices = {place}, strides = 1] ({vector})").unwrap();
                writeln!(text, "{x}: f64[] = reshape [shape = c(), order = \"column\"] ({one})").unwrap();
                // It may be out of range of the part, which is shorter.
                let mode = if mode.is_empty() && step > 1 { ", mode = \"clip\"" } else { mode };
                writeln!(text, "{other}: f64[1] = dynamic_slice [slice_sizes = 1{mode}] ({view}, {at})")
                    .unwrap();
                writeln!(text, "{y}: f64[] = reshape [shape = c(), order = \"column\"] ({other})").unwrap();
                writeln!(text, "{sum}: f64[] = add({x}, {y})").unwrap();
                scope.numbers.push(sum);
            }
            7 | 8 => self.inner_loop(rng, scope, depth, text),
            _ => self.branch(rng, scope, depth, text),
        }
    }

    /// Statements of a region, on vectors of these names.
    fn block(&mut self, rng: &mut Rng, mut scope: Scope, depth: usize, text: &mut String) -> Scope {
        for _ in 0..2 + rng.below(4) {
            self.statement(rng, &mut scope, depth + 1, text);
        }
        // All are needed: what is read for nothing is not, and then fails in the reference alone.
        let numbers = scope.numbers.clone();
        let all = numbers.into_iter().reduce(|x, y| {
            let both = self.name();
            writeln!(text, "{both}: f64[] = max({x}, {y})").unwrap();
            both
        });
        scope.numbers.extend(all);
        scope
    }

    fn inner_loop(&mut self, rng: &mut Rng, scope: &mut Scope, depth: usize, text: &mut String) {
        let (number, position) = (rng.choose(&scope.numbers).clone(), rng.choose(&scope.positions).clone());
        let inner = Scope {
            vectors: ["%v".into(), "%w".into()],
            numbers: vec!["%s".into(), "1.5:f64".into()],
            positions: vec!["%i".into(), "%p".into()],
        };
        let state = "%v: f64[400], %w: f64[97], %s: f64[]";
        let mut body = String::new();
        let own = Program { next: 0, mode: self.mode, reach: self.reach };
        let mut own = own;
        let end = own.block(rng, inner, depth, &mut body);
        let made: Vec<String> = (0..4).map(|_| self.name()).collect();
        let (v, w, s) = (&end.vectors[0], &end.vectors[1], end.numbers.last().unwrap());
        let [a, b] = &scope.vectors;
        if rng.one_in(2) {
            let times = rng.below(4);
            writeln!(
                text,
                "({}): (f64[400], f64[97], f64[], i32[]) = while({a}, {b}, {number}, 0:i32, {position})\n  cond({state}, %i: i32[]):\n    %1: i1[] = lt(%i, {times}:i32)\n    gives (%1)\n  body({state}, %i: i32[], %p: i32[]):\n{body}    %900: i32[] = add(%i, 1:i32)\n    gives ({v}, {w}, {s}, %900)",
                made.join(", ")
            )
            .unwrap();
        } else {
            // Short ones follow one another, long ones are loops.
            let length = *rng.choose(if depth < 2 { &[1, 3, 70] } else { &[1, 3, 20] });
            let along = self.name();
            writeln!(text, "{along}: i32[{length}] = iota [axis = 1, dtype = i32, shape = {length}, start = 0, ambiguous = FALSE] ()").unwrap();
            writeln!(
                text,
                "({}): (f64[400], f64[97], f64[]) = scan [length = {length}, reverse = FALSE, checkpoint = FALSE] ({a}, {b}, {number}, {along}, {position})\n  body({state}, %i: i32[], %p: i32[]):\n{body}    gives ({v}, {w}, {s})",
                made[..3].join(", ")
            )
            .unwrap();
        }
        scope.vectors = [made[0].clone(), made[1].clone()];
        scope.numbers.push(made[2].clone());
    }

    fn branch(&mut self, rng: &mut Rng, scope: &mut Scope, depth: usize, text: &mut String) {
        let [test, v, w, s] = [(); 4].map(|()| self.name());
        let (x, y) = (rng.choose(&scope.numbers).clone(), rng.choose(&scope.numbers).clone());
        let position = rng.choose(&scope.positions).clone();
        let [a, b] = &scope.vectors;
        let inputs = format!("{a}, {b}, {x}, {position}");
        writeln!(text, "{test}: i1[] = lt({x}, {y})").unwrap();
        writeln!(text, "({v}, {w}, {s}): (f64[400], f64[97], f64[]) = if({test}, {inputs}, {inputs})")
            .unwrap();
        for side in ["true", "false"] {
            let inner = Scope {
                vectors: ["%v".into(), "%w".into()],
                numbers: vec!["%s".into(), "0.5:f64".into()],
                positions: vec!["%p".into(), "7:i32".into()],
            };
            let (mut body, mut own) =
                (String::new(), Program { next: 0, mode: self.mode, reach: self.reach });
            let end = if rng.one_in(4) { inner } else { own.block(rng, inner, depth, &mut body) };
            let (v, w, s) = (&end.vectors[0], &end.vectors[1], end.numbers[end.numbers.len() - 1].clone());
            writeln!(
                text,
                "  {side}(%v: f64[400], %w: f64[97], %s: f64[], %p: i32[]):\n{body}    gives ({v}, {w}, {s})"
            )
            .unwrap();
        }
        scope.vectors = [v, w];
        scope.numbers.push(s);
    }
}

/// Runs random programs; how many were native code, and how many failed.
fn programs(seed: u64, mode: &'static str, reach: usize, count: usize) -> (usize, usize) {
    let mut rng = Rng::new(seed);
    let (mut native, mut failed) = (0, 0);
    for _ in 0..count {
        let mut body = String::new();
        let scope = Scope {
            vectors: ["%v".into(), "%w".into()],
            numbers: vec!["%s".into(), "%t".into()],
            positions: vec!["%i".into(), "%j".into()],
        };
        let mut program = Program { next: 0, mode, reach };
        let end = program.block(&mut rng, scope, 0, &mut body);
        let (v, w, s) = (&end.vectors[0], &end.vectors[1], end.numbers.last().unwrap());
        let body: String = body.lines().map(|line| format!("        {line}\n")).collect();
        let text = format!(
            "<AnvilGraph>\n  Inputs:\n    %a: f64[400]\n    %b: f64[97]\n    %c: f64[]\n    %d: f64[15]\n    %e: i32[15]\n    %f: i32[15]\n  Body:\n    (%x, %y, %z, %all): (f64[400], f64[97], f64[], f64[15]) = scan [length = 15, reverse = FALSE, checkpoint = FALSE] (%a, %b, %c, %d, %e, %f)\n      body(%v: f64[400], %w: f64[97], %s: f64[], %t: f64[], %i: i32[], %j: i32[]):\n{body}        gives ({v}, {w}, {s}, {s})\n  Outputs:\n    %x: f64[400]\n    %y: f64[97]\n    %z: f64[]\n    %all: f64[15]\n"
        );
        let (result, is_native) = run(&text, &mut rng, true);
        native += usize::from(is_native);
        failed += usize::from(result.is_err());
    }
    (native, failed)
}

#[test]
fn parts_are_read_and_replaced_in_loops_and_branches() {
    let (native, failed) = programs(21, "", 90, 150);
    assert!(!is_here() || native > 90, "{native} of 150 are native code");
    assert_eq!(failed, 0);
}

#[test]
fn positions_out_of_range_are_moved() {
    let (native, failed) = programs(22, ", mode = \"clip\"", 400, 150);
    assert!(!is_here() || native > 90, "{native} of 150 are native code");
    assert_eq!(failed, 0);
}

#[test]
fn positions_out_of_range_are_errors() {
    let (native, failed) = programs(23, "", 97, 150);
    assert!(!is_here() || native > 90, "{native} of 150 are native code");
    assert!((1..150).contains(&failed), "{failed} failed");
}
