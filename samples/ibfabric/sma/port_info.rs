// SPDX-License-Identifier: GPL-2.0

//! Attribute PortInfo.

use super::smp::{
    Fault,
    PortInfo, //
};
use crate::{
    node::{
        self,
        Node, //
    },
    port::{
        self,
        Port,
        PortConfig,
        PortRef, //
    },
    provider::{
        NodeType,
        PhysState,
        PortEvent,
        PortState, //
    },
};
use kernel::sync::ArcBorrow;

/// The first LID that is for multicast.
const FIRST_MULTICAST_LID: u16 = 0xc000;

/// The port that is meant: that of the modifier, or on a CA by 0 the ingress port.
pub(super) fn target(node: &Node, ingress: u8, modifier: u32) -> Result<&Port, Fault> {
    /// The flag by which a subnet manager says that it knows extended speeds.
    const KNOWS_EXTENDED_SPEEDS: u32 = 1 << 31;
    let number = u8::try_from(modifier & !KNOWS_EXTENDED_SPEEDS).map_err(|_| Fault::Value)?;
    let number = match (node.node_type, number) {
        (NodeType::Ca, 0) => ingress,
        _ => number,
    };
    node.port(number).ok_or(Fault::Value)
}

/// The value, as asked by `ingress`.
pub(super) fn get(node: &Node, ingress: u8, modifier: u32) -> Result<[u8; 64], Fault> {
    let port = target(node, ingress, modifier)?;
    let config = port.config();
    let mut info = PortInfo::zeroed();
    info.set_local_port(ingress);
    let (most, active) = (config.rate, config.active);
    info.set_width_enabled(most.width.supported());
    info.set_width_supported(most.width.supported());
    info.set_width_active(active.width.bit());
    info.set_speed_supported(most.speed.supported());
    info.set_speed_active(active.speed.bit());
    info.set_speed_enabled(most.speed.supported());
    info.set_speed_extended_supported(most.speed.extended_supported());
    info.set_speed_extended_active(active.speed.extended_bit());
    info.set_speed_extended_enabled(most.speed.extended_supported());
    // CAST: Enumerators of enums with that representation.
    info.set_port_state(config.state as u8);
    // CAST: As above.
    info.set_phys_state(config.phys_state as u8);
    // CAST: As above.
    info.set_down_default(PhysState::Polling as u8);
    info.set_neighbor_mtu(config.mtu);
    info.set_mtu_cap(port::MTU_2048);
    info.set_vl_cap(1);
    info.set_operational_vls(1);
    if node.has_lid(port) {
        info.set_gid_prefix(config.gid_prefix);
        info.set_lid(config.lid);
        info.set_lmc(config.lmc);
        info.set_sm_lid(config.sm_lid);
        info.set_sm_sl(config.sm_sl);
        info.set_cap_mask(config.cap_mask);
        info.set_guid_cap(node::GIDS);
        info.set_subnet_timeout(config.subnet_timeout);
    }
    info.set_resp_time(16);
    Ok(info.0)
}

/// A change of the link that a Set asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LinkChange {
    /// None.
    Nothing,
    /// Down, and up again.
    Retrain,
    /// Down for good.
    Disable,
}

/// What the two state fields of a Set mean for the link and for the logical state.
fn states(config: &PortConfig, asked: &PortInfo) -> Result<(LinkChange, Option<PortState>), Fault> {
    let link = match asked.phys_state() {
        // Sleeping is not supported, which is allowed.
        0 | 1 => LinkChange::Nothing,
        2 => LinkChange::Retrain,
        3 => LinkChange::Disable,
        _ => return Err(Fault::Value),
    };
    match (asked.port_state(), config.state) {
        (0, _) => Ok((link, None)),
        (1, _) if link == LinkChange::Nothing => Ok((LinkChange::Retrain, None)),
        (1, _) => Ok((link, None)),
        _ if link != LinkChange::Nothing => Err(Fault::Value),
        (3, PortState::Init | PortState::Armed) => Ok((link, Some(PortState::Armed))),
        (4, PortState::Armed | PortState::Active) => Ok((link, Some(PortState::Active))),
        _ => Err(Fault::Value),
    }
}

/// Changes what belongs to the port's address, on ports that have one. Returns what changed.
fn set_address(config: &mut PortConfig, asked: &PortInfo) -> [Option<PortEvent>; 3] {
    let lid = (config.lid, config.lmc) != (asked.lid(), asked.lmc());
    let sm = (config.sm_lid, config.sm_sl) != (asked.sm_lid(), asked.sm_sl());
    let gid = config.gid_prefix != asked.gid_prefix();
    config.lid = asked.lid();
    config.lmc = asked.lmc();
    config.sm_lid = asked.sm_lid();
    config.sm_sl = asked.sm_sl();
    config.gid_prefix = asked.gid_prefix();
    config.subnet_timeout = asked.subnet_timeout();
    [
        lid.then_some(PortEvent::LidChange),
        sm.then_some(PortEvent::SmChange),
        gid.then_some(PortEvent::GidChange),
    ]
}

/// Changes the value. All is checked before anything is changed. Returns the new value.
pub(super) fn set(
    node: ArcBorrow<'_, Node>,
    ingress: u8,
    modifier: u32,
    value: [u8; 64],
) -> Result<[u8; 64], Fault> {
    let asked = PortInfo(value);
    let port = target(&node, ingress, modifier)?;
    let addressed = node.has_lid(port);
    if addressed && (asked.lid() == 0 || asked.lid() >= FIRST_MULTICAST_LID) {
        return Err(Fault::Value);
    }
    // Port 0 of a switch has no link: states and MTU mean nothing there.
    let linked = port.number != 0;
    if linked && !(1..=port::MTU_2048).contains(&asked.neighbor_mtu()) {
        return Err(Fault::Value);
    }
    let (link, events, became_active) = port.configure(|config| {
        let (link, next) = if linked {
            states(config, &asked)?
        } else {
            (LinkChange::Nothing, None)
        };
        let events = if addressed {
            set_address(config, &asked)
        } else {
            [None; 3]
        };
        let before = config.state;
        if linked {
            config.mtu = asked.neighbor_mtu();
            config.state = next.unwrap_or(before);
        }
        let active = before != config.state && config.state == PortState::Active;
        Ok((link, events, active))
    })?;
    for event in events.into_iter().flatten() {
        node.report(port, event);
    }
    if became_active {
        node.report(port, PortEvent::Active);
    }
    if addressed && asked.client_reregister() != 0 {
        node.report(port, PortEvent::ClientReregister);
    }
    let number = port.number;
    let at = PortRef {
        node: node.into(),
        number,
    };
    match link {
        LinkChange::Disable => at.node.links.set_disabled(&at, true),
        LinkChange::Retrain if port_is_disabled(&at) => at.node.links.set_disabled(&at, false),
        LinkChange::Retrain => at.node.links.retrain(&at),
        LinkChange::Nothing => {}
    }
    let mut info = PortInfo(get(&at.node, ingress, modifier)?);
    info.set_client_reregister(asked.client_reregister());
    Ok(info.0)
}

/// Whether a port was disabled before.
fn port_is_disabled(at: &PortRef) -> bool {
    at.port().is_some_and(|port| port.config().disabled)
}
