//! Written by tests/testdata/math/fit.py: what elementary functions are made of, as coefficients of
//! polynomials, constant first, and constants in parts.

#![allow(clippy::excessive_precision, clippy::approx_constant)]

/// `(e^r - 1 - r) / r^2` for `|r| <= log(2)/2`, for doubles, error 2^-57.86.
pub(super) const EXP: [f64; 10] = [
    0.5000000000000011,
    0.16666666666666413,
    0.04166666666652532,
    0.00833333333349117,
    0.0013888888945077257,
    0.00019841269519830577,
    2.480149144614782e-05,
    2.755756915371234e-06,
    2.7630885633650067e-07,
    2.500719260199267e-08,
];

/// As `EXP`, for singles, error 2^-28.12.
pub(super) const EXP_SINGLE: [f64; 5] = [
    0.4999999403953552,
    0.1666652113199234,
    0.04166838899254799,
    0.008368712849915028,
    0.0013806679053232074,
];

/// As `EXP`, relative to `e^r - 1`, error 2^-60.58.
pub(super) const EXPM1: [f64; 11] = [
    0.5,
    0.16666666666666677,
    0.04166666666666671,
    0.008333333333321776,
    0.001388888888886699,
    0.00019841269884683709,
    2.4801587319756507e-05,
    2.755724642196504e-06,
    2.755731390117209e-07,
    2.5108096279841087e-08,
    2.089273758038699e-09,
];

/// As `EXPM1`, for singles, error 2^-31.06.
pub(super) const EXPM1_SINGLE: [f64; 6] = [
    0.5,
    0.1666666567325592,
    0.041666481643915176,
    0.008333594538271427,
    0.0013933272566646338,
    0.00019719774718396366,
];

/// `(2^r - 1 - r log(2)) / r^2` for `|r| <= 1/2`, for doubles, error 2^-57.74.
pub(super) const EXP2: [f64; 10] = [
    0.24022650695910122,
    0.05550410866482074,
    0.00961812910759696,
    0.0013333558146685226,
    0.0001540353045408794,
    1.5252733547708842e-05,
    1.3215436601146852e-06,
    1.01781843207828e-07,
    7.0735803719616804e-09,
    4.4363513626273165e-10,
];

/// As `EXP2`, for singles, error 2^-28.16.
pub(super) const EXP2_SINGLE: [f64; 5] = [
    0.24022647738456726,
    0.05550362169742584,
    0.009618527255952358,
    0.0013390154344961047,
    0.00015316081407945603,
];

/// As `EXP2`, for singles computed as doubles, error 2^-34.17.
pub(super) const EXP2_SHORT: [f64; 6] = [
    0.2402265102072821,
    0.05550410600124634,
    0.009618043348174106,
    0.001333382077837826,
    0.00015465368779386574,
    1.5213430210250516e-05,
];

/// `(log((1 + s) / (1 - s)) / s - 2) / s^2` in powers of `s^2` for `|s| <= 3 - 2 sqrt(2)`, for doubles, error 2^-59.49.
pub(super) const LOG: [f64; 7] = [
    0.6666666666666734,
    0.39999999999416874,
    0.28571428741968335,
    0.22222198610891555,
    0.18183562580920862,
    0.15314090782334036,
    0.1479558398001078,
];

/// As `LOG`, for singles, error 2^-30.21.
pub(super) const LOG_SINGLE: [f64; 3] = [
    0.6666677594184875,
    0.39977580308914185,
    0.2987091839313507,
];

/// As `LOG`, for singles computed as doubles, error 2^-44.94.
pub(super) const LOG_SHORT: [f64; 5] = [
    0.6666666667575647,
    0.3999999563613706,
    0.2857210773351715,
    0.22176244859931327,
    0.19583385079444368,
];

/// As `LOG` without its first term, 2/3, for logarithms in two doubles, error 2^-73.48.
pub(super) const LOG_LONG: [f64; 8] = [
    0.3999999999999998,
    0.28571428571443835,
    0.22222222217791687,
    0.1818181884372284,
    0.15384558447519855,
    0.13336263782529803,
    0.11675794545151483,
    0.11981646281965551,
];

/// `(sin(r) / r - 1) / r^2` in powers of `r^2` for `|r| <= pi/4`, for doubles, error 2^-57.89.
pub(super) const SIN: [f64; 6] = [
    -0.1666666666666663,
    0.00833333333332184,
    -0.00019841269829358623,
    2.755731353858157e-06,
    -2.5050734404061743e-08,
    1.5895434337051264e-10,
];

/// As `SIN`, for singles computed as doubles, error 2^-37.49.
pub(super) const SIN_SHORT: [f64; 4] = [
    -0.16666666640784217,
    0.008333329302537522,
    -0.0001983931142610941,
    2.718113158554436e-06,
];

/// `(cos(r) - 1 + r^2/2) / r^4` in powers of `r^2` for `|r| <= pi/4`, for doubles, error 2^-63.92.
pub(super) const COS: [f64; 6] = [
    0.041666666666666595,
    -0.0013888888888873338,
    2.4801587288997085e-05,
    -2.7557314215027787e-07,
    2.087570505637277e-09,
    -1.1358728709964025e-11,
];

/// As `COS`, for singles computed as doubles, error 2^-42.93.
pub(super) const COS_SHORT: [f64; 4] = [
    0.041666666619480756,
    -0.0013888883499077532,
    2.4799459827086324e-05,
    -2.720572146944871e-07,
];

/// As `SIN`, for singles, error 2^-27.91.
pub(super) const SIN_SINGLE: [f64; 3] = [
    -0.16666655242443085,
    0.008332189172506332,
    -0.0001951828453456983,
];

/// As `COS`, for singles, error 2^-32.98.
pub(super) const COS_SINGLE: [f64; 3] = [
    0.04166664555668831,
    -0.0013887309469282627,
    2.443232551740948e-05,
];

/// `(tanh(x) / x - 1) / x^2` as a quotient of polynomials in `x^2` for `|x| <= 0.55`, for doubles: the numerator, error 2^-57.54.
pub(super) const TANH_OVER: [f64; 3] = [
    -1612.7680543973872,
    -99.19474243794387,
    -0.96436267947745,
];

/// The denominator, error 2^-57.54.
pub(super) const TANH_UNDER: [f64; 4] = [
    4838.3041631921615,
    2232.9058925906916,
    112.71096151044648,
    1.0,
];

/// `(tanh(x) / x - 1) / x^2` as a quotient of polynomials in `x^2` for `|x| <= 0.55`, for singles: the numerator, error 2^-27.56.
pub(super) const TANH_SINGLE_OVER: [f64; 2] = [
    -0.8237091898918152,
    -0.0038527974393218756,
];

/// The denominator, error 2^-27.56.
pub(super) const TANH_SINGLE_UNDER: [f64; 2] = [
    2.47112774848938,
    1.0,
];

/// `(atan(t) / t - 1) / t^2` in powers of `t^2` for `|t| <= tan(pi/8)`, for doubles, error 2^-59.43.
pub(super) const ATAN: [f64; 11] = [
    -0.333333333333332,
    0.19999999999953658,
    -0.14285714280197095,
    0.11111110783336846,
    -0.09090897752257489,
    0.07692060104418172,
    -0.06663102765884453,
    0.05847880228872644,
    -0.050392661594313964,
    0.03806365962228647,
    -0.017906320792417548,
];

/// As `ATAN`, for singles computed as doubles, error 2^-35.35.
pub(super) const ATAN_SHORT: [f64; 6] = [
    -0.3333333249904246,
    0.19999903841011474,
    -0.14282004882116817,
    0.11044648469214921,
    -0.08475999113855638,
    0.04743445554595213,
];

/// `(asin(t) / t - 1) / t^2` in powers of `t^2` for `|t| <= 1/2`, for doubles, error 2^-55.9.
pub(super) const ASIN: [f64; 12] = [
    0.1666666666666541,
    0.0750000000033656,
    0.044642856828651184,
    0.03038195912515034,
    0.02237175830722726,
    0.017359701205196983,
    0.0138852680823215,
    0.01216901133152825,
    0.006528790765313129,
    0.019526153189382365,
    -0.016221101928454353,
    0.031910208147975,
];

/// As `ASIN`, for singles computed as doubles, error 2^-35.84.
pub(super) const ASIN_SHORT: [f64; 7] = [
    0.16666667180122308,
    0.07499948897123426,
    0.04465997323564234,
    0.030112508095670825,
    0.024604829190008087,
    0.0075091032715009646,
    0.034646776730727184,
];

/// Cube root on [1, 2], where iteration begins, error 2^-16.73.
pub(super) const CBRT: [f64; 5] = [
    0.5069722394630147,
    0.7181739896920041,
    -0.30063235885897155,
    0.08610075973488032,
    -0.010605464081225733,
];

/// `log(2)`, in parts of 42, 53 bits.
pub(super) const LN2: [f64; 2] = [
    0.6931471805598903,
    5.497923018708371e-14,
];

/// `log(2)`, in parts of 53, 53 bits.
pub(super) const LN2_FULL: [f64; 2] = [
    0.6931471805599453,
    2.3190468138462996e-17,
];

/// `log(2)`, in parts of 15, 24 bits.
pub(super) const LN2_SINGLE: [f64; 2] = [
    0.693145751953125,
    1.428606765330187e-06,
];

/// `log(2)`, in parts of 24, 24 bits.
pub(super) const LN2_FULL_SINGLE: [f64; 2] = [
    0.6931471824645996,
    -1.9046542121259336e-09,
];

/// `log2(e)`, in parts of 53, 53 bits.
pub(super) const LOG2_E: [f64; 2] = [
    1.4426950408889634,
    2.0355273740931033e-17,
];

/// `log2(e)`, in parts of 24, 24 bits.
pub(super) const LOG2_E_SINGLE: [f64; 2] = [
    1.4426950216293335,
    1.925963033500011e-08,
];

/// `log10(e)`, in parts of 53, 53 bits.
pub(super) const LOG10_E: [f64; 2] = [
    0.4342944819032518,
    1.098319650216765e-17,
];

/// `log10(e)`, in parts of 24, 24 bits.
pub(super) const LOG10_E_SINGLE: [f64; 2] = [
    0.4342944920063019,
    -1.0103049952192578e-08,
];

/// `log10(2)`, in parts of 42, 53 bits.
pub(super) const LOG10_2: [f64; 2] = [
    0.30102999566395283,
    2.8363394551044964e-14,
];

/// `log10(2)`, in parts of 15, 24 bits.
pub(super) const LOG10_2_SINGLE: [f64; 2] = [
    0.301025390625,
    4.605039066518657e-06,
];

/// `pi/2`, in parts of 53, 53, 53 bits.
pub(super) const PI_2: [f64; 3] = [
    1.5707963267948966,
    6.123233995736766e-17,
    -1.4973849048591698e-33,
];

/// `pi/2`, in parts of 24, 24, 24 bits.
pub(super) const PI_2_SINGLE: [f64; 3] = [
    1.5707963705062866,
    -4.371138828673793e-08,
    -1.7151245100058819e-15,
];

/// `pi/4`, in parts of 53, 53 bits.
pub(super) const PI_4: [f64; 2] = [
    0.7853981633974483,
    3.061616997868383e-17,
];

/// `pi`, in parts of 53, 53 bits.
pub(super) const PI: [f64; 2] = [
    3.141592653589793,
    1.2246467991473532e-16,
];

/// `2/3`, in parts of 53, 53 bits.
pub(super) const TWO_THIRDS: [f64; 2] = [
    0.6666666666666666,
    3.700743415417188e-17,
];

/// Cube root of 2, in parts of 53 bits.
pub(super) const CBRT_2: [f64; 1] = [
    1.2599210498948732,
];

/// The bits of `2/pi` after the binary point.
pub(super) const TWO_OVER_PI: [u64; 20] = [
    0xa2f9836e4e441529,
    0xfc2757d1f534ddc0,
    0xdb6295993c439041,
    0xfe5163abdebbc561,
    0xb7246e3a424dd2e0,
    0x06492eea09d1921c,
    0xfe1deb1cb129a73e,
    0xe88235f52ebb4484,
    0xe99c7026b45f7e41,
    0x3991d639835339f4,
    0x9c845f8bbdf9283b,
    0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab,
    0xf0cfbc209af4361d,
];
