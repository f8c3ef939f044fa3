// SPDX-License-Identifier: GPL-2.0

//! Faults of a queue pair: sends that fail, as often as a test says.

use super::Words;
use kernel::fmt;

/// How often something still goes wrong, and how often it did.
#[derive(Clone, Copy, Default)]
pub(crate) struct Countdown {
    left: u32,
    hits: u64,
}

impl Countdown {
    /// What can be written.
    pub(crate) const CAN_BE: &'static str = "off, or how many of the next ones, 32 bits";

    /// Reads how often.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let mut words = Words::of(line);
        let left = if words.accept(b"off") {
            0
        } else {
            words.number()?
        };
        words.is_empty().then_some(Self { left, hits: 0 })
    }

    /// Counts down. Returns whether there was something left.
    pub(crate) fn strike(&mut self) -> bool {
        match self.left.checked_sub(1) {
            Some(less) => {
                self.left = less;
                self.hits = self.hits.saturating_add(1);
                true
            }
            None => false,
        }
    }
}

impl Countdown {
    /// Writes it as it is read.
    pub(crate) fn show(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        match self.left {
            0 => write!(f, "off hits={}", self.hits),
            left => write!(f, "{left} hits={}", self.hits),
        }
    }
}

/// What goes wrong at a queue pair.
#[derive(Clone, Copy, Default)]
pub(crate) struct SendFaults {
    /// Posts of sends that are refused.
    pub(crate) posts: Countdown,
    /// Sends that complete with an error.
    pub(crate) sends: Countdown,
}
