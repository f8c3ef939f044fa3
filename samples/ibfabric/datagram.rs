// SPDX-License-Identifier: GPL-2.0

//! The bytes of a management datagram.
//!
//! One of InfiniBand's has 256 bytes, which are kept in place. One of Omni-Path's may have up to 2048:
//! what is behind the first 256 is kept elsewhere and shared by all copies, since nothing on the way
//! changes it.

use crate::provider::{
    MAD_SIZE,
    OPA_MAD_SIZE, //
};
use kernel::{
    alloc::{
        flags::{
            GFP_ATOMIC,
            __GFP_NOWARN, //
        },
        Flags, //
    },
    prelude::*,
    sync::{
        Arc,
        UniqueArc, //
    }, //
};

/// What is behind the first bytes of a long datagram, while it is written.
pub(crate) type Rest = UniqueArc<KVec<u8>>;

/// A management datagram.
#[derive(Clone)]
pub(crate) struct Datagram {
    head: [u8; MAD_SIZE],
    rest: Option<Arc<KVec<u8>>>,
    /// How many bytes there are; what is behind them got lost.
    len: u16,
}

// There are very many of them.
const _: () = assert!(size_of::<Datagram>() <= MAD_SIZE + 16);

impl Datagram {
    /// One of InfiniBand's.
    pub(crate) const fn new(head: [u8; MAD_SIZE]) -> Self {
        Self {
            head,
            rest: None,
            // CAST: It fits.
            len: MAD_SIZE as u16,
        }
    }

    /// Room for what is behind the first bytes of a datagram of `len` bytes, if that is anything.
    pub(crate) fn room(len: usize) -> Result<Option<Rest>> {
        const FLAGS: Flags = GFP_ATOMIC;
        if len > OPA_MAD_SIZE {
            return Err(EINVAL);
        }
        let rest = match len.checked_sub(MAD_SIZE) {
            None | Some(0) => return Ok(None),
            Some(rest) => KVec::from_elem(0, rest, FLAGS | __GFP_NOWARN)?,
        };
        Ok(Some(UniqueArc::new(rest, FLAGS | __GFP_NOWARN)?))
    }

    /// One of `len` bytes, with [`Datagram::room`] for all that is behind the first ones.
    pub(crate) fn long(head: [u8; MAD_SIZE], rest: Option<Rest>, len: usize) -> Self {
        let room = rest.as_ref().map_or(0, |rest| rest.len());
        let len = len.min(MAD_SIZE.saturating_add(room));
        Self {
            head,
            rest: rest.map(Arc::from),
            len: u16::try_from(len).unwrap_or(u16::MAX),
        }
    }

    /// The first bytes, those of a short one that are not there included.
    pub(crate) fn head(&self) -> &[u8; MAD_SIZE] {
        &self.head
    }

    /// How many bytes there are.
    pub(crate) fn len(&self) -> u16 {
        self.len
    }

    /// All bytes, in two parts.
    pub(crate) fn parts(&self) -> [&[u8]; 2] {
        let len = usize::from(self.len);
        let rest = self.rest.as_ref().map_or(&[][..], |rest| rest);
        [
            self.head.get(..len).unwrap_or(&self.head),
            rest.get(..len.saturating_sub(MAD_SIZE)).unwrap_or(rest),
        ]
    }

    /// One of the first bytes, if it is there.
    pub(crate) fn byte(&self, offset: u8) -> Option<u8> {
        let [head, _] = self.parts();
        head.get(usize::from(offset)).copied()
    }

    /// Changes one of the first bytes.
    pub(crate) fn set_byte(&mut self, offset: u8, value: u8) {
        if let Some(byte) = self.head.get_mut(usize::from(offset)) {
            *byte = value;
        }
    }

    /// Lets all bytes behind the first `len` get lost.
    pub(crate) fn cut(&mut self, len: u16) {
        self.len = self.len.min(len);
    }
}
