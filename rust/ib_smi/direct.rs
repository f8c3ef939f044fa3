// SPDX-License-Identifier: GPL-2.0

//! Sending on QP0 past ib_mad, with work requests of our own.
//!
//! `ib_post_send_mad()` would take an SMP that has its directed-route part behind it for its own
//! node's, and hand it to a local agent. It also allocates twice and takes several locks an SMP.
//! Here an SMP is copied into a [slot](Slots) that was mapped once, and posted; without a slot, it
//! [waits](Backlog).
//!
//! ib_mad believes that the whole send queue is its own. [`Share`] takes our slots off its account.

mod backlog;
mod mend;
mod slot;

use self::{
    backlog::Backlog,
    mend::Mender,
    slot::{
        Claimed,
        Request,
        Slots,
        SLOTS, //
    }, //
};
use super::{
    hop::{
        Hop,
        Obstacle,
        Point, //
    },
    origin::Origin,
    send_queue::{
        Levels,
        Share,
        PATIENCE_MS, //
    },
    smp::{
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
use core::mem::size_of;
use kernel::{
    error::to_result,
    prelude::*,
    time::{
        delay::fsleep,
        Delta, //
    }, //
};

/// The permissive LIDs.
const PERMISSIVE: u32 = 0xffff;
const OPA_PERMISSIVE: u32 = u32::MAX;

/// An SMP that is to be sent, as it came here.
pub(super) struct Packet<'a> {
    /// At least as long as an InfiniBand SMP.
    pub(super) mad: &'a [u8],
    /// How many bytes of it are sent.
    pub(super) len: usize,
    pub(super) way: Way,
    /// Where it goes; none to the other end of the link, with nothing to be said of the way there.
    pub(super) ah: Option<Ah>,
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
    /// Which P_Key of its port it leaves with. Drivers of InfiniBand do not look at this on QP0; Omni-Path's do.
    pub(super) pkey_index: u16,
    pub(super) decision: Decision,
}

/// What a port sends with.
#[pin_data(PinnedDrop)]
pub(super) struct Queue {
    agent: Agent,
    /// To the other end of whichever link: permissive.
    permissive: Ah,
    /// How many bytes a MAD of the port can have.
    room: usize,
    slots: Slots,
    #[pin]
    backlog: Backlog,
    mender: Mender,
    _share: Share,
}

// SAFETY: Slots are owned by who has claimed them; they are filled before the queue is shared.
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
        let slots = Slots::new()?;
        let queue = KBox::try_pin_init(
            try_pin_init!(Self {
                agent,
                permissive,
                room,
                slots,
                backlog <- Backlog::new(),
                mender: Mender::new(),
                _share: share,
            }),
            GFP_KERNEL,
        )?;
        // SAFETY: It stays where it is now, and nobody else has it.
        unsafe { queue.slots.fill(&queue, room) }?;
        Ok(queue)
    }

    fn device(&self) -> *mut bindings::ib_device {
        // SAFETY: The agent keeps its queue pair.
        unsafe { (*self.agent.qp()).device }
    }

    /// How full QP0 is.
    pub(super) fn levels(&self) -> Levels {
        let own = (self.slots.in_use(), self.backlog.len());
        Levels::read(self.agent.qp(), own)
    }

    /// Whose the queue is.
    pub(super) fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Sends an SMP now, or when a slot gets free. May sleep.
    #[inline(always)]
    pub(super) fn send(&self, packet: Packet<'_>) -> Result<(), Obstacle> {
        match self.slots.claim() {
            Some(slot) => self.post(slot, packet),
            None => self.wait(packet),
        }
    }

    /// Posts an SMP through a slot.
    #[inline(always)]
    fn post(&self, slot: Claimed<'_>, packet: Packet<'_>) -> Result<(), Obstacle> {
        let request = slot.load(packet, self.room);
        self.submit(&slot, request).map_err(|_| {
            self.slots.release(slot);
            Obstacle::PostFailed
        })
    }

    /// Leaves a slot that is loaded to the device; it comes back to [`done`] unless this fails.
    #[inline(always)]
    fn submit(&self, slot: &Claimed<'_>, request: Request) -> Result {
        let qp = self.agent.qp();
        let mut sge = bindings::ib_sge {
            addr: slot.dma(),
            length: request.len as u32,
            // SAFETY: The queue pair keeps its protection domain.
            lkey: unsafe { (*(*qp).pd).local_dma_lkey },
        };
        let mut wr = bindings::ib_ud_wr {
            ah: slot.ah().unwrap_or(&self.permissive).as_raw(),
            remote_qpn: 0,
            remote_qkey: bindings::IB_QP_SET_QKEY,
            pkey_index: request.pkey_index,
            port_num: request.egress.into(),
            ..Default::default()
        };
        // SAFETY: A union of this pointer and an integer of the same size.
        unsafe { *wr.wr.__bindgen_anon_1.wr_cqe.as_mut() = slot.cqe() };
        wr.wr.sg_list = &mut sge;
        wr.wr.num_sge = 1;
        wr.wr.opcode = bindings::ib_wr_opcode_IB_WR_SEND;
        wr.wr.send_flags = bindings::ib_send_flags_IB_SEND_SIGNALED as c_int;
        let mut bad = core::ptr::null();
        // SAFETY: The slot is mapped.
        unsafe { bindings::ib_smi_dma_sync(self.device(), slot.dma(), request.len) };
        // SAFETY: All of it lives until `done()`, but for the request, which the driver copies. The
        // RDMA core checks at registration that a device which makes queue pairs has `post_send`.
        unsafe {
            match (*self.device()).ops.post_send {
                Some(post_send) => to_result(post_send(qp, &wr.wr, &mut bad)),
                None => Err(eopnotsupp()),
            }
        }
    }

    /// Lets an SMP wait for a slot.
    #[cold]
    fn wait(&self, packet: Packet<'_>) -> Result<(), Obstacle> {
        self.backlog.push(packet)?;
        // A slot may have got free before the SMP could be seen waiting.
        self.drain();
        Ok(())
    }

    /// Posts what waits, as far as there are slots.
    #[inline]
    fn drain(&self) {
        while self.backlog.len() != 0 {
            let Some(slot) = self.slots.claim() else {
                return;
            };
            match self.backlog.pop() {
                Some(mut waiting) => {
                    if let Err(obstacle) = self.post(slot, waiting.packet()) {
                        let (mad, way) = waiting.smp();
                        self.lost(mad, way, obstacle);
                    }
                }
                None => self.slots.release(slot),
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

    /// A work request has failed. Returns whether the slot is with the device again.
    ///
    /// What is flushed was behind a request that has failed. The completion of that one came first, and
    /// whose it is, ib_mad or we, has brought the queue pair back to work: ib_mad posts its own again too.
    /// What is flushed again and again shows that this was in vain.
    #[cold]
    fn failed(&self, slot: &mut Claimed<'_>, status: bindings::ib_wc_status) -> bool {
        let flushed = status == bindings::ib_wc_status_IB_WC_WR_FLUSH_ERR;
        let again = flushed.then(|| slot.once_more()).flatten();
        if again.is_some_and(|request| self.submit(slot, request).is_ok()) {
            return true;
        }
        if let Some((mad, way)) = slot.smp() {
            self.lost(mad, way, Obstacle::SendFailed);
        }
        // SAFETY: The agent keeps its queue pair, which ib_mad made for QP0.
        unsafe { self.mender.mend(self.agent.qp()) };
        false
    }

    /// Waits until no slot is in use and [`done`] runs no more.
    fn quiesce(&self) {
        // As with ib_mad, there is no way on without the device, which may still read what it sends.
        for turn in 1u64.. {
            let busy = self.slots.in_use();
            if busy == 0 {
                break;
            }
            if turn % PATIENCE_MS == 0 {
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
        // SAFETY: None is in use any more.
        unsafe { self.slots.unmap(self.device(), self.room) };
    }
}

/// A work request of ours is complete.
///
/// # Safety
///
/// Only the RDMA core may call it, with the completion of a slot.
unsafe extern "C" fn done(_cq: *mut bindings::ib_cq, wc: *mut bindings::ib_wc) {
    // SAFETY: By the safety requirements.
    let (cqe, status) = unsafe { (*(*wc).__bindgen_anon_1.wr_cqe.as_ref(), (*wc).status) };
    // SAFETY: By the safety requirements; `submit()` has left it to the device.
    let (mut slot, queue) = unsafe { Claimed::back(cqe) };
    if status != bindings::ib_wc_status_IB_WC_SUCCESS && queue.failed(&mut slot, status) {
        return;
    }
    queue.slots.release(slot);
    queue.drain();
}
