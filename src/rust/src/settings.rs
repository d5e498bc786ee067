//! What is in force where an op is called or traced: the rules of promotion, and the default dtypes of R data.
//! Each is decided by, in this order: the innermost function that chose it, for code that it calls (an
//! [extent](crate::extent): `with_promotion_rules()`, `with_default_dtypes()`, a jitted function with rules of
//! its own) or for the rest of itself (`local_promotion_rules()`, `local_default_dtypes()`); R's option;
//! anvil's default. Whether programs are rewritten is an option alone.
//!
//! A function is identified by the number of its frame on R's stack, which grows inwards. What it chose for
//! the rest of itself holds as long as its frame is on the stack, which is checked whenever it is looked up.
//! `on.exit()` releases the frame earlier, but it can be interrupted, or replaced by the user's own.

use crate::ffi::*;
use crate::guard::{protected, Exit, Outcome};
use crate::options;
use crate::value;
use anvil_core::apply::Defaults;
use anvil_core::dtype::promote::{self, Rules};
use anvil_core::dtype::DType;
use anvil_core::error::{Error, Result};
use std::cell::RefCell;

/// What is in force.
#[derive(Clone, Copy)]
pub struct Settings {
    /// The rules of promotion.
    pub rules: &'static Rules,
    /// The default dtypes.
    pub defaults: Defaults,
    /// Whether formulas in traced programs become functions that are more accurate, and transforms those of half of the
    /// numbers.
    pub rewrite: bool,
}

impl Settings {
    /// As a word of a signature.
    pub fn word(&self) -> u64 {
        // Rules are aligned, to four bytes at least, and addresses leave the highest bit free: so three are.
        let flags = [self.defaults.float == DType::F64, self.defaults.int == DType::I64, self.rewrite];
        let flags = flags.iter().fold(0, |word, &flag| word << 1 | u64::from(flag));
        (std::ptr::from_ref(self.rules) as u64) << 1 | flags
    }
}

/// Number of settings that functions choose.
const CHOSEN: usize = 3;

/// What was chosen, of each of these.
#[derive(Clone, Copy, Default)]
struct Chosen {
    rules: Option<&'static Rules>,
    float: Option<DType>,
    int: Option<DType>,
}

impl Chosen {
    /// What was chosen, and for the rest what `outer` is.
    fn or(self, outer: Chosen) -> Chosen {
        Chosen {
            rules: self.rules.or(outer.rules),
            float: self.float.or(outer.float),
            int: self.int.or(outer.int),
        }
    }

    fn is_whole(&self) -> bool {
        self.rules.is_some() && self.float.is_some() && self.int.is_some()
    }

    /// From R: `list(rules, float, int)`, each a string, or `NULL` for what is not chosen.
    fn of(x: SEXP) -> Outcome<Chosen> {
        if kind(x) != VECSXP || len(x) != CHOSEN {
            return Err(Exit::Error(Error::Internal { detail: "no list of settings".into() }));
        }
        let [rules, float, int] = [0, 1, 2].map(|i| element(x, i));
        Ok(Chosen {
            rules: given(rules).map(named).transpose()?,
            float: given(float).map(|x| default_float(x, "float")).transpose()?,
            int: given(int).map(|x| default_int(x, "int")).transpose()?,
        })
    }

    /// What was chosen, and for the rest what R's options say.
    fn or_options(self, [rules, float, int]: [SEXP; CHOSEN]) -> Result<Chosen> {
        let name = |at| options::shown(at);
        let [rules, float, int] = [rules, float, int].map(given);
        let rules = match self.rules {
            None => rules.map(|x| named(x).map_err(|e| e.for_argument(&name(0)))).transpose()?,
            known => known,
        };
        let float = match self.float {
            None => {
                float.map(|x| default_float(x, "float").map_err(|e| e.for_argument(&name(1)))).transpose()?
            }
            known => known,
        };
        let int = match self.int {
            None => int.map(|x| default_int(x, "int").map_err(|e| e.for_argument(&name(2)))).transpose()?,
            known => known,
        };
        Ok(Chosen { rules, float, int })
    }
}

fn given(x: SEXP) -> Option<SEXP> {
    (x != nil()).then_some(x)
}

/// The option `anvil.rewrite`.
fn whether(x: SEXP) -> Result<bool> {
    match ints(x) {
        &[flag @ (0 | 1)] if kind(x) == LGLSXP => Ok(flag == 1),
        _ => {
            Err(Error::arg("rewrite", "TRUE or FALSE", value::describe(x))
                .for_argument(&options::shown(CHOSEN)))
        }
    }
}

fn default_float(x: SEXP, arg: &str) -> Result<DType> {
    one_of(
        x,
        arg,
        [DType::F32, DType::F64],
        "Other dtypes are chosen where a tensor is made: `nv_tensor(x, \"bf16\")`.",
    )
}

fn default_int(x: SEXP, arg: &str) -> Result<DType> {
    one_of(x, arg, [DType::I32, DType::I64], "R's integers have 32 bits, which other dtypes do not hold.")
}

fn one_of(x: SEXP, arg: &str, all: [DType; 2], hint: &str) -> Result<DType> {
    match crate::info::dtype_argument(x) {
        Ok(dtype) if all.contains(&dtype) => Ok(dtype),
        _ => Err(Error::Arg {
            arg: arg.into(),
            expected: format!("\"{}\" or \"{}\"", all[0], all[1]),
            got: string(x).map_or_else(|| value::describe(x), |name| format!("\"{name}\"")),
            hint: hint.into(),
        }),
    }
}

/// What a function chose.
#[derive(Clone, Copy)]
struct Choice {
    /// Number of the function's frame.
    number: i32,
    chosen: Chosen,
    /// A preserved list whose element is the frame; R's `NULL` for an extent.
    holder: SEXP,
}

thread_local! {
    /// Choices of the open extents, outermost first.
    static EXTENTS: RefCell<Vec<Choice>> = const { RefCell::new(Vec::new()) };
    /// Choices for the rest of functions, by the numbers of their frames. Functions that have ended may be
    /// among them.
    static FRAMES: RefCell<Vec<Choice>> = const { RefCell::new(Vec::new()) };
}

/// What is in force. May call R.
///
/// # Errors
/// [`Error::Arg`] if an option has a value that it cannot have; an interrupt.
pub fn current() -> Outcome<Settings> {
    let mut chosen = chosen_by_functions()?;
    let [rules, float, int, rewrite] = options::values();
    if !chosen.is_whole() {
        chosen = chosen.or_options([rules, float, int])?;
    }
    let usual = Defaults::default();
    Ok(Settings {
        rules: chosen.rules.unwrap_or_else(promote::rules),
        defaults: Defaults {
            float: chosen.float.unwrap_or(usual.float),
            int: chosen.int.unwrap_or(usual.int),
        },
        rewrite: given(rewrite).map_or(Ok(true), whether)?,
    })
}

/// What functions chose, the innermost first.
fn chosen_by_functions() -> Outcome<Chosen> {
    let mut chosen = Chosen::default();
    let mut extents = EXTENTS.with_borrow(Vec::len);
    let mut frames = FRAMES.with_borrow(Vec::len);
    while !chosen.is_whole() {
        let extent = extents.checked_sub(1).map(|at| EXTENTS.with_borrow(|all| all[at]));
        let frame = frames.checked_sub(1).and_then(|at| FRAMES.with_borrow(|all| all.get(at).copied()));
        match (extent, frame) {
            (None, None) => break,
            // An expression within a function is further inside.
            (Some(extent), frame) if frame.is_none_or(|frame| extent.number > frame.number) => {
                chosen = chosen.or(extent.chosen);
                extents -= 1;
            }
            (_, Some(frame)) => {
                if is_on_the_stack(&frame)? {
                    chosen = chosen.or(frame.chosen);
                } else {
                    forget_from(frame.number);
                }
                frames = FRAMES.with_borrow(Vec::len).min(frames - 1);
            }
            (Some(_), None) => unreachable!("the arm before takes it"),
        }
    }
    Ok(chosen)
}

/// Rules from an R value: their name, or `NULL` for those in force.
///
/// # Errors
/// [`Error::Arg`] for anything else.
pub fn rules_argument(x: SEXP) -> Outcome<&'static Rules> {
    if x == nil() {
        current().map(|settings| settings.rules)
    } else {
        Ok(named(x)?)
    }
}

fn named(x: SEXP) -> Result<&'static Rules> {
    // The usual name, by the identity of R's string.
    if options::names_own_rules(x) {
        return Ok(promote::rules());
    }
    match string(x) {
        Some(name) => promote::by_name(&name),
        None => Err(promote::unknown_rules(&value::describe(x))),
    }
}

/// Opens settings as an extent, of the function with this frame. They are `list(rules, float, int)`, each a
/// string, or `NULL` for what stays as it is.
///
/// # Errors
/// [`Error::Arg`] for a value that a setting cannot have.
pub fn open(settings: SEXP, number: SEXP) -> Outcome {
    let choice = Choice { number: frame_number(number)?, chosen: Chosen::of(settings)?, holder: nil() };
    EXTENTS.with_borrow_mut(|all| all.push(choice));
    Ok(nil())
}

/// Number of open extents.
pub fn depth() -> usize {
    EXTENTS.with_borrow(Vec::len)
}

/// Closes the extents that were opened since there were `depth`.
pub fn close_to(depth: usize) {
    EXTENTS.with_borrow_mut(|all| all.truncate(depth));
}

/// Chooses settings for the rest of the function whose frame has this number on the stack, in place of the
/// same ones that it chose before. They are as for [`open`].
///
/// # Errors
/// As for [`open`].
pub fn choose(settings: SEXP, number: SEXP, frame: SEXP) -> Outcome {
    let (number, mut chosen) = (frame_number(number)?, Chosen::of(settings)?);
    // What the function chose before and does not choose now stays.
    let before = FRAMES.with_borrow(|all| all.iter().find(|choice| choice.number == number).copied());
    if let Some(before) = before {
        if is_on_the_stack(&before)? {
            chosen = chosen.or(before.chosen);
        }
    }
    // SAFETY: inside `protected`. The list is kept beyond the call; it is given back by `forget_from`.
    let holder = protected(|| unsafe {
        let holder = Rf_protect(Rf_allocVector(VECSXP, 1));
        SET_VECTOR_ELT(holder, 0, frame);
        R_PreserveObject(holder);
        Rf_unprotect(1);
        holder
    })?;
    // Frames inside of this one have their own choices after it, as long as they are on the stack.
    let known = FRAMES.with_borrow(|all| all.iter().position(|choice| choice.number >= number));
    let choice = Choice { number, chosen, holder };
    let replaced = FRAMES.with_borrow_mut(|all| match known {
        Some(at) if all[at].number == number => Some(std::mem::replace(&mut all[at], choice)),
        at => {
            all.insert(at.unwrap_or(all.len()), choice);
            None
        }
    });
    replaced.iter().for_each(give_back);
    Ok(nil())
}

/// Forgets what the function whose frame had this number chose, and those inside of it: it has ended.
pub fn forget(number: SEXP) -> SEXP {
    if let Ok(number) = frame_number(number) {
        forget_from(number);
    }
    nil()
}

fn forget_from(number: i32) {
    let ended = FRAMES.with_borrow_mut(|all| {
        let first = all.iter().position(|choice| choice.number >= number).unwrap_or(all.len());
        all.split_off(first)
    });
    ended.iter().for_each(give_back);
}

/// Releases a frame, since R counts references to it and its variables.
fn give_back(choice: &Choice) {
    // SAFETY: made and preserved by `choose`, and given back once. Neither call allocates or jumps.
    unsafe {
        SET_VECTOR_ELT(choice.holder, 0, nil());
        R_ReleaseObject(choice.holder);
    }
}

fn is_on_the_stack(choice: &Choice) -> Outcome<bool> {
    // SAFETY: inside `protected`; the number is protected by the call that it becomes a part of.
    let found = protected(|| unsafe {
        let number = Rf_allocVector(INTSXP, 1);
        *INTEGER(number) = choice.number;
        anvil_call_r(c"frame_of_number".as_ptr(), number)
    })?;
    Ok(found == element(choice.holder, 0))
}

fn frame_number(x: SEXP) -> Outcome<i32> {
    let is_number = kind(x) == INTSXP && len(x) == 1;
    is_number
        .then(|| ints(x)[0])
        .ok_or_else(|| Exit::Error(Error::Internal { detail: "no number of a frame".into() }))
}
