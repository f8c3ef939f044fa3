// SPDX-License-Identifier: GPL-2.0

//! A hop as the trace events take it, and as a line.

use super::made_up::MadeUp;
use crate::{
    dr::{
        Decision,
        Reason,
        Rule,
        Verdict, //
    },
    ib_smi::{
        hop::{
            Hop,
            Obstacle,
            Point, //
        },
        origin::Origin,
        smp::Format, //
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
    prelude::*,
    str::CString, //
};

/// A hop through port 3 of a device or of an unknown one, and how it is told.
pub(crate) struct Told {
    name: &'static str,
    known: bool,
    is_switch: bool,
    smp: Packet,
    hop_ptr: u8,
    verdict: Verdict,
    rule: Rule,
    obstacle: Option<Obstacle>,
    numbers: Numbers,
    line: &'static str,
}

/// The numbers for the trace events.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Numbers {
    port: u32,
    ingress: u8,
    egress: u8,
    lid: u32,
    hop_ptr: u8,
    is_switch: u8,
    verdict: u8,
    rule: u8,
    reason: u8,
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Row for Told {
    fn check(&self, test: &Test) -> Result {
        let made_up = MadeUp::new(true)?;
        let device = self.known.then(|| made_up.device());
        let bytes = self.smp.bytes();
        let hop = Hop {
            point: Point::Forward,
            smp: &bytes,
            format: Format::Ib,
            origin: Origin { device, port: 9 },
            is_switch: self.is_switch,
            ingress: 3,
            decision: Decision {
                verdict: self.verdict,
                hop_ptr: self.hop_ptr,
                record: None,
                rule: self.rule,
            },
            obstacle: self.obstacle,
        };
        test.equal("discarded", hop.is_discarded(), self.numbers.reason != 0);

        let c = hop.to_c();
        let got = Numbers {
            port: c.port,
            ingress: c.ingress,
            egress: c.egress,
            lid: c.lid,
            hop_ptr: c.hop_after,
            is_switch: c.is_switch,
            verdict: c.verdict,
            rule: c.rule,
            reason: c.reason,
        };
        test.equal("numbers", got, self.numbers);
        let expected = device.map_or(core::ptr::null_mut(), |device| device.as_raw());
        test.equal("device", core::ptr::eq(c.device, expected), true);
        // Offsets as in section 14.2.1.2 of the specification.
        let at = if c.returning != 0 { 193 } else { 129 };
        test.equal("path", bytes.get(at..).map(<[u8]>::as_ptr), Some(c.path));
        test.equal("Hop Pointer before", c.hop_before, bytes[6]);
        test.equal("Hop Count", (c.hop_cnt, c.path_len), (bytes[7], bytes[7]));
        test.equal("point", c.point, 1);
        let tid = [&c.tid.to_be_bytes()[..], &bytes[8..16]];
        test.equal("TID", tid[0], tid[1]);
        let ids = [
            (u32::from(c.mgmt_class), &bytes[1..2]),
            (u32::from(c.method), &bytes[3..4]),
            (u32::from(c.attr_id), &bytes[16..18]),
            (c.attr_mod, &bytes[20..24]),
            (c.dr_slid, &bytes[32..34]),
            (c.dr_dlid, &bytes[34..36]),
        ];
        for (got, expected) in ids {
            let expected = expected
                .iter()
                .fold(0, |all, byte| all << 8 | u32::from(*byte));
            test.equal("a field of the header", got, expected);
        }

        let line = CString::try_from_fmt(fmt!("{hop}"))?;
        test.equal("line", line.to_str().map_err(|_| EINVAL)?, self.line);
        Ok(())
    }
}

/// A switch passes a request on by port 2.
const FORWARD: Told = Told {
    name: "forward",
    known: false,
    is_switch: true,
    smp: request(1, 2),
    hop_ptr: 2,
    verdict: Verdict::Forward { egress: 2 },
    rule: Rule::C14_9_2,
    obstacle: None,
    numbers: Numbers {
        port: 9,
        ingress: 3,
        egress: 2,
        lid: 0,
        hop_ptr: 2,
        is_switch: 1,
        verdict: 1,
        rule: 3,
        reason: 0,
    },
    line:
        "port=9 request in=3 out=2 hop=1,2/2 verdict=forward lid=0x0 rule=C14-9:2 reason=- device=-",
};

/// One of each verdict, and obstacles.
pub(crate) struct Hops;

#[rustfmt::skip]
impl Table for Hops {
    type Row = Told;

    const ROWS: &'static [Told] = &[
        FORWARD,
        Told { name: "local, device known", known: true, is_switch: false,
            smp: response(1, 2), hop_ptr: 0, verdict: Verdict::Local, rule: Rule::C14_13_3,
            numbers: Numbers { egress: 0, hop_ptr: 0, is_switch: 0, verdict: 0, rule: 10, ..FORWARD.numbers },
            line: "port=9 response in=3 out=0 hop=1,0/2 verdict=local lid=0x0 rule=C14-13:3 reason=- device=made_up",
            ..FORWARD },
        Told { name: "route",
            smp: request(2, 2), hop_ptr: 3, verdict: Verdict::Route(Some(0x7ab)), rule: Rule::C14_9_3,
            numbers: Numbers { egress: 0, lid: 0x7ab, hop_ptr: 3, verdict: 2, rule: 4, ..FORWARD.numbers },
            line: "port=9 request in=3 out=0 hop=2,3/2 verdict=route lid=0x7ab rule=C14-9:3 reason=- device=-",
            ..FORWARD },
        Told { name: "route to a LID that is not in the SMP",
            smp: response(3, 2), hop_ptr: 3, verdict: Verdict::Route(None), rule: Rule::Lid,
            numbers: Numbers { egress: 0, hop_ptr: 3, verdict: 2, rule: 13, ..FORWARD.numbers },
            line: "port=9 response in=3 out=0 hop=3,3/2 verdict=route lid=0x0 rule=LID reason=- device=-",
            ..FORWARD },
        Told { name: "discard",
            hop_ptr: 1, verdict: Verdict::Discard(Reason::PortZero),
            numbers: Numbers { egress: 0, hop_ptr: 1, verdict: 3, reason: 4, ..FORWARD.numbers },
            line: "port=9 request in=3 out=0 hop=1,1/2 verdict=discard lid=0x0 rule=C14-9:2 reason=port-zero device=-",
            ..FORWARD },
        Told { name: "obstacle to a forward",
            obstacle: Some(Obstacle::QueueFull),
            numbers: Numbers { egress: 0, hop_ptr: 1, verdict: 3, reason: 36, ..FORWARD.numbers },
            line: "port=9 request in=3 out=0 hop=1,1/2 verdict=discard lid=0x0 rule=C14-9:2 reason=queue-full device=-",
            ..FORWARD },
        Told { name: "obstacle to a route",
            smp: request(2, 2), hop_ptr: 3, verdict: Verdict::Route(Some(7)), rule: Rule::C14_9_3,
            obstacle: Some(Obstacle::NoMemory),
            numbers: Numbers { egress: 0, hop_ptr: 2, verdict: 3, rule: 4, reason: 37, ..FORWARD.numbers },
            line: "port=9 request in=3 out=0 hop=2,2/2 verdict=discard lid=0x0 rule=C14-9:3 reason=no-memory device=-",
            ..FORWARD },
    ];
}

const _: () = assert!(Hops::ROWS.len() == 7);
