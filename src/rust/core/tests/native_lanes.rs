//! Native loops on lanes, against the reference, bit by bit: random bodies on values of many lanes, of one or of three elements
//! each, with elements of 4 and of 8 bytes.

mod common;

use anvil_core::error::Error;
use anvil_core::exec::vm::native::is_here;
use common::both::{run, scans};
use common::Rng;
use std::fmt::Write;

/// Elements of a lane in values that have several.
const ROWS: usize = 3;

/// A body that is being written.
struct Body {
    text: String,
    /// Values with their dtypes, and whether they have several rows.
    values: Vec<(String, &'static str, bool)>,
    lanes: usize,
    next: usize,
}

impl Body {
    fn shape(&self, rows: bool) -> String {
        if rows {
            format!("{ROWS}, {}", self.lanes)
        } else {
            self.lanes.to_string()
        }
    }

    fn line(&mut self, dtype: &str, shape: &str, what: &str) -> String {
        self.next += 1;
        let name = format!("%{}", self.next);
        writeln!(self.text, "{name}: {dtype}[{shape}] = {what}").unwrap();
        name
    }

    fn add(&mut self, dtype: &'static str, rows: bool, what: &str) {
        let shape = self.shape(rows);
        let name = self.line(dtype, &shape, what);
        self.values.push((name, dtype, rows));
    }

    /// One of the values of a dtype, the later ones more often.
    fn pick(&self, rng: &mut Rng, dtype: &str, rows: bool) -> String {
        let those: Vec<&String> =
            self.values.iter().filter(|v| v.1 == dtype && v.2 == rows).map(|v| &v.0).collect();
        let last = those.len() - 1;
        those[last - rng.below(those.len()).min(rng.below(those.len()))].clone()
    }

    /// A number as a value of the body.
    fn spread(&mut self, dtype: &str, rows: bool, name: &str) -> String {
        let shape = self.shape(rows);
        self.line(
            dtype,
            &shape,
            &format!("broadcast_in_dim [shape = c({shape}), broadcast_axes = c()] ({name})"),
        )
    }

    fn op(&mut self, rng: &mut Rng, dtypes: &[&'static str]) {
        let (dtype, rows) = (*rng.choose(dtypes), rng.one_in(2));
        let (x, y) = (self.pick(rng, dtype, rows), self.pick(rng, dtype, rows));
        let (float, n) = (dtype.starts_with('f'), self.lanes);
        match rng.below(19) {
            0..=2 => self.add(dtype, rows, &format!("{}({x}, {y})", rng.choose(&["add", "sub", "mul"]))),
            3 => self.add(dtype, rows, &format!("{}({x}, {y})", rng.choose(&["max", "min"]))),
            4 if dtype == "i32" => {
                let literal = *rng.choose(&["3:i32", "8:i32", "-5:i32", "10007:i32"]);
                let divisor = if rng.one_in(3) { y } else { self.spread(dtype, rows, literal) };
                self.add(dtype, rows, &format!("{}({x}, {divisor})", rng.choose(&["mod", "floor_div"])));
            }
            4 if float => self.add(dtype, rows, &format!("div({x}, {y})")),
            5 | 6 if float => {
                let f = rng.choose(&[
                    "tanh", "gamma", "exp", "sin", "sqrt", "log", "abs", "floor", "erf", "sign", "atan",
                ]);
                self.add(dtype, rows, &format!("{f}({x})"));
            }
            7 | 8 => {
                self.add("i1", rows, &format!("{}({x}, {y})", rng.choose(&["lt", "ge", "eq", "ne"])));
            }
            9 => {
                let mask = self.pick(rng, "i1", rows);
                self.add(dtype, rows, &format!("select({mask}, {x}, {y})"));
            }
            10 => {
                let (a, b) = (self.pick(rng, "i1", rows), self.pick(rng, "i1", rows));
                self.add("i1", rows, &format!("{}({a}, {b})", rng.choose(&["and", "or", "xor"])));
            }
            11 => {
                let x = self.pick(rng, dtype, true);
                let folds: &[&str] = if float {
                    &["reduce_sum", "reduce_max", "reduce_squares"]
                } else {
                    &["reduce_sum", "reduce_max"]
                };
                let fold = *rng.choose(folds);
                self.add(dtype, false, &format!("{fold} [axes = 1, drop = TRUE] ({x})"));
            }
            12 => {
                let x = self.pick(rng, dtype, true);
                let at = 1 + rng.below(ROWS);
                let slice = format!(
                    "static_slice [start_indices = c({at}, 1), limit_indices = c({at}, {n}), strides = c(1, 1)] ({x})"
                );
                let one = self.line(dtype, &format!("1, {n}"), &slice);
                self.add(dtype, false, &format!("reshape [shape = {n}, order = \"column\"] ({one})"));
            }
            13 => {
                let parts: Vec<String> = (0..ROWS)
                    .map(|_| {
                        let x = self.pick(rng, dtype, false);
                        let what = format!("reshape [shape = c(1, {n}), order = \"column\"] ({x})");
                        self.line(dtype, &format!("1, {n}"), &what)
                    })
                    .collect();
                self.add(dtype, true, &format!("concatenate [axis = 1] ({})", parts.join(", ")));
            }
            14 => {
                // An element of each lane, or of a table, at a position that each lane computes.
                let at = self.pick(rng, "i32", false);
                if rng.one_in(2) {
                    let x = self.pick(rng, dtype, true);
                    self.add(dtype, false, &format!("gather [slice_sizes = c(1, 1), offset_axes = c(), collapsed_slice_axes = 1, operand_batching_axes = 2, start_indices_batching_axes = 1, start_index_map = 1, index_vector_axis = 2, indices_are_sorted = FALSE, mode = \"clip\"] ({x}, {at})"));
                } else {
                    self.add("f64", false, &format!("gather [slice_sizes = 1, offset_axes = c(), collapsed_slice_axes = 1, start_index_map = 1, index_vector_axis = 2, indices_are_sorted = FALSE, mode = \"clip\"] (%table, {at})"));
                }
            }
            15 => {
                // An element of each lane is replaced, or added to.
                let (at, x) = (self.pick(rng, "i32", false), self.pick(rng, dtype, true));
                let new = self.pick(rng, dtype, false);
                let by = if rng.one_in(3) { "add" } else { "replace" };
                self.add(dtype, true, &format!("scatter [update_window_axes = c(), inserted_window_axes = 1, input_batching_axes = 2, scatter_indices_batching_axes = 1, scatter_axes_to_operand_axes = 1, index_vector_axis = 2, indices_are_sorted = FALSE, unique_indices = TRUE, update_computation = \"{by}\", mode = \"drop\"] ({x}, {at}, {new})"));
            }
            16 => {
                let at = self.pick(rng, "i32", false);
                let x = self.pick(rng, "i1", true);
                if rng.one_in(2) {
                    self.add("i1", false, &format!("gather [slice_sizes = c(1, 1), offset_axes = c(), collapsed_slice_axes = 1, operand_batching_axes = 2, start_indices_batching_axes = 1, start_index_map = 1, index_vector_axis = 2, indices_are_sorted = FALSE, mode = \"clip\"] ({x}, {at})"));
                } else {
                    let new = self.pick(rng, "i1", false);
                    self.add("i1", true, &format!("scatter [update_window_axes = c(), inserted_window_axes = 1, input_batching_axes = 2, scatter_indices_batching_axes = 1, scatter_axes_to_operand_axes = 1, index_vector_axis = 2, indices_are_sorted = FALSE, unique_indices = TRUE, update_computation = \"replace\", mode = \"drop\"] ({x}, {at}, {new})"));
                }
            }
            17 => {
                let pairs = [
                    ("i1", "f64"),
                    ("i1", "f32"),
                    ("i1", "i32"),
                    ("i32", "f32"),
                    ("f32", "f64"),
                    ("f64", "f32"),
                    ("i32", "f64"),
                ];
                let known = |(from, to): &&(&'static str, &'static str)| {
                    dtypes.contains(to) && (*from == "i1" || dtypes.contains(from))
                };
                let those: Vec<_> = pairs.iter().filter(known).collect();
                let &&(from, to) = rng.choose(&those);
                let x = self.pick(rng, from, rows);
                self.add(to, rows, &format!("convert [dtype = {to}, ambiguous = FALSE] ({x})"));
            }
            _ => {
                let literal = match dtype {
                    "i32" => "3:i32",
                    "f32" => "0.75:f32",
                    _ => "0.75:f64",
                };
                let all = self.spread(dtype, rows, literal);
                self.add(dtype, rows, &format!("{}({x}, {all})", rng.choose(&["add", "mul", "min"])));
            }
        }
    }

    /// Results of the body: floats with one NaN for all, since what two NaN make is the processor's choice.
    fn result(&mut self, rng: &mut Rng, dtype: &'static str, rows: bool) -> String {
        let x = self.pick(rng, dtype, rows);
        if !dtype.starts_with('f') {
            return x;
        }
        let shape = self.shape(rows);
        let is_nan = self.line("i1", &shape, &format!("is_nan({x})"));
        let nan = self.spread(dtype, rows, &format!("NaN:{dtype}"));
        // Numbers do not grow without an end.
        let x = self.line(dtype, &shape, &format!("{}({x})", rng.choose(&["tanh", "sin", "abs"])));
        self.line(dtype, &shape, &format!("select({is_nan}, {nan}, {x})"))
    }
}

/// A random body on values of so many lanes, and whether it was native code.
fn random_body(rng: &mut Rng, lanes: usize, ops: usize, dtypes: &[&'static str]) -> bool {
    let mut body = Body { text: String::new(), values: vec![], lanes, next: 0 };
    let mut kinds = vec![];
    for &dtype in dtypes.iter().chain(&["i1"]) {
        for rows in [false, true] {
            kinds.push((dtype, rows));
        }
    }
    let types: Vec<String> =
        kinds.iter().map(|&(dtype, rows)| format!("{dtype}[{}]", body.shape(rows))).collect();
    let floats: Vec<usize> = (0..kinds.len()).filter(|&i| kinds[i].0.starts_with('f')).collect();
    let all: Vec<usize> = (0..kinds.len()).collect();
    let order: Vec<usize> = [&all[..], &all, &floats].concat();
    let table = order.len();
    for (i, &kind) in order.iter().enumerate() {
        body.values.push((format!("%x{i}"), kinds[kind].0, kinds[kind].1));
    }
    if dtypes.contains(&"f64") {
        writeln!(body.text, "%table: f64[5] = negate(%x{table})").unwrap();
    }
    for _ in 0..ops {
        body.op(rng, dtypes);
    }
    let next: Vec<String> = kinds.iter().map(|&(dtype, rows)| body.result(rng, dtype, rows)).collect();
    let made: Vec<String> = kinds.iter().map(|&(dtype, rows)| body.result(rng, dtype, rows)).collect();
    let types: Vec<&str> = types.iter().map(String::as_str).collect();
    let mut rest: Vec<&str> = floats.iter().map(|&i| types[i]).collect();
    rest.push(if dtypes.contains(&"f64") { "f64[5]" } else { "f32[5]" });
    scans(&types, &types, &rest, &body.text, &[next, made].concat().join(", "), &types)
}

fn random_bodies(seed: u64, dtypes: &[&'static str]) -> usize {
    let (mut rng, mut native) = (Rng::new(seed), 0);
    for lanes in [4, 5, 8, 9, 16, 61, 200] {
        for _ in 0..4 {
            let ops = 4 + rng.below(16);
            native += usize::from(random_body(&mut rng, lanes, ops, dtypes));
        }
    }
    native
}

#[test]
fn random_bodies_of_elements_of_both_widths() {
    let native = random_bodies(21, &["f64", "f32", "i32"]);
    assert!(!is_here() || native > 14, "{native} of 28 are native code");
}

#[test]
fn random_bodies_of_doubles_and_integers() {
    let native = random_bodies(22, &["f64", "i32"]);
    assert!(!is_here() || native > 14, "{native} of 28 are native code");
}

/// Arrays of each lane, of this dtype, that stay in memory: two elements are read, and one of them is replaced.
fn array_of_each_lane(dtype: &str, rows: usize, lanes: usize) -> bool {
    let windows =
        |axes: &str, batching: [&str; 2]| format!("{axes}, {} = 2, {} = 1", batching[0], batching[1]);
    let gather = windows(
        "offset_axes = c(), collapsed_slice_axes = 1",
        ["operand_batching_axes", "start_indices_batching_axes"],
    );
    let scatter = windows(
        "update_window_axes = c(), inserted_window_axes = 1",
        ["input_batching_axes", "scatter_indices_batching_axes"],
    );
    let next = match dtype {
        "i1" => "xor(%3, %4)",
        "i32" => "add(%3, %4)",
        _ => "sub(%3, %4)",
    };
    let body = format!(
        "%1: i32[{lanes}] = broadcast_in_dim [shape = {lanes}, broadcast_axes = c()] ({rows}:i32)
         %2: i32[{lanes}] = mod(%x1, %1)
         %3: {dtype}[{lanes}] = gather [slice_sizes = c(1, 1), {gather}, start_index_map = 1, index_vector_axis = 2, indices_are_sorted = FALSE, mode = \"clip\"] (%x0, %x2)
         %4: {dtype}[{lanes}] = gather [slice_sizes = c(1, 1), {gather}, start_index_map = 1, index_vector_axis = 2, indices_are_sorted = FALSE] (%x0, %2)
         %5: {dtype}[{lanes}] = {next}
         %6: {dtype}[{rows}, {lanes}] = scatter [{scatter}, scatter_axes_to_operand_axes = 1, index_vector_axis = 2, indices_are_sorted = FALSE, unique_indices = TRUE, update_computation = \"replace\"] (%x0, %2, %5)"
    );
    let (array, lane) = (format!("{dtype}[{rows}, {lanes}]"), format!("i32[{lanes}]"));
    let made = format!("{dtype}[{lanes}]");
    scans(&[&array], &[&lane, &lane], &[], &body, "%6, %5", &[&made])
}

#[test]
fn arrays_of_each_lane_stay_in_memory() {
    for dtype in ["f64", "f32", "i32", "i64", "i1"] {
        for (rows, lanes) in [(3, 9), (29, 97), (200, 61)] {
            let native = array_of_each_lane(dtype, rows, lanes);
            assert!(native || !is_here() || rows * lanes < 128, "{dtype}[{rows}, {lanes}]");
        }
    }
}

#[test]
fn a_position_out_of_range_is_the_error_of_its_lane() {
    let text = |mode: &str| {
        format!(
            "<AnvilGraph>
  Inputs:
    %x: f64[90]
    %at: i32[40, 90]
    %table: f64[7]
  Body:
    %r: f64[90] = scan [length = 40, reverse = FALSE, checkpoint = FALSE] (%x, %at, %table)
      body(%s: f64[90], %i: i32[90], %t: f64[7]):
        %1: f64[90] = gather [slice_sizes = 1, offset_axes = c(), collapsed_slice_axes = 1, start_index_map = 1, index_vector_axis = 2, indices_are_sorted = FALSE{mode}] (%t, %i)
        %2: f64[90] = mul(%s, %1)
        %3: f64[90] = add(%2, %1)
        %4: f64[90] = max(%3, %s)
        %5: f64[90] = sub(%4, %2)
        gives (%5)
  Outputs:
    %r: f64[90]
"
        )
    };
    let mut rng = Rng::new(3);
    let (clipped, native) = run(&text(", mode = \"clip\""), &mut rng, false);
    assert!(clipped.is_ok() && (native || !is_here()));
    let (raised, native) = run(&text(""), &mut rng, false);
    assert!(native || !is_here());
    assert!(matches!(raised, Err(Error::IndexOutOfRange { .. })), "{raised:?}");
}

/// A loop on 61 lanes that goes on while any of them does; their state stays as it is after that, or does not.
fn repeated(stays: bool) -> bool {
    let keep = if stays { "select(%going, %8, %n)" } else { "select(%going, %8, %8)" };
    let text = format!(
        "<AnvilGraph>
  Inputs:
    %x: i32[61]
    %w: f64[3, 61]
  Body:
    %k: f64[61] = broadcast_in_dim [shape = 61, broadcast_axes = c()] (0:f64)
    %a: i32[61] = broadcast_in_dim [shape = 61, broadcast_axes = c()] (1:i32)
    %on: i1[61] = gt(%x, %a)
    (%r0, %r1, %r2): (i1[61], i32[61], f64[61]) = while(%on, %x, %k, %w)
      cond(%going: i1[61], %n: i32[61], %s: f64[61]):
        %1: i1[] = reduce_any [axes = 1, drop = TRUE] (%going)
        gives (%1)
      body(%going: i1[61], %n: i32[61], %s: f64[61], %v: f64[3, 61]):
        %1: i32[61] = broadcast_in_dim [shape = 61, broadcast_axes = c()] (1:i32)
        %2: i32[61] = and(%n, %1)
        %3: i1[61] = eq(%2, %1)
        %4: i32[61] = add(%n, %n)
        %5: i32[61] = add(%4, %n)
        %6: i32[61] = add(%5, %1)
        %7: i32[61] = shift_right_arithmetic(%n, %1)
        %8: i32[61] = select(%3, %6, %7)
        %9: i32[61] = {keep}
        %10: f64[61] = reduce_sum [axes = 1, drop = TRUE] (%v)
        %11: f64[61] = add(%s, %10)
        %12: f64[61] = select(%going, %11, %s)
        %13: i1[61] = gt(%9, %1)
        %14: i1[61] = and(%going, %13)
        gives (%14, %9, %12)
  Outputs:
    %r0: i1[61]
    %r1: i32[61]
    %r2: f64[61]
"
    );
    let mut rng = Rng::new(9);
    let (made, native) = run(&text, &mut rng, false);
    assert!(made.is_ok());
    native
}

#[test]
fn a_loop_goes_on_while_a_lane_does() {
    assert!(repeated(true) || !is_here());
    repeated(false);
}

/// A loop on 45 lanes with a loop of so many iterations in its body, on what the lanes have or on what is one for all.
fn nested(length: usize, on_lanes: bool) {
    let (shape, state) = if on_lanes { ("45", "%s") } else { ("", "%c") };
    let text = format!(
        "<AnvilGraph>
  Inputs:
    %x: f64[45]
    %y: f64[9, {length}]
    %c: f64[]
  Body:
    %r: f64[45] = scan [length = 9, reverse = FALSE, checkpoint = FALSE] (%x, %y, %c)
      body(%s: f64[45], %z: f64[{length}], %c: f64[]):
        %t: f64[{shape}] = scan [length = {length}, reverse = FALSE, checkpoint = FALSE] ({state}, %z)
          body(%u: f64[{shape}], %w: f64[]):
            %1: f64[{shape}] = broadcast_in_dim [shape = c({shape}), broadcast_axes = c()] (%w)
            %2: f64[{shape}] = mul(%u, %1)
            %3: f64[{shape}] = tanh(%2)
            gives (%3)
        %4: f64[45] = broadcast_in_dim [shape = 45, broadcast_axes = {}] (%t)
        %5: f64[45] = sub(%4, %s)
        gives (%5)
  Outputs:
    %r: f64[45]
",
        if on_lanes { "1" } else { "c()" }
    );
    let mut rng = Rng::new(length as u64);
    assert!(run(&text, &mut rng, false).0.is_ok());
}

#[test]
fn loops_in_loops_on_lanes() {
    for length in [3, 16, 17, 100] {
        nested(length, true);
        nested(length, false);
    }
}
