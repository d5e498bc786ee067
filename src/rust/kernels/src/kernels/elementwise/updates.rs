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

/// Whether most places are those of their neighbours.
fn repeats(places: &[u32]) -> bool {
    wide(|| {
        let pairs = places.iter().zip(places.iter().skip(1));
        2 * pairs.map(|(a, b)| u32::from(a == b)).sum::<u32>() as usize > places.len()
    })
}
