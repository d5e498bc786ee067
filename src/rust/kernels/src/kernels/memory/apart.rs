//! Whether what a step writes is apart from all else that it reads and writes.

use std::ops::Range;

/// The addresses of some bytes, and whether they are written.
pub(super) struct Placed {
    pub bytes: Range<usize>,
    pub written: bool,
}

/// Whether nothing that is written has bytes in common with anything else. It is visited in the order of its
/// addresses, in a list that is used again: where each was compared with each, that took a quarter of a call
/// with 16 operands and 20 results.
pub(super) fn are_apart(order: &mut Vec<Placed>, all: impl Iterator<Item = Placed>) -> bool {
    order.clear();
    order.extend(all.filter(|x| !x.bytes.is_empty()));
    order.sort_unstable_by_key(|x| x.bytes.start);
    // The ends of what was written before, and of all before.
    let (mut of_written, mut of_all) = (0, 0);
    order.iter().all(|Placed { bytes, written }| {
        let apart = bytes.start >= if *written { of_all } else { of_written };
        of_all = of_all.max(bytes.end);
        if *written {
            of_written = of_written.max(bytes.end);
        }
        apart
    })
}

/// Whether they have bytes in common.
pub(super) fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start.max(b.start) < a.end.min(b.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_are_as_apart_as_each_is_from_each() {
        let mut state = 7u32;
        let mut below = |n: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((state >> 16) % n) as usize
        };
        let mut seen = [0, 0];
        for _ in 0..5_000 {
            let mut one = || {
                let start = below(56);
                start..start + below(5)
            };
            let [reads, writes]: [[Range<usize>; 3]; 2] = [(); 2].map(|()| [(); 3].map(|()| one()));
            let apart = (0..3).all(|i| writes[..i].iter().chain(&reads).all(|x| !overlap(x, &writes[i])));
            let placed = |written| move |bytes: &Range<usize>| Placed { bytes: bytes.clone(), written };
            let all = reads.iter().map(placed(false)).chain(writes.iter().map(placed(true)));
            assert_eq!(are_apart(&mut vec![], all), apart, "{reads:?} {writes:?}");
            seen[usize::from(apart)] += 1;
        }
        assert!(seen.iter().all(|&count| count > 500), "{seen:?}");
    }
}
