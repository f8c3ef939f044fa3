// SPDX-License-Identifier: GPL-2.0

//! A cable between two ports.
//!
//! It names its ends, and so outlives the nodes there: a node that comes back finds its cables where
//! they were. A cable that is plugged in at both ends makes a link.

use crate::{
    link::LinkLock,
    node::Node,
    port::PortRef,
    provider::PhysState, //
};
use kernel::{
    fmt,
    prelude::*,
    str::CString,
    sync::Arc, //
};

/// An end of a cable: a port, by the name of its node.
pub(crate) struct End {
    /// The node.
    pub(crate) name: CString,
    /// The port.
    pub(crate) port: u8,
}

impl End {
    /// The name of the node as text.
    pub(crate) fn name(&self) -> &str {
        self.name.to_str().unwrap_or_default()
    }
}

impl PartialEq for End {
    fn eq(&self, other: &Self) -> bool {
        self.port == other.port && self.name.to_bytes() == other.name.to_bytes()
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name(), self.port)
    }
}

/// A cable.
pub(super) struct Cable {
    /// Where it ends.
    pub(super) ends: [End; 2],
    /// Whether there shall be a link.
    pub(super) wanted: bool,
    /// Whether a directory of configfs stands for it.
    pub(super) owned: bool,
    /// The ports that it connects, while it does.
    plugged: Option<[PortRef; 2]>,
}

impl Cable {
    /// A cable, not plugged in.
    pub(super) fn new(a: End, b: End, owned: bool) -> Self {
        Self {
            ends: [a, b],
            wanted: true,
            owned,
            plugged: None,
        }
    }

    /// Whether it ends there.
    pub(super) fn has(&self, end: &End) -> bool {
        self.ends.contains(end)
    }

    /// Whether it is plugged into that very node, and not another of the same name.
    pub(super) fn is_plugged_into(&self, node: &Arc<Node>) -> bool {
        self.plugged
            .iter()
            .flatten()
            .any(|port| Arc::ptr_eq(&port.node, node))
    }

    /// Whether it shall be plugged in and is not.
    pub(super) fn wants_plug(&self) -> bool {
        self.wanted && self.plugged.is_none()
    }

    /// Whether both ends hear each other.
    pub(super) fn is_up(&self) -> bool {
        self.plugged.as_ref().is_some_and(|ports| {
            ports.iter().filter_map(PortRef::port).all(|port| {
                let phys_state = port.config().phys_state;
                phys_state == PhysState::LinkUp
            })
        })
    }

    /// Plugs it in.
    pub(super) fn plug(&mut self, links: &LinkLock, a: PortRef, b: PortRef) {
        match links.plug(&a, &b) {
            Ok(()) => self.plugged = Some([a, b]),
            Err(error) => pr_err!("{}-{}: {:?}\n", self.ends[0], self.ends[1], error),
        }
    }

    /// Pulls it out, if it is in.
    pub(super) fn unplug(&mut self, links: &LinkLock) {
        if let Some([a, _]) = self.plugged.take() {
            links.unplug(&a);
        }
    }
}
