//! The native code of a loop on few numbers, with the functions that it calls.

/// The buffer of an argument.
#[derive(Debug)]
pub enum Buffer<'a> {
    /// It is read.
    Read(&'a [u8]),
    /// It is read and written.
    Write(&'a mut [u8]),
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod code {
    use super::Buffer;
    use crate::exec::vm::native::loop_code::emit;
    use crate::exec::vm::native::loops::{Block, Call, Loop, LEAST};
    use crate::exec::vm::native::machine::{self, forget_tiny, met_tiny, with_convention, LoopFunction};
    use crate::exec::vm::native::pages::Pages;
    use crate::stop;
    use crate::tensor::{View, ViewMut};
    use std::any::Any;
    use std::cell::{Cell, OnceCell, RefCell};
    use std::ops::Range;
    use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

    /// The code of a loop.
    #[derive(Debug)]
    pub struct NativeLoop {
        pages: Pages,
        /// That for tiny numbers, once there were some.
        for_tiny: OnceCell<Option<Pages>>,
        /// Whether there were some when that was asked last.
        tiny: Cell<bool>,
        looped: Loop,
        /// The code has the address of each.
        callees: Vec<Callee>,
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

    macro_rules! functions {
        ($convention:literal) => {
            /// Calls a function; 0 if it unwound.
            unsafe extern $convention fn enter(callee: *const Callee, arguments: *const *mut u8) -> u32 {
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
        };
    }
    with_convention!(functions);

    /// The code of a loop that calls these functions, which stay where they are.
    fn pages(looped: &Loop, callees: &[Callee], tiny: bool) -> Option<Pages> {
        let sites: Vec<usize> =
            callees.iter().map(|callee| std::ptr::from_ref::<Callee>(callee) as usize).collect();
        Pages::new(&emit(looped, enter as *const () as usize, &sites, tiny)?)
    }

    /// Iterations of a call, at most: between two it is asked whether there were tiny numbers.
    const MOST: usize = 512;

    impl NativeLoop {
        /// The code of a loop that calls these functions; `None` where there is none.
        pub fn new(looped: Loop, calls: Vec<Call>) -> Option<NativeLoop> {
            if !machine::is_here() {
                return None;
            }
            let callee = |call| Callee { call, payload: Cell::default(), lists: Cell::default() };
            // The list does not change any more, and stays where it is.
            let callees: Vec<Callee> = calls.into_iter().map(callee).collect();
            let pages = pages(&looped, &callees, false)?;
            let addresses = RefCell::new(Vec::with_capacity(looped.arguments.len().max(LEAST)));
            Some(NativeLoop {
                pages,
                for_tiny: OnceCell::new(),
                tiny: Cell::new(false),
                looped,
                callees,
                addresses,
            })
        }

        /// The function of the loop: that for tiny numbers, if there are some.
        fn function(&self) -> LoopFunction {
            let other = || self.for_tiny.get_or_init(|| pages(&self.looped, &self.callees, true)).as_ref();
            let pages = self.tiny.get().then(other).flatten().unwrap_or(&self.pages);
            // SAFETY: the pages hold such a function, for this processor.
            unsafe { std::mem::transmute(pages.at(0)) }
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
            let Loop { arguments, length, test, .. } = &self.looped;
            assert!(steps.end <= *length, "steps outside of a loop");
            // A loop that runs inside itself has a list of its own.
            let mut held = self.addresses.try_borrow_mut();
            let mut own = vec![];
            let addresses = held.as_deref_mut().unwrap_or(&mut own);
            addresses.clear();
            for (buffer, &(bytes, written)) in buffers.zip(arguments) {
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
            assert_eq!(addresses.len(), arguments.len(), "buffers are missing");
            while addresses.len() < LEAST {
                addresses.push(std::ptr::null_mut());
            }
            // Between these it may be stopped.
            let most = (stop::EVERY / work).clamp(1, MOST);
            let mut step = steps.start;
            while step < steps.end {
                let count = (steps.end - step).min(most);
                stop::work(count * work);
                let index = if reverse { length - 1 - step } else { step };
                let is_last = step + count == steps.end;
                if !is_last {
                    forget_tiny();
                }
                let function = self.function();
                // SAFETY: each argument has its bytes, which are borrowed; places are within them, as whoever
                // made the loop says, for the steps that were checked.
                let left = unsafe { function(addresses.as_ptr(), count, index) };
                if let Some(payload) = self.callees.iter().find_map(|callee| callee.payload.take()) {
                    resume_unwind(payload);
                }
                step += count - left;
                // SAFETY: its argument has a byte.
                let go_on = test.is_none_or(|(_, argument)| unsafe { *addresses[argument] } != 0);
                if left > 0 || !go_on {
                    break;
                }
                if !is_last {
                    self.tiny.set(met_tiny());
                }
            }
            step - steps.start
        }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod code {
    use super::Buffer;
    use crate::exec::vm::native::loops::{Call, Loop};
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
