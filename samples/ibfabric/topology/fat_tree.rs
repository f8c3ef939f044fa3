// SPDX-License-Identifier: GPL-2.0

//! Two levels of switches: every leaf is linked to every spine.
//!
//! Again no link has the same port number at both ends: spines use ports 1 to `leaves`, leaves only
//! ports above that.

use super::Plan;
use kernel::prelude::*;

/// Leaf `l` is linked to spine `s` from port `leaves + 1 + s` to port `l + 1`, and to its host `h`
/// from port `leaves + spines + 1 + h`. With two leaves or more, an HCA with two ports hangs on the
/// first two of them.
pub(super) fn fat_tree(leaves: u8, spines: u8, hosts: u8) -> Result<Plan> {
    let mut plan = Plan::new();
    let first_host = leaves
        .checked_add(spines)
        .and_then(|ports| ports.checked_add(1))
        .ok_or(EINVAL)?;
    let last_host = first_host.checked_add(hosts).ok_or(EINVAL)?;
    let mut leaf_places = KVec::new();
    for _ in 0..leaves {
        leaf_places.push(plan.switch(last_host)?, GFP_KERNEL)?;
    }
    for spine in 0..spines {
        let place = plan.switch(leaves)?;
        for (&leaf, number) in leaf_places.iter().zip(1u8..) {
            let up = leaves.saturating_add(1).saturating_add(spine);
            plan.link((leaf, up), (place, number))?;
        }
    }
    for &leaf in &leaf_places {
        for host in 0..hosts {
            let place = plan.hca(1)?;
            plan.link((place, 1), (leaf, first_host.saturating_add(host)))?;
        }
    }
    if let [first, second, ..] = leaf_places[..] {
        let place = plan.hca(2)?;
        plan.link((place, 1), (first, last_host))?;
        plan.link((place, 2), (second, last_host))?;
    }
    Ok(plan)
}
