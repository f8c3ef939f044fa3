// SPDX-License-Identifier: GPL-2.0

//! Work completions.
//!
//! C header: [`include/rdma/ib_verbs.h`](srctree/include/rdma/ib_verbs.h)

use crate::bindings;
use core::ptr::NonNull;

/// Names a queue pair in a completion; compares equal for the same one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct QpId(NonNull<bindings::ib_qp>);

// SAFETY: A name, never followed on this side.
unsafe impl Send for QpId {}

// SAFETY: See above.
unsafe impl Sync for QpId {}

impl QpId {
    /// Names a queue pair.
    pub(super) fn new(qp: NonNull<bindings::ib_qp>) -> Self {
        Self(qp)
    }
}

/// How a work request ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// Done.
    Success,
    /// Longer than allowed, or a buffer too small.
    LocalLength,
    /// The request makes no sense on this queue pair.
    LocalQpOperation,
    /// A key that does not fit.
    LocalProtection,
    /// Not tried, since the queue pair was in an error state.
    Flushed,
}

impl Status {
    /// The number that the core has for it.
    fn to_c(self) -> bindings::ib_wc_status {
        match self {
            Status::Success => bindings::ib_wc_status_IB_WC_SUCCESS,
            Status::LocalLength => bindings::ib_wc_status_IB_WC_LOC_LEN_ERR,
            Status::LocalQpOperation => bindings::ib_wc_status_IB_WC_LOC_QP_OP_ERR,
            Status::LocalProtection => bindings::ib_wc_status_IB_WC_LOC_PROT_ERR,
            Status::Flushed => bindings::ib_wc_status_IB_WC_WR_FLUSH_ERR,
        }
    }
}

/// What completed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opcode {
    /// A send.
    Send,
    /// A receive.
    Recv,
}

/// A completion, on its way to `poll_cq`.
#[derive(Clone, Copy)]
pub(crate) struct Wc {
    /// What the poster called the request.
    pub(crate) wr_id: u64,
    /// The queue pair.
    pub(crate) qp: QpId,
    /// The sender's queue pair number.
    pub(crate) src_qp: u32,
    /// Bytes received, the area of the GRH included.
    pub(crate) byte_len: u16,
    /// The sender's LID.
    pub(crate) slid: u16,
    /// Which P_Key it came with.
    pub(crate) pkey_index: u16,
    /// The port that it came in by.
    pub(crate) port: u8,
    /// Service level.
    pub(crate) sl: u8,
    /// Low bits of the LID that it came to.
    pub(crate) dlid_path_bits: u8,
    /// Whether a GRH was written.
    pub(crate) grh: bool,
    /// How it ended.
    pub(crate) status: Status,
    /// What it was.
    pub(crate) opcode: Opcode,
}

impl Wc {
    /// The completion of a send.
    pub(crate) fn sent(qp: QpId, wr_id: u64, status: Status) -> Self {
        Self {
            wr_id,
            qp,
            src_qp: 0,
            byte_len: 0,
            slid: 0,
            pkey_index: 0,
            port: 0,
            sl: 0,
            dlid_path_bits: 0,
            grh: false,
            status,
            opcode: Opcode::Send,
        }
    }

    /// The C form.
    pub(super) fn to_c(self) -> bindings::ib_wc {
        let mut wc = bindings::ib_wc::default();
        wc.__bindgen_anon_1.bindgen_union_field = self.wr_id;
        wc.status = self.status.to_c();
        wc.opcode = match self.opcode {
            Opcode::Send => bindings::ib_wc_opcode_IB_WC_SEND,
            Opcode::Recv => bindings::ib_wc_opcode_IB_WC_RECV,
        };
        wc.byte_len = self.byte_len.into();
        wc.qp = self.qp.0.as_ptr();
        wc.src_qp = self.src_qp;
        wc.slid = self.slid.into();
        if self.grh {
            // CAST: A flag, 1.
            wc.wc_flags = bindings::ib_wc_flags_IB_WC_GRH as kernel::ffi::c_int;
        }
        wc.pkey_index = self.pkey_index;
        wc.sl = self.sl;
        wc.dlid_path_bits = self.dlid_path_bits;
        wc.port_num = self.port.into();
        wc
    }
}
