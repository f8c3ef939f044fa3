// SPDX-License-Identifier: GPL-2.0

//! An SMP comes in from the wire: is it for this node, to be passed on, or to be discarded?
//!
//! ib_mad asks in three steps, each with the SMP alone: [`decide`], then [`dr::next_step()`], then, if it
//! is to be passed on, [`dr::forward_port()`]; last it hands it to `transmit`. All but the first are left
//! out for what `transit` passes on at once. The functions keep to what ib_core's own leave in the SMP
//! between the steps, since during a transition of the livepatch the next step may still be an old one: the
//! Return Path is written and the Hop Pointer is advanced for what stays here; for what goes on it is
//! advanced when it leaves.

use super::{
    counters::Tally,
    hop::{
        Hop,
        Obstacle,
        Point, //
    },
    ledger,
    listener,
    origin::Origin,
    smp::{
        self,
        Format,
        Smp, //
    }, //
};
use crate::{
    dr::{
        self,
        Decision,
        Direction,
        DrSmp,
        Node,
        NodeKind,
        Rule,
        Verdict, //
    },
    dyn_debug, //
};

/// Decides about an SMP, with the livepatch [settled](super::livepatch::settled) or not. Has to be [told](tell).
#[inline(always)]
pub(crate) fn decide<'a>(
    smp: &'a Smp,
    format: Format,
    origin: Origin<'a>,
    (node, ingress): (Node, u8),
    settled: bool,
) -> Hop<'a> {
    let route = format.route(smp);
    let decision = dr::receive(&route, node, ingress);
    Hop {
        point: Point::Recv,
        smp,
        format,
        origin,
        is_switch: node.kind == NodeKind::Switch,
        ingress,
        decision,
        obstacle: obstacle(&route, origin, &decision, settled),
    }
}

/// Tells what was decided, and counts it. `tally` has the counters of the port, if they are at hand.
///
/// What is neither discarded nor passed on at once has to be [taken](take).
#[inline(always)]
pub(crate) fn tell(hop: &Hop<'_>, tally: Option<&Tally>) {
    hop.tell();
    dyn_debug!(tell: "recv: {}\n", hop);
    hop.settle(tally);
}

/// Leaves an SMP to ib_mad: notes it, and returns the decision, to be [written](write) into it.
#[inline(always)]
pub(crate) fn take(hop: &Hop<'_>) -> Decision {
    ledger::note(hop);
    if hop.decision.verdict == Verdict::Local && listener::is_missing(hop.origin, hop.smp) {
        // The driver may still want it, so that it goes on; ib_mad will drop it.
        Hop {
            obstacle: Some(Obstacle::NoListener),
            ..*hop
        }
        .lost();
    }
    hop.decision
}

/// Writes into an SMP what ib_mad has to find there.
#[inline(always)]
pub(crate) fn write(smp: &mut Smp, format: Format, decision: &Decision) {
    smp::apply(smp, format, decision, decision.verdict == Verdict::Local);
}

/// What stands against an SMP that the rules would let pass.
fn obstacle(
    route: &DrSmp<'_>,
    origin: Origin<'_>,
    decision: &Decision,
    settled: bool,
) -> Option<Obstacle> {
    if !settled {
        return needs_all_functions(route, decision).then_some(Obstacle::InTransition);
    }
    let request = route.direction == Direction::Outgoing;
    let no_sma = origin
        .device
        .is_some_and(|device| !device.has_process_mad());
    (decision.verdict == Verdict::Local && request && no_sma).then_some(Obstacle::NoSma)
}

/// Returns whether ib_core's own functions would mishandle an SMP that this one lets pass.
pub(super) fn needs_all_functions(route: &DrSmp<'_>, decision: &Decision) -> bool {
    match decision.verdict {
        Verdict::Route(_) => true,
        Verdict::Forward { .. } => matches!(decision.rule, Rule::C14_9_1 | Rule::C14_13_1),
        // Its answer would be looped to whatever agent of this host the TID happens to name.
        Verdict::Local => route.hop_cnt == 0 && route.direction == Direction::Outgoing,
        Verdict::Discard(_) => false,
    }
}

/// The node that a function of ib_core's is told of. 255 is not the number of a port.
pub(crate) fn node(is_switch: bool, ports: u8) -> Node {
    Node {
        kind: if is_switch {
            NodeKind::Switch
        } else {
            NodeKind::Ca
        },
        ports: ports.min(u8::MAX - 1),
    }
}
