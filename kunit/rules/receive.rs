// SPDX-License-Identifier: GPL-2.0

//! SMPs from the wire: every rule and reason that the vectors leave out.

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
        What::Receive, //
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

/// What the vectors leave out.
pub(crate) struct Received;

#[rustfmt::skip]
impl Table for Received {
    type Row = Case;

    const ROWS: &'static [Case] = &[
        Case { what: Receive, name: "start at a CA, DrSLID 5", nodes: &[CA], port: 1,
            smp: request(0, 2).initial(&[2, 2]).slid(5),
            expected: discard(C14_9_1, CaInTransit, 0) },
        Case { what: Receive, name: "start, egress 0", nodes: &[SW4], port: 1,
            smp: request(0, 2).initial(&[0, 2]).slid(5),
            expected: discard(C14_9_1, PortZero, 0) },
        Case { what: Receive, name: "start, egress n+1", nodes: &[SW4], port: 1,
            smp: request(0, 2).initial(&[5, 2]).slid(5),
            expected: discard(C14_9_1, NoSuchPort, 0) },
        Case { what: Receive, name: "start, both LIDs set", nodes: &[SW4], port: 1,
            smp: request(0, 1).initial(&[4]).slid(5).dlid(7),
            expected: forward(C14_9_1, 4, 1) },
        Case { what: Receive, name: "transit, both LIDs set", nodes: &[SW4], port: 3,
            smp: request(1, 2).initial(&[1, 4]).slid(5).dlid(7),
            expected: forward(C14_9_2, 4, 2).recording(1, 3) },
        Case { what: Receive, name: "transit, egress 255", nodes: &[SW4], port: 1,
            smp: request(1, 2).initial(&[1, 255]),
            expected: discard(C14_9_2, NoSuchPort, 1) },
        Case { what: Receive, name: "end without a hop, DrSLID 5", nodes: &[CA], port: 2,
            smp: request(0, 0).slid(5),
            expected: local(C14_9_3, 1) },
        Case { what: Receive, name: "end without a hop at a switch, DrDLID 7", nodes: &[SW4], port: 2,
            smp: request(0, 0).dlid(7),
            expected: route(C14_9_3, Some(7), 1) },
        Case { what: Receive, name: "end without a hop at a CA, DrDLID 7", nodes: &[CA], port: 2,
            smp: request(0, 0).dlid(7),
            expected: discard(C14_9_3, CaInTransit, 0) },
        Case { what: Receive, name: "end, DrDLID 0xfffe is a LID", nodes: &[SW4], port: 4,
            smp: request(1, 1).initial(&[1]).dlid(0xfffe),
            expected: route(C14_9_3, Some(0xfffe), 2).recording(1, 4) },
        Case { what: Receive, name: "end, DrDLID 0 is a LID", nodes: &[SW4], port: 4,
            smp: request(1, 1).initial(&[1]).dlid(0),
            expected: route(C14_9_3, Some(0), 2).recording(1, 4) },
        Case { what: Receive, name: "past the end, DrDLID 7", nodes: &[CA], port: 1,
            smp: request(3, 2).initial(&[1, 2]).dlid(7),
            expected: local(C14_9_4, 3) },
        Case { what: Receive, name: "return, Hop Count 64", nodes: &[SW4], port: 1,
            smp: response(2, 64).back(&[1]),
            expected: discard(C14_6, HopCount, 2) },
        Case { what: Receive, name: "return, start, egress 0", nodes: &[SW4], port: 1,
            smp: response(3, 2).back(&[1, 0]),
            expected: discard(C14_13_1, PortZero, 3) },
        Case { what: Receive, name: "return, start, egress n+1", nodes: &[SW4], port: 1,
            smp: response(3, 2).back(&[1, 5]),
            expected: discard(C14_13_1, NoSuchPort, 3) },
        Case { what: Receive, name: "return, start, one hop", nodes: &[SW4], port: 1,
            smp: response(2, 1).back(&[4]).dlid(7),
            expected: forward(C14_13_1, 4, 1) },
        Case { what: Receive, name: "return, transit at a CA", nodes: &[CA], port: 1,
            smp: response(2, 2).back(&[1, 1]),
            expected: discard(C14_13_2, CaInTransit, 2) },
        Case { what: Receive, name: "return, transit, out by the ingress port", nodes: &[SW4], port: 3,
            smp: response(2, 2).back(&[3, 1]),
            expected: forward(C14_13_2, 3, 1) },
        Case { what: Receive, name: "return, end at a CA, DrSLID 5", nodes: &[CA], port: 1,
            smp: response(1, 2).back(&[1, 1]).slid(5),
            expected: discard(C14_13_3, CaInTransit, 1) },
        Case { what: Receive, name: "return, end without a hop", nodes: &[SW4], port: 1,
            smp: response(1, 0),
            expected: local(C14_13_3, 0) },
        Case { what: Receive, name: "return, past the end, DrSLID 5", nodes: &[CA], port: 1,
            smp: response(0, 2).back(&[1, 1]).slid(5),
            expected: local(C14_13_4, 0) },
        Case { what: Receive, name: "return, Hop Pointer is Hop Count + 2", nodes: &[SW4], port: 1,
            smp: response(4, 2).back(&[1, 1]),
            expected: discard(C14_13_5, HopPointer, 4) },
    ];
}

const _: () = assert!(Received::ROWS.len() == 22);
