// SPDX-License-Identifier: GPL-2.0

//! The decision: what becomes of an SMP, what changes in it, and by which rule.

use super::{
    DrLid,
    DrSmp,
    Node,
    Reason,
    Rule, //
};

/// What becomes of the SMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is for this node: its SMA or SM.
    Local,
    /// It leaves along the path.
    Forward {
        /// The external port that it leaves by, 1 to the node's port count.
        egress: u8,
    },
    /// It leaves by LID: to DrDLID or DrSLID by the forwarding table, in host byte order. `None`
    /// when the LID is not in the SMP: it is in the sender's address handle, or, for an answer,
    /// the SLID that the request came with.
    Route(Option<u32>),
    /// It goes no further.
    Discard(Reason),
}

/// A port to be written into the Return Path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The element, 1 to 63.
    pub element: u8,
    /// The port that the SMP came in by.
    pub port: u8,
}

/// The whole decision about one SMP at one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What becomes of the SMP.
    pub verdict: Verdict,
    /// The Hop Pointer with which it leaves or is handed up; unchanged when it is discarded.
    pub hop_ptr: u8,
    /// The element to write into the Return Path; never on discard.
    pub record: Option<Record>,
    /// The rule that decided.
    pub rule: Rule,
}

impl Decision {
    /// `verdict` by `rule`, with the Hop Pointer `hop_ptr` and nothing recorded.
    #[inline]
    pub(super) fn new(rule: Rule, verdict: Verdict, hop_ptr: u8) -> Self {
        Self {
            verdict,
            hop_ptr,
            record: None,
            rule,
        }
    }

    /// Discarded by `rule`: the SMP stays as it is.
    #[inline]
    pub(super) fn discard(smp: &DrSmp<'_>, rule: Rule, reason: Reason) -> Self {
        Self::new(rule, Verdict::Discard(reason), smp.hop_ptr)
    }

    /// Out through `egress` with the Hop Pointer `hop_ptr`, or discarded if `node` has no such
    /// port.
    #[inline]
    pub(super) fn forward(
        smp: &DrSmp<'_>,
        node: Node,
        rule: Rule,
        egress: u8,
        hop_ptr: u8,
    ) -> Self {
        if node.has(egress) {
            Self::new(rule, Verdict::Forward { egress }, hop_ptr)
        } else {
            Self::discard(smp, rule, node.why_not(egress))
        }
    }

    /// The end of the directed-route part: for this node if no LID-routed part follows; otherwise
    /// sent on to `lid` if the node `routes`, as a switch does.
    #[inline]
    pub(super) fn end(smp: &DrSmp<'_>, routes: bool, rule: Rule, lid: DrLid, hop_ptr: u8) -> Self {
        match lid {
            DrLid::Permissive => Self::new(rule, Verdict::Local, hop_ptr),
            DrLid::Lid(lid) if routes => Self::new(rule, Verdict::Route(Some(lid)), hop_ptr),
            DrLid::Lid(_) => Self::discard(smp, rule, Reason::CaInTransit),
        }
    }

    /// The same with `record` to be written, unless it is a discard.
    #[inline]
    pub(super) fn recording(self, record: Record) -> Self {
        match self.verdict {
            Verdict::Discard(_) => self,
            _ => Self {
                record: Some(record),
                ..self
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_fits_two_registers() {
        assert!(core::mem::size_of::<Decision>() <= 16);
    }
}
