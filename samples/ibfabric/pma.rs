// SPDX-License-Identifier: GPL-2.0

//! The performance management agent of a node, on QP1 (section 16.1 of the specification).
//!
//! It answers for all ports of its node, as the one thing there is that knows them. What is optional
//! and would be made up, samples above all, is refused.
//!
//! C header: [`include/rdma/ib_pma.h`](srctree/include/rdma/ib_pma.h)

mod gmp;
mod port_counters;

use self::gmp::{
    ClassPortInfo,
    Fault,
    Gmp,
    Value, //
};
use crate::{
    node::Node,
    port::Port,
    provider::{
        MadResult,
        MAD_SIZE, //
    },
};

/// PortSelect for all ports at once.
const ALL_PORTS: u8 = 0xff;

/// Whether a datagram is of this class.
pub(crate) fn is_for(request: &[u8; MAD_SIZE]) -> bool {
    let [_, class, ..] = *request;
    class == gmp::CLASS
}

/// Looks at a datagram of the class and may answer it.
pub(crate) fn process(
    node: &Node,
    request: &[u8; MAD_SIZE],
    reply: &mut [u8; MAD_SIZE],
) -> MadResult {
    let mut gmp = Gmp(*request);
    let method = gmp.method();
    let value = match method {
        // For whoever asked.
        _ if method & gmp::METHOD_RESPONSE != 0 => return MadResult::Pass,
        gmp::METHOD_TRAP | gmp::METHOD_TRAP_REPRESS => return MadResult::Pass,
        _ if gmp.base_version() != 1 || gmp.class_version() != 1 => Err(Fault::Version),
        gmp::METHOD_GET => get(node, &gmp),
        gmp::METHOD_SET => set(node, &gmp),
        _ => Err(Fault::Method),
    };
    gmp.set_method(gmp::METHOD_GET_RESP);
    match value {
        Ok(value) => {
            gmp.set_status(0);
            gmp.set_data(&value);
        }
        // CAST: An enumerator of an enum with that representation.
        Err(fault) => gmp.set_status(fault as u16),
    }
    *reply = gmp.0;
    MadResult::Reply(MAD_SIZE)
}

/// Reads an attribute.
fn get(node: &Node, request: &Gmp) -> Result<Value, Fault> {
    let asked = request.data();
    match request.attribute() {
        gmp::CLASS_PORT_INFO => Ok(class_port_info()),
        gmp::PORT_COUNTERS => port_counters::get(&select(node, port_select(&asked))?),
        gmp::PORT_COUNTERS_EXTENDED => {
            port_counters::get_extended(&select(node, port_select(&asked))?)
        }
        _ => Err(Fault::Attribute),
    }
}

/// Writes an attribute. Returns its new value.
fn set(node: &Node, request: &Gmp) -> Result<Value, Fault> {
    let asked = request.data();
    match request.attribute() {
        gmp::PORT_COUNTERS => port_counters::set(&select(node, port_select(&asked))?, &asked),
        gmp::PORT_COUNTERS_EXTENDED => {
            port_counters::set_extended(&select(node, port_select(&asked))?, &asked)
        }
        _ => Err(Fault::Attribute),
    }
}

/// The port that an attribute with counters is about.
fn port_select(value: &Value) -> u8 {
    let [_, port, ..] = *value;
    port
}

/// The ports that an operation is about.
struct Selection<'a> {
    node: &'a Node,
    select: u8,
}

impl<'a> Selection<'a> {
    /// All of them: of a switch, those that links can be plugged into.
    fn ports(&self) -> impl Iterator<Item = &'a Port> {
        let select = self.select;
        self.node
            .ports
            .iter()
            .map(|port| &**port)
            .filter(move |port| match select {
                ALL_PORTS => port.number != 0,
                _ => port.number == select,
            })
    }
}

/// Checks which ports are meant.
fn select(node: &Node, select: u8) -> Result<Selection<'_>, Fault> {
    if select != ALL_PORTS && node.port(select).is_none() {
        return Err(Fault::Value);
    }
    Ok(Selection { node, select })
}

/// What the agent can do.
fn class_port_info() -> Value {
    /// AllPortSelect: [`ALL_PORTS`] is understood.
    const ALL_PORT_SELECT: u16 = 1 << 8;
    /// IsExtendedWidthSupported: there is PortCountersExtended, all of it.
    const EXTENDED_WIDTH: u16 = 1 << 9;
    /// IsQP1DroppedSupported.
    const QP1_DROPPED: u16 = 1 << 15;
    let mut info = ClassPortInfo::zeroed();
    info.set_base_version(1);
    info.set_class_version(1);
    info.set_capability_mask(ALL_PORT_SELECT | EXTENDED_WIDTH | QP1_DROPPED);
    // 4.096 µs × 2^18, about a second.
    info.set_response_time(18);
    info.0
}
