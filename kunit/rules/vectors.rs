// SPDX-License-Identifier: GPL-2.0

//! The vectors: SMPs from the wire, worked out by hand from the specification.
//!
//! The numbers leave gaps. They are those of `rust/dr-check`, which runs the same SMPs on the host;
//! here rule, reason and Return Path are part of the answer.

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

/// The vectors.
pub(crate) struct Vectors;

#[rustfmt::skip]
impl Table for Vectors {
    type Row = Case;

    const ROWS: &'static [Case] = &[
        Case { what: Receive, name: "V1 transit", nodes: &[SW4], port: 1,
            smp: request(1, 2).initial(&[1, 2]),
            expected: forward(C14_9_2, 2, 2).recording(1, 1) },
        Case { what: Receive, name: "V2 transit, egress 0", nodes: &[SW4], port: 1,
            smp: request(1, 2).initial(&[1, 0]),
            expected: discard(C14_9_2, PortZero, 1) },
        Case { what: Receive, name: "V3 transit, egress n+1", nodes: &[SW4], port: 1,
            smp: request(1, 2).initial(&[1, 5]),
            expected: discard(C14_9_2, NoSuchPort, 1) },
        Case { what: Receive, name: "V4 end of path at a switch", nodes: &[SW4], port: 1,
            smp: request(1, 1).initial(&[1]),
            expected: local(C14_9_3, 2).recording(1, 1) },
        Case { what: Receive, name: "V5 end of path at a CA", nodes: &[CA], port: 1,
            smp: request(2, 2).initial(&[1, 2]),
            expected: local(C14_9_3, 3).recording(2, 1) },
        Case { what: Receive, name: "V6 transit at a CA", nodes: &[CA], port: 1,
            smp: request(1, 2).initial(&[1, 2]),
            expected: discard(C14_9_2, CaInTransit, 1) },
        Case { what: Receive, name: "V7 Hop Count 63, transit", nodes: &[SW4], port: 1,
            smp: request(62, 63).initial(&[1, 1]),
            expected: forward(C14_9_2, 1, 63).recording(62, 1) },
        Case { what: Receive, name: "V8 Hop Count 63, last hop", nodes: &[SW4], port: 1,
            smp: request(63, 63).initial(&[1, 1]),
            expected: local(C14_9_3, 64).recording(63, 1) },
        Case { what: Receive, name: "V9 Hop Count 64", nodes: &[SW4], port: 1,
            smp: request(1, 64).initial(&[1, 2]),
            expected: discard(C14_6, HopCount, 1) },
        Case { what: Receive, name: "V11 Hop Pointer is Hop Count + 1", nodes: &[SW4], port: 1,
            smp: request(3, 2).initial(&[1, 2]),
            expected: local(C14_9_4, 3) },
        Case { what: Receive, name: "V12 Hop Pointer is Hop Count + 2", nodes: &[SW4], port: 1,
            smp: request(4, 2).initial(&[1, 2]),
            expected: discard(C14_9_5, HopPointer, 4) },
        Case { what: Receive, name: "V13 Hop Pointer 0, DrSLID permissive", nodes: &[SW4], port: 1,
            smp: request(0, 2).initial(&[1, 2]),
            expected: discard(C14_9_1, NotFromWire, 0) },
        Case { what: Receive, name: "V14 Hop Pointer 0, DrSLID 5: start of the path", nodes: &[SW4], port: 1,
            smp: request(0, 2).initial(&[2, 2]).slid(5),
            expected: forward(C14_9_1, 2, 1) },
        Case { what: Receive, name: "V16 end of path at a switch, DrDLID 7", nodes: &[SW4], port: 1,
            smp: request(1, 1).initial(&[1]).dlid(7),
            expected: route(C14_9_3, Some(7), 2).recording(1, 1) },
        Case { what: Receive, name: "V17 end of path at a CA, DrDLID 7", nodes: &[CA], port: 1,
            smp: request(1, 1).initial(&[1]).dlid(7),
            expected: discard(C14_9_3, CaInTransit, 1) },
        Case { what: Receive, name: "V18 Hop Count 0, Hop Pointer 0 at a switch", nodes: &[SW4], port: 1,
            smp: request(0, 0),
            expected: local(C14_9_3, 1) },
        Case { what: Receive, name: "V20 return, transit", nodes: &[SW4], port: 2,
            smp: response(2, 2).initial(&[1, 2]).back(&[1, 1]),
            expected: forward(C14_13_2, 1, 1) },
        Case { what: Receive, name: "V21 return, transit, egress 0", nodes: &[SW4], port: 2,
            smp: response(2, 2).initial(&[1, 2]).back(&[0, 1]),
            expected: discard(C14_13_2, PortZero, 2) },
        Case { what: Receive, name: "V22 return, transit, egress n+1", nodes: &[SW4], port: 2,
            smp: response(2, 2).initial(&[1, 2]).back(&[5, 1]),
            expected: discard(C14_13_2, NoSuchPort, 2) },
        Case { what: Receive, name: "V23 return, end at a CA", nodes: &[CA], port: 1,
            smp: response(1, 2).initial(&[1, 2]).back(&[1, 1]),
            expected: local(C14_13_3, 0) },
        Case { what: Receive, name: "V24 return, end at a switch", nodes: &[SW4], port: 1,
            smp: response(1, 2).initial(&[1, 2]).back(&[1, 1]),
            expected: local(C14_13_3, 0) },
        Case { what: Receive, name: "V25 return, end at a switch, DrSLID 5", nodes: &[SW4], port: 1,
            smp: response(1, 2).initial(&[1, 2]).back(&[1, 1]).slid(5),
            expected: route(C14_13_3, Some(5), 0) },
        Case { what: Receive, name: "V27 return, start, DrDLID 7, in by another port", nodes: &[SW4], port: 3,
            smp: response(3, 2).initial(&[1, 2]).back(&[2, 1]).dlid(7),
            expected: forward(C14_13_1, 1, 2) },
        Case { what: Receive, name: "V29 return, start, in by the recorded port", nodes: &[SW4], port: 1,
            smp: response(3, 2).initial(&[1, 2]).back(&[2, 1]),
            expected: forward(C14_13_1, 1, 2) },
        Case { what: Receive, name: "V30 return, start at a CA", nodes: &[CA], port: 1,
            smp: response(3, 2).initial(&[1, 2]).back(&[2, 1]),
            expected: discard(C14_13_1, CaInTransit, 3) },
        Case { what: Receive, name: "V31 return, Hop Pointer 0", nodes: &[CA], port: 1,
            smp: response(0, 2).initial(&[1, 2]).back(&[1, 1]),
            expected: local(C14_13_4, 0) },
        Case { what: Receive, name: "V32 return, Hop Pointer 0, Hop Count 0", nodes: &[SW4], port: 1,
            smp: response(0, 0),
            expected: local(C14_13_4, 0) },
        Case { what: Receive, name: "V35 return, transit, DrDLID 7", nodes: &[SW4], port: 2,
            smp: response(2, 2).initial(&[1, 2]).back(&[1, 1]).dlid(7),
            expected: forward(C14_13_2, 1, 1) },
        Case { what: Receive, name: "V36 transit, out by the ingress port", nodes: &[SW4], port: 1,
            smp: request(1, 2).initial(&[1, 1]),
            expected: forward(C14_9_2, 1, 2).recording(1, 1) },
    ];
}

const _: () = assert!(Vectors::ROWS.len() == 29);
