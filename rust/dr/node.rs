// SPDX-License-Identifier: GPL-2.0

//! The node that judges: a channel adapter or a switch, and the ports that it has.

use super::Reason;

/// What the node is. A router end counts as a channel adapter: it relays no directed route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A channel adapter: an end of the fabric, it never relays.
    Ca,
    /// A switch: it relays, and has port 0 besides, which is itself.
    Switch,
}

/// The node that judges an SMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Channel adapter or switch.
    pub kind: NodeKind,
    /// External ports, 1 to 254.
    pub ports: u8,
}

impl Node {
    /// Whether the node may pass an SMP on.
    #[inline]
    pub(super) fn is_switch(self) -> bool {
        matches!(self.kind, NodeKind::Switch)
    }

    /// Whether `port` is an external port of the node: 1 to `ports`.
    #[inline]
    pub(super) fn has(self, port: u8) -> bool {
        // Port 0 wraps around to 255 and fails as well.
        port.wrapping_sub(1) < self.ports
    }

    /// Why `port` is not an external port of the node.
    #[inline]
    pub(super) fn why_not(self, port: u8) -> Reason {
        if port == 0 {
            Reason::PortZero
        } else {
            Reason::NoSuchPort
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn external_ports_are_1_to_n() {
        for kind in [NodeKind::Ca, NodeKind::Switch] {
            for ports in 1..=254 {
                let node = Node { kind, ports };
                for port in 0..=255 {
                    assert_eq!(node.has(port), (1..=ports).contains(&port));
                }
            }
        }
    }

    #[test]
    fn port_zero_has_a_reason_of_its_own() {
        let node = Node {
            kind: NodeKind::Switch,
            ports: 4,
        };
        assert_eq!(node.why_not(0), Reason::PortZero);
        assert_eq!(node.why_not(5), Reason::NoSuchPort);
        assert_eq!(node.why_not(255), Reason::NoSuchPort);
    }
}
