//! Functions in multiple precision.

use astro_float_num::{BigFloat, Consts, RoundingMode, Sign};

/// Arithmetic with many bits.
pub struct Precise {
    pub bits: usize,
    pub constants: Consts,
    /// Of Bernoulli.
    numbers: Vec<BigFloat>,
}

pub const TO_EVEN: RoundingMode = RoundingMode::ToEven;

impl Precise {
    pub fn new() -> Precise {
        let mut made =
            Precise { bits: 192, constants: Consts::new().expect("memory for constants"), numbers: vec![] };
        made.numbers = made.bernoulli();
        made
    }
    pub fn of(&self, x: f64) -> BigFloat {
        if x.is_subnormal() {
            let raised = BigFloat::from_f64(x * 2f64.powi(60), self.bits);
            return self.mul(&raised, &BigFloat::from_f64(2f64.powi(-60), self.bits));
        }
        BigFloat::from_f64(x, self.bits)
    }
    /// Enough bits for a sum of numbers of any two sizes up to those of `exp`.
    pub fn add(&self, x: &BigFloat, y: &BigFloat) -> BigFloat {
        x.add(y, self.bits + 2200, TO_EVEN)
    }
    pub fn mul(&self, x: &BigFloat, y: &BigFloat) -> BigFloat {
        x.mul(y, self.bits, TO_EVEN)
    }
    pub fn div(&self, x: &BigFloat, y: &BigFloat) -> BigFloat {
        x.div(y, self.bits, TO_EVEN)
    }
    pub fn exp(&mut self, x: &BigFloat) -> BigFloat {
        x.exp(self.bits, TO_EVEN, &mut self.constants)
    }
    pub fn ln(&mut self, x: &BigFloat) -> BigFloat {
        x.ln(self.bits + 128, TO_EVEN, &mut self.constants)
    }
    pub fn expm1(&mut self, x: &BigFloat) -> BigFloat {
        // Below 2^-100 the first two terms are all there is.
        if x.exponent().is_some_and(|e| e < -100) {
            let square = self.mul(&self.mul(x, x), &self.of(0.5));
            return self.add(x, &square);
        }
        let e = x.exp(self.bits + 128, TO_EVEN, &mut self.constants);
        e.sub(&self.of(1.0), self.bits + 128, TO_EVEN)
    }
    pub fn log1p(&mut self, x: &BigFloat) -> BigFloat {
        if x.exponent().is_some_and(|e| e < -100) {
            let square = self.mul(&self.mul(x, x), &self.of(-0.5));
            return self.add(x, &square);
        }
        let sum = self.add(x, &self.of(1.0));
        self.ln(&sum)
    }

    /// As good as 1 from 8 on.
    pub fn erf(&mut self, x: &BigFloat) -> BigFloat {
        self.erf_of(x, self.bits + 64)
    }

    /// The series of Taylor, with so many bits.
    pub fn erf_of(&mut self, x: &BigFloat, bits: usize) -> BigFloat {
        let root = self.constants.pi(bits, TO_EVEN).sqrt(bits, TO_EVEN);
        // Three bits before the point.
        if x.exponent().is_some_and(|e| e > 3) {
            return if x.is_negative() { self.of(-1.0) } else { self.of(1.0) };
        }
        let square = x.mul(x, bits, TO_EVEN).neg();
        let (mut power, mut sum, mut n) = (x.clone(), x.clone(), 0.0);
        while power.exponent().zip(sum.exponent()).is_some_and(|(p, s)| p > s - bits as i32) {
            n += 1.0;
            power = power.mul(&square, bits, TO_EVEN).div(&BigFloat::from_f64(n, bits), bits, TO_EVEN);
            sum = sum.add(&power.div(&BigFloat::from_f64(2.0 * n + 1.0, bits), bits, TO_EVEN), bits, TO_EVEN);
        }
        sum.add(&sum, bits, TO_EVEN).div(&root, bits, TO_EVEN)
    }

    /// The complementary error function, with as many more bits as it has zeros there; from 4 on the
    /// continued fraction, DLMF 7.9.1.
    pub fn erfc(&mut self, x: &BigFloat) -> BigFloat {
        if x.is_negative() || x.exponent().is_none_or(|e| e < 3) {
            let bits = self.bits + 128;
            return self.of(1.0).sub(&self.erf_of(x, bits), bits, TO_EVEN);
        }
        let mut below = x.clone();
        for k in (1..200).rev() {
            below = self.add(x, &self.div(&self.of(f64::from(k) / 2.0), &below));
            below.set_precision(self.bits, TO_EVEN).expect("memory");
        }
        let root = self.constants.pi(self.bits, TO_EVEN).sqrt(self.bits, TO_EVEN);
        let power = x.mul(x, self.bits, TO_EVEN).neg();
        let power = self.exp(&power);
        self.div(&power, &self.mul(&below, &root))
    }

    /// One step of Newton's from what the kernel gives, which doubles its digits.
    pub fn erf_inv(&mut self, x: &BigFloat, near: f64) -> BigFloat {
        let y = self.of(near);
        let left = self.erf_of(&y, self.bits + 128).sub(x, self.bits + 128, TO_EVEN);
        let square = self.mul(&y, &y);
        let root = self.constants.pi(self.bits, TO_EVEN).sqrt(self.bits, TO_EVEN);
        let power = self.exp(&square);
        let slope = self.mul(&power, &self.mul(&root, &self.of(0.5)));
        self.add(&y, &self.mul(&left, &slope).neg())
    }

    /// Numbers of Bernoulli `B_2`, `B_4`, ... by their recurrence, DLMF 24.5.3.
    pub fn bernoulli(&self) -> Vec<BigFloat> {
        let bits = 512;
        let of = |x: f64| BigFloat::from_f64(x, bits);
        let mut all = vec![of(1.0)];
        for m in 1..=2 * TERMS {
            let (mut sum, mut choose) = (of(0.0), of(1.0));
            for (j, b) in all.iter().enumerate() {
                sum = sum.add(&b.mul(&choose, bits, TO_EVEN), bits, TO_EVEN);
                let next = of((m + 1 - j) as f64).div(&of((j + 1) as f64), bits, TO_EVEN);
                choose = choose.mul(&next, bits, TO_EVEN);
            }
            all.push(sum.neg().div(&of((m + 1) as f64), bits, TO_EVEN));
        }
        all.into_iter().skip(2).step_by(2).collect()
    }

    /// A number moved up to where Stirling's series is exact, the product of those passed, and the sum of
    /// their inverses.
    pub fn moved_up(&self, x: &BigFloat) -> [BigFloat; 3] {
        let (bits, one) = (self.bits + 64, self.of(1.0));
        let (mut z, mut product, mut sum) = (x.clone(), one.clone(), self.of(0.0));
        while z.exponent().is_none_or(|e| e < 6) {
            product = product.mul(&z, bits, TO_EVEN);
            sum = sum.add(&one.div(&z, bits, TO_EVEN), bits, TO_EVEN);
            z = z.add(&one, bits, TO_EVEN);
        }
        [z, product, sum]
    }

    /// `sum of B_2k z^(-2k) / (2k (2k - 1))`, or without the last factor.
    pub fn stirling(&self, z: &BigFloat, last: bool) -> BigFloat {
        let bits = self.bits + 64;
        let square = self.of(1.0).div(&z.mul(z, bits, TO_EVEN), bits, TO_EVEN);
        let (mut sum, mut power) = (self.of(0.0), square.clone());
        for (k, b) in self.numbers.iter().enumerate() {
            let even = 2.0 * (k + 1) as f64;
            let below = self.of(if last { even * (even - 1.0) } else { even });
            let term = b.mul(&power, bits, TO_EVEN).div(&below, bits, TO_EVEN);
            sum = sum.add(&term, bits, TO_EVEN);
            power = power.mul(&square, bits, TO_EVEN);
        }
        sum
    }

    /// DLMF 5.5.1, 5.5.3 and 5.11.1.
    pub fn lgamma(&mut self, x: &BigFloat) -> BigFloat {
        let bits = self.bits + 64;
        let pi = self.constants.pi(bits, TO_EVEN);
        if x.is_negative() {
            let turn = x.fract().mul(&pi, bits, TO_EVEN);
            let sine = turn.sin(bits, TO_EVEN, &mut self.constants).abs();
            let above = self.lgamma(&self.of(1.0).sub(x, bits, TO_EVEN));
            return self.ln(&pi.div(&sine, bits, TO_EVEN)).sub(&above, bits, TO_EVEN);
        }
        let [z, product, _] = self.moved_up(x);
        let twice = pi.add(&pi, bits, TO_EVEN);
        let constant = self.ln(&twice).mul(&self.of(0.5), bits, TO_EVEN);
        let (log, passed) = (self.ln(&z), self.ln(&product));
        let line = z.sub(&self.of(0.5), bits, TO_EVEN).mul(&log, bits, TO_EVEN).sub(&z, bits, TO_EVEN);
        let series = self.stirling(&z, true).mul(&z, bits, TO_EVEN);
        line.add(&series, bits, TO_EVEN).add(&constant, bits, TO_EVEN).sub(&passed, bits, TO_EVEN)
    }

    /// Sine of `pi (x + shift)` for a shift of 0 or 1/2, exact where it is 0, 1 or -1.
    pub fn of_turns(&mut self, x: &BigFloat, shift: f64) -> BigFloat {
        let bits = self.bits + 64;
        let r = to_double(x) % 2.0;
        // Halves of a turn are counted without rounding errors: from -1 to 1, then from -1/2 to 1/2.
        let mut turn = self.add(&self.of(r), &self.of(shift));
        for step in [2.0, 1.0] {
            let half = self.of(0.5 * step);
            let mut flips = false;
            while turn.sub(&half, bits, TO_EVEN).is_positive() && !turn.sub(&half, bits, TO_EVEN).is_zero() {
                turn = turn.sub(&self.of(step), 2200, TO_EVEN);
                flips = !flips;
            }
            while turn.add(&half, bits, TO_EVEN).is_negative() {
                turn = turn.add(&self.of(step), 2200, TO_EVEN);
                flips = !flips;
            }
            if step == 1.0 && flips {
                turn = turn.neg();
            }
        }
        if turn.is_zero() {
            return turn;
        }
        let pi = self.constants.pi(bits, TO_EVEN);
        turn.mul(&pi, bits, TO_EVEN).sin(bits, TO_EVEN, &mut self.constants)
    }

    /// DLMF 5.5.2, 5.5.4 and 5.11.2.
    pub fn digamma(&mut self, x: &BigFloat) -> BigFloat {
        let bits = self.bits + 64;
        if x.is_negative() {
            let pi = self.constants.pi(bits, TO_EVEN);
            let turn = x.fract().mul(&pi, bits, TO_EVEN);
            let cot = pi.div(&turn.tan(bits, TO_EVEN, &mut self.constants), bits, TO_EVEN);
            let above = self.digamma(&self.of(1.0).sub(x, bits, TO_EVEN));
            return above.sub(&cot, bits, TO_EVEN);
        }
        let [z, _, passed] = self.moved_up(x);
        let half = self.of(0.5).div(&z, bits, TO_EVEN);
        let log = self.ln(&z);
        log.sub(&half, bits, TO_EVEN)
            .sub(&self.stirling(&z, false), bits, TO_EVEN)
            .sub(&passed, bits, TO_EVEN)
    }
}

/// Terms of the series of Stirling: the last is below 2^-200 of the sum for numbers from 32 on.
const TERMS: usize = 30;

/// A number of no more bits than a double has, as one.
pub fn to_double(x: &BigFloat) -> f64 {
    let (words, _, sign, exponent, _) = x.as_raw_parts().expect("a number");
    let (size, power) = (words[words.len() - 1] as f64, exponent - 64);
    let size = size * 2f64.powi(power / 2) * 2f64.powi(power - power / 2);
    if sign == Sign::Neg {
        -size
    } else {
        size
    }
}

/// `got` less `want`, in units of the last place of `want`; `digits` of a float whose least exponent is
/// `least`.
pub fn ulps(got: f64, want: &BigFloat, digits: i64, least: i64) -> f64 {
    if want.is_nan() || got.is_nan() {
        return if want.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if want.is_zero() || want.is_inf() {
        let same = (want.is_zero() && got == 0.0)
            || (want.is_inf_pos() && got == f64::INFINITY)
            || (want.is_inf_neg() && got == f64::NEG_INFINITY);
        return if same { 0.0 } else { f64::INFINITY };
    }
    let (words, _, sign, exponent, _) = want.as_raw_parts().expect("a number");
    let n = words.len();
    let mantissa = (u128::from(words[n - 1]) << 64) | u128::from(if n > 1 { words[n - 2] } else { 0 });
    let exponent = i64::from(exponent);
    let last = (exponent - digits).max(least);
    let largest = if digits == 53 { 1024 } else { 128 };
    let got = if sign == Sign::Neg { -got } else { got };
    if exponent > largest {
        return if got == f64::INFINITY { 0.0 } else { f64::INFINITY };
    }
    let got = if got == f64::INFINITY { 2f64.powi(largest as i32 - 1) * 2.0 } else { got };
    // want = mantissa * 2^(exponent - 128), in units of 2^last.
    let shift = last - exponent + 128;
    let (whole, part) = if shift >= 128 {
        (0, mantissa as f64 * 2f64.powi(-(shift.min(1000) as i32)))
    } else {
        (mantissa >> shift, (mantissa & ((1 << shift) - 1)) as f64 * 2f64.powi(-(shift as i32)))
    };
    let half = (-last) / 2;
    let scaled = if got.is_infinite() {
        2f64.powi((largest - last) as i32)
    } else {
        got * 2f64.powi(half as i32) * 2f64.powi((-last - half) as i32)
    };
    (scaled - whole as f64) - part
}
