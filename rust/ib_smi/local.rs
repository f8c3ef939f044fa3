// SPDX-License-Identifier: GPL-2.0

//! An SMP that an agent has sent to its own node is handed to the agent that it is for.
//!
//! In the place of `local_completions()`. ib_mad has chosen the receiver before: for what it takes for
//! an answer, whichever agent of this host the high word of the TID names. Not every way there leads
//! past `departure`, hence it is here that an answer which nobody has asked for is dropped.
//!
//! C file: [`drivers/infiniband/core/mad.c`](srctree/drivers/infiniband/core/mad.c)

use super::{
    asked,
    hop::{
        Hop,
        Obstacle,
        Point, //
    },
    ledger,
    listener,
    origin::Origin,
    smp::{
        self,
        Format,
        Smp, //
    }, //
};
use crate::{
    bindings,
    dr::{
        Decision,
        Direction,
        Rule,
        Verdict, //
    },
    dyn_debug,
    rdma::device::Device, //
};
use core::mem::size_of;
use kernel::{
    container_of,
    prelude::*, //
};

/// Hands over what an agent has sent to its own node.
///
/// # Safety
///
/// `work` must be the `local_work` of a `struct ib_mad_agent_private` that lives while it runs.
pub(crate) unsafe fn deliver(work: *mut bindings::work_struct) {
    // SAFETY: By the safety requirements.
    let sender = Agent(unsafe { container_of!(work, bindings::ib_mad_agent_private, local_work) });
    while let Some(local) = sender.next() {
        local.receive(&sender);
        local.sent(&sender);
    }
}

/// An agent of ib_mad's.
///
/// # Invariants
///
/// The pointer is valid while this exists.
struct Agent(*mut bindings::ib_mad_agent_private);

impl Agent {
    /// Calls `f` with the agent locked.
    fn locked<R>(&self, f: impl FnOnce() -> R) -> R {
        // SAFETY: By the type invariants; ib_mad initialised the lock.
        let lock = unsafe { &raw mut (*self.0).lock };
        // SAFETY: As above.
        let flags = unsafe { bindings::ib_smi_lock_irqsave(lock) };
        let result = f();
        // SAFETY: Locked above.
        unsafe { bindings::ib_smi_unlock_irqrestore(lock, flags) };
        result
    }

    /// Takes the next entry off the list of what the agent has sent to its own node.
    fn next(&self) -> Option<Local> {
        self.locked(|| {
            // SAFETY: By the type invariants; the lock that guards the list is held.
            unsafe {
                let head = &raw mut (*self.0).local_list;
                let entry = (*head).next;
                if entry == head {
                    return None;
                }
                (*(*entry).next).prev = (*entry).prev;
                (*(*entry).prev).next = (*entry).next;
                // INVARIANT: It is off the list, hence ours alone.
                Some(Local(container_of!(
                    entry,
                    bindings::ib_mad_local_private,
                    completion_list
                )))
            }
        })
    }

    /// Drops a reference that ib_mad has taken for an entry of the list.
    fn put(&self) {
        self.locked(|| {
            // SAFETY: By the type invariants. Who waits for the last reference needs the lock.
            unsafe {
                if bindings::refcount_dec_and_test(&raw mut (*self.0).refcount) {
                    bindings::complete((&raw mut (*self.0).__bindgen_anon_1.comp).cast());
                }
            }
        });
    }

    /// Whether the agent's port speaks the MADs of Omni-Path.
    fn opa(&self) -> bool {
        // SAFETY: By the type invariants; the agent's queue pair is one that ib_mad made.
        unsafe {
            let port = (*(*self.0).qp_info).port_priv;
            bindings::ib_smi_cap_opa((*port).device, (*port).port_num as u32)
        }
    }

    /// The agent's device and port.
    fn origin(&self) -> Origin<'_> {
        // SAFETY: By the type invariants.
        unsafe { Origin::of_agent(&raw const (*self.0).agent) }
    }

    /// Tells of what this agent has sent to its own node and nobody takes there.
    #[cold]
    fn told_of(&self, smp: &Smp, obstacle: Obstacle) {
        let format = Format::of_departing(smp, self.opa());
        let route = format.route(smp);
        let origin = self.origin();
        let hop = Hop {
            point: Point::Local,
            smp,
            format,
            origin,
            is_switch: origin.device.is_some_and(Device::is_switch),
            ingress: 0,
            decision: Decision {
                verdict: Verdict::Local,
                hop_ptr: route.hop_ptr,
                record: None,
                rule: match route.direction {
                    Direction::Outgoing => Rule::C14_9_4,
                    Direction::Returning => Rule::C14_13_4,
                },
            },
            obstacle: Some(obstacle),
        };
        dyn_debug!(told_of: "local: {}\n", hop);
        hop.lost();
    }
}

/// An entry of the list.
///
/// # Invariants
///
/// The pointer is valid and off the list: it belongs to this object until [`Local::sent`] frees it.
struct Local(*mut bindings::ib_mad_local_private);

impl Local {
    /// Hands the SMP, if there is one, to its receiver, and drops the reference to that.
    fn receive(&self, sender: &Agent) {
        // SAFETY: By the type invariants.
        let (mad, receiver) = unsafe { ((*self.0).mad_priv, (*self.0).recv_mad_agent) };
        if mad.is_null() {
            self.told_of_request(sender);
            return;
        }
        // SAFETY: At least 256 bytes were allocated behind the header, and nobody writes them now.
        let smp = unsafe { &*(&raw const (*mad).mad).cast::<Smp>() };
        if receiver.is_null() || self.is_unasked(sender, receiver, smp) {
            sender.told_of(smp, Obstacle::NotAsked);
            // SAFETY: Nobody else has it.
            unsafe { bindings::kfree(mad.cast()) };
        } else {
            if smp::is_answer(smp) {
                ledger::answered_within(sender.origin(), smp);
            } else {
                asked::remember(smp);
            }
            self.hand_over(mad, receiver);
        }
        if !receiver.is_null() {
            Agent(receiver).put();
        }
    }

    /// Tells of a request that neither the SMA nor an agent has taken.
    #[cold]
    fn told_of_request(&self, sender: &Agent) {
        // SAFETY: By the type invariants; the request is not given back yet.
        let mad = unsafe { (*(*self.0).mad_send_wr).send_buf.mad };
        // SAFETY: At least 256 bytes were allocated, and nobody writes them now.
        let smp = unsafe { &*mad.cast::<Smp>() };
        if listener::is_missing_within(sender.origin(), smp) {
            sender.told_of(smp, Obstacle::NoListener);
        }
    }

    /// Returns whether the SMP is an answer that the receiver has not asked for.
    fn is_unasked(
        &self,
        sender: &Agent,
        receiver: *mut bindings::ib_mad_agent_private,
        smp: &Smp,
    ) -> bool {
        // What the node's SMA has answered comes back to the one who has asked it.
        smp::is_answer(smp) && receiver != sender.0 && !asked::answers(smp)
    }

    /// Calls the receiver, as if the SMP had come in on QP0 of its port.
    fn hand_over(
        &self,
        mad: *mut bindings::ib_mad_private,
        receiver: *mut bindings::ib_mad_agent_private,
    ) {
        let mut wc = bindings::ib_wc {
            status: bindings::ib_wc_status_IB_WC_SUCCESS,
            opcode: bindings::ib_wc_opcode_IB_WC_RECV,
            byte_len: (size_of::<Smp>() + size_of::<bindings::ib_grh>()) as u32,
            slid: u16::MAX.into(),
            ..Default::default()
        };
        // SAFETY: By the type invariants; the receiver has a reference. The header is packed, but its
        // members are aligned all the same.
        unsafe {
            let request = (*self.0).mad_send_wr;
            let agent = &raw mut (*receiver).agent;
            *wc.__bindgen_anon_1.wr_cqe.as_mut() =
                *(*request).send_wr.wr.__bindgen_anon_1.wr_cqe.as_ref();
            wc.pkey_index = (*request).send_wr.pkey_index;
            wc.qp = (*agent).qp;
            wc.port_num = (*agent).port_num.into();

            let received = &raw mut (*mad).header.recv_wc;
            let buf = &raw mut (*received).recv_buf;
            (*received).wc = &mut wc;
            ((*received).mad_len, (*received).mad_seg_size) = self.size(mad);
            // A list of one: the buffer.
            let list = &raw mut (*received).rmpp_list;
            let entry = &raw mut (*buf).list;
            (*list).next = entry;
            (*list).prev = entry;
            (*entry).next = list;
            (*entry).prev = list;
            (*buf).grh = core::ptr::null_mut();
            (*buf).__bindgen_anon_1.mad = (&raw mut (*mad).mad).cast();
            if let Some(handler) = (*agent).recv_handler {
                handler(agent, &raw mut (*request).send_buf, received);
            }
        }
    }

    /// The length of the MAD, and of a segment.
    fn size(&self, mad: *mut bindings::ib_mad_private) -> (c_int, usize) {
        // SAFETY: By the type invariants.
        let (request, returned) = unsafe { ((*self.0).mad_send_wr, (*self.0).return_wc_byte_len) };
        // SAFETY: By the type invariants, the request has its sender.
        let opa = Agent(unsafe { (*request).mad_agent_priv }).opa();
        // SAFETY: At least 256 bytes were allocated behind the header.
        let base_version = unsafe { *(&raw const (*mad).mad).cast::<u8>() };
        if opa && u32::from(base_version) == bindings::OPA_MGMT_BASE_VERSION {
            (returned as c_int, size_of::<bindings::opa_mad>())
        } else {
            (size_of::<Smp>() as c_int, size_of::<Smp>())
        }
    }

    /// Tells the sender that its SMP is sent, drops the reference to it, and frees the entry.
    fn sent(self, sender: &Agent) {
        // SAFETY: By the type invariants; the request is given back to the sender.
        unsafe {
            let mut done = bindings::ib_mad_send_wc {
                send_buf: &raw mut (*(*self.0).mad_send_wr).send_buf,
                status: bindings::ib_wc_status_IB_WC_SUCCESS,
                ..Default::default()
            };
            let agent = &raw mut (*sender.0).agent;
            if let Some(handler) = (*agent).send_handler {
                handler(agent, &mut done);
            }
        }
        sender.put();
        // SAFETY: By the type invariants; not used after this.
        unsafe { bindings::kfree(self.0.cast()) };
    }
}
