//! Native code for loops on few numbers: a whole loop is one function, whose state stays in registers.
//!
//! The values of a [`Loop`] are single elements. What a loop carries is in registers, as far as there are
//! some, else on the stack; other elements are read from memory, at places that are fixed or move on with
//! each iteration. Instructions are those of [chains](super::chain) on one lane. A function leaves the loop
//! early, with the state as it was at the start of an iteration, where an iteration needs what it has not: the
//! caller runs this one in another way, and may come back.

use super::chain::{Chain, MicroOp};
use crate::tensor::{Aval, Layout, View, ViewMut};
use std::fmt;

/// Arguments of a call, at least: their addresses are loaded in advance.
pub const LEAST: usize = 8;

/// An element in the buffer of an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Number of the argument.
    pub argument: usize,
    /// Bytes from its start.
    pub offset: i32,
    /// Whether it moves on by an element with each iteration.
    pub moves: bool,
}

/// A step of an iteration.
#[derive(Debug)]
pub enum Step {
    /// An op.
    Op(MicroOp),
    /// Stores an element.
    Store(usize, Place),
    /// Loads elements at a position that is computed.
    Load(Load),
    /// Calls the function of a number, on elements that were stored before; those that it makes are then in
    /// memory.
    Call(usize),
}

/// Elements at a computed position. The loop is left if a number is out of range.
#[derive(Debug)]
pub struct Load {
    /// Number of the argument.
    pub argument: usize,
    /// For each axis, the element with the number, the largest that is in range, and the bytes between two.
    pub starts: Vec<(usize, i32, i32)>,
    /// The elements that are loaded, and their distance from the position in bytes.
    pub elements: Vec<(usize, i32)>,
}

/// An element that is carried.
#[derive(Clone, Copy, Debug)]
pub struct Carried {
    /// The element at the start of an iteration.
    pub value: usize,
    /// That of the next iteration.
    pub next: usize,
    /// Where it is before and after the loop.
    pub place: Place,
}

/// A loop.
#[derive(Debug, Default)]
pub struct Loop {
    /// Its elements, as the values of a chain without ops.
    pub chain: Chain,
    /// What an iteration does, in order.
    pub steps: Vec<Step>,
    /// What is carried.
    pub carried: Vec<Carried>,
    /// Elements that are read from memory.
    pub reads: Vec<(usize, Place)>,
    /// The element that says whether there is another iteration, where that is computed, and the argument that
    /// it is stored in.
    pub test: Option<(usize, usize)>,
    /// Whether places move backwards.
    pub reverse: bool,
    /// Bytes of each argument, and whether it is written.
    pub arguments: Vec<(usize, bool)>,
    /// Iterations for which places that move have elements.
    pub length: usize,
}

/// The buffer of an argument.
#[derive(Debug)]
pub enum Buffer<'a> {
    /// It is read.
    Read(&'a [u8]),
    /// It is read and written.
    Write(&'a mut [u8]),
}

/// Values in the buffer of an argument, from this byte on, dense.
#[derive(Clone, Debug)]
pub struct Block {
    /// Their type.
    pub aval: Aval,
    /// Their layout.
    pub layout: Layout,
    /// Number of the argument.
    pub argument: usize,
    /// Bytes from its start.
    pub offset: usize,
}

/// A function on views that a loop calls.
pub struct Call {
    /// What it reads.
    pub operands: Vec<Block>,
    /// What it writes, which no operand is part of.
    pub results: Vec<Block>,
    /// The function.
    pub run: Box<dyn Fn(&[View], &mut [ViewMut])>,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("operands", &self.operands).field("results", &self.results).finish()
    }
}

#[cfg(all(target_arch = "x86_64", unix))]
mod code {
    use super::super::loop_code::emit;
    use super::super::pages::Pages;
    use super::{Block, Buffer, Call, Loop, LEAST};
    use crate::stop;
    use crate::tensor::{View, ViewMut};
    use std::any::Any;
    use std::cell::{Cell, RefCell};
    use std::ops::Range;
    use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

    /// The code of a loop.
    #[derive(Debug)]
    pub struct NativeLoop {
        pages: Pages,
        /// The code has the address of each.
        callees: Vec<Box<Callee>>,
        /// See [`Loop`].
        arguments: Vec<(usize, bool)>,
        length: usize,
        /// The argument that says whether there is another iteration.
        test: Option<usize>,
        /// Reused by each run.
        addresses: RefCell<Vec<*mut u8>>,
    }

    /// A function that native code calls.
    struct Callee {
        call: Call,
        /// What it unwinds with: the frames of native code cannot be unwound.
        payload: Cell<Option<Box<dyn Any + Send>>>,
        /// Lists that are reused.
        lists: Cell<Lists>,
    }

    /// The views of a call.
    #[derive(Default)]
    struct Lists(Vec<View<'static>>, Vec<ViewMut<'static>>);

    impl std::fmt::Debug for Callee {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            self.call.fmt(f)
        }
    }

    impl Block {
        /// Its bytes.
        ///
        /// # Safety
        /// There is such an argument, with as many bytes, which nothing writes meanwhile.
        unsafe fn bytes<'a>(&self, arguments: *const *mut u8) -> &'a mut [u8] {
            // SAFETY: by the caller.
            unsafe {
                let start = (*arguments.add(self.argument)).add(self.offset);
                std::slice::from_raw_parts_mut(start, self.aval.bytes())
            }
        }
    }

    /// Calls a function; 0 if it unwound.
    unsafe extern "sysv64" fn enter(callee: *const Callee, arguments: *const *mut u8) -> u32 {
        // SAFETY: the loop holds its callees, and passes its own arguments.
        let callee = unsafe { &*callee };
        // SAFETY: the callee outlives the call, after which no view is left.
        let call: &'static Call = unsafe { &*std::ptr::from_ref(&callee.call) };
        let run = || {
            let Lists(mut operands, mut results) = callee.lists.take();
            operands.extend(call.operands.iter().map(|block| View {
                dtype: block.aval.dtype,
                shape: &block.aval.shape,
                layout: &block.layout,
                // SAFETY: as above.
                data: unsafe { block.bytes(arguments) },
            }));
            results.extend(call.results.iter().map(|block| ViewMut {
                dtype: block.aval.dtype,
                shape: &block.aval.shape,
                // SAFETY: as above.
                data: unsafe { block.bytes(arguments) },
            }));
            (call.run)(&operands, &mut results);
            operands.clear();
            results.clear();
            callee.lists.set(Lists(operands, results));
        };
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(()) => 1,
            Err(payload) => {
                callee.payload.set(Some(payload));
                0
            }
        }
    }

    impl NativeLoop {
        /// The code of a loop that calls these functions; `None` where there is none.
        pub fn new(looped: Loop, calls: Vec<Call>) -> Option<NativeLoop> {
            if !super::super::is_here() {
                return None;
            }
            let boxed = |call| Box::new(Callee { call, payload: Cell::default(), lists: Cell::default() });
            let callees: Vec<Box<Callee>> = calls.into_iter().map(boxed).collect();
            let sites: Vec<usize> =
                callees.iter().map(|callee| std::ptr::from_ref::<Callee>(callee) as usize).collect();
            let code = emit(&looped, enter as *const () as usize, &sites);
            let Loop { arguments, length, test, .. } = looped;
            let test = test.map(|(_, argument)| argument);
            let addresses = RefCell::new(Vec::with_capacity(arguments.len().max(LEAST)));
            Some(NativeLoop { pages: Pages::new(&code)?, callees, arguments, length, test, addresses })
        }

        /// Runs steps of the loop, of which each reports `work`; returns how many were run before one that it
        /// cannot run, or after the last that its test allows.
        ///
        /// # Panics
        /// As the functions that it calls; if a buffer has another size than its argument, or there are fewer
        /// steps in the loop.
        pub fn run<'b>(
            &self,
            buffers: impl Iterator<Item = Buffer<'b>>,
            steps: Range<usize>,
            reverse: bool,
            work: usize,
        ) -> usize {
            assert!(steps.end <= self.length, "steps outside of a loop");
            // A loop that runs inside itself has a list of its own.
            let mut held = self.addresses.try_borrow_mut();
            let mut own = vec![];
            let addresses = held.as_deref_mut().unwrap_or(&mut own);
            addresses.clear();
            for (buffer, &(bytes, written)) in buffers.zip(&self.arguments) {
                let (address, len) = match buffer {
                    Buffer::Write(x) => (x.as_mut_ptr(), x.len()),
                    Buffer::Read(x) => {
                        assert!(!written, "a buffer that cannot be written");
                        (x.as_ptr().cast_mut(), x.len())
                    }
                };
                assert_eq!(len, bytes, "a buffer of another size");
                addresses.push(address);
            }
            assert_eq!(addresses.len(), self.arguments.len(), "buffers are missing");
            while addresses.len() < LEAST {
                addresses.push(std::ptr::null_mut());
            }
            type Function = unsafe extern "sysv64" fn(*const *mut u8, usize, usize) -> usize;
            // SAFETY: the pages hold such a function, for this processor.
            let function: Function = unsafe { std::mem::transmute(self.pages.at(0)) };
            // Between these it may be stopped.
            let most = (stop::EVERY / work).max(1);
            let mut step = steps.start;
            while step < steps.end {
                let count = (steps.end - step).min(most);
                stop::work(count * work);
                let index = if reverse { self.length - 1 - step } else { step };
                // SAFETY: each argument has its bytes, which are borrowed; places are within them, as whoever
                // made the loop says, for the steps that were checked.
                let left = unsafe { function(addresses.as_ptr(), count, index) };
                if let Some(payload) = self.callees.iter().find_map(|callee| callee.payload.take()) {
                    resume_unwind(payload);
                }
                step += count - left;
                // SAFETY: its argument has a byte.
                let go_on = self.test.is_none_or(|argument| unsafe { *addresses[argument] } != 0);
                if left > 0 || !go_on {
                    break;
                }
            }
            step - steps.start
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", unix)))]
mod code {
    use super::{Buffer, Call, Loop};
    use std::ops::Range;

    /// The code of a loop: there is none.
    #[derive(Debug)]
    pub enum NativeLoop {}

    impl NativeLoop {
        /// The code of a loop.
        pub fn new(_looped: Loop, _calls: Vec<Call>) -> Option<NativeLoop> {
            None
        }

        /// Runs it.
        pub fn run<'b>(
            &self,
            _buffers: impl Iterator<Item = Buffer<'b>>,
            _steps: Range<usize>,
            _reverse: bool,
            _work: usize,
        ) -> usize {
            match *self {}
        }
    }
}

pub use code::NativeLoop;
