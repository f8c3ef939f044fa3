// SPDX-License-Identifier: GPL-2.0

//! When a fault happens: which of the datagrams that it could happen to.

use super::Words;
use kernel::fmt;

/// The seed of one who names none.
const DEFAULT_SEED: u64 = 1;

/// Which ones, counted from 1.
#[derive(Clone, Copy)]
enum When {
    /// All.
    All,
    /// That one, and no other.
    Nth(u32),
    /// That one, and again after so many.
    Every(u32),
    /// So many of a hundred, by chance; the same ones with the same seed.
    Percent(u8, u64),
}

/// When, and how far it is.
#[derive(Clone, Copy)]
pub(crate) struct Trigger {
    when: When,
    /// How many datagrams came by.
    seen: u64,
    random: u64,
}

impl Trigger {
    /// Reads one; all, if there is nothing to read.
    pub(super) fn parse(words: &mut Words<'_>) -> Option<Self> {
        let mut random = 0;
        let when = if words.is_empty() || words.accept(b"all") {
            When::All
        } else if words.accept(b"nth") {
            When::Nth(words.number().filter(|number| *number != 0)?)
        } else if words.accept(b"every") {
            When::Every(words.number().filter(|number| *number != 0)?)
        } else if words.accept(b"percent") {
            let percent = words
                .number()
                .filter(|percent| (1..=100).contains(percent))?;
            random = if words.accept(b"seed") {
                words.number()?
            } else {
                DEFAULT_SEED
            };
            When::Percent(percent, random)
        } else {
            return None;
        };
        Some(Self {
            when,
            seen: 0,
            random,
        })
    }

    /// A datagram comes by. Returns whether it is one of those that are meant.
    pub(super) fn fires(&mut self) -> bool {
        self.seen = self.seen.saturating_add(1);
        match self.when {
            When::All => true,
            When::Nth(number) => self.seen == u64::from(number),
            When::Every(number) => self.seen.checked_rem(number.into()) == Some(0),
            When::Percent(percent, _) => self.roll() < percent.into(),
        }
    }

    /// A number from 0 to 99: a linear congruential generator, of which the upper half is used.
    fn roll(&mut self) -> u64 {
        const FACTOR: u64 = 6_364_136_223_846_793_005;
        const STEP: u64 = 1_442_695_040_888_963_407;
        self.random = self.random.wrapping_mul(FACTOR).wrapping_add(STEP);
        (self.random >> 32) % 100
    }
}

impl Trigger {
    /// Writes it as it is read.
    pub(crate) fn show(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        match self.when {
            When::All => write!(f, "all"),
            When::Nth(number) => write!(f, "nth {number}"),
            When::Every(number) => write!(f, "every {number}"),
            When::Percent(percent, seed) => write!(f, "percent {percent} seed {seed}"),
        }
    }
}
