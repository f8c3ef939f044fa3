// SPDX-License-Identifier: GPL-2.0

//! SMPs that the node itself sends.

use super::answer::{
    discard,
    forward,
    local,
    route,
    Answer,
    CA,
    SW4, //
};
use crate::{
    dr::{
        send,
        Node,
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

/// An SMP that `node` sends through an agent on its port `egress`.
pub(crate) struct Send {
    name: &'static str,
    node: Node,
    egress: u8,
    smp: Packet,
    expected: Answer,
}

impl fmt::Display for Send {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Row for Send {
    fn check(&self, test: &Test) -> Result {
        for smp in self.smp.in_both() {
            let bytes = smp.bytes();
            let got = send(&smp.route(&bytes), self.node, self.egress);
            self.expected.check(test, "send", got);
        }
        Ok(())
    }
}

/// SMPs of the node itself.
pub(crate) struct Sent;

#[rustfmt::skip]
impl Table for Sent {
    type Row = Send;

    const ROWS: &'static [Send] = &[
        Send { name: "start at a CA", node: CA, egress: 1,
            smp: request(0, 2).initial(&[1, 2]),
            expected: forward(C14_9_1, 1, 1) },
        Send { name: "start at a CA, DrDLID 7", node: CA, egress: 2,
            smp: request(0, 1).initial(&[2]).dlid(7),
            expected: forward(C14_9_1, 2, 1) },
        Send { name: "start at a switch, from port 0", node: SW4, egress: 0,
            smp: request(0, 2).initial(&[4, 2]),
            expected: forward(C14_9_1, 4, 1) },
        Send { name: "start, by another port", node: CA, egress: 1,
            smp: request(0, 2).initial(&[2, 2]),
            expected: discard(C14_9_1, WrongPort, 0) },
        Send { name: "start, egress 0 at a CA", node: CA, egress: 1,
            smp: request(0, 2).initial(&[0, 2]),
            expected: discard(C14_9_1, PortZero, 0) },
        Send { name: "start, egress 0 at a switch", node: SW4, egress: 0,
            smp: request(0, 2).initial(&[0, 2]),
            expected: discard(C14_9_1, PortZero, 0) },
        Send { name: "start, egress n+1", node: SW4, egress: 0,
            smp: request(0, 2).initial(&[5, 2]),
            expected: discard(C14_9_1, NoSuchPort, 0) },
        Send { name: "LID-routed part first", node: CA, egress: 1,
            smp: request(0, 2).slid(5),
            expected: route(Lid, None, 0) },
        Send { name: "LID-routed part alone", node: CA, egress: 1,
            smp: request(0, 0).slid(5),
            expected: route(Lid, None, 0) },
        Send { name: "transit at a switch", node: SW4, egress: 2,
            smp: request(1, 2).initial(&[1, 2]),
            expected: forward(C14_9_2, 2, 2) },
        Send { name: "transit at a CA", node: CA, egress: 2,
            smp: request(1, 2).initial(&[1, 2]),
            expected: discard(C14_9_2, CaInTransit, 1) },
        Send { name: "to itself", node: CA, egress: 1,
            smp: request(0, 0),
            expected: local(C14_9_3, 1) },
        Send { name: "end at a switch, DrDLID 7", node: SW4, egress: 0,
            smp: request(0, 0).dlid(7),
            expected: route(C14_9_3, Some(7), 1) },
        Send { name: "end at a CA, DrDLID 7", node: CA, egress: 1,
            smp: request(0, 0).dlid(7),
            expected: discard(C14_9_3, CaInTransit, 0) },
        Send { name: "past the end", node: CA, egress: 1,
            smp: request(3, 2),
            expected: local(C14_9_4, 3) },
        Send { name: "beyond the end", node: CA, egress: 1,
            smp: request(4, 2),
            expected: discard(C14_9_5, HopPointer, 4) },
        Send { name: "Hop Count 64", node: SW4, egress: 0,
            smp: request(0, 64).initial(&[1]),
            expected: discard(C14_6, HopCount, 0) },
        Send { name: "return, start at a CA", node: CA, egress: 2,
            smp: response(3, 2).back(&[1, 2]),
            expected: forward(C14_13_1, 2, 2) },
        Send { name: "return, start at a switch, from port 0", node: SW4, egress: 0,
            smp: response(3, 2).back(&[1, 3]),
            expected: forward(C14_13_1, 3, 2) },
        Send { name: "return, start, by another port", node: CA, egress: 1,
            smp: response(3, 2).back(&[1, 2]),
            expected: discard(C14_13_1, WrongPort, 3) },
        Send { name: "return, LID-routed part first", node: CA, egress: 1,
            smp: response(3, 2).dlid(7),
            expected: route(Lid, None, 3) },
        Send { name: "return, transit at a switch", node: SW4, egress: 0,
            smp: response(2, 2).back(&[4, 2]),
            expected: forward(C14_13_2, 4, 1) },
        Send { name: "return, transit at a CA", node: CA, egress: 1,
            smp: response(2, 2).back(&[1, 2]),
            expected: discard(C14_13_2, CaInTransit, 2) },
        Send { name: "return, end", node: CA, egress: 1,
            smp: response(1, 2).back(&[1, 2]),
            expected: local(C14_13_3, 0) },
        Send { name: "return, end at a switch, DrSLID 5", node: SW4, egress: 0,
            smp: response(1, 2).back(&[1, 2]).slid(5),
            expected: route(C14_13_3, Some(5), 0) },
        Send { name: "return, end at a CA, DrSLID 5", node: CA, egress: 1,
            smp: response(1, 2).back(&[1, 2]).slid(5),
            expected: discard(C14_13_3, CaInTransit, 1) },
        Send { name: "return without a hop, by LID alone", node: CA, egress: 1,
            smp: response(1, 0).slid(5),
            expected: route(C14_13_3, Some(5), 0) },
        Send { name: "return, past the end", node: CA, egress: 1,
            smp: response(0, 2).back(&[1, 2]),
            expected: local(C14_13_4, 0) },
        Send { name: "return, beyond the end", node: SW4, egress: 0,
            smp: response(4, 2).back(&[1, 2]),
            expected: discard(C14_13_5, HopPointer, 4) },
        Send { name: "return, Hop Count 64", node: SW4, egress: 0,
            smp: response(65, 64).back(&[1]),
            expected: discard(C14_6, HopCount, 65) },
    ];
}

const _: () = assert!(Sent::ROWS.len() == 30);
