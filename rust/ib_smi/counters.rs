// SPDX-License-Identifier: GPL-2.0

//! Discards, counted by reason.

use kernel::{
    fmt,
    sync::atomic::{
        ordering,
        Atomic, //
    }, //
};

/// One counter a reason number.
static DISCARDS: [Atomic<u64>; 64] = [const { Atomic::new(0) }; 64];

/// Counts a discard.
pub(crate) fn discarded(reason: u8) {
    if let Some(counter) = DISCARDS.get(usize::from(reason)) {
        counter.add(1u64, ordering::Relaxed);
    }
}

/// The counters as lines of `reason-number count`, those that are not 0.
pub(crate) struct Discards;

impl fmt::Debug for Discards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (reason, counter) in DISCARDS.iter().enumerate() {
            let count = counter.load(ordering::Relaxed);
            if count != 0 {
                writeln!(f, "{reason} {count}")?;
            }
        }
        Ok(())
    }
}
