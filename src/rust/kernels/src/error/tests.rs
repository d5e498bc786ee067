//! What errors say.

use super::*;

#[test]
fn text_names_what_came_and_what_to_do() {
    let mismatch = |lhs, rhs| Error::ShapeMismatch { op: "nv_add".into(), lhs, rhs };
    let e = mismatch([2, 1].into(), [1, 2].into());
    let text = e.to_string();
    assert!(text.contains("(2,1) and (1,2)") && text.contains("nv_broadcast_tensors"), "{text}");
    let says = |lhs: &[usize], rhs: &[usize], what: &str| {
        let shape = |sizes: &[usize]| Shape::try_new(sizes.to_vec()).unwrap();
        let text = mismatch(shape(lhs), shape(rhs)).to_string();
        assert!(text.contains(what), "{text}");
    };
    says(&[2, 3], &[3], "as long as they are: 2 or 6, not 3.\ni `nv_broadcast_to(x, c(2, 3))` lays");
    says(&[4], &[2, 3], "2 or 6, not 4.\ni `nv_broadcast_to()` and `nv_reshape()`");
    says(&[2, 3], &[3, 2], "`t()`");
    says(&[2, 3], &[6, 1], "`nv_reshape()`");
    says(&[2], &[3], "equally long");
    says(&[8], &[2], "equally long.\ni `rep_len(x, 8)` repeats the shorter one");
    says(&[2], &[4, 3], "4 or 12, not 2.\ni `rep_len(x, 12)` repeats the shorter one");
    says(&[2, 3], &[4, 5], "`nv_broadcast_to()`");
    assert_eq!(e.class(), "anvil_error_shape");
    assert_eq!(e.fields()[1], ("lhs", Field::Numbers(vec![2.0, 1.0])));
}

#[test]
fn positions_print_from_one() {
    let e = Error::MissingValue { arg: "data".into(), dtype: DType::I32, count: 1, positions: vec![3] };
    assert!(e.to_string().contains("1 missing value, which i32"), "{e}");
    assert!(e.to_string().contains("position 3"), "{e}");
}
