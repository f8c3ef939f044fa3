// SPDX-License-Identifier: GPL-2.0

//! Numbers that look random and follow from a seed.
//!
//! The generator is SplitMix64 (Steele, Lea and Flood, 2014): the state grows by a constant, and the
//! output is a mixture of it.

/// What the state grows by: 2^64 divided by the golden ratio.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// A source of numbers.
pub struct Chance(u64);

impl Chance {
    /// The source for packet `index` of `seed`.
    pub fn new(seed: u64, index: u64) -> Self {
        Self(mix(mix(seed.wrapping_add(STEP)) ^ index))
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// Any byte.
    pub fn byte(&mut self) -> u8 {
        // CAST: The low byte.
        self.any() as u8
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        // CAST: Less than `end`.
        (self.any() % end as u64) as usize
    }

    /// True once in `times`.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of `choices`, of which there are some.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// Fills `bytes`.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let word = self.any().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}

/// Spreads every bit over all.
fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outputs_are_those_of_splitmix64() {
        // The first outputs for state 1234567, as published with the algorithm.
        let mut chance = Chance(1_234_567);
        assert_eq!(chance.any(), 6_457_827_717_110_365_317);
        assert_eq!(chance.any(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn a_packet_does_not_depend_on_those_before() {
        let first = Chance::new(7, 1000).any();
        assert_eq!(first, Chance::new(7, 1000).any());
        assert_ne!(first, Chance::new(7, 1001).any());
        assert_ne!(first, Chance::new(8, 1000).any());
    }
}
