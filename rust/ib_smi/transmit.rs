// SPDX-License-Identifier: GPL-2.0

//! An SMP goes on from this node: a switch passes it on, or the node's SMA answers.
//!
//! In the place of `agent_send_response()`. What is not a directed-route SMP (LID-routed SMPs, GMPs) is
//! answered through ib_mad as before, but for the address handle: it belongs to
//! the agent's own port, which on a switch is port 0.

use super::{
    arrival,
    direct::{
        Packet,
        Queue,
        Way, //
    },
    hop::{
        Hop,
        Obstacle,
        Point, //
    },
    ledger,
    livepatch,
    origin::Origin,
    ports::{
        Port,
        Ports, //
    },
    smp::{
        Format,
        Smp, //
    }, //
};
use crate::{
    bindings,
    dr::{
        self,
        Decision,
        Rule,
        Verdict, //
    },
    dyn_debug,
    rdma::{
        agent::Ah,
        device::Device, //
    }, //
};
use kernel::prelude::*;

/// A MAD that ib_mad hands over to be sent, and the one that it has received.
pub(crate) struct Outgoing<'a> {
    /// The MAD to send, and at least as much as an InfiniBand SMP has.
    pub(crate) mad: &'a [u8],
    /// How many bytes the MAD has. One of Omni-Path's can be a short one.
    pub(crate) len: usize,
    /// Whether it is the received one itself, to be passed on; otherwise it is an answer.
    pub(crate) transit: bool,
    /// Of the received one.
    pub(crate) wc: *const bindings::ib_wc,
    /// Of the received one.
    pub(crate) grh: *const bindings::ib_grh,
    /// Whether the received one came with a GRH.
    pub(crate) has_grh: bool,
    /// Which P_Key of the port the received one came in with, or, of Omni-Path, the one to be sent is to have.
    pub(crate) pkey_index: u16,
    /// The port that the received one came in by.
    pub(crate) ingress: u8,
    /// The port that ib_mad means it to leave by.
    pub(crate) egress: u32,
    /// Whether it came in on QP0.
    pub(crate) smi: bool,
    /// Whether the port speaks the MADs of Omni-Path.
    pub(crate) opa: bool,
}

/// Sends a MAD. Failures are counted and told, since ib_mad does not ask.
///
/// # Safety
///
/// The pointers in `outgoing` must be valid.
pub(crate) unsafe fn send(device: &Device, outgoing: &Outgoing<'_>) {
    let agent_port = if device.is_switch() {
        0
    } else {
        outgoing.egress
    };
    let sent = Ports::of(device, |ports| {
        let port = ports.get(agent_port);
        match outgoing.directed_route_smp() {
            Some(smp) => {
                // SAFETY: By the safety requirements.
                unsafe { pass(device, agent_port, port, outgoing, smp) };
                Ok(())
            }
            // SAFETY: By the safety requirements.
            None => unsafe { answer_by_lid(device, port, outgoing) },
        }
    });
    match (sent, outgoing.directed_route_smp()) {
        (Some(Ok(())), _) => (),
        (Some(Err(error)), _) => {
            dyn_debug!(send: "an answer by LID was lost, error {}\n", error.to_errno());
            lost_by_lid(device, agent_port, outgoing, Obstacle::PostFailed);
        }
        // SAFETY: By the safety requirements.
        (None, Some(smp)) => unsafe { pass(device, agent_port, None, outgoing, smp) },
        (None, None) => lost_by_lid(device, agent_port, outgoing, Obstacle::NoAgent),
    }
}

impl Outgoing<'_> {
    /// The bytes of the MAD.
    fn bytes(&self) -> &[u8] {
        self.mad.get(..self.len).unwrap_or(self.mad)
    }

    /// Returns whether it goes where the received one came from, by what that one's completion says.
    ///
    /// In Omni-Path a request with a GRH is answered with one: it stands for LIDs of more than 16 bits, and for
    /// another kind of packet.
    #[inline]
    fn goes_back(&self, decision: &Decision) -> bool {
        match decision.verdict {
            Verdict::Route(to) => to.is_none(),
            _ => !self.transit && self.opa && self.has_grh,
        }
    }

    /// Returns the MAD, and how it has its route, if it is a directed-route SMP.
    #[inline]
    fn directed_route_smp(&self) -> Option<(&Smp, Format)> {
        let smp: &Smp = self.mad.first_chunk()?;
        let class = u32::from(smp[1]) == bindings::IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE;
        (self.smi && class).then(|| (smp, Format::of_arrived(smp, self.opa)))
    }
}

/// Sends a directed-route SMP by the rules.
///
/// # Safety
///
/// The pointers in `outgoing` must be valid.
unsafe fn pass(
    device: &Device,
    agent_port: u32,
    port: Option<&Port>,
    outgoing: &Outgoing<'_>,
    (smp, format): (&Smp, Format),
) {
    let is_switch = device.is_switch();
    let node = arrival::node(is_switch, device.phys_ports());
    let route = format.route(smp);
    let decision = if outgoing.transit {
        dr::receive(&route, node, outgoing.ingress)
    } else {
        dr::reply(&route, node, outgoing.ingress)
    };
    let mut hop = Hop {
        point: if outgoing.transit {
            Point::Forward
        } else {
            Point::Reply
        },
        smp,
        format,
        origin: Origin {
            device: Some(device),
            port: agent_port,
        },
        is_switch,
        ingress: outgoing.ingress,
        decision,
        obstacle: None,
    };
    if outgoing.transit && !livepatch::settled() && old_could_have_judged(&hop) {
        hop.obstacle = Some(Obstacle::InTransition);
    }
    announce(&hop);
    if !hop.is_discarded() {
        hop.obstacle = match port {
            // SAFETY: By the safety requirements.
            Some(port) => unsafe { post(port, outgoing, &hop) }.err(),
            None => Some(Obstacle::NoAgent),
        };
    }
    hop.settle(port.map(Port::tally));
}

/// Tells and notes, before it is posted, that an SMP goes on; or tells that it does not.
#[inline(always)]
pub(super) fn announce(hop: &Hop<'_>) {
    hop.tell();
    tell_log(hop);
    if !hop.is_discarded() {
        ledger::note(hop);
    }
}

/// Tells it to dynamic debug.
#[inline(always)]
fn tell_log(hop: &Hop<'_>) {
    if hop.point == Point::Forward {
        dyn_debug!(pass: "forward: {}\n", hop);
    } else {
        dyn_debug!(pass: "reply: {}\n", hop);
    }
}

/// Returns whether ib_core's own function may have judged the SMP on arrival, and judged it wrongly:
/// it takes what starts on the way back for one hop further if it finds the ingress port in the path.
fn old_could_have_judged(hop: &Hop<'_>) -> bool {
    let route = hop.route();
    let recorded = route.return_path.get(usize::from(route.hop_cnt)).copied();
    arrival::needs_all_functions(&route, &hop.decision)
        || (route.direction == dr::Direction::Returning
            && route.hop_ptr == route.hop_cnt
            && recorded == Some(hop.ingress))
}

/// Posts an SMP as the rules want it to leave.
///
/// # Safety
///
/// The pointers in `outgoing` must be valid.
unsafe fn post(port: &Port, outgoing: &Outgoing<'_>, hop: &Hop<'_>) -> Result<(), Obstacle> {
    let Some(queue) = &port.direct else {
        // SAFETY: By the safety requirements.
        return unsafe { post_through_ib_mad(port, outgoing, hop) };
    };
    let back = if outgoing.goes_back(&hop.decision) {
        // SAFETY: By the safety requirements.
        let ah = unsafe { queue.agent().address_back(outgoing.wc, outgoing.grh) };
        Some(ah.map_err(without_address)?)
    } else {
        None
    };
    let mad = (outgoing.mad, outgoing.len);
    post_direct(queue, mad, outgoing.pkey_index, back, hop)
}

/// What it means that there is no address handle.
#[cold]
fn without_address(error: Error) -> Obstacle {
    if error == ENOMEM {
        Obstacle::NoMemory
    } else {
        Obstacle::PostFailed
    }
}

/// Posts an SMP of so many bytes past ib_mad; to `back`, if it does not leave by a LID of its own.
#[inline(always)]
pub(super) fn post_direct(
    queue: &Queue,
    (mad, len): (&[u8], usize),
    pkey_index: u16,
    back: Option<Ah>,
    hop: &Hop<'_>,
) -> Result<(), Obstacle> {
    let (egress, ah) = match hop.decision.verdict {
        Verdict::Forward { egress } => (egress, back),
        Verdict::Route(None) => (hop.ingress, back),
        Verdict::Route(Some(lid)) => {
            let ah = queue.agent().address(lid).map_err(without_address)?;
            (hop.ingress, Some(ah))
        }
        // A switch that is asked to pass on what is its own; the rules leave nothing else.
        Verdict::Local | Verdict::Discard(_) => return Err(Obstacle::InTransition),
    };
    queue.send(Packet {
        mad,
        len,
        way: Way {
            point: hop.point,
            format: hop.format,
            ingress: hop.ingress,
            egress,
            pkey_index,
            decision: hop.decision,
        },
        ah,
    })
}

/// Answers for a CA as ib_core does, where there are no slots: all that a switch needs them for is out.
///
/// # Safety
///
/// The pointers in `outgoing` must be valid.
#[cold]
unsafe fn post_through_ib_mad(
    port: &Port,
    outgoing: &Outgoing<'_>,
    hop: &Hop<'_>,
) -> Result<(), Obstacle> {
    let agent = port.smi.as_ref().ok_or(Obstacle::NoAgent)?;
    // What ib_mad would take to be in another format than it did on arrival cannot go this way.
    if hop.is_switch
        || !matches!(hop.decision.verdict, Verdict::Forward { .. })
        || hop.format != Format::of_departing(hop.smp, outgoing.opa)
    {
        return Err(Obstacle::NoAgent);
    }
    // ib_mad advances the Hop Pointer itself, by `departure`.
    // SAFETY: By the safety requirements, both are those of the MAD that is answered.
    unsafe { agent.answer(outgoing.bytes(), outgoing.wc, outgoing.grh, None) }
        .map_err(|_| Obstacle::PostFailed)
}

/// Tells that an answer was lost which no rule of directed routes has decided about.
#[cold]
fn lost_by_lid(device: &Device, agent_port: u32, outgoing: &Outgoing<'_>, obstacle: Obstacle) {
    let Some(smp) = outgoing.mad.first_chunk::<{ size_of::<Smp>() }>() else {
        return;
    };
    Hop {
        point: Point::Reply,
        smp,
        format: Format::of_arrived(smp, outgoing.opa),
        origin: Origin {
            device: Some(device),
            port: agent_port,
        },
        is_switch: device.is_switch(),
        ingress: outgoing.ingress,
        decision: Decision {
            verdict: Verdict::Route(None),
            hop_ptr: 0,
            record: None,
            rule: Rule::Lid,
        },
        obstacle: Some(obstacle),
    }
    .lost();
}

/// Answers anything else, through ib_mad.
///
/// # Safety
///
/// The pointers in `outgoing` must be valid.
unsafe fn answer_by_lid(device: &Device, port: Option<&Port>, outgoing: &Outgoing<'_>) -> Result {
    let port = port.ok_or(ENODEV)?;
    let agent = if outgoing.smi { &port.smi } else { &port.gsi };
    let agent = agent.as_ref().ok_or(ENODEV)?;
    let egress = device.is_switch().then_some(outgoing.egress);
    // SAFETY: By the safety requirements.
    unsafe { agent.answer(outgoing.bytes(), outgoing.wc, outgoing.grh, egress) }
}
