// SPDX-License-Identifier: GPL-2.0

//! One SMP at one port of some nodes, and what the rules say of it.

use super::answer::Answer;
use crate::{
    dr::{
        receive,
        reply,
        send,
        Node, //
    },
    packet::Packet,
    table::{
        Row,
        Test, //
    }, //
};
use kernel::{
    fmt,
    prelude::*, //
};

/// What the node does with it.
#[derive(Clone, Copy)]
pub(crate) enum What {
    /// It comes in through the port.
    Receive,
    /// The node sends it through an agent on the port.
    Send,
    /// The node's SMA answers what came in through the port.
    Reply,
}

/// An SMP, which is the same to all of the nodes, in both formats.
pub(crate) struct Case {
    pub(crate) what: What,
    pub(crate) name: &'static str,
    pub(crate) nodes: &'static [Node],
    pub(crate) port: u8,
    pub(crate) smp: Packet,
    pub(crate) expected: Answer,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Row for Case {
    fn check(&self, test: &Test) -> Result {
        for smp in self.smp.in_both() {
            let bytes = smp.bytes();
            let route = smp.route(&bytes);
            for &node in self.nodes {
                let (what, got) = match self.what {
                    What::Receive => ("receive", receive(&route, node, self.port)),
                    What::Send => ("send", send(&route, node, self.port)),
                    What::Reply => ("reply", reply(&route, node, self.port)),
                };
                self.expected.check(test, what, got);
            }
        }
        Ok(())
    }
}
