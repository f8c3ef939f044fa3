// SPDX-License-Identifier: GPL-2.0

//! Attribute SwitchInfo, which only switches have.

use super::smp::{
    Fault,
    SwitchInfo, //
};
use crate::{
    lft,
    mft::{
        self,
        Mft, //
    },
    node::{
        self,
        Node, //
    },
};

/// The value.
pub(super) fn get(node: &Node, modifier: u32) -> Result<[u8; 64], Fault> {
    let mft = node.mft.as_ref().ok_or(Fault::Attribute)?;
    if modifier != 0 {
        return Err(Fault::Value);
    }
    let config = *node.switch.lock();
    let mut info = SwitchInfo::zeroed();
    info.set_linear_cap(lft::CAPACITY);
    info.set_multicast_cap(mft::CAPACITY);
    info.set_linear_top(config.linear_top);
    info.set_default_port(config.default_port);
    info.set_multicast_primary(config.multicast_primary);
    info.set_multicast_other(config.multicast_other);
    info.set_life_time(config.life_time);
    info.set_port_state_change(config.port_state_change.into());
    // Many mappings can be set at once.
    info.set_optimized_slvl(1);
    // There is a table for every port, but nothing that drops packets by it.
    info.set_enforcement_cap(node::PKEYS);
    info.set_enhanced_port0(node.enhanced_port0.into());
    info.set_multicast_top(mft.top());
    Ok(info.0)
}

/// Changes the value. Returns the new one. Writing 1 to PortStateChange clears it.
pub(super) fn set(node: &Node, modifier: u32, value: [u8; 64]) -> Result<[u8; 64], Fault> {
    let asked = SwitchInfo(value);
    let (Some(lft), Some(mft)) = (&node.lft, &node.mft) else {
        return Err(Fault::Attribute);
    };
    let top = asked.multicast_top();
    if modifier != 0 || asked.linear_top() >= lft::CAPACITY || !Mft::can_end_at(top) {
        return Err(Fault::Value);
    }
    {
        let mut config = node.switch.lock();
        config.linear_top = asked.linear_top();
        config.default_port = asked.default_port();
        config.multicast_primary = asked.multicast_primary();
        config.multicast_other = asked.multicast_other();
        config.life_time = asked.life_time();
        if asked.port_state_change() != 0 {
            config.port_state_change = false;
        }
        lft.set_top(asked.linear_top());
        mft.set_top(top);
    }
    get(node, modifier)
}
