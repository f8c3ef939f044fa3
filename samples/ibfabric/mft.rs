// SPDX-License-Identifier: GPL-2.0

//! A switch's multicast forwarding table: a set of ports for every multicast LID.
//!
//! A subnet manager reads and writes it by blocks of 32 LIDs and positions of 16 ports (section
//! 14.2.5.10 of the specification). Ports are kept by words of 64, so that reading the set of a LID
//! is a load or two, and nothing is locked for a packet in transit.

use crate::packet::LID_PERMISSIVE;
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

/// The first LID that is for multicast.
pub(crate) const FIRST_LID: u16 = 0xc000;

/// How many multicast LIDs a switch can route.
pub(crate) const CAPACITY: u16 = 0x400;

/// Entries of a block.
pub(crate) const BLOCK: usize = 32;

/// Number of blocks.
const BLOCKS: usize = CAPACITY as usize / BLOCK;

/// Ports of a position.
const POSITION: usize = 16;

/// Ports of a word.
const WORD: usize = 64;

/// Words of the largest set of ports.
const MAX_WORDS: usize = 4;

/// A set of ports.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PortSet([u64; MAX_WORDS]);

impl PortSet {
    /// Whether a port is in it.
    pub(crate) fn contains(&self, port: u8) -> bool {
        let (word, bit) = (usize::from(port) / WORD, usize::from(port) % WORD);
        self.0.get(word).is_some_and(|word| word >> bit & 1 != 0)
    }

    /// Whether nothing is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// The first port in it from `port` on.
    pub(crate) fn next_from(&self, port: u8) -> Option<u8> {
        let (first, shift) = (usize::from(port) / WORD, usize::from(port) % WORD);
        let mut mask = u64::MAX << shift;
        for (index, word) in self.0.iter().enumerate().skip(first) {
            let rest = word & mask;
            if rest != 0 {
                let number = index.checked_mul(WORD)?;
                let bit = usize::try_from(rest.trailing_zeros()).ok()?;
                return u8::try_from(number.checked_add(bit)?).ok();
            }
            mask = u64::MAX;
        }
        None
    }
}

/// The table. As that of the linear one, memory comes with the first entry of a block, and stays.
pub(crate) struct Mft {
    /// The highest LID that is routed (MulticastFDBTop); 0 for as many as there are.
    top: Atomic<u32>,
    /// Words of every entry.
    words: usize,
    blocks: [SetOnce<KVec<Atomic<u64>>>; BLOCKS],
}

impl Mft {
    /// A table for ports 0 to `ports` that leads nowhere.
    pub(crate) fn new(ports: u8) -> Result<Self> {
        let words = usize::from(ports).saturating_add(1).div_ceil(WORD);
        Ok(Self {
            top: Atomic::new(0),
            words,
            blocks: [const { SetOnce::new() }; BLOCKS],
        })
    }

    /// Whether a table can end at this LID: nowhere in particular, before the first entry, or at one.
    pub(crate) fn can_end_at(top: u16) -> bool {
        const NO_ENTRY: u16 = FIRST_LID - 1;
        const LAST: u16 = FIRST_LID + (CAPACITY - 1);
        matches!(top, 0 | NO_ENTRY..=LAST)
    }

    /// The highest LID that is routed, as it was set.
    pub(crate) fn top(&self) -> u16 {
        u16::try_from(self.top.load(Relaxed)).unwrap_or(0)
    }

    /// Sets the highest LID that is routed.
    pub(crate) fn set_top(&self, top: u16) {
        self.top.store(top.into(), Relaxed);
    }

    /// The words of a LID, by its place in the table, if there is memory for them.
    fn entry(&self, index: usize) -> Option<&[Atomic<u64>]> {
        let block = self.blocks.get(index / BLOCK)?.as_ref()?;
        let first = (index % BLOCK).checked_mul(self.words)?;
        block.get(first..first.checked_add(self.words)?)
    }

    /// Allocates a block, if it has to be. Works in atomic context, for a subnet management agent may
    /// hold a lock.
    fn reserve(&self, block: u16) -> Result {
        let place = self.blocks.get(usize::from(block)).ok_or(EINVAL)?;
        if place.as_ref().is_some() {
            return Ok(());
        }
        let len = BLOCK.checked_mul(self.words).ok_or(EOVERFLOW)?;
        let mut table = KVec::with_capacity(len, GFP_ATOMIC)?;
        for _ in 0..len {
            table.push(Atomic::new(0), GFP_ATOMIC)?;
        }
        // If somebody else was faster, it is as empty as this one.
        let _ = place.populate(table);
        Ok(())
    }

    /// The ports that a packet to a multicast LID leaves by. Bit 0 is the switch itself. Empty for
    /// LIDs that are not for multicast or beyond the table's end.
    pub(crate) fn ports(&self, mlid: u16) -> PortSet {
        let mut set = PortSet::default();
        let index = match (mlid, self.top()) {
            (LID_PERMISSIVE, _) => None,
            (_, top @ 1..) if mlid > top => None,
            _ => mlid.checked_sub(FIRST_LID),
        };
        if let Some(words) = index.and_then(|index| self.entry(index.into())) {
            for (to, from) in set.0.iter_mut().zip(words) {
                *to = from.load(Relaxed);
            }
        }
        set
    }

    /// Which word of an entry a position is in, and how far it is shifted there.
    fn place(&self, position: u8) -> Option<(usize, usize)> {
        let first = usize::from(position).checked_mul(POSITION)?;
        (first / WORD < self.words).then_some((first / WORD, first % WORD))
    }

    /// The entries of a block, none if there is no memory for it yet.
    fn block(&self, block: u16) -> Option<impl Iterator<Item = &[Atomic<u64>]>> {
        let first = usize::from(block).checked_mul(BLOCK)?;
        let end = first.checked_add(BLOCK)?;
        (end <= usize::from(CAPACITY)).then(|| (first..end).filter_map(|index| self.entry(index)))
    }

    /// Reads 16 ports of 32 LIDs, as they are on the wire.
    pub(crate) fn read_block(&self, block: u16, position: u8) -> Option<[u8; 64]> {
        let (word, shift) = self.place(position)?;
        let mut out = [0; 64];
        for (to, entry) in out.chunks_exact_mut(2).zip(self.block(block)?) {
            // CAST: The low 16 bits are meant.
            let ports = (entry.get(word)?.load(Relaxed) >> shift) as u16;
            to.copy_from_slice(&ports.to_be_bytes());
        }
        Some(out)
    }

    /// Writes 16 ports of 32 LIDs. Only one may write at a time.
    pub(crate) fn write_block(&self, block: u16, position: u8, value: &[u8; 64]) -> Result {
        let (word, shift) = self.place(position).ok_or(EINVAL)?;
        if value.iter().any(|byte| *byte != 0) {
            self.reserve(block)?;
        }
        let entries = self.block(block).ok_or(EINVAL)?;
        for (from, entry) in value.chunks_exact(2).zip(entries) {
            let &[high, low] = from else {
                return Err(EINVAL);
            };
            let ports = u64::from(u16::from_be_bytes([high, low]));
            let entry = entry.get(word).ok_or(EINVAL)?;
            let kept = entry.load(Relaxed) & !(u64::from(u16::MAX) << shift);
            entry.store(kept | ports << shift, Relaxed);
        }
        Ok(())
    }
}
