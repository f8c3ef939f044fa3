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
        Node,
        NodeKind,
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

/// An answer of each of some nodes to an SMP that came in through their port `ingress`.
pub(crate) struct Reply {
    name: &'static str,
    nodes: &'static [Node],
    ingress: u8,
    smp: Packet,
    expected: Answer,
}

/// Where a channel adapter and a switch answer alike.
const BOTH: &[Node] = &[CA, SW4];

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Row for Reply {
    fn check(&self, test: &Test) -> Result {
        for smp in self.smp.in_both() {
            let bytes = smp.bytes();
            for &node in self.nodes {
                let got = reply(&smp.route(&bytes), node, self.ingress);
                let what = match node.kind {
                    NodeKind::Ca => "reply of a CA",
                    NodeKind::Switch => "reply of a switch",
                };
                self.expected.check(test, what, got);
            }
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
        Reply { name: "along the path", nodes: BOTH, ingress: 2,
            smp: response(3, 2).back(&[1, 2]),
            expected: forward(C14_13_1, 2, 2) },
        Reply { name: "along the path, DrSLID 5", nodes: BOTH, ingress: 2,
            smp: response(3, 2).back(&[1, 2]).slid(5),
            expected: forward(C14_13_1, 2, 2) },
        Reply { name: "along 63 hops", nodes: BOTH, ingress: 1,
            smp: response(64, 63).back(&[1]),
            expected: forward(C14_13_1, 1, 63) },
        Reply { name: "by another port than asked, at a switch", nodes: &[SW4], ingress: 1,
            smp: response(3, 2).back(&[1, 2]),
            expected: forward(C14_13_1, 2, 2) },
        Reply { name: "by another port than asked, at a CA", nodes: &[CA], ingress: 1,
            smp: response(3, 2).back(&[1, 2]),
            expected: discard(C14_13_1, WrongPort, 3) },
        Reply { name: "egress 0", nodes: BOTH, ingress: 2,
            smp: response(3, 2).back(&[1, 0]),
            expected: discard(C14_13_1, PortZero, 3) },
        Reply { name: "egress n+1 at a switch", nodes: &[SW4], ingress: 2,
            smp: response(3, 2).back(&[1, 5]),
            expected: discard(C14_13_1, NoSuchPort, 3) },
        Reply { name: "egress n+1 at a CA", nodes: &[CA], ingress: 2,
            smp: response(3, 2).back(&[1, 3]),
            expected: discard(C14_13_1, NoSuchPort, 3) },
        Reply { name: "LID-routed part first", nodes: BOTH, ingress: 2,
            smp: response(3, 2).dlid(7),
            expected: route(Lid, None, 3) },
        Reply { name: "LID-routed part first, without a hop", nodes: BOTH, ingress: 2,
            smp: response(1, 0).slid(5).dlid(7),
            expected: route(Lid, None, 1) },
        Reply { name: "by LID alone", nodes: BOTH, ingress: 2,
            smp: response(1, 0).slid(5),
            expected: route(C14_13_3, Some(5), 0) },
        Reply { name: "nowhere to go", nodes: BOTH, ingress: 2,
            smp: response(1, 0),
            expected: discard(C14_13_3, NowhereToGo, 1) },
        Reply { name: "without the D bit", nodes: BOTH, ingress: 2,
            smp: request(3, 2).back(&[1, 2]),
            expected: discard(C14_10_1_1, NotReturning, 3) },
        Reply { name: "Hop Pointer is Hop Count", nodes: BOTH, ingress: 2,
            smp: response(2, 2).back(&[1, 2]),
            expected: discard(C14_13_5, HopPointer, 2) },
        Reply { name: "Hop Pointer is Hop Count + 2", nodes: BOTH, ingress: 2,
            smp: response(4, 2).back(&[1, 2]).dlid(7),
            expected: discard(C14_13_5, HopPointer, 4) },
        Reply { name: "Hop Count 64", nodes: BOTH, ingress: 1,
            smp: response(65, 64).back(&[1]),
            expected: discard(C14_6, HopCount, 65) },
    ];
}

const _: () = assert!(Replied::ROWS.len() == 16);
