// SPDX-License-Identifier: GPL-2.0

//! Sending on QP0 past ib_mad, with work requests of our own.
//!
//! `ib_post_send_mad()` would take an SMP that has its directed-route part behind it for its own
//! node's, and hand it to a local agent. It also allocates twice and takes several locks an SMP.
//! Here an SMP is copied into a slot that was mapped once, and posted.
//!
//! ib_mad believes that the whole send queue is its own. [`Share`] takes our slots off its account.

use super::{
    hop::{
        Hop,
        Obstacle,
        Point, //
    },
    origin::Origin,
    send_queue::{
        self,
        Levels,
        Share, //
    },
    smp::{
        self,
        Format,
        Smp, //
    }, //
};
use crate::{
    bindings,
    compat::eopnotsupp,
    dr::Decision,
    rdma::{
        agent::{
            Agent,
            Ah, //
        },
        device::Device, //
    },
};
use core::{
    cell::UnsafeCell,
    mem::size_of, //
};
use kernel::{
    alloc::KVec,
    container_of,
    error::to_result,
    new_spinlock,
    prelude::*,
    sync::{
        atomic::{
            ordering,
            Atomic, //
        },
        SpinLock, //
    },
    time::{
        delay::fsleep,
        Delta, //
    },
    types::Opaque, //
};

/// Slots a port: what may be in the send queue at once.
const SLOTS: usize = 16;

/// The permissive LIDs.
const PERMISSIVE: u32 = 0xffff;
const OPA_PERMISSIVE: u32 = u32::MAX;

/// SMPs that wait for a slot; more are dropped, as a full buffer of VL15 drops.
const BACKLOG: usize = 256;

/// An SMP that is to be sent, as it came here.
pub(super) struct Packet<'a> {
    /// At least as long as an InfiniBand SMP.
    pub(super) mad: &'a [u8],
    /// How many bytes of it are sent.
    pub(super) len: usize,
    pub(super) way: Way,
    /// Where a LID-routed part begins; none within the directed-route part.
    pub(super) ah: Option<Ah>,
}

/// An SMP that waits for a slot.
struct Waiting {
    mad: KVec<u8>,
    len: usize,
    way: Way,
    ah: Option<Ah>,
}

/// How an SMP came here, and how it leaves.
#[derive(Clone, Copy)]
pub(super) struct Way {
    /// Where it was decided.
    pub(super) point: Point,
    pub(super) format: Format,
    pub(super) ingress: u8,
    /// The external port by which a switch sends a directed-route SMP.
    pub(super) egress: u8,
    pub(super) decision: Decision,
}

impl Packet<'_> {
    /// A copy that can wait.
    fn keep(self) -> Result<KBox<Waiting>> {
        let mut mad = KVec::with_capacity(self.mad.len(), GFP_KERNEL)?;
        mad.extend_from_slice(self.mad, GFP_KERNEL)?;
        let (len, way, ah) = (self.len, self.way, self.ah);
        Ok(KBox::new(Waiting { mad, len, way, ah }, GFP_KERNEL)?)
    }
}

/// A work request of ours and the SMP that it sends.
///
/// # Invariants
///
/// Whoever has cleared the slot's bit in [`Queue::free`] owns its cells, until the bit is set again.
struct Slot {
    cqe: Opaque<bindings::ib_cqe>,
    /// As many bytes as a MAD of the port can have.
    packet: UnsafeCell<KVec<u8>>,
    way: UnsafeCell<Option<Way>>,
    ah: UnsafeCell<Option<Ah>>,
    /// Where the device finds the packet, once it is mapped.
    dma: Option<u64>,
    index: u32,
    queue: *const Queue,
}

/// The slots of one port.
#[pin_data(PinnedDrop)]
pub(super) struct Queue {
    agent: Agent,
    /// To the other end of whichever link: permissive.
    permissive: Ah,
    /// How many bytes a MAD of the port can have.
    room: usize,
    /// One bit a slot that is free.
    free: Atomic<u32>,
    slots: UnsafeCell<KVec<Slot>>,
    waiting: Atomic<u32>,
    /// Whether the queue pair could not be brought back to work, which is said once.
    stuck: Atomic<bool>,
    #[pin]
    backlog: SpinLock<KVec<KBox<Waiting>>>,
    _share: Share,
}

// SAFETY: Slots are owned through `free`; they are filled before the queue is shared.
unsafe impl Send for Queue {}
// SAFETY: As above.
unsafe impl Sync for Queue {}

impl Queue {
    /// Makes the slots of the port whose QP0 agent is given.
    pub(super) fn new(agent: Agent) -> Result<Pin<KBox<Self>>> {
        let (room, lid) = if agent.speaks_opa() {
            (size_of::<bindings::opa_mad>(), OPA_PERMISSIVE)
        } else {
            (size_of::<Smp>(), PERMISSIVE)
        };
        let permissive = agent.address(lid)?;
        let share = Share::take(agent.qp(), SLOTS as c_int)?;
        let slots = KVec::with_capacity(SLOTS, GFP_KERNEL)?;
        let backlog = KVec::with_capacity(BACKLOG, GFP_KERNEL)?;
        let queue = KBox::pin_init(
            pin_init!(Self {
                agent,
                permissive,
                room,
                free: Atomic::new(0),
                slots: UnsafeCell::new(slots),
                waiting: Atomic::new(0),
                stuck: Atomic::new(false),
                backlog <- new_spinlock!(backlog),
                _share: share,
            }),
            GFP_KERNEL,
        )?;
        queue.as_ref().get_ref().fill()?;
        Ok(queue)
    }

    /// Makes and maps the slots. Called once, before the queue is shared.
    fn fill(&self) -> Result {
        // SAFETY: Not shared yet.
        let slots = unsafe { &mut *self.slots.get() };
        for index in 0..SLOTS as u32 {
            slots.push(
                Slot {
                    cqe: Opaque::new(bindings::ib_cqe { done: Some(done) }),
                    packet: UnsafeCell::new(KVec::from_elem(0, self.room, GFP_KERNEL)?),
                    way: UnsafeCell::new(None),
                    ah: UnsafeCell::new(None),
                    dma: None,
                    index,
                    queue: self,
                },
                GFP_KERNEL,
            )?;
        }
        for slot in slots.iter_mut() {
            let device = self.device();
            let packet = slot.packet.get_mut().as_mut_ptr().cast();
            // SAFETY: The packets have their final place, and live until they are unmapped.
            let dma = unsafe { bindings::ib_smi_dma_map(device, packet, self.room) };
            // SAFETY: Always safe to call with a device.
            to_result(unsafe { bindings::ib_smi_dma_mapping_error(device, dma) })?;
            slot.dma = Some(dma);
            self.free.add(1u32 << slot.index, ordering::Relaxed);
        }
        Ok(())
    }

    fn device(&self) -> *mut bindings::ib_device {
        // SAFETY: The agent keeps its queue pair.
        unsafe { (*self.agent.qp()).device }
    }

    fn slots(&self) -> &KVec<Slot> {
        // SAFETY: Not changed since `fill()`.
        unsafe { &*self.slots.get() }
    }

    /// How full QP0 is.
    pub(super) fn levels(&self) -> Levels {
        let free = self.free.load(ordering::Relaxed).count_ones();
        let own = (
            (SLOTS as u32).saturating_sub(free),
            self.waiting.load(ordering::Relaxed),
        );
        Levels::read(self.agent.qp(), own)
    }

    /// Returns an address handle to the LID `lid`. May sleep.
    pub(super) fn address(&self, lid: u32) -> Result<Ah> {
        self.agent.address(lid)
    }

    /// Sends an SMP now, or when a slot gets free. May sleep.
    #[inline]
    pub(super) fn send(&self, packet: Packet<'_>) -> Result<(), Obstacle> {
        match self.claim() {
            Some(slot) => self.post(slot, packet),
            None => self.wait(packet),
        }
    }

    /// Takes a free slot.
    #[inline]
    fn claim(&self) -> Option<&Slot> {
        let mut free = self.free.load(ordering::Relaxed);
        while free != 0 {
            match self
                .free
                .cmpxchg(free, free & (free - 1), ordering::Acquire)
            {
                Ok(_) => return self.slots().get(free.trailing_zeros() as usize),
                Err(now) => free = now,
            }
        }
        None
    }

    /// Gives a slot back.
    #[inline]
    fn release(&self, slot: &Slot) {
        // SAFETY: The caller owns the slot by the type invariants.
        drop(unsafe { (*slot.ah.get()).take() });
        self.free.fetch_add(1u32 << slot.index, ordering::Full);
    }

    /// Posts an SMP through a slot that the caller has claimed.
    #[inline]
    fn post(&self, slot: &Slot, packet: Packet<'_>) -> Result<(), Obstacle> {
        let ah = packet.ah.as_ref().unwrap_or(&self.permissive).as_raw();
        let qp = self.agent.qp();
        // Only mapped slots are ever free.
        let dma = slot.dma.unwrap_or(0);
        let len = packet.len.min(self.room);
        let copied = packet.mad.len().min(self.room);
        let mut sge = bindings::ib_sge {
            addr: dma,
            length: len as u32,
            // SAFETY: The queue pair keeps its protection domain.
            lkey: unsafe { (*(*qp).pd).local_dma_lkey },
        };
        let mut wr = bindings::ib_ud_wr {
            ah,
            remote_qpn: 0,
            remote_qkey: bindings::IB_QP_SET_QKEY,
            port_num: packet.way.egress.into(),
            ..Default::default()
        };
        // SAFETY: A union of this pointer and an integer of the same size.
        unsafe { *wr.wr.__bindgen_anon_1.wr_cqe.as_mut() = slot.cqe.get() };
        wr.wr.sg_list = &mut sge;
        wr.wr.num_sge = 1;
        wr.wr.opcode = bindings::ib_wr_opcode_IB_WR_SEND;
        wr.wr.send_flags = bindings::ib_send_flags_IB_SEND_SIGNALED as c_int;
        let mut bad = core::ptr::null();
        // SAFETY: The caller owns the slot by the type invariants.
        let (to, way, kept) = unsafe {
            (
                &mut *slot.packet.get(),
                &mut *slot.way.get(),
                &mut *slot.ah.get(),
            )
        };
        if let (Some(to), Some(from)) = (to.get_mut(..copied), packet.mad.get(..copied)) {
            to.copy_from_slice(from);
        }
        if let Some(smp) = to.first_chunk_mut() {
            smp::apply(smp, packet.way.format, &packet.way.decision, true);
        }
        *way = Some(packet.way);
        *kept = packet.ah;
        // SAFETY: Mapped by `fill()`.
        unsafe { bindings::ib_smi_dma_sync(self.device(), dma, len) };
        // SAFETY: All of it lives until `done()`, but for the request, which the driver copies. The
        // RDMA core checks at registration that a device which makes queue pairs has `post_send`.
        let posted = unsafe {
            match (*self.device()).ops.post_send {
                Some(post_send) => to_result(post_send(qp, &wr.wr, &mut bad)),
                None => Err(eopnotsupp()),
            }
        };
        posted.map_err(|_| {
            self.release(slot);
            Obstacle::PostFailed
        })
    }

    /// Lets an SMP wait for a slot.
    #[cold]
    fn wait(&self, packet: Packet<'_>) -> Result<(), Obstacle> {
        let packet = packet.keep().map_err(|_| Obstacle::NoMemory)?;
        let left = {
            let mut backlog = self.backlog.lock();
            // There is room for as many as may wait.
            let pushed = backlog.push_within_capacity(packet);
            if pushed.is_ok() {
                self.waiting.fetch_add(1u32, ordering::Full);
            }
            pushed.err()
        };
        // What finds no room goes without the lock, for to give its address handle back may sleep.
        if left.is_some() {
            return Err(Obstacle::QueueFull);
        }
        // A slot may have got free before the SMP could be seen waiting.
        self.drain();
        Ok(())
    }

    /// Posts what waits, as far as there are slots.
    fn drain(&self) {
        while self.waiting.load(ordering::Acquire) != 0 {
            let Some(slot) = self.claim() else { return };
            let next = {
                let mut backlog = self.backlog.lock();
                let next = backlog.remove(0).ok();
                if next.is_some() {
                    self.waiting.fetch_sub(1u32, ordering::Full);
                }
                next
            };
            match next {
                Some(waiting) => {
                    let Waiting { mad, len, way, ah } = KBox::into_inner(waiting);
                    let packet = Packet {
                        mad: &mad,
                        len,
                        way,
                        ah,
                    };
                    if let Err(obstacle) = self.post(slot, packet) {
                        self.lost(&mad, way, obstacle);
                    }
                }
                None => self.release(slot),
            }
        }
    }

    /// Tells of an SMP that was lost after it had been passed on. Its Hop Pointer may be the one it left
    /// with.
    #[cold]
    fn lost(&self, mad: &[u8], way: Way, obstacle: Obstacle) {
        let Some(smp) = mad.first_chunk() else { return };
        // SAFETY: The device outlives the agent.
        let device = unsafe { Device::from_raw(self.device()) };
        Hop {
            point: way.point,
            smp,
            format: way.format,
            origin: Origin {
                device: Some(device),
                port: self.agent.port(),
            },
            is_switch: device.is_switch(),
            ingress: way.ingress,
            decision: way.decision,
            obstacle: Some(obstacle),
        }
        .lost();
    }

    /// A work request has failed: tells, and brings the queue pair back to work.
    #[cold]
    fn failed(&self, slot: &Slot, status: bindings::ib_wc_status) {
        // SAFETY: The slot is not released yet, hence the caller's alone by the type invariants.
        let (mad, way) = unsafe { (&*slot.packet.get(), *slot.way.get()) };
        if let Some(way) = way {
            self.lost(mad, way, Obstacle::SendFailed);
        }
        self.mend(status);
    }

    /// Brings the queue pair back to work after one of our work requests has failed.
    ///
    /// The device has flushed the requests behind it and stopped sending. ib_mad mends that after a
    /// failure of its own requests only.
    #[cold]
    fn mend(&self, status: bindings::ib_wc_status) {
        if status == bindings::ib_wc_status_IB_WC_WR_FLUSH_ERR {
            return;
        }
        let Ok(mut attr) = KBox::new(bindings::ib_qp_attr::default(), GFP_KERNEL) else {
            return;
        };
        attr.qp_state = bindings::ib_qp_state_IB_QPS_RTS;
        attr.cur_qp_state = bindings::ib_qp_state_IB_QPS_SQE;
        let mask =
            bindings::ib_qp_attr_mask_IB_QP_STATE | bindings::ib_qp_attr_mask_IB_QP_CUR_STATE;
        // SAFETY: The agent keeps its queue pair; completions are handled where one may sleep.
        let mended = unsafe { bindings::ib_modify_qp(self.agent.qp(), &mut *attr, mask as c_int) };
        if mended == 0 {
            self.stuck.store(false, ordering::Relaxed);
            send_queue::retry_flushed(self.agent.qp());
        } else if !self.stuck.xchg(true, ordering::Relaxed) {
            // A packet can cause it, and many can again.
            // SAFETY: The device outlives the agent.
            let device = unsafe { Device::from_raw(self.device()) };
            pr_err!(
                "{}: QP0 could not be brought back to work (error {mended})\n",
                device.name()
            );
        }
    }

    /// How long to wait in silence.
    const PATIENCE_MS: u64 = 10_000;

    /// Waits until no slot is in use and [`done`] runs no more.
    fn quiesce(&self) {
        let mapped = self
            .slots()
            .iter()
            .filter(|slot| slot.dma.is_some())
            .count() as u32;
        // As with ib_mad, there is no way on without the device, which may still read what it sends.
        for turn in 1u64.. {
            let busy = mapped.saturating_sub(self.free.load(ordering::Acquire).count_ones());
            if busy == 0 {
                break;
            }
            if turn % Self::PATIENCE_MS == 0 {
                pr_warn!("still waiting for a device to complete {busy} sends on QP0\n");
            }
            fsleep(Delta::from_millis(1));
        }
        // The bit is set before `done()` returns.
        // SAFETY: The agent keeps its queue pair, which keeps its completion queue, whose completions
        // ib_mad has handled by a work item.
        unsafe {
            let cq = (*self.agent.qp()).send_cq;
            bindings::flush_work((&raw mut (*cq).__bindgen_anon_1.work).cast());
        }
    }
}

#[pinned_drop]
impl PinnedDrop for Queue {
    /// Nobody sends any more. The fields go after this, the agent first: by then it is not needed.
    fn drop(self: Pin<&mut Self>) {
        self.quiesce();
        for slot in self.slots().iter() {
            if let Some(dma) = slot.dma {
                // SAFETY: Mapped by `fill()`, and not in use.
                unsafe { bindings::ib_smi_dma_unmap(self.device(), dma, self.room) };
            }
        }
    }
}

/// A work request of ours is complete.
///
/// # Safety
///
/// Only the RDMA core may call it, with the completion of a [`Slot`].
unsafe extern "C" fn done(_cq: *mut bindings::ib_cq, wc: *mut bindings::ib_wc) {
    // SAFETY: By the safety requirements.
    let (cqe, status) = unsafe { (*(*wc).__bindgen_anon_1.wr_cqe.as_ref(), (*wc).status) };
    // SAFETY: By the safety requirements, the entry is a slot's; slots and queue outlive their use.
    let slot = unsafe { &*container_of!(Opaque::cast_from(cqe), Slot, cqe) };
    // SAFETY: As above.
    let queue = unsafe { &*slot.queue };
    if status != bindings::ib_wc_status_IB_WC_SUCCESS {
        queue.failed(slot, status);
    }
    queue.release(slot);
    queue.drain();
}
