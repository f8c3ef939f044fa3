// SPDX-License-Identifier: GPL-2.0

//! Answers of the node's own SMA to what came in from the wire.

use super::{
    answer::{
        discard,
        forward,
        route,
        CA,
        SW4, //
    },
    case::{
        Case,
        What::Reply, //
    }, //
};
use crate::{
    dr::{
        Node,
        Reason::*,
        Rule::*, //
    },
    packet::{
        request,
        response, //
    },
    table::Table, //
};

/// Where a channel adapter and a switch answer alike.
const BOTH: &[Node] = &[CA, SW4];

/// Answers of the SMA.
pub(crate) struct Replied;

#[rustfmt::skip]
impl Table for Replied {
    type Row = Case;

    const ROWS: &'static [Case] = &[
        Case { what: Reply, name: "along the path", nodes: BOTH, port: 2,
            smp: response(3, 2).back(&[1, 2]),
            expected: forward(C14_13_1, 2, 2) },
        Case { what: Reply, name: "along the path, DrSLID 5", nodes: BOTH, port: 2,
            smp: response(3, 2).back(&[1, 2]).slid(5),
            expected: forward(C14_13_1, 2, 2) },
        Case { what: Reply, name: "along 63 hops", nodes: BOTH, port: 1,
            smp: response(64, 63).back(&[1]),
            expected: forward(C14_13_1, 1, 63) },
        Case { what: Reply, name: "by another port than asked, at a switch", nodes: &[SW4], port: 1,
            smp: response(3, 2).back(&[1, 2]),
            expected: forward(C14_13_1, 2, 2) },
        Case { what: Reply, name: "by another port than asked, at a CA", nodes: &[CA], port: 1,
            smp: response(3, 2).back(&[1, 2]),
            expected: discard(C14_13_1, WrongPort, 3) },
        Case { what: Reply, name: "egress 0", nodes: BOTH, port: 2,
            smp: response(3, 2).back(&[1, 0]),
            expected: discard(C14_13_1, PortZero, 3) },
        Case { what: Reply, name: "egress n+1 at a switch", nodes: &[SW4], port: 2,
            smp: response(3, 2).back(&[1, 5]),
            expected: discard(C14_13_1, NoSuchPort, 3) },
        Case { what: Reply, name: "egress n+1 at a CA", nodes: &[CA], port: 2,
            smp: response(3, 2).back(&[1, 3]),
            expected: discard(C14_13_1, NoSuchPort, 3) },
        Case { what: Reply, name: "LID-routed part first", nodes: BOTH, port: 2,
            smp: response(3, 2).dlid(7),
            expected: route(Lid, None, 3) },
        Case { what: Reply, name: "LID-routed part first, without a hop", nodes: BOTH, port: 2,
            smp: response(1, 0).slid(5).dlid(7),
            expected: route(Lid, None, 1) },
        Case { what: Reply, name: "by LID alone", nodes: BOTH, port: 2,
            smp: response(1, 0).slid(5),
            expected: route(C14_13_3, Some(5), 0) },
        Case { what: Reply, name: "nowhere to go", nodes: BOTH, port: 2,
            smp: response(1, 0),
            expected: discard(C14_13_3, NowhereToGo, 1) },
        Case { what: Reply, name: "without the D bit", nodes: BOTH, port: 2,
            smp: request(3, 2).back(&[1, 2]),
            expected: discard(C14_10_1_1, NotReturning, 3) },
        Case { what: Reply, name: "Hop Pointer is Hop Count", nodes: BOTH, port: 2,
            smp: response(2, 2).back(&[1, 2]),
            expected: discard(C14_13_5, HopPointer, 2) },
        Case { what: Reply, name: "Hop Pointer is Hop Count + 2", nodes: BOTH, port: 2,
            smp: response(4, 2).back(&[1, 2]).dlid(7),
            expected: discard(C14_13_5, HopPointer, 4) },
        Case { what: Reply, name: "Hop Count 64", nodes: BOTH, port: 1,
            smp: response(65, 64).back(&[1]),
            expected: discard(C14_6, HopCount, 65) },
    ];
}

const _: () = assert!(Replied::ROWS.len() == 16);
