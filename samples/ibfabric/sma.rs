// SPDX-License-Identifier: GPL-2.0

//! The subnet management agent of a node.
//!
//! The MAD layer has dealt with the route already when it asks here: what comes is for this node, and
//! an answer is taken back to where the request came from. An answer keeps all of the request but the
//! method, the status and the value; DrSLID and DrDLID stay as they are (C14-10.1.1).

mod node_info;
mod port_info;
mod smp;
mod switch_info;
mod tables;

use self::smp::{
    Fault,
    Smp, //
};
use crate::{
    node::Node,
    provider::{
        MadResult,
        MAD_SIZE, //
    },
};
use kernel::sync::ArcBorrow;

/// Looks at a datagram that came in by `ingress` and may answer it.
pub(crate) fn process(
    node: ArcBorrow<'_, Node>,
    ingress: u8,
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
    let value = match method {
        // For a subnet manager or for whoever asked.
        smp::METHOD_TRAP => return MadResult::Pass,
        _ if method & smp::METHOD_RESPONSE != 0 => return MadResult::Pass,
        smp::METHOD_TRAP_REPRESS => return MadResult::Consumed,
        _ if request.class_version() != smp::CLASS_VERSION => Err(Fault::Version),
        smp::METHOD_GET | smp::METHOD_SET if request.attribute() == smp::SM_INFO => {
            return MadResult::Pass;
        }
        smp::METHOD_GET => get(&node, ingress, &request),
        smp::METHOD_SET => set(node, ingress, &request),
        _ => Err(Fault::Method),
    };
    *reply = answer(request, value).0;
    MadResult::Reply
}

/// Reads an attribute.
fn get(node: &Node, ingress: u8, request: &Smp) -> Result<[u8; 64], Fault> {
    let modifier = request.modifier();
    match request.attribute() {
        smp::NODE_DESC => Ok(node.desc()),
        smp::NODE_INFO => node_info::get(node, ingress),
        smp::SWITCH_INFO => switch_info::get(node),
        smp::GUID_INFO => tables::guids(node, ingress, modifier),
        smp::PORT_INFO => port_info::get(node, ingress, modifier),
        smp::PKEY_TABLE => tables::pkeys(node, ingress, modifier),
        smp::LINEAR_FORWARDING_TABLE => tables::forwarding(node, modifier),
        _ => Err(Fault::Attribute),
    }
}

/// Writes an attribute. Returns its new value.
fn set(node: ArcBorrow<'_, Node>, ingress: u8, request: &Smp) -> Result<[u8; 64], Fault> {
    let modifier = request.modifier();
    let value = request.data();
    match request.attribute() {
        smp::SWITCH_INFO => switch_info::set(&node, value),
        smp::PORT_INFO => port_info::set(node, ingress, modifier, value),
        smp::PKEY_TABLE => tables::set_pkeys(&node, ingress, modifier, &value),
        smp::LINEAR_FORWARDING_TABLE => tables::set_forwarding(&node, modifier, &value),
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
        // CAST: An enumerator of an enum with that representation.
        Err(fault) => smp.set_status(direction | fault as u16),
    }
    smp
}
