//! The ciphers, on many blocks at once. Each is branchless code on one block, so that the loop over blocks is
//! vectorised.

use crate::kernels::math::Level;

/// A cipher.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Algorithm {
    /// ThreeFry-2x32 of 20 rounds: 64 bits a block.
    ThreeFry,
    /// Philox-4x32 of 10 rounds: 128 bits a block.
    Philox,
}

impl Algorithm {
    /// 32-bit words of a block.
    pub(super) fn words(self) -> usize {
        match self {
            Algorithm::ThreeFry => 2,
            Algorithm::Philox => 4,
        }
    }

    /// Elements of a block, of this many bytes each. Narrow ones are low bits of 32.
    pub(super) fn elements(self, bytes: usize) -> usize {
        self.words() / bytes.div_ceil(4)
    }
}

#[inline(always)]
pub(super) fn threefry(key: [u32; 2], counter: [u32; 2]) -> [u32; 2] {
    let keys = [key[0], key[1], key[0] ^ key[1] ^ 0x1BD1_1BDA];
    let [mut x, mut y] = counter;
    macro_rules! inject {
        ($group:literal) => {
            x = x.wrapping_add(keys[$group % 3]);
            y = y.wrapping_add(keys[($group + 1) % 3].wrapping_add($group));
        };
    }
    macro_rules! rounds {
        ($($amount:literal)+) => {$(
            x = x.wrapping_add(y);
            y = y.rotate_left($amount) ^ x;
        )+};
    }
    inject!(0);
    rounds!(13 15 26 6);
    inject!(1);
    rounds!(17 29 16 24);
    inject!(2);
    rounds!(13 15 26 6);
    inject!(3);
    rounds!(17 29 16 24);
    inject!(4);
    rounds!(13 15 26 6);
    inject!(5);
    [x, y]
}

#[inline(always)]
pub(super) fn philox(mut key: [u32; 2], counter: [u32; 4]) -> [u32; 4] {
    let mut c = counter;
    for _ in 0..10 {
        let (p, q) = (u64::from(c[0]) * 0xD251_1F53, u64::from(c[2]) * 0xCD9E_8D57);
        c = [(q >> 32) as u32 ^ c[1] ^ key[0], q as u32, (p >> 32) as u32 ^ c[3] ^ key[1], p as u32];
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    c
}

/// Low and high half.
fn halves(x: u64) -> [u32; 2] {
    [x as u32, (x >> 32) as u32]
}

/// Blocks of a batch, whose words stay in the first-level cache.
pub(super) const BATCH: usize = 256;

/// Words of the widest register, and blocks of a batch for few elements.
pub(super) const LANES: usize = 16;

/// One word of each block of a batch: a structure of arrays, so that registers are filled with words of 32
/// bits.
pub(super) type Plane<const B: usize> = [u32; B];

/// The keys of the blocks of a batch.
pub(super) trait Keys: Copy {
    /// That of a block.
    fn at(self, block: usize) -> [u32; 2];
}

/// One key for all.
impl Keys for [u32; 2] {
    #[inline(always)]
    fn at(self, _block: usize) -> [u32; 2] {
        self
    }
}

/// A key for each.
impl<const B: usize> Keys for &[Plane<B>; 2] {
    #[inline(always)]
    fn at(self, block: usize) -> [u32; 2] {
        [self[0][block], self[1][block]]
    }
}

/// Replaces the first `n` counters by their blocks.
#[inline(always)]
pub(super) fn encrypt_with<const B: usize>(
    algorithm: Algorithm,
    keys: impl Keys,
    planes: &mut [Plane<B>; 4],
    n: usize,
) {
    let [a, b, c, d] = planes.each_mut().map(|plane| &mut plane[..n]);
    match algorithm {
        Algorithm::ThreeFry => {
            for i in 0..n {
                [a[i], b[i]] = threefry(keys.at(i), [a[i], b[i]]);
            }
        }
        Algorithm::Philox => {
            for i in 0..n {
                [a[i], b[i], c[i], d[i]] = philox(keys.at(i), [a[i], b[i], c[i], d[i]]);
            }
        }
    }
}

/// The same code in wider registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn encrypt_avx2<const B: usize>(
    algorithm: Algorithm,
    keys: impl Keys,
    planes: &mut [Plane<B>; 4],
    n: usize,
) {
    encrypt_with(algorithm, keys, planes, n);
}

/// The same code in the widest registers, whose instructions rotate.
#[cfg(all(target_arch = "x86_64", has_avx512))]
#[target_feature(enable = "avx512f,avx2")]
unsafe fn encrypt_avx512<const B: usize>(
    algorithm: Algorithm,
    keys: impl Keys,
    planes: &mut [Plane<B>; 4],
    n: usize,
) {
    encrypt_with(algorithm, keys, planes, n);
}

pub(super) fn encrypt<const B: usize>(
    algorithm: Algorithm,
    keys: impl Keys,
    planes: &mut [Plane<B>; 4],
    n: usize,
) {
    // Whole registers: unused blocks cost less than a scalar loop for the rest.
    let n = n.next_multiple_of(LANES);
    match Level::current() {
        // SAFETY: the processor has the instructions.
        #[cfg(all(target_arch = "x86_64", has_avx512))]
        Level::Avx512 => unsafe { encrypt_avx512(algorithm, keys, planes, n) },
        // SAFETY: the processor has the instructions.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { encrypt_avx2(algorithm, keys, planes, n) },
        _ => encrypt_with(algorithm, keys, planes, n),
    }
}

/// Blocks of one draw, whose numbers are next to those of other draws.
pub(super) struct Run {
    /// Key and counter.
    pub state: [u64; 2],
    /// Number of blocks.
    pub blocks: usize,
}

/// Words of blocks, one block after the other; at most `B`, a whole number of registers.
pub(super) fn make_blocks<const B: usize>(
    algorithm: Algorithm,
    runs: &[Run],
    blocks: &[u64],
    words: &mut [u32],
) {
    let mut planes = [[0; B]; 4];
    let [a, b, c, d] = &mut planes;
    let mut start = 0;
    for &Run { state: [key, counter], blocks: count } in runs {
        for i in start..start + count {
            let low = counter.wrapping_add(blocks[i]);
            [a[i], b[i]] = halves(low);
            // Philox has a counter of 128 bits: its upper half starts as the key, and the lower half carries
            // into it.
            [c[i], d[i]] = halves(key.wrapping_add(u64::from(low < counter)));
        }
        start += count;
    }
    match runs {
        [run] => encrypt(algorithm, halves(run.state[0]), &mut planes, blocks.len()),
        _ => {
            let mut keys = [[0; B]; 2];
            let [low, high] = &mut keys;
            let mut start = 0;
            for run in runs {
                let [l, h] = halves(run.state[0]);
                low[start..start + run.blocks].fill(l);
                high[start..start + run.blocks].fill(h);
                start += run.blocks;
            }
            encrypt(algorithm, &keys, &mut planes, blocks.len());
        }
    }
    let [a, b, c, d] = &planes;
    match algorithm {
        Algorithm::ThreeFry => {
            for ((words, &a), &b) in words.chunks_exact_mut(2).zip(a).zip(b) {
                words.copy_from_slice(&[a, b]);
            }
        }
        Algorithm::Philox => {
            for ((((words, &a), &b), &c), &d) in words.chunks_exact_mut(4).zip(a).zip(b).zip(c).zip(d) {
                words.copy_from_slice(&[a, b, c, d]);
            }
        }
    }
}
