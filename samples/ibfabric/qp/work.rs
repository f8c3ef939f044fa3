// SPDX-License-Identifier: GPL-2.0

//! The queues of a queue pair: what was posted, and what is done but not polled yet.
//!
//! A work request keeps its place until its completion has been polled, as in hardware, and the
//! completion is written over it. So a completion queue has to remember no more than which queue is
//! next, and nothing is allocated on a packet's way.

use super::held::{
    Arrival,
    Held, //
};
use crate::{
    compat::{
        new_spinlock_irq,
        SpinLockIrq, //
    },
    faults::SendFaults,
    provider::{
        Alive,
        Opcode,
        QpCaps,
        QpId,
        QpKind,
        QpState,
        Queue,
        RecvBuffer,
        RecvWr,
        Status,
        Wc,
        GRH_SIZE, //
    },
    ring::Ring,
};
use kernel::{alloc::allocator::Kmalloc, prelude::*, sync::Arc};

/// How a receive ended, and who sent what was received.
#[derive(Clone, Copy)]
pub(crate) struct Outcome {
    /// The sender's queue pair.
    pub(crate) source: QpKind,
    /// The sender's LID.
    pub(crate) lid: u16,
    /// Which P_Key it came with.
    pub(crate) pkey_index: u8,
    /// The port that it came in by.
    pub(crate) ingress: u8,
    /// Service level.
    pub(crate) sl: u8,
    /// Low bits of the LID that it came to.
    pub(crate) path_bits: u8,
    /// Whether a GRH was written.
    pub(crate) grh: bool,
    /// How many bytes the datagram had.
    pub(crate) len: u16,
    /// How it ended.
    pub(crate) status: Status,
}

impl Outcome {
    /// A receive that came to nothing.
    pub(super) fn failed(status: Status) -> Self {
        Self {
            source: QpKind::Smi,
            lid: 0,
            pkey_index: 0,
            ingress: 0,
            sl: 0,
            path_bits: 0,
            grh: false,
            len: 0,
            status,
        }
    }
}

/// What is in a place of the receive queue.
enum Recv {
    /// A buffer that waits.
    Posted(RecvBuffer),
    /// One that is done.
    Done(Outcome),
}

/// A place in the receive queue.
struct RecvPlace {
    wr_id: u64,
    recv: Recv,
}

// There are very many of them.
const _: () = assert!(size_of::<Option<RecvPlace>>() == 24);

/// A send that is done.
struct Sent {
    wr_id: u64,
    /// How many requests its completion retires: itself, and all unsignaled ones before it.
    retires: u16,
    status: Status,
}

const _: () = assert!(size_of::<Option<Sent>>() == 16);

/// The part of a queue pair under its lock.
///
/// # Invariants
///
/// The first `received` places of `recvs` are done, the others posted. Packets are held only while
/// none is posted.
pub(super) struct Inner {
    pub(super) state: QpState,
    pub(super) qkey: u32,
    /// How many of the next posts are refused, and of the next sends fail, and what is held back.
    pub(super) faults: SendFaults,
    recvs: Ring<RecvPlace>,
    received: usize,
    pub(super) held: Held,
    sends: Ring<Sent, Kmalloc>,
    /// Sends that have a place, done or not.
    pub(super) outstanding: u32,
    /// Sends since the last one that got a completion.
    unsignaled: u16,
}

impl Inner {
    /// Whether packets may arrive.
    pub(super) fn is_receiving(&self) -> bool {
        matches!(
            self.state,
            QpState::ReadyToReceive | QpState::ReadyToSend | QpState::SendError
        )
    }

    /// Adds a receive buffer.
    pub(super) fn post(&mut self, wr: RecvWr) -> Result {
        let place = RecvPlace {
            wr_id: wr.wr_id,
            recv: Recv::Posted(wr.buffer),
        };
        self.recvs.push(place).map_err(|_| ENOMEM)
    }

    /// Completes the oldest receive that is posted, if there is one: with a packet, or without.
    pub(super) fn receive(
        &mut self,
        alive: Alive<'_>,
        arrival: Result<&Arrival<'_>, Status>,
    ) -> Option<Status> {
        let place = self.recvs.get_mut(self.received)?;
        let Recv::Posted(buffer) = &place.recv else {
            return None;
        };
        let outcome = match arrival {
            Ok(arrival) => match alive.scatter(buffer, arrival.grh, arrival.data.parts()) {
                Ok(()) => arrival.outcome,
                Err(status) => Outcome::failed(status),
            },
            Err(status) => Outcome::failed(status),
        };
        place.recv = Recv::Done(outcome);
        // INVARIANT: One more is done.
        self.received = self.received.saturating_add(1);
        if outcome.status != Status::Success {
            self.state = QpState::Error;
        }
        Some(outcome.status)
    }

    /// Completes a send. Returns whether there is a completion to be had.
    pub(super) fn complete_send(&mut self, wr_id: u64, signaled: bool, status: Status) -> bool {
        if status == Status::Success && !signaled {
            self.unsignaled = self.unsignaled.saturating_add(1);
            return false;
        }
        let sent = Sent {
            wr_id,
            retires: core::mem::replace(&mut self.unsignaled, 0).saturating_add(1),
            status,
        };
        // There is room: as many places as there can be outstanding sends.
        self.sends.push(sent).is_ok()
    }

    /// Takes the oldest completion of a send.
    fn poll_send(&mut self, qp: QpId) -> Option<Wc> {
        let sent = self.sends.pop()?;
        self.outstanding = self.outstanding.saturating_sub(sent.retires.into());
        Some(Wc::sent(qp, sent.wr_id, sent.status))
    }

    /// Takes the oldest completion of a receive.
    fn poll_recv(&mut self, qp: QpId) -> Option<Wc> {
        if self.received == 0 {
            return None;
        }
        let RecvPlace { wr_id, recv } = self.recvs.pop()?;
        let Recv::Done(outcome) = recv else {
            return None;
        };
        // INVARIANT: One less is done.
        self.received = self.received.saturating_sub(1);
        let good = outcome.status == Status::Success;
        Some(Wc {
            wr_id,
            qp,
            src_qp: outcome.source.number(),
            byte_len: if good {
                // CAST: It fits. With the area of the GRH.
                outcome.len.saturating_add(GRH_SIZE as u16)
            } else {
                0
            },
            slid: outcome.lid,
            pkey_index: outcome.pkey_index.into(),
            port: outcome.ingress,
            sl: outcome.sl,
            dlid_path_bits: outcome.path_bits,
            grh: outcome.grh,
            status: outcome.status,
            opcode: Opcode::Recv,
        })
    }

    /// Forgets all that was posted and completed.
    pub(super) fn forget(&mut self) {
        self.recvs.retain(|_| false);
        self.sends.retain(|_| false);
        self.held.clear();
        self.faults.stall.forget();
        // INVARIANT: Nothing is there.
        self.received = 0;
        self.outstanding = 0;
        self.unsignaled = 0;
    }
}

/// The queues, and the lock that they are under. Never held while a completion queue is locked by
/// the same thread; the other way round is how completions are polled.
#[pin_data]
pub(crate) struct Work {
    id: QpId,
    #[pin]
    pub(super) inner: SpinLockIrq<Inner>,
}

impl Work {
    /// Makes queues of those sizes.
    pub(super) fn new(id: QpId, caps: &QpCaps) -> Result<Arc<Self>> {
        let recvs = Ring::new(usize::try_from(caps.max_recv_wr)?)?;
        let sends = Ring::new(usize::try_from(caps.max_send_wr)?)?;
        let held = Held::new()?;
        Arc::pin_init(
            pin_init!(Self {
                id,
                inner <- new_spinlock_irq!(
                    Inner {
                        state: QpState::Reset,
                        qkey: 0,
                        faults: SendFaults::default(),
                        recvs,
                        received: 0,
                        held,
                        sends,
                        outstanding: 0,
                        unsignaled: 0,
                    },
                    "ibfabric_qp"
                ),
            }),
            GFP_KERNEL,
        )
    }

    /// Takes the oldest completion of one of the queues, and gives its place free.
    pub(crate) fn poll(&self, queue: Queue) -> Option<Wc> {
        let mut inner = self.inner.lock();
        match queue {
            Queue::Send => inner.poll_send(self.id),
            Queue::Recv => inner.poll_recv(self.id),
        }
    }
}
