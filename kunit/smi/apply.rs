// SPDX-License-Identifier: GPL-2.0

//! The places of an SMP that a hop writes, and the many that it must not.

use super::made_up::format;
use crate::{
    dr::{
        Decision,
        Record,
        Rule,
        Verdict, //
    },
    ib_smi::smp,
    packet::{
        request,
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

/// A decision, and the bytes (place, value) that it changes.
pub(crate) struct Change {
    name: &'static str,
    record: Option<Record>,
    advance: bool,
    changed: &'static [(usize, u8)],
}

/// The Hop Pointer that every decision here gives.
const HOP_PTR: u8 = 0x3c;

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Row for Change {
    fn check(&self, test: &Test) -> Result {
        for packet in request(1, 2).in_both() {
            self.check_one(test, &packet)?;
        }
        Ok(())
    }
}

impl Change {
    fn check_one(&self, test: &Test, packet: &Packet) -> Result {
        let before = packet.bytes();
        let mut expected = before;
        for &(at, value) in self.changed {
            // Where the Return Path begins, behind which nothing changes.
            let at = if packet.opa && at >= 192 {
                at - 192 + 104
            } else {
                at
            };
            *expected.get_mut(at).ok_or(EINVAL)? = value;
        }
        let mut got = before;
        let decision = Decision {
            verdict: Verdict::Local,
            hop_ptr: HOP_PTR,
            record: self.record,
            rule: Rule::C14_9_3,
        };
        smp::apply(&mut got, format(packet), &decision, self.advance);
        same(test, &got, &expected);
        Ok(())
    }
}

/// Fails the row for each byte that is not as expected.
#[track_caller]
pub(super) fn same(test: &Test, got: &smp::Smp, expected: &smp::Smp) {
    for (at, (got, expected)) in got.iter().zip(expected).enumerate() {
        if got != expected {
            test.fail(fmt!(
                "byte {at}: got {got:#04x}, expected {expected:#04x}\n"
            ));
        }
    }
}

const fn record(element: u8, port: u8) -> Option<Record> {
    Some(Record { element, port })
}

/// What the two places can be given.
pub(crate) struct Changes;

#[rustfmt::skip]
impl Table for Changes {
    type Row = Change;

    const ROWS: &'static [Change] = &[
        Change { name: "nothing", record: None, advance: false,
            changed: &[] },
        Change { name: "Hop Pointer", record: None, advance: true,
            changed: &[(6, HOP_PTR)] },
        Change { name: "first element of the Return Path", record: record(1, 17), advance: false,
            changed: &[(193, 17)] },
        Change { name: "last element of the Return Path", record: record(63, 254), advance: false,
            changed: &[(255, 254)] },
        Change { name: "Return Path and Hop Pointer", record: record(2, 17), advance: true,
            changed: &[(6, HOP_PTR), (194, 17)] },
        Change { name: "beyond the Return Path", record: record(64, 17), advance: true,
            changed: &[(6, HOP_PTR)] },
        Change { name: "far beyond the Return Path", record: record(255, 17), advance: false,
            changed: &[] },
    ];
}

const _: () = assert!(Changes::ROWS.len() == 7);
