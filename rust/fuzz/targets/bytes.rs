// SPDX-License-Identifier: GPL-2.0

//! The bytes of an SMP as the module reads and writes them (`rust/ib_smi/smp.rs`): any bytes, on ports of
//! either kind. A hop writes the Hop Pointer and one element of the Return Path, as the oracle has it,
//! and nothing else.

// The module's own files, with the layouts of the kernel's headers in the place of its bindings.
mod bindings {
    //! C headers: `include/rdma/ib_smi.h`, `include/rdma/opa_smi.h`, `include/rdma/ib_mad.h`.
    #![allow(missing_docs, non_camel_case_types, dead_code)]

    pub(crate) const OPA_MGMT_BASE_VERSION: u32 = 0x80;
    pub(crate) const OPA_SM_CLASS_VERSION: u32 = 0x80;
    pub(crate) const IB_MGMT_METHOD_RESP: u32 = 0x80;
    pub(crate) const IB_MGMT_METHOD_TRAP_REPRESS: u32 = 0x07;

    #[repr(C, packed)]
    pub(crate) struct ib_smp {
        pub(crate) base_version: u8,
        pub(crate) mgmt_class: u8,
        pub(crate) class_version: u8,
        pub(crate) method: u8,
        pub(crate) status: u16,
        pub(crate) hop_ptr: u8,
        pub(crate) hop_cnt: u8,
        pub(crate) tid: u64,
        pub(crate) attr_id: u16,
        pub(crate) resv: u16,
        pub(crate) attr_mod: u32,
        pub(crate) mkey: u64,
        pub(crate) dr_slid: u16,
        pub(crate) dr_dlid: u16,
        pub(crate) reserved: [u8; 28],
        pub(crate) data: [u8; 64],
        pub(crate) initial_path: [u8; 64],
        pub(crate) return_path: [u8; 64],
    }

    #[repr(C, packed)]
    pub(crate) struct opa_smp {
        pub(crate) header: [u8; 32],
        pub(crate) route: [u8; 2016],
    }

    pub(crate) struct ib_grh(pub(crate) [u8; 40]);

    pub(crate) struct opa_mad(pub(crate) [u8; 2048]);
}

extern crate dr;
#[path = "../../ib_smi/smp.rs"]
#[allow(dead_code)]
mod module_smp;

use dr_check::{
    enumeration,
    oracle::{
        self,
        Outcome, //
    },
};
use module_smp::{
    apply,
    is_answer,
    tid,
    Format,
    Header,
    Smp, //
};
use smi_fuzz::{
    expect::{
        case,
        Layout,
        Side, //
    },
    wire::Site,
};

/// Switch or not, Omni-Path or not, ports, ingress; then the SMP.
const LEN: usize = 4 + size_of::<Smp>();

/// What libFuzzer calls with bytes of its choice.
///
/// # Safety
///
/// `bytes` must point to `len` bytes.
#[no_mangle]
pub unsafe extern "C" fn LLVMFuzzerTestOneInput(bytes: *const u8, len: usize) -> i32 {
    if len < LEN {
        return 0;
    }
    // SAFETY: By the safety requirements.
    let [switch, opa, ports, port, smp @ ..] = unsafe { &*bytes.cast::<[u8; LEN]>() };
    let site = Site {
        name: String::new(),
        switch: switch & 1 != 0,
        ports: (*ports).clamp(1, 254),
        opa: opa & 1 != 0,
    };
    read(smp);
    hop(&site, 1 + port % site.ports, smp);
    0
}

/// Reads the header as the kernel's structure has it.
fn read(smp: &Smp) {
    let header = Header::read(smp);
    let number = |at: usize, len: usize| {
        smp[at..at + len]
            .iter()
            .fold(0, |n, b| (n << 8) | u64::from(*b))
    };
    assert_eq!((header.mgmt_class, header.method), (smp[1], smp[3]));
    assert_eq!(u64::from(header.status), number(4, 2) & 0x7FFF);
    assert_eq!((header.tid, tid(smp)), (number(8, 8), number(8, 8)));
    assert_eq!(u64::from(header.attr_id), number(16, 2));
    assert_eq!(u64::from(header.attr_mod), number(20, 4));
    assert_eq!(is_answer(smp), smp[3] >= 0x80 || smp[3] == 7);
}

/// Lets the SMP come in.
fn hop(site: &Site, port: u8, smp: &Smp) {
    let format = Format::of_arrived(smp, site.opa);
    let (layout, path) = match format {
        Format::Ib => (Layout::Ib, 192),
        Format::Opa => (Layout::Opa, 104),
    };
    let case = case(site, port, smp, layout);
    let expected = oracle::judge(Side::Receive, &case);
    let decision = dr::receive(&format.route(smp), case.node(), port);
    assert_eq!(enumeration::outcome(decision), expected);
    let Outcome {
        hop_ptr, record, ..
    } = expected;
    for advance in [false, true] {
        let mut after = *smp;
        apply(&mut after, format, &decision, advance);
        let mut right = *smp;
        if let Some((element, port)) = record {
            right[path + usize::from(element)] = port;
        }
        if advance {
            right[6] = hop_ptr;
        }
        assert_eq!(after, right);
    }
}
