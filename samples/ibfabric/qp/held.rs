// SPDX-License-Identifier: GPL-2.0

//! Packets that wait for a receive buffer.
//!
//! In hardware a datagram that finds no receive buffer is dropped. There, a burst is spread by the
//! speed of the wire; here a sender can deliver a thousand packets before the receiver's thread gets
//! the processor for the first time, and its MAD layer posts a buffer only after it has dealt with a
//! packet. So a queue pair has as much room as a port has in hardware ahead of the queue pair: for a
//! bounded number of packets, and for a bounded time. Beyond either they are dropped and counted. Memory
//! is taken only for packets that do wait.

use super::work::Outcome;
use crate::{
    compat::enobufs,
    datagram::Datagram,
    provider::GRH_SIZE,
    ring::Ring, //
};
use kernel::{
    alloc::{
        allocator::Kmalloc,
        flags::{
            GFP_ATOMIC,
            __GFP_NOWARN, //
        }, //
    },
    prelude::*,
    time::{
        Delta,
        Instant,
        Monotonic, //
    }, //
};

/// How many packets can wait.
const CAPACITY: usize = 128;

/// How long, in milliseconds. Requests are usually repeated after a second or less.
const MAX_AGE_MS: i64 = 500;

/// A packet in front of a queue pair.
pub(super) struct Arrival<'a> {
    /// What to tell about it.
    pub(super) outcome: Outcome,
    /// Whether the consumer shall be told at once.
    pub(super) solicited: bool,
    /// The global route header, if there is one.
    pub(super) grh: Option<&'a [u8; GRH_SIZE]>,
    /// The datagram.
    pub(super) data: &'a Datagram,
}

/// A packet that waits.
pub(super) struct Waiting {
    since: Instant<Monotonic>,
    outcome: Outcome,
    solicited: bool,
    grh: Option<[u8; GRH_SIZE]>,
    data: Datagram,
}

impl Waiting {
    /// The packet.
    pub(super) fn arrival(&self) -> Arrival<'_> {
        Arrival {
            outcome: self.outcome,
            solicited: self.solicited,
            grh: self.grh.as_ref(),
            data: &self.data,
        }
    }

    /// Whether it waited for too long.
    pub(super) fn is_stale(&self) -> bool {
        self.since.elapsed() > Delta::from_millis(MAX_AGE_MS)
    }

    /// The port that it came in by.
    pub(super) fn ingress(&self) -> u8 {
        self.outcome.ingress
    }
}

/// All that wait, in order.
pub(super) struct Held(Ring<KBox<Waiting>, Kmalloc>);

impl Held {
    /// Nothing waits.
    pub(super) fn new() -> Result<Self> {
        Ok(Self(Ring::new(CAPACITY)?))
    }

    /// Lets a packet wait, if there is room.
    pub(super) fn push(&mut self, arrival: &Arrival<'_>) -> Result {
        if self.0.len() >= CAPACITY {
            return Err(enobufs());
        }
        let waiting = Waiting {
            since: Instant::now(),
            outcome: arrival.outcome,
            solicited: arrival.solicited,
            grh: arrival.grh.copied(),
            data: arrival.data.clone(),
        };
        let waiting = KBox::new(waiting, GFP_ATOMIC | __GFP_NOWARN)?;
        self.0.push(waiting).map_err(|_| enobufs())
    }

    /// Takes the one that waited for longest.
    pub(super) fn pop(&mut self) -> Option<KBox<Waiting>> {
        self.0.pop()
    }

    /// Drops all.
    pub(super) fn clear(&mut self) {
        self.0.retain(|_| false);
    }
}
