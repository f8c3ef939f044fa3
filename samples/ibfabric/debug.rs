// SPDX-License-Identifier: GPL-2.0

//! `/sys/kernel/debug/ibfabric`: what is there, what it counted, and a way to put packets in.
//!
//! Every file is made to be read by programs: one thing a line, words apart by blanks.

use crate::{debugfs::Shown, fabric::Fabric, inject, node::Node, port::Port, provider::NodeType};
use kernel::{
    fmt,
    prelude::*,
    sync::Arc,
    uaccess::UserSliceReader, //
};

/// The directory, and the fabric that it shows.
pub(crate) type Debug = Shown<Fabric>;

/// Shows a fabric.
pub(crate) fn new(fabric: Arc<Fabric>) -> Debug {
    Shown::new(c"ibfabric", None, fabric, |files, fabric| {
        files.show(c"nodes", fabric, nodes);
        files.show(c"ports", fabric, ports);
        files.show(c"links", fabric, links);
        files.show(c"posts", fabric, posts);
        files.show(c"counters", fabric, counters);
        files.show(c"lfts", fabric, lfts);
        files.show(c"wire", fabric, wire);
        files.take(c"inject", fabric, inject);
    })
}

/// Visits all nodes.
fn each_node(fabric: &Fabric, mut visit: impl FnMut(&Node) -> fmt::Result) -> fmt::Result {
    let nodes = fabric.nodes().map_err(|_| fmt::Error)?;
    nodes.iter().try_for_each(|node| visit(node))
}

/// Visits all external ports, with their nodes.
fn each_port(fabric: &Fabric, mut visit: impl FnMut(&Node, &Port) -> fmt::Result) -> fmt::Result {
    each_node(fabric, |node| {
        node.ports
            .iter()
            .filter(|port| port.number != 0)
            .try_for_each(|port| visit(node, port))
    })
}

/// `NAME ca|switch GUID PORTS LID…`, a line a node.
fn nodes(fabric: &Fabric, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    each_node(fabric, |node| {
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
        writeln!(f)
    })
}

/// `NAME:PORT STATE PHYSICAL-STATE WIDTH SPEED`, a line a port.
fn ports(fabric: &Fabric, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    each_port(fabric, |node, port| {
        let config = port.config();
        writeln!(
            f,
            "{}:{} {} {} {} {}",
            node.name(),
            port.number,
            config.state.name(),
            config.phys_state.name(),
            config.active.width.name(),
            config.active.speed.name(),
        )
    })
}

/// `NAME:PORT NAME:PORT`, a line a link, with `down` behind it if it carries nothing.
fn links(fabric: &Fabric, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    fabric.each_cable(|a, b, up| {
        write!(f, "{}:{} {}:{}", a.name(), a.port, b.name(), b.port)?;
        writeln!(f, "{}", if up { "" } else { " down" })
    })
}

/// `total N`, then `NAME:PORT N`: packets put on the wire.
fn posts(fabric: &Fabric, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut total = 0u64;
    each_port(fabric, |_, port| {
        total = total.wrapping_add(port.counters.xmit.get());
        Ok(())
    })?;
    writeln!(f, "total {total}")?;
    each_port(fabric, |node, port| {
        let xmit = port.counters.xmit.get();
        writeln!(f, "{}:{} {xmit}", node.name(), port.number)
    })
}

/// `NAME:PORT xmit=N …`, a line a port; with what faults did where any were ever staged.
fn counters(fabric: &Fabric, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    each_node(fabric, |node| {
        for port in &node.ports {
            let counters = &port.counters;
            write!(
                f,
                "{}:{} xmit={} forwarded={} rcv={} xmit_discards={} rcv_errors={} vl15_dropped={} \
                 relay_errors={} bad_pkeys={} bad_qkeys={} qp1_dropped={} held={} link_downed={} traps={}",
                node.name(),
                port.number,
                counters.xmit.get(),
                counters.forwarded.get(),
                counters.rcv.get(),
                counters.xmit_discards.get(),
                counters.rcv_errors.get(),
                counters.vl15_dropped.get(),
                counters.relay_errors.get(),
                counters.bad_pkeys.get(),
                counters.bad_qkeys.get(),
                counters.qp1_dropped.get(),
                counters.held.get(),
                counters.link_downed.get(),
                counters.traps.get(),
            )?;
            if let Some(faults) = counters.faults() {
                faults.show(f)?;
            }
            writeln!(f)?;
        }
        Ok(())
    })
}

/// `NAME LID PORT`, a line an entry of a forwarding table.
fn lfts(fabric: &Fabric, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    each_node(fabric, |node| {
        let Some(lft) = &node.lft else { return Ok(()) };
        for lid in 0..crate::lft::CAPACITY {
            if let Some(port) = lft.get(lid) {
                writeln!(f, "{} {lid} {port}", node.name())?;
            }
        }
        Ok(())
    })
}

/// The last packets on wires.
fn wire(fabric: &Fabric, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    fabric.capture.show(f)
}

/// Puts a packet in.
fn inject(fabric: &Fabric, reader: &mut UserSliceReader) -> Result {
    inject::write(fabric, reader)
}
