// SPDX-License-Identifier: GPL-2.0

//! Attribute PortInfo.
//!
//! Section 14.2.5.6 of the specification says which fields mean something at which kind of port. The
//! others are reserved there: zero in answers, and ignored in requests. Ports that are addressed are
//! those of channel adapters and port 0 of switches; all but port 0 of switches are linked; and all
//! have lanes but a port 0 that is not an enhanced one.

mod states;

use self::states::LinkChange;
use super::smp::{
    Fault,
    PortInfo, //
};
use crate::{
    managed::{
        self,
        Managed, //
    },
    mft::FIRST_LID,
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

/// The value, as asked by `ingress`. The management key is shown to those who may know it.
pub(super) fn get(
    node: &Node,
    ingress: u8,
    modifier: u32,
    show_key: bool,
) -> Result<[u8; 64], Fault> {
    let port = target(node, ingress, modifier)?;
    let config = port.config();
    let managed = port.manage(|managed| {
        managed.mkey.expire();
        *managed
    });
    let mut info = PortInfo::zeroed();
    info.set_local_port(ingress);
    // CAST: Enumerators of enums with that representation.
    info.set_port_state(config.state as u8);
    // CAST: As above.
    info.set_phys_state(config.phys_state as u8);
    info.set_mtu_cap(port::MTU_2048);
    info.set_neighbor_mtu(config.mtu);
    if port.number != 0 {
        // CAST: As above.
        info.set_down_default(PhysState::Polling as u8);
        info.set_phy_errors(managed.phy_errors);
        info.set_overrun_errors(managed.overrun_errors);
    }
    // Of no meaning at port 0, but programs stumble over widths and lanes of zero.
    show_rate(&mut info, &config);
    info.set_vl_cap(1);
    info.set_operational_vls(1);
    if node.has_lanes(port) {
        info.set_vl_cap(managed::VLS);
        info.set_operational_vls(managed.vls);
        info.set_high_limit(managed.high_limit);
        info.set_arbitration_high_cap(managed::ARBITRATION_ENTRIES);
        info.set_arbitration_low_cap(managed::ARBITRATION_ENTRIES);
        info.set_stall_count(managed.stall_count);
        info.set_head_life(managed.head_life);
        info.set_pkey_violations(violations(port.counters.bad_pkeys.get(), managed.bad_pkeys));
        info.set_qkey_violations(violations(port.counters.bad_qkeys.get(), managed.bad_qkeys));
    }
    if node.has_lid(port) {
        if show_key {
            info.set_mkey(managed.mkey.key);
        }
        info.set_mkey_protect(managed.mkey.protect);
        info.set_mkey_lease_period(managed.mkey.lease_period);
        info.set_mkey_violations(managed.mkey.violations);
        info.set_init_reply(managed.init_reply);
        info.set_gid_prefix(config.gid_prefix);
        info.set_lid(config.lid);
        info.set_lmc(config.lmc);
        info.set_sm_lid(config.sm_lid);
        info.set_sm_sl(config.sm_sl);
        info.set_cap_mask(config.cap_mask);
        info.set_guid_cap(node::GIDS);
        info.set_subnet_timeout(config.subnet_timeout);
        info.set_resp_time(node::RESPONSE_TIME);
    }
    Ok(info.0)
}

/// Shows widths and speeds.
fn show_rate(info: &mut PortInfo, config: &PortConfig) {
    let (most, active, enabled) = (config.rate, config.active, config.enabled);
    info.set_width_enabled(enabled.widths());
    info.set_width_supported(most.width.supported());
    info.set_width_active(active.width.bit());
    info.set_speed_enabled(enabled.speeds());
    info.set_speed_supported(most.speed.supported());
    info.set_speed_active(active.speed.bit());
    info.set_speed_extended_enabled(enabled.extended(most));
    info.set_speed_extended_supported(most.speed.extended_supported());
    info.set_speed_extended_active(active.speed.extended_bit());
}

/// A counter of violations, which stays at its end.
fn violations(now: u64, base: u64) -> u16 {
    u16::try_from(now.saturating_sub(base)).unwrap_or(u16::MAX)
}

/// Whether a LID is one of a port, and so are all that its LMC adds.
fn is_unicast(lid: u16, lmc: u8) -> bool {
    let free = !u16::MAX.checked_shl(lmc.into()).unwrap_or(0);
    lid != 0 && lid | free < FIRST_LID
}

/// Looks for values that are not allowed, in fields that mean something at this port.
fn check(node: &Node, port: &Port, asked: &PortInfo) -> Result<(), Fault> {
    let addressed = node.has_lid(port);
    let has_lmc = addressed && node.has_lanes(port);
    let lmc = if has_lmc { asked.lmc() } else { 0 };
    if addressed && (!is_unicast(asked.lid(), lmc) || asked.sm_lid() >= FIRST_LID) {
        return Err(Fault::Value);
    }
    let mtus = 1..=port::MTU_2048;
    if node.has_lanes(port)
        && (!mtus.contains(&asked.neighbor_mtu()) || asked.operational_vls() > managed::VLS)
    {
        return Err(Fault::Value);
    }
    Ok(())
}

/// Changes what belongs to the port's address, on ports that have one. Returns what changed.
fn set_address(config: &mut PortConfig, asked: &PortInfo, has_lmc: bool) -> [Option<PortEvent>; 3] {
    let lmc = if has_lmc { asked.lmc() } else { 0 };
    let lid = (config.lid, config.lmc) != (asked.lid(), lmc);
    let sm = (config.sm_lid, config.sm_sl) != (asked.sm_lid(), asked.sm_sl());
    let gid = config.gid_prefix != asked.gid_prefix();
    config.lid = asked.lid();
    config.lmc = lmc;
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

/// Changes what does not concern packets. Counters of violations can be set to zero only.
fn set_managed(node: &Node, port: &Port, managed: &mut Managed, asked: &PortInfo) {
    if node.has_lid(port) {
        let (key, period) = (asked.mkey(), asked.mkey_lease_period());
        managed.mkey.set(key, asked.mkey_protect(), period);
        if asked.mkey_violations() == 0 {
            managed.mkey.violations = 0;
        }
        managed.init_reply = asked.init_reply();
    }
    if node.has_lanes(port) {
        if asked.operational_vls() != 0 {
            managed.vls = asked.operational_vls();
        }
        managed.high_limit = asked.high_limit();
        managed.stall_count = asked.stall_count();
        managed.head_life = asked.head_life();
        if asked.pkey_violations() == 0 {
            managed.bad_pkeys = port.counters.bad_pkeys.get();
        }
        if asked.qkey_violations() == 0 {
            managed.bad_qkeys = port.counters.bad_qkeys.get();
        }
    }
    if port.number != 0 {
        managed.phy_errors = asked.phy_errors();
        managed.overrun_errors = asked.overrun_errors();
    }
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
    check(&node, port, &asked)?;
    let (addressed, has_lanes, linked) =
        (node.has_lid(port), node.has_lanes(port), port.number != 0);
    let (link, events, became_active) = port.configure(|config| {
        let (link, next, enabled) = if linked {
            let (link, next) = states::next(config.state, &asked)?;
            (link, next, states::enabled(config, &asked)?)
        } else {
            (LinkChange::Nothing, None, config.enabled)
        };
        let events = if addressed {
            set_address(config, &asked, has_lanes)
        } else {
            [None; 3]
        };
        let before = config.state;
        if has_lanes {
            config.mtu = asked.neighbor_mtu();
        }
        config.enabled = enabled;
        config.state = next.unwrap_or(before);
        let active = before != config.state && config.state == PortState::Active;
        Ok((link, events, active))
    })?;
    port.manage(|managed| set_managed(&node, port, managed, &asked));
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
    link.carry_out(&at);
    let mut info = PortInfo(get(&at.node, ingress, modifier, true)?);
    if addressed {
        info.set_client_reregister(asked.client_reregister());
    }
    Ok(info.0)
}
