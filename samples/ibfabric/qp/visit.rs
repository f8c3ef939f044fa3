// SPDX-License-Identifier: GPL-2.0

//! The arrival of a packet at a queue pair.
//!
//! It happens in the context of the sender, who knows nothing of the receiver's life.

use super::{
    held::Arrival,
    work::Outcome,
    Qp, //
};
use crate::{
    packet::Packet,
    provider::{
        Anchor,
        Pass,
        QpKind,
        Queue,
        Status, //
    },
};
use kernel::sync::Arc;

/// How a packet was received.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reception {
    /// Into a buffer.
    Done,
    /// It waits for a buffer.
    Held,
}

/// Why a packet was not received.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No receive buffer, and no room to wait for one.
    NoBuffer,
    /// The key is not that of the queue pair.
    BadQkey,
    /// Not what this queue pair takes, or not now.
    NotAccepted,
}

/// What the port knows about a packet that arrived.
#[derive(Clone, Copy)]
pub(crate) struct Entrance {
    /// The port that it came in by.
    pub(crate) ingress: u8,
    /// Low bits of the LID that it came to.
    pub(crate) path_bits: u8,
    /// Which P_Key it came with.
    pub(crate) pkey_index: u8,
}

/// A queue pair that a packet arrives at.
///
/// The fields are dropped in this order: the destroyer waits for the pass, so that the reference is
/// never the last one, and nothing is freed in the sender's context.
pub(crate) struct Visit {
    qp: Arc<Qp>,
    pass: Pass,
}

impl Visit {
    /// Comes in, unless the queue pair is going away.
    pub(crate) fn new(qp: &Arc<Qp>) -> Option<Self> {
        let pass = Anchor::enter(&qp.anchor)?;
        let qp = qp.clone();
        Some(Self { qp, pass })
    }

    /// Takes a packet.
    pub(crate) fn receive(&self, packet: &Packet, at: Entrance) -> Result<Reception, Refusal> {
        let (qp, alive) = (&self.qp, self.pass.alive());
        let arrival = Arrival {
            outcome: Outcome {
                source: packet.source,
                lid: packet.slid,
                pkey_index: at.pkey_index,
                ingress: at.ingress,
                sl: packet.sl,
                path_bits: at.path_bits,
                grh: packet.grh.is_some(),
                len: packet.data.len(),
                status: Status::Success,
            },
            solicited: packet.solicited,
            grh: packet.grh.as_ref(),
            data: &packet.data,
        };
        let status = {
            let mut inner = qp.work.inner.lock();
            if !inner.is_receiving() {
                return Err(Refusal::NotAccepted);
            }
            if qp.kind == QpKind::Gsi && packet.qkey != inner.qkey {
                return Err(Refusal::BadQkey);
            }
            match inner.receive(alive, Ok(&arrival)) {
                Some(status) => status,
                None => {
                    return match inner.held.push(&arrival) {
                        Ok(()) => Ok(Reception::Held),
                        Err(_) => Err(Refusal::NoBuffer),
                    };
                }
            }
        };
        let failed = status != Status::Success;
        qp.announce(alive, Queue::Recv, arrival.solicited || failed);
        if failed {
            qp.flush_recvs(alive);
        }
        Ok(Reception::Done)
    }
}
