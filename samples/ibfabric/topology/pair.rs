// SPDX-License-Identifier: GPL-2.0

//! The smallest fabrics: two HCAs, with a switch between them or without.

use super::Plan;
use kernel::prelude::*;

/// `hca0:1 sw0:1`, `hca1:1 sw0:2`; ports 3 and 4 of the switch are free.
pub(super) fn pair() -> Result<Plan> {
    let mut plan = Plan::new();
    let hca0 = plan.hca(1)?;
    let hca1 = plan.hca(1)?;
    let switch = plan.switch(4)?;
    plan.link((hca0, 1), (switch, 1))?;
    plan.link((hca1, 1), (switch, 2))?;
    Ok(plan)
}

/// `hca0:1 hca1:2`, `hca0:2 hca1:1`.
pub(super) fn direct() -> Result<Plan> {
    let mut plan = Plan::new();
    let hca0 = plan.hca(2)?;
    let hca1 = plan.hca(2)?;
    plan.link((hca0, 1), (hca1, 2))?;
    plan.link((hca0, 2), (hca1, 1))?;
    Ok(plan)
}
