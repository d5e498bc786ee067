//! The text of a graph, as `print(trace_fn(f, args))` shows it.

use super::{Def, Graph, Operation, Value};
use crate::tensor::Aval;
use std::fmt;

impl<O: Operation> Graph<O> {
    /// Names of all values: `%x1` inputs, `%c1` constants, `%1` results, literals by value.
    fn names(&self) -> Vec<String> {
        let mut names = vec![String::new(); self.values.len()];
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

impl<O: Operation> fmt::Display for Graph<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.names();
        let typed = |v: &Value| match self.def(*v) {
            Def::Literal(_) => names[v.index()].clone(),
            _ => format!("{}: {}", names[v.index()], self.aval(*v)),
        };
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
        let body = self.nodes.iter().map(|node| {
            let attributes = node.op.attributes();
            let attributes = match attributes.as_slice() {
                [] => String::new(),
                all => {
                    let all: Vec<String> = all.iter().map(|(k, v)| format!("{k} = {v}")).collect();
                    format!(" [{}] ", all.join(", "))
                }
            };
            let operands: Vec<&str> = node.operands.iter().map(|v| names[v.index()].as_str()).collect();
            let results = match node.results.as_slice() {
                [one] => typed(one),
                many => {
                    let join = |g: &dyn Fn(&Value) -> String| many.iter().map(g).collect::<Vec<_>>().join(", ");
                    let aval = |v: &Value| -> String { Aval::to_string(self.aval(*v)) };
                    format!("({}): ({})", join(&|v| names[v.index()].clone()), join(&aval))
                }
            };
            format!("{results} = {}{attributes}({})", node.op.name(), operands.join(", "))
        });
        section(f, "Body", "(empty)", body.collect())?;
        section(f, "Outputs", "(none)", self.outputs.iter().map(typed).collect())
    }
}
