// SPDX-License-Identifier: GPL-2.0

//! The InfiniBand Subnet Management Interface: what becomes of directed-route SMPs on QP0.
//!
//! The rooms below are in the order in which an SMP meets them: it comes in (`abi`, `origin`), is
//! judged (`arrival`, `departure`, by the rules in `dr`), is sent on (`transmit`, `ports`, `direct`,
//! `send_queue`), and is told about (`hop`, `trace`, `dyndbg`, `counters`, `ledger`, `folder`).

use ib_smi::{
    folder::Folder,
    ledger::Ledger,
    ports::Ports, //
};
use kernel::prelude::*;

#[path = "bindings/bindings.rs"]
mod bindings;
mod compat;
mod debugfs;
#[path = "dr/lib.rs"]
mod dr;
mod once;
mod rdma;

mod ib_smi {
    pub(crate) mod livepatch;

    pub(crate) mod abi;
    pub(crate) mod origin;
    pub(crate) mod smp;

    pub(crate) mod arrival;
    pub(crate) mod asked;
    pub(crate) mod departure;
    pub(crate) mod listener;
    pub(crate) mod local;

    pub(crate) mod direct;
    pub(crate) mod ports;
    pub(crate) mod send_queue;
    pub(crate) mod transit;
    pub(crate) mod transmit;

    pub(crate) mod counters;
    pub(crate) mod dyndbg;
    pub(crate) mod folder;
    pub(crate) mod hop;
    pub(crate) mod ledger;
    pub(crate) mod trace;
}

module! {
    type: IbSmi,
    name: "ib_smi",
    authors: ["ib_smi contributors"],
    description: "InfiniBand Subnet Management Interface: directed-route SMPs",
    license: "GPL",
    params: {
        ledger: u32 {
            default: 256,
            description: "Requests that the ledger holds, 0 to 65536; 0 for none",
        },
    },
}

/// The module.
///
/// The kernel lets it go only when the livepatch is disabled and no task runs a replacement. Then what
/// uses the others goes first.
#[pin_data]
struct IbSmi {
    _ports: rdma::client::Registered<Ports>,
    folder: Folder,
    _ledger: Ledger,
}

impl kernel::InPlaceModule for IbSmi {
    fn init(module: &'static ThisModule) -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            _ledger: Ledger::open(compat::value(&module_parameters::ledger))?,
            folder: Folder::open()?,
            _ports: Ports::open_all()?,
            // The last step: replacements may run before it returns, and need the ports.
            _: {
                ib_smi::abi::PATCH.enable(module).inspect_err(|error| {
                    pr_err!(
                        "ib_core could not be patched (error {}): the kernel log says why\n",
                        error.to_errno()
                    )
                })?
            },
        })
    }
}
