// SPDX-License-Identifier: GPL-2.0

//! `/sys/kernel/debug/ibfabric`: what is there, what it counted, and a way to put packets in.
//!
//! Every file is made to be read by programs: one thing a line, words apart by blanks.

use crate::{
    fabric::Fabric,
    faults,
    inject,
    node::Node,
    port::Port,
    provider::NodeType, //
};
use kernel::{
    debugfs::Scope,
    fmt,
    prelude::*,
    uaccess::UserSliceReader, //
};

/// The directory, and the fabric that it shows. The directory goes first.
#[pin_data]
pub(crate) struct Debug {
    #[pin]
    scope: Scope<Fabric>,
}

impl Debug {
    /// Shows a fabric.
    pub(crate) fn new(fabric: Fabric) -> Result<Pin<KBox<Self>>> {
        let scope = Scope::dir(fabric, c"ibfabric", |fabric, dir| {
            dir.read_callback_file(c"nodes", fabric, &nodes);
            dir.read_callback_file(c"links", fabric, &links);
            dir.read_callback_file(c"posts", fabric, &posts);
            dir.read_callback_file(c"counters", fabric, &counters);
            dir.read_callback_file(c"lfts", fabric, &lfts);
            dir.read_callback_file(c"wire", fabric, &wire);
            dir.write_only_callback_file(c"inject", fabric, &inject);
            dir.write_only_callback_file(c"faults", fabric, &faults);
        });
        KBox::pin_init(pin_init!(Self { scope <- scope }), GFP_KERNEL)
    }
}

/// All external ports, with their nodes.
fn ports(fabric: &Fabric) -> impl Iterator<Item = (&Node, &Port)> {
    fabric.nodes.iter().flat_map(|node| {
        let node = &**node;
        node.ports
            .iter()
            .map(|port| &**port)
            .filter(|port| port.number != 0)
            .map(move |port| (node, port))
    })
}

/// `NAME ca|switch GUID PORTS LID…`, a line a node.
fn nodes(fabric: &Fabric, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for node in &fabric.nodes {
        let kind = match node.node_type {
            NodeType::Ca => "ca",
            NodeType::Switch => "switch",
        };
        let ports = node.external_ports();
        write!(f, "{} {kind} {:#018x} {ports}", node.name(), node.guid)?;
        for port in &node.ports {
            let lid = port.config().lid;
            if lid != 0 {
                write!(f, " {lid}")?;
            }
        }
        writeln!(f)?;
    }
    Ok(())
}

/// `NAME:PORT NAME:PORT`, a line a link.
fn links(fabric: &Fabric, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (node, port) in ports(fabric) {
        let Some(peer) = port.peer() else { continue };
        // Every link is found from both ends: GUIDs tell which comes first.
        let here = (node.guid, port.number);
        if here < (peer.node.guid, peer.number) {
            let (name, number) = (peer.node.name(), peer.number);
            writeln!(f, "{}:{} {name}:{number}", node.name(), port.number)?;
        }
    }
    Ok(())
}

/// `total N`, then `NAME:PORT N`: packets put on the wire.
fn posts(fabric: &Fabric, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let total = ports(fabric).fold(0u64, |sum, (_, port)| {
        sum.wrapping_add(port.counters.xmit.get())
    });
    writeln!(f, "total {total}")?;
    for (node, port) in ports(fabric) {
        let xmit = port.counters.xmit.get();
        writeln!(f, "{}:{} {xmit}", node.name(), port.number)?;
    }
    Ok(())
}

/// `NAME:PORT xmit=N …`, a line a port.
fn counters(fabric: &Fabric, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for node in &fabric.nodes {
        for port in &node.ports {
            let counters = &port.counters;
            writeln!(
                f,
                "{}:{} xmit={} forwarded={} rcv={} xmit_discards={} rcv_errors={} vl15_dropped={}",
                node.name(),
                port.number,
                counters.xmit.get(),
                counters.forwarded.get(),
                counters.rcv.get(),
                counters.xmit_discards.get(),
                counters.rcv_errors.get(),
                counters.vl15_dropped.get(),
            )?;
        }
    }
    Ok(())
}

/// `NAME LID PORT`, a line an entry of a forwarding table.
fn lfts(fabric: &Fabric, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for node in &fabric.nodes {
        let Some(lft) = &node.lft else { continue };
        for lid in 0..crate::lft::CAPACITY {
            if let Some(port) = lft.get(lid) {
                writeln!(f, "{} {lid} {port}", node.name())?;
            }
        }
    }
    Ok(())
}

/// The last packets on wires.
fn wire(fabric: &Fabric, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    fabric.capture.show(f)
}

/// Puts a packet in.
fn inject(fabric: &Fabric, reader: &mut UserSliceReader) -> Result {
    inject::write(fabric, reader)
}

/// Lets sends fail.
fn faults(fabric: &Fabric, reader: &mut UserSliceReader) -> Result {
    faults::write(fabric, reader)
}
