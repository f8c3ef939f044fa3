// SPDX-License-Identifier: GPL-2.0

//! Discards, counted by reason, and shown in debugfs: `ib_smi/discards`, a line `reason count` each.

use super::hop::Obstacle;
use crate::dr::Reason;
use kernel::{
    fmt,
    sync::atomic::{
        ordering,
        Atomic, //
    }, //
};

/// One counter for each number that a reason can have.
static DISCARDS: [Atomic<u64>; 64] = [const { Atomic::new(0) }; 64];

/// Counts a discard, by the number of its reason.
pub(crate) fn discarded(reason: u8) {
    if let Some(counter) = DISCARDS.get(usize::from(reason)) {
        counter.add(1u64, ordering::Relaxed);
    }
}

/// The counters, as debugfs shows them.
pub(crate) struct Discards;

impl fmt::Debug for Discards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules = Reason::ALL.iter().map(|r| (r.number(), r.name()));
        let obstacles = Obstacle::ALL.iter().map(|o| (*o as u8, o.name()));
        // debugfs ends the last line.
        let mut end = "";
        for (number, name) in rules.chain(obstacles) {
            if let Some(counter) = DISCARDS.get(usize::from(number)) {
                write!(f, "{end}{name} {}", counter.load(ordering::Relaxed))?;
                end = "\n";
            }
        }
        Ok(())
    }
}
