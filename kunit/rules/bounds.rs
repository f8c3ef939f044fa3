// SPDX-License-Identifier: GPL-2.0

//! The edges of Hop Pointer and Hop Count, where a careless rule reads past a path.

use super::answer::{
    discard,
    forward,
    local,
    Answer,
    CA,
    SW4, //
};
use crate::{
    dr::{
        self,
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

/// An SMP that comes in through port 2; one that breaks C14-6 is sent too.
pub(crate) struct Edge {
    way: &'static str,
    smp: Packet,
    switch: Answer,
    ca: Answer,
}

/// A request whose path leaves by port 1.
const fn out(hop_ptr: u8, hop_cnt: u8, switch: Answer, ca: Answer) -> Edge {
    Edge {
        way: "out",
        smp: request(hop_ptr, hop_cnt).initial(&[1]),
        switch,
        ca,
    }
}

/// A response whose path leaves by port 3.
const fn back(hop_ptr: u8, hop_cnt: u8, switch: Answer, ca: Answer) -> Edge {
    Edge {
        way: "back",
        smp: response(hop_ptr, hop_cnt).back(&[3]),
        switch,
        ca,
    }
}

/// Discarded for its Hop Count.
const fn too_far(hop_ptr: u8) -> Answer {
    discard(C14_6, HopCount, hop_ptr)
}

impl fmt::Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Packet {
            hop_ptr, hop_cnt, ..
        } = self.smp;
        write!(f, "{}, Hop Pointer {hop_ptr} of {hop_cnt}", self.way)
    }
}

impl Row for Edge {
    fn check(&self, test: &Test) -> Result {
        for packet in self.smp.in_both() {
            let bytes = packet.bytes();
            let smp = packet.route(&bytes);
            let rows = [("a switch", SW4, &self.switch), ("a CA", CA, &self.ca)];
            for (what, node, expected) in rows {
                expected.check(test, what, dr::receive(&smp, node, 2));
                if packet.hop_cnt > 63 {
                    expected.check(test, what, dr::send(&smp, node, 1));
                    expected.check(test, what, dr::reply(&smp, node, 2));
                }
            }
        }
        Ok(())
    }
}

/// Hop Count 63, 64 and 255, each with Hop Pointer 0, 1, 63, 64 and 255, both ways.
pub(crate) struct Bounds;

#[rustfmt::skip]
impl Table for Bounds {
    type Row = Edge;

    const ROWS: &'static [Edge] = &[
        out(0, 63, discard(C14_9_1, NotFromWire, 0), discard(C14_9_1, NotFromWire, 0)),
        out(1, 63, forward(C14_9_2, 1, 2).recording(1, 2), discard(C14_9_2, CaInTransit, 1)),
        out(63, 63, local(C14_9_3, 64).recording(63, 2), local(C14_9_3, 64).recording(63, 2)),
        out(64, 63, local(C14_9_4, 64), local(C14_9_4, 64)),
        out(255, 63, discard(C14_9_5, HopPointer, 255), discard(C14_9_5, HopPointer, 255)),
        out(0, 64, too_far(0), too_far(0)),
        out(1, 64, too_far(1), too_far(1)),
        out(63, 64, too_far(63), too_far(63)),
        out(64, 64, too_far(64), too_far(64)),
        out(255, 64, too_far(255), too_far(255)),
        out(0, 255, too_far(0), too_far(0)),
        out(1, 255, too_far(1), too_far(1)),
        out(63, 255, too_far(63), too_far(63)),
        out(64, 255, too_far(64), too_far(64)),
        out(255, 255, too_far(255), too_far(255)),

        back(0, 63, local(C14_13_4, 0), local(C14_13_4, 0)),
        back(1, 63, local(C14_13_3, 0), local(C14_13_3, 0)),
        back(63, 63, forward(C14_13_2, 3, 62), discard(C14_13_2, CaInTransit, 63)),
        back(64, 63, forward(C14_13_1, 3, 63), discard(C14_13_1, CaInTransit, 64)),
        back(255, 63, discard(C14_13_5, HopPointer, 255), discard(C14_13_5, HopPointer, 255)),
        back(0, 64, too_far(0), too_far(0)),
        back(1, 64, too_far(1), too_far(1)),
        back(63, 64, too_far(63), too_far(63)),
        back(64, 64, too_far(64), too_far(64)),
        back(255, 64, too_far(255), too_far(255)),
        back(0, 255, too_far(0), too_far(0)),
        back(1, 255, too_far(1), too_far(1)),
        back(63, 255, too_far(63), too_far(63)),
        back(64, 255, too_far(64), too_far(64)),
        back(255, 255, too_far(255), too_far(255)),
    ];
}

const _: () = assert!(Bounds::ROWS.len() == 30);
