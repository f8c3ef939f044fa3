// SPDX-License-Identifier: GPL-2.0

//! A slot of the ledger: a record that one may write while others read it.
//!
//! A version, odd while somebody writes, tells a reader whether what it has read belongs together. Who
//! finds somebody else writing goes away, and so nobody waits.

use super::record::{
    Last,
    Record, //
};
use crate::compat::smp_rmb;
use kernel::sync::atomic::{
    ordering,
    Atomic, //
};

/// Tries of a reader.
const TRIES: usize = 8;

/// A slot.
///
/// # Invariants
///
/// Only who has made the version odd writes `tid` and `record`, and makes it even when done.
pub(super) struct Slot {
    version: Atomic<u32>,
    /// 0 if the slot is free.
    tid: Atomic<u64>,
    record: [Atomic<u64>; Record::WORDS],
    /// Each word by itself: what was seen last may be noted by several at once.
    last: [Atomic<u64>; Last::WORDS],
}

impl Slot {
    /// A free slot.
    pub(super) const fn new() -> Self {
        Self {
            version: Atomic::new(0),
            tid: Atomic::new(0),
            record: [const { Atomic::new(0) }; Record::WORDS],
            last: [const { Atomic::new(0) }; Last::WORDS],
        }
    }

    /// The TID of the request in it; 0 if it is free.
    #[inline]
    pub(super) fn tid(&self) -> u64 {
        self.tid.load(ordering::Relaxed)
    }

    /// The TID and the record, unless the slot is free or is being written all the time.
    pub(super) fn read(&self) -> Option<(u64, Record)> {
        for _ in 0..TRIES {
            let version = self.version.load(ordering::Acquire);
            let (tid, record) = (self.tid(), self.read_any());
            smp_rmb();
            if version % 2 == 0 && version == self.version.load(ordering::Relaxed) {
                return (tid != 0).then_some((tid, record));
            }
        }
        None
    }

    /// The record, of which some words may be older than others.
    pub(super) fn read_any(&self) -> Record {
        Record::from_words(|at| {
            self.record
                .get(at)
                .map_or(0, |word| word.load(ordering::Relaxed))
        })
    }

    /// Writes a record, and returns whether nobody else was writing.
    pub(super) fn write(&self, tid: u64, record: &Record) -> bool {
        let version = self.version.load(ordering::Relaxed);
        // INVARIANT: Made odd, if it was even and still is.
        if version % 2 != 0
            || self
                .version
                .cmpxchg(version, version.wrapping_add(1), ordering::Full)
                .is_err()
        {
            return false;
        }
        self.tid.store(tid, ordering::Relaxed);
        record.each_word(|at, value| {
            if let Some(word) = self.record.get(at) {
                word.store(value, ordering::Relaxed);
            }
        });
        self.version
            .store(version.wrapping_add(2), ordering::Release);
        true
    }

    /// Frees the slot.
    pub(super) fn clear(&self) {
        self.write(0, &Record::from_words(|_| 0));
    }

    /// Notes what was seen last.
    #[inline]
    pub(super) fn note(&self, last: &Last) {
        for (word, value) in self.last.iter().zip(last.to_words()) {
            word.store(value, ordering::Relaxed);
        }
    }

    /// What was seen last.
    pub(super) fn last(&self) -> Last {
        let [first, second, third] = &self.last;
        Last::from_words([first, second, third].map(|word| word.load(ordering::Relaxed)))
    }
}
