// SPDX-License-Identifier: GPL-2.0

//! The subnet management agent of a node.
//!
//! The MAD layer has dealt with the route already when it asks here: what comes is for this node, and
//! an answer is taken back to where the request came from. An answer keeps all of the request but the
//! method, the status and the value; DrSLID and DrDLID stay as they are (C14-10.1.1).
//!
//! The way of a request: is it for an agent at all ([`process`]), may it ([`may`]), what is asked for
//! ([`get`], [`set`]), and back. A test can let an agent be faulty: it misreads a request, refuses
//! it or does not answer ([`Software`](crate::faults::Software)).

mod extended_port_info;
mod lanes;
mod node_info;
pub(crate) mod opa;
mod port_info;
pub(crate) mod smp;
mod switch_info;
mod tables;

use self::smp::{
    Fault,
    Smp, //
};
use crate::{
    mkey::{
        Access,
        Verdict, //
    },
    node::Node,
    packet::LID_PERMISSIVE,
    port::Port,
    provider::{
        MadOrigin,
        MadResult,
        NodeType,
        MAD_SIZE, //
    },
    trap::{
        BadKey,
        Trap, //
    },
};
use kernel::sync::ArcBorrow;

/// Looks at a datagram that came in by `ingress` and may answer it.
pub(crate) fn process(
    node: ArcBorrow<'_, Node>,
    ingress: u8,
    origin: Option<MadOrigin>,
    request: &[u8; MAD_SIZE],
    reply: &mut [u8; MAD_SIZE],
) -> MadResult {
    let request = Smp(*request);
    if !matches!(
        request.class(),
        smp::CLASS_LID_ROUTED | smp::CLASS_DIRECTED_ROUTE
    ) {
        return MadResult::Pass;
    }
    let method = request.method();
    let access = match method {
        // For a subnet manager or for whoever asked.
        smp::METHOD_TRAP => return MadResult::Pass,
        _ if method & smp::METHOD_RESPONSE != 0 => return MadResult::Pass,
        smp::METHOD_GET | smp::METHOD_SET if request.attribute() == smp::SM_INFO => {
            return for_manager(&node, ingress);
        }
        smp::METHOD_GET => Some(Access::Get),
        smp::METHOD_SET | smp::METHOD_TRAP_REPRESS => Some(Access::Change),
        _ => None,
    };
    let known = request.class_version() == smp::CLASS_VERSION;
    let agent = node.port(agent_port(&node, ingress));
    let misread = agent
        .filter(|_| known && access.is_some())
        .and_then(|agent| node.software.misread(&node, agent, &request));
    let asked = misread.as_ref().unwrap_or(&request);
    let show_key = match access {
        Some(access) if known => match may(&node, ingress, origin, access, asked) {
            Verdict::Match => true,
            Verdict::Free { show } => show,
            Verdict::Refused => return MadResult::Consumed,
        },
        _ => false,
    };
    let value = match method {
        smp::METHOD_TRAP_REPRESS => {
            if known {
                repress(&node, ingress, &request);
            }
            return MadResult::Consumed;
        }
        _ if !known => Err(Fault::Version),
        smp::METHOD_GET | smp::METHOD_SET => {
            match agent.and_then(|agent| node.software.status(agent, &request)) {
                Some(status) => Err(Fault::Staged(status)),
                None if method == smp::METHOD_GET => get(&node, ingress, asked, show_key),
                None => set(node, ingress, asked),
            }
        }
        _ => Err(Fault::Method),
    };
    if agent.is_some_and(|agent| node.software.swallows(agent, &request)) {
        return MadResult::Consumed;
    }
    *reply = answer(request, value).0;
    MadResult::Reply(MAD_SIZE)
}

/// What becomes of SMInfo, a subnet manager's own business. Others have to see it whatever key they
/// have, or none of them could become master: it is protected by a key of its own. Where there is no
/// subnet manager nobody answers, for the MAD layer would in the place of one.
fn for_manager(node: &Node, ingress: u8) -> MadResult {
    /// The capability of being a subnet manager.
    const IS_SM: u32 = 1 << 1;
    match node.port(agent_port(node, ingress)) {
        Some(port) if port.config().cap_mask & IS_SM != 0 => MadResult::Pass,
        _ => MadResult::Consumed,
    }
}

/// The number of the port whose agent answers: port 0 on a switch.
fn agent_port(node: &Node, ingress: u8) -> u8 {
    match node.node_type {
        NodeType::Ca => ingress,
        NodeType::Switch => 0,
    }
}

/// Whether a request is served, by its management key. It is that of the agent's port, and for
/// PortInfo of another port of a channel adapter also that one's.
fn may(
    node: &Node,
    ingress: u8,
    origin: Option<MadOrigin>,
    access: Access,
    request: &Smp,
) -> Verdict {
    let agent = agent_port(node, ingress);
    let other = match request.attribute() {
        smp::PORT_INFO => port_info::target(node, ingress, request.modifier()).ok(),
        _ => None,
    };
    let other = other.filter(|port| node.has_lid(port) && port.number != agent);
    let mut verdict = Verdict::Match;
    for port in node.port(agent).into_iter().chain(other) {
        match judge(node, port, origin, access, request) {
            Verdict::Match => {}
            Verdict::Refused => return Verdict::Refused,
            free => verdict = free,
        }
    }
    verdict
}

/// Judges by the key of one port, and tells the subnet manager of a wrong one.
fn judge(
    node: &Node,
    port: &Port,
    origin: Option<MadOrigin>,
    access: Access,
    request: &Smp,
) -> Verdict {
    let verdict = port.manage(|managed| managed.mkey.judge(access, request.mkey()));
    if verdict == Verdict::Refused {
        let slid = origin.map_or(LID_PERMISSIVE, |origin| origin.slid);
        node.raise(port, Trap::BadKey(BadKey::new(request, slid)));
    }
    verdict
}

/// A subnet manager heard of a trap.
fn repress(node: &Node, ingress: u8, request: &Smp) {
    if let Some(port) = node.port(agent_port(node, ingress)) {
        node.repress(port, request.tid());
    }
}

/// Reads an attribute.
fn get(node: &Node, ingress: u8, request: &Smp, show_key: bool) -> Result<[u8; 64], Fault> {
    let modifier = request.modifier();
    match request.attribute() {
        smp::NODE_DESC if modifier == 0 => Ok(node.desc()),
        smp::NODE_INFO if modifier == 0 => node_info::get(node, ingress),
        smp::NODE_DESC | smp::NODE_INFO => Err(Fault::Value),
        smp::SWITCH_INFO => switch_info::get(node, modifier),
        smp::GUID_INFO => tables::guids(node, ingress, modifier),
        smp::PORT_INFO => port_info::get(node, ingress, modifier, show_key),
        smp::PKEY_TABLE => tables::pkeys(node, ingress, modifier),
        smp::SL_TO_VL_TABLE => lanes::get(node, ingress, modifier),
        smp::VL_ARBITRATION_TABLE => tables::arbitration(node, ingress, modifier),
        smp::LINEAR_FORWARDING_TABLE => tables::forwarding(node, modifier),
        smp::MULTICAST_FORWARDING_TABLE => tables::multicast(node, modifier),
        smp::EXTENDED_PORT_INFO => extended_port_info::get(node, ingress, modifier),
        _ => Err(Fault::Attribute),
    }
}

/// Writes an attribute. Returns its new value.
fn set(node: ArcBorrow<'_, Node>, ingress: u8, request: &Smp) -> Result<[u8; 64], Fault> {
    let modifier = request.modifier();
    let value = request.data();
    match request.attribute() {
        smp::SWITCH_INFO => switch_info::set(&node, modifier, value),
        smp::GUID_INFO => tables::set_guids(&node, ingress, modifier, &value),
        smp::PORT_INFO => port_info::set(node, ingress, modifier, value),
        smp::PKEY_TABLE => tables::set_pkeys(&node, ingress, modifier, &value),
        smp::SL_TO_VL_TABLE => lanes::set(&node, ingress, modifier, &value),
        smp::VL_ARBITRATION_TABLE => tables::set_arbitration(&node, ingress, modifier, &value),
        smp::LINEAR_FORWARDING_TABLE => tables::set_forwarding(&node, modifier, &value),
        smp::MULTICAST_FORWARDING_TABLE => tables::set_multicast(&node, modifier, &value),
        smp::EXTENDED_PORT_INFO => extended_port_info::get(&node, ingress, modifier),
        _ => Err(Fault::Attribute),
    }
}

/// Makes the answer to a request.
fn answer(mut smp: Smp, value: Result<[u8; 64], Fault>) -> Smp {
    let direction = match smp.class() {
        smp::CLASS_DIRECTED_ROUTE => smp::STATUS_DIRECTION,
        _ => 0,
    };
    smp.set_method(smp::METHOD_GET_RESP);
    match value {
        Ok(value) => {
            smp.set_status(direction);
            smp.set_data(&value);
        }
        Err(fault) => smp.set_status(direction | fault.status()),
    }
    smp
}
