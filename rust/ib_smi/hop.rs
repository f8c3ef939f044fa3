// SPDX-License-Identifier: GPL-2.0

//! One hop of an SMP: where it is, what was decided about it, and the telling of it.

use super::{
    counters,
    origin::Origin,
    smp::Smp,
    trace, //
};
use crate::{
    bindings,
    dr::{
        Decision,
        DrSmp,
        Reason,
        Verdict, //
    }, //
};
use kernel::fmt;

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
}

impl Obstacle {
    /// Every obstacle, in the order of its number.
    pub(crate) const ALL: [Self; 9] = [
        Self::InTransition,
        Self::NoSma,
        Self::NotByLid,
        Self::NoAgent,
        Self::QueueFull,
        Self::NoMemory,
        Self::PostFailed,
        Self::NotAsked,
        Self::SendFailed,
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
        }
    }
}

/// What became of the SMP at this hop.
#[derive(Clone, Copy)]
pub(crate) struct Hop<'a> {
    /// The SMP as it was on arrival.
    pub(crate) smp: &'a Smp,
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
    /// Returns whether the SMP goes no further.
    #[inline]
    pub(crate) fn is_discarded(&self) -> bool {
        self.obstacle.is_some() || matches!(self.decision.verdict, Verdict::Discard(_))
    }

    /// Counts a discard and fires its event.
    ///
    /// To be called at every decision point, so that no discard is silent.
    #[inline]
    pub(crate) fn settle(&self) {
        if self.is_discarded() {
            self.discarded();
        }
    }

    #[cold]
    #[inline(never)]
    fn discarded(&self) {
        counters::discarded(self.reason_number());
        trace::discard(self);
    }

    /// The number of the reason, 0 if the SMP is not discarded.
    fn reason_number(&self) -> u8 {
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

    /// The verdict's number and name, egress port and LID.
    fn outcome(&self) -> (u8, &'static str, u8, u32) {
        match self.decision.verdict {
            _ if self.obstacle.is_some() => (3, "discard", 0, 0),
            Verdict::Local => (0, "local", 0, 0),
            Verdict::Forward { egress } => (1, "forward", egress, 0),
            Verdict::Route(lid) => (2, "route", 0, lid.unwrap_or(0)),
            Verdict::Discard(_) => (3, "discard", 0, 0),
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
        let (verdict, _, egress, lid) = self.outcome();
        bindings::ib_smi_hop {
            device: self
                .origin
                .device
                .map_or(core::ptr::null(), |device| device.as_raw()),
            smp: core::ptr::from_ref(self.smp).cast(),
            port: self.origin.port,
            lid,
            ingress: self.ingress,
            egress,
            hop_ptr: self.hop_after(DrSmp::from_ib(self.smp).hop_ptr),
            is_switch: self.is_switch.into(),
            verdict,
            rule: self.decision.rule.number(),
            reason: self.reason_number(),
        }
    }
}

/// The hop as a line for dynamic debug: the node's ports and direction, Hop Pointer before and after,
/// Hop Count, verdict, rule and reason.
impl fmt::Display for Hop<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let route = DrSmp::from_ib(self.smp);
        let (_, verdict, egress, lid) = self.outcome();
        write!(
            f,
            "port={} {} in={} out={} hop={},{}/{} verdict={} lid={:#x} rule={} reason={} device=",
            self.origin.port,
            match route.direction {
                crate::dr::Direction::Outgoing => "request",
                crate::dr::Direction::Returning => "response",
            },
            self.ingress,
            egress,
            route.hop_ptr,
            self.hop_after(route.hop_ptr),
            route.hop_cnt,
            verdict,
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
