// SPDX-License-Identifier: GPL-2.0

//! Faults of a queue pair: sends that fail, as often as a test says, or of which it is not heard for as long as
//! a test says.

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

/// Completions of sends that are held back.
#[derive(Clone, Copy, Default)]
pub(crate) struct Stall {
    on: bool,
    waiting: u32,
}

impl Stall {
    /// What can be written.
    pub(crate) const CAN_BE: &'static str = "off or on";

    /// Reads whether they are to be held back.
    pub(crate) fn parse(line: &[u8]) -> Option<bool> {
        let mut words = Words::of(line);
        let on = words.accept(b"on");
        ((on || words.accept(b"off")) && words.is_empty()).then_some(on)
    }

    /// Holds them back from now on.
    pub(crate) fn begin(&mut self) {
        self.on = true;
    }

    /// Holds no more of them back. Returns how many wait.
    pub(crate) fn end(&mut self) -> u32 {
        core::mem::take(self).waiting
    }

    /// Holds one back, if need be. Returns whether it does.
    pub(crate) fn hold(&mut self) -> bool {
        self.waiting = self.waiting.saturating_add(self.on.into());
        self.on
    }

    /// Forgets those that wait.
    pub(crate) fn forget(&mut self) {
        self.waiting = 0;
    }

    /// Writes it, and how many wait.
    pub(crate) fn show(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        let on = if self.on { "on" } else { "off" };
        write!(f, "{on} waiting={}", self.waiting)
    }
}

/// What goes wrong at a queue pair.
#[derive(Clone, Copy, Default)]
pub(crate) struct SendFaults {
    /// Posts of sends that are refused.
    pub(crate) posts: Countdown,
    /// Sends that complete with an error.
    pub(crate) sends: Countdown,
    /// Sends of whose end nobody hears yet.
    pub(crate) stall: Stall,
}
