//! Elements at places, updated by others.

use crate::kernels::wide::wide;

/// Updates elements at places in order, by `one(old, new)`. Places beyond the elements are left out, that of none among
/// them.
#[inline(always)]
pub(super) fn update_each<T: Copy>(elements: &mut [T], places: &[u32], new: &[T], one: impl Fn(T, T) -> T) {
    if !repeats(places) {
        for (&place, &new) in places.iter().zip(new) {
            if let Some(old) = elements.get_mut(place as usize) {
                *old = one(*old, new);
            }
        }
        return;
    }
    // What one place gets in succession does not wait for memory each time.
    let mut updates = places.iter().zip(new).peekable();
    while let Some((&place, &first)) = updates.next() {
        let Some(slot) = elements.get_mut(place as usize) else { continue };
        let mut value = one(*slot, first);
        while let Some((_, &new)) = updates.next_if(|(&next, _)| next == place) {
            value = one(value, new);
        }
        *slot = value;
    }
}

/// As [`update_each`], of elements that take a cycle or few to combine. Places that ascend, as those of a sorted list of
/// rows, are updated in some streams at once, which have no place in common.
#[inline(always)]
pub(super) fn update_cheap<T: Copy>(elements: &mut [T], places: &[u32], new: &[T], one: impl Fn(T, T) -> T) {
    let new = &new[..places.len()];
    let Some(starts) = streams(places, elements.len()) else {
        return update_each(elements, places, new, one);
    };
    let common = (0..STREAMS).map(|i| starts[i + 1] - starts[i]).min().unwrap_or(0);
    let elements = elements.as_mut_ptr();
    let update = |at: usize| {
        // SAFETY: `streams` says that each is among the places, and these among the elements.
        unsafe {
            let slot = elements.add(*places.get_unchecked(at) as usize);
            *slot = one(*slot, *new.get_unchecked(at));
        }
    };
    // One stream after the other would wait for each store to be read again, or guess where places change.
    (0..common).for_each(|i| starts[..STREAMS].iter().for_each(|start| update(start + i)));
    for i in 0..STREAMS {
        (starts[i] + common..starts[i + 1]).for_each(&update);
    }
}

/// Streams of updates: as many as the updates that begin while one that was stored is read again.
const STREAMS: usize = 8;

/// Updates that one place gets in succession, at most, on average: of more, their sums are better held in registers.
const LONG: usize = 12;

/// Where streams of updates begin, and where the last ends, if places ascend and are those of so many elements, and few are
/// the same: a place is in one stream alone.
fn streams(places: &[u32], elements: usize) -> Option<[usize; STREAMS + 1]> {
    let &last = places.last()?;
    if last as usize >= elements || places.len() < 8 * STREAMS || !repeats(places) {
        return None;
    }
    let (ascend, changes) = wide(|| {
        let pairs = places.iter().zip(places.iter().skip(1));
        pairs.fold((true, 0), |(ascend, changes), (a, b)| (ascend & (a <= b), changes + u32::from(a != b)))
    });
    if !ascend || changes as usize * LONG < places.len() {
        return None;
    }
    let mut starts = [0; STREAMS + 1];
    for i in 1..STREAMS {
        let at = (places.len() * i / STREAMS).max(starts[i - 1]);
        let same = places[at..].iter().take_while(|&&place| place == places[at - 1]).count();
        starts[i] = at + same;
    }
    starts[STREAMS] = places.len();
    Some(starts)
}

/// Places of which it is seen whether they repeat.
const SEEN: usize = 64;

/// Whether most places are those of their neighbours: of the first ones.
pub(in crate::kernels) fn repeats(places: &[u32]) -> bool {
    let places = &places[..places.len().min(SEEN)];
    wide(|| {
        let pairs = places.iter().zip(places.iter().skip(1));
        2 * pairs.map(|(a, b)| u32::from(a == b)).sum::<u32>() as usize > places.len()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Updates whose order shows, in order and by the function.
    fn check(elements: usize, places: &[u32]) {
        let new: Vec<f64> =
            (0..places.len()).map(|i| [1e16, 1.0, -3.7, f64::NAN, -1e16, -0.0][i * i % 6]).collect();
        let mut want = vec![0.5; elements];
        for (&place, new) in places.iter().zip(&new) {
            if let Some(old) = want.get_mut(place as usize) {
                *old += new;
            }
        }
        let (mut made, mut cheap) = (vec![0.5; elements], vec![0.5; elements]);
        update_each(&mut made, places, &new, |x, y| x + y);
        update_cheap(&mut cheap, places, &new, |x, y| x + y);
        for got in [made, cheap] {
            assert!(got.iter().zip(&want).all(|(a, b)| a.to_bits() == b.to_bits()), "{elements} {places:?}");
        }
    }

    #[test]
    fn updates_are_made_in_order_however_places_repeat() {
        let mut state = 7u64;
        let mut below = |n: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % n
        };
        for len in [0, 1, 5, 63, 64, 65, 200, 256, 1024] {
            for elements in [1, 2, 9, 40, 130, 2000] {
                let mut places: Vec<u32> = (0..len).map(|_| below(elements) as u32).collect();
                check(elements, &places);
                places.sort_unstable();
                check(elements, &places);
                // Some beyond the elements, at the end, and anywhere.
                check(elements.div_ceil(2), &places);
                if len > 0 {
                    places[below(len)] = u32::MAX;
                    check(elements, &places);
                    places[len - 1] = places[0];
                    check(elements, &places);
                }
            }
        }
    }
}
