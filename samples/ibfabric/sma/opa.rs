// SPDX-License-Identifier: GPL-2.0

//! The subnet management agent for the SMPs of Omni-Path, as far as it goes: who is there.
//!
//! It answers NodeInfo and NodeDescription, and refuses the rest; links and forwarding are managed by
//! InfiniBand's SMPs, which such a node takes too. An answer is as long as what it says, as from
//! `drivers/infiniband/hw/hfi1/mad.c`. A wrong M_Key is refused, and no trap tells of it.
//!
//! C header: [`include/rdma/opa_smi.h`](srctree/include/rdma/opa_smi.h)

use super::{
    agent_port,
    for_manager,
    smp::{
        self,
        Fault,
        Smp, //
    }, //
};
use crate::{
    mkey::{
        Access,
        Verdict, //
    },
    node::{
        self,
        Node, //
    },
    provider::{
        MadResult,
        NodeType,
        MAD_SIZE,
        OPA_MAD_SIZE, //
    },
    view::wire_view, //
};

/// The version of datagrams and of the class.
const VERSION: u8 = 0x80;

/// Where the data of a LID-routed SMP is.
const LID_ROUTED_DATA: usize = 32;

/// Where the data of a directed-route SMP is.
const DIRECTED_ROUTE_DATA: usize = 176;

/// The LID of 32 bits that stands for "whoever is at the other end of the link".
const LID_PERMISSIVE: u32 = u32::MAX;

wire_view! {
    /// The beginning of an SMP on a directed route.
    Route[40] {
        /// Where the route came in by LID.
        dr_slid, set_dr_slid: u32(32);
        /// Where the route goes on by LID.
        dr_dlid, set_dr_dlid: u32(36);
    }
}

wire_view! {
    /// Attribute NodeInfo.
    NodeInfo[44] {
        /// Version of the datagrams.
        base_version, set_base_version: u8(0);
        /// Version of the class.
        class_version, set_class_version: u8(1);
        /// 1 for a channel adapter, 2 for a switch.
        node_type, set_node_type: u8(2);
        /// Number of external ports.
        num_ports, set_num_ports: u8(3);
        /// GUID of the system.
        system_guid, set_system_guid: u64(8);
        /// GUID of the node.
        node_guid, set_node_guid: u64(16);
        /// GUID of the port asked.
        port_guid, set_port_guid: u64(24);
        /// Entries of the P_Key table.
        partition_cap, set_partition_cap: u16(32);
        /// Device, as the vendor numbers them.
        device_id, set_device_id: u16(34);
        /// Hardware revision.
        revision, set_revision: u32(36);
        /// The port that the request came in by, and below it the vendor, 24 bits.
        port_and_vendor, set_port_and_vendor: u32(40);
    }
}

/// The value of an attribute.
enum Value {
    NodeInfo(NodeInfo),
    NodeDesc([u8; 64]),
}

impl Value {
    /// Its bytes.
    fn bytes(&self) -> &[u8] {
        match self {
            Self::NodeInfo(info) => &info.0,
            Self::NodeDesc(desc) => desc,
        }
    }
}

/// Whether an SMP has the format of Omni-Path.
pub(crate) fn is_for(smp: &Smp) -> bool {
    smp.base_version() == VERSION && smp.class_version() == VERSION
}

/// Whether a directed route begins, and whether it ends, with a part by LID.
pub(crate) fn by_lid(smp: &Smp) -> (bool, bool) {
    let Some(route) = smp.0.first_chunk().copied().map(Route) else {
        return (false, false);
    };
    (
        route.dr_slid() != LID_PERMISSIVE,
        route.dr_dlid() != LID_PERMISSIVE,
    )
}

/// Looks at a datagram that came in by `ingress` and may answer it.
pub(crate) fn process(
    node: &Node,
    ingress: u8,
    bytes: &[u8],
    reply: &mut [u8; OPA_MAD_SIZE],
) -> MadResult {
    // Up to the M_Key, an SMP is as InfiniBand's.
    let mut request = Smp::zeroed();
    for (to, from) in request.0.iter_mut().zip(bytes) {
        *to = *from;
    }
    let known = request.class_version() == VERSION;
    let header = match request.class() {
        // The MAD layer takes the route for one of InfiniBand's then.
        smp::CLASS_LID_ROUTED | smp::CLASS_DIRECTED_ROUTE if !known => MAD_SIZE,
        smp::CLASS_LID_ROUTED => LID_ROUTED_DATA,
        smp::CLASS_DIRECTED_ROUTE => DIRECTED_ROUTE_DATA,
        _ => return MadResult::Pass,
    };
    let method = request.method();
    let access = match method {
        // For a subnet manager or for whoever asked.
        smp::METHOD_TRAP => return MadResult::Pass,
        _ if method & smp::METHOD_RESPONSE != 0 => return MadResult::Pass,
        smp::METHOD_GET | smp::METHOD_SET if request.attribute() == smp::SM_INFO => {
            return for_manager(node, ingress);
        }
        smp::METHOD_GET => Some(Access::Get),
        smp::METHOD_SET | smp::METHOD_TRAP_REPRESS => Some(Access::Change),
        _ => None,
    };
    let (Some(agent), Some(header)) = (node.port(agent_port(node, ingress)), bytes.get(..header))
    else {
        return MadResult::Consumed;
    };
    let refused = access.filter(|_| known).is_some_and(|access| {
        agent.manage(|managed| managed.mkey.judge(access, request.mkey())) == Verdict::Refused
    });
    if refused || method == smp::METHOD_TRAP_REPRESS {
        return MadResult::Consumed;
    }
    let value = match method {
        _ if !known => Err(Fault::Version),
        smp::METHOD_GET | smp::METHOD_SET => match node.software.status(agent, &request) {
            Some(status) => Err(Fault::Staged(status)),
            None if method == smp::METHOD_GET => get(node, ingress, &request),
            None => Err(Fault::Attribute),
        },
        _ => Err(Fault::Method),
    };
    if node.software.swallows(agent, &request) {
        return MadResult::Consumed;
    }
    answer(request, header, value, reply)
}

/// Reads an attribute.
fn get(node: &Node, ingress: u8, request: &Smp) -> Result<Value, Fault> {
    match (request.attribute(), request.modifier()) {
        (smp::NODE_DESC, 0) => Ok(Value::NodeDesc(node.desc())),
        (smp::NODE_INFO, 0) => node_info(node, ingress).map(Value::NodeInfo),
        (smp::NODE_DESC | smp::NODE_INFO, _) => Err(Fault::Value),
        _ => Err(Fault::Attribute),
    }
}

/// Attribute NodeInfo, as asked by `ingress`.
fn node_info(node: &Node, ingress: u8) -> Result<NodeInfo, Fault> {
    let port = node.port(agent_port(node, ingress)).ok_or(Fault::Value)?;
    let mut info = NodeInfo::zeroed();
    info.set_base_version(VERSION);
    info.set_class_version(VERSION);
    info.set_node_type(match node.node_type {
        NodeType::Ca => 1,
        NodeType::Switch => 2,
    });
    info.set_num_ports(node.external_ports());
    info.set_system_guid(node.system_guid);
    info.set_node_guid(node.guid);
    info.set_port_guid(port.guid);
    info.set_partition_cap(node::PKEYS);
    info.set_device_id(node.device_id);
    info.set_revision(node::REVISION);
    info.set_port_and_vendor(u32::from(ingress) << 24 | node.vendor_id);
    Ok(info)
}

/// Writes the answer to a request: its header, and the value if there is one.
fn answer(
    mut smp: Smp,
    header: &[u8],
    value: Result<Value, Fault>,
    reply: &mut [u8; OPA_MAD_SIZE],
) -> MadResult {
    let direction = match smp.class() {
        smp::CLASS_DIRECTED_ROUTE => smp::STATUS_DIRECTION,
        _ => 0,
    };
    smp.set_method(smp::METHOD_GET_RESP);
    smp.set_status(direction | value.as_ref().err().map_or(0, |fault| fault.status()));
    let data = value.as_ref().map_or(&[][..], Value::bytes);
    let bytes = smp.0.iter().take(header.len()).chain(data);
    let mut len = 0usize;
    for (to, from) in reply.iter_mut().zip(bytes) {
        *to = *from;
        len = len.saturating_add(1);
    }
    MadResult::Reply(len)
}
