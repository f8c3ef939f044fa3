// SPDX-License-Identifier: GPL-2.0

//! Send-only MAD agents and address handles.
//!
//! C headers: [`include/rdma/ib_mad.h`](srctree/include/rdma/ib_mad.h),
//! [`include/rdma/ib_verbs.h`](srctree/include/rdma/ib_verbs.h)

use super::device::Device;
use crate::bindings;
use core::ptr::NonNull;
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    prelude::*, //
};

/// The special queue pair that an agent sends on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpecialQp {
    /// QP0, for SMPs.
    Smi,
    /// QP1, for GMPs.
    Gsi,
}

/// A MAD agent that sends and never receives, as ib_core's own responder is.
///
/// # Invariants
///
/// The pointer is an agent that was registered by [`Agent::register`].
pub(crate) struct Agent(NonNull<bindings::ib_mad_agent>);

// SAFETY: A MAD agent is not bound to a thread.
unsafe impl Send for Agent {}
// SAFETY: The MAD layer locks; the fields read below are constant.
unsafe impl Sync for Agent {}

impl Agent {
    /// Registers an agent on a port of a device.
    pub(crate) fn register(device: &Device, port: u32, qp: SpecialQp) -> Result<Self> {
        let qp_type = match qp {
            SpecialQp::Smi => bindings::ib_qp_type_IB_QPT_SMI,
            SpecialQp::Gsi => bindings::ib_qp_type_IB_QPT_GSI,
        };
        // SAFETY: `device` is registered by its type invariants; no registration request and no
        // receive handler make a send-only agent.
        let agent = from_err_ptr(unsafe {
            bindings::ib_register_mad_agent(
                device.as_raw(),
                port,
                qp_type,
                core::ptr::null_mut(),
                0,
                Some(sent),
                None,
                core::ptr::null_mut(),
                0,
            )
        })?;
        // INVARIANT: Registered just now; the MAD layer does not return null.
        Ok(Self(NonNull::new(agent).ok_or(EINVAL)?))
    }

    /// Returns the queue pair that the agent sends on. It outlives the agent.
    pub(crate) fn qp(&self) -> *mut bindings::ib_qp {
        // SAFETY: By the type invariants.
        unsafe { (*self.0.as_ptr()).qp }
    }

    /// Returns the port of the agent: the one it was registered on.
    pub(crate) fn port(&self) -> u32 {
        // SAFETY: By the type invariants.
        u32::from(unsafe { (*self.0.as_ptr()).port_num })
    }

    /// Returns whether the agent's port speaks the MADs of Omni-Path.
    pub(crate) fn speaks_opa(&self) -> bool {
        // SAFETY: By the type invariants; the device outlives its agents.
        unsafe { bindings::ib_smi_cap_opa((*self.0.as_ptr()).device, self.port()) }
    }

    /// Creates an address handle on the agent's port, to the LID `dlid`. May sleep.
    pub(crate) fn address(&self, dlid: u32) -> Result<Ah> {
        let flags = bindings::rdma_create_ah_flags_RDMA_CREATE_AH_SLEEPABLE;
        // SAFETY: The agent keeps its queue pair, which keeps its protection domain.
        let pd = unsafe { (*self.qp()).pd };
        // SAFETY: `pd` is valid, and the agent's port is one of the device's.
        Ah::new(unsafe { bindings::ib_smi_create_ah(pd, self.port(), dlid, flags) })
    }

    /// Creates an address handle on the agent's port, to where a MAD came from. May sleep.
    ///
    /// # Safety
    ///
    /// `wc` and `grh` must be those of the MAD.
    pub(crate) unsafe fn address_back(
        &self,
        wc: *const bindings::ib_wc,
        grh: *const bindings::ib_grh,
    ) -> Result<Ah> {
        // SAFETY: The agent keeps its queue pair, which keeps its protection domain.
        let pd = unsafe { (*self.qp()).pd };
        // SAFETY: By the safety requirements; the port is the agent's own, hence valid.
        Ah::new(unsafe { bindings::ib_create_ah_from_wc(pd, wc, grh, self.port()) })
    }

    /// Answers a MAD through ib_mad, as mainline's `agent_send_response()` does, but with an address
    /// handle on the agent's own port.
    ///
    /// `mad` is the answer, `egress` the external port of a switch. May sleep.
    ///
    /// # Safety
    ///
    /// `wc` and `grh` must be those of the MAD that is answered.
    pub(crate) unsafe fn answer(
        &self,
        mad: &[u8],
        wc: *const bindings::ib_wc,
        grh: *const bindings::ib_grh,
        egress: Option<u32>,
    ) -> Result {
        let header = bindings::IB_MGMT_MAD_HDR as usize;
        let base_version = *mad.first().ok_or(EINVAL)?;
        let data_len = mad.len().checked_sub(header).ok_or(EINVAL)?;
        // SAFETY: By the safety requirements.
        let ah = unsafe { self.address_back(wc, grh) }?;
        // SAFETY: `wc` is valid by the safety requirements.
        let (src_qp, pkey_index) = unsafe { ((*wc).src_qp, (*wc).pkey_index) };
        // SAFETY: The agent is registered by the type invariants.
        let buf = from_err_ptr(unsafe {
            bindings::ib_create_send_mad(
                self.0.as_ptr(),
                src_qp,
                pkey_index,
                0,
                header as c_int,
                data_len as c_int,
                bindings::GFP_KERNEL,
                base_version,
            )
        })?;
        // SAFETY: `ib_create_send_mad()` made room for a header and `data_len` bytes.
        unsafe { core::ptr::copy_nonoverlapping(mad.as_ptr(), (*buf).mad.cast(), mad.len()) };
        if let Some(egress) = egress {
            // SAFETY: The buffer is embedded in a `struct ib_mad_send_wr_private`, as
            // `ib_create_send_mad()` makes them all, and has not been posted.
            unsafe {
                let wr = kernel::container_of!(buf, bindings::ib_mad_send_wr_private, send_buf);
                (*wr).send_wr.port_num = egress;
            }
        }
        // The buffer owns the address handle from here on: `sent()` frees both.
        // SAFETY: Not posted yet, hence ours alone.
        unsafe { (*buf).ah = ah.into_raw() };
        // SAFETY: A buffer of this agent that has not been posted before.
        let posted = to_result(unsafe { bindings::ib_post_send_mad(buf, core::ptr::null_mut()) });
        if posted.is_err() {
            // SAFETY: A buffer that could not be posted is still ours.
            unsafe { release(buf) };
        }
        posted
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // SAFETY: Registered by the type invariants, and nobody can use it any more.
        unsafe { bindings::ib_unregister_mad_agent(self.0.as_ptr()) };
    }
}

/// An address handle.
///
/// # Invariants
///
/// The pointer is a valid address handle that belongs to this object. Its drop may sleep.
pub(crate) struct Ah(NonNull<bindings::ib_ah>);

// SAFETY: An address handle is not bound to a thread.
unsafe impl Send for Ah {}
// SAFETY: Only its pointer is shared.
unsafe impl Sync for Ah {}

impl Ah {
    /// Takes over what an RDMA core function returned: an address handle or an error pointer.
    fn new(ah: *mut bindings::ib_ah) -> Result<Self> {
        // INVARIANT: What is neither an error nor null is a new address handle.
        Ok(Self(NonNull::new(from_err_ptr(ah)?).ok_or(ENOMEM)?))
    }

    /// Returns the C address handle.
    pub(crate) fn as_raw(&self) -> *mut bindings::ib_ah {
        self.0.as_ptr()
    }

    /// Gives the address handle away.
    fn into_raw(self) -> *mut bindings::ib_ah {
        core::mem::ManuallyDrop::new(self).as_raw()
    }
}

impl Drop for Ah {
    fn drop(&mut self) {
        // SAFETY: Ours by the type invariants.
        unsafe {
            bindings::rdma_destroy_ah_user(
                self.as_raw(),
                bindings::rdma_destroy_ah_flags_RDMA_DESTROY_AH_SLEEPABLE,
                core::ptr::null_mut(),
            )
        };
    }
}

/// Frees a send buffer and its address handle.
///
/// # Safety
///
/// The buffer must be one that [`Agent::answer`] made and that ib_mad does not have.
unsafe fn release(buf: *mut bindings::ib_mad_send_buf) {
    // SAFETY: By the safety requirements; `answer()` put an address handle of its own there.
    if let Ok(ah) = Ah::new(unsafe { (*buf).ah }) {
        drop(ah);
    }
    // SAFETY: By the safety requirements.
    unsafe { bindings::ib_free_send_mad(buf) };
}

/// The send handler of all agents: what they send is never answered, so it is done with when sent.
///
/// # Safety
///
/// Only ib_mad may call it, with a completion of a buffer that [`Agent::answer`] posted.
unsafe extern "C" fn sent(
    _agent: *mut bindings::ib_mad_agent,
    completion: *mut bindings::ib_mad_send_wc,
) {
    // SAFETY: ib_mad gives the buffer back.
    unsafe { release((*completion).send_buf) };
}
