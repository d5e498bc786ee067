//! The text of a legalized graph.

use super::constants::{splat, tensor, type_of};
use super::{sharding_attribute, Options};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::{Def, Node, Value, NODE};
use crate::growth::{table, Text};
use crate::kernels::products::convolution::Window;
use crate::ops::sort::comes_before;
use crate::ops::{Binary, Graph, HloOp, If, Lowering, Op, Scatter, Syntax, Update, While};
use crate::shape::{join, Axis, Shape};
use crate::stop;
use crate::tensor::{Aval, Literal, View};

/// A writer of lines, which numbers values as it names them.
#[derive(Default)]
pub struct Writer {
    text: Text,
    depth: usize,
    values: usize,
    constants: usize,
    states: usize,
}

/// Names of a graph's values, as far as they are named.
type Names = Vec<Option<String>>;

fn list<T: std::fmt::Display>(numbers: &[T]) -> String {
    format!("[{}]", join(numbers, ", "))
}

/// `(tensor<f32>, tensor<f32>) -> tensor<f32>`.
fn signature(operands: &[String], results: &[String]) -> String {
    match results {
        [one] => format!("({}) -> {one}", join(operands, ", ")),
        many => format!("({}) -> ({})", join(operands, ", "), join(many, ", ")),
    }
}

impl Writer {
    fn line(&mut self, text: &str) {
        (0..self.depth).for_each(|_| self.text.append("  "));
        self.text.append(text);
        self.text.append("\n");
    }

    /// Writes the function `@main`; returns the numbers of the constants that are arguments of it.
    ///
    /// # Errors
    /// [`Error::Internal`] for an op that is not legal.
    pub fn function(
        &mut self,
        graph: &Graph,
        constants: &[View],
        attributes: &[String],
        options: &Options,
    ) -> Result<(String, Vec<usize>)> {
        let mut names: Names = table(None, graph.values().count());
        let mut arguments = Vec::new();
        for (i, (&v, attribute)) in graph.inputs().iter().zip(attributes).enumerate() {
            let name = format!("%arg{i}");
            arguments.push(format!("{name}: {}{attribute}", type_of(graph.aval(v))));
            names[v.index()] = Some(name);
        }
        let mut is_read = table(false, graph.values().count());
        graph
            .nodes()
            .iter()
            .flat_map(|node| &node.operands)
            .chain(graph.outputs())
            .for_each(|v| is_read[v.index()] = true);
        let (mut inline, mut passed) = (Vec::new(), Vec::new());
        for (i, &v) in graph.constants().iter().enumerate().filter(|(_, v)| is_read[v.index()]) {
            let aval = graph.aval(v);
            match tensor(&constants[i], aval, options.inline_limit) {
                Some(text) => inline.push((v, text)),
                None => {
                    let name = format!("%arg{}", arguments.len());
                    let whole =
                        options.mesh.as_ref().map(|mesh| sharding_attribute(aval.shape.rank(), None, mesh));
                    let attribute = whole.map_or_else(String::new, |text| format!(" {{{text}}}"));
                    arguments.push(format!("{name}: {}{attribute}", type_of(aval)));
                    names[v.index()] = Some(name);
                    passed.push(i);
                }
            }
        }
        let results: Vec<String> = graph.outputs().iter().map(|&v| type_of(graph.aval(v))).collect();
        let result = match results.as_slice() {
            [] => String::new(),
            [one] => format!(" -> {one}"),
            many => format!(" -> ({})", join(many, ", ")),
        };
        self.depth = 1;
        self.line(&format!("func.func public @main({}){result} {{", join(&arguments, ", ")));
        self.depth = 2;
        for (v, text) in inline {
            names[v.index()] = Some(self.constant(&text));
        }
        let outputs = self.body(graph, &mut names)?;
        self.give("return", &outputs, &results);
        self.depth = 1;
        self.line("}");
        Ok((std::mem::take(&mut self.text).into_string(), passed))
    }

    /// Writes the terminator of a body.
    fn give(&mut self, op: &str, outputs: &[String], types: &[String]) {
        match outputs {
            [] => self.line(op),
            _ => self.line(&format!("{op} {} : {}", join(outputs, ", "), join(types, ", "))),
        }
    }

    fn constant(&mut self, text: &str) -> String {
        let name = format!("%c{}", self.constants);
        self.constants += 1;
        self.line(&format!("{name} = stablehlo.constant {text}"));
        name
    }

    /// Writes the nodes of a graph; returns the names of its outputs.
    fn body(&mut self, graph: &Graph, names: &mut Names) -> Result<Vec<String>> {
        for node in graph.nodes() {
            // A node without results has no effect.
            if !node.results.is_empty() {
                self.node(graph, node, names)?;
            }
        }
        graph.outputs().iter().map(|&v| self.name(graph, v, names)).collect()
    }

    /// The name of a value. A literal is named where it is first read.
    fn name(&mut self, graph: &Graph, v: Value, names: &mut Names) -> Result<String> {
        if names[v.index()].is_none() {
            if let Def::Literal(literal) = graph.def(v) {
                names[v.index()] = Some(self.constant(&splat(literal, graph.aval(v))));
            }
        }
        names[v.index()]
            .clone()
            .ok_or_else(|| Error::Internal { detail: "a value is read before it is made".into() })
    }

    /// Names the results of a node; returns the left side of its line.
    fn results(&mut self, node: &Node<Op>, names: &mut Names) -> String {
        let name = self.value();
        if let [one] = node.results.as_slice() {
            names[one.index()] = Some(name.clone());
            return name;
        }
        for (i, v) in node.results.iter().enumerate() {
            names[v.index()] = Some(format!("{name}#{i}"));
        }
        format!("{name}:{}", node.results.len())
    }

    fn node(&mut self, graph: &Graph, node: &Node<Op>, names: &mut Names) -> Result<()> {
        stop::work(4 * NODE);
        let avals: Vec<Aval> = node.operands.iter().map(|&v| graph.aval(v).clone()).collect();
        let (Lowering::Op(HloOp { name: op, syntax })
        | Lowering::Formula(_, Some(HloOp { name: op, syntax }))) = node.op.lower(&avals)
        else {
            let detail = format!("`{}` was to be replaced by its formula", node.op.row().name);
            return Err(Error::Internal { detail });
        };
        let result = graph.aval(node.results[0]);
        if let Syntax::Constant(value) = syntax {
            names[node.results[0].index()] = Some(self.constant(&splat(value, result)));
            return Ok(());
        }
        let x = node.operands.iter().map(|&v| self.name(graph, v, names)).collect::<Result<Vec<String>>>()?;
        let types: Vec<String> = avals.iter().map(type_of).collect();
        let results = [type_of(result)];
        let all = join(&x, ", ");
        let signed = signature(&types, &results);
        let text = match syntax {
            Syntax::Result => format!("{op} {all} : {}", results[0]),
            Syntax::Arrow => format!("{op} {all} : {} -> {}", join(&types, ", "), results[0]),
            Syntax::FirstAndResult => format!("{op} {all} : {}, {}", types[0], results[0]),
            Syntax::NoOperands(attributes) => format!("{op} {attributes} : {}", results[0]),
            Syntax::Signature(attributes) => format!("{op} {all}{attributes} : {signed}"),
            Syntax::Accumulated(dtype, attributes) => {
                let wide = [type_of(&Aval { dtype, ..result.clone() })];
                let name = self.value();
                self.line(&format!("{name} = {op} {all}{attributes} : {}", signature(&types, &wide)));
                format!("stablehlo.convert {name} : {}", signature(&wide, &results))
            }
            Syntax::Generic(attributes) => format!("\"{op}\"({all}) <{{{attributes}}}> : {signed}"),
            Syntax::Compare(direction, kind) => format!("{op} {direction}, {all}, {kind} : {signed}"),
            Syntax::Reduce { by, init, axes } => {
                let scalar = Aval::known(init.dtype(), Default::default());
                let init = self.constant(&splat(init, &scalar));
                let signed = signature(&[types[0].clone(), type_of(&scalar)], &results);
                let dims = list(&axes.iter().map(|axis| axis.0).collect::<Vec<_>>());
                format!("{op}({all} init: {init}) applies {by} across dimensions = {dims} : {signed}")
            }
            Syntax::Scatter(scatter, attributes) => {
                return self.scatter(scatter, &attributes, node, &x, (avals[0].dtype, &types), names)
            }
            Syntax::Sort { axis, descending, positions } => {
                return self.sort(node, axis, &descending, positions, &x, &avals, names);
            }
            Syntax::Windows { by, init, windows } => {
                return self.windows(node, by, init, windows, (&x[0], &types[0], &results[0]), names);
            }
            Syntax::If(branch) => return self.branches(graph, node, branch, &x, names),
            Syntax::While(repeated) => return self.repeated(graph, node, repeated, &x, names),
            Syntax::Constant(_) => unreachable!("a constant has no operands and was written above"),
        };
        let left = self.results(node, names);
        self.line(&format!("{left} = {text}"));
        Ok(())
    }

    /// A new name for a value.
    fn value(&mut self) -> String {
        self.values += 1;
        format!("%{}", self.values - 1)
    }

    /// Writes a region whose inputs have these names.
    fn region(&mut self, region: &Graph, inputs: &[String]) -> Result<()> {
        let mut names: Names = vec![None; region.values().count()];
        for (v, name) in region.inputs().iter().zip(inputs) {
            names[v.index()] = Some(name.clone());
        }
        self.depth += 1;
        let outputs = self.body(region, &mut names)?;
        let types: Vec<String> = region.outputs().iter().map(|&v| type_of(region.aval(v))).collect();
        self.give("stablehlo.return", &outputs, &types);
        self.depth -= 1;
        Ok(())
    }

    fn branches(
        &mut self,
        graph: &Graph,
        node: &Node<Op>,
        branch: &If,
        x: &[String],
        names: &mut Names,
    ) -> Result<()> {
        let left = self.results(node, names);
        let (yes, no) = x[1..].split_at(branch.branches[0].inputs().len());
        let results: Vec<String> = node.results.iter().map(|&v| type_of(graph.aval(v))).collect();
        self.line(&format!("{left} = \"stablehlo.if\"({}) ({{", x[0]));
        self.region(&branch.branches[0], yes)?;
        self.line("}, {");
        self.region(&branch.branches[1], no)?;
        self.line(&format!("}}) : {}", signature(&["tensor<i1>".to_string()], &results)));
        Ok(())
    }

    fn repeated(
        &mut self,
        graph: &Graph,
        node: &Node<Op>,
        op: &While,
        x: &[String],
        names: &mut Names,
    ) -> Result<()> {
        let left = self.results(node, names);
        let (init, rest) = x.split_at(op.carried);
        let (for_cond, for_body) = rest.split_at(op.cond.inputs().len() - op.carried);
        let state: Vec<String> = (0..op.carried).map(|i| format!("%s{}", self.states + i)).collect();
        self.states += op.carried;
        let pairs: Vec<String> =
            state.iter().zip(init).map(|(name, value)| format!("{name} = {value}")).collect();
        let types: Vec<String> = node.results.iter().map(|&v| type_of(graph.aval(v))).collect();
        self.line(&format!("{left} = stablehlo.while({}) : {}", join(&pairs, ", "), join(&types, ", ")));
        self.line("cond {");
        self.region(&op.cond, &[&state[..], for_cond].concat())?;
        self.line("} do {");
        self.region(&op.body, &[&state[..], for_body].concat())?;
        self.line("}");
        Ok(())
    }

    fn windows(
        &mut self,
        node: &Node<Op>,
        by: &str,
        init: Literal,
        windows: &[Window],
        (x, from, to): (&str, &str, &str),
        names: &mut Names,
    ) -> Result<()> {
        let one = Aval::known(init.dtype(), Shape::scalar());
        let (scalar, init) = (type_of(&one), self.constant(&splat(init, &one)));
        let left = self.results(node, names);
        let array = |of: fn(&Window) -> usize| {
            let numbers: Vec<usize> = windows.iter().map(of).collect();
            let colon = if numbers.is_empty() { "" } else { ": " };
            format!("array<i64{colon}{}>", join(&numbers, ", "))
        };
        let pairs: Vec<String> = windows.iter().map(|w| list(&[w.low, w.high])).collect();
        let padding = if pairs.is_empty() { String::new() } else { list(&pairs) };
        self.line(&format!(
            "{left} = \"stablehlo.reduce_window\"({x}, {init}) <{{base_dilations = {}, padding = dense<{}> : \
             tensor<{}x2xi64>, window_dilations = {}, window_dimensions = {}, window_strides = {}}}> ({{",
            array(|w| w.base),
            padding,
            windows.len(),
            array(|w| w.dilation),
            array(|w| w.size),
            array(|w| w.stride),
        ));
        let given = [0, 1].map(|i| format!("%s{}", self.states + i));
        self.states += 2;
        self.line(&format!("^bb0({}: {scalar}, {}: {scalar}):", given[0], given[1]));
        let made = self.value();
        self.depth += 1;
        self.line(&format!("{made} = {by} {} : {scalar}", given.join(", ")));
        self.give("stablehlo.return", &[made], std::slice::from_ref(&scalar));
        self.depth -= 1;
        self.line(&format!("}}) : ({from}, {scalar}) -> {to}"));
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn sort(
        &mut self,
        node: &Node<Op>,
        axis: Axis,
        descending: &[bool],
        positions: bool,
        x: &[String],
        avals: &[Aval],
        names: &mut Names,
    ) -> Result<()> {
        let (mut x, mut avals) = (x.to_vec(), avals.to_vec());
        let order = comes_before(&avals.iter().map(|aval| aval.dtype).collect::<Vec<_>>(), descending)?;
        if positions {
            // Numbers are sorted with the operands.
            let count = Aval::known(DType::I32, avals[0].shape.clone());
            let name = self.value();
            self.line(&format!("{name} = stablehlo.iota dim = {} : {}", axis.0, type_of(&count)));
            x.push(name);
            avals.push(count);
        }
        let name = self.value();
        let (one, types) = (x.len() == 1, avals.iter().map(type_of).collect::<Vec<_>>());
        let left = if one { name.clone() } else { format!("{name}:{}", x.len()) };
        let last = if one { name } else { format!("{name}#{}", x.len() - 1) };
        names[node.results[0].index()] = Some(last);
        let all = join(&x, ", ");
        self.line(&format!(
            "{left} = \"stablehlo.sort\"({all}) <{{dimension = {}, is_stable = true}}> ({{",
            axis.0
        ));
        // The region has two elements of each operand, of which it reads all but the numbers.
        let given: Vec<String> = (0..2 * x.len()).map(|i| format!("%s{}", self.states + i)).collect();
        self.states += given.len();
        let typed: Vec<String> = given
            .iter()
            .enumerate()
            .map(|(i, name)| {
                format!("{name}: {}", type_of(&Aval::known(avals[i / 2].dtype, Shape::scalar())))
            })
            .collect();
        self.line(&format!("^bb0({}):", join(&typed, ", ")));
        self.region(&order, &given)?;
        self.line(&format!("}}) : {}", signature(&types, &types)));
        Ok(())
    }

    fn scatter(
        &mut self,
        op: &Scatter,
        attributes: &str,
        node: &Node<Op>,
        x: &[String],
        (dtype, types): (DType, &[String]),
        names: &mut Names,
    ) -> Result<()> {
        let left = self.results(node, names);
        self.line(&format!("{left} = \"stablehlo.scatter\"({}) <{{{attributes}}}> ({{", join(x, ", ")));
        // The region maps the old element and the update to the new element.
        let scalar = type_of(&Aval::known(dtype, Default::default()));
        let given = [0, 1].map(|i| format!("%s{}", self.states + i));
        self.states += 2;
        self.line(&format!("^bb0({}: {scalar}, {}: {scalar}):", given[0], given[1]));
        let one = |made: String| ([made], [scalar.clone()]);
        match &op.update {
            Update::By(region) => self.region(region, &given)?,
            Update::Replace => {
                let (made, type_) = one(given[1].clone());
                self.depth += 1;
                self.give("stablehlo.return", &made, &type_);
                self.depth -= 1;
            }
            Update::With(combine) => {
                let name = self.value();
                // The sum of booleans is `or`.
                let combine =
                    if dtype == DType::I1 && *combine == Binary::add { Binary::or } else { *combine };
                let by = Op::Binary(combine);
                let Lowering::Op(by) = by.lower(&[Aval::known(dtype, Default::default())]) else {
                    let detail = format!("a scatter cannot apply `{}`", combine.row().name);
                    return Err(Error::Internal { detail });
                };
                self.depth += 1;
                self.line(&format!("{name} = {} {} : {scalar}", by.name, given.join(", ")));
                let (made, type_) = one(name);
                self.give("stablehlo.return", &made, &type_);
                self.depth -= 1;
            }
        }
        self.line(&format!("}}) : {}", signature(types, &types[..1])));
        Ok(())
    }
}
