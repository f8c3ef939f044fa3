// SPDX-License-Identifier: GPL-2.0

//! The functions that stand in for ib_core's, as C calls them.
//!
//! ib_core's calls arrive in `entry.c`, where tracers can attach, and go on here. Each function gives its
//! arguments safe types and leaves the rest to a room of its own.
//!
//! C headers: `include/entry.h`,
//! [`drivers/infiniband/core/smi.h`](srctree/drivers/infiniband/core/smi.h),
//! [`drivers/infiniband/core/agent.h`](srctree/drivers/infiniband/core/agent.h)

use super::{
    arrival,
    departure,
    livepatch::Patch,
    local,
    smp::{
        self,
        Format,
        Smp, //
    },
    transit,
    transmit::{
        self,
        Outgoing, //
    }, //
};
use crate::{
    bindings,
    dr::{
        self,
        NextStep, //
    },
    rdma::device::Device, //
};
use kernel::prelude::*;

/// Fails to compile unless each replacement, and its body, has the type of what is replaced.
const _: () = {
    use bindings::*;
    let _ = [
        smi_handle_dr_smp_recv,
        ib_smi_handle_dr_smp_recv,
        self::rust_handle_dr_smp_recv,
    ];
    let _ = [
        smi_handle_dr_smp_send,
        ib_smi_handle_dr_smp_send,
        self::rust_handle_dr_smp_send,
    ];
    let _ = [
        smi_check_forward_dr_smp,
        ib_smi_check_forward_dr_smp,
        self::rust_check_forward_dr_smp,
    ];
    let _ = [
        smi_get_fwd_port,
        ib_smi_get_fwd_port,
        self::rust_get_fwd_port,
    ];
    let _ = [
        opa_smi_handle_dr_smp_recv,
        ib_smi_opa_handle_dr_smp_recv,
        self::rust_opa_handle_dr_smp_recv,
    ];
    let _ = [
        opa_smi_handle_dr_smp_send,
        ib_smi_opa_handle_dr_smp_send,
        self::rust_opa_handle_dr_smp_send,
    ];
    let _ = [
        opa_smi_check_forward_dr_smp,
        ib_smi_opa_check_forward_dr_smp,
        self::rust_opa_check_forward_dr_smp,
    ];
    let _ = [
        opa_smi_get_fwd_port,
        ib_smi_opa_get_fwd_port,
        self::rust_opa_get_fwd_port,
    ];
    let _ = [
        agent_send_response,
        ib_smi_agent_send_response,
        self::rust_agent_send_response,
    ];
    // `local_completions()` is private to mad.c: it has the type of every work function.
    let _: [Option<unsafe extern "C" fn(*mut work_struct)>; 2] = [
        Some(ib_smi_local_completions),
        Some(self::rust_local_completions),
    ];
};

/// All replacements.
// SAFETY: They have the types of what they replace, as checked above, and do the same job.
pub(crate) static PATCH: Patch<11> = unsafe {
    Patch::new([
        (
            c"smi_handle_dr_smp_recv",
            bindings::ib_smi_handle_dr_smp_recv as *const (),
        ),
        (
            c"smi_handle_dr_smp_send",
            bindings::ib_smi_handle_dr_smp_send as *const (),
        ),
        (
            c"smi_check_forward_dr_smp",
            bindings::ib_smi_check_forward_dr_smp as *const (),
        ),
        (
            c"smi_get_fwd_port",
            bindings::ib_smi_get_fwd_port as *const (),
        ),
        (
            c"opa_smi_handle_dr_smp_recv",
            bindings::ib_smi_opa_handle_dr_smp_recv as *const (),
        ),
        (
            c"opa_smi_handle_dr_smp_send",
            bindings::ib_smi_opa_handle_dr_smp_send as *const (),
        ),
        (
            c"opa_smi_check_forward_dr_smp",
            bindings::ib_smi_opa_check_forward_dr_smp as *const (),
        ),
        (
            c"opa_smi_get_fwd_port",
            bindings::ib_smi_opa_get_fwd_port as *const (),
        ),
        (
            c"agent_send_response",
            bindings::ib_smi_agent_send_response as *const (),
        ),
        (
            c"local_completions",
            bindings::ib_smi_local_completions as *const (),
        ),
        (c"", core::ptr::null()),
    ])
};

/// What the first two functions return.
fn action(discarded: bool) -> bindings::smi_action {
    if discarded {
        bindings::smi_action_IB_SMI_DISCARD
    } else {
        bindings::smi_action_IB_SMI_HANDLE
    }
}

/// A port number or count as the rules take it; none is above 255.
fn port(number: u32) -> u8 {
    number.try_into().unwrap_or(u8::MAX)
}

/// An SMP came in.
///
/// # Safety
///
/// `smp` must be an SMP in ib_mad's receive buffer that is the caller's alone.
#[inline(always)]
unsafe fn received(
    smp: *mut Smp,
    format: Format,
    is_switch: bool,
    port_num: u32,
    phys_port_cnt: c_int,
) -> bindings::smi_action {
    let node = arrival::node(is_switch, port(phys_port_cnt.try_into().unwrap_or(0)));
    // SAFETY: By the safety requirements.
    action(unsafe { transit::receive(smp, format, node, port(port_num)) })
}

/// What [`dr::next_step()`] is to ib_mad.
fn forward_action(step: NextStep) -> bindings::smi_forward_action {
    match step {
        NextStep::Local => bindings::smi_forward_action_IB_SMI_LOCAL,
        NextStep::Send => bindings::smi_forward_action_IB_SMI_SEND,
        NextStep::Forward => bindings::smi_forward_action_IB_SMI_FORWARD,
    }
}

/// In the place of `smi_handle_dr_smp_recv()`.
///
/// # Safety
///
/// `smp` must be an SMP in ib_mad's receive buffer that is the caller's alone.
#[no_mangle]
unsafe extern "C" fn rust_handle_dr_smp_recv(
    smp: *mut bindings::ib_smp,
    is_switch: bool,
    port_num: u32,
    phys_port_cnt: c_int,
) -> bindings::smi_action {
    // SAFETY: By the safety requirements.
    unsafe { received(smp.cast(), Format::Ib, is_switch, port_num, phys_port_cnt) }
}

/// In the place of `opa_smi_handle_dr_smp_recv()`.
///
/// # Safety
///
/// As [`rust_handle_dr_smp_recv`].
#[no_mangle]
unsafe extern "C" fn rust_opa_handle_dr_smp_recv(
    smp: *mut bindings::opa_smp,
    is_switch: bool,
    port_num: u32,
    phys_port_cnt: c_int,
) -> bindings::smi_action {
    // SAFETY: By the safety requirements.
    unsafe { received(smp.cast(), Format::Opa, is_switch, port_num, phys_port_cnt) }
}

/// In the place of `smi_check_forward_dr_smp()`.
///
/// # Safety
///
/// `smp` must be a valid SMP that nobody writes to.
#[no_mangle]
unsafe extern "C" fn rust_check_forward_dr_smp(
    smp: *mut bindings::ib_smp,
) -> bindings::smi_forward_action {
    // SAFETY: By the safety requirements.
    let route = Format::Ib.route(unsafe { &*smp.cast() });
    forward_action(dr::next_step(&route))
}

/// In the place of `opa_smi_check_forward_dr_smp()`.
///
/// # Safety
///
/// As [`rust_check_forward_dr_smp`].
#[no_mangle]
unsafe extern "C" fn rust_opa_check_forward_dr_smp(
    smp: *mut bindings::opa_smp,
) -> bindings::smi_forward_action {
    // SAFETY: By the safety requirements.
    let route = Format::Opa.route(unsafe { &*smp.cast() });
    forward_action(dr::next_step(&route))
}

/// In the place of `smi_get_fwd_port()`.
///
/// # Safety
///
/// `smp` must be a valid SMP that nobody writes to.
#[no_mangle]
unsafe extern "C" fn rust_get_fwd_port(smp: *mut bindings::ib_smp) -> c_int {
    // SAFETY: By the safety requirements.
    let route = Format::Ib.route(unsafe { &*smp.cast() });
    dr::forward_port(&route).into()
}

/// In the place of `opa_smi_get_fwd_port()`.
///
/// # Safety
///
/// As [`rust_get_fwd_port`].
#[no_mangle]
unsafe extern "C" fn rust_opa_get_fwd_port(smp: *mut bindings::opa_smp) -> c_int {
    // SAFETY: By the safety requirements.
    let route = Format::Opa.route(unsafe { &*smp.cast() });
    dr::forward_port(&route).into()
}

/// In the place of `smi_handle_dr_smp_send()`.
///
/// # Safety
///
/// `smp` must be an SMP that ib_mad is about to send, or has received, and that is the caller's alone.
#[no_mangle]
unsafe extern "C" fn rust_handle_dr_smp_send(
    smp: *mut bindings::ib_smp,
    is_switch: bool,
    port_num: u32,
) -> bindings::smi_action {
    // SAFETY: By the safety requirements.
    action(unsafe { departure::judge(smp.cast(), Format::Ib, is_switch, port(port_num)) })
}

/// In the place of `opa_smi_handle_dr_smp_send()`.
///
/// # Safety
///
/// As [`rust_handle_dr_smp_send`].
#[no_mangle]
unsafe extern "C" fn rust_opa_handle_dr_smp_send(
    smp: *mut bindings::opa_smp,
    is_switch: bool,
    port_num: u32,
) -> bindings::smi_action {
    // SAFETY: By the safety requirements.
    action(unsafe { departure::judge(smp.cast(), Format::Opa, is_switch, port(port_num)) })
}

/// In the place of `agent_send_response()`.
///
/// # Safety
///
/// `mad` must be in a buffer of `mad_len` bytes and of 256 at least, `grh`, `wc` and `device` those of the
/// MAD that ib_mad has received.
#[no_mangle]
unsafe extern "C" fn rust_agent_send_response(
    mad: *const bindings::ib_mad_hdr,
    grh: *const bindings::ib_grh,
    wc: *const bindings::ib_wc,
    device: *const bindings::ib_device,
    port_num: c_int,
    qpn: c_int,
    mad_len: usize,
    opa: bool,
) {
    // SAFETY: By the safety requirements: ib_mad handles completions of registered devices only.
    let device = unsafe { Device::from_raw(device) };
    // SAFETY: By the safety requirements.
    let (wc_port, received, pkey_index) =
        unsafe { ((*wc).port_num, (*wc).byte_len, (*wc).pkey_index) };
    // SAFETY: As above.
    let has_grh = unsafe { (*wc).wc_flags } & bindings::ib_wc_flags_IB_WC_GRH as c_int != 0;
    // SAFETY: By the safety requirements.
    let base_version = unsafe { (*mad).base_version };
    // ib_mad passes on a copy of all that it has received, in which the GRH stands right before the MAD;
    // an answer stands elsewhere.
    let transit = grh.wrapping_add(1).cast() == mad;
    let len = if u32::from(base_version) != bindings::OPA_MGMT_BASE_VERSION {
        size_of::<Smp>()
    } else if transit {
        // What it gives then is the length of the packet with the GRH, or that of its buffer.
        smp::opa_len(received)
    } else {
        mad_len
    };
    let egress = u32::try_from(port_num).unwrap_or(0);
    let outgoing = Outgoing {
        // SAFETY: By the safety requirements.
        mad: unsafe { core::slice::from_raw_parts(mad.cast(), len.max(size_of::<Smp>())) },
        len,
        transit,
        wc,
        grh,
        has_grh,
        pkey_index,
        ingress: port(if device.is_switch() { wc_port } else { egress }),
        egress,
        smi: qpn == 0,
        opa,
    };
    // SAFETY: By the safety requirements.
    unsafe { transmit::send(device, &outgoing) };
}

/// In the place of `local_completions()`.
///
/// # Safety
///
/// `work` must be the `local_work` of an agent of ib_mad's that lives while it runs.
#[no_mangle]
unsafe extern "C" fn rust_local_completions(work: *mut bindings::work_struct) {
    // SAFETY: By the safety requirements.
    unsafe { local::deliver(work) };
}
