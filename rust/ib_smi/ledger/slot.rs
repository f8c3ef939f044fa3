// SPDX-License-Identifier: GPL-2.0

//! A slot of the ledger: a record that one may write while others read it.
//!
//! A version, odd while somebody writes, tells a reader whether what it has read belongs together. Who
//! finds somebody else writing goes away, and so nobody waits.

use super::{
    record::{
        with_status,
        Last,
        Record, //
    }, //
};
use crate::{
    compat::smp_rmb,
    dr::PATH_LEN,
    once, //
};
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
    /// The elements that are used, and what was there before.
    path: [Atomic<u64>; PATH_LEN / 8],
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
            path: [const { Atomic::new(0) }; PATH_LEN / 8],
            last: [const { Atomic::new(0) }; Last::WORDS],
        }
    }

    /// The TID of the request in it; 0 if it is free.
    #[inline]
    pub(super) fn tid(&self) -> u64 {
        once::read(&self.tid)
    }

    /// The TID, the record and the path, unless the slot is free or is being written all the time.
    pub(super) fn read(&self) -> Option<(u64, Record, [u8; PATH_LEN])> {
        for _ in 0..TRIES {
            let version = self.version.load(ordering::Acquire);
            let tid = self.tid();
            let record = Record::from_words(|at| self.word(at));
            let path = self.path();
            smp_rmb();
            if version % 2 == 0 && version == self.version.load(ordering::Relaxed) {
                return (tid != 0).then_some((tid, record, path));
            }
        }
        None
    }

    fn path(&self) -> [u8; PATH_LEN] {
        let mut path = [0; PATH_LEN];
        for (bytes, word) in path.chunks_exact_mut(8).zip(&self.path) {
            bytes.copy_from_slice(&once::read(word).to_ne_bytes());
        }
        path
    }

    /// A word of the record.
    #[inline]
    fn word(&self, at: usize) -> u64 {
        self.record.get(at).map_or(0, once::read)
    }

    /// Changes a word of the record.
    #[inline]
    fn set_word(&self, at: usize, value: u64) {
        if let Some(word) = self.record.get(at) {
            once::write(word, value);
        }
    }

    /// When the request left.
    #[inline]
    pub(super) fn sent(&self) -> u64 {
        self.word(Record::SENT)
    }

    /// Returns whether the owner has sent the request.
    #[inline]
    pub(super) fn is_of(&self, owner: u64) -> bool {
        self.word(Record::OWNER) == owner
    }

    /// Returns whether ib_mad still waits for an answer at the time `now`.
    #[inline]
    pub(super) fn is_waiting(&self, now: u64) -> bool {
        now <= self.word(Record::UNTIL)
    }

    /// Calls `f`, which writes the record, and returns whether nobody else was writing.
    #[inline]
    fn change(&self, f: impl FnOnce()) -> bool {
        let version = once::read(&self.version);
        // INVARIANT: Made odd, if it was even and still is.
        if version % 2 != 0
            || self
                .version
                .cmpxchg(version, version.wrapping_add(1), ordering::Full)
                .is_err()
        {
            return false;
        }
        f();
        self.version
            .store(version.wrapping_add(2), ordering::Release);
        true
    }

    /// Writes a record and its path, and returns whether nobody else was writing.
    #[inline]
    pub(super) fn write(&self, tid: u64, record: &Record, path: &[u8; PATH_LEN]) -> bool {
        let used = usize::from(record.hop_cnt) / 8 + 1;
        self.change(|| {
            for (word, bytes) in self.path.iter().zip(path.chunks_exact(8)).take(used) {
                let bytes = bytes.first_chunk().copied();
                once::write(word, bytes.map_or(0, u64::from_ne_bytes));
            }
            once::write(&self.tid, tid);
            record.each_word(|at, value| self.set_word(at, value));
        })
    }

    /// Writes when and with which status the request was answered, if it waits for that and is the owner's.
    /// Returns whether nobody else was writing.
    pub(super) fn finish(&self, tid: u64, owner: u64, now: u64, status: u16) -> bool {
        self.change(|| {
            // It may be another request by now.
            if self.tid() == tid && self.word(Record::DONE) == 0 && self.is_of(owner) {
                self.set_word(Record::DONE, now);
                self.set_word(Record::UNTIL, 0);
                let attribute = self.word(Record::ATTRIBUTE);
                self.set_word(Record::ATTRIBUTE, with_status(attribute, status));
            }
        })
    }

    /// Frees the slot.
    pub(super) fn clear(&self) {
        self.change(|| {
            once::write(&self.tid, 0);
        });
    }

    /// Notes what was seen last.
    #[inline(always)]
    pub(super) fn note(&self, last: &Last) {
        for (word, value) in self.last.iter().zip(last.to_words()) {
            once::write(word, value);
        }
    }

    /// What was seen last.
    pub(super) fn last(&self) -> Last {
        let [first, second, third] = &self.last;
        Last::from_words([first, second, third].map(once::read))
    }
}
