// SPDX-License-Identifier: GPL-2.0

//! A switch's linear forwarding table.
//!
//! It is read for every packet in transit, so that an entry is one relaxed load: eight entries share
//! a word, and eight words are the block of 64 that a subnet manager reads and writes.

use kernel::{
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
};

/// How many LIDs a switch can route to.
pub(crate) const CAPACITY: u16 = 0x4000;

/// Entries of a block.
pub(crate) const BLOCK: usize = 64;

/// The entry of a LID that leads nowhere.
pub(crate) const NO_PORT: u8 = 0xff;

/// Entries of a word.
const WORD: usize = 8;

/// The table. Kept in plain memory, since a packet in flight may be the last to drop it.
pub(crate) struct Lft {
    /// The highest LID that is routed (LinearFDBTop).
    top: Atomic<u32>,
    table: KVec<Atomic<u64>>,
}

impl Lft {
    /// A table that leads nowhere.
    pub(crate) fn new() -> Result<Self> {
        let words = usize::from(CAPACITY) / WORD;
        let mut table = KVec::with_capacity(words, GFP_KERNEL)?;
        for _ in 0..words {
            table.push(Atomic::new(u64::MAX), GFP_KERNEL)?;
        }
        Ok(Self {
            top: Atomic::new(0),
            table,
        })
    }

    /// Sets the highest LID that is routed.
    pub(crate) fn set_top(&self, lid: u16) {
        self.top.store(lid.into(), Relaxed);
    }

    /// The word of a LID, and how far its entry is shifted in there.
    fn find(&self, lid: u16) -> Option<(&Atomic<u64>, u32)> {
        let lid = usize::from(lid);
        // CAST: At most 56.
        Some((self.table.get(lid / WORD)?, ((lid % WORD) * 8) as u32))
    }

    /// Whether a LID has an entry, and be it beyond the top.
    pub(crate) fn knows(&self, lid: u16) -> bool {
        self.entry(lid).is_some()
    }

    /// The port to a LID.
    pub(crate) fn get(&self, lid: u16) -> Option<u8> {
        if u32::from(lid) > self.top.load(Relaxed) {
            return None;
        }
        self.entry(lid)
    }

    /// The entry of a LID, wherever the table ends.
    fn entry(&self, lid: u16) -> Option<u8> {
        let (word, shift) = self.find(lid)?;
        // CAST: The low byte is meant.
        let port = (word.load(Relaxed).checked_shr(shift)?) as u8;
        (port != NO_PORT).then_some(port)
    }

    /// Sets the port to a LID. Only one may write at a time.
    pub(crate) fn set(&self, lid: u16, port: u8) -> Result {
        let (word, shift) = self.find(lid).ok_or(EINVAL)?;
        let clear = !(0xffu64.checked_shl(shift).ok_or(EINVAL)?);
        let entry = u64::from(port).checked_shl(shift).ok_or(EINVAL)?;
        word.store(word.load(Relaxed) & clear | entry, Relaxed);
        Ok(())
    }

    /// Reads a block.
    pub(crate) fn read_block(&self, block: u16) -> Option<[u8; BLOCK]> {
        let first = usize::from(block).checked_mul(BLOCK / WORD)?;
        let words = self.table.get(first..first.checked_add(BLOCK / WORD)?)?;
        let mut out = [NO_PORT; BLOCK];
        for (to, from) in out.chunks_exact_mut(WORD).zip(words) {
            to.copy_from_slice(&from.load(Relaxed).to_le_bytes());
        }
        Some(out)
    }

    /// Writes a block. Only one may write at a time.
    pub(crate) fn write_block(&self, block: u16, entries: &[u8; BLOCK]) -> Result {
        let first = usize::from(block).checked_mul(BLOCK / WORD).ok_or(EINVAL)?;
        let end = first.checked_add(BLOCK / WORD).ok_or(EINVAL)?;
        let words = self.table.get(first..end).ok_or(EINVAL)?;
        for (to, from) in words.iter().zip(entries.chunks_exact(WORD)) {
            let mut bytes = [0; WORD];
            bytes.copy_from_slice(from);
            to.store(u64::from_le_bytes(bytes), Relaxed);
        }
        Ok(())
    }
}
