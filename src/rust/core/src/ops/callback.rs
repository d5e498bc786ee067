//! Calls of functions that the engine does not know, while a program runs. The caller gives a [`Function`].

use super::attrs::logical;
use super::contract::{Form, OpDef};
use super::derive::Var;
use super::lower::Lowering;
use super::rules::{Batch, Batched, Jvp, Vjp};
use super::{written, Builder, If, Math, Op, Reduction, Row, Scan};
use crate::dtype::{DType, ANY};
use crate::error::Result;
use crate::graph::syntax::Parsed;
use crate::graph::Value;
use crate::kernels::reductions::fold::Fold;
use crate::raised;
use crate::shape::{Axis, Shape};
use crate::tensor::{Aval, View, ViewMut};
use std::collections::HashMap;
use std::fmt::{Debug, Formatter};
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// A function of the caller's.
pub trait Function: Send + Sync {
    /// Calls it with operands of these types, in any layout; it fills the results, dense and column-major. It
    /// may run programs, the one that calls it too.
    ///
    /// # Errors
    /// Any, in which the run ends: if it fails, or gives something of other types than the results.
    fn call(&self, types: &[Aval], operands: &[View], results: &mut [ViewMut]) -> Result<()>;
}

/// A shared function, which equals itself alone.
#[derive(Clone)]
pub struct Callee(Arc<dyn Function>);

impl Callee {
    /// Shares a function.
    pub fn new(function: impl Function + 'static) -> Callee {
        Callee(Arc::new(function))
    }

    fn address(&self) -> usize {
        Arc::as_ptr(&self.0).cast::<()>() as usize
    }
}

impl PartialEq for Callee {
    fn eq(&self, other: &Callee) -> bool {
        self.address() == other.address()
    }
}

impl Eq for Callee {}

impl Hash for Callee {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.address().hash(state);
    }
}

impl Debug for Callee {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("Callee")
    }
}

/// A call of a function. It runs on the thread that runs the program, once for each time that the program
/// comes to it, in the order of the program's other ops with effects.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Callback {
    /// The function.
    pub function: Callee,
    /// For each operand, its default dtype if it is ambiguous, see [`Aval::ambiguous`].
    pub ambiguous: Vec<Option<DType>>,
    /// Types of the results. Without any, the node has one result that nobody reads, a 0-d boolean: a node
    /// with an effect is found by its first result.
    pub results: Vec<Aval>,
    /// Whether the function also takes operands with one axis more, the last, and gives results with it.
    pub vectorized: bool,
    /// Number of the call: each call of a function is one of its own, on equal operands too.
    pub number: u64,
}

static CALLBACK: Row =
    Row { accuracy: "That of the function given.", ..written("callback", "nv_callback", &[], ANY) };

impl Callback {
    /// A new call, on operands of these types.
    pub fn new(function: Callee, operands: &[&Aval], results: Vec<Aval>, vectorized: bool) -> Callback {
        static CALLS: AtomicU64 = AtomicU64::new(0);
        let number = CALLS.fetch_add(1, Ordering::Relaxed);
        let ambiguous = operands.iter().map(|x| x.ambiguous).collect();
        Callback { function, ambiguous, results, vectorized, number }
    }

    /// The rule for a batch of a function that takes one: a single call, if it runs for any example.
    fn at_once<'m, 'b>(&self, at: &Batched<'_, 'm, 'b>) -> Result<Vec<Var<'m, 'b>>> {
        let stacked = |aval: &Aval| -> Result<Aval> {
            Ok(Aval { shape: aval.shape.with_last(at.size)?, ..aval.clone() })
        };
        let results = self.results.iter().map(stacked).collect::<Result<_>>()?;
        let op = Callback { results, ..self.clone() };
        let made = match at.mask {
            None => at.math().apply_all(op, at.operands),
            Some(mask) => {
                let types: Vec<Aval> = at.operands.iter().map(|x| x.aval()).collect();
                let any = mask.apply(Reduction { fold: Fold::Any, axes: vec![Axis(0)], drop: true }, &[]);
                at.math().apply_all(op.guarded(&types)?, &[&[any], at.operands].concat())
            }
        };
        // What nobody reads has the axis too.
        let added = |x: Var<'m, 'b>| if self.results.is_empty() { x.along_batch(at.size) } else { x };
        Ok(made.into_iter().map(added).collect())
    }

    /// The rule for a batch of another function: a call for each example that it runs for.
    fn one_by_one<'m, 'b>(&self, at: &Batched<'_, 'm, 'b>) -> Result<Vec<Var<'m, 'b>>> {
        let (mut b, mut slices, mut rest) = (Builder::default(), Vec::new(), Vec::new());
        let mut types: Vec<Aval> = at.operands.iter().map(|x| x.aval()).collect();
        for (aval, _) in types.iter_mut().zip(at.batched).filter(|(_, &batched)| batched) {
            aval.shape = Shape::try_new(aval.shape[..aval.shape.rank() - 1].to_vec())?;
        }
        // Inputs of the body, first those that are slices: whether it runs, and operands.
        let mut given: Vec<Value> = Vec::new();
        if let Some(mask) = at.mask {
            slices.push(mask);
            given.push(b.input(Aval::known(DType::I1, Shape::scalar())));
        }
        let mut inputs: HashMap<usize, Value> = HashMap::new();
        for i in (0..types.len()).filter(|&i| at.batched[i]) {
            slices.push(at.x(i).batch_first());
            inputs.insert(i, b.input(types[i].clone()));
        }
        for i in (0..types.len()).filter(|&i| !at.batched[i]) {
            rest.push(at.x(i));
            inputs.insert(i, b.input(types[i].clone()));
        }
        given.extend((0..types.len()).map(|i| inputs[&i]));
        let op = if at.mask.is_some() { Op::from(self.guarded(&types)?) } else { self.clone().into() };
        let made = b.node(op, &given)?;
        let (body, sliced) = (Arc::new(b.finish(made)), slices.len());
        let length = at.size;
        let op = Scan { body, carried: 0, sliced, length, reverse: false, last: false, checkpoint: false };
        let made = at.math().apply_all(op, &[slices, rest].concat());
        Ok(made.into_iter().map(Var::batch_last).collect())
    }

    /// A branch op that makes the call, on operands of these types, if its condition holds, and else gives
    /// zeros.
    fn guarded(&self, types: &[Aval]) -> Result<If> {
        let mut b = Builder::default();
        let inputs: Vec<Value> = types.iter().map(|aval| b.input(aval.clone())).collect();
        let made = b.node(self.clone(), &inputs)?;
        let types: Vec<Aval> = made.iter().map(|&v| b.graph().aval(v).clone()).collect();
        let mut zeros = Builder::default();
        let math = Math::new(&mut zeros);
        let outputs = types.iter().map(|aval| math.fill(0.0, aval).value()).collect();
        math.finish()?;
        Ok(If { branches: [Arc::new(b.finish(made)), Arc::new(zeros.finish(outputs))] })
    }
}

impl OpDef for Callback {
    fn row(&self) -> &'static Row {
        &CALLBACK
    }

    fn rows() -> Vec<&'static Row> {
        vec![&CALLBACK]
    }

    fn infer(&self, _operands: &[&Aval]) -> Result<Vec<Aval>> {
        if self.results.is_empty() {
            return Ok(vec![Aval::known(DType::I1, Default::default())]);
        }
        Ok(self.results.clone())
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![("vectorized", logical(self.vectorized))]
    }

    fn parse(form: &Form) -> Parsed<Callback> {
        Err(form.error("an op whose text says all of it", "`callback`, which calls a function of R"))
    }

    fn eval(&self, operands: &[View], results: &mut [ViewMut]) {
        // After an index that is out of range, operands are not what the program says.
        raised::end_if_raised();
        let types = operands.iter().zip(&self.ambiguous);
        let types: Vec<Aval> =
            types.map(|(x, &ambiguous)| Aval { dtype: x.dtype, shape: x.shape.clone(), ambiguous }).collect();
        let results = if self.results.is_empty() {
            results[0].data.fill(0);
            &mut []
        } else {
            results
        };
        if let Err(error) = self.function.0.call(&types, operands, results) {
            raised::end(error);
        }
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::Todo("the engine does not see what it computes; give it a derivative with `custom_gradient()`")
    }

    fn jvp(&self) -> Jvp<'_> {
        Jvp::Todo("the engine does not see what it computes; give it a derivative with `custom_jvp()`")
    }

    fn batch(&self) -> Batch<'_> {
        Batch::by(|at| {
            let made = if self.vectorized { self.at_once(at) } else { self.one_by_one(at) };
            made.unwrap_or_else(|error| {
                at.math().fail(error);
                vec![]
            })
        })
    }

    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        Lowering::Todo {
            why: "StableHLO has no op that calls a function of R",
            hint: "Remove `nv_callback()` from the function before you export it.",
        }
    }

    fn effect(&self) -> bool {
        true
    }

    fn raises(&self) -> bool {
        true
    }
}
