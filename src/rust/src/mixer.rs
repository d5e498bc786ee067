//! A fast hash for signatures. Their words are types and addresses of this process, so collisions cannot be
//! provoked.

use std::hash::Hasher;

/// Multiplies and rotates word by word. The constant is that of 2^64 divided by the golden ratio, made odd
/// (Knuth, The Art of Computer Programming 3, 6.4).
#[derive(Default)]
pub struct Mixer(u64);

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_ne_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(GOLDEN);
    }
}
