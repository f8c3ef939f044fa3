// SPDX-License-Identifier: GPL-2.0

//! What is expected of the rules, and the nodes that are asked.

use crate::{
    dr::{
        Decision,
        Node,
        NodeKind,
        Reason,
        Record,
        Rule,
        Verdict, //
    },
    table::Test, //
};

/// A channel adapter with two ports.
pub(crate) const CA: Node = Node {
    kind: NodeKind::Ca,
    ports: 2,
};

/// A switch with four external ports.
pub(crate) const SW4: Node = Node {
    kind: NodeKind::Switch,
    ports: 4,
};

/// An expected decision.
pub(crate) struct Answer(Decision);

/// For this node, with the Hop Pointer `hop_ptr`.
pub(crate) const fn local(rule: Rule, hop_ptr: u8) -> Answer {
    answer(rule, Verdict::Local, hop_ptr)
}

/// Out through the port `egress`, with the Hop Pointer `hop_ptr`.
pub(crate) const fn forward(rule: Rule, egress: u8, hop_ptr: u8) -> Answer {
    answer(rule, Verdict::Forward { egress }, hop_ptr)
}

/// On to a LID, with the Hop Pointer `hop_ptr`.
pub(crate) const fn route(rule: Rule, lid: Option<u32>, hop_ptr: u8) -> Answer {
    answer(rule, Verdict::Route(lid), hop_ptr)
}

/// Discarded; `hop_ptr` is the Hop Pointer that it came with.
pub(crate) const fn discard(rule: Rule, reason: Reason, hop_ptr: u8) -> Answer {
    answer(rule, Verdict::Discard(reason), hop_ptr)
}

const fn answer(rule: Rule, verdict: Verdict, hop_ptr: u8) -> Answer {
    Answer(Decision {
        verdict,
        hop_ptr,
        record: None,
        rule,
    })
}

impl Answer {
    /// The same, with `port` written into the Return Path's `element`.
    pub(crate) const fn recording(self, element: u8, port: u8) -> Self {
        let Self(decision) = self;
        Self(Decision {
            record: Some(Record { element, port }),
            ..decision
        })
    }

    /// Fails the row if `got` is another decision.
    #[track_caller]
    pub(crate) fn check(&self, test: &Test, what: &str, got: Decision) {
        test.equal(what, got, self.0);
    }
}
