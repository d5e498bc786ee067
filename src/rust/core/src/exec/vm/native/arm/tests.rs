//! Each instruction against the word that the GNU assembler makes of its text, which is beside it.

use super::assembler::{Assembler, Source};
use super::opcodes::*;

/// The words that are written.
fn words(write: impl FnOnce(&mut Assembler)) -> Vec<u32> {
    let mut assembler = Assembler::default();
    write(&mut assembler);
    let len = assembler.here();
    let code = assembler.finish().expect("nothing is far");
    code[..len].chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

#[test]
fn instructions_on_vectors_are_those_of_their_text() {
    let all = [
        (AND, "and v1.16b, v2.16b, v3.16b", 0x4E23_1C41),
        (AND_NOT, "bic v1.16b, v2.16b, v3.16b", 0x4E63_1C41),
        (OR, "orr v1.16b, v2.16b, v3.16b", 0x4EA3_1C41),
        (XOR, "eor v1.16b, v2.16b, v3.16b", 0x6E23_1C41),
        (SELECT, "bsl v1.16b, v2.16b, v3.16b", 0x6E63_1C41),
        (INSERT, "bit v1.16b, v2.16b, v3.16b", 0x6EA3_1C41),
        (INSERT_NOT, "bif v1.16b, v2.16b, v3.16b", 0x6EE3_1C41),
        (NOT, "mvn v1.16b, v3.16b", 0x6E20_5861),
        (ADD.of(1), "add v1.16b, v2.16b, v3.16b", 0x4E23_8441),
        (ADD.of(2), "add v1.8h, v2.8h, v3.8h", 0x4E63_8441),
        (ADD.of(4), "add v1.4s, v2.4s, v3.4s", 0x4EA3_8441),
        (ADD.of(8), "add v1.2d, v2.2d, v3.2d", 0x4EE3_8441),
        (SUB.of(1), "sub v1.16b, v2.16b, v3.16b", 0x6E23_8441),
        (SUB.of(2), "sub v1.8h, v2.8h, v3.8h", 0x6E63_8441),
        (SUB.of(4), "sub v1.4s, v2.4s, v3.4s", 0x6EA3_8441),
        (SUB.of(8), "sub v1.2d, v2.2d, v3.2d", 0x6EE3_8441),
        (MUL.of(1), "mul v1.16b, v2.16b, v3.16b", 0x4E23_9C41),
        (MUL.of(2), "mul v1.8h, v2.8h, v3.8h", 0x4E63_9C41),
        (MUL.of(4), "mul v1.4s, v2.4s, v3.4s", 0x4EA3_9C41),
        (EQ.of(1), "cmeq v1.16b, v2.16b, v3.16b", 0x6E23_8C41),
        (EQ.of(2), "cmeq v1.8h, v2.8h, v3.8h", 0x6E63_8C41),
        (EQ.of(4), "cmeq v1.4s, v2.4s, v3.4s", 0x6EA3_8C41),
        (EQ.of(8), "cmeq v1.2d, v2.2d, v3.2d", 0x6EE3_8C41),
        (GT.of(1), "cmgt v1.16b, v2.16b, v3.16b", 0x4E23_3441),
        (GT.of(2), "cmgt v1.8h, v2.8h, v3.8h", 0x4E63_3441),
        (GT.of(4), "cmgt v1.4s, v2.4s, v3.4s", 0x4EA3_3441),
        (GT.of(8), "cmgt v1.2d, v2.2d, v3.2d", 0x4EE3_3441),
        (GE.of(1), "cmge v1.16b, v2.16b, v3.16b", 0x4E23_3C41),
        (GE.of(2), "cmge v1.8h, v2.8h, v3.8h", 0x4E63_3C41),
        (GE.of(4), "cmge v1.4s, v2.4s, v3.4s", 0x4EA3_3C41),
        (GE.of(8), "cmge v1.2d, v2.2d, v3.2d", 0x4EE3_3C41),
        (GT_UNSIGNED.of(1), "cmhi v1.16b, v2.16b, v3.16b", 0x6E23_3441),
        (GT_UNSIGNED.of(2), "cmhi v1.8h, v2.8h, v3.8h", 0x6E63_3441),
        (GT_UNSIGNED.of(4), "cmhi v1.4s, v2.4s, v3.4s", 0x6EA3_3441),
        (GT_UNSIGNED.of(8), "cmhi v1.2d, v2.2d, v3.2d", 0x6EE3_3441),
        (GE_UNSIGNED.of(1), "cmhs v1.16b, v2.16b, v3.16b", 0x6E23_3C41),
        (GE_UNSIGNED.of(2), "cmhs v1.8h, v2.8h, v3.8h", 0x6E63_3C41),
        (GE_UNSIGNED.of(4), "cmhs v1.4s, v2.4s, v3.4s", 0x6EA3_3C41),
        (GE_UNSIGNED.of(8), "cmhs v1.2d, v2.2d, v3.2d", 0x6EE3_3C41),
        (MAX.of(1), "smax v1.16b, v2.16b, v3.16b", 0x4E23_6441),
        (MAX.of(2), "smax v1.8h, v2.8h, v3.8h", 0x4E63_6441),
        (MAX.of(4), "smax v1.4s, v2.4s, v3.4s", 0x4EA3_6441),
        (MIN.of(1), "smin v1.16b, v2.16b, v3.16b", 0x4E23_6C41),
        (MIN.of(2), "smin v1.8h, v2.8h, v3.8h", 0x4E63_6C41),
        (MIN.of(4), "smin v1.4s, v2.4s, v3.4s", 0x4EA3_6C41),
        (MAX_UNSIGNED.of(1), "umax v1.16b, v2.16b, v3.16b", 0x6E23_6441),
        (MAX_UNSIGNED.of(2), "umax v1.8h, v2.8h, v3.8h", 0x6E63_6441),
        (MAX_UNSIGNED.of(4), "umax v1.4s, v2.4s, v3.4s", 0x6EA3_6441),
        (MIN_UNSIGNED.of(1), "umin v1.16b, v2.16b, v3.16b", 0x6E23_6C41),
        (MIN_UNSIGNED.of(2), "umin v1.8h, v2.8h, v3.8h", 0x6E63_6C41),
        (MIN_UNSIGNED.of(4), "umin v1.4s, v2.4s, v3.4s", 0x6EA3_6C41),
        (SHIFT.of(4), "ushl v1.4s, v2.4s, v3.4s", 0x6EA3_4441),
        (SHIFT.of(8), "ushl v1.2d, v2.2d, v3.2d", 0x6EE3_4441),
        (SHIFT_SIGNED.of(4), "sshl v1.4s, v2.4s, v3.4s", 0x4EA3_4441),
        (SHIFT_SIGNED.of(8), "sshl v1.2d, v2.2d, v3.2d", 0x4EE3_4441),
        (NEGATE.of(1), "neg v1.16b, v3.16b", 0x6E20_B861),
        (NEGATE.of(2), "neg v1.8h, v3.8h", 0x6E60_B861),
        (NEGATE.of(4), "neg v1.4s, v3.4s", 0x6EA0_B861),
        (NEGATE.of(8), "neg v1.2d, v3.2d", 0x6EE0_B861),
        (ABS.of(1), "abs v1.16b, v3.16b", 0x4E20_B861),
        (ABS.of(2), "abs v1.8h, v3.8h", 0x4E60_B861),
        (ABS.of(4), "abs v1.4s, v3.4s", 0x4EA0_B861),
        (ABS.of(8), "abs v1.2d, v3.2d", 0x4EE0_B861),
        (EXCHANGE, "rev64 v1.4s, v3.4s", 0x4EA0_0861),
        (ADD_PAIRS, "uaddlp v1.2d, v3.4s", 0x6EA0_2861),
        (ADD_PRODUCTS, "umlal v1.2d, v2.2s, v3.2s", 0x2EA3_8041),
        (NARROW.of(1), "xtn v1.8b, v3.8h", 0x0E21_2861),
        (extend(1, true), "sxtl v1.8h, v3.8b", 0x0F08_A461),
        (extend(1, false), "uxtl v1.8h, v3.8b", 0x2F08_A461),
        (NARROW.of(2), "xtn v1.4h, v3.4s", 0x0E61_2861),
        (extend(2, true), "sxtl v1.4s, v3.4h", 0x0F10_A461),
        (extend(2, false), "uxtl v1.4s, v3.4h", 0x2F10_A461),
        (NARROW.of(4), "xtn v1.2s, v3.2d", 0x0EA1_2861),
        (extend(4, true), "sxtl v1.2d, v3.2s", 0x0F20_A461),
        (extend(4, false), "uxtl v1.2d, v3.2s", 0x2F20_A461),
        (FLOAT_ADD.on_doubles(false), "fadd v1.4s, v2.4s, v3.4s", 0x4E23_D441),
        (FLOAT_ADD.on_doubles(true), "fadd v1.2d, v2.2d, v3.2d", 0x4E63_D441),
        (FLOAT_SUB.on_doubles(false), "fsub v1.4s, v2.4s, v3.4s", 0x4EA3_D441),
        (FLOAT_SUB.on_doubles(true), "fsub v1.2d, v2.2d, v3.2d", 0x4EE3_D441),
        (FLOAT_MUL.on_doubles(false), "fmul v1.4s, v2.4s, v3.4s", 0x6E23_DC41),
        (FLOAT_MUL.on_doubles(true), "fmul v1.2d, v2.2d, v3.2d", 0x6E63_DC41),
        (FLOAT_DIV.on_doubles(false), "fdiv v1.4s, v2.4s, v3.4s", 0x6E23_FC41),
        (FLOAT_DIV.on_doubles(true), "fdiv v1.2d, v2.2d, v3.2d", 0x6E63_FC41),
        (MUL_ADD.on_doubles(false), "fmla v1.4s, v2.4s, v3.4s", 0x4E23_CC41),
        (MUL_ADD.on_doubles(true), "fmla v1.2d, v2.2d, v3.2d", 0x4E63_CC41),
        (MUL_SUB.on_doubles(false), "fmls v1.4s, v2.4s, v3.4s", 0x4EA3_CC41),
        (MUL_SUB.on_doubles(true), "fmls v1.2d, v2.2d, v3.2d", 0x4EE3_CC41),
        (FLOAT_EQ.on_doubles(false), "fcmeq v1.4s, v2.4s, v3.4s", 0x4E23_E441),
        (FLOAT_EQ.on_doubles(true), "fcmeq v1.2d, v2.2d, v3.2d", 0x4E63_E441),
        (FLOAT_GE.on_doubles(false), "fcmge v1.4s, v2.4s, v3.4s", 0x6E23_E441),
        (FLOAT_GE.on_doubles(true), "fcmge v1.2d, v2.2d, v3.2d", 0x6E63_E441),
        (FLOAT_GT.on_doubles(false), "fcmgt v1.4s, v2.4s, v3.4s", 0x6EA3_E441),
        (FLOAT_GT.on_doubles(true), "fcmgt v1.2d, v2.2d, v3.2d", 0x6EE3_E441),
        (SQRT.on_doubles(false), "fsqrt v1.4s, v3.4s", 0x6EA1_F861),
        (SQRT.on_doubles(true), "fsqrt v1.2d, v3.2d", 0x6EE1_F861),
        (NEAREST.on_doubles(false), "frintn v1.4s, v3.4s", 0x4E21_8861),
        (NEAREST.on_doubles(true), "frintn v1.2d, v3.2d", 0x4E61_8861),
        (DOWN.on_doubles(false), "frintm v1.4s, v3.4s", 0x4E21_9861),
        (DOWN.on_doubles(true), "frintm v1.2d, v3.2d", 0x4E61_9861),
        (UP.on_doubles(false), "frintp v1.4s, v3.4s", 0x4EA1_8861),
        (UP.on_doubles(true), "frintp v1.2d, v3.2d", 0x4EE1_8861),
        (TO_ZERO.on_doubles(false), "frintz v1.4s, v3.4s", 0x4EA1_9861),
        (TO_ZERO.on_doubles(true), "frintz v1.2d, v3.2d", 0x4EE1_9861),
        (FLOATS.on_doubles(false), "scvtf v1.4s, v3.4s", 0x4E21_D861),
        (FLOATS.on_doubles(true), "scvtf v1.2d, v3.2d", 0x4E61_D861),
        (WIDEN, "fcvtl v1.2d, v3.2s", 0x0E61_7861),
        (WIDEN_UPPER, "fcvtl2 v1.2d, v3.4s", 0x4E61_7861),
        (SINGLES, "fcvtn v1.2s, v3.2d", 0x0E61_6861),
        (SINGLES_UPPER, "fcvtn2 v1.4s, v3.2d", 0x4E61_6861),
        (shift_left(32, 0), "shl v1.4s, v3.4s, 0", 0x4F20_5461),
        (shift_left(32, 7), "shl v1.4s, v3.4s, 7", 0x4F27_5461),
        (shift_left(32, 31), "shl v1.4s, v3.4s, 31", 0x4F3F_5461),
        (shift_right(32, 1), "ushr v1.4s, v3.4s, 1", 0x6F3F_0461),
        (shift_right(32, 7), "ushr v1.4s, v3.4s, 7", 0x6F39_0461),
        (shift_right(32, 32), "ushr v1.4s, v3.4s, 32", 0x6F20_0461),
        (shift_left(64, 0), "shl v1.2d, v3.2d, 0", 0x4F40_5461),
        (shift_left(64, 7), "shl v1.2d, v3.2d, 7", 0x4F47_5461),
        (shift_left(64, 63), "shl v1.2d, v3.2d, 63", 0x4F7F_5461),
        (shift_right(64, 1), "ushr v1.2d, v3.2d, 1", 0x6F7F_0461),
        (shift_right(64, 7), "ushr v1.2d, v3.2d, 7", 0x6F79_0461),
        (shift_right(64, 64), "ushr v1.2d, v3.2d, 64", 0x6F40_0461),
        (LOAD, "mov v1.16b, v3.16b", 0x4EA3_1C61),
    ];
    for (instruction, text, word) in all {
        let got = words(|a| a.vector(instruction, 1, 2, Source::Register(3)));
        assert_eq!(got, [word], "{text}: {got:x?}, not {word:x}");
    }
}

#[test]
fn other_instructions_are_those_of_their_text() {
    let check = |write: fn(&mut Assembler), want: &[(&str, u32)]| {
        let got = words(write);
        let want_words: Vec<u32> = want.iter().map(|&(_, word)| word).collect();
        assert_eq!(got, want_words, "{got:x?}, not {want:x?}");
    };
    check(|a| a.vector(ADD.of(4), 7, 8, Source::Register(21)), &[("add v7.4s, v16.4s, v29.4s", 0x4EBD_8607)]);
    check(
        |a| a.vector(ADD.of(4), 1, 2, Source::Stack(32)),
        &[("ldr q31, [sp, 32]", 0x3DC0_0BFF), ("add v1.4s, v2.4s, v31.4s", 0x4EBF_8441)],
    );
    check(|a| a.load(16, 9, Source::At { base: 15, offset: 48 }), &[("ldr q17, [x15, 48]", 0x3DC0_0DF1)]);
    check(|a| a.load(8, 1, Source::At { base: 15, offset: 48 }), &[("ldr d1, [x15, 48]", 0xFD40_19E1)]);
    check(
        |a| a.load(4, 1, Source::At { base: 15, offset: 4095 * 4 }),
        &[("ldr s1, [x15, 16380]", 0xBD7F_FDE1)],
    );
    check(|a| a.load(2, 1, Source::At { base: 15, offset: 6 }), &[("ldr h1, [x15, 6]", 0x7D40_0DE1)]);
    check(|a| a.load(1, 1, Source::At { base: 15, offset: 1 }), &[("ldr b1, [x15, 1]", 0x3D40_05E1)]);
    check(|a| a.load(8, 1, Source::At { base: 15, offset: -8 }), &[("ldur d1, [x15, -8]", 0xFC5F_81E1)]);
    check(|a| a.load(16, 1, Source::At { base: 15, offset: 20 }), &[("ldur q1, [x15, 20]", 0x3CC1_41E1)]);
    check(
        |a| a.load(4, 1, Source::At { base: 15, offset: -300 }),
        &[
            ("mov x16, -300", 0x9280_2570),
            ("add x16, x15, x16, uxtx", 0x8B30_61F0),
            ("ldr s1, [x16]", 0xBD40_0201),
        ],
    );
    check(
        |a| a.load(16, 1, Source::Stack(0x12340)),
        &[
            ("movz x16, 0x2340", 0xD284_6810),
            ("movk x16, 1, lsl 16", 0xF2A0_0030),
            ("add x16, sp, x16", 0x8B30_63F0),
            ("ldr q1, [x16]", 0x3DC0_0201),
        ],
    );
    check(
        |a| a.load(1, 1, Source::Element { base: 2, scale: 1, offset: 0 }),
        &[("ldr b1, [x2, x9]", 0x3C69_6841)],
    );
    check(
        |a| a.load(2, 1, Source::Element { base: 2, scale: 2, offset: 0 }),
        &[("ldr h1, [x2, x9, lsl 1]", 0x7C69_7841)],
    );
    check(
        |a| a.load(4, 1, Source::Element { base: 2, scale: 4, offset: 0 }),
        &[("ldr s1, [x2, x9, lsl 2]", 0xBC69_7841)],
    );
    check(
        |a| a.load(8, 1, Source::Element { base: 2, scale: 8, offset: 0 }),
        &[("ldr d1, [x2, x9, lsl 3]", 0xFC69_7841)],
    );
    check(
        |a| a.load(16, 1, Source::Element { base: 2, scale: 1, offset: 0 }),
        &[("ldr q1, [x2, x9]", 0x3CE9_6841)],
    );
    check(
        |a| a.load(16, 1, Source::Element { base: 2, scale: 4, offset: 16 }),
        &[("add x16, x2, x9, lsl 2", 0x8B09_0850), ("ldr q1, [x16, 16]", 0x3DC0_0601)],
    );
    check(
        |a| a.load(8, 1, Source::Element { base: 2, scale: 8, offset: 40000 }),
        &[
            ("add x16, x2, x9, lsl 3", 0x8B09_0C50),
            ("movz x17, 40000", 0xD293_8811),
            ("add x17, x16, x17, uxtx", 0x8B31_6211),
            ("ldr d1, [x17]", 0xFD40_0221),
        ],
    );
    check(
        |a| a.store(16, 1, Source::Element { base: 13, scale: 8, offset: 0 }),
        &[("add x16, x13, x9, lsl 3", 0x8B09_0DB0), ("str q1, [x16]", 0x3D80_0201)],
    );
    check(
        |a| a.store(8, 1, Source::Element { base: 2, scale: 8, offset: 0 }),
        &[("str d1, [x2, x9, lsl 3]", 0xFC29_7841)],
    );
    check(|a| a.store(4, 1, Source::At { base: 15, offset: 48 }), &[("str s1, [x15, 48]", 0xBD00_31E1)]);
    check(|a| a.store(2, 1, Source::At { base: 15, offset: -1 }), &[("stur h1, [x15, -1]", 0x7C1F_F1E1)]);
    check(|a| a.vector(STORE, 1, 0, Source::Stack(16)), &[("str q1, [sp, 16]", 0x3D80_07E1)]);
    check(|a| a.vector(STORE, 1, 0, Source::Register(2)), &[("mov v2.16b, v1.16b", 0x4EA1_1C22)]);
    check(|a| a.vector(LOAD, 1, 0, Source::Register(1)), &[]);
    check(|a| a.repeat(1, 1), &[("ld1r {v1.16b}, [x9]", 0x4D40_C121)]);
    check(|a| a.repeat(2, 1), &[("ld1r {v1.8h}, [x9]", 0x4D40_C521)]);
    check(|a| a.repeat(4, 1), &[("ld1r {v1.4s}, [x9]", 0x4D40_C921)]);
    check(|a| a.repeat(8, 1), &[("ld1r {v1.2d}, [x9]", 0x4D40_CD21)]);
    check(|a| a.test(1, false), &[("umaxv s31, v1.4s", 0x6EB0_A83F), ("fmov w16, s31", 0x1E26_03F0)]);
    check(|a| a.test(1, true), &[("fmov w16, s1", 0x1E26_0030)]);
    check(|a| a.float(1, false), &[("scvtf s1, x14", 0x9E22_01C1)]);
    check(|a| a.float(1, true), &[("scvtf d1, x14", 0x9E62_01C1)]);
    check(
        |a| {
            a.begin(3);
        },
        &[
            ("stp x29, x30, [sp, -16]!", 0xA9BF_7BFD),
            ("mov x29, sp", 0x9100_03FD),
            ("movz x16, 0", 0xD280_0010),
            ("movk x16, 0, lsl 16", 0xF2A0_0010),
            ("sub sp, sp, x16", 0xCB30_63FF),
        ],
    );
    check(
        |a| {
            let at = a.begin(3);
            a.set_stack(at, 0x12340 - 8);
        },
        &[
            ("stp x29, x30, [sp, -16]!", 0xA9BF_7BFD),
            ("mov x29, sp", 0x9100_03FD),
            ("movz x16, 0x2340", 0xD284_6810),
            ("movk x16, 1, lsl 16", 0xF2A0_0030),
            ("sub sp, sp, x16", 0xCB30_63FF),
        ],
    );
    check(
        |a| a.end(3),
        &[("mov sp, x29", 0x9100_03BF), ("ldp x29, x30, [sp], 16", 0xA8C1_7BFD), ("ret", 0xD65F_03C0)],
    );
    check(|a| a.address(7, 3), &[("ldr x7, [x0, 24]", 0xF940_0C07)]);
    check(
        |a| a.call(0x1234_5678_9ABC, 5, &[16, 32], 4, 48),
        &[
            ("str x1, [sp, 48]", 0xF900_1BE1),
            ("str x9, [sp, 56]", 0xF900_1FE9),
            ("str x14, [sp, 64]", 0xF900_23EE),
            ("str x2, [sp, 72]", 0xF900_27E2),
            ("str x3, [sp, 80]", 0xF900_2BE3),
            ("str x4, [sp, 88]", 0xF900_2FE4),
            ("str x5, [sp, 96]", 0xF900_33E5),
            ("str x6, [sp, 104]", 0xF900_37E6),
            ("str x7, [sp, 112]", 0xF900_3BE7),
            ("str x8, [sp, 120]", 0xF900_3FE8),
            ("str x10, [sp, 128]", 0xF900_43EA),
            ("str x11, [sp, 136]", 0xF900_47EB),
            ("str x12, [sp, 144]", 0xF900_4BEC),
            ("str x13, [sp, 152]", 0xF900_4FED),
            ("str x0, [sp, 160]", 0xF900_53E0),
            ("movz x0, 5", 0xD280_00A0),
            ("movz x1, 16", 0xD280_0201),
            ("add x1, sp, x1", 0x8B21_63E1),
            ("movz x2, 32", 0xD280_0402),
            ("add x2, sp, x2", 0x8B22_63E2),
            ("movz x3, 4", 0xD280_0083),
            ("movz x16, 0x9abc", 0xD293_5790),
            ("movk x16, 0x5678, lsl 16", 0xF2AA_CF10),
            ("movk x16, 0x1234, lsl 32", 0xF2C2_4690),
            ("blr x16", 0xD63F_0200),
            ("ldr x1, [sp, 48]", 0xF940_1BE1),
            ("ldr x9, [sp, 56]", 0xF940_1FE9),
            ("ldr x14, [sp, 64]", 0xF940_23EE),
            ("ldr x2, [sp, 72]", 0xF940_27E2),
            ("ldr x3, [sp, 80]", 0xF940_2BE3),
            ("ldr x4, [sp, 88]", 0xF940_2FE4),
            ("ldr x5, [sp, 96]", 0xF940_33E5),
            ("ldr x6, [sp, 104]", 0xF940_37E6),
            ("ldr x7, [sp, 112]", 0xF940_3BE7),
            ("ldr x8, [sp, 120]", 0xF940_3FE8),
            ("ldr x10, [sp, 128]", 0xF940_43EA),
            ("ldr x11, [sp, 136]", 0xF940_47EB),
            ("ldr x12, [sp, 144]", 0xF940_4BEC),
            ("ldr x13, [sp, 152]", 0xF940_4FED),
            ("ldr x0, [sp, 160]", 0xF940_53E0),
        ],
    );
    check(|a| a.first(), &[("movz x9, 0", 0xD280_0009)]);
    check(
        |a| {
            let start = a.here();
            let jump = a.unless_left(8);
            a.again(start);
            a.land(jump);
        },
        &[
            ("add x14, x9, 8", 0x9100_212E),
            ("cmp x14, x1", 0xEB01_01DF),
            ("b.hi . + 12", 0x5400_0068),
            ("mov x9, x14", 0xAA0E_03E9),
            ("b . - 16", 0x17FF_FFFC),
        ],
    );
    check(
        |a| a.last_again(4, 0, None),
        &[
            ("cmp x9, x1", 0xEB01_013F),
            ("b.eq . + 28", 0x5400_00E0),
            ("movz x17, 0", 0xD280_0011),
            ("sub x16, x1, 4", 0xD100_1030),
            ("cmp x16, x17", 0xEB11_021F),
            ("b.lt . + 12", 0x5400_006B),
            ("mov x9, x16", 0xAA10_03E9),
            ("b . - 28", 0x17FF_FFF9),
        ],
    );
    check(
        |a| a.last_again(4, 0, Some(64)),
        &[
            ("cmp x9, x1", 0xEB01_013F),
            ("b.eq . + 28", 0x5400_00E0),
            ("ldr x17, [sp, 64]", 0xF940_23F1),
            ("sub x16, x1, 4", 0xD100_1030),
            ("cmp x16, x17", 0xEB11_021F),
            ("b.lt . + 12", 0x5400_006B),
            ("mov x9, x16", 0xAA10_03E9),
            ("b . - 28", 0x17FF_FFF9),
        ],
    );
    check(
        |a| {
            let jump = a.if_any();
            a.first();
            a.land(jump);
        },
        &[("cbnz w16, . + 8", 0x3500_0050), ("movz x9, 0", 0xD280_0009)],
    );
    check(
        |a| a.run(64, 72, 700),
        &[
            ("ldr x9, [sp, 64]", 0xF940_23E9),
            ("ldr x1, [sp, 72]", 0xF940_27E1),
            ("add x1, x1, x9", 0x8B09_0021),
            ("movz x17, 700", 0xD280_5791),
            ("cmp x1, x17", 0xEB11_003F),
            ("csel x1, x1, x17, ls", 0x9A91_9021),
        ],
    );
    check(
        |a| {
            let jump = a.end_run(64, 72);
            a.land(jump);
        },
        &[
            ("ldr x17, [sp, 64]", 0xF940_23F1),
            ("sub x1, x1, x17", 0xCB11_0021),
            ("ldr x17, [sp, 72]", 0xF940_27F1),
            ("subs x17, x17, x1", 0xEB01_0231),
            ("str x17, [sp, 72]", 0xF900_27F1),
            ("b.eq . + 8", 0x5400_0040),
            ("str xzr, [sp, 64]", 0xF900_23FF),
        ],
    );
    check(|a| a.set_word(64, -2), &[("mov x17, -2", 0x9280_0031), ("str x17, [sp, 64]", 0xF900_23F1)]);
    check(
        |a| {
            let jump = a.last_index(64);
            a.land(jump);
        },
        &[
            ("ldr x17, [sp, 64]", 0xF940_23F1),
            ("subs x17, x17, 1", 0xF100_0631),
            ("str x17, [sp, 64]", 0xF900_23F1),
            ("b.eq . + 4", 0x5400_0020),
        ],
    );
    check(
        |a| a.move_address(8, -70000),
        &[
            ("movn x16, 0x116f", 0x9282_2DF0),
            ("movk x16, 0xfffe, lsl 16", 0xF2BF_FFD0),
            ("add x8, x8, x16", 0x8B10_0108),
        ],
    );
    check(
        |a| a.move_word(64, 9),
        &[
            ("ldr x17, [sp, 64]", 0xF940_23F1),
            ("movz x16, 9", 0xD280_0130),
            ("add x17, x17, x16", 0x8B10_0231),
            ("str x17, [sp, 64]", 0xF900_23F1),
        ],
    );
    check(
        |a| {
            let jump = a.if_aligned(3, 4, 16);
            a.land(jump);
        },
        &[("add x16, x3, x9, lsl 2", 0x8B09_0870), ("tst x16, 15", 0xF240_0E1F), ("b.eq . + 4", 0x5400_0020)],
    );
    check(|a| a.first_index(), &[("mov x9, x2", 0xAA02_03E9)]);
    check(|a| a.next_index(false), &[("sub x1, x1, 1", 0xD100_0421), ("add x9, x9, 1", 0x9100_0529)]);
    check(|a| a.next_index(true), &[("sub x1, x1, 1", 0xD100_0421), ("sub x9, x9, 1", 0xD100_0529)]);
    check(|a| a.while_left(0), &[("cbnz x1, .", 0xB500_0001)]);
    check(|a| a.left(), &[("mov x0, x1", 0xAA01_03E0)]);
    check(|a| a.position(9), &[("smov x14, v17.s[0]", 0x4E04_2E2E)]);
    check(|a| a.long_position(9), &[("fmov x14, d17", 0x9E66_022E)]);
    check(
        |a| {
            let jump = a.if_outside(6);
            a.land(jump);
        },
        &[("movz x16, 6", 0xD280_00D0), ("cmp x14, x16", 0xEB10_01DF), ("b.hi . + 4", 0x5400_0028)],
    );
    check(
        |a| {
            let jump = a.if_zero(true);
            a.land(jump);
        },
        &[("cbz w14, . + 4", 0x3400_002E)],
    );
    check(
        |a| {
            let jump = a.if_zero(false);
            a.land(jump);
        },
        &[("cbnz w14, . + 4", 0x3500_002E)],
    );
    check(|a| a.stride(24, false), &[("movz x16, 24", 0xD280_0310), ("mul x15, x14, x16", 0x9B10_7DCF)]);
    check(|a| a.stride(24, true), &[("movz x16, 24", 0xD280_0310), ("madd x15, x14, x16, x15", 0x9B10_3DCF)]);
    check(|a| a.add_base(4), &[("add x15, x15, x4", 0x8B04_01EF)]);
    check(
        |a| a.call_site(0x1000, 0x2000),
        &[
            ("stp x0, x1, [sp, -32]!", 0xA9BE_07E0),
            ("str x9, [sp, 16]", 0xF900_0BE9),
            ("mov x1, x0", 0xAA00_03E1),
            ("movz x0, 0x2000", 0xD284_0000),
            ("movz x16, 0x1000", 0xD282_0010),
            ("blr x16", 0xD63F_0200),
            ("mov x14, x0", 0xAA00_03EE),
            ("ldr x9, [sp, 16]", 0xF940_0BE9),
            ("ldp x0, x1, [sp], 32", 0xA8C2_07E0),
        ],
    );
    check(|a| a.jump_to(0), &[("b .", 0x1400_0000)]);
}

#[test]
fn literals_are_loaded_from_behind_the_code() {
    let mut assembler = Assembler::default();
    let literals = [[1; 16], [2; 16], [1; 16]].map(|bytes| assembler.literal(bytes));
    assert_eq!(literals, [0, 1, 0]);
    assembler.load(16, 1, Source::Literal(1));
    let code = assembler.finish().unwrap();
    // ldr q1, . + 32
    assert_eq!(code[..4], 0x9C00_0101u32.to_le_bytes());
    assert_eq!(code[16..], [[1; 16], [2; 16]].concat());
}

#[test]
fn what_is_too_far_is_no_code() {
    let mut assembler = Assembler::default();
    let jump = assembler.if_any();
    (0..1 << 18).for_each(|_| assembler.first());
    assembler.land(jump);
    assert!(assembler.finish().is_none());
}
