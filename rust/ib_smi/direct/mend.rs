// SPDX-License-Identifier: GPL-2.0

//! Bringing QP0 back to work after one of our work requests has failed.
//!
//! The device has flushed the requests behind it and stopped sending. ib_mad mends that after a failure of
//! its own requests only.

use crate::{
    bindings,
    ib_smi::send_queue,
    rdma::device::Device, //
};
use kernel::{
    error::to_result,
    prelude::*,
    sync::atomic::{
        ordering,
        Atomic, //
    }, //
};

/// Who mends a queue pair.
pub(super) struct Mender {
    /// Whether it could not be brought back to work, which is said once.
    stuck: Atomic<bool>,
}

impl Mender {
    /// One whose queue pair works.
    pub(super) const fn new() -> Self {
        Self {
            stuck: Atomic::new(false),
        }
    }

    /// Brings the queue pair back to work. May sleep.
    ///
    /// # Safety
    ///
    /// `qp` must be one that ib_mad made for QP0.
    #[cold]
    pub(super) unsafe fn mend(&self, qp: *mut bindings::ib_qp) {
        // SAFETY: By the safety requirements.
        match unsafe { to_work(qp) } {
            Ok(()) => {
                self.stuck.store(false, ordering::Relaxed);
                send_queue::retry_flushed(qp);
            }
            // A packet can cause it, and many can again.
            Err(error) if !self.stuck.xchg(true, ordering::Relaxed) => {
                // SAFETY: The queue pair has its device.
                let device = unsafe { Device::from_raw((*qp).device) };
                pr_err!(
                    "{}: QP0 could not be brought back to work (error {})\n",
                    device.name(),
                    error.to_errno()
                );
            }
            Err(_) => (),
        }
    }
}

/// Has the queue pair send again, if it has stopped: whoever was told of a failure before may have done so.
///
/// # Safety
///
/// As of [`Mender::mend`].
unsafe fn to_work(qp: *mut bindings::ib_qp) -> Result {
    let mut attr = KBox::new(bindings::ib_qp_attr::default(), GFP_KERNEL)?;
    attr.qp_state = bindings::ib_qp_state_IB_QPS_RTS;
    attr.cur_qp_state = bindings::ib_qp_state_IB_QPS_SQE;
    let mask = bindings::ib_qp_attr_mask_IB_QP_STATE | bindings::ib_qp_attr_mask_IB_QP_CUR_STATE;
    // SAFETY: By the safety requirements.
    let modified = to_result(unsafe { bindings::ib_modify_qp(qp, &mut *attr, mask as c_int) });
    // SAFETY: As above.
    modified.or_else(|error| match unsafe { state(qp) } {
        Ok(bindings::ib_qp_state_IB_QPS_RTS) => Ok(()),
        _ => Err(error),
    })
}

/// The state that the device says the queue pair is in.
///
/// # Safety
///
/// As of [`Mender::mend`].
unsafe fn state(qp: *mut bindings::ib_qp) -> Result<bindings::ib_qp_state> {
    let mut attr = KBox::new(bindings::ib_qp_attr::default(), GFP_KERNEL)?;
    let mut init = KBox::new(bindings::ib_qp_init_attr::default(), GFP_KERNEL)?;
    let mask = bindings::ib_qp_attr_mask_IB_QP_STATE as c_int;
    // SAFETY: By the safety requirements.
    to_result(unsafe { bindings::ib_query_qp(qp, &mut *attr, mask, &mut *init) })?;
    Ok(attr.qp_state)
}
