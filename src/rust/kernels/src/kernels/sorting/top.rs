//! The first few elements of each line in order: candidates are kept, and what comes after the last of them
//! is passed over block by block.

use super::keys::Keys;
use super::lines::{by_word, each_line, lines_of, write_lines};
use super::words::{Word, MANY};
use crate::kernels::cast;
use crate::kernels::threads::pool;
use crate::shape::Axis;
use crate::stop;
use crate::tensor::{View, ViewMut};
use std::sync::Mutex;

/// Elements that are passed over at once, and those of a part where one of them is a candidate.
const BLOCK: usize = 256;
const PART: usize = 32;

/// Elements of a line that are searched by one thread: each section has candidates of its own to begin with.
const SECTION: usize = 1 << 17;

/// A key, and the number of its element.
type Candidate = (u64, u32);

/// The numbers, from 0, of the first elements along an axis in order: as many as the result, of `i32`,
/// has there. The dtype is not complex, an axis has fewer than `2^31` elements.
pub fn top(x: &View, axis: Axis, descending: bool, out: &mut ViewMut) {
    let (n, count) = (x.shape[axis.0], out.shape[axis.0]);
    write_lines(out, axis, |lines| {
        by_word!(x.dtype, W => {
            let (all, keys) = (lines_of::<W>(x, axis), Keys::new(x.dtype, descending));
            let find = |number: usize, shared: bool| find(&keys, &all[number * n..][..n], count, shared);
            each_line(cast::slice_mut::<i32>(lines), count, n, |number, line, shared| {
                for (out, (_, at)) in line.iter_mut().zip(find(number, shared)) {
                    *out = at as i32;
                }
            })
        })
    })
}

/// The first `count` elements of a line in order.
fn find<W: Word>(keys: &Keys<W>, line: &[W], count: usize, shared: bool) -> Vec<Candidate> {
    let mut best = Best::new(count);
    // Where most of a section are candidates, a search by several threads spares nothing.
    if shared && line.len() >= MANY && count < SECTION / 4 {
        let sections: Vec<&[W]> = line.chunks(SECTION).collect();
        let found: Vec<Mutex<Vec<Candidate>>> = sections.iter().map(|_| Mutex::default()).collect();
        pool::for_each_piece(sections.len(), true, |i| {
            let mut best = Best::new(count);
            best.search(keys, sections[i], i * SECTION);
            if let Ok(mut found) = found[i].lock() {
                *found = best.candidates;
            }
        });
        for found in found {
            best.candidates.extend(found.into_inner().unwrap_or_default());
            best.cut();
        }
    } else {
        best.search(keys, line, 0);
    }
    best.candidates.sort_unstable();
    best.candidates.truncate(count);
    best.candidates
}

/// The best candidates so far.
struct Best {
    count: usize,
    /// At most twice as many as are wanted, and some more.
    candidates: Vec<Candidate>,
    /// A later element with this key or a larger one is none.
    limit: u64,
}

impl Best {
    fn new(count: usize) -> Best {
        Best { count, candidates: Vec::new(), limit: u64::MAX }
    }

    /// Takes the elements of a section of a line, the first of which has this number.
    fn search<W: Word>(&mut self, keys: &Keys<W>, section: &[W], first: usize) {
        for (i, block) in section.chunks(BLOCK).enumerate() {
            stop::work(block.len());
            if self.passes_over(keys, block) {
                continue;
            }
            for (j, part) in block.chunks(PART).enumerate() {
                if !self.passes_over(keys, part) {
                    self.take(keys, part, first + i * BLOCK + j * PART);
                }
            }
        }
    }

    /// Whether none of these elements is a candidate.
    fn passes_over<W: Word>(&self, keys: &Keys<W>, elements: &[W]) -> bool {
        // Before there is a limit it is larger than most keys.
        let limit = if self.limit == u64::MAX { W::HIGHEST } else { W::from_u64(self.limit) };
        self.is_full() && !keys.any_before(elements, limit)
    }

    /// Takes the elements of a part that are candidates.
    fn take<W: Word>(&mut self, keys: &Keys<W>, elements: &[W], first: usize) {
        let mut part = [W::default(); PART];
        let part = &mut part[..elements.len()];
        part.copy_from_slice(elements);
        keys.encode(part);
        for (key, number) in part.iter().zip(first..) {
            let key: u64 = key.convert();
            if key < self.limit || !self.is_full() {
                self.candidates.push((key, number as u32));
            }
        }
        self.cut();
    }

    /// Whether there are as many as are wanted.
    fn is_full(&self) -> bool {
        self.candidates.len() >= self.count
    }

    /// Drops the worst candidates if there are too many, and finds the limit.
    fn cut(&mut self) {
        if self.count == 0 {
            self.candidates.clear();
        } else if self.candidates.len() >= 2 * self.count {
            let (_, last, _) = self.candidates.select_nth_unstable(self.count - 1);
            self.limit = last.0;
            self.candidates.truncate(self.count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::kernels::sorting::lines::order;
    use crate::shape::Shape;
    use crate::tensor::Layout;

    #[test]
    fn the_top_is_the_begin_of_the_order() {
        for n in [1, 300, 5_000, 2 * MANY + 17] {
            // Few different numbers, so that there are ties.
            let x: Vec<f32> =
                (0..2 * n).map(|i| if i % 11 == 3 { f32::NAN } else { (i * 7919 % 1009) as f32 }).collect();
            for (axis, sizes) in [(Axis(0), [n, 2]), (Axis(1), [2, n])] {
                let shape = Shape::from(sizes);
                let layout = Layout::dense(&shape);
                let x = View { dtype: DType::F32, shape: &shape, layout: &layout, data: cast::bytes(&x) };
                for descending in [false, true] {
                    let mut all = vec![0i32; 2 * n];
                    let data = cast::bytes_mut(&mut all);
                    order(&[x], &[descending], axis, &mut ViewMut { dtype: DType::I32, shape: &shape, data });
                    for count in [0, 1, 2, 20, 4_000, n].into_iter().filter(|&count| count <= n) {
                        let mut sizes = sizes;
                        sizes[axis.0] = count;
                        let short = Shape::from(sizes);
                        let mut found = vec![0i32; 2 * count];
                        let data = cast::bytes_mut(&mut found);
                        top(&x, axis, descending, &mut ViewMut { dtype: DType::I32, shape: &short, data });
                        let want: Vec<i32> = if axis == Axis(0) {
                            [&all[..count], &all[n..n + count]].concat()
                        } else {
                            all[..2 * count].to_vec()
                        };
                        assert!(found == want, "{n} {count} {descending}");
                    }
                }
            }
        }
    }
}
