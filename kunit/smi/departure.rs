// SPDX-License-Identifier: GPL-2.0

//! SMPs that the node itself sends.

use super::made_up::{
    format,
    Flaw,
    MadeUp, //
};
use crate::{
    ib_smi::{
        asked,
        departure,
        livepatch::{
            self,
            Taken, //
        },
        trace::{
            self,
            Fired, //
        }, //
    },
    packet::{
        request,
        response,
        Packet, //
    },
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

/// What becomes of the SMP.
enum Fate {
    /// It leaves with this Hop Pointer; the work request names this port.
    Leave(u8, u32),
    /// Discarded for the reason of this number.
    Discard(u32),
}

use Fate::{
    Discard,
    Leave, //
};

/// An SMP that a node sends through its port `egress`, after another one.
pub(crate) struct Departure {
    name: &'static str,
    settled: bool,
    taken: Taken,
    flaw: Flaw,
    is_switch: bool,
    egress: u8,
    asked: Option<Packet>,
    smp: Packet,
    fate: Fate,
}

impl fmt::Display for Departure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Row for Departure {
    fn check(&self, test: &Test) -> Result {
        for smp in self.smp.in_both() {
            self.check_one(test, &smp)?;
        }
        Ok(())
    }
}

impl Departure {
    fn check_one(&self, test: &Test, packet: &Packet) -> Result {
        let mut made_up = MadeUp::new(true)?;
        if let Some(asked) = &self.asked {
            let smp = made_up.departing(asked, self.flaw);
            // SAFETY: The SMP has such a structure behind it.
            let discarded =
                unsafe { departure::judge(smp, format(asked), self.is_switch, self.egress) };
            test.equal("the one before is discarded", discarded, false);
            // As `local` does when it hands the request over.
            // SAFETY: The made-up device is still there.
            asked::remember(unsafe { &*smp });
        }
        let smp = made_up.departing(packet, self.flaw);
        trace::fired();
        livepatch::settle(self.settled);
        livepatch::take(self.taken);
        // SAFETY: The SMP has such a structure behind it.
        let discarded =
            unsafe { departure::judge(smp, format(packet), self.is_switch, self.egress) };
        livepatch::settle(true);
        livepatch::take(Taken::Nothing);

        // SAFETY: The made-up device is still there.
        let hop_ptr = unsafe { (*smp)[6] };
        let (hop_ptr_after, port, reason) = match self.fate {
            Leave(hop_ptr, port) => (hop_ptr, port, 0),
            Discard(reason) => (self.smp.hop_ptr, 0, reason),
        };
        test.equal("discarded", discarded, reason != 0);
        test.equal("Hop Pointer", hop_ptr, hop_ptr_after);
        test.equal("port of the work request", made_up.egress(), port);
        let fired = Fired {
            recv: 0,
            send: 1,
            discard: discarded.into(),
            reason,
        };
        test.equal("events", trace::fired(), fired);
        Ok(())
    }
}

/// A switch whose agent names no port.
const SWITCH: Departure = Departure {
    name: "",
    settled: true,
    taken: Taken::Nothing,
    flaw: Flaw::None,
    is_switch: true,
    egress: 0,
    asked: None,
    smp: request(0, 2).initial(&[4, 1]),
    fate: Leave(1, 4),
};

/// A channel adapter whose agent is on port 1.
const CA: Departure = Departure {
    is_switch: false,
    egress: 1,
    ..SWITCH
};

/// SMPs of a switch, then of a channel adapter.
pub(crate) struct Departures;

#[rustfmt::skip]
impl Table for Departures {
    type Row = Departure;

    const ROWS: &'static [Departure] = &[
        Departure { name: "start at a switch: the path names the port", ..SWITCH },
        Departure { name: "start at a switch through a port",
            egress: 4, fate: Leave(1, 0), ..SWITCH },
        Departure { name: "start at a switch through another port",
            egress: 3, fate: Discard(7), ..SWITCH },
        Departure { name: "start at a switch, port 0",
            smp: request(0, 2).initial(&[0, 1]), fate: Discard(4), ..SWITCH },
        Departure { name: "start at a switch, port n+1",
            smp: request(0, 2).initial(&[5, 1]), fate: Discard(3), ..SWITCH },
        Departure { name: "return, start at a switch",
            smp: response(3, 2).back(&[1, 2]), fate: Leave(2, 2), ..SWITCH },
        Departure { name: "LID-routed part first, at a switch",
            smp: request(0, 2).slid(5), fate: Leave(0, 0), ..SWITCH },
        Departure { name: "to itself, at a switch",
            smp: request(0, 0), fate: Leave(1, 0), ..SWITCH },
        Departure { name: "end at a switch, on by LID",
            smp: request(0, 0).dlid(7), fate: Discard(34), ..SWITCH },
        Departure { name: "structure not found: no port can be named",
            flaw: Flaw::BackPointer, smp: request(0, 2).initial(&[254, 1]), fate: Discard(32), ..SWITCH },
        Departure { name: "structure not found: the path is trusted, the port is named",
            flaw: Flaw::BackPointer, smp: request(0, 2).initial(&[254, 1]), egress: 254, fate: Leave(1, 0), ..SWITCH },
        Departure { name: "structure not found, port 0",
            flaw: Flaw::BackPointer, smp: request(0, 2).initial(&[0, 1]), fate: Discard(4), ..SWITCH },
        Departure { name: "in transition: no structure is looked for, and no port can be named",
            settled: false, fate: Discard(32), ..SWITCH },
        Departure { name: "in transition, by a port that is named",
            settled: false, egress: 4, fate: Leave(1, 0), ..SWITCH },
        Departure { name: "another livepatch says what is for this node: nothing that came in starts",
            taken: Taken::CheckForward, ..SWITCH },
        Departure { name: "another livepatch says what is for this node: it may have come in",
            taken: Taken::CheckForward, smp: response(3, 2).back(&[1, 2]), fate: Discard(32), ..SWITCH },
        Departure { name: "another livepatch judges what comes in: no structure is looked for",
            taken: Taken::Receive, fate: Discard(32), ..SWITCH },

        Departure { name: "start at a CA",
            smp: request(0, 2).initial(&[1, 2]), fate: Leave(1, 0), ..CA },
        Departure { name: "start at a CA by another port",
            smp: request(0, 2).initial(&[2, 2]), fate: Discard(7), ..CA },
        Departure { name: "LID-routed part first, at a CA",
            smp: request(0, 2).slid(5), fate: Leave(0, 0), ..CA },
        Departure { name: "return, start at a CA",
            smp: response(3, 2).back(&[2, 1]), fate: Leave(2, 0), ..CA },
        Departure { name: "return without a hop, on by LID, at a CA",
            smp: response(1, 0).slid(5), fate: Discard(34), ..CA },
        Departure { name: "transit at a CA",
            smp: request(1, 2).initial(&[1, 1]), fate: Discard(5), ..CA },
        Departure { name: "beyond the end",
            smp: request(4, 2), fate: Discard(2), ..CA },
        Departure { name: "Hop Count 64",
            smp: request(0, 64).initial(&[1]), fate: Discard(1), ..CA },

        Departure { name: "answer to its own node, asked",
            asked: Some(request(0, 0).tid(0x1_0000_0001)),
            smp: response(1, 0).tid(0x1_0000_0001), fate: Leave(0, 0), ..CA },
        Departure { name: "answer to its own node at a switch, asked",
            asked: Some(request(0, 0).tid(0x1_0000_0002)),
            smp: response(1, 0).tid(0x1_0000_0002), fate: Leave(0, 0), ..SWITCH },
        Departure { name: "answer to its own node, never asked",
            smp: response(1, 0).tid(0x1_0000_0003), fate: Discard(39), ..CA },
        Departure { name: "answer to its own node, another one asked",
            asked: Some(request(0, 0).tid(0x2_0000_0004)),
            smp: response(1, 0).tid(0x1_0000_0004), fate: Discard(39), ..CA },
        Departure { name: "answer that names no agent",
            asked: Some(request(0, 0).tid(0)),
            smp: response(1, 0).tid(0), fate: Discard(39), ..CA },
        Departure { name: "answer at the end of its way back, never asked",
            smp: response(1, 2).tid(0x1_0000_0007), fate: Discard(39), ..CA },
        Departure { name: "answer past the end of its way back, never asked",
            smp: response(0, 2).tid(0x1_0000_0008), fate: Discard(39), ..CA },
    ];
}

const _: () = assert!(Departures::ROWS.len() == 32);
