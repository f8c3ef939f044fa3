// SPDX-License-Identifier: GPL-2.0

//! Answers of the node's own SMA to what came in from the wire.

use super::answer::{
    discard,
    forward,
    route,
    Answer,
    CA,
    SW4, //
};
use crate::{
    dr::{
        reply,
        DrSmp,
        Reason::*,
        Rule::*, //
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

/// An answer. A channel adapter and a switch answer alike.
pub(crate) struct Reply {
    name: &'static str,
    smp: Packet,
    expected: Answer,
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Row for Reply {
    fn check(&self, test: &Test) -> Result {
        let bytes = self.smp.bytes();
        for (what, node) in [("reply of a CA", CA), ("reply of a switch", SW4)] {
            let got = reply(&DrSmp::from_ib(&bytes), node);
            self.expected.check(test, what, got);
        }
        Ok(())
    }
}

/// Answers of the SMA.
pub(crate) struct Replied;

#[rustfmt::skip]
impl Table for Replied {
    type Row = Reply;

    const ROWS: &'static [Reply] = &[
        Reply { name: "along the path", smp: response(3, 2).back(&[1, 2]),
            expected: forward(C14_13_1, 2, 2) },
        Reply { name: "along the path, DrSLID 5", smp: response(3, 2).back(&[1, 2]).slid(5),
            expected: forward(C14_13_1, 2, 2) },
        Reply { name: "along 63 hops", smp: response(64, 63).back(&[1]),
            expected: forward(C14_13_1, 1, 63) },
        Reply { name: "egress 0", smp: response(3, 2).back(&[1, 0]),
            expected: discard(C14_13_1, PortZero, 3) },
        Reply { name: "egress n+1", smp: response(3, 2).back(&[1, 5]),
            expected: discard(C14_13_1, NoSuchPort, 3) },
        Reply { name: "LID-routed part first", smp: response(3, 2).dlid(7),
            expected: route(Lid, None, 3) },
        Reply { name: "LID-routed part first, without a hop", smp: response(1, 0).slid(5).dlid(7),
            expected: route(Lid, None, 1) },
        Reply { name: "by LID alone", smp: response(1, 0).slid(5),
            expected: route(C14_13_3, Some(5), 0) },
        Reply { name: "nowhere to go", smp: response(1, 0),
            expected: discard(C14_13_3, NowhereToGo, 1) },
        Reply { name: "without the D bit", smp: request(3, 2).back(&[1, 2]),
            expected: discard(C14_10_1_1, NotReturning, 3) },
        Reply { name: "Hop Pointer is Hop Count", smp: response(2, 2).back(&[1, 2]),
            expected: discard(C14_13_5, HopPointer, 2) },
        Reply { name: "Hop Pointer is Hop Count + 2", smp: response(4, 2).back(&[1, 2]).dlid(7),
            expected: discard(C14_13_5, HopPointer, 4) },
        Reply { name: "Hop Count 64", smp: response(65, 64).back(&[1]),
            expected: discard(C14_6, HopCount, 65) },
    ];
}

const _: () = assert!(Replied::ROWS.len() == 13);
