// SPDX-License-Identifier: GPL-2.0

//! The InfiniBand Subnet Management Interface: what becomes of directed-route SMPs on QP0.
//!
//! The rooms below are in the order in which an SMP meets them: it comes in (`abi`, `origin`), is
//! judged (`arrival`, `departure`, by the rules in `dr`), is sent on (`transmit`, `ports`, `direct`,
//! `send_queue`), and is told about (`hop`, `trace`, `dyndbg`, `counters`).

use kernel::{
    debugfs,
    prelude::*, //
};

#[path = "bindings/bindings.rs"]
mod bindings;
#[path = "dr/lib.rs"]
mod dr;
mod rdma;

mod ib_smi {
    pub(crate) mod livepatch;

    pub(crate) mod abi;
    pub(crate) mod origin;
    pub(crate) mod smp;

    pub(crate) mod arrival;
    pub(crate) mod asked;
    pub(crate) mod departure;
    pub(crate) mod local;

    pub(crate) mod direct;
    pub(crate) mod ports;
    pub(crate) mod send_queue;
    pub(crate) mod transmit;

    pub(crate) mod counters;
    pub(crate) mod dyndbg;
    pub(crate) mod hop;
    pub(crate) mod trace;
}

module! {
    type: IbSmi,
    name: "ib_smi",
    authors: ["ib_smi contributors"],
    description: "InfiniBand Subnet Management Interface: directed-route SMPs",
    license: "GPL",
}

/// The module.
///
/// The kernel lets it go only when the livepatch is disabled and no task runs a replacement.
#[pin_data]
struct IbSmi {
    #[pin]
    discards: debugfs::File<ib_smi::counters::Discards>,
    ports: rdma::client::Registered<ib_smi::ports::Ports>,
}

impl kernel::InPlaceModule for IbSmi {
    fn init(module: &'static ThisModule) -> impl PinInit<Self, Error> {
        let folder = debugfs::Dir::new(c"ib_smi");
        try_pin_init!(Self {
            discards <- folder.read_only_file(c"discards", ib_smi::counters::Discards),
            ports: ib_smi::ports::Ports::open_all()?,
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
