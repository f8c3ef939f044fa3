// SPDX-License-Identifier: GPL-2.0

//! A switch's linear forwarding table.
//!
//! It is read for every packet in transit, so that an entry is a relaxed load: eight entries share a
//! word, and eight words are the block of 64 that a subnet manager reads and writes. Memory comes with
//! the first entry of a chunk that leads somewhere, and stays.

use kernel::{
    alloc::flags::GFP_ATOMIC,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        SetOnce, //
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

/// Entries of a chunk.
const CHUNK: usize = 512;

/// Number of chunks.
const CHUNKS: usize = CAPACITY as usize / CHUNK;

/// What is allocated at once.
type Chunk = [Atomic<u64>; CHUNK / WORD];

/// The table.
pub(crate) struct Lft {
    /// The highest LID that is routed (LinearFDBTop).
    top: Atomic<u32>,
    chunks: [SetOnce<KBox<Chunk>>; CHUNKS],
}

impl Lft {
    /// A table that leads nowhere.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            top: Atomic::new(0),
            chunks: [const { SetOnce::new() }; CHUNKS],
        })
    }

    /// Sets the highest LID that is routed.
    pub(crate) fn set_top(&self, lid: u16) {
        self.top.store(lid.into(), Relaxed);
    }

    /// The word of a LID, if there is memory for it, and how far its entry is shifted in there.
    fn find(&self, lid: u16) -> Option<(&Atomic<u64>, u32)> {
        let lid = usize::from(lid);
        let chunk = self.chunks.get(lid / CHUNK)?.as_ref()?;
        // CAST: At most 56.
        Some((chunk.get(lid % CHUNK / WORD)?, ((lid % WORD) * 8) as u32))
    }

    /// The entry of a LID, wherever the table ends.
    fn entry(&self, lid: u16) -> Option<u8> {
        let (word, shift) = self.find(lid)?;
        // CAST: The low byte is meant.
        let port = (word.load(Relaxed).checked_shr(shift)?) as u8;
        (port != NO_PORT).then_some(port)
    }

    /// The port to a LID.
    pub(crate) fn get(&self, lid: u16) -> Option<u8> {
        if u32::from(lid) > self.top.load(Relaxed) {
            return None;
        }
        self.entry(lid)
    }

    /// The chunk of a LID, which is allocated if it has to be. Works in atomic context, for a subnet
    /// management agent may hold a lock.
    fn reserve(&self, lid: usize) -> Result<&Chunk> {
        let place = self.chunks.get(lid / CHUNK).ok_or(EINVAL)?;
        if place.as_ref().is_none() {
            let chunk = [const { Atomic::new(u64::MAX) }; CHUNK / WORD];
            // If somebody else was faster, it is as empty as this one.
            let _ = place.populate(KBox::new(chunk, GFP_ATOMIC)?);
        }
        place.as_ref().map(|chunk| &**chunk).ok_or(EBUSY)
    }

    /// Sets the port to a LID. Only one may write at a time.
    pub(crate) fn set(&self, lid: u16, port: u8) -> Result {
        self.reserve(lid.into())?;
        let (word, shift) = self.find(lid).ok_or(EINVAL)?;
        let clear = !(0xffu64.checked_shl(shift).ok_or(EINVAL)?);
        let entry = u64::from(port).checked_shl(shift).ok_or(EINVAL)?;
        word.store(word.load(Relaxed) & clear | entry, Relaxed);
        Ok(())
    }

    /// Where a block is: its first LID.
    fn first_lid(block: u16) -> Option<usize> {
        let first = usize::from(block).checked_mul(BLOCK)?;
        (first < usize::from(CAPACITY)).then_some(first)
    }

    /// The words of a block within its chunk.
    fn words(chunk: &Chunk, first_lid: usize) -> Option<&[Atomic<u64>]> {
        let first = first_lid % CHUNK / WORD;
        chunk.get(first..first.checked_add(BLOCK / WORD)?)
    }

    /// Reads a block.
    pub(crate) fn read_block(&self, block: u16) -> Option<[u8; BLOCK]> {
        let first = Self::first_lid(block)?;
        let mut out = [NO_PORT; BLOCK];
        if let Some(chunk) = self.chunks.get(first / CHUNK)?.as_ref() {
            let words = Self::words(chunk, first)?;
            for (to, from) in out.chunks_exact_mut(WORD).zip(words) {
                to.copy_from_slice(&from.load(Relaxed).to_le_bytes());
            }
        }
        Some(out)
    }

    /// Writes a block. Of two that write at a time, the later one wins, word by word.
    pub(crate) fn write_block(&self, block: u16, entries: &[u8; BLOCK]) -> Result {
        let first = Self::first_lid(block).ok_or(EINVAL)?;
        let empty = entries.iter().all(|port| *port == NO_PORT);
        if empty
            && self
                .chunks
                .get(first / CHUNK)
                .is_some_and(|chunk| chunk.as_ref().is_none())
        {
            return Ok(());
        }
        let words = Self::words(self.reserve(first)?, first).ok_or(EINVAL)?;
        for (to, from) in words.iter().zip(entries.chunks_exact(WORD)) {
            let mut bytes = [0; WORD];
            bytes.copy_from_slice(from);
            to.store(u64::from_le_bytes(bytes), Relaxed);
        }
        Ok(())
    }

    /// Whether a LID has an entry, and be it beyond the top.
    pub(crate) fn knows(&self, lid: u16) -> bool {
        self.entry(lid).is_some()
    }
}
