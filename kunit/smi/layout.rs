// SPDX-License-Identifier: GPL-2.0

//! Numbers of C headers that the module relies on.

use crate::{
    bindings,
    table::{
        Row,
        Table,
        Test, //
    }, //
};
use core::mem::{
    align_of,
    offset_of, //
};
use kernel::{
    fmt,
    prelude::*, //
};

/// What the headers of this kernel say, and what is relied upon.
pub(crate) struct Fact {
    name: &'static str,
    got: usize,
    expected: usize,
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Row for Fact {
    fn check(&self, test: &Test) -> Result {
        test.equal(self.name, self.got, self.expected);
        Ok(())
    }
}

const fn fact(name: &'static str, got: usize, expected: usize) -> Fact {
    Fact {
        name,
        got,
        expected,
    }
}

/// A fact about a constant.
const fn number(name: &'static str, got: u32, expected: u32) -> Fact {
    // Lossless: a `usize` has 64 bits here.
    fact(name, got as usize, expected as usize)
}

/// All that is relied upon.
pub(crate) struct Facts;

#[rustfmt::skip]
impl Table for Facts {
    type Row = Fact;

    const ROWS: &'static [Fact] = &[
        fact("size of an SMP", size_of::<bindings::ib_smp>(), 256),
        fact("place of the status", offset_of!(bindings::ib_smp, status), 4),
        fact("place of the Hop Pointer", offset_of!(bindings::ib_smp, hop_ptr), 6),
        fact("place of the Hop Count", offset_of!(bindings::ib_smp, hop_cnt), 7),
        fact("place of the transaction ID", offset_of!(bindings::ib_smp, tid), 8),
        fact("place of the attribute ID", offset_of!(bindings::ib_smp, attr_id), 16),
        fact("place of the attribute modifier", offset_of!(bindings::ib_smp, attr_mod), 20),
        fact("place of the M_Key", offset_of!(bindings::ib_smp, mkey), 24),
        fact("place of DrSLID", offset_of!(bindings::ib_smp, dr_slid), 32),
        fact("place of DrDLID", offset_of!(bindings::ib_smp, dr_dlid), 34),
        fact("place of the data", offset_of!(bindings::ib_smp, data), 64),
        fact("place of the Initial Path", offset_of!(bindings::ib_smp, initial_path), 128),
        fact("place of the Return Path", offset_of!(bindings::ib_smp, return_path), 192),
        fact("size of an SMP of Omni-Path", size_of::<bindings::opa_smp>(), 2048),
        number("directed-route class", bindings::IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE, 0x81),
        number("base version", bindings::IB_MGMT_BASE_VERSION, 1),
        number("base version of Omni-Path", bindings::OPA_MGMT_BASE_VERSION, 0x80),
        number("class version of Omni-Path", bindings::OPA_SM_CLASS_VERSION, 0x80),
        number("IB_SMI_DISCARD", bindings::smi_action_IB_SMI_DISCARD, 0),
        number("IB_SMI_HANDLE", bindings::smi_action_IB_SMI_HANDLE, 1),
        number("IB_SMI_LOCAL", bindings::smi_forward_action_IB_SMI_LOCAL, 0),
        number("IB_SMI_SEND", bindings::smi_forward_action_IB_SMI_SEND, 1),
        number("IB_SMI_FORWARD", bindings::smi_forward_action_IB_SMI_FORWARD, 2),
        fact("a received MAD ends its structure",
            offset_of!(bindings::ib_mad_private, mad), size_of::<bindings::ib_mad_private>()),
        fact("a received MAD is behind header, size and GRH",
            offset_of!(bindings::ib_mad_private, mad),
            size_of::<bindings::ib_mad_private_header>() + size_of::<usize>() + 40),
        fact("the GRH is right before a received MAD",
            offset_of!(bindings::ib_mad_private, grh) + size_of::<bindings::ib_grh>(),
            offset_of!(bindings::ib_mad_private, mad)),
        fact("the structure of a departing MAD can be behind 256 bytes",
            256 % align_of::<bindings::ib_mad_send_wr_private>(), 0),
        fact("the structure of a departing MAD begins with its list",
            offset_of!(bindings::ib_mad_send_wr_private, mad_list), 0),
        fact("egress port in the structure of a departing MAD",
            offset_of!(bindings::ib_mad_send_wr_private, send_wr.port_num),
            offset_of!(bindings::ib_mad_send_wr_private, send_wr)
                + offset_of!(bindings::ib_ud_wr, port_num)),
        fact("a port has QP0 and QP1",
            size_of_val(&EMPTY.qp_info) / size_of::<bindings::ib_mad_qp_info>(), 2),
    ];
}

const _: () = assert!(Facts::ROWS.len() == 30);

// SAFETY: A `struct ib_mad_port_private` is valid when zeroed.
const EMPTY: bindings::ib_mad_port_private = unsafe { core::mem::zeroed() };
