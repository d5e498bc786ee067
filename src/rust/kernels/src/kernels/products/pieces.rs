//! How a product is cut into pieces of its result, which threads share. No sum depends on it.

/// Rows of the result in a piece of work, at most.
const ROWS: usize = 256;

/// Columns of the result in a piece of work, at most: the fewer, the more evenly threads share them, but the
/// more often kernels copy the rows of an operand. So the larger result has more.
const COLUMNS: [usize; 3] = [64, 128, 256];

/// Elements of a large result.
const LARGE: usize = 1 << 20;

/// Rows and columns in a large piece of work, at most, for products that copy lines of both operands: the larger
/// it is, the less often. Of a product of 1000 rows and columns, pieces of 256 times 128 took a fifth of the time
/// for copies, and pieces of 512 times 256 a tenth. Multiples of [`AT_ONCE`].
const COPIED: [[usize; 2]; 3] = [[528, 528], [528, 264], [288, 264]];

/// Large pieces that a thread has of a product, at least, so that threads end at about the same time.
const PER_THREAD: usize = 4;

/// What rows and columns of a large piece are multiples of: as many as kernels make at once, of all kinds.
const AT_ONCE: [usize; 2] = [48, 24];

/// Rows and columns in a piece of each result of a batch, of these sizes, for so many threads. No sum depends on pieces.
pub fn piece(b: usize, sizes: [usize; 2], copies: bool, threads: usize) -> [usize; 2] {
    let mut piece = of_one(sizes, copies, threads);
    if b > 1 && piece == sizes {
        // Each thread has a part of the longer side of every one.
        let longer = usize::from(sizes[1] > sizes[0]);
        piece[longer] = piece[longer].div_ceil(threads);
    }
    piece
}

/// Those of a result by itself.
fn of_one([m, n]: [usize; 2], copies: bool, threads: usize) -> [usize; 2] {
    if copies && threads == 1 {
        return [m, n];
    }
    // Alike, as the last ones would else be small.
    let even = |most: [usize; 2]| {
        [0, 1].map(|i| {
            [m, n][i].div_ceil([m, n][i].div_ceil(most[i])).next_multiple_of(AT_ONCE[i]).min([m, n][i])
        })
    };
    let enough =
        |[rows, columns]: &[usize; 2]| m.div_ceil(*rows) * n.div_ceil(*columns) >= PER_THREAD * threads;
    if let Some(large) = COPIED.into_iter().map(even).find(enough).filter(|_| copies) {
        return large;
    }
    let few = m.div_ceil(ROWS) * n.div_ceil(COLUMNS[1]) < 4;
    [ROWS.min(m), COLUMNS[if m * n >= LARGE { 2 } else { 1 - few as usize }].min(n)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_as_large_as_threads_let_them_be() {
        let pieces = |n, threads| piece(1, [n, n], true, threads);
        assert_eq!(pieces(1000, 1), [1000, 1000]);
        assert_eq!(pieces(1000, 2), [528, 264]);
        assert_eq!(pieces(2000, 2), [528, 504]);
        assert_eq!(piece(8, [128, 32], true, 2), [64, 32]);
        // Each of two threads would have two of them.
        assert_eq!(pieces(500, 2), [256, 128]);
        for (m, n, threads) in [(1, 10_000, 3), (10_000, 7, 2), (513, 513, 4), (4000, 100, 64)] {
            let [rows, columns] = piece(1, [m, n], true, threads);
            assert!((1..=m).contains(&rows) && (1..=n).contains(&columns));
            assert!(rows <= COPIED[0][0] && columns <= COPIED[0][1]);
        }
    }
}
