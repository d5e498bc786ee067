//! The text of a graph, as `print(trace_fn(f, ...))` shows it.

use super::{Def, Graph, Operation, Value};
use crate::growth::{push, table};
use crate::stop;
use crate::tensor::Aval;
use std::fmt;

impl<O: Operation> Graph<O> {
    /// Names of all values: `%x1` inputs, `%c1` constants, `%1` results, literals by value.
    fn names(&self) -> Vec<String> {
        let mut names = table(String::new(), self.values.len());
        let mut results = 0;
        for (name, (aval, def)) in names.iter_mut().zip(&self.values) {
            *name = match def {
                Def::Input(i) => format!("%x{}", i + 1),
                Def::Constant(i) => format!("%c{}", i + 1),
                Def::Literal(literal) => format!("{literal}:{}", aval.ranked()),
                Def::Result(..) => {
                    results += 1;
                    format!("%{results}")
                }
            };
        }
        names
    }
}

impl<O: Operation> Graph<O> {
    /// A value with its type. The text of a literal has the type already.
    fn typed(&self, names: &[String], v: Value) -> String {
        match self.def(v) {
            Def::Literal(_) => names[v.index()].clone(),
            _ => format!("{}: {}", names[v.index()], self.aval(v)),
        }
    }

    /// The lines of all nodes. Regions are written below their node: role, inputs, nodes, outputs. Names in a
    /// region are local to it.
    fn lines(&self, names: &[String]) -> Vec<String> {
        let mut lines = Vec::new();
        for node in &self.nodes {
            stop::work(4 * super::NODE);
            let attributes: Vec<String> =
                node.op.attributes().iter().map(|(k, v)| format!("{k} = {v}")).collect();
            let attributes =
                if attributes.is_empty() { String::new() } else { format!(" [{}] ", attributes.join(", ")) };
            let operands: Vec<&str> = node.operands.iter().map(|v| names[v.index()].as_str()).collect();
            let results = match node.results.as_slice() {
                &[one] => self.typed(names, one),
                many => {
                    let join =
                        |g: &dyn Fn(&Value) -> String| many.iter().map(g).collect::<Vec<_>>().join(", ");
                    let aval = |v: &Value| -> String { Aval::to_string(self.aval(*v)) };
                    format!("({}): ({})", join(&|v| names[v.index()].clone()), join(&aval))
                }
            };
            push(&mut lines, format!("{results} = {}{attributes}({})", node.op.name(), operands.join(", ")));
            for (what, region) in node.op.regions() {
                let names = region.names();
                let inputs: Vec<String> = region.inputs.iter().map(|&v| region.typed(&names, v)).collect();
                let outputs: Vec<&str> = region.outputs.iter().map(|v| names[v.index()].as_str()).collect();
                push(&mut lines, format!("  {what}({}):", inputs.join(", ")));
                region.lines(&names).into_iter().for_each(|line| push(&mut lines, format!("    {line}")));
                push(&mut lines, format!("    gives ({})", outputs.join(", ")));
            }
        }
        lines
    }
}

impl<O: Operation> fmt::Display for Graph<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.names();
        let typed = |v: &Value| self.typed(&names, *v);
        let section = |f: &mut fmt::Formatter<'_>, title: &str, empty: &str, lines: Vec<String>| {
            if lines.is_empty() {
                return writeln!(f, "  {title}: {empty}");
            }
            writeln!(f, "  {title}:")?;
            lines.iter().try_for_each(|line| writeln!(f, "    {line}"))
        };
        writeln!(f, "<AnvilGraph>")?;
        section(f, "Inputs", "(none)", self.inputs.iter().map(typed).collect())?;
        if !self.constants.is_empty() {
            section(f, "Constants", "", self.constants.iter().map(typed).collect())?;
        }
        section(f, "Body", "(empty)", self.lines(&names))?;
        section(f, "Outputs", "(none)", self.outputs.iter().map(typed).collect())
    }
}
