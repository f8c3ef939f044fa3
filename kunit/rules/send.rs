// SPDX-License-Identifier: GPL-2.0

//! SMPs that the node itself sends.

use super::{
    answer::{
        discard,
        forward,
        local,
        route,
        CA,
        SW4, //
    },
    case::{
        Case,
        What::Send, //
    }, //
};
use crate::{
    dr::{
        Reason::*,
        Rule::*, //
    },
    packet::{
        request,
        response, //
    },
    table::Table, //
};

/// SMPs of the node itself.
pub(crate) struct Sent;

#[rustfmt::skip]
impl Table for Sent {
    type Row = Case;

    const ROWS: &'static [Case] = &[
        Case { what: Send, name: "start at a CA", nodes: &[CA], port: 1,
            smp: request(0, 2).initial(&[1, 2]),
            expected: forward(C14_9_1, 1, 1) },
        Case { what: Send, name: "start at a CA, DrDLID 7", nodes: &[CA], port: 2,
            smp: request(0, 1).initial(&[2]).dlid(7),
            expected: forward(C14_9_1, 2, 1) },
        Case { what: Send, name: "start at a switch, from port 0", nodes: &[SW4], port: 0,
            smp: request(0, 2).initial(&[4, 2]),
            expected: forward(C14_9_1, 4, 1) },
        Case { what: Send, name: "start, by another port", nodes: &[CA], port: 1,
            smp: request(0, 2).initial(&[2, 2]),
            expected: discard(C14_9_1, WrongPort, 0) },
        Case { what: Send, name: "start, egress 0 at a CA", nodes: &[CA], port: 1,
            smp: request(0, 2).initial(&[0, 2]),
            expected: discard(C14_9_1, PortZero, 0) },
        Case { what: Send, name: "start, egress 0 at a switch", nodes: &[SW4], port: 0,
            smp: request(0, 2).initial(&[0, 2]),
            expected: discard(C14_9_1, PortZero, 0) },
        Case { what: Send, name: "start, egress n+1", nodes: &[SW4], port: 0,
            smp: request(0, 2).initial(&[5, 2]),
            expected: discard(C14_9_1, NoSuchPort, 0) },
        Case { what: Send, name: "LID-routed part first", nodes: &[CA], port: 1,
            smp: request(0, 2).slid(5),
            expected: route(Lid, None, 0) },
        Case { what: Send, name: "LID-routed part alone", nodes: &[CA], port: 1,
            smp: request(0, 0).slid(5),
            expected: route(Lid, None, 0) },
        Case { what: Send, name: "transit at a switch", nodes: &[SW4], port: 2,
            smp: request(1, 2).initial(&[1, 2]),
            expected: forward(C14_9_2, 2, 2) },
        Case { what: Send, name: "transit at a CA", nodes: &[CA], port: 2,
            smp: request(1, 2).initial(&[1, 2]),
            expected: discard(C14_9_2, CaInTransit, 1) },
        Case { what: Send, name: "to itself", nodes: &[CA], port: 1,
            smp: request(0, 0),
            expected: local(C14_9_3, 1) },
        Case { what: Send, name: "end at a switch, DrDLID 7", nodes: &[SW4], port: 0,
            smp: request(0, 0).dlid(7),
            expected: route(C14_9_3, Some(7), 1) },
        Case { what: Send, name: "end at a CA, DrDLID 7", nodes: &[CA], port: 1,
            smp: request(0, 0).dlid(7),
            expected: discard(C14_9_3, CaInTransit, 0) },
        Case { what: Send, name: "past the end", nodes: &[CA], port: 1,
            smp: request(3, 2),
            expected: local(C14_9_4, 3) },
        Case { what: Send, name: "beyond the end", nodes: &[CA], port: 1,
            smp: request(4, 2),
            expected: discard(C14_9_5, HopPointer, 4) },
        Case { what: Send, name: "Hop Count 64", nodes: &[SW4], port: 0,
            smp: request(0, 64).initial(&[1]),
            expected: discard(C14_6, HopCount, 0) },
        Case { what: Send, name: "return, start at a CA", nodes: &[CA], port: 2,
            smp: response(3, 2).back(&[1, 2]),
            expected: forward(C14_13_1, 2, 2) },
        Case { what: Send, name: "return, start at a switch, from port 0", nodes: &[SW4], port: 0,
            smp: response(3, 2).back(&[1, 3]),
            expected: forward(C14_13_1, 3, 2) },
        Case { what: Send, name: "return, start, by another port", nodes: &[CA], port: 1,
            smp: response(3, 2).back(&[1, 2]),
            expected: discard(C14_13_1, WrongPort, 3) },
        Case { what: Send, name: "return, LID-routed part first", nodes: &[CA], port: 1,
            smp: response(3, 2).dlid(7),
            expected: route(Lid, None, 3) },
        Case { what: Send, name: "return, transit at a switch", nodes: &[SW4], port: 0,
            smp: response(2, 2).back(&[4, 2]),
            expected: forward(C14_13_2, 4, 1) },
        Case { what: Send, name: "return, transit at a CA", nodes: &[CA], port: 1,
            smp: response(2, 2).back(&[1, 2]),
            expected: discard(C14_13_2, CaInTransit, 2) },
        Case { what: Send, name: "return, end", nodes: &[CA], port: 1,
            smp: response(1, 2).back(&[1, 2]),
            expected: local(C14_13_3, 0) },
        Case { what: Send, name: "return, end at a switch, DrSLID 5", nodes: &[SW4], port: 0,
            smp: response(1, 2).back(&[1, 2]).slid(5),
            expected: route(C14_13_3, Some(5), 0) },
        Case { what: Send, name: "return, end at a CA, DrSLID 5", nodes: &[CA], port: 1,
            smp: response(1, 2).back(&[1, 2]).slid(5),
            expected: discard(C14_13_3, CaInTransit, 1) },
        Case { what: Send, name: "return without a hop, by LID alone", nodes: &[CA], port: 1,
            smp: response(1, 0).slid(5),
            expected: route(C14_13_3, Some(5), 0) },
        Case { what: Send, name: "return, past the end", nodes: &[CA], port: 1,
            smp: response(0, 2).back(&[1, 2]),
            expected: local(C14_13_4, 0) },
        Case { what: Send, name: "return, beyond the end", nodes: &[SW4], port: 0,
            smp: response(4, 2).back(&[1, 2]),
            expected: discard(C14_13_5, HopPointer, 4) },
        Case { what: Send, name: "return, Hop Count 64", nodes: &[SW4], port: 0,
            smp: response(65, 64).back(&[1]),
            expected: discard(C14_6, HopCount, 65) },
    ];
}

const _: () = assert!(Sent::ROWS.len() == 30);
