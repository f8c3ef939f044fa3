// SPDX-License-Identifier: GPL-2.0

//! Switches in line, with an HCA at both ends.
//!
//! No link has the same port number at both ends, and the numbers change along the way, so that a
//! route that is turned round wrongly leads somewhere else.

use super::Plan;
use kernel::prelude::*;

/// External ports of every switch.
const PORTS: u8 = 8;

/// The port towards `hca0`, for every third switch the same.
const IN: [u8; 3] = [2, 4, 3];

/// The port towards `hca1`, likewise.
const OUT: [u8; 3] = [5, 8, 6];

/// `hca0:1 sw0:2`, `sw0:5 sw1:4`, `sw1:8 sw2:3`, `sw2:6 sw3:2` and so on, `hca1:1` at the end.
pub(super) fn chain(switches: u8) -> Result<Plan> {
    let mut plan = Plan::new();
    let hca0 = plan.hca(1)?;
    let hca1 = plan.hca(1)?;
    let mut from = (hca0, 1);
    let ports = IN.iter().zip(OUT).cycle();
    for (_, (&ingress, egress)) in (0..switches).zip(ports) {
        let switch = plan.switch(PORTS)?;
        plan.link(from, (switch, ingress))?;
        from = (switch, egress);
    }
    plan.link(from, (hca1, 1))?;
    Ok(plan)
}
