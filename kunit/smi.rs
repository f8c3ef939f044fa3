// SPDX-License-Identifier: GPL-2.0

//! KUnit suite of the module's own rooms, on memory alone: no device, no livepatch, no trace event.

use kernel::prelude::*;

#[path = "../rust/bindings/bindings.rs"]
mod bindings;
#[path = "../rust/compat.rs"]
mod compat;
#[path = "../rust/dr/lib.rs"]
mod dr;
#[path = "../rust/once.rs"]
mod once;
mod packet;
mod table;

#[path = "../rust/rdma"]
#[expect(dead_code)]
mod rdma {
    pub(crate) mod device;
}

/// The rooms under test. In the place of others stand rooms that the tests can set and read: the
/// livepatch would make a patch of this module too, the trace events are C, and ports and listeners are
/// ib_mad's.
#[path = "../rust/ib_smi"]
mod ib_smi {
    #[path = "../../kunit/smi/livepatch.rs"]
    pub(crate) mod livepatch;

    // Sending on is left out.
    #[expect(dead_code)]
    pub(crate) mod origin;
    pub(crate) mod smp;

    pub(crate) mod arrival;
    pub(crate) mod asked;
    pub(crate) mod departure;

    #[path = "../../kunit/smi/listener.rs"]
    pub(crate) mod listener;
    #[path = "../../kunit/smi/ports.rs"]
    pub(crate) mod ports;

    pub(crate) mod counters;
    pub(crate) mod dyndbg;
    pub(crate) mod hop;
    pub(crate) mod ledger;
    #[path = "../../kunit/smi/trace.rs"]
    pub(crate) mod trace;
}

mod smi {
    pub(crate) mod made_up;

    pub(crate) mod apply;
    pub(crate) mod arrival;
    pub(crate) mod departure;
    pub(crate) mod dyndbg;
    pub(crate) mod hop;
    pub(crate) mod layout;
    pub(crate) mod ledger;
    pub(crate) mod names;
    pub(crate) mod origin;
    pub(crate) mod steps;
    pub(crate) mod walk;
}

module! {
    type: KUnitSmi,
    name: "kunit_smi",
    authors: ["ib_smi contributors"],
    description: "KUnit suite of ib_smi",
    license: "GPL",
}

/// The module; its suite runs when it is loaded.
struct KUnitSmi;

impl kernel::Module for KUnitSmi {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        Ok(Self)
    }
}

suite!(ib_smi:
    c"layout" => smi::layout::Facts,
    c"origin" => smi::origin::Origins,
    c"apply" => smi::apply::Changes,
    c"arrival" => smi::arrival::Arrivals,
    c"next_step" => smi::steps::Steps,
    c"all_hops" => smi::walk::Walks,
    c"departure" => smi::departure::Departures,
    c"hop" => smi::hop::Hops,
    c"names" => smi::names::Names,
    c"ledger" => smi::ledger::Entries,
    c"call_sites" => smi::dyndbg::Lines,
    c"own_call_sites" => smi::dyndbg::Own,
);
