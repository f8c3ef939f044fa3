// SPDX-License-Identifier: GPL-2.0

//! The arrival of a packet at a queue pair.
//!
//! It happens in the context of the sender, who knows nothing of the receiver's life.

use super::{
    Qp,
    LOCAL_DMA_LKEY, //
};
use crate::{
    cq::Sender,
    packet::Packet,
    provider::{
        Anchor,
        Pass,
        QpKind,
        QpState, //
    },
};
use kernel::sync::Arc;

/// Why a packet was not received.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No receive buffer.
    NoBuffer,
    /// Not what this queue pair takes, or not now.
    NotAccepted,
}

/// A queue pair that a packet arrives at.
///
/// The fields are dropped in this order: the destroyer waits for the pass, so that the reference is
/// never the last one, and nothing is freed in the sender's context.
pub(crate) struct Visit {
    qp: Arc<Qp>,
    pass: Pass<Arc<Anchor>>,
}

impl Visit {
    /// Comes in, unless the queue pair is going away.
    pub(crate) fn new(qp: &Arc<Qp>) -> Option<Self> {
        let pass = Anchor::enter_owned(&qp.anchor)?;
        let qp = qp.clone();
        Some(Self { qp, pass })
    }

    /// Takes a packet that arrived by `ingress`.
    pub(crate) fn receive(
        &self,
        packet: &Packet,
        ingress: u8,
        path_bits: u8,
    ) -> Result<(), Refusal> {
        let (qp, pass) = (&self.qp, &self.pass);
        let (wr_id, written) = {
            let mut inner = qp.inner.lock();
            match inner.state {
                QpState::ReadyToReceive | QpState::ReadyToSend | QpState::SendError => {}
                _ => return Err(Refusal::NotAccepted),
            }
            if qp.kind == QpKind::Gsi && packet.qkey != inner.qkey {
                return Err(Refusal::NotAccepted);
            }
            let wr = inner.recvs.pop().ok_or(Refusal::NoBuffer)?;
            let written = pass.scatter(&wr, LOCAL_DMA_LKEY, packet.grh.as_ref(), &packet.data);
            if written.is_err() {
                inner.state = QpState::Error;
            }
            (wr.wr_id(), written)
        };
        let outcome = written.map(|()| Sender {
            qp: packet.src_qp,
            lid: packet.slid,
            pkey_index: packet.pkey_index,
            ingress,
            sl: packet.sl,
            path_bits,
            grh: packet.grh.is_some(),
        });
        qp.complete_recv(pass, wr_id, outcome, packet.solicited);
        if written.is_err() {
            qp.flush_recvs();
        }
        Ok(())
    }
}
