//! A writer of random programs, as a user would write them.

pub mod control;
mod matrices;
mod signal;
mod windows;

use crate::common::{random_element, Rng};
use anvil_core::apply::subset::{Start, Subscript};
use anvil_core::apply::{Applier, Defaults};
use anvil_core::dtype::promote::{by_name, names, Rules};
use anvil_core::dtype::{DType, Ranked};
use anvil_core::error::Error;
use anvil_core::graph::{Def, Value};
use anvil_core::ops::attrs::{Attr, Attrs};
use anvil_core::ops::{BroadcastInDim, Builder, Mode, Op};
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::{Aval, Literal};

/// Ops by name with their number of operands, the more often the likelier.
pub type Names<'a> = &'a [(&'static str, usize)];

/// A program under construction.
pub struct Writer {
    pub rng: Rng,
    pub b: Builder,
    /// Mostly anvil's own.
    rules: &'static Rules,
    pub pool: Vec<Value>,
    shapes: Vec<Shape>,
    /// Few dtypes, so that they meet, but all of them in some program.
    dtypes: &'static [DType],
    /// Those that values have now and then, and are converted to.
    all: &'static [DType],
    /// Whether numbers are small and finite, and functions with a derivative of their own have the one of their
    /// ops, in both modes.
    smooth: bool,
    /// How deep regions may still be nested, and whether this is one.
    pub depth: usize,
    in_region: bool,
}

impl Writer {
    pub fn new(seed: u64) -> Writer {
        let mut rng = Rng::new(seed);
        let sizes: &[usize] = if rng.one_in(20) { &[33, 41, 1] } else { &[1, 2, 2, 3, 3, 4, 5] };
        let mut shapes = vec![Shape::scalar()];
        for _ in 0..2 {
            let rank = rng.below(4);
            let empty = rng.one_in(12);
            let mut shape: Vec<usize> = (0..rank).map(|_| *rng.choose(sizes)).collect();
            if empty && rank > 0 {
                shape[rng.below(rank)] = 0;
            }
            shapes.push(Shape::try_new(shape).unwrap());
        }
        Writer::on(seed, rng, shapes)
    }

    /// A program on tensors of these shapes.
    pub fn on(seed: u64, mut rng: Rng, shapes: Vec<Shape>) -> Writer {
        let rules = by_name(if rng.one_in(4) { rng.choose::<&str>(names()) } else { names()[0] }).unwrap();
        // Conversions to and fro, and ops that round, are where these go wrong.
        let dtypes: &[DType] = match seed % 4 {
            0 => &[DType::BF16, DType::F16, DType::F32],
            1 => &[DType::C64, DType::C128, DType::F32, DType::F64],
            _ => &[DType::F32, DType::F64, DType::I32, DType::I1],
        };
        let mut writer = Writer {
            rng,
            b: Builder::default(),
            rules,
            pool: vec![],
            shapes,
            dtypes,
            all: DType::ALL,
            smooth: false,
            depth: 0,
            in_region: false,
        };
        writer.begin();
        writer
    }

    /// A program to differentiate: floats of 64 bits, so that errors of rounding are small.
    #[allow(dead_code)] // one test file derives
    pub fn smooth(seed: u64) -> Writer {
        let mut writer = Writer::new(seed);
        writer.rules = by_name(names()[0]).unwrap();
        writer.dtypes = &[DType::F64, DType::F64, DType::F64, DType::C128];
        writer.all = &[DType::F64, DType::F64, DType::C128, DType::I32, DType::I1];
        writer.smooth = true;
        writer.b = Builder::default();
        writer.pool.clear();
        writer.begin();
        writer
    }

    /// The first values.
    fn begin(&mut self) {
        for i in 0..2 + self.rng.below(5) {
            let aval = self.aval();
            let value = if i % 3 == 2 { self.b.constant(aval) } else { self.b.input(aval) };
            self.pool.push(value);
        }
    }

    fn aval(&mut self) -> Aval {
        let dtype =
            if self.rng.one_in(2) { *self.rng.choose(self.all) } else { *self.rng.choose(self.dtypes) };
        let shape = self.rng.choose(&self.shapes).clone();
        Aval::new(Ranked { dtype, ambiguous: dtype != DType::I1 && self.rng.one_in(3) }, shape)
    }

    pub fn applier(&mut self) -> Applier<'_> {
        Applier::new(&mut self.b, self.rules)
    }

    /// A number or logical, as R code holds it.
    fn number(&mut self) -> Value {
        let dtype = *self.rng.choose(&[DType::F64, DType::I32, DType::I1]);
        let literal = self.literal(dtype);
        self.b.literal(literal, Defaults::default().number_type(dtype).default())
    }

    fn literal(&mut self, dtype: DType) -> Literal {
        if self.smooth {
            return Literal::new(self.rng.below(17) as f64 / 4.0 - 2.0).convert(dtype);
        }
        Literal::from_bytes(dtype, &random_element(&mut self.rng, dtype))
    }

    fn shape(&self, x: Value) -> Shape {
        self.b.graph().aval(x).shape.clone()
    }

    /// Any value; more often a late one, and now and then a number.
    pub fn any(&mut self) -> Value {
        if self.pool.is_empty() || self.rng.one_in(8) {
            return self.number();
        }
        let n = self.pool.len();
        let i = if self.rng.one_in(2) { self.rng.below(n) } else { n - 1 - self.rng.below(n.min(4)) };
        self.pool[i]
    }

    /// A value that goes with `x` elementwise.
    fn like(&mut self, x: Value) -> Value {
        let shape = self.shape(x);
        let fits: Vec<Value> = self.pool.iter().copied().filter(|&y| self.shape(y) == shape).collect();
        match self.rng.below(6) {
            0 => self.any(),
            1 => self.number(),
            _ if fits.is_empty() => x,
            _ => *self.rng.choose(&fits),
        }
    }

    /// Some axes of a shape, in any order, as R writes them; or none given.
    fn axes(&mut self, rank: usize) -> Attr {
        if self.rng.one_in(3) {
            return Attr::Null;
        }
        let mut axes: Vec<f64> = (1..=rank).map(|i| i as f64).filter(|_| self.rng.one_in(2)).collect();
        self.rng.shuffle(&mut axes);
        Attr::Numbers(axes)
    }

    /// A shape of as many elements.
    fn reshaped(&mut self, shape: &Shape) -> Vec<usize> {
        let mut sizes = shape.to_vec();
        for _ in 0..1 + self.rng.below(3) {
            match self.rng.below(4) {
                0 => self.rng.shuffle(&mut sizes),
                1 => sizes.insert(self.rng.below(sizes.len() + 1), 1),
                2 if sizes.len() > 1 => {
                    let i = self.rng.below(sizes.len() - 1);
                    let joined = sizes.remove(i);
                    sizes[i] *= joined;
                }
                _ => {
                    if let Some(i) = sizes.iter().position(|&d| d > 2 && d % 2 == 0) {
                        sizes[i] /= 2;
                        sizes.insert(i + self.rng.below(2), 2);
                    }
                }
            }
        }
        sizes
    }

    /// What becomes of positions out of range. Few programs fail, as the values of those that do are not held
    /// to anything.
    fn mode(&mut self) -> Attr {
        Attr::Text(self.rng.choose(&["clip", "drop", "clip", "drop", "error"]).to_string())
    }

    /// Operands and parameters that are likely to suit the op.
    fn arguments(&mut self, name: &str, arity: usize) -> (Vec<Value>, Attrs) {
        let x = self.any();
        let shape = self.shape(x);
        let rank = shape.rank();
        let sizes = |s: &[usize]| Attr::Numbers(s.iter().map(|&d| d as f64).collect());
        let dtype = self.rng.choose(self.all).name().to_string();
        let flag = Attr::Logical(self.rng.one_in(2));
        let attrs = Attrs::new();
        match name {
            "fill" => {
                let ranked = Ranked { dtype: *self.rng.choose(self.all), ambiguous: self.rng.one_in(2) };
                let value = Attr::Literal(self.literal(ranked.stored()), ranked.default());
                (vec![], attrs.with("value", value).with("shape", sizes(&shape)))
            }
            "iota" => {
                let (axis, start) = (1 + self.rng.below(rank.max(1)), self.rng.below(300) as f64 - 150.0);
                let attrs = attrs
                    .with("axis", Attr::Numbers(vec![axis as f64]))
                    .with("start", Attr::Numbers(vec![start]));
                (
                    vec![],
                    attrs
                        .with("dtype", Attr::Text(dtype))
                        .with("shape", sizes(&shape))
                        .with("ambiguous", flag),
                )
            }
            "convert" => (vec![x], attrs.with("dtype", Attr::Text(dtype)).with("ambiguous", flag)),
            "bitcast_convert" => (vec![x], attrs.with("dtype", Attr::Text(dtype))),
            "reshape" => {
                let order = Attr::Text(self.rng.choose(&["row", "column"]).to_string());
                let target = self.reshaped(&shape);
                (vec![x], attrs.with("shape", sizes(&target)).with("order", order))
            }
            "transpose" => {
                let mut axes: Vec<f64> = (1..=rank).map(|i| i as f64).collect();
                self.rng.shuffle(&mut axes);
                (
                    vec![x],
                    attrs.with(
                        "permutation",
                        if self.rng.one_in(3) { Attr::Null } else { Attr::Numbers(axes) },
                    ),
                )
            }
            "broadcast_in_dim" => {
                let mut to: Vec<usize> =
                    shape.iter().map(|&d| if d == 1 { 1 + self.rng.below(3) } else { d }).collect();
                for _ in 0..self.rng.below(3) {
                    to.insert(0, self.rng.below(4));
                }
                let first = to.len() - shape.len() + 1;
                let axes: Vec<usize> = (first..=to.len()).collect();
                (vec![x], attrs.with("shape", sizes(&to)).with("broadcast_axes", sizes(&axes)))
            }
            "concatenate" => {
                let mut all = vec![x];
                for _ in 0..self.rng.below(3) {
                    all.push(self.like(x));
                }
                let axis = 1 + self.rng.below(rank.max(1));
                (all, attrs.with("axis", Attr::Numbers(vec![axis as f64])))
            }
            "matmul" => {
                // With its own transpose anything of rank two fits.
                let mut swapped: Vec<f64> = (1..=rank).map(|i| i as f64).collect();
                if rank < 2 {
                    return (vec![x, self.like(x)], attrs);
                }
                swapped.swap(rank - 1, rank - 2);
                let y = self.like(x);
                let swap = Attrs::new().with("permutation", Attr::Numbers(swapped));
                let y = self.applier().apply("transpose", &[y], &swap).map_or(x, |v| v[0]);
                (vec![x, y], attrs)
            }
            "dot_general" => {
                let y = self.like(x);
                let mut axes: Vec<f64> = (1..=rank).map(|i| i as f64).collect();
                self.rng.shuffle(&mut axes);
                let (c, n) = (self.rng.below(rank + 1), self.rng.below(rank + 1));
                let (contracting, batching) = (axes[..c].to_vec(), axes[c.max(n)..].to_vec());
                let pair = |x: Vec<f64>| Attr::List(vec![Attr::Numbers(x.clone()), Attr::Numbers(x)]);
                (
                    vec![x, y],
                    attrs.with("contracting_axes", pair(contracting)).with("batching_axes", pair(batching)),
                )
            }
            "select" => (vec![self.like(x), x, self.like(x)], attrs),
            "rng_state" => (vec![], attrs.with("seed", Attr::Numbers(vec![self.rng.below(9) as f64 - 4.0]))),
            "rng_bits" | "split_state" | "runif" | "rnorm" | "rbinom" | "sample_int" => {
                let aval = Aval::known(DType::UI64, [2].into());
                let state = if self.rng.one_in(9) { x } else { self.b.input(aval) };
                let mut all = vec![state];
                let parameters = if name == "rbinom" { 1 } else { 2 * self.rng.below(2) };
                if ["runif", "rnorm", "rbinom"].contains(&name) {
                    all.extend((0..parameters).map(|_| self.number()));
                }
                let algorithm = self.rng.choose(&["threefry", "philox"]).to_string();
                let n = Attr::Numbers(vec![1.0 + self.rng.below(4) as f64]);
                let attrs = attrs.with("shape", sizes(&shape)).with("dtype", Attr::Text(dtype)).with("n", n);
                (all, attrs.with("algorithm", Attr::Text(algorithm)))
            }
            "static_slice" => {
                let start: Vec<usize> = shape.iter().map(|&d| 1 + self.rng.below(d + 1)).collect();
                let limit = shape.iter().zip(&start).map(|(&d, &i)| i - 1 + self.rng.below(d + 2 - i));
                let limit: Vec<usize> = limit.collect();
                let strides: Vec<usize> = shape.iter().map(|_| 1 + self.rng.below(3)).collect();
                let attrs = attrs.with("start_indices", sizes(&start)).with("limit_indices", sizes(&limit));
                (vec![x], if self.rng.one_in(3) { attrs } else { attrs.with("strides", sizes(&strides)) })
            }
            "print" => (vec![x], attrs.with("label", Attr::Text("x".into()))),
            "reverse" => {
                let axes = self.axes(rank);
                (vec![x], attrs.with("axes", axes))
            }
            "dynamic_slice" => {
                let window: Vec<usize> = shape.iter().map(|&d| self.rng.below(d + 1)).collect();
                let starts: Vec<Value> = shape.iter().map(|_| self.integers(&[])).collect();
                (
                    [vec![x], starts].concat(),
                    attrs.with("slice_sizes", sizes(&window)).with("mode", self.mode()),
                )
            }
            "dynamic_update_slice" => {
                let window = shape.iter().map(|&d| self.rng.below(d + 1)).collect();
                let update = self.of_dtype(x, window);
                let starts: Vec<Value> = shape.iter().map(|_| self.integers(&[])).collect();
                ([vec![x, update], starts].concat(), attrs.with("mode", self.mode()))
            }
            "pad" => {
                let mut amounts = |low: i64, n| {
                    Attr::Numbers(shape.iter().map(|_| (low + self.rng.below(n) as i64) as f64).collect())
                };
                let (low, high, interior) = (amounts(-2, 5), amounts(-2, 5), amounts(0, 3));
                let value = self.of_dtype(x, vec![]);
                let attrs = attrs.with("edge_padding_low", low).with("edge_padding_high", high);
                (vec![x, value], attrs.with("interior_padding", interior))
            }
            "gather" => {
                let w = self.windows(&shape);
                let attrs = attrs.with("slice_sizes", sizes(&w.sizes)).with("offset_axes", sizes(&w.stacked));
                let attrs =
                    attrs.with("collapsed_slice_axes", sizes(&w.dropped)).with("indices_are_sorted", flag);
                let attrs = attrs.with("start_index_map", sizes(&w.map)).with("mode", self.mode());
                let attrs = attrs
                    .with("operand_batching_axes", sizes(&w.batching[0]))
                    .with("start_indices_batching_axes", sizes(&w.batching[1]));
                (vec![x, w.indices], attrs.with("index_vector_axis", sizes(&[w.vector_axis])))
            }
            "scatter" => {
                let w = self.windows(&shape);
                let update = self.of_dtype(x, w.stack);
                let mut operands = vec![x, w.indices, update];
                let how = if self.rng.one_in(2) {
                    Attr::Text(self.rng.choose(&["replace", "add", "mul", "min", "max"]).to_string())
                } else {
                    let element = Aval { shape: Shape::scalar(), ..self.b.graph().aval(x).clone() };
                    let (region, captured) = self.combining(element);
                    operands.extend(captured);
                    Attr::Graph(region)
                };
                let attrs =
                    attrs.with("update_window_axes", sizes(&w.stacked)).with("update_computation", how);
                let attrs = attrs
                    .with("mode", self.mode())
                    .with("inserted_window_axes", sizes(&w.dropped))
                    .with("indices_are_sorted", flag.clone());
                let attrs =
                    attrs.with("scatter_axes_to_operand_axes", sizes(&w.map)).with("unique_indices", flag);
                let attrs = attrs
                    .with("input_batching_axes", sizes(&w.batching[0]))
                    .with("scatter_indices_batching_axes", sizes(&w.batching[1]));
                (operands, attrs.with("index_vector_axis", sizes(&[w.vector_axis])))
            }
            "sort" | "order" | "top_k" | "rank_of" | "argmax" | "argmin" | "median" | "quantile" => {
                let axis = Attr::Numbers(vec![1.0 + self.rng.below(rank.max(1)) as f64]);
                let axis = if self.rng.one_in(3) { Attr::Null } else { axis };
                let mut all = vec![x];
                match name {
                    "order" => all.extend((0..self.rng.below(3)).map(|_| self.like(x))),
                    "quantile" => all.push(self.number()),
                    _ => {}
                }
                let flags = Attr::List(vec![flag.clone(); all.len()]);
                let ties = ["average", "first", "last", "min", "max"];
                let attrs = attrs.with("axis", axis).with("drop", flag.clone()).with("na_rm", flag.clone());
                let attrs = attrs.with("decreasing", if name == "order" { flags } else { flag });
                let attrs = attrs.with("ties", Attr::Text(self.rng.choose(&ties).to_string()));
                let number = |n: usize| Attr::Numbers(vec![n as f64]);
                (all, attrs.with("k", number(self.rng.below(3))).with("type", number(1 + self.rng.below(9))))
            }
            "chol" | "triangular_solve" | "lu" | "lu_solve" | "qr" | "eigh" | "svd" => self.matrices(name, x),
            _ if signal::has(name) => self.signal(name, x, attrs),
            "search_sorted" | "isin" => {
                let column = Attrs::new().with("order", Attr::Text("column".into()));
                let sorted = self.applier().apply("flatten", &[x], &column).map_or(x, |v| v[0]);
                let side = Attr::Text(self.rng.choose(&["left", "right"]).to_string());
                let like = self.like(x);
                (if name == "isin" { vec![like, x] } else { vec![sorted, like] }, attrs.with("side", side))
            }
            "which" | "unique" => {
                let (size, fill) = (self.rng.below(6) as f64, self.rng.below(3) as f64);
                let attrs = attrs.with("size", Attr::Numbers(vec![size])).with("sort", flag);
                (vec![x], attrs.with("fill", Attr::Numbers(vec![fill])))
            }
            _ if name.starts_with("reduce_") => {
                let axes = self.axes(rank);
                (vec![x], attrs.with("axes", axes).with("drop", flag))
            }
            _ if name.starts_with("cum") => {
                let axis = match self.rng.one_in(3) {
                    true => Attr::Null,
                    false => Attr::Numbers(vec![1.0 + self.rng.below(rank.max(1)) as f64]),
                };
                (vec![x], attrs.with("axis", axis).with("reverse", flag))
            }
            "promote" | "broadcast_scalars" | "broadcast" => (vec![x, self.like(x), self.like(x)], attrs),
            _ => ((0..arity).map(|i| if i == 0 { x } else { self.like(x) }).collect(), attrs),
        }
    }

    /// An integer value of this shape: one of the pool, or a new constant.
    fn integers(&mut self, sizes: &[usize]) -> Value {
        let fits = |x: &&Value| self.b.graph().aval(**x).dtype.is_integer() && *self.shape(**x) == *sizes;
        let fits: Vec<Value> = self.pool.iter().filter(fits).copied().collect();
        if !fits.is_empty() && self.rng.one_in(2) {
            return *self.rng.choose(&fits);
        }
        let integers: Vec<DType> = DType::ALL.iter().copied().filter(|d| d.is_integer()).collect();
        let shape = Shape::try_new(sizes.to_vec()).unwrap();
        self.b.constant(Aval::known(*self.rng.choose(&integers), shape))
    }

    /// A value of the dtype of another.
    fn of_dtype(&mut self, x: Value, sizes: Vec<usize>) -> Value {
        let dtype = self.b.graph().aval(x).ranked().dtype;
        self.b.constant(Aval::known(dtype, Shape::try_new(sizes).unwrap()))
    }

    /// Reads or writes with random subscripts, as `x[...]` does.
    fn subset(&mut self) -> Option<&'static str> {
        let x = self.any();
        let shape = self.shape(x);
        let mut subscripts = Vec::new();
        for &size in &shape[..self.rng.below(shape.rank() + 1)] {
            let n = self.rng.below(4);
            subscripts.push(match self.rng.below(5) {
                0 if size > 0 => Subscript::At(Start::Known(self.rng.below(size))),
                1 if size > 0 => {
                    let (a, b) = (self.rng.below(size), self.rng.below(size));
                    let stride = if a == b { 1 } else { 1 + self.rng.below(a.abs_diff(b)) };
                    let range = a.abs_diff(b) / stride + 1;
                    let stride = if a <= b { stride as isize } else { -(stride as isize) };
                    Subscript::Range { start: Start::Known(a), size: range, stride }
                }
                // Not checked, so that any numbers will do.
                2 if size > 0 || n == 0 => {
                    let aval = Aval::known(DType::I32, [n].into());
                    Subscript::Positions(self.b.constant(aval))
                }
                3 => Subscript::Dynamic(self.integers(&[])),
                4 => Subscript::Dynamic(self.integers(&[n])),
                _ => Subscript::All,
            });
        }
        let drop = self.rng.one_in(2);
        let mode = Mode::decode(&Attrs::new().with("mode", self.mode())).unwrap();
        let value = if self.rng.one_in(2) { self.number() } else { self.of_dtype(x, vec![]) };
        let (done, result) = if self.rng.one_in(2) {
            ("subset", self.applier().subset(x, &subscripts, drop, mode))
        } else {
            ("subset_assign", self.applier().subset_assign(x, &subscripts, value, mode))
        };
        match result {
            Ok(values) => self.pool.push(values[0]),
            Err(Error::Internal { detail }) => panic!("{done}: {detail}\n{}", self.b.graph()),
            Err(_) => return None,
        }
        Some(done)
    }

    /// Repeats a value along axes that are not the last ones, as batching will; no user can write this.
    fn broadcast_anywhere(&mut self) -> Value {
        let x = self.any();
        let from = self.b.graph().aval(x).shape.clone();
        let mut axes: Vec<usize> = (0..from.rank() + 1 + self.rng.below(2)).collect();
        self.rng.shuffle(&mut axes);
        let mut sizes = vec![2; axes.len()];
        axes.truncate(from.rank());
        for (&axis, &size) in axes.iter().zip(from.iter()) {
            sizes[axis] = if size == 1 { 3 } else { size };
        }
        let op = BroadcastInDim {
            shape: Shape::try_new(sizes).unwrap(),
            axes: axes.into_iter().map(Axis).collect(),
        };
        self.b.node1(Op::BroadcastInDim(op), &[x]).unwrap()
    }

    /// Applies one random op, if it takes what it gets; returns its name then.
    pub fn step(&mut self, names: Names) -> Option<&'static str> {
        if self.depth > 0 && self.rng.one_in(6) {
            return Some(self.control(names));
        }
        if self.rng.one_in(30) {
            let value = self.broadcast_anywhere();
            self.pool.push(value);
            return None;
        }
        if self.rng.one_in(8) {
            return self.subset();
        }
        let &(name, arity) = self.rng.choose(names);
        let (operands, attrs) = self.arguments(name, arity);
        // Which NaN a computation gives is not defined, so its bits must not be looked at.
        let computed = |x: &Value| self.in_region || matches!(self.b.graph().def(*x), Def::Result(..));
        let is_float = |x: &Value| self.b.graph().aval(*x).dtype.part().is_float();
        if name == "bitcast_convert" && operands.iter().any(|x| computed(x) && is_float(x)) {
            return None;
        }
        match self.applier().apply(name, &operands, &attrs) {
            Ok(values) => {
                for value in values {
                    // Repeated broadcasting must not fill the memory.
                    if self.b.graph().aval(value).shape.size() <= 2_000 {
                        self.pool.push(value);
                    }
                }
                Some(name)
            }
            Err(Error::Internal { detail }) => panic!("{name}: {detail}\n{}", self.b.graph()),
            Err(_) => None,
        }
    }

    /// Outputs of all kinds: results, inputs, constants, numbers, the same one twice.
    pub fn outputs(&mut self) -> Vec<Value> {
        let n = 1 + self.rng.below(6);
        let mut outputs: Vec<Value> = Vec::new();
        for _ in 0..n {
            if !outputs.is_empty() && self.rng.one_in(6) {
                outputs.push(*self.rng.choose(&outputs));
                continue;
            }
            let x = if self.rng.one_in(6) { *self.rng.choose(&self.pool) } else { self.any() };
            outputs.push(x);
        }
        outputs
    }
}
