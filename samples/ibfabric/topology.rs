// SPDX-License-Identifier: GPL-2.0

//! What to build: nodes and links, before any of them exists.

use crate::{
    fabric::End,
    node::NodeSpec,
    params::{
        Params,
        Topology, //
    },
    provider::NodeType, //
};
use kernel::{
    prelude::*,
    str::CString, //
};

mod chain;
mod fat_tree;
mod pair;

/// A node to be.
pub(crate) struct PlannedNode {
    /// HCA or switch.
    pub(crate) node_type: NodeType,
    /// Its number among its kind, as in `hca0`.
    pub(crate) index: usize,
    /// Number of external ports.
    pub(crate) ports: u8,
}

impl PlannedNode {
    /// Its name: `hca0` or `sw0`.
    pub(crate) fn name(&self) -> Result<CString> {
        let kind = match self.node_type {
            NodeType::Ca => "hca",
            NodeType::Switch => "sw",
        };
        CString::try_from_fmt(fmt!("{kind}{}", self.index))
    }

    /// All the rest of it.
    pub(crate) fn node(&self) -> NodeSpec {
        NodeSpec::new(self.node_type, self.ports)
    }
}

/// A link to be, between ports of nodes by their places in [`Plan::nodes`].
pub(crate) struct Link {
    /// One end.
    pub(crate) a: (usize, u8),
    /// The other end.
    pub(crate) b: (usize, u8),
}

/// Nodes and links to be.
pub(crate) struct Plan {
    /// The nodes.
    pub(crate) nodes: KVec<PlannedNode>,
    /// The links.
    pub(crate) links: KVec<Link>,
}

impl Plan {
    /// Nothing yet.
    fn new() -> Self {
        Self {
            nodes: KVec::new(),
            links: KVec::new(),
        }
    }

    /// An end of a link.
    pub(crate) fn end(&self, (place, port): (usize, u8)) -> Result<End> {
        let name = self.nodes.get(place).ok_or(EINVAL)?.name()?;
        Ok(End { name, port })
    }

    /// Adds a node. Returns its place.
    fn node(&mut self, node_type: NodeType, ports: u8) -> Result<usize> {
        let place = self.nodes.len();
        let index = self
            .nodes
            .iter()
            .filter(|spec| spec.node_type == node_type)
            .count();
        let spec = PlannedNode {
            node_type,
            index,
            ports,
        };
        self.nodes.push(spec, GFP_KERNEL)?;
        Ok(place)
    }

    /// Adds an HCA.
    fn hca(&mut self, ports: u8) -> Result<usize> {
        self.node(NodeType::Ca, ports)
    }

    /// Adds a switch.
    fn switch(&mut self, ports: u8) -> Result<usize> {
        self.node(NodeType::Switch, ports)
    }

    /// Adds a link.
    fn link(&mut self, a: (usize, u8), b: (usize, u8)) -> Result {
        self.links.push(Link { a, b }, GFP_KERNEL)?;
        Ok(())
    }
}

/// Plans what the parameters ask for.
pub(crate) fn plan(params: &Params) -> Result<Plan> {
    match params.topology {
        Topology::None => Ok(Plan::new()),
        Topology::Pair => pair::pair(),
        Topology::Direct => pair::direct(),
        Topology::Chain => chain::chain(params.switches),
        Topology::FatTree => fat_tree::fat_tree(params.leaves, params.spines, params.hosts),
    }
}
