//! Static parameters of a call, as the user wrote them: axes count from 1, and nothing is checked before a
//! family decodes them into its payload. The texts of parameters, as R would print them, are made here too.

use super::{Region, Site};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::shape::{join, Axis, Shape};
use crate::tensor::Literal;
use std::borrow::Cow;

/// A static parameter, not yet checked.
#[derive(Clone, PartialEq, Debug)]
pub enum Attr {
    /// R's `NULL`: left out.
    Null,
    /// One `TRUE` or `FALSE`.
    Logical(bool),
    /// Numbers, whole or not, `NA` as NaN.
    Numbers(Vec<f64>),
    /// One string.
    Text(String),
    /// One element, and its default dtype if it is ambiguous.
    Literal(Literal, Option<DType>),
    /// A list of parameters.
    List(Vec<Attr>),
    /// A function, as the graph that it was traced to.
    Graph(Region),
    /// Anything else, by its description.
    Other(String),
}

impl Attr {
    /// The parameter as an error shows it.
    pub fn describe(&self) -> String {
        match self {
            Attr::Null => "NULL".into(),
            Attr::Logical(x) => logical(*x),
            Attr::Numbers(x) if x.len() <= 8 => match x.as_slice() {
                [] => "an empty vector".into(),
                [one] => number(*one),
                many => format!("c({})", join(&many.iter().map(|&v| number(v)).collect::<Vec<_>>(), ", ")),
            },
            Attr::Numbers(x) => format!("a vector of length {}", x.len()),
            Attr::Text(x) => format!("{x:?}"),
            Attr::Literal(..) => "a tensor".into(),
            Attr::List(_) => "a list".into(),
            Attr::Graph(_) => "a graph".into(),
            Attr::Other(what) => what.clone(),
        }
    }
}

/// A number as R would write it.
pub fn number(x: f64) -> String {
    match x {
        _ if x.is_nan() => "NA".into(),
        _ if x.is_infinite() => if x > 0.0 { "Inf" } else { "-Inf" }.into(),
        _ if x.abs() >= 1e15 => format!("{x:e}"),
        _ => x.to_string(),
    }
}

/// The parameters of one call, by name, and where it is.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Attrs(Vec<(String, Attr)>, Site);

impl Attrs {
    /// No parameters.
    pub fn new() -> Attrs {
        Attrs::default()
    }

    /// Adds one.
    pub fn with(mut self, name: &str, attr: Attr) -> Attrs {
        self.0.push((name.to_string(), attr));
        self
    }

    /// The parameters of a call at this site.
    pub fn at(mut self, site: Site) -> Attrs {
        self.1 = site;
        self
    }

    /// Where the call is.
    pub fn site(&self) -> &Site {
        &self.1
    }

    /// The parameter of that name; [`Attr::Null`] if there is none.
    pub fn get(&self, name: &str) -> &Attr {
        self.0.iter().find(|(n, _)| n == name).map_or(&Attr::Null, |(_, attr)| attr)
    }

    /// The parameters with `change` applied to each graph among them.
    ///
    /// # Errors
    /// Those of `change`.
    pub fn with_graphs(&self, change: impl Fn(&Region) -> Result<Region>) -> Result<Cow<'_, Attrs>> {
        if !self.0.iter().any(|(_, attr)| matches!(attr, Attr::Graph(_))) {
            return Ok(Cow::Borrowed(self));
        }
        let changed = self.0.iter().map(|(name, attr)| {
            let attr = if let Attr::Graph(graph) = attr { Attr::Graph(change(graph)?) } else { attr.clone() };
            Ok((name.clone(), attr))
        });
        changed.collect::<Result<_>>().map(|all| Cow::Owned(Attrs(all, self.1.clone())))
    }

    fn wrong<T>(&self, name: &str, expected: &str) -> Result<T> {
        Err(Error::arg(name, expected, self.get(name).describe()))
    }

    /// A flag.
    ///
    /// # Errors
    /// [`Error::Arg`] unless it is one `TRUE` or `FALSE`.
    pub fn flag(&self, name: &str) -> Result<bool> {
        match self.get(name) {
            Attr::Logical(x) => Ok(*x),
            _ => self.wrong(name, "TRUE or FALSE"),
        }
    }

    /// A list of flags, so many.
    ///
    /// # Errors
    /// [`Error::Arg`] for anything else.
    pub fn flags(&self, name: &str, count: usize) -> Result<Vec<bool>> {
        let flag = |attr: &Attr| if let Attr::Logical(x) = attr { Some(*x) } else { None };
        let flags: Option<Vec<bool>> = match self.get(name) {
            Attr::List(all) => all.iter().map(flag).collect(),
            _ => None,
        };
        match flags.filter(|all| all.len() == count) {
            Some(flags) => Ok(flags),
            None => self.wrong(name, &format!("a list of {count} flags")),
        }
    }

    /// A string.
    ///
    /// # Errors
    /// [`Error::Arg`] for anything else.
    pub fn text(&self, name: &str) -> Result<String> {
        match self.get(name) {
            Attr::Text(text) => Ok(text.clone()),
            _ => self.wrong(name, "a string"),
        }
    }

    /// One of these strings.
    ///
    /// # Errors
    /// [`Error::Arg`] unless it is one of `choices`.
    pub fn choice(&self, name: &str, choices: &[&'static str]) -> Result<&'static str> {
        if let Attr::Text(text) = self.get(name) {
            if let Some(choice) = choices.iter().find(|c| *c == text) {
                return Ok(choice);
            }
        }
        let quoted: Vec<String> = choices.iter().map(|c| format!("{c:?}")).collect();
        self.wrong(name, &quoted.join(" or "))
    }

    /// A dtype, by name.
    ///
    /// # Errors
    /// [`Error::UnknownDtype`]; [`Error::Arg`] if it is not a string.
    pub fn dtype(&self, name: &str) -> Result<DType> {
        match self.get(name) {
            Attr::Text(text) => DType::parse(text),
            _ => self.wrong(name, "a dtype"),
        }
    }

    /// A literal, and its default dtype if it is ambiguous.
    ///
    /// # Errors
    /// [`Error::Arg`] if it is none.
    pub fn literal(&self, name: &str) -> Result<(Literal, Option<DType>)> {
        match self.get(name) {
            Attr::Literal(x, ambiguous) => Ok((*x, *ambiguous)),
            _ => self.wrong(name, "one number or logical"),
        }
    }

    /// Whole numbers.
    ///
    /// # Errors
    /// [`Error::Arg`] if one is not whole, or missing, or beyond 2^53.
    pub fn integers(&self, name: &str) -> Result<Vec<i64>> {
        integers(self.get(name)).map_or_else(|| self.wrong(name, "whole numbers"), Ok)
    }

    /// Whole numbers of at least `least`.
    ///
    /// # Errors
    /// As [`Attrs::integers`], and if one is less.
    pub fn whole(&self, name: &str, least: i64) -> Result<Vec<usize>> {
        let numbers = self.integers(name)?;
        match numbers.iter().find(|&&n| n < least) {
            None => Ok(numbers.into_iter().map(|n| n as usize).collect()),
            Some(n) => Err(Error::arg(name, format!("whole numbers, each at least {least}"), n.to_string())),
        }
    }

    /// One whole number.
    ///
    /// # Errors
    /// As [`Attrs::integers`], and if there is not exactly one.
    pub fn integer(&self, name: &str) -> Result<i64> {
        match self.integers(name)?.as_slice() {
            [one] => Ok(*one),
            _ => self.wrong(name, "one whole number"),
        }
    }

    /// One finite number, 0 or larger.
    ///
    /// # Errors
    /// [`Error::Arg`] for anything else.
    pub fn size(&self, name: &str) -> Result<f64> {
        match self.get(name) {
            Attr::Numbers(x) if x.len() == 1 && x[0].is_finite() && x[0] >= 0.0 => Ok(x[0]),
            _ => self.wrong(name, "one finite number, at least 0"),
        }
    }

    /// Sizes of axes.
    ///
    /// # Errors
    /// [`Error::Arg`] if one is negative or not whole; [`Error::TooLarge`].
    pub fn shape(&self, name: &str) -> Result<Shape> {
        let sizes = if *self.get(name) == Attr::Null { Some(vec![]) } else { integers(self.get(name)) };
        let sizes: Option<Vec<usize>> =
            sizes.and_then(|sizes| sizes.iter().map(|&d| usize::try_from(d).ok()).collect());
        match sizes {
            Some(sizes) => Shape::try_new(sizes),
            None => self.wrong(name, "a shape: whole numbers, each at least 0"),
        }
    }

    /// The shape that a value of `size` elements is given: as [`Attrs::shape`], and one size may be -1, which
    /// follows from the others.
    ///
    /// # Errors
    /// [`Error::Arg`] for several -1, and for one that no whole number, or more than one, could replace;
    /// those of [`Attrs::shape`].
    pub fn shape_of(&self, name: &str, size: usize) -> Result<Shape> {
        let Some(mut sizes) = integers(self.get(name)).filter(|sizes| sizes.contains(&-1)) else {
            return self.shape(name);
        };
        let expected =
            "a shape: whole numbers, each at least 0, but for one -1, which follows from the others";
        let mut inferred = (0..sizes.len()).filter(|&i| sizes[i] == -1);
        let (at, None) = (inferred.next().unwrap_or_default(), inferred.next()) else {
            return self.wrong(name, expected);
        };
        sizes[at] = 1;
        let known: Option<Vec<usize>> = sizes.iter().map(|&d| usize::try_from(d).ok()).collect();
        let Some(mut known) = known else { return self.wrong(name, expected) };
        let others = Shape::try_new(known.clone())?.size();
        match size.checked_div(others) {
            Some(rest) if rest * others == size => {
                known[at] = rest;
                Shape::try_new(known)
            }
            _ => {
                let hint = format!("There are {size} elements, and the other sizes make {others}.");
                let expected = "a shape in which -1 stands for a whole number".into();
                Err(Error::Arg { arg: name.into(), expected, got: self.get(name).describe(), hint })
            }
        }
    }

    /// Distinct axes of a value of this shape, in the order given; negative numbers count from the end.
    /// `None` if the parameter is `NULL`.
    ///
    /// # Errors
    /// [`Error::AxisOutOfRange`], [`Error::DuplicateAxis`], and those of [`Attrs::integers`].
    pub fn axes(&self, name: &str, op: &str, shape: &Shape) -> Result<Option<Vec<Axis>>> {
        if *self.get(name) == Attr::Null {
            return Ok(None);
        }
        distinct_axes(&self.integers(name)?, op, shape).map(Some)
    }

    /// Axes of a value of so many, in the order given, which may be more than it has: whoever knows the value
    /// checks that. Negative ones count from the end.
    ///
    /// # Errors
    /// [`Error::Arg`] for 0 and for negative numbers beyond the first axis; those of [`Attrs::integers`].
    pub fn axes_among(&self, name: &str, rank: usize) -> Result<Vec<Axis>> {
        let axis = |n: i64| match n {
            1.. => Ok(Axis(n as usize - 1)),
            _ => Axis::of_rank(n, rank).ok_or_else(|| {
                let expected = format!("whole numbers, each at least 1, or from -{rank} to -1");
                Error::arg(name, expected, n.to_string())
            }),
        };
        self.integers(name)?.into_iter().map(axis).collect()
    }

    /// A list of two sets of axes, one for each of two operands.
    ///
    /// # Errors
    /// [`Error::Arg`] unless it is such a list; those of [`Attrs::axes`].
    pub fn axes_pair(&self, name: &str, op: &str, shapes: [&Shape; 2]) -> Result<[Vec<Axis>; 2]> {
        let expected = "a list of two vectors of axes";
        match self.get(name) {
            Attr::Null => Ok([vec![], vec![]]),
            Attr::List(both) => match both.as_slice() {
                [l, r] => match (integers(l), integers(r)) {
                    (Some(l), Some(r)) => {
                        Ok([distinct_axes(&l, op, shapes[0])?, distinct_axes(&r, op, shapes[1])?])
                    }
                    _ => self.wrong(name, expected),
                },
                _ => self.wrong(name, expected),
            },
            _ => self.wrong(name, expected),
        }
    }
}

fn integers(attr: &Attr) -> Option<Vec<i64>> {
    let whole = |x: &f64| (x.fract() == 0.0 && x.abs() <= (1i64 << 53) as f64).then_some(*x as i64);
    match attr {
        Attr::Numbers(x) => x.iter().map(whole).collect(),
        Attr::Null => Some(vec![]),
        _ => None,
    }
}

fn distinct_axes(numbers: &[i64], op: &str, shape: &Shape) -> Result<Vec<Axis>> {
    let mut axes = Vec::with_capacity(numbers.len());
    for &n in numbers {
        let axis = Axis::from_one_based(op, n, shape)?;
        if axes.contains(&axis) {
            return Err(Error::DuplicateAxis { op: op.into(), axis });
        }
        axes.push(axis);
    }
    Ok(axes)
}

// ---- on the way out ------------------------------------------------------------------------------------------------

/// `TRUE` or `FALSE`.
pub fn logical(x: bool) -> String {
    if x {
        "TRUE".into()
    } else {
        "FALSE".into()
    }
}

/// `2`, `c(2, 3)` or `c()`.
pub fn vector<T: std::fmt::Display>(xs: &[T]) -> String {
    match xs {
        [one] => one.to_string(),
        many => format!("c({})", join(many, ", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_checked() {
        let shape = Shape::from([2, 3]);
        let axes = |x: Vec<f64>| Attrs::new().with("axes", Attr::Numbers(x)).axes("axes", "nv_x", &shape);
        assert_eq!(axes(vec![2.0, 1.0]).unwrap(), Some(vec![Axis(1), Axis(0)]));
        assert!(matches!(axes(vec![3.0]), Err(Error::AxisOutOfRange { got: 3, .. })));
        assert!(matches!(axes(vec![0.0]), Err(Error::AxisOutOfRange { .. })));
        assert_eq!(axes(vec![-1.0, 1.0]).unwrap(), Some(vec![Axis(1), Axis(0)]));
        assert!(matches!(axes(vec![-1.0, 2.0]), Err(Error::DuplicateAxis { .. })));
        assert!(matches!(axes(vec![-3.0]), Err(Error::AxisOutOfRange { got: -3, .. })));
        assert!(matches!(axes(vec![1.0, 1.0]), Err(Error::DuplicateAxis { .. })));
        assert!(matches!(axes(vec![1.5]), Err(Error::Arg { .. })));
        assert!(matches!(axes(vec![f64::NAN]), Err(Error::Arg { .. })));
        assert_eq!(Attrs::new().axes("axes", "nv_x", &shape).unwrap(), None);
    }

    #[test]
    fn shapes_are_checked_before_anything_is_allocated() {
        let shape = |x: Vec<f64>| Attrs::new().with("shape", Attr::Numbers(x)).shape("shape");
        assert_eq!(shape(vec![2.0, 0.0]).unwrap(), [2, 0].into());
        assert!(matches!(shape(vec![-1.0]), Err(Error::Arg { .. })));
        assert!(matches!(shape(vec![1e12, 1e12]), Err(Error::TooLarge { .. })));
        assert!(matches!(shape(vec![f64::INFINITY]), Err(Error::Arg { .. })));
    }

    #[test]
    fn one_size_follows_from_the_others() {
        let shape = |x: Vec<f64>, size| Attrs::new().with("shape", Attr::Numbers(x)).shape_of("shape", size);
        assert_eq!(shape(vec![2.0, -1.0], 6).unwrap(), [2, 3].into());
        assert_eq!(shape(vec![-1.0], 1).unwrap(), [1].into());
        assert_eq!(shape(vec![2.0, -1.0], 0).unwrap(), [2, 0].into());
        assert_eq!(shape(vec![2.0], 6).unwrap(), [2].into());
        for (wrong, size) in [([-1.0, -1.0], 4), ([-1.0, 0.0], 0), ([4.0, -1.0], 6), ([-2.0, -1.0], 6)] {
            assert!(matches!(shape(wrong.to_vec(), size), Err(Error::Arg { .. })), "{wrong:?}");
        }
        assert!(matches!(shape(vec![-1.0, 1e12, 1e12], 6), Err(Error::TooLarge { .. })));
    }
}
