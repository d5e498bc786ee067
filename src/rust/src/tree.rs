//! Nested lists: arguments of a jitted function are flattened to leaves with a signature, and results
//! rebuilt.
//!
//! Bare lists and objects of registered classes are inner nodes (`inner`); names are part of the structure, and the
//! class and the static part of an object; `NULL` is an empty one. The order of leaves is that of a walk
//! depth first. All walks of nested lists are here, with one limit for their depth.

use crate::axis_names;
use crate::distances;
use crate::factor;
use crate::ffi::*;
use crate::guard::{protected, Outcome, Scope};
use crate::info;
use crate::inner::{is_list, Inner};
use crate::path;
use crate::trace;
use crate::value::{self, Attributes, Tensor};
use crate::vector;
use anvil_core::dtype::{DType, Ranked};
use anvil_core::error::Error;
use anvil_core::shape::Shape;
use std::os::raw::c_int;

/// Depth of nested lists, at most, since walks are recursive.
pub const MAX_DEPTH: usize = 256;

/// The depth of the elements of a list at a depth.
///
/// # Errors
/// [`Error::Arg`] beyond [`MAX_DEPTH`]; `arg` names what is nested.
pub fn deeper(depth: usize, arg: &str) -> Result<usize, Error> {
    if depth < MAX_DEPTH {
        return Ok(depth + 1);
    }
    Err(Error::Arg {
        arg: arg.into(),
        expected: format!("lists nested at most {MAX_DEPTH} deep"),
        got: "deeper ones".into(),
        hint: "A flat list may have any number of elements.".into(),
    })
}

/// An argument that is data.
#[derive(Clone, Copy)]
pub enum Leaf {
    /// A tensor, and whether only the caller's variable refers to it.
    Tensor(Tensor, bool),
    /// An R number or array, with the dtype that stores it.
    Number(SEXP, DType),
}

impl Leaf {
    /// Adds the leaf's part of the signature: kind, dtype, ambiguity, shape.
    pub fn add_words(&self, words: &mut Vec<u64>) {
        match self {
            Leaf::Tensor(tensor, _) => {
                type_words(words, TENSOR, tensor.dtype, tensor.ambiguous, tensor.sizes());
            }
            Leaf::Number(x, dtype) => {
                vector::with_sizes(*x, |sizes| type_words(words, NUMBER, *dtype, false, sizes));
            }
        }
    }
}

/// Adds the words of a leaf's type.
#[inline]
fn type_words(words: &mut Vec<u64>, kind: u64, dtype: DType, ambiguous: bool, sizes: &[c_int]) {
    words.push(kind | (dtype as u64) << 8 | u64::from(ambiguous) << 16 | (sizes.len() as u64) << 32);
    words.extend(sizes.iter().map(|&d| d as u64));
}

/// The arguments of one call, flattened.
#[derive(Default)]
pub struct Flat {
    /// The signature, as words: structure, names, types, ambiguity, kinds of static arguments.
    pub words: Vec<u64>,
    /// The data, in order, but for abstract tensors.
    pub leaves: Vec<Leaf>,
    /// For each leaf, the argument that it belongs to.
    pub owners: Vec<usize>,
    /// Static arguments, and the static parts of objects, in order.
    pub statics: Vec<SEXP>,
    /// Names of the lists, whose strings are in the words.
    pub names: Vec<SEXP>,
    /// Whether a tracer is among the arguments.
    pub traced: bool,
    /// Whether abstract tensors are leaves, for a program that is not run yet.
    pub may_be_abstract: bool,
}

// First words of the parts of a signature.
const EMPTY: u64 = 0;
const LIST: u64 = 1;
const TENSOR: u64 = 2;
const NUMBER: u64 = 3;
const STATIC: u64 = 4;
const ABSENT: u64 = 5;
const TAG: u64 = 6;
const NAMES: u64 = 7;
const OBJECT: u64 = 8;
const ROWS: u64 = 9;
const NAMED_ROWS: u64 = 10;
const LEVELS: u64 = 11;
const DISTANCES: u64 = 12;

/// Whether a value stands for an argument that the caller left out.
pub fn is_absent(x: SEXP) -> bool {
    // SAFETY: a constant of R.
    x == unsafe { R_EmptyEnv }
}

impl Flat {
    /// No arguments yet, with room for those of most calls.
    pub fn new(may_be_abstract: bool) -> Flat {
        let (words, leaves, owners) =
            (Vec::with_capacity(128), Vec::with_capacity(24), Vec::with_capacity(24));
        Flat { words, leaves, owners, may_be_abstract, ..Flat::default() }
    }

    /// Adds an argument.
    ///
    /// # Errors
    /// [`Error::Arg`] for a leaf that is neither tensor nor number nor array; [`Error::Donated`]; those of
    /// [`Inner::of`].
    pub fn argument(&mut self, owner: usize, tag: SEXP, x: SEXP, fixed: bool, scope: &Scope) -> Outcome<()> {
        if tag != nil() {
            // Symbols are never collected: their address is their name.
            self.words.extend([TAG, tag as u64]);
        }
        if is_absent(x) {
            self.words.push(ABSENT);
        } else if fixed {
            self.words.extend([STATIC, kind(x) as u64]);
            self.statics.push(x);
        } else {
            // SAFETY: reads the header.
            let own = unsafe { anvil_is_argument_shared(x) } == 0;
            self.walk(owner, x, own, 0, scope)?;
        }
        Ok(())
    }

    fn walk(&mut self, owner: usize, x: SEXP, own: bool, depth: usize, scope: &Scope) -> Outcome<()> {
        if x == nil() {
            self.words.push(EMPTY);
            return Ok(());
        }
        if is_object(x) {
            let attributes = Attributes::of(x);
            if attributes.is_tensor(x) {
                self.leaf(owner, Leaf::Tensor(Tensor::with(x, &attributes)?, own));
                self.names_of_axes([attributes.dimnames, attributes.names]);
                return Ok(());
            }
        }
        if value::is_tracer(x) {
            self.traced = true;
        } else if is_list(x) {
            self.list(owner, x, own, depth, scope)?;
        } else if let Some(codes) = codes_of(x, scope)? {
            self.walk(owner, codes, false, depth, scope)?;
        } else if is_own_object(x) {
            self.object(owner, x, depth, scope)?;
        } else if depth > 0 && kind(x) == STRSXP {
            // Text among data is static, such as a column of names that nothing computes with.
            self.words.extend([STATIC, STRSXP as u64]);
            self.statics.push(x);
        } else {
            let (dtype, _) = argument(x)?;
            self.leaf(owner, Leaf::Number(x, dtype));
            // SAFETY: reads attributes that vectors and arrays have.
            self.names_of_axes(unsafe { [R_DimNamesSymbol, R_NamesSymbol] }.map(|name| attribute(x, name)));
            if let Some(levels) = factor::levels(x) {
                self.names.push(levels);
                let say_more = factor::say_more(levels);
                self.words.push(LEVELS | u64::from(say_more) << 8);
                self.names_along(levels);
                if say_more {
                    self.statics.push(levels);
                }
            }
            // How many rows there are follows from the number of distances.
            if let Some(labels) = distances::labels(x) {
                self.names.push(labels);
                self.words.push(DISTANCES);
                self.names_along(labels);
            }
        }
        Ok(())
    }

    fn list(&mut self, owner: usize, x: SEXP, own: bool, depth: usize, scope: &Scope) -> Outcome<()> {
        let depth = deeper(depth, "argument")?;
        self.words.push(LIST | (len(x) as u64) << 8);
        // SAFETY: reads an attribute.
        let names = attribute(x, unsafe { R_NamesSymbol });
        if names != nil() {
            self.names.push(names);
        }
        for i in 0..len(x) {
            if names != nil() {
                // SAFETY: as many names as elements. A string's address is its identity while it is
                // alive; those of a cached program are kept alive with it.
                self.words.push(unsafe { STRING_ELT(names, i as Length) } as u64);
            }
            let child = element(x, i);
            // SAFETY: reads the header.
            let own = own && unsafe { anvil_is_shared(child) } == 0;
            self.walk(owner, child, own, depth, scope)?;
        }
        Ok(())
    }

    fn object(&mut self, owner: usize, x: SEXP, depth: usize, scope: &Scope) -> Outcome<()> {
        if self.may_be_abstract {
            if let Some(aval) = info::abstract_aval(x)? {
                let Ranked { dtype, ambiguous } = aval.ranked();
                // Sizes of values of R are integers of R.
                let sizes: Vec<c_int> = aval.shape.iter().map(|&size| size as c_int).collect();
                type_words(&mut self.words, TENSOR, dtype, ambiguous, &sizes);
                self.owners.push(owner);
                return Ok(());
            }
        }
        let Some(node) = Inner::of(x, scope)? else {
            let Err(Error::Arg { arg, expected, got, .. }) = argument(x) else {
                return Err(Error::Internal { detail: "an object that is a number".into() }.into());
            };
            let hint = match path::advice(x) {
                advice if advice.is_empty() => {
                    "Name the argument in `static = ` if it is not data, or register \
                    the class with `register_tree_class()` if data are in it."
                        .to_string()
                }
                advice => format!("{advice} Name the argument in `static = ` if it is not data."),
            };
            return Err(Error::Arg { arg, expected, got, hint }.into());
        };
        if node.is_object() {
            self.words.push(OBJECT);
            self.statics.push(node.kind);
        }
        if kind(node.rows) == STRSXP {
            self.names.push(node.rows);
            self.words.push(NAMED_ROWS);
            self.names_along(node.rows);
        } else if node.rows != nil() {
            self.words.extend(ints(node.rows).iter().map(|&n| ROWS | (n as u64) << 8));
        }
        // The object refers to its children, and so does the list of them.
        self.list(owner, node.items, false, depth, scope)
    }

    /// Adds the names of an argument's axes to the signature: its `dimnames` or its `names`.
    fn names_of_axes(&mut self, either: [SEXP; 2]) {
        for names in either {
            if names == nil() {
                continue;
            }
            self.names.push(names);
            let lists = if kind(names) == VECSXP { len(names) } else { 1 };
            self.words.push(NAMES | (lists as u64) << 8);
            for i in 0..lists {
                self.names_along(if kind(names) == VECSXP { element(names, i) } else { names });
            }
            self.names_along(axis_names::labels(names));
            // The names of a vector of one axis are those of the axis.
            return;
        }
    }

    /// Adds the names along one axis, of the axes or of rows, if there are any. Something in `names` keeps them alive.
    fn names_along(&mut self, names: SEXP) {
        let count = if kind(names) == STRSXP { len(names) } else { 0 };
        self.words.push(count as u64);
        // SAFETY: index in range. As for the names of lists.
        self.words.extend((0..count).map(|i| unsafe { STRING_ELT(names, i as Length) } as u64));
    }

    fn leaf(&mut self, owner: usize, leaf: Leaf) {
        leaf.add_words(&mut self.words);
        self.leaves.push(leaf);
        self.owners.push(owner);
    }
}

/// The codes of a factor of R's, which know its levels, as those of a data frame's columns; `None` of anything else.
fn codes_of(x: SEXP, scope: &Scope) -> Outcome<Option<SEXP>> {
    if !is_object(x) || kind(x) != INTSXP || !inherits(x, c"factor") {
        return Ok(None);
    }
    // SAFETY: inside `protected`; the function gives a bare vector.
    let codes = protected(|| unsafe { anvil_call_r(c"data_as_argument".as_ptr(), x) })?;
    Ok(Some(scope.keep(codes)))
}

/// Type and shape of a leaf that is not a tensor.
fn argument(x: SEXP) -> Result<(DType, Shape), Error> {
    trace::number_argument(x).map_err(of_argument)
}

/// An error about an operand, as one about an argument.
pub fn of_argument(error: Error) -> Error {
    match error {
        Error::Arg { got, hint, .. } => {
            let advice = "Name the argument in `static = ` if it is not data.";
            let hint = if hint.is_empty() { advice.into() } else { hint };
            Error::Arg {
                arg: "argument".into(),
                expected: "a tensor, an R number, logical or array, or a list of these".into(),
                got,
                hint,
            }
        }
        other => other,
    }
}

/// The arguments with every leaf replaced by a tracer of a new input; statics and absent ones stay as they
/// are.
pub fn inputs(trace: &trace::Trace, handle: SEXP, x: SEXP, depth: usize, scope: &Scope) -> Outcome {
    if x == nil() {
        return Ok(x);
    }
    if value::is_tracer(x) && !trace.is_nested() {
        trace::check_open(x)?;
        return Err(Error::arg("args", "tensors, abstract tensors or R numbers", "a tracer").into());
    }
    if value::is_tracer(x) {
        // A tracer of the outer trace.
        let (_, aval, _) = trace::own_value(x)?;
        return named(trace::input(trace, handle, aval, scope)?, x, scope);
    }
    if value::is_tensor(x) {
        return named(trace::input(trace, handle, Tensor::read(x)?.aval(), scope)?, x, scope);
    }
    if let Some(aval) = crate::info::abstract_aval(x)? {
        return trace::input(trace, handle, aval, scope);
    }
    if let Some(codes) = codes_of(x, scope)? {
        return inputs(trace, handle, codes, depth, scope);
    }
    if let Some(node) = Inner::of(x, scope)? {
        let depth = deeper(depth, "argument")?;
        let out = node.copy(scope)?;
        for i in 0..len(out) {
            let child = inputs(trace, handle, element(out, i), depth, scope)?;
            // SAFETY: index in range; `out` is a list that this call made.
            unsafe { SET_VECTOR_ELT(out, i as Length, child) };
        }
        return node.framed(node.with_checked(out, scope)?, scope);
    }
    if kind(x) == STRSXP {
        return Ok(x);
    }
    let (dtype, shape) = argument(x)?;
    named(trace::number(trace, handle, dtype, shape, scope)?, x, scope)
}

/// A tracer with the names of an argument's axes, the levels of a factor, and what distances know.
fn named(tracer: SEXP, x: SEXP, scope: &Scope) -> Outcome {
    axis_names::set(tracer, axis_names::of(x, scope)?)?;
    factor::keep_levels(tracer, x)?;
    distances::keep(tracer, x)?;
    Ok(tracer)
}

/// Whether a value is text, or a factor of R's. A traced factor is a number.
fn is_text(x: SEXP) -> bool {
    kind(x) == STRSXP && !is_object(x) || kind(x) == INTSXP && inherits(x, c"factor")
}

/// The structure of a result.
pub enum Out {
    /// Output number `.0`, with the names that a traced function gave it, or `NULL`; otherwise as it is made.
    Leaf(usize, Option<SEXP>),
    /// A list with these elements; its names, or `NULL`, are kept alive by the program.
    List(Vec<Out>, SEXP),
    /// An object, whose elements are a list of its own, kept alive by the program as its kind is.
    Object(Box<Out>, Inner),
    /// Text, or a factor of R's, which the program keeps alive: the same for each call.
    Text(SEXP),
    /// `NULL`.
    Null,
}

impl Out {
    /// A list of so many outputs.
    pub fn flat(count: usize) -> Out {
        Out::List((0..count).map(|i| Out::Leaf(i, None)).collect(), nil())
    }

    /// The structure of what a traced function returned; its leaves are passed to `leaf` in order. `text` says
    /// whether lists may hold text, which is part of the structure.
    ///
    /// # Errors
    /// Those of `leaf` and of [`Inner::of`]; [`Error::Arg`] for lists nested too deep.
    pub fn new(
        x: SEXP,
        text: bool,
        leaf: &mut dyn FnMut(SEXP) -> Outcome<()>,
        scope: &Scope,
    ) -> Outcome<Out> {
        Out::at(x, text, 0, &mut 0, leaf, scope)
    }

    fn at(
        x: SEXP,
        text: bool,
        depth: usize,
        count: &mut usize,
        leaf: &mut dyn FnMut(SEXP) -> Outcome<()>,
        scope: &Scope,
    ) -> Outcome<Out> {
        if x == nil() {
            return Ok(Out::Null);
        }
        let Some(node) = Inner::of(x, scope)? else {
            if text && depth > 0 && is_text(x) {
                return Ok(Out::Text(x));
            }
            leaf(x)?;
            *count += 1;
            return Ok(Out::Leaf(*count - 1, Some(axis_names::of(x, scope)?)));
        };
        let depth = deeper(depth, "the result of the function")?;
        let items = node.items;
        let mut child = |i| Out::at(element(items, i), text, depth, count, leaf, scope);
        let children = (0..len(items)).map(&mut child).collect::<Outcome<Vec<_>>>()?;
        // The names of a data frame are its own, which the program keeps alive.
        let named = if node.is_object() { items } else { x };
        // SAFETY: reads an attribute.
        let list = Out::List(children, attribute(named, unsafe { R_NamesSymbol }));
        if !node.is_object() {
            return Ok(list);
        }
        node.with_checked(node.copy(scope)?, scope)?;
        Ok(Out::Object(Box::new(list), node))
    }

    /// The objects and names in it, for the program to keep alive: `NULL`, or a list.
    pub fn kept(&self, scope: &Scope) -> Outcome {
        fn collect(out: &Out, kept: &mut Vec<SEXP>) {
            match out {
                Out::Leaf(_, names) => kept.extend(names.filter(|&names| names != nil())),
                Out::Text(x) => kept.push(*x),
                Out::Null => (),
                Out::List(children, _) => children.iter().for_each(|child| collect(child, kept)),
                Out::Object(list, node) => {
                    kept.extend([node.items, node.kind]);
                    collect(list, kept);
                }
            }
        }
        let mut kept = Vec::new();
        collect(self, &mut kept);
        if kept.is_empty() {
            return Ok(nil());
        }
        list_of(&kept, scope)
    }

    /// Whether it has objects, which [`objects`](Out::objects) makes.
    pub fn has_objects(&self) -> bool {
        match self {
            Out::Leaf(..) | Out::Text(_) | Out::Null => false,
            Out::List(children, _) => children.iter().any(Out::has_objects),
            Out::Object(..) => true,
        }
    }

    /// What [`build`](Out::build) has made, with objects in place of the lists of their elements, once the
    /// elements have been computed.
    ///
    /// # Errors
    /// Those of [`Inner::with`].
    pub fn objects(&self, x: SEXP, scope: &Scope) -> Outcome {
        match self {
            Out::Leaf(..) | Out::Text(_) | Out::Null => Ok(x),
            Out::List(children, _) => {
                for (i, child) in children.iter().enumerate().filter(|(_, child)| child.has_objects()) {
                    let made = child.objects(element(x, i), scope)?;
                    // SAFETY: index in range; `build` has made the list.
                    unsafe { SET_VECTOR_ELT(x, i as Length, made) };
                }
                Ok(x)
            }
            Out::Object(list, node) => node.with(list.objects(x, scope)?, scope),
        }
    }

    /// Makes the R object, with `leaf(i, names)` in place of output `i`, and lists in place of objects.
    ///
    /// # Safety
    /// May jump: only inside [`protected`]. The caller protects the result, and the leaves.
    pub unsafe fn build(&self, leaf: &dyn Fn(usize, Option<SEXP>) -> SEXP) -> SEXP {
        match self {
            Out::Leaf(i, names) => leaf(*i, *names),
            Out::Text(x) => *x,
            Out::Null => nil(),
            // SAFETY: by the caller.
            Out::Object(list, _) => unsafe { list.build(leaf) },
            // SAFETY: by the caller; the list is protected while its elements are made.
            Out::List(children, names) => unsafe {
                let list = Rf_protect(Rf_allocVector(VECSXP, children.len() as Length));
                for (i, child) in children.iter().enumerate() {
                    SET_VECTOR_ELT(list, i as Length, child.build(leaf));
                }
                if *names != nil() {
                    Rf_setAttrib(list, R_NamesSymbol, *names);
                }
                Rf_unprotect(1);
                list
            },
        }
    }
}

/// A list of R.
pub fn list_of(items: &[SEXP], scope: &Scope) -> Outcome {
    // SAFETY: inside `protected`; the items are kept alive by the scope or an argument.
    let out = protected(|| unsafe {
        let list = Rf_allocVector(VECSXP, items.len() as Length);
        for (i, &x) in items.iter().enumerate() {
            SET_VECTOR_ELT(list, i as Length, x);
        }
        list
    })?;
    Ok(scope.keep(out))
}
