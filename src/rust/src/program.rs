//! A program: an executable with its captured tensors and the structure of its result, run on R values.

use crate::axis_names;
use crate::ffi::*;
use crate::guard::{protected, stoppable, Outcome, Scope};
use crate::threads;
use crate::tree::{Leaf, Out};
use crate::value::{self, Tensor};
use crate::vector::{self, Bytes};
use anvil_core::exec::{Executable, Output};
use anvil_core::graph::Def;
use std::collections::HashMap;
use std::rc::Rc;

/// A compiled function, which is called on leaves.
pub struct Program {
    /// The compiled graph.
    pub executable: Executable,
    /// Captured tensors, kept alive by the owner of the program.
    pub constants: Vec<SEXP>,
    /// A list of objects that ops refer to, kept alive as the constants; `NULL` if there are none.
    pub kept: SEXP,
    /// Structure of the result.
    pub out: Rc<Out>,
    /// Whether objects are in it.
    pub has_objects: bool,
}

impl Program {
    /// Runs the program; makes the result.
    ///
    /// # Errors
    /// A jump if memory cannot be allocated or the user interrupts, errors of the program, and those of
    /// functions that make objects; outputs are dropped then. Donated inputs are unchanged if the run had not begun, and donated otherwise.
    pub fn run(&self, leaves: &[Leaf], scope: &Scope) -> Outcome {
        if self.executable.may_share() {
            threads::follow()?;
        }
        let donations = self.donations(leaves);
        for leaf in leaves {
            if let Leaf::Tensor(tensor, _) = leaf {
                scope.keep(tensor.anchor());
            }
        }
        // A function of R that the program calls may have the cache drop the program.
        if self.kept != nil() {
            scope.keep(self.kept);
        }
        let inputs: Vec<Bytes> = leaves.iter().map(leaf_bytes).collect::<Outcome<_>>()?;
        let constants: Vec<Tensor> =
            self.constants.iter().map(|&x| Tensor::read(x)).collect::<Result<_, _>>()?;
        constants.iter().for_each(|x| _ = scope.keep(x.anchor()));
        let constants: Vec<Bytes> = constants.iter().map(Tensor::bytes).collect::<Outcome<_>>()?;
        let avals: Vec<_> = self.executable.outputs().collect();
        for aval in &avals {
            value::check_sizes(&aval.shape)?;
        }
        // All of the result is allocated before anything runs, and protected as one: a list of the tensors
        // and the result.
        // SAFETY: inside `protected`; each object is protected before the next is made.
        let (made, result) = protected(|| unsafe {
            let list = Rf_protect(Rf_allocVector(VECSXP, avals.len() as Length));
            for (k, aval) in avals.iter().enumerate() {
                let x = match (donations[k], self.passed_through(k, leaves)) {
                    (Some((_, donated)), _) => donated.successor(aval),
                    (None, Some(object)) => object,
                    (None, None) => value::new_tensor(aval),
                };
                SET_VECTOR_ELT(list, k as Length, x);
            }
            let result = self.out.build(&|k, names| {
                let x = element(list, k);
                match names {
                    // The caller's own tensor stays as it is.
                    Some(names) if donations[k].is_none() && self.passed_through(k, leaves).is_some() => {
                        axis_names::renamed(x, names)
                    }
                    Some(names) if names != nil() => {
                        axis_names::put(x, names);
                        x
                    }
                    _ => x,
                }
            });
            Rf_unprotect(1);
            (list, result)
        })?;
        let made = scope.keep(made);
        let result = scope.keep(result);
        for (_, donated) in donations.iter().flatten() {
            // From here on its elements may be overwritten, also if an error or an interrupt follows. They
            // become those of a result.
            // SAFETY: nothing but the caller's variable refers to the tensor, and nothing but the tensor to
            // its elements.
            unsafe { donated.donate() };
        }
        self.compute(leaves, made, &donations, &inputs, &constants)?;
        for k in 0..avals.len() {
            // The list is garbage now, but R would go on counting its references to the result.
            // SAFETY: index in range; the result is kept by the scope.
            unsafe { SET_VECTOR_ELT(made, k as Length, nil()) };
        }
        if self.has_objects {
            return self.out.objects(result, scope);
        }
        Ok(result)
    }

    fn compute(
        &self,
        leaves: &[Leaf],
        made: SEXP,
        donations: &[Option<(usize, Tensor)>],
        inputs: &[Bytes],
        constants: &[Bytes],
    ) -> Outcome<()> {
        let mut slices: Vec<Option<&[u8]>> = inputs.iter().map(|x| Some(x.as_slice())).collect();
        let mut outputs = Vec::with_capacity(donations.len());
        for ((k, donation), aval) in donations.iter().enumerate().zip(self.executable.outputs()) {
            if donation.is_none() && self.passed_through(k, leaves).is_some() {
                outputs.push(Output::Unused);
                continue;
            }
            // SAFETY: made for this call, each is borrowed once. Donated elements are those of the result
            // alone, and are read by the program only.
            let bytes = unsafe { value::new_bytes(element(made, k), aval.dtype) };
            outputs.push(match donation {
                Some((i, _)) => {
                    slices[*i] = None;
                    Output::Donated(bytes, *i)
                }
                None => Output::Fresh(bytes),
            });
        }
        let constants: Vec<&[u8]> = constants.iter().map(Bytes::as_slice).collect();
        Ok(stoppable(|| self.executable.run(&slices, &constants, outputs))??)
    }

    /// The input that output `k` equals, if it is one.
    fn input_of(&self, k: usize) -> Option<usize> {
        let graph = self.executable.graph();
        match graph.def(graph.outputs()[k]) {
            Def::Input(i) => Some(i),
            _ => None,
        }
    }

    /// The argument that output `k` returns unchanged, if it does.
    fn passed_through(&self, k: usize, leaves: &[Leaf]) -> Option<SEXP> {
        match leaves[self.input_of(k)?] {
            Leaf::Tensor(tensor, _) => Some(tensor.object),
            Leaf::Number(..) => None,
        }
    }

    /// For each output, the donated leaf whose elements it takes over in this call. Nothing else may refer
    /// to them, and they must not be donated twice.
    fn donations(&self, leaves: &[Leaf]) -> Vec<Option<(usize, Tensor)>> {
        let planned = self.executable.donations();
        if planned.iter().all(Option::is_none) {
            return vec![None; planned.len()];
        }
        let mut times: HashMap<SEXP, usize> = HashMap::new();
        for leaf in leaves {
            if let Leaf::Tensor(tensor, _) = leaf {
                *times.entry(tensor.holder()).or_default() += 1;
            }
        }
        let alone = |tensor: &Tensor| times[&tensor.holder()] == 1;
        planned
            .iter()
            .map(|input| match leaves[(*input)?] {
                Leaf::Tensor(tensor, true) if alone(&tensor) && tensor.is_exclusive() => {
                    Some(((*input)?, tensor))
                }
                _ => None,
            })
            .collect()
    }
}

fn leaf_bytes<'a>(leaf: &'a Leaf) -> Outcome<Bytes<'a>> {
    match leaf {
        Leaf::Tensor(tensor, _) => tensor.bytes(),
        Leaf::Number(x, dtype) => vector::number_bytes(*x, *dtype),
    }
}
