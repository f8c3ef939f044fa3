// SPDX-License-Identifier: GPL-2.0

//! One hop of an SMP: where it is, what was decided about it, and the telling of it.

use super::{
    counters::{
        self,
        Tally, //
    },
    ledger,
    origin::Origin,
    smp::{
        Format,
        Header,
        Smp, //
    },
    trace, //
};
use crate::{
    bindings,
    dr::{
        Decision,
        Direction,
        DrSmp,
        Reason,
        Verdict,
        MAX_HOPS, //
    }, //
};
use kernel::fmt;

/// Where in the module something is decided, or is found out, about an SMP. The numbers are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Point {
    /// It came in from the wire.
    Recv = 0,
    /// A switch passes it on.
    Forward = 1,
    /// The node's SMA answers.
    Reply = 2,
    /// The node itself sends.
    Send = 3,
    /// It is handed over within the node.
    Local = 4,
}

impl Point {
    /// Every point, in the order of its number.
    pub(crate) const ALL: [Self; 5] = [
        Self::Recv,
        Self::Forward,
        Self::Reply,
        Self::Send,
        Self::Local,
    ];

    /// The name, as trace events and counters show it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Recv => "recv",
            Self::Forward => "forward",
            Self::Reply => "reply",
            Self::Send => "send",
            Self::Local => "local",
        }
    }
}

/// Why an SMP was discarded where the rules would have let it pass.
///
/// The numbers go on from those of [`Reason`], with room between.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Obstacle {
    /// The livepatch is in transition, and ib_core's own functions would mishandle this SMP.
    InTransition = 32,
    /// The node has no SMA in the kernel to hand a request to.
    NoSma = 33,
    /// ib_mad cannot send by LID an SMP that has its directed-route part behind it.
    NotByLid = 34,
    /// The port has no agent of ours to send with.
    NoAgent = 35,
    /// All send slots are in use and the backlog is full.
    QueueFull = 36,
    /// No memory.
    NoMemory = 37,
    /// The device refused the work request.
    PostFailed = 38,
    /// An answer to the node's own agents, of which none has asked.
    NotAsked = 39,
    /// The device took the work request, but could not send.
    SendFailed = 40,
    /// It is for this node, but neither for its SMA nor for any agent on QP0 of the port.
    NoListener = 41,
    /// It came in shorter than its route: the rest is what the receive buffer had before.
    TooShort = 42,
}

impl Obstacle {
    /// Every obstacle, in the order of its number.
    pub(crate) const ALL: [Self; 11] = [
        Self::InTransition,
        Self::NoSma,
        Self::NotByLid,
        Self::NoAgent,
        Self::QueueFull,
        Self::NoMemory,
        Self::PostFailed,
        Self::NotAsked,
        Self::SendFailed,
        Self::NoListener,
        Self::TooShort,
    ];

    /// The name, as [`Reason::name`].
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::InTransition => "in-transition",
            Self::NoSma => "no-sma",
            Self::NotByLid => "not-by-lid",
            Self::NoAgent => "no-agent",
            Self::QueueFull => "queue-full",
            Self::NoMemory => "no-memory",
            Self::PostFailed => "post-failed",
            Self::NotAsked => "not-asked",
            Self::SendFailed => "send-failed",
            Self::NoListener => "no-listener",
            Self::TooShort => "too-short",
        }
    }
}

/// Every reason that an SMP can be discarded for, the rules' and the module's own, by number and name.
pub(crate) fn reasons() -> impl Iterator<Item = (u8, &'static str)> {
    let rules = Reason::ALL.iter().map(|r| (r.number(), r.name()));
    let obstacles = Obstacle::ALL.iter().map(|o| (*o as u8, o.name()));
    rules.chain(obstacles)
}

/// What became of the SMP at this hop.
#[derive(Clone, Copy)]
pub(crate) struct Hop<'a> {
    /// Where it was decided.
    pub(crate) point: Point,
    /// The SMP as it was on arrival.
    pub(crate) smp: &'a Smp,
    /// How it has its route.
    pub(crate) format: Format,
    /// The node and the port of its MAD agent.
    pub(crate) origin: Origin<'a>,
    /// Whether the node is a switch.
    pub(crate) is_switch: bool,
    /// The port that it came in by; 0 if the node itself sends.
    pub(crate) ingress: u8,
    /// What the rules say.
    pub(crate) decision: Decision,
    /// What stands against it all the same.
    pub(crate) obstacle: Option<Obstacle>,
}

impl<'a> Hop<'a> {
    /// The route of the SMP.
    #[inline]
    pub(crate) fn route(&self) -> DrSmp<'a> {
        self.format.route(self.smp)
    }

    /// Returns whether the SMP goes no further.
    #[inline]
    pub(crate) fn is_discarded(&self) -> bool {
        self.obstacle.is_some() || matches!(self.decision.verdict, Verdict::Discard(_))
    }

    /// Fires the event of the point. To be called before the SMP leaves, as [`ledger::note`], or the next
    /// hop is told first.
    #[inline(always)]
    pub(crate) fn tell(&self) {
        match self.point {
            Point::Recv => trace::recv(self),
            Point::Forward => trace::forward(self),
            Point::Reply => trace::reply(self),
            Point::Send => trace::send(self),
            Point::Local => (),
        }
    }

    /// Counts the decision; a discard is told too.
    ///
    /// To be called at every decision point, so that no discard is silent. The port's counters are looked
    /// up unless they are given.
    #[inline(always)]
    pub(crate) fn settle(&self, tally: Option<&Tally>) {
        let (verdict, ..) = self.outcome();
        let rule = self.decision.rule;
        match tally {
            Some(tally) => tally.decided(self.point, rule, verdict),
            None => counters::decided(self.origin, self.point, rule, verdict),
        }
        if self.is_discarded() {
            self.lost();
        }
    }

    /// Counts and tells that the SMP is lost, if need be after it was decided that it would not be.
    #[cold]
    #[inline(never)]
    pub(crate) fn lost(&self) {
        counters::discarded(self.origin, self.reason_number());
        trace::discard(self);
        ledger::note_loss(self);
    }

    /// The number of the reason, 0 if the SMP is not discarded.
    pub(crate) fn reason_number(&self) -> u8 {
        match (self.obstacle, self.decision.verdict) {
            (Some(obstacle), _) => obstacle as u8,
            (None, Verdict::Discard(reason)) => Reason::number(reason),
            (None, _) => 0,
        }
    }

    /// The name of the reason, `-` if the SMP is not discarded.
    fn reason(&self) -> &'static str {
        match (self.obstacle, self.decision.verdict) {
            (Some(obstacle), _) => obstacle.name(),
            (None, Verdict::Discard(reason)) => reason.name(),
            (None, _) => "-",
        }
    }

    /// The verdict's number, egress port and LID.
    #[inline]
    pub(crate) fn outcome(&self) -> (u8, u8, u32) {
        match self.decision.verdict {
            _ if self.obstacle.is_some() => (3, 0, 0),
            Verdict::Local => (0, 0, 0),
            Verdict::Forward { egress } => (1, egress, 0),
            Verdict::Route(lid) => (2, 0, lid.unwrap_or(0)),
            Verdict::Discard(_) => (3, 0, 0),
        }
    }

    /// The Hop Pointer as the SMP leaves or is handed up: unchanged when it is discarded.
    fn hop_after(&self, before: u8) -> u8 {
        if self.is_discarded() {
            before
        } else {
            self.decision.hop_ptr
        }
    }

    /// The hop in the form that the trace events take.
    pub(crate) fn to_c(self) -> bindings::ib_smi_hop {
        let header = Header::read(self.smp);
        let route = self.route();
        let (verdict, egress, lid) = self.outcome();
        let mut hop = bindings::ib_smi_hop {
            device: self
                .origin
                .device
                .map_or(core::ptr::null(), |device| device.as_raw()),
            tid: header.tid,
            port: self.origin.port,
            lid,
            attr_mod: header.attr_mod,
            attr_id: header.attr_id,
            status: header.status,
            mgmt_class: header.mgmt_class,
            method: header.method,
            ingress: self.ingress,
            egress,
            is_switch: self.is_switch.into(),
            point: self.point as u8,
            format: self.format as u8,
            verdict,
            reason: self.reason_number(),
            ..Default::default()
        };
        // What else is lost here, an answer by LID, has no such fields.
        if u32::from(header.mgmt_class) == bindings::IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE {
            let returning = route.direction == Direction::Returning;
            let path = if returning {
                route.return_path
            } else {
                route.initial_path
            };
            let [_, elements @ ..] = path;
            hop.path = elements.as_ptr();
            hop.path_len = if route.hop_cnt <= MAX_HOPS {
                route.hop_cnt
            } else {
                0
            };
            hop.returning = returning.into();
            hop.hop_before = route.hop_ptr;
            hop.hop_after = self.hop_after(route.hop_ptr);
            hop.hop_cnt = route.hop_cnt;
            hop.dr_slid = self.format.lid(route.dr_slid);
            hop.dr_dlid = self.format.lid(route.dr_dlid);
            hop.rule = self.decision.rule.number();
        }
        hop
    }
}

/// How many verdicts there are.
pub(crate) const VERDICTS: usize = 4;

/// The name of a verdict, by its number.
pub(crate) const fn verdict_name(number: u8) -> &'static str {
    match number {
        0 => "local",
        1 => "forward",
        2 => "route",
        _ => "discard",
    }
}

/// The hop as a line for dynamic debug: the node's ports and direction, Hop Pointer before and after,
/// Hop Count, verdict, rule and reason.
impl fmt::Display for Hop<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let route = self.route();
        let (verdict, egress, lid) = self.outcome();
        write!(
            f,
            "port={} {} in={} out={} hop={},{}/{} verdict={} lid={:#x} rule={} reason={} device=",
            self.origin.port,
            match route.direction {
                Direction::Outgoing => "request",
                Direction::Returning => "response",
            },
            self.ingress,
            egress,
            route.hop_ptr,
            self.hop_after(route.hop_ptr),
            route.hop_cnt,
            verdict_name(verdict),
            lid,
            self.decision.rule.name(),
            self.reason(),
        )?;
        match self.origin.device {
            Some(device) => fmt::Display::fmt(device.name(), f),
            None => f.write_str("-"),
        }
    }
}
