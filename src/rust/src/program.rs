//! A program: an executable with its captured tensors and the structure of its result, run on R values.

use crate::ffi::*;
use crate::guard::{protected, stoppable, Outcome, Scope};
use crate::threads;
use crate::tree::{Leaf, Out};
use crate::value::{self, Record};
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
    /// Structure of the result.
    pub out: Rc<Out>,
}

impl Program {
    /// Runs the program; makes the result.
    ///
    /// # Errors
    /// A jump if memory cannot be allocated or the user interrupts, and errors of the program; outputs are
    /// dropped then. Donated inputs are unchanged if the run had not begun, and donated otherwise.
    pub fn run(&self, leaves: &[Leaf], scope: &Scope) -> Outcome {
        if self.executable.may_share() {
            threads::follow()?;
        }
        let donations = self.donations(leaves);
        let inputs: Vec<Bytes> = leaves.iter().map(leaf_bytes).collect::<Outcome<_>>()?;
        let constants: Vec<Record> =
            self.constants.iter().map(|&x| Record::read(x)).collect::<Result<_, _>>()?;
        let constants: Vec<Bytes> = constants.iter().map(|r| r.bytes()).collect::<Outcome<_>>()?;
        let avals: Vec<_> = self.executable.outputs().collect();
        for aval in &avals {
            value::check_sizes(&aval.shape)?;
        }
        // All of the result is allocated before anything runs, and protected as one: a list of the records
        // and the result.
        // SAFETY: inside `protected`; each object is protected before the next is made.
        let (records, result) = protected(|| unsafe {
            let list = Rf_protect(Rf_allocVector(VECSXP, avals.len() as Length));
            for (k, aval) in avals.iter().enumerate() {
                let record = match (donations[k], self.passed_through(k, leaves)) {
                    (Some((_, record)), _) => value::record_around(aval, record.data),
                    (None, Some(object)) => object,
                    (None, None) => value::new_record(aval),
                };
                SET_VECTOR_ELT(list, k as Length, record);
            }
            let result = self.out.build(&|k| element(list, k));
            Rf_unprotect(1);
            (list, result)
        })?;
        let records = scope.keep(records);
        let result = scope.keep(result);
        for (_, record) in donations.iter().flatten() {
            // From here on its elements may be overwritten, also if an error or an interrupt follows. The
            // vector becomes that of a result.
            // SAFETY: the record is a tensor's, and nothing but the caller's variable refers to it.
            unsafe { value::donate(record.object) };
        }
        self.compute(leaves, records, &donations, &inputs, &constants)?;
        for k in 0..avals.len() {
            // The list is garbage now, but R would go on counting its references to the result.
            // SAFETY: index in range; the result is kept by the scope.
            unsafe { SET_VECTOR_ELT(records, k as Length, nil()) };
        }
        Ok(result)
    }

    fn compute(
        &self,
        leaves: &[Leaf],
        records: SEXP,
        donations: &[Option<(usize, Record)>],
        inputs: &[Bytes],
        constants: &[Bytes],
    ) -> Outcome<()> {
        let mut slices: Vec<Option<&[u8]>> = inputs.iter().map(|x| Some(x.as_slice())).collect();
        let mut outputs = Vec::with_capacity(donations.len());
        for (k, donation) in donations.iter().enumerate() {
            outputs.push(match donation {
                Some((i, record)) => {
                    slices[*i] = None;
                    // SAFETY: `donations` found that nothing but the caller's record refers to the vector;
                    // the result's record does since, and neither is read before the program has run.
                    Output::Donated(unsafe { record.bytes_mut() }, *i)
                }
                None if self.passed_through(k, leaves).is_some() => Output::Unused,
                // SAFETY: made above, each is borrowed once.
                None => Output::Fresh(unsafe { value::new_bytes(element(records, k)) }),
            });
        }
        let constants: Vec<&[u8]> = constants.iter().map(Bytes::as_slice).collect();
        stoppable(|| self.executable.run(&slices, &constants, outputs))
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
            Leaf::Tensor(record, _) => Some(record.object),
            Leaf::Number(..) => None,
        }
    }

    /// For each output, the donated leaf whose vector it takes over in this call. Nothing else may refer to
    /// the vector, and it must not be donated twice.
    fn donations(&self, leaves: &[Leaf]) -> Vec<Option<(usize, Record)>> {
        let planned = self.executable.donations();
        if planned.iter().all(Option::is_none) {
            return vec![None; planned.len()];
        }
        let mut times: HashMap<SEXP, usize> = HashMap::new();
        for leaf in leaves {
            if let Leaf::Tensor(record, _) = leaf {
                *times.entry(record.data).or_default() += 1;
            }
        }
        let alone = |record: &Record| times[&record.data] == 1;
        planned
            .iter()
            .map(|input| match leaves[(*input)?] {
                Leaf::Tensor(record, true) if alone(&record) && record.is_exclusive() => {
                    Some(((*input)?, record))
                }
                _ => None,
            })
            .collect()
    }
}

fn leaf_bytes<'a>(leaf: &'a Leaf) -> Outcome<Bytes<'a>> {
    match leaf {
        Leaf::Tensor(record, _) => record.bytes(),
        Leaf::Number(x, dtype) => vector::number_bytes(*x, *dtype),
    }
}
