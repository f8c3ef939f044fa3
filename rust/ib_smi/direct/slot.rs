// SPDX-License-Identifier: GPL-2.0

//! The slots of a port: an SMP is copied into memory that was mapped once, and sent from there.

use super::{
    done,
    Packet,
    Queue,
    Way, //
};
use crate::{
    bindings,
    ib_smi::smp::{
        self,
        Smp, //
    },
    once,
    rdma::agent::Ah, //
};
use core::cell::UnsafeCell;
use kernel::{
    alloc::KVec,
    container_of,
    error::to_result,
    prelude::*,
    sync::atomic::{
        ordering,
        Atomic, //
    },
    types::Opaque, //
};

/// Slots a port: what may be in the send queue at once.
pub(super) const SLOTS: usize = 16;

/// A work request of ours and the SMP that it sends.
///
/// # Invariants
///
/// Whoever has the [`Claimed`] of a slot owns its cells.
pub(super) struct Slot {
    cqe: Opaque<bindings::ib_cqe>,
    /// As many bytes as a MAD of the port can have.
    packet: UnsafeCell<KVec<u8>>,
    load: UnsafeCell<Option<Load>>,
    /// Where the packet goes, if not to the other end of the link.
    ah: UnsafeCell<Option<Ah>>,
    /// Where the device finds the packet, once it is mapped.
    dma: Option<u64>,
    /// Its bit in [`Slots::free`].
    bit: u32,
    queue: *const Queue,
}

/// What is to be known of the SMP in a slot.
#[derive(Clone, Copy)]
struct Load {
    /// How many bytes of it are sent.
    len: usize,
    way: Way,
    /// How often the device may still flush it before it is lost.
    again: u8,
}

impl Load {
    /// What its work request says.
    #[inline(always)]
    fn request(&self) -> Request {
        Request {
            len: self.len,
            egress: self.way.egress,
            pkey_index: self.way.pkey_index,
        }
    }
}

/// What a work request says of an SMP: how many bytes are sent, by which external port of a switch, with which P_Key.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub(super) len: usize,
    pub(super) egress: u8,
    pub(super) pkey_index: u16,
}

/// How often an SMP is posted again that the device has flushed, once for each request that fails before
/// it. A device that does nothing but flush, since it is going away, has to come to an end with it.
const AGAIN: u8 = 3;

/// A slot that belongs to whoever has this, until it is given back or left to the device.
///
/// # Invariants
///
/// The bit of the slot in [`Slots::free`] is cleared, and there is no other one of the same slot.
pub(super) struct Claimed<'a>(&'a Slot);

/// The slots, and which of them are free.
pub(super) struct Slots {
    /// One bit a slot that is free. Only mapped slots ever are.
    free: Atomic<u32>,
    slots: UnsafeCell<KVec<Slot>>,
}

impl Slots {
    /// Makes room for them.
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            free: Atomic::new(0),
            slots: UnsafeCell::new(KVec::with_capacity(SLOTS, GFP_KERNEL)?),
        })
    }

    /// Makes and maps the slots of `queue`, each with `room` for so many bytes.
    ///
    /// # Safety
    ///
    /// `queue` must be where it stays, not be shared yet, and have these slots. Called once.
    pub(super) unsafe fn fill(&self, queue: &Queue, room: usize) -> Result {
        // SAFETY: Not shared yet.
        let slots = unsafe { &mut *self.slots.get() };
        for index in 0..SLOTS as u32 {
            slots.push(
                Slot {
                    cqe: Opaque::new(bindings::ib_cqe { done: Some(done) }),
                    packet: UnsafeCell::new(KVec::from_elem(0, room, GFP_KERNEL)?),
                    load: UnsafeCell::new(None),
                    ah: UnsafeCell::new(None),
                    dma: None,
                    bit: 1u32 << index,
                    queue,
                },
                GFP_KERNEL,
            )?;
        }
        let device = queue.device();
        for slot in slots.iter_mut() {
            let packet = slot.packet.get_mut().as_mut_ptr().cast();
            // SAFETY: The packets have their final place, and live until they are unmapped.
            let dma = unsafe { bindings::ib_smi_dma_map(device, packet, room) };
            // SAFETY: Always safe to call with a device.
            to_result(unsafe { bindings::ib_smi_dma_mapping_error(device, dma) })?;
            slot.dma = Some(dma);
            self.free.add(slot.bit, ordering::Relaxed);
        }
        Ok(())
    }

    /// Unmaps the slots.
    ///
    /// # Safety
    ///
    /// None of them may be in use any more; the others are those that they were made with.
    pub(super) unsafe fn unmap(&self, device: *mut bindings::ib_device, room: usize) {
        for dma in self.all().iter().filter_map(|slot| slot.dma) {
            // SAFETY: Mapped by `fill()`, and not in use.
            unsafe { bindings::ib_smi_dma_unmap(device, dma, room) };
        }
    }

    fn all(&self) -> &KVec<Slot> {
        // SAFETY: Not changed since `fill()`.
        unsafe { &*self.slots.get() }
    }

    /// How many are in use.
    pub(super) fn in_use(&self) -> u32 {
        let mapped = self.all().iter().filter(|slot| slot.dma.is_some()).count() as u32;
        mapped.saturating_sub(self.free.load(ordering::Acquire).count_ones())
    }

    /// Takes a free slot.
    #[inline]
    pub(super) fn claim(&self) -> Option<Claimed<'_>> {
        let mut free = once::read(&self.free);
        while free != 0 {
            match self
                .free
                .cmpxchg(free, free & (free - 1), ordering::Acquire)
            {
                // INVARIANT: The bit is cleared, just now.
                Ok(_) => return self.all().get(free.trailing_zeros() as usize).map(Claimed),
                Err(now) => free = now,
            }
        }
        None
    }

    /// Gives a slot back.
    #[inline]
    pub(super) fn release(&self, slot: Claimed<'_>) {
        // SAFETY: Ours by the type invariants.
        drop(unsafe { (*slot.0.ah.get()).take() });
        self.free.fetch_add(slot.0.bit, ordering::Full);
    }
}

impl<'a> Claimed<'a> {
    /// The slot whose work request is complete, and the queue that it is of.
    ///
    /// # Safety
    ///
    /// `cqe` must be that of a slot which was left to the device, and is given back by this.
    #[inline]
    pub(super) unsafe fn back(cqe: *mut bindings::ib_cqe) -> (Self, &'a Queue) {
        // SAFETY: By the safety requirements, the entry is a slot's; slots and queue outlive their use.
        let slot = unsafe { &*container_of!(Opaque::cast_from(cqe), Slot, cqe) };
        // INVARIANT: Whoever left it to the device has cleared the bit.
        // SAFETY: As above.
        (Self(slot), unsafe { &*slot.queue })
    }

    /// Where the device finds the packet.
    #[inline]
    pub(super) fn dma(&self) -> u64 {
        // Only mapped slots are ever free.
        self.0.dma.unwrap_or(0)
    }

    /// What its completion names.
    #[inline]
    pub(super) fn cqe(&self) -> *mut bindings::ib_cqe {
        self.0.cqe.get()
    }

    /// Copies an SMP into the slot, as it leaves.
    #[inline]
    pub(super) fn load(&self, packet: Packet<'_>, room: usize) -> Request {
        let copied = packet.mad.len().min(room);
        // SAFETY: Ours by the type invariants.
        let (to, kept, ah) = unsafe {
            (
                &mut *self.0.packet.get(),
                &mut *self.0.load.get(),
                &mut *self.0.ah.get(),
            )
        };
        if let (Some(to), Some(from)) = (to.get_mut(..copied), packet.mad.get(..copied)) {
            copy(from, to);
        }
        if let Some(smp) = to.first_chunk_mut() {
            smp::apply(smp, packet.way.format, &packet.way.decision, true);
        }
        let load = Load {
            len: packet.len.min(room),
            way: packet.way,
            again: AGAIN,
        };
        *kept = Some(load);
        *ah = packet.ah;
        load.request()
    }

    /// The address handle, if the packet has one of its own.
    #[inline]
    pub(super) fn ah(&self) -> Option<&Ah> {
        // SAFETY: Ours by the type invariants.
        unsafe { (*self.0.ah.get()).as_ref() }
    }

    /// What [`Claimed::load`] has returned, if the SMP may be posted again, of which the device has flushed
    /// the request; that counts.
    pub(super) fn once_more(&mut self) -> Option<Request> {
        // SAFETY: Ours by the type invariants.
        let load = unsafe { (*self.0.load.get()).as_mut() }?;
        load.again = load.again.checked_sub(1)?;
        Some(load.request())
    }

    /// The SMP, and its way, if there is one.
    pub(super) fn smp(&self) -> Option<(&[u8], Way)> {
        // SAFETY: Ours by the type invariants.
        let (packet, load) = unsafe { (&*self.0.packet.get(), *self.0.load.get()) };
        load.map(|load| (&packet[..], load.way))
    }
}

/// Copies a MAD into as much room.
///
/// An InfiniBand SMP goes in four parts, for which the compiler moves words: a call would take twice as many
/// instructions on a processor without fast ones for strings.
#[inline(always)]
fn copy(from: &[u8], to: &mut [u8]) {
    let (Ok(smp), Ok(room)) = (<&Smp>::try_from(from), <&mut Smp>::try_from(&mut *to)) else {
        return to.copy_from_slice(from);
    };
    for at in [0, 64, 128, 192] {
        let part = smp.get(at..).and_then(<[u8]>::first_chunk::<64>);
        let room = room.get_mut(at..).and_then(<[u8]>::first_chunk_mut);
        if let (Some(part), Some(room)) = (part, room) {
            *room = *part;
        }
    }
}
