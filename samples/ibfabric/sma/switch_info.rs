// SPDX-License-Identifier: GPL-2.0

//! Attribute SwitchInfo, which only switches have.

use super::smp::{
    Fault,
    SwitchInfo, //
};
use crate::{
    lft,
    node::Node, //
};

/// The value.
pub(super) fn get(node: &Node) -> Result<[u8; 64], Fault> {
    if node.lft.is_none() {
        return Err(Fault::Attribute);
    }
    let config = *node.switch.lock();
    let mut info = SwitchInfo::zeroed();
    info.set_linear_cap(lft::CAPACITY);
    info.set_linear_top(config.linear_top);
    info.set_life_time(config.life_time);
    info.set_port_state_change(config.port_state_change.into());
    info.set_enhanced_port0(node.enhanced_port0.into());
    Ok(info.0)
}

/// Changes the value. Returns the new one. Writing 1 to PortStateChange clears it.
pub(super) fn set(node: &Node, value: [u8; 64]) -> Result<[u8; 64], Fault> {
    let asked = SwitchInfo(value);
    if node.lft.is_none() {
        return Err(Fault::Attribute);
    }
    if asked.linear_top() >= lft::CAPACITY {
        return Err(Fault::Value);
    }
    {
        let mut config = node.switch.lock();
        config.linear_top = asked.linear_top();
        config.life_time = asked.life_time();
        if asked.port_state_change() != 0 {
            config.port_state_change = false;
        }
    }
    get(node)
}
