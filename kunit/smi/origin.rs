// SPDX-License-Identifier: GPL-2.0

//! What is found around an SMP, and what is not believed.

use super::made_up::{
    Flaw,
    MadeUp,
    AGENT_PORT, //
};
use crate::{
    ib_smi::{
        origin::{
            Arrived,
            Departing,
            Origin, //
        },
        smp::Format, //
    },
    packet::request,
    table::{
        Row,
        Table,
        Test, //
    }, //
};
use kernel::{
    fmt,
    prelude::*, //
};

/// Which way an SMP goes.
enum Way {
    Received,
    Departing,
}

use Way::*;

/// An SMP in its structure, and whether its device is found.
pub(crate) struct Around {
    name: &'static str,
    way: Way,
    flaw: Flaw,
    found: bool,
}

impl fmt::Display for Around {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Row for Around {
    fn check(&self, test: &Test) -> Result {
        let mut made_up = MadeUp::new(true)?;
        let packet = request(1, 2);
        let origin = match self.way {
            Received => {
                let smp = made_up.received(&packet, self.flaw);
                // SAFETY: The SMP is in such a structure.
                unsafe { Arrived::find(smp).map_or(Origin::UNKNOWN, |arrived| arrived.origin()) }
            }
            Departing => {
                let smp = made_up.departing(&packet, self.flaw);
                // SAFETY: The SMP has such a structure behind it.
                let departing = unsafe { Departing::find(smp, Format::Ib) };
                if let Some(departing) = &departing {
                    departing.set_egress(3);
                }
                departing.map_or(Origin::UNKNOWN, |departing| departing.origin())
            }
        };
        let device = made_up.device().as_raw();
        let is_it = origin.device.map(|found| found.as_raw() == device);
        test.equal("the device", is_it, self.found.then_some(true));
        let port = if self.found { AGENT_PORT.into() } else { 0 };
        test.equal("the agent's port", origin.port, port);
        let egress = matches!(self.way, Departing) && self.found;
        test.equal("egress", made_up.egress(), if egress { 3 } else { 0 });
        Ok(())
    }
}

/// Structures as they are, and with a flaw.
pub(crate) struct Origins;

#[rustfmt::skip]
impl Table for Origins {
    type Row = Around;

    const ROWS: &'static [Around] = &[
        Around { name: "received", way: Received, flaw: Flaw::None, found: true },
        Around { name: "received, points elsewhere", way: Received, flaw: Flaw::BackPointer, found: false },
        Around { name: "received, points nowhere", way: Received, flaw: Flaw::NoBackPointer, found: false },
        Around { name: "received, no queue pair", way: Received, flaw: Flaw::NoQueuePair, found: false },
        Around { name: "departing", way: Departing, flaw: Flaw::None, found: true },
        Around { name: "departing, points elsewhere", way: Departing, flaw: Flaw::BackPointer, found: false },
        Around { name: "departing, points nowhere", way: Departing, flaw: Flaw::NoBackPointer, found: false },
        Around { name: "departing, base version 0x80", way: Departing, flaw: Flaw::BaseVersion, found: true },
    ];
}

const _: () = assert!(Origins::ROWS.len() == 8);
