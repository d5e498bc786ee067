//! The native code of a loop on few numbers, with the functions that it calls.

/// The buffer of an argument.
#[derive(Debug)]
pub enum Buffer<'a> {
    /// It is read.
    Read(&'a [u8]),
    /// It is read and written.
    Write(&'a mut [u8]),
    /// Likewise, with others of which each writes other elements.
    Shared(Shared),
}

/// Memory that several threads write, each other elements of it.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    first: *mut u8,
    len: usize,
}

// SAFETY: it is bytes, and whoever made it says that no two threads write the same ones.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// This memory.
    ///
    /// # Safety
    /// As long as the value is used, the memory is borrowed, and no two threads have the same bytes of it.
    pub unsafe fn of(x: &mut [u8]) -> Shared {
        Shared { first: x.as_mut_ptr(), len: x.len() }
    }

    /// The same from a byte on.
    ///
    /// # Panics
    /// If it has fewer.
    pub fn from(self, at: usize) -> Shared {
        let len = self.len.checked_sub(at).expect("memory that is too short");
        Shared { first: self.first.wrapping_add(at), len }
    }

    /// So many of its bytes.
    ///
    /// # Safety
    /// As of [`Shared::of`], as long as the bytes are used.
    ///
    /// # Panics
    /// If it has fewer.
    pub unsafe fn bytes<'a>(self, len: usize) -> &'a mut [u8] {
        assert!(len <= self.len, "memory that is too short");
        // SAFETY: they are there, and nobody else has them, by the caller.
        unsafe { std::slice::from_raw_parts_mut(self.first, len) }
    }

    /// Writes bytes from one on.
    ///
    /// # Safety
    /// As of [`Shared::of`].
    ///
    /// # Panics
    /// If it has fewer.
    #[inline(always)]
    pub unsafe fn put(self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= self.len, "memory that is too short");
        // SAFETY: they are there, and nobody else has them, by the caller.
        unsafe { self.first.add(at).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) }
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod code {
    use super::Buffer;
    use crate::exec::vm::native::loop_code::emit;
    use crate::exec::vm::native::loops::{Block, Call, Loop, LEAST};
    use crate::exec::vm::native::machine::{self, forget_tiny, met_tiny, with_convention, LoopFunction};
    use crate::exec::vm::native::pages::Pages;
    use crate::exec::vm::native::LOOP_VECTOR;
    use crate::stop;
    use crate::tensor::{View, ViewMut};
    use std::any::Any;
    use std::cell::Cell;
    use std::ops::Range;
    use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::sync::OnceLock;

    thread_local! {
        /// What a function that native code called unwinds with: the frames of native code cannot be unwound.
        static PAYLOAD: Cell<Option<Box<dyn Any + Send>>> = const { Cell::new(None) };
        /// Lists of views that calls reuse.
        static VIEWS: Cell<Lists> = const { Cell::new(Lists(vec![], vec![])) };
        /// The addresses of arguments, a list that loops reuse.
        static ADDRESSES: Cell<Vec<*mut u8>> = const { Cell::new(vec![]) };
    }

    /// The code of a loop.
    #[derive(Debug)]
    pub struct NativeLoop {
        pages: Pages,
        /// That for tiny numbers, once there were some.
        for_tiny: OnceLock<Option<Pages>>,
        /// Whether there were some when that was asked last.
        tiny: AtomicBool,
        looped: Loop,
        /// The functions that it calls. The code has the address of each.
        calls: Vec<Call>,
    }

    /// The views of a call.
    #[derive(Default)]
    struct Lists(Vec<View<'static>>, Vec<ViewMut<'static>>);

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
            unsafe extern $convention fn enter(call: *const Call, arguments: *const *mut u8) -> u32 {
                // SAFETY: the loop holds what it calls, and passes its own arguments; after the call no view is
                // left.
                let call: &'static Call = unsafe { &*call };
                let run = || {
                    let Lists(mut operands, mut results) = VIEWS.take();
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
                    VIEWS.set(Lists(operands, results));
                };
                match catch_unwind(AssertUnwindSafe(run)) {
                    Ok(()) => 1,
                    Err(payload) => {
                        PAYLOAD.set(Some(payload));
                        0
                    }
                }
            }
        };
    }
    with_convention!(functions);

    /// The code of a loop that calls these functions, which stay where they are.
    fn pages(looped: &Loop, calls: &[Call], tiny: bool) -> Option<Pages> {
        let sites: Vec<usize> = calls.iter().map(|call| std::ptr::from_ref::<Call>(call) as usize).collect();
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
            debug_assert!(looped.is_within(LOOP_VECTOR), "a place beyond its argument");
            // The list does not change any more, and stays where it is.
            let pages = pages(&looped, &calls, false)?;
            Some(NativeLoop { pages, for_tiny: OnceLock::new(), tiny: AtomicBool::new(false), looped, calls })
        }

        /// The function of the loop: that for tiny numbers, if there are some.
        fn function(&self) -> LoopFunction {
            let other = || self.for_tiny.get_or_init(|| pages(&self.looped, &self.calls, true)).as_ref();
            let pages = self.tiny.load(Relaxed).then(other).flatten().unwrap_or(&self.pages);
            // SAFETY: the pages hold such a function, for this processor.
            unsafe { std::mem::transmute(pages.at(0)) }
        }

        /// Runs steps of the loop, of which each reports `work`: all, or until its test says that there is no other.
        ///
        /// # Panics
        /// As the functions that it calls; if a buffer is shorter than its argument, or there are fewer steps in the
        /// loop.
        pub fn run<'b>(
            &self,
            buffers: impl Iterator<Item = Buffer<'b>>,
            steps: Range<usize>,
            reverse: bool,
            work: usize,
        ) {
            let Loop { arguments, strides, length, test, .. } = &self.looped;
            assert!(steps.end <= *length, "steps outside of a loop");
            let mut addresses = ADDRESSES.take();
            addresses.clear();
            for (buffer, &(bytes, written)) in buffers.zip(arguments) {
                let (address, len) = match buffer {
                    Buffer::Write(x) => (x.as_mut_ptr(), x.len()),
                    Buffer::Shared(x) => (x.first, x.len),
                    Buffer::Read(x) => {
                        assert!(!written, "a buffer that cannot be written");
                        (x.as_ptr().cast_mut(), x.len())
                    }
                };
                assert!(len >= bytes, "a buffer that is too short");
                addresses.push(address);
            }
            assert_eq!(addresses.len(), arguments.len(), "buffers are missing");
            while addresses.len() < LEAST {
                addresses.push(std::ptr::null_mut());
            }
            let first = if reverse { (length - steps.start).saturating_sub(1) } else { steps.start };
            for &(argument, bytes) in strides {
                // Those of an iteration are within its bytes.
                addresses[argument] = addresses[argument].wrapping_offset(first as isize * bytes as isize);
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
                let left = unsafe { function(addresses.as_mut_ptr(), count, index) };
                if let Some(payload) = PAYLOAD.take() {
                    resume_unwind(payload);
                }
                step += count;
                // SAFETY: its argument has a byte.
                let go_on = test.is_none_or(|(_, argument)| unsafe { *addresses[argument] } != 0);
                debug_assert!(left == 0 || !go_on, "a loop that ends before its last step");
                if !go_on {
                    break;
                }
                if !is_last {
                    self.tiny.store(met_tiny(), Relaxed);
                }
            }
            ADDRESSES.set(addresses);
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
        ) {
            match *self {}
        }
    }
}

pub use code::NativeLoop;
