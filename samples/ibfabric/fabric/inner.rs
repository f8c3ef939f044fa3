// SPDX-License-Identifier: GPL-2.0

//! What the lock of the fabric guards: who is there, and what does not go together.

use super::{
    cable::Cable,
    End, //
};
use crate::{
    node::Node,
    port::PortRef,
    provider::Registration, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A node of the fabric.
pub(super) struct Member {
    /// First, so that the device goes before its node.
    pub(super) registration: Option<Registration<Node>>,
    pub(super) node: Arc<Node>,
    /// Whether a directory of configfs stands for it.
    pub(super) owned: bool,
}

/// All nodes and cables.
pub(super) struct Inner {
    /// In the order in which they came.
    pub(super) members: KVVec<Member>,
    pub(super) cables: KVVec<Cable>,
    /// How many nodes there have been.
    pub(super) serial: u64,
}

impl Inner {
    /// Nothing.
    pub(super) fn new() -> Self {
        Self {
            members: KVVec::new(),
            cables: KVVec::new(),
            serial: 0,
        }
    }

    /// The node of that name.
    pub(super) fn find(&self, name: &[u8]) -> Option<&Arc<Node>> {
        self.members
            .iter()
            .map(|member| &member.node)
            .find(|node| node.name.to_bytes() == name)
    }

    /// The port at an end of a cable, if it is there.
    pub(super) fn port(&self, end: &End) -> Option<PortRef> {
        let node = self.find(end.name.to_bytes())?;
        node.external_port(end.port)?;
        Some(PortRef {
            node: node.clone(),
            number: end.port,
        })
    }

    /// Whether all that are linked to a node are of its kind, as far as they are there.
    pub(super) fn check_kind(&self, node: &Node) -> Result {
        for cable in &self.cables {
            let [a, b] = &cable.ends;
            for (near, far) in [(a, b), (b, a)] {
                if near.name.to_bytes() == node.name.to_bytes() {
                    self.check_kinds(cable, node, far)?;
                }
            }
        }
        Ok(())
    }

    /// Whether both ends of a cable are of one kind.
    pub(super) fn check_kinds(&self, cable: &Cable, near: &Node, far: &End) -> Result {
        match self.find(far.name.to_bytes()) {
            Some(far) if far.opa != near.opa => {
                let (opa, other) = if near.opa {
                    (near, &**far)
                } else {
                    (&**far, near)
                };
                let [a, b] = &cable.ends;
                pr_err!(
                    "{}-{}: {} is a node of Omni-Path and {} is not: write the same to opa of both\n",
                    a,
                    b,
                    opa.name(),
                    other.name()
                );
                Err(EINVAL)
            }
            _ => Ok(()),
        }
    }

    /// The cable that has this end.
    pub(super) fn cable(&mut self, end: &End) -> Option<&mut Cable> {
        self.cables.iter_mut().find(|cable| cable.has(end))
    }
}
