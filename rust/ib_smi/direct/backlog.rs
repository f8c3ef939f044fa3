// SPDX-License-Identifier: GPL-2.0

//! SMPs that wait for a slot, in the order in which they came.

use super::{
    Packet,
    Way, //
};
use crate::{
    ib_smi::hop::Obstacle,
    once,
    rdma::agent::Ah, //
};
use kernel::{
    alloc::KVec,
    new_spinlock,
    prelude::*,
    sync::{
        atomic::{
            ordering,
            Atomic, //
        },
        SpinLock, //
    }, //
};

/// So many wait; more are dropped, as a full buffer of VL15 drops.
const CAPACITY: usize = 256;

/// An SMP that waits for a slot.
pub(super) struct Waiting {
    mad: KVec<u8>,
    len: usize,
    way: Way,
    ah: Option<Ah>,
}

impl Waiting {
    /// A copy that can wait.
    fn keep(packet: Packet<'_>) -> Result<KBox<Self>> {
        let mut mad = KVec::with_capacity(packet.mad.len(), GFP_KERNEL)?;
        mad.extend_from_slice(packet.mad, GFP_KERNEL)?;
        let (len, way, ah) = (packet.len, packet.way, packet.ah);
        Ok(KBox::new(Self { mad, len, way, ah }, GFP_KERNEL)?)
    }

    /// The SMP, to be sent now. The address handle goes along.
    pub(super) fn packet(&mut self) -> Packet<'_> {
        Packet {
            mad: &self.mad,
            len: self.len,
            way: self.way,
            ah: self.ah.take(),
        }
    }

    /// The SMP as it came here, and its way.
    pub(super) fn smp(&self) -> (&[u8], Way) {
        (&self.mad, self.way)
    }
}

/// The SMPs of a port that wait.
#[pin_data]
pub(super) struct Backlog {
    /// How many there are, to be read without the lock.
    count: Atomic<u32>,
    #[pin]
    list: SpinLock<KVec<KBox<Waiting>>>,
}

impl Backlog {
    /// An empty one.
    pub(super) fn new() -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            count: Atomic::new(0),
            list <- new_spinlock!(KVec::with_capacity(CAPACITY, GFP_KERNEL)?),
        })
    }

    /// How many wait.
    #[inline]
    pub(super) fn len(&self) -> u32 {
        once::read(&self.count)
    }

    /// Lets an SMP wait. May sleep.
    #[cold]
    pub(super) fn push(&self, packet: Packet<'_>) -> Result<(), Obstacle> {
        let packet = Waiting::keep(packet).map_err(|_| Obstacle::NoMemory)?;
        let left = {
            let mut list = self.list.lock();
            // There is room for as many as may wait.
            let pushed = list.push_within_capacity(packet);
            if pushed.is_ok() {
                self.count.fetch_add(1u32, ordering::Full);
            }
            pushed.err()
        };
        // What finds no room goes without the lock, for to give its address handle back may sleep.
        match left {
            Some(_) => Err(Obstacle::QueueFull),
            None => Ok(()),
        }
    }

    /// Takes the one that has waited longest.
    pub(super) fn pop(&self) -> Option<KBox<Waiting>> {
        let mut list = self.list.lock();
        let next = list.remove(0).ok();
        if next.is_some() {
            self.count.fetch_sub(1u32, ordering::Full);
        }
        next
    }
}
