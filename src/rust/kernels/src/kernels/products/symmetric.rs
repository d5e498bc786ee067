//! Products of a matrix with its own transpose, such as `t(x) %*% x`: of elements that are the same sums, one is
//! made and the other copied, with the same bits. A product of two factors is the same in either order, also
//! inside of a fused multiply-add.

use super::matrix::Matrix;

/// Rows and columns that are copied together: as many lines as a set of the first-level cache has on all
/// processors, as those of some matrices are all in one set.
const SIDE: usize = 8;

/// Whether `lhs` is the transpose of `rhs`, which has `columns` columns: the same elements of the same memory.
pub fn is_of_itself<T>(lhs: &Matrix<T>, rhs: &Matrix<T>, rows: usize, columns: usize) -> bool {
    let [down, across] = rhs.strides;
    rows == columns
        && lhs.first == rhs.first
        && lhs.strides == [across, down]
        && std::ptr::eq(lhs.data, rhs.data)
}

/// Copies elements below the diagonal of a column-major matrix of `n` rows and columns to those above it.
///
/// # Panics
/// If the matrix has fewer elements.
pub fn mirror<T: Copy>(x: &mut [T], n: usize) {
    let x = &mut x[..n * n];
    for across in (0..n).step_by(SIDE) {
        for down in (0..=across).step_by(SIDE) {
            for j in across..n.min(across + SIDE) {
                for i in down..j.min(down + SIDE) {
                    x[i + j * n] = x[j + i * n];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_above_the_diagonal_are_those_below() {
        for n in [0, 1, 7, 8, 9, 30] {
            let mut x: Vec<usize> = (0..n * n).collect();
            mirror(&mut x, n);
            for (i, j) in (0..n).flat_map(|j| (0..n).map(move |i| (i, j))) {
                assert_eq!(x[i + j * n], i.max(j) + i.min(j) * n);
            }
        }
    }

    #[test]
    fn a_transpose_is_told_from_other_matrices_of_the_same_memory() {
        let x = [0.0; 12];
        let matrix = Matrix::dense(&x, 4);
        assert!(is_of_itself(&matrix.transposed(), &matrix, 3, 3));
        assert!(!is_of_itself(&matrix.transposed(), &matrix, 2, 3));
        assert!(!is_of_itself(&matrix.transposed().from(1, 0), &matrix, 2, 2));
        assert!(!is_of_itself(&matrix, &matrix, 3, 3));
    }
}
