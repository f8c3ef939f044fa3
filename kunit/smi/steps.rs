// SPDX-License-Identifier: GPL-2.0

//! What ib_mad is told to do with an SMP that was let pass, and by which port.

use crate::{
    dr::{
        self,
        NextStep, //
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
use NextStep::{
    Forward,
    Local,
    Send, //
};

/// An SMP as the step before has left it. The port counts only if it is to be passed on.
pub(crate) struct Step {
    name: &'static str,
    smp: Packet,
    step: NextStep,
    port: Option<u8>,
}

/// The name of a step.
pub(super) fn name(step: NextStep) -> &'static str {
    match step {
        Local => "local",
        Send => "send",
        Forward => "forward",
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Row for Step {
    fn check(&self, test: &Test) -> Result {
        for smp in self.smp.in_both() {
            let bytes = smp.bytes();
            let step = dr::next_step(&smp.route(&bytes));
            test.equal("next step", name(step), name(self.step));
            let port = dr::forward_port(&smp.route(&bytes));
            test.equal("port", port, self.port.unwrap_or(port));
        }
        Ok(())
    }
}

/// What each rule leaves.
pub(crate) struct Steps;

#[rustfmt::skip]
impl Table for Steps {
    type Row = Step;

    const ROWS: &'static [Step] = &[
        Step { name: "start", smp: request(0, 2).initial(&[3, 4]).slid(5),
            step: Forward, port: Some(3) },
        Step { name: "transit", smp: request(1, 2).initial(&[3, 4]),
            step: Forward, port: Some(4) },
        Step { name: "transit, both LIDs set", smp: request(1, 2).initial(&[3, 4]).slid(5).dlid(7),
            step: Forward, port: Some(4) },
        Step { name: "transit, last of 63 hops", smp: request(62, 63).initial(&[3, 4]),
            step: Forward, port: Some(4) },
        Step { name: "end, DrDLID 7", smp: request(2, 2).initial(&[3, 4]).dlid(7),
            step: Forward, port: Some(0) },
        Step { name: "end without a hop, DrDLID 7", smp: request(0, 0).dlid(7),
            step: Forward, port: Some(0) },
        Step { name: "end after 63 hops, DrDLID 7", smp: request(63, 63).dlid(7),
            step: Forward, port: Some(0) },
        Step { name: "end, as ib_core leaves it", smp: request(2, 2),
            step: Send, port: None },
        Step { name: "end", smp: request(3, 2),
            step: Local, port: None },
        Step { name: "end without a hop", smp: request(1, 0),
            step: Local, port: None },
        Step { name: "past the end, DrDLID 7", smp: request(3, 2).dlid(7),
            step: Local, port: None },
        Step { name: "return, start", smp: response(3, 2).back(&[3, 4]),
            step: Forward, port: Some(4) },
        Step { name: "return, start of 63 hops", smp: response(64, 63).back(&[3, 4]),
            step: Forward, port: Some(4) },
        Step { name: "return, transit", smp: response(2, 2).back(&[3, 4]),
            step: Forward, port: Some(3) },
        Step { name: "return, end, DrSLID 5", smp: response(1, 2).back(&[3, 4]).slid(5),
            step: Forward, port: Some(0) },
        Step { name: "return, end", smp: response(0, 2).back(&[3, 4]),
            step: Local, port: None },
        Step { name: "return without a hop", smp: response(0, 0),
            step: Local, port: None },
    ];
}

const _: () = assert!(Steps::ROWS.len() == 17);
