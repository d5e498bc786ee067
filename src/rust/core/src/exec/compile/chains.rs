//! Puts cheap ops and functions on elements of one width into chains: each becomes one instruction of native
//! code.

use super::draft::{Draft, Item, Location, Make, Virtual};
use crate::dtype::DType;
use crate::exec::vm::native::{self, Chain, Origin, MAX_ARGUMENTS, MAX_STREAMS};
use crate::exec::vm::Runs;
use rustc_hash::FxHashMap;

/// Ops of a chain, at most: more would only lengthen the code.
const MAX_OPS: usize = 128;

/// Steps of the functions of a chain, at most, unless it has but one. Processors look ahead over a few hundred
/// instructions: with more, one vector waits for the end of the one before. Two functions, of which one reads
/// the other's result, take a third longer in a chain of 110 steps than one after the other (AMD EPYC, Zen 4).
const MAX_STEPS: usize = 90;

/// Values that a chain reads, at most; the other streams are for its results.
const MAX_READS: usize = MAX_STREAMS - 3;

/// Thousandths of a vector that may be wasted for each element of a value that is gathered otherwise, in all instructions
/// on it, because runs end within vectors. What an instruction wastes counts once for all values that its chain would
/// gather. Measured on an AMD EPYC (Zen 4), with runs of 5 to 130 elements
/// in chains of one op to eighty steps, with and without a sum of the result: two vectors for 17 singles take 1.7
/// times as long as gathered ones in a chain of eighty steps; from there on, gathering is never slower by
/// more than a twentieth.
const WASTED: usize = 550;

/// Instructions that are candidates for a chain, by their numbers, in order; or a single other one.
struct Link {
    members: Vec<usize>,
    /// Whether it accepts others.
    open: bool,
    /// Bytes of an element, unless all are booleans so far.
    width: Option<usize>,
    folded: bool,
    /// Steps of its functions.
    steps: usize,
    /// Operands of its functions of parts of complex numbers.
    parts: Vec<Vec<usize>>,
    phase: usize,
    /// Values that it reads from outside, elements and constants.
    reads: Vec<usize>,
    constants: Vec<usize>,
    /// Values that it makes and that are results of the group.
    stored: usize,
}

/// Joins instructions to chains, in an order in which each comes after those that it reads. Returns the
/// instructions if there is no native code here.
pub fn join(drafts: Vec<Draft>, values: &[Virtual]) -> Result<Vec<Item>, Vec<Draft>> {
    if !native::is_here() {
        return Err(drafts);
    }
    let links = parted(links(&drafts, values), &drafts, values);
    let mut in_place = in_place(&links, &drafts, values);
    let found = loop {
        let found: Vec<Option<Joined>> =
            links.iter().map(|link| joined(link, &drafts, values, &in_place)).collect();
        // What one reader does not read in place is gathered for all.
        let before = in_place.len();
        let is_read = |value: &usize| {
            links.iter().zip(&found).all(|(link, joined)| joined.is_some() || !link.reads.contains(value))
        };
        in_place.retain(|value, _| is_read(value));
        if in_place.len() == before {
            break found;
        }
    };
    let chains: Vec<Chain> = found.iter().flatten().map(|joined| joined.chain.clone()).collect();
    let Some(natives) = native::compile(&chains) else { return Err(drafts) };
    let (mut natives, mut drafts) = (natives.into_iter(), drafts.into_iter().map(Some).collect::<Vec<_>>());
    found.iter().flatten().flat_map(|joined| &joined.copies).for_each(|&at| drafts[at] = None);
    in_place.values().for_each(|&at| drafts[at] = None);
    let mut items = vec![];
    for (link, joined) in links.into_iter().zip(found) {
        match joined.and_then(|joined| Some((joined, natives.next()?))) {
            Some((Joined { reads, runs, writes, .. }, native)) => {
                items.push(Item {
                    make: Make::Native(native, runs),
                    reads,
                    writes,
                    folded: link.folded,
                    by_column: false,
                    phase: link.phase,
                    past: false,
                });
            }
            None => items.extend(link.members.iter().filter_map(|&at| drafts[at].take()).map(Item::from)),
        }
    }
    Ok(items)
}

/// A chain, with the values that are its arguments: those that it reads, and those that it makes.
struct Joined {
    chain: Chain,
    reads: Vec<usize>,
    /// Those of `reads`, by number, that lie in runs.
    runs: Vec<(usize, Runs)>,
    writes: Vec<usize>,
    /// Instructions that would only copy its results: it stores the results in their place.
    copies: Vec<usize>,
}

impl Link {
    /// A link without members for an instruction.
    fn of(draft: &Draft, values: &[Virtual]) -> Link {
        Link {
            members: vec![],
            open: native_op(draft, values).is_some(),
            width: None,
            folded: draft.folded,
            steps: 0,
            parts: vec![],
            phase: draft.phase,
            reads: vec![],
            constants: vec![],
            stored: 0,
        }
    }

    /// Adds an instruction that reads these values from outside.
    fn add(&mut self, at: usize, draft: &Draft, from: &[usize], values: &[Virtual], stored: &[bool]) {
        self.members.push(at);
        if native_op(draft, values).is_some() {
            self.read(from, values);
            self.steps += self.steps_of(draft, values);
            if is_part(draft, values) {
                self.parts.push(draft.operands.clone());
            }
            self.width = self.width.or(width(draft, values));
            self.stored += usize::from(stored[draft.result]);
        }
    }
}

/// For each value, whether it is a result of the group: made in its place, or copied there.
fn stored(drafts: &[Draft], values: &[Virtual]) -> Vec<bool> {
    let mut stored: Vec<bool> =
        values.iter().map(|value| matches!(value.location, Location::Result(_))).collect();
    for draft in drafts.iter().filter(|draft| draft.past || draft.into.is_some()) {
        draft.operands.iter().for_each(|&value| stored[value] = true);
    }
    stored
}

/// The same links, but that those are parted which have more streams than a chain: values that other links read are
/// results of a chain, too, and what reads them is not known before all links are.
fn parted(links: Vec<Link>, drafts: &[Draft], values: &[Virtual]) -> Vec<Link> {
    let (leaders, stored) = (leaders(drafts, values), stored(drafts, values));
    let mut readers = vec![vec![]; values.len()];
    for (at, draft) in drafts.iter().enumerate() {
        draft.operands.iter().for_each(|&value| readers[value].push(at));
    }
    let is_wide = |link: &Link| {
        let is_made = |&&at: &&usize| {
            let inside = |at: &usize| link.members.contains(at);
            let result = drafts[at].result;
            let read = &readers[result];
            stored[result] || read.is_empty() || !read.iter().all(inside)
        };
        let made = link.members.iter().filter(is_made).count();
        link.open && link.members.len() > 1 && streams(&link.reads, &leaders) + made > MAX_STREAMS
    };
    let mut parts = vec![];
    let mut rest: Vec<Link> = links.into_iter().rev().collect();
    while let Some(link) = rest.pop() {
        if !is_wide(&link) {
            parts.push(link);
            continue;
        }
        let (first, second) = link.members.split_at(link.members.len() / 2);
        for members in [second, first] {
            let mut part = Link::of(&drafts[members[0]], values);
            for &at in members {
                let is_outside = |&value: &usize| !members.iter().any(|&at| drafts[at].result == value);
                let from: Vec<usize> = drafts[at].operands.iter().copied().filter(is_outside).collect();
                part.add(at, &drafts[at], &from, values, &stored);
            }
            rest.push(part);
        }
    }
    parts
}

/// The streams in which values lie.
fn streams(reads: &[usize], leaders: &[usize]) -> usize {
    let mut streams: Vec<usize> = reads.iter().map(|&v| leaders[v]).collect();
    streams.sort_unstable();
    streams.dedup();
    streams.len()
}

/// Adds each instruction to the first chain that accepts it and comes after all that it reads, or to a new one at the
/// end. What reads nothing that is made here comes as late as it can: its readers are likely to come next, and a value
/// between two chains is stored. What only gathers an operand comes just before its first reader: anywhere else it would
/// part the readers of several such operands, which can be one chain that reads them in place.
fn links(drafts: &[Draft], values: &[Virtual]) -> Vec<Link> {
    let mut links: Vec<Link> = vec![];
    let mut made = vec![None; values.len()];
    let (leaders, stored) = (leaders(drafts, values), stored(drafts, values));
    let mut gathers = vec![];
    for (at, draft) in drafts.iter().enumerate() {
        if draft.runs.is_some() && draft.operands.iter().all(|&value| made[value].is_none()) {
            gathers.push(at);
            continue;
        }
        let first = draft.operands.iter().filter_map(|&value| made[value]).max().unwrap_or(0);
        let outside =
            |i: usize| draft.operands.iter().copied().filter(|&v| made[v] != Some(i)).collect::<Vec<usize>>();
        let known = (leaders.as_slice(), stored.as_slice());
        let takes = |&i: &usize| links[i].takes(draft, &outside(i), values, known);
        let at_link = match draft.operands.iter().any(|&value| made[value].is_some()) {
            true => (first..links.len()).find(takes),
            false => (0..links.len()).rev().find(takes),
        };
        let at_link = at_link.unwrap_or_else(|| {
            links.push(Link::of(draft, values));
            links.len() - 1
        });
        let from = outside(at_link);
        links[at_link].add(at, draft, &from, values, &stored);
        made[draft.result] = Some(at_link);
    }
    // The first link that reads each value.
    let mut first = vec![links.len(); values.len()];
    for (at, link) in links.iter().enumerate().rev() {
        let operands = link.members.iter().flat_map(|&member| &drafts[member].operands);
        operands.for_each(|&value| first[value] = at);
    }
    gathers.sort_by_key(|&at| first[drafts[at].result]);
    let gather = |at: usize| Link { members: vec![at], ..Link::of(&drafts[at], values) };
    let mut gathers = gathers.into_iter().peekable();
    let mut ordered = vec![];
    for (number, link) in links.into_iter().enumerate() {
        while let Some(at) = gathers.next_if(|&at| first[drafts[at].result] <= number) {
            ordered.push(gather(at));
        }
        ordered.push(link);
    }
    ordered.extend(gathers.map(gather));
    ordered
}

/// For each value the first one by whose address native code may read it: itself, unless both are gathered and
/// lie side by side in one stream.
fn leaders(drafts: &[Draft], values: &[Virtual]) -> Vec<usize> {
    let mut leaders: Vec<usize> = (0..values.len()).collect();
    let mut firsts: Vec<(&Draft, &Runs)> = vec![];
    for draft in drafts {
        let Some(runs) = &draft.runs else { continue };
        let is_beside = |(first, of): &&(&Draft, &Runs)| {
            first.operands == draft.operands && runs.bytes_behind(of).is_some()
        };
        match firsts.iter().find(is_beside) {
            Some((first, _)) => leaders[draft.result] = first.result,
            None => firsts.push((draft, runs)),
        }
    }
    leaders
}

/// Bytes of the elements of an op; `None` if they are booleans.
fn width(draft: &Draft, values: &[Virtual]) -> Option<usize> {
    let dtypes = [&draft.result].into_iter().chain(&draft.operands).map(|&value| values[value].dtype);
    // A conversion has the width of its result.
    dtypes.filter(|&dtype| dtype != DType::I1).map(DType::bytes).next()
}

/// The op of an instruction in a chain. Narrower elements are converted as they are read, which excludes
/// constants.
fn native_op(draft: &Draft, values: &[Virtual]) -> Option<native::Op> {
    let width = width(draft, values);
    let other = |value: &Virtual| value.dtype != DType::I1 && Some(value.dtype.bytes()) != width;
    let refused = draft.operands.iter().any(|&value| values[value].constant && other(&values[value]));
    draft.native.filter(|_| !refused)
}

/// Steps of an instruction, if it is a function.
fn steps(draft: &Draft, values: &[Virtual]) -> usize {
    native_op(draft, values).map_or(0, |op| native::steps(op, values[draft.result].dtype))
}

/// Whether an instruction makes a part of a product or quotient of complex numbers.
fn is_part(draft: &Draft, values: &[Virtual]) -> bool {
    matches!(native_op(draft, values), Some(native::Op::Function4(_)))
}

impl Link {
    /// Whether it accepts an instruction that reads these values from outside.
    fn takes(
        &self,
        draft: &Draft,
        from: &[usize],
        values: &[Virtual],
        (leaders, stored): (&[usize], &[bool]),
    ) -> bool {
        let same = match (self.width, width(draft, values)) {
            (Some(mine), Some(other)) => mine == other,
            _ => true,
        };
        // Literals are part of the code.
        let is_argument = |v: &&usize| values[**v].constant && values[**v].literal.is_none();
        let constants = || {
            let more = from.iter().filter(is_argument).filter(|v| !self.constants.contains(v));
            self.constants.iter().filter(is_argument).count() + more.count()
        };
        let fits = |made: usize| {
            let more = from.iter().copied().filter(|&v| !values[v].constant);
            let read = streams(&self.reads.iter().copied().chain(more).collect::<Vec<usize>>(), leaders);
            read <= MAX_READS && read + made <= MAX_STREAMS
        };
        let made = self.stored + usize::from(stored[draft.result]);
        let more = self.steps_of(draft, values);
        self.open
            && native_op(draft, values).is_some()
            && same
            && draft.folded == self.folded
            && draft.phase == self.phase
            && self.members.len() < MAX_OPS
            && (self.steps == 0 || more == 0 || self.steps + more <= MAX_STEPS)
            && fits(made)
            && constants() <= MAX_ARGUMENTS - MAX_STREAMS
    }

    /// Steps that an instruction adds: both parts of a complex number have nearly the same.
    fn steps_of(&self, draft: &Draft, values: &[Virtual]) -> usize {
        match is_part(draft, values) && self.parts.contains(&draft.operands) {
            true => 1,
            false => steps(draft, values),
        }
    }

    /// Records the values that a member reads from outside.
    fn read(&mut self, from: &[usize], values: &[Virtual]) {
        for &value in from {
            let list = if values[value].constant { &mut self.constants } else { &mut self.reads };
            if !list.contains(&value) {
                list.push(value);
            }
        }
    }
}

/// Gathered values that chains alone read, all of which can do so in place and together, with the instruction
/// that gathers each.
fn in_place(links: &[Link], drafts: &[Draft], values: &[Virtual]) -> FxHashMap<usize, usize> {
    let gathered =
        drafts.iter().enumerate().filter_map(|(at, draft)| draft.runs.as_ref().map(|runs| (at, runs)));
    let mut is_gathered = vec![false; values.len()];
    gathered.clone().for_each(|(at, _)| is_gathered[drafts[at].result] = true);
    let gathers = |link: &Link| link.reads.iter().filter(|value| is_gathered[**value]).count().max(1);
    let readable = |&(at, runs): &(usize, &Runs)| {
        let value = drafts[at].result;
        let dtype = values[value].dtype;
        // One element is repeated as it is.
        let fits = |link: &Link| !runs.repeated() || dtype == DType::I1 || link.width == Some(dtype.bytes());
        let reads = |link: &&Link| link.members.iter().any(|&at| drafts[at].operands.contains(&value));
        let wasted = |link: &Link| {
            let work = link.members.len() + link.steps;
            work * runs.waste(native::lanes(link.width.unwrap_or(1))) / gathers(link)
        };
        links.iter().filter(reads).all(|link| link.open && fits(link))
            && links.iter().filter(reads).map(wasted).sum::<usize>() <= WASTED
    };
    let mut kept: Vec<(usize, &Runs)> = vec![];
    for one in gathered.filter(readable) {
        if Runs::are_joint(kept.iter().chain([&one]).map(|(_, runs)| *runs)) {
            kept.push(one);
        }
    }
    kept.into_iter().map(|(at, _)| (drafts[at].result, at)).collect()
}

/// Whether an instruction stores its operand into runs that are gone over together with these.
fn joins(runs: &[(usize, Runs)], draft: &Draft) -> bool {
    let all = |into: &Runs| Runs::are_joint(runs.iter().map(|(_, runs)| runs).chain([into]));
    draft.into.as_ref().is_some_and(all)
}

/// The chain of a link that reads some values where they lie; `None` if it is no gain.
fn joined(
    link: &Link,
    drafts: &[Draft],
    values: &[Virtual],
    in_place: &FxHashMap<usize, usize>,
) -> Option<Joined> {
    if !link.open {
        return None;
    }
    let mut chain = Chain { width: link.width.unwrap_or(1), ..Chain::default() };
    let (mut reads, mut runs, mut writes) = (vec![], vec![], vec![]);
    let mut numbers = vec![usize::MAX; values.len()];
    for &value in link.reads.iter().chain(&link.constants) {
        let Virtual { dtype, constant, literal, .. } = values[value];
        let gather = in_place.get(&value).map(|&at| &drafts[at]);
        let lies = gather.and_then(|gather| gather.runs.as_ref());
        let stream = gather.map_or(value, |gather| gather.operands[0]);
        numbers[value] = chain.values.len();
        // The first one in the same stream that is as far away from all elements of this one.
        let beside = |lies: &Runs| {
            runs.iter_mut().find_map(|(number, of): &mut (usize, Runs)| {
                let bytes = lies.bytes_behind(of).filter(|_| reads[*number] == stream)?;
                *of = of.clone().reaching(bytes);
                let is_there = |(_, value): &(usize, &native::Value)| value.origin.is_argument();
                let at = chain.values.iter().enumerate().filter(is_there).nth(*number)?.0;
                Some(Origin::Beside(at, bytes))
            })
        };
        let origin = match literal {
            Some(literal) => Origin::Literal(literal),
            None if constant || lies.is_some_and(Runs::repeated) => Origin::Repeated,
            None => lies.and_then(beside).unwrap_or(Origin::Elements),
        };
        if origin.is_argument() {
            runs.extend(lies.map(|lies| (reads.len(), lies.clone())));
            reads.push(stream);
        }
        chain.values.push(native::Value { dtype, origin });
    }
    for &at in &link.members {
        let draft = &drafts[at];
        let result = chain.values.len();
        chain.values.push(native::Value { dtype: values[draft.result].dtype, origin: Origin::Made });
        let operands = draft.operands.iter().map(|&value| numbers[value]).collect();
        numbers[draft.result] = result;
        chain.ops.push(native::MicroOp { op: native_op(draft, values)?, operands, result });
    }
    // The readers of each result: other links, members, or none.
    let mut readers = vec![(0, None); values.len()];
    let mut copies = vec![];
    for (at, draft) in drafts.iter().enumerate() {
        let own = link.members.contains(&at);
        for &value in &draft.operands {
            let (inside, outside) = &mut readers[value];
            *inside += usize::from(own);
            if !own {
                // The only outside reader, if it copies the value past the caches, or into runs.
                let stores = draft.past || draft.into.is_some();
                *outside = Some(if outside.is_none() && stores { Some(at) } else { None });
            }
        }
    }
    // Where runs are short, elements that are stored past the caches are copied there a tile at a time.
    let folds = runs.iter().any(|(_, runs)| runs.are_folds());
    let long = || Runs::long_enough(runs.iter().map(|(_, runs)| runs), chain.width);
    let past = !folds || long();
    for result in link.members.iter().map(|&at| drafts[at].result) {
        let copy = readers[result].1.flatten().filter(|_| values[result].location == Location::Register);
        match (readers[result], copy) {
            (_, Some(copy)) if drafts[copy].past && past => {
                chain.past.push(numbers[result]);
                writes.push(drafts[copy].result);
                copies.push(copy);
            }
            (_, Some(copy)) if joins(&runs, &drafts[copy]) => {
                // Results come after what is read.
                runs.extend(drafts[copy].into.clone().map(|into| (reads.len() + writes.len(), into)));
                writes.push(drafts[copy].result);
                copies.push(copy);
            }
            ((inside, None), _) if values[result].location == Location::Register && inside > 0 => continue,
            _ => writes.push(result),
        }
        chain.outputs.push(numbers[result]);
    }
    if !runs.is_empty() {
        chain.nest = Some(Runs::nest(&chain, &runs)?);
    }
    // One op alone is a kernel, but for one that is faster than its kernel, for a copy, where it spares one, and for a
    // function of a literal, of which much is done before.
    let is_literal = |&v: &usize| matches!(chain.values[v].origin, Origin::Literal(_));
    let of_literal = |micro: &native::MicroOp| {
        matches!(micro.op, native::Op::Function2(_) | native::Op::Function4(_))
            && micro.operands.iter().any(is_literal)
    };
    let outruns = |micro: &native::MicroOp| native::outruns(micro.op, chain.values[micro.result].dtype);
    let many = link.members.len() > 1 || chain.ops.iter().any(|micro| of_literal(micro) || outruns(micro));
    let worth = many || !copies.is_empty() || !runs.is_empty();
    (worth && chain.streams() <= MAX_STREAMS).then_some(Joined { chain, reads, runs, writes, copies })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::compile::draft::Location;
    use crate::exec::vm::Kernel;
    use crate::tensor::Layout;

    /// The sum of so many values that are gathered from one stream, in runs of so many elements.
    fn sum_of_gathered(count: usize, len: usize) -> (Vec<Draft>, Vec<Virtual>) {
        let (dtype, mut drafts, mut values) = (DType::F32, vec![], vec![]);
        let mut value = |location| {
            let literal = None;
            values.push(Virtual { location, dtype, last: 0, constant: false, literal, pinned: false });
            values.len() - 1
        };
        let stream = value(Location::Operand(0));
        let mut sum = None;
        for offset in 0..count {
            let (shape, read) = ([len, 7].into(), value(Location::Register));
            let layout = Layout { offset, strides: [1, 200].into_iter().collect() };
            let runs = Runs::of(&shape, &layout, 4);
            let make = move || Kernel::gather(dtype, shape, layout);
            drafts.push(Draft { runs, ..Draft::new(make, vec![stream], read) });
            if let Some(before) = sum {
                let result = value(Location::Register);
                let make = || unreachable!("nothing is run");
                let native = Some(native::Op::Add);
                drafts.push(Draft { native, ..Draft::new(make, vec![before, read], result) });
                sum = Some(result);
            } else {
                sum = Some(read);
            }
        }
        (drafts, values)
    }

    #[test]
    fn gathers_do_not_part_the_readers_of_several() {
        let (drafts, values) = sum_of_gathered(4, 30);
        let links = links(&drafts, &values);
        let members: Vec<&[usize]> = links.iter().map(|link| &*link.members).collect();
        assert_eq!(members, [&[0][..], &[1], &[3], &[5], &[2, 4, 6]]);
    }

    #[test]
    fn what_runs_waste_counts_once_for_all_that_are_read_in_place() {
        for len in [8, 9, 17, 30, 65] {
            for count in [2, 12, 60] {
                let (drafts, values) = sum_of_gathered(count, len);
                let links = links(&drafts, &values);
                assert_eq!(
                    in_place(&links, &drafts, &values).len(),
                    count,
                    "{count} values in runs of {len}"
                );
            }
        }
    }

    #[test]
    fn chains_have_no_more_streams_than_processors_have_registers_for() {
        let dtype = DType::F32;
        let virtual_of =
            |location| Virtual { location, dtype, last: 0, constant: false, literal: None, pinned: false };
        let sum = |operands, result| {
            let make = || unreachable!("nothing is run");
            Draft { native: Some(native::Op::Add), ..Draft::new(make, operands, result) }
        };
        // Sums that are results of the group: a chain has the operand and as many as there is room for.
        let mut values = vec![virtual_of(Location::Operand(0))];
        let mut drafts = vec![];
        for k in 0..14 {
            values.push(virtual_of(Location::Result(k)));
            drafts.push(sum(vec![0, 0], k + 1));
        }
        let found = parted(links(&drafts, &values), &drafts, &values);
        let sizes: Vec<usize> = found.iter().map(|link| link.members.len()).collect();
        assert_eq!(sizes, [MAX_STREAMS - 1, 15 - MAX_STREAMS]);
        // Sums that another chain reads: how many there are is known when all are in chains.
        let mut values = vec![virtual_of(Location::Operand(0))];
        let mut drafts = vec![];
        for k in 0..14 {
            values.push(virtual_of(Location::Register));
            drafts.push(sum(vec![0, 0], k + 1));
        }
        for k in 0..14 {
            values.push(virtual_of(Location::Register));
            drafts.push(Draft { folded: true, ..sum(vec![k + 1, k + 1], k + 15) });
        }
        let wide = links(&drafts, &values);
        assert!(wide.iter().any(|link| link.members.len() == 14));
        let found = parted(wide, &drafts, &values);
        assert!(found.iter().all(|link| link.members.len() < MAX_STREAMS));
        let mut all: Vec<usize> = found.iter().flat_map(|link| link.members.iter().copied()).collect();
        all.sort_unstable();
        assert_eq!(all, (0..28).collect::<Vec<_>>());
    }
}
