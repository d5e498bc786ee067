//! The boundary between R and Rust, which no Rust panic and no R jump crosses.
//!
//! Every entry point is `guard(status, |scope| ...)`. It returns an R object and a status, by which
//! `entrypoint.c` acts when no Rust frame is left: it returns the object, signals it as a condition,
//! continues a jump, or traces.

use crate::ffi::*;
use crate::reserve;
use anvil_core::error::{Error, Field};
use anvil_core::growth::OutOfMemory;
use anvil_core::stop::{self, Watch};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::os::raw::{c_int, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::Duration;

/// The object is the result.
const OK: c_int = 0;
/// The object is a condition to signal.
const CONDITION: c_int = 1;
/// The object is the token that continues R's jump.
const JUMP: c_int = 2;
/// The object is the argument list of a jitted function that has to be traced first.
const MISS: c_int = 3;

/// Why an entry point has no result.
pub enum Exit {
    /// An error to signal.
    Error(Error),
    /// A jump of R (an interrupt, a failed allocation): the token that continues it.
    Jump(SEXP),
    /// A jitted function must be traced for these arguments.
    Miss(SEXP),
}

impl From<Error> for Exit {
    fn from(e: Error) -> Exit {
        Exit::Error(e)
    }
}

/// The result of functions that call R.
pub type Outcome<T = SEXP> = Result<T, Exit>;

/// Keeps R objects alive until the entry point returns, in any number: R's own protection stack holds 50,000,
/// and R jumps when it is full.
pub struct Scope {
    /// Number of objects that were kept before.
    base: usize,
}

/// A preserved list of R, whose first `top` elements are the kept objects.
struct Kept {
    list: Cell<SEXP>,
    top: Cell<usize>,
    size: Cell<usize>,
}

// SAFETY: only used on R's main thread. A thread-local variable would slow every small op.
unsafe impl Sync for Kept {}

static KEPT: Kept = Kept { list: Cell::new(std::ptr::null_mut()), top: Cell::new(0), size: Cell::new(0) };

/// Elements of a new list.
const INITIAL_SIZE: usize = 256;

/// Elements of a list that is kept for the next call, at most; a longer one is released.
const MAX_SIZE_KEPT: usize = 4096;

impl Scope {
    /// Protects an object from R's garbage collector.
    pub fn keep(&self, x: SEXP) -> SEXP {
        let top = KEPT.top.get();
        if top == KEPT.size.get() {
            KEPT.grow(x);
        }
        // SAFETY: a list with that many elements.
        unsafe { SET_VECTOR_ELT(KEPT.list.get(), top as Length, x) };
        KEPT.top.set(top + 1);
        x
    }

    /// Releases the kept objects. R counts references, and an element that stays would be one.
    fn end(&self) {
        let list = KEPT.list.get();
        for i in self.base..KEPT.top.replace(self.base) {
            // SAFETY: as above; this allocates nothing.
            unsafe { SET_VECTOR_ELT(list, i as Length, nil()) };
        }
        if self.base == 0 && KEPT.size.get() > MAX_SIZE_KEPT {
            KEPT.size.set(0);
            // SAFETY: preserved by `grow`.
            unsafe { R_ReleaseObject(list) };
        }
    }
}

impl Kept {
    /// Doubles the capacity; `x` is protected meanwhile.
    fn grow(&self, x: SEXP) {
        let (old, top, size) = (self.list.get(), self.top.get(), (2 * self.size.get()).max(INITIAL_SIZE));
        // SAFETY: inside `protected`; the lists have that many elements.
        let grown = protected(|| unsafe {
            Rf_protect(x);
            let list = Rf_protect(Rf_allocVector(VECSXP, size as Length));
            R_PreserveObject(list);
            for i in 0..top as Length {
                SET_VECTOR_ELT(list, i, VECTOR_ELT(old, i));
                SET_VECTOR_ELT(old, i, nil());
            }
            if top > 0 {
                R_ReleaseObject(old);
            }
            Rf_unprotect(2);
            list
        });
        match grown {
            Ok(list) => {
                self.list.set(list);
                self.size.set(size);
            }
            Err(jump) => leave_for(jump),
        }
    }
}

/// Runs what a program calls in the middle of an entry point, and releases what that has kept.
pub fn scoped<T>(body: impl FnOnce(&Scope) -> T) -> T {
    let scope = Scope { base: KEPT.top.get() };
    let out = body(&scope);
    // If it is left by unwinding, the entry point releases it.
    scope.end();
    out
}

/// Runs an entry point.
pub fn guard(status: *mut c_int, body: impl FnOnce(&Scope) -> Outcome) -> SEXP {
    let scope = Scope { base: KEPT.top.get() };
    reserve::refill();
    let outcome = catch_unwind(AssertUnwindSafe(|| stoppable(|| body(&scope)).and_then(|outcome| outcome)));
    let (code, object) = match outcome {
        Ok(Ok(x)) => (OK, x),
        Ok(Err(exit)) => leave(exit),
        Err(panic) => leave(Exit::Error(from_panic(panic))),
    };
    // Nothing allocates from here on, so the object stays alive.
    scope.end();
    // SAFETY: `status` points at a local variable of the C caller.
    unsafe { *status = code };
    object
}

fn leave(exit: Exit) -> (c_int, SEXP) {
    match exit {
        Exit::Jump(token) => (JUMP, token),
        Exit::Miss(arguments) => (MISS, arguments),
        Exit::Error(error) => match condition(&error) {
            Ok(x) => (CONDITION, x),
            Err(Exit::Jump(token)) => (JUMP, token),
            Err(_) => (CONDITION, nil()),
        },
    }
}

fn from_panic(panic: Box<dyn Any + Send>) -> Error {
    if let Some(&OutOfMemory { bytes }) = panic.downcast_ref() {
        return Error::OutOfMemory { bytes };
    }
    let text = panic
        .downcast_ref::<&str>()
        .map(|s| s.to_string())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    Error::Internal { detail: format!("a panic in Rust: {}", text.unwrap_or_else(|| "no message".into())) }
}

/// Runs calls of R that may jump. A jump is caught and returned, so that Rust frames return normally. `calls`
/// must own nothing that needs dropping, since a jump leaves it in the middle.
pub fn protected<T: Copy>(calls: impl FnOnce() -> T) -> Outcome<T> {
    struct Data<F, T> {
        calls: Option<F>,
        out: Option<T>,
    }
    unsafe extern "C" fn run<F: FnOnce() -> T, T>(data: *mut c_void) -> SEXP {
        // SAFETY: `data` is the `Data` below, alive and used by nobody else during the call.
        let data = unsafe { &mut *data.cast::<Data<F, T>>() };
        data.out = data.calls.take().map(|calls| calls());
        nil()
    }
    fn runner<F: FnOnce() -> T, T>(_: &Data<F, T>) -> unsafe extern "C" fn(*mut c_void) -> SEXP {
        run::<F, T>
    }
    let mut data = Data { calls: Some(calls), out: None };
    let run = runner(&data);
    let depth = DEPTH.get();
    let token = token(depth);
    DEPTH.set(depth + 1);
    let mut out = nil();
    // Nothing may unwind over R's frames. An entry point that R calls meanwhile has a watch of its own.
    // SAFETY: `data` and `out` live until the call returns, which it does whether R jumps or not.
    let jumped = stop::unwatched(|| unsafe { anvil_protected(run, (&raw mut data).cast(), token, &mut out) });
    DEPTH.set(depth);
    let lacking = LACKING.take();
    if jumped != 0 {
        return Err(Exit::Jump(token));
    }
    if lacking > 0 {
        return Err(Exit::Error(Error::OutOfMemory { bytes: lacking }));
    }
    Ok(data.out.expect("the calls ran to their end"))
}

/// Makes the surrounding [`protected`] call end in [`Error::OutOfMemory`] for that many bytes: R's own error
/// has no class.
pub fn lack(bytes: usize) {
    LACKING.set(bytes.max(1));
}

thread_local! {
    static LACKING: Cell<usize> = const { Cell::new(0) };
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    static TOKENS: RefCell<Vec<SEXP>> = const { RefCell::new(Vec::new()) };
}

/// The token for calls at this depth of nesting (a finalizer that R runs may call us again). Tokens are
/// large, so each is made once and used again after its jump has continued.
fn token(depth: usize) -> SEXP {
    if let Some(token) = TOKENS.with_borrow(|tokens| tokens.get(depth).copied()) {
        return token;
    }
    // SAFETY: this may jump for lack of memory, once in a session and with nothing here to drop.
    let token = unsafe {
        let token = R_MakeUnwindCont();
        R_PreserveObject(token);
        token
    };
    TOKENS.with_borrow_mut(|tokens| tokens.push(token));
    token
}

/// Time between questions to R whether the user interrupts. R checks time limits at every fifth question
/// only.
const PERIOD: Duration = Duration::from_millis(20);

thread_local! {
    /// The reason for the unwinding: R's jump, or an error of R's function that prints.
    static REASON: RefCell<Option<Exit>> = const { RefCell::new(None) };
}

/// Runs long work under a watch, which stops it when the user interrupts or a time limit is over. All entry
/// points run so; work that must clean up when it is stopped calls this itself.
pub fn stoppable<T>(body: impl FnOnce() -> T) -> Outcome<T> {
    let watch = Watch { ask: is_interrupted, every: stop::EVERY, period: PERIOD };
    stop::watched(watch, body).ok_or_else(|| {
        let unknown = || Exit::Error(Error::Internal { detail: "something was left for no reason".into() });
        REASON.take().unwrap_or_else(unknown)
    })
}

/// Leaves the running work, for this reason.
pub fn leave_for(reason: Exit) -> ! {
    REASON.set(Some(reason));
    stop::leave()
}

/// Asks R whether the user wants to stop.
fn is_interrupted(_done: usize) -> bool {
    // SAFETY: inside `protected`, so the jump is caught.
    match protected(|| unsafe { R_CheckUserInterrupt() }) {
        Ok(()) => false,
        Err(jump) => {
            REASON.set(Some(jump));
            true
        }
    }
}

/// An R string from Rust text.
///
/// # Safety
/// May jump: only inside [`protected`].
pub unsafe fn r_char(text: &str) -> SEXP {
    // Texts longer than an R string can hold do not occur; they would be cut.
    let len = text.len().min(c_int::MAX as usize) as c_int;
    // SAFETY: by the caller; the bytes are copied.
    unsafe { Rf_mkCharLenCE(text.as_ptr().cast(), len, CE_UTF8) }
}

/// A character vector of length 1.
pub fn r_string(text: &str, scope: &Scope) -> Outcome {
    // SAFETY: inside `protected`; the vector is protected while its element is made.
    protected(|| unsafe {
        let out = Rf_protect(Rf_allocVector(STRSXP, 1));
        SET_STRING_ELT(out, 0, r_char(text));
        Rf_unprotect(1);
        out
    })
    .map(|x| scope.keep(x))
}

/// A character vector.
pub fn r_strings(texts: &[String], scope: &Scope) -> Outcome {
    // SAFETY: as in `r_string`.
    protected(|| unsafe {
        let out = Rf_protect(Rf_allocVector(STRSXP, texts.len() as Length));
        for (i, text) in texts.iter().enumerate() {
            SET_STRING_ELT(out, i as Length, r_char(text));
        }
        Rf_unprotect(1);
        out
    })
    .map(|x| scope.keep(x))
}

/// A condition as `list(message, class, fields)`, from which R/conditions.R makes and signals the object.
fn condition(error: &Error) -> Outcome {
    let message = error.to_string();
    let class = error.class();
    let fields = error.fields();
    // SAFETY: inside `protected`; every object is protected before the next is made, and the borrowed values
    // outlive the call because they belong to the caller.
    protected(|| unsafe {
        let out = Rf_protect(Rf_allocVector(VECSXP, 3));
        let string = |text: &str| {
            let x = Rf_protect(Rf_allocVector(STRSXP, 1));
            SET_STRING_ELT(x, 0, r_char(text));
            Rf_unprotect(1);
            x
        };
        SET_VECTOR_ELT(out, 0, string(&message));
        SET_VECTOR_ELT(out, 1, string(class));
        let values = Rf_allocVector(VECSXP, fields.len() as Length);
        SET_VECTOR_ELT(out, 2, values);
        let names = Rf_protect(Rf_allocVector(STRSXP, fields.len() as Length));
        Rf_setAttrib(values, R_NamesSymbol, names);
        for (i, (name, field)) in fields.iter().enumerate() {
            SET_STRING_ELT(names, i as Length, r_char(name));
            let value = match field {
                Field::Text(text) => string(text),
                Field::Numbers(numbers) => {
                    let x = Rf_allocVector(REALSXP, numbers.len() as Length);
                    numbers.iter().enumerate().for_each(|(i, &v)| *REAL(x).add(i) = v);
                    x
                }
            };
            SET_VECTOR_ELT(values, i as Length, value);
        }
        Rf_unprotect(2);
        out
    })
}
