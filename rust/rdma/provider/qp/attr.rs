// SPDX-License-Identifier: GPL-2.0

//! What a queue pair can be and can be asked for.
//!
//! C header: [`include/rdma/ib_verbs.h`](srctree/include/rdma/ib_verbs.h)

use super::super::Provider;
use crate::{
    bindings,
    compat::eopnotsupp, //
};
use kernel::{
    ffi::c_int,
    prelude::*, //
};

/// Which of the two special queue pairs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum QpKind {
    /// QP0, for subnet management.
    Smi,
    /// QP1, for general services.
    Gsi,
}

impl QpKind {
    /// The queue pair number.
    pub(crate) fn number(self) -> u32 {
        match self {
            QpKind::Smi => 0,
            QpKind::Gsi => 1,
        }
    }

    /// The type that the core has for it.
    pub(super) fn to_c(self) -> bindings::ib_qp_type {
        match self {
            QpKind::Smi => bindings::ib_qp_type_IB_QPT_SMI,
            QpKind::Gsi => bindings::ib_qp_type_IB_QPT_GSI,
        }
    }

    /// Reads the type of the core.
    pub(super) fn from_c(kind: bindings::ib_qp_type) -> Result<Self> {
        match kind {
            bindings::ib_qp_type_IB_QPT_SMI => Ok(QpKind::Smi),
            bindings::ib_qp_type_IB_QPT_GSI => Ok(QpKind::Gsi),
            _ => Err(eopnotsupp()),
        }
    }
}

/// The state of a queue pair.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum QpState {
    /// Nothing may be posted.
    Reset,
    /// Receives may be posted.
    Init,
    /// Receives work.
    ReadyToReceive,
    /// All works.
    ReadyToSend,
    /// A send failed: sends are flushed.
    SendError,
    /// All is flushed.
    Error,
}

impl QpState {
    /// The number that the core has for it.
    pub(super) fn to_c(self) -> bindings::ib_qp_state {
        match self {
            QpState::Reset => bindings::ib_qp_state_IB_QPS_RESET,
            QpState::Init => bindings::ib_qp_state_IB_QPS_INIT,
            QpState::ReadyToReceive => bindings::ib_qp_state_IB_QPS_RTR,
            QpState::ReadyToSend => bindings::ib_qp_state_IB_QPS_RTS,
            QpState::SendError => bindings::ib_qp_state_IB_QPS_SQE,
            QpState::Error => bindings::ib_qp_state_IB_QPS_ERR,
        }
    }

    /// Reads the number of the core. Draining (`SQD`) is not supported: sends complete at once.
    pub(super) fn from_c(state: bindings::ib_qp_state) -> Result<Self> {
        match state {
            bindings::ib_qp_state_IB_QPS_RESET => Ok(QpState::Reset),
            bindings::ib_qp_state_IB_QPS_INIT => Ok(QpState::Init),
            bindings::ib_qp_state_IB_QPS_RTR => Ok(QpState::ReadyToReceive),
            bindings::ib_qp_state_IB_QPS_RTS => Ok(QpState::ReadyToSend),
            bindings::ib_qp_state_IB_QPS_SQE => Ok(QpState::SendError),
            bindings::ib_qp_state_IB_QPS_ERR => Ok(QpState::Error),
            _ => Err(eopnotsupp()),
        }
    }
}

/// Sizes of the queues of a queue pair.
#[derive(Clone, Copy)]
pub(crate) struct QpCaps {
    /// Sends that may be outstanding.
    pub(crate) max_send_wr: u32,
    /// Receives that may be outstanding.
    pub(crate) max_recv_wr: u32,
    /// Gather entries of a send.
    pub(crate) max_send_sge: u32,
    /// Scatter entries of a receive.
    pub(crate) max_recv_sge: u32,
}

/// What `create_qp` asks for.
pub(crate) struct QpInit<'a, P: Provider> {
    /// QP0 or QP1.
    pub(crate) kind: QpKind,
    /// Of which port.
    pub(crate) port: u32,
    /// Where sends complete.
    pub(crate) send_cq: &'a P::Cq,
    /// Where receives complete.
    pub(crate) recv_cq: &'a P::Cq,
    /// Sizes.
    pub(crate) caps: QpCaps,
    /// Whether every send gets a completion.
    pub(crate) signal_all: bool,
}

/// What `modify_qp` asks for.
pub(crate) struct QpModify {
    /// The state that the caller believes in, if told.
    pub(super) current: Option<QpState>,
    /// The new state, if any.
    pub(super) next: Option<QpState>,
    /// The new key, if any.
    pub(crate) qkey: Option<u32>,
    /// Which queue pair.
    pub(super) kind: QpKind,
    /// Which attributes are given.
    pub(super) mask: c_int,
}

impl QpModify {
    /// The state to go to from `state`, if the step is a legal one.
    pub(crate) fn step(&self, state: QpState) -> Result<QpState> {
        if self.current.is_some_and(|current| current != state) {
            return Err(EINVAL);
        }
        let next = self.next.unwrap_or(state);
        // SAFETY: A pure function of its arguments.
        let legal = unsafe {
            bindings::ib_modify_qp_is_ok(
                state.to_c(),
                next.to_c(),
                self.kind.to_c(),
                // CAST: A mask of flags.
                self.mask as bindings::ib_qp_attr_mask,
            )
        };
        if legal {
            Ok(next)
        } else {
            Err(EINVAL)
        }
    }
}
