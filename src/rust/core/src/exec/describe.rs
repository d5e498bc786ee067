//! The description of a plan, for `explain_plan()`: its steps, the ops of each, bytes moved, estimated times,
//! and memory.

use super::compile::Load;
use super::place::{Place, ARENA, INPUTS};
use super::run::Executable;
use super::schedule::alone;
use super::step::{Action, Plan, Step};
use crate::graph::Operation;
use crate::kernels::memory::Span;
use crate::ops::Touched;
use crate::tensor::Aval;

/// One step of a plan, or a program inside of one.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// Its number: `2`, or `2.body.1` for the first step of the body of a loop that is step 2.
    pub path: String,
    /// Its kind: `group`, `copy`, the op's name if it runs alone, or `program` for a region of a branch or
    /// loop.
    pub kind: String,
    /// Names of the ops, in order.
    pub ops: Vec<&'static str>,
    /// Elements that the step goes over.
    pub elements: usize,
    /// Elements of a tile; 0 for a step that is not a group.
    pub tile: usize,
    /// Whether a result takes the place of an operand.
    pub in_place: bool,
    /// Bytes read from memory, once for each operand; an element that is repeated is one.
    pub read: usize,
    /// Bytes written to memory.
    pub written: usize,
    /// Estimated time in picoseconds on one core; for a loop that of one iteration, for a branch that of its
    /// slower region.
    pub picoseconds: usize,
    /// How often a loop repeats its body, if that is known; else 1.
    pub repetitions: usize,
    /// Number of pieces that threads share, at most; 1 if it runs on one core.
    pub pieces: usize,
    /// Whether it is a loop that native code runs as one function; the program of its body is for iterations
    /// that this cannot run.
    pub native: bool,
}

/// The estimated time of a step beside its work, in picoseconds (measured on an AMD EPYC, Zen 4).
const STEP: usize = 15_000;

/// Elements that take as long as one: a step on fewer waits for its results.
const FEWEST: usize = 16;

impl Executable {
    /// The steps of the program in order, those inside of loops and branches after the step that runs them.
    pub fn lines(&self) -> Vec<Line> {
        let mut lines = vec![];
        write(self.plan(), "", &mut lines);
        lines
    }

    /// The estimated time of a run in picoseconds on one core.
    pub fn picoseconds(&self) -> usize {
        self.lines()
            .iter()
            .filter(|line| !line.path.contains('.'))
            .map(Line::total)
            .fold(0, usize::saturating_add)
    }

    /// The steps of the program as text, a line each, and a last one with the sums.
    pub fn describe(&self) -> String {
        let lines = self.lines();
        let mut text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let own = || lines.iter().filter(|line| !line.path.contains('.'));
        let steps = if own().count() == 1 { "1 step".into() } else { format!("{} steps", own().count()) };
        let (read, written) =
            own().fold((0, 0), |(read, written), line| (read + line.read, written + line.written));
        let scratch = amount(self.held_bytes());
        text += &format!(
            "{steps}, {} read, {} written, {scratch} of scratch memory\n",
            amount(read),
            amount(written)
        );
        text
    }
}

impl Line {
    /// Its estimated time, with all repetitions.
    fn total(&self) -> usize {
        STEP.saturating_add(self.picoseconds.saturating_mul(self.repetitions))
    }

    /// The description of the line.
    fn what(&self) -> String {
        if self.kind != "group" {
            return self.kind.clone();
        }
        format!("group of {} elements in tiles of {}: {}", self.elements, self.tile, self.ops.join(", "))
    }
}

/// The description of a step.
pub(super) fn what(step: &Step) -> String {
    line(step, String::new(), &[]).what()
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let depth = self.path.matches('.').count();
        write!(f, "{:indent$}{}. {}", "", self.path, self.what(), indent = 2 * depth)?;
        if self.kind == "program" {
            return Ok(());
        }
        write!(f, "; reads {}, writes {}", amount(self.read), amount(self.written))?;
        if self.in_place {
            f.write_str(" in place")?;
        }
        if self.native {
            f.write_str(", in native code")?;
        }
        Ok(())
    }
}

fn write(plan: &Plan, inside: &str, lines: &mut Vec<Line>) {
    for (number, step) in plan.steps.iter().enumerate() {
        let path = format!("{inside}{}", number + 1);
        let at = lines.len();
        lines.push(line(step, path.clone(), &plan.donations));
        let Action::Control(control) = &step.action else { continue };
        let mut slowest = 0;
        let programs = control.programs();
        for (name, program) in &programs {
            let inside = format!("{path}.{name}");
            let first = lines.len();
            let header = Line { path: inside.clone(), kind: "program".into(), ..lines[at].clone() };
            lines.push(Line {
                ops: vec![],
                elements: 0,
                tile: 0,
                read: 0,
                written: 0,
                in_place: false,
                ..header
            });
            write(program, &format!("{inside}."), lines);
            let own = |line: &&Line| line.path.matches('.').count() == inside.matches('.').count() + 1;
            let sum: usize =
                lines[first + 1..].iter().filter(own).map(Line::total).fold(0, usize::saturating_add);
            lines[first].picoseconds = sum;
            // One region of a branch runs; the body of a loop is its last region.
            slowest = if lines[at].kind == "if" { sum.max(slowest) } else { sum };
        }
        lines[at].picoseconds = control.native().unwrap_or(slowest);
    }
}

fn line(step: &Step, path: String, donations: &[Option<usize>]) -> Line {
    let loads: &[Load] = if let Action::Tiles(program) = &step.action { program.loads() } else { &[] };
    let operand = |(i, (aval, place)): (usize, &(Aval, Place))| {
        if loads.get(i) == Some(&Load::Splat) {
            return aval.dtype.bytes();
        }
        aval.bytes().min(place.span.range.len())
    };
    let read = step.operands.iter().enumerate().map(operand).sum();
    let written = step.results.iter().map(|(_, span)| span.range.len()).sum();
    let size =
        |values: &mut dyn Iterator<Item = &Aval>| values.map(|aval| aval.shape.size()).max().unwrap_or(0);
    let elements = size(&mut step.results.iter().map(|(aval, _)| aval))
        .max(size(&mut step.operands.iter().map(|(aval, _)| aval)));
    let lies = |span: &Span| step.operands.iter().any(|(_, place)| place.span == *span);
    // An input whose memory is that of an output is updated there.
    let given =
        |buffer: usize| buffer.checked_sub(INPUTS).is_some_and(|input| donations.contains(&Some(input)));
    let updates = matches!(&step.action, Action::Apply(op, _) if op.updates())
        && step.results[0].1.buffer != ARENA
        && given(step.operands[0].1.span.buffer);
    let in_place = updates || step.results.iter().any(|(_, span)| span.buffer == ARENA && lies(span));
    let moved = alone::moved(read + written);
    let one = Line {
        path,
        kind: String::new(),
        ops: vec![],
        elements,
        tile: 0,
        in_place,
        read,
        written,
        picoseconds: moved,
        repetitions: 1,
        pieces: 1,
        native: false,
    };
    match &step.action {
        Action::Copy { .. } => Line { kind: "copy".into(), ..one },
        Action::Frame(frame) => {
            let bytes = frame.bytes(&step.results[0].0);
            let (read, picoseconds) = (read.min(bytes), alone::moved(read.min(bytes) + bytes));
            Line { kind: frame.name.into(), ops: vec![frame.name], read, written: bytes, picoseconds, ..one }
        }
        // Its time is that of its regions, which read and write the slices of a repetition.
        Action::Control(control) => {
            let (native, repetitions) = (control.native().is_some(), control.repetitions());
            let pieces = control.pieces();
            Line { kind: control.name().into(), native, repetitions, pieces, ..one }
        }
        Action::Apply(op, _) => {
            let from: Vec<_> = step.operands.iter().map(|(aval, _)| aval.dtype).collect();
            let first = step.operands.first().map(|(aval, _)| &aval.shape);
            // Of the first operand it may read or replace few elements.
            let part = match op.touched() {
                Some(Touched::Read) => Some(&step.results[0].0),
                Some(Touched::Replaced(i)) if in_place => Some(&step.operands[i].0),
                Some(Touched::Replaced(_)) | None => None,
            };
            let (mut read, mut written, mut over) = (read, written, elements);
            if let Some(part) = part {
                read = read - operand((0, &step.operands[0])) + part.bytes();
                written = part.bytes();
                let others = step.operands[1..].iter().map(|(aval, _)| aval.shape.size()).max();
                over = part.shape.size().max(others.unwrap_or(0));
            }
            let computed = alone::computed(op, &from, first, over, step.results[0].0.shape.size());
            let picoseconds = alone::moved(read + written).max(computed);
            Line { kind: op.name().into(), ops: vec![op.name()], read, written, picoseconds, ..one }
        }
        Action::Tiles(program) => Line {
            kind: "group".into(),
            ops: program.names().to_vec(),
            elements: program.tiles().1,
            tile: program.tiles().0,
            picoseconds: program.picoseconds() * FEWEST.div_ceil(program.tiles().1.max(1)),
            pieces: program.pieces(),
            ..one
        },
    }
}

fn amount(bytes: usize) -> String {
    match bytes {
        0..=9_999 => format!("{bytes} B"),
        10_000..=9_999_999 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}
