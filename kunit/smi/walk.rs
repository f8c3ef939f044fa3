// SPDX-License-Identifier: GPL-2.0

//! Every Hop Pointer and Hop Count: the three steps of an arrival agree with the rules, and none
//! stumbles over an SMP that the rules discard.

use super::{
    made_up::arrive,
    steps, //
};
use crate::{
    dr::{
        self,
        DrSmp,
        NextStep,
        NodeKind,
        Verdict, //
    },
    ib_smi::{
        arrival,
        livepatch,
        origin::Origin,
        smp::{
            self,
            Format,
            Smp, //
        },
        trace, //
    },
    packet::{
        request,
        response, //
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

/// The port that all come in by, and how many there are.
const INGRESS: u8 = 2;
const PORTS: u8 = 4;

/// Faults of one row that are told one by one.
const TOLD: usize = 5;

/// All hops of a kind.
pub(crate) struct Walk {
    returning: bool,
    is_switch: bool,
    slid: u16,
    dlid: u16,
}

impl fmt::Display for Walk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} at a {}, DrSLID {:#x}, DrDLID {:#x}",
            if self.returning {
                "responses"
            } else {
                "requests"
            },
            if self.is_switch { "switch" } else { "CA" },
            self.slid,
            self.dlid,
        )
    }
}

impl Row for Walk {
    fn check(&self, test: &Test) -> Result {
        livepatch::settle(true);
        let kind = if self.returning { response } else { request };
        let mut bytes = kind(0, 0).slid(self.slid).dlid(self.dlid).bytes();
        // Each element of the two paths differs from its neighbours; some name no port.
        for at in 1..64u8 {
            bytes[128 + usize::from(at)] = at % (PORTS + 2);
            bytes[192 + usize::from(at)] = (at + 3) % (PORTS + 2);
        }
        let mut faults = 0;
        let mut passed = 0;
        for hop_cnt in 0..=255 {
            for hop_ptr in 0..=255 {
                (bytes[6], bytes[7]) = (hop_ptr, hop_cnt);
                match self.hop(&bytes) {
                    Ok(pass) => passed += usize::from(pass),
                    Err((what, got, expected)) => {
                        faults += 1;
                        if faults <= TOLD {
                            test.fail(fmt!(
                                "Hop Pointer {hop_ptr} of {hop_cnt}, {what}: got {got}, expected {expected}\n"
                            ));
                        }
                    }
                }
            }
        }
        if faults > TOLD {
            test.fail(fmt!("{faults} faults in all\n"));
        }
        if passed == 0 {
            test.fail(fmt!("every SMP was discarded\n"));
        }
        Ok(())
    }
}

/// What is wrong, with what was got and what was expected.
type Fault = (&'static str, u32, u32);

/// An error unless `got` is what is expected.
fn equal(what: &'static str, got: u32, expected: u32) -> core::result::Result<(), Fault> {
    if got == expected {
        Ok(())
    } else {
        Err((what, got, expected))
    }
}

impl Walk {
    /// Takes one SMP through the steps. Returns whether it was let pass.
    fn hop(&self, before: &Smp) -> core::result::Result<bool, Fault> {
        let node = arrival::node(self.is_switch, PORTS);
        equal(
            "is a switch",
            (node.kind == NodeKind::Switch).into(),
            self.is_switch.into(),
        )?;
        let decision = dr::receive(&DrSmp::from_ib(before), node, INGRESS);
        let (passes, local, egress) = match decision.verdict {
            Verdict::Local => (true, true, 0),
            Verdict::Forward { egress } => (true, false, egress),
            Verdict::Route(_) => (true, false, 0),
            Verdict::Discard(_) => (false, false, 0),
        };

        let mut after = *before;
        let discarded = arrive(&mut after, Format::Ib, Origin::UNKNOWN, node, INGRESS);
        equal("discarded", discarded.into(), (!passes).into())?;
        let fired = trace::fired();
        equal("events of an arrival", fired.recv, 1)?;
        equal("events of a discard", fired.discard, discarded.into())?;

        let mut expected = *before;
        if passes {
            smp::apply(&mut expected, Format::Ib, &decision, local);
        }
        equal("SMP as expected", (after == expected).into(), 1)?;

        // Whatever the SMP says, these two must come back.
        let step = dr::next_step(&DrSmp::from_ib(&after));
        let port = dr::forward_port(&DrSmp::from_ib(&after));
        if passes {
            let wanted = if local {
                NextStep::Local
            } else {
                NextStep::Forward
            };
            equal(steps::name(step), (step == wanted).into(), 1)?;
            if !local {
                equal("port", port.into(), egress.into())?;
            }
        }
        Ok(passes)
    }
}

const fn walk(returning: bool, is_switch: bool, slid: u16, dlid: u16) -> Walk {
    Walk {
        returning,
        is_switch,
        slid,
        dlid,
    }
}

/// Each way, kind of node and pair of LIDs.
pub(crate) struct Walks;

#[rustfmt::skip]
impl Table for Walks {
    type Row = Walk;

    const ROWS: &'static [Walk] = &[
        walk(false, true, 0xffff, 0xffff),
        walk(false, true, 0xffff, 7),
        walk(false, true, 5, 0xffff),
        walk(false, true, 5, 7),
        walk(false, false, 0xffff, 0xffff),
        walk(false, false, 0xffff, 7),
        walk(false, false, 5, 0xffff),
        walk(false, false, 5, 7),
        walk(true, true, 0xffff, 0xffff),
        walk(true, true, 0xffff, 7),
        walk(true, true, 5, 0xffff),
        walk(true, true, 5, 7),
        walk(true, false, 0xffff, 0xffff),
        walk(true, false, 0xffff, 7),
        walk(true, false, 5, 0xffff),
        walk(true, false, 5, 7),
    ];
}

const _: () = assert!(Walks::ROWS.len() == 16);
