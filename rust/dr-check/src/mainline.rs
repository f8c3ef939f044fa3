// SPDX-License-Identifier: GPL-2.0

//! Mainline's `smi.c`, as `mad.c` and `agent.c` compose its functions.
//!
//! C: `mainline/compose.c`, linked with the `smi.c` of the tree that `IB_SMI_LINUX` names when the
//! package is built.

use crate::case::{
    Case,
    Packet,
    Side, //
};

/// Why there is nothing to compare with, when [`judge`] gives nothing.
pub const ABSENT: &str = "IB_SMI_LINUX did not name a kernel source tree at build time";

/// Whether `smi.c` is there.
pub const PRESENT: bool = cfg!(mainline);

/// What mainline does with an SMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Nothing leaves, nothing is handed up.
    Dropped,
    /// To `process_mad` and the local agents.
    Local,
    /// On the wire, through the port.
    Posted(u32),
}

/// Mainline's decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What mainline does with it.
    pub fate: Fate,
    /// The Hop Pointer afterwards.
    pub hop_ptr: u8,
    /// The Return Path element at the Hop Pointer on arrival, afterwards.
    pub recorded: Option<u8>,
}

#[cfg(mainline)]
mod ffi {
    //! `mainline/compose.c`, and the functions of `smi.c` that it calls.

    /// `struct composed`.
    #[repr(C)]
    #[derive(Default)]
    pub struct Composed {
        pub fate: u32,
        pub port: u32,
        pub hop_ptr: u32,
    }

    extern "C" {
        pub fn compose_receive(
            smp: *mut u8,
            opa: bool,
            is_switch: bool,
            ports: u32,
            port: u32,
            out: *mut Composed,
        );
        pub fn compose_send(
            smp: *mut u8,
            opa: bool,
            is_switch: bool,
            port: u32,
            out: *mut Composed,
        );
        pub fn smi_handle_dr_smp_recv(smp: *mut u8, switch: bool, port: u32, ports: i32) -> u32;
        pub fn smi_check_forward_dr_smp(smp: *mut u8) -> u32;
        pub fn smi_get_fwd_port(smp: *mut u8) -> i32;
        pub fn smi_handle_dr_smp_send(smp: *mut u8, switch: bool, port: u32) -> u32;
    }

    /// `IB_SMI_HANDLE`.
    pub const HANDLE: u32 = 1;
    /// `IB_SMI_FORWARD`.
    pub const FORWARD: u32 = 2;
}

/// Mainline's decision about `packet`, which is `case`. The packet is left as it was.
#[cfg(mainline)]
pub fn judge(side: Side, case: &Case, packet: &mut Packet) -> Option<Outcome> {
    use crate::case::Layout;

    let opa = case.layout == Layout::Opa;
    let mut composed = ffi::Composed::default();
    let smp = packet.bytes().as_mut_ptr();
    match side {
        // SAFETY: `smp` points to the 2048 bytes of a packet, more than either layout needs;
        // `smi.c` reads path elements at hops up to 63 only, and `composed` is valid for writes.
        Side::Receive => unsafe {
            ffi::compose_receive(
                smp,
                opa,
                case.switch,
                case.ports.into(),
                case.port.into(),
                &mut composed,
            )
        },
        // SAFETY: as above.
        Side::Send | Side::Reply => unsafe {
            ffi::compose_send(smp, opa, case.switch, case.port.into(), &mut composed)
        },
    }

    // `smi.c` changes the Hop Pointer and the Return Path element at it, and nothing else.
    let at = usize::from(case.hop_ptr);
    let mut recorded = None;
    if let Some(&before) = case.back.get(at) {
        let path = if opa { 104 } else { 192 };
        let element = &mut packet.bytes()[path + at];
        recorded = Some(*element);
        *element = before;
    }
    packet.set_hop(case.hop_ptr, case.hop_cnt);

    Some(Outcome {
        fate: match composed.fate {
            0 => Fate::Dropped,
            1 => Fate::Local,
            _ => Fate::Posted(composed.port),
        },
        hop_ptr: composed.hop_ptr as u8,
        recorded,
    })
}

/// Mainline's decision: none, without `smi.c`.
#[cfg(not(mainline))]
pub fn judge(_side: Side, _case: &Case, _packet: &mut Packet) -> Option<Outcome> {
    None
}

/// Takes an SMP through a switch by the four functions alone, as is done to each that is passed on.
/// Returns the port that it leaves by, or nothing if it does not get that far.
#[cfg(mainline)]
pub fn pass_on(smp: &mut [u8; 256], ingress: u8, ports: u8) -> Option<u32> {
    let smp = smp.as_mut_ptr();
    // SAFETY: `smp` points to the 256 bytes of an InfiniBand SMP, and `smi.c` looks at no more.
    unsafe {
        if ffi::smi_handle_dr_smp_recv(smp, true, ingress.into(), ports.into()) != ffi::HANDLE
            || ffi::smi_check_forward_dr_smp(smp) != ffi::FORWARD
        {
            return None;
        }
        let port = u32::try_from(ffi::smi_get_fwd_port(smp)).ok()?;
        (ffi::smi_handle_dr_smp_send(smp, true, port) == ffi::HANDLE).then_some(port)
    }
}

/// Mainline's way through a switch: none, without `smi.c`.
#[cfg(not(mainline))]
pub fn pass_on(_smp: &mut [u8; 256], _ingress: u8, _ports: u8) -> Option<u32> {
    None
}
