// SPDX-License-Identifier: GPL-2.0

//! The two states of a port in a Set of PortInfo, and what is switched on for the next training.
//!
//! The logical state goes from Init to Armed to Active by command, and down by command or by itself.
//! To ask for the state that there is changes nothing. A physical state is a command too: it takes
//! the link down, so that it does not go together with Armed or Active.

use crate::{
    enabled::Enabled,
    port::{
        PortConfig,
        PortRef, //
    },
    provider::PortState,
    sma::smp::{
        Fault,
        PortInfo, //
    },
};

/// A change of the link that a Set asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkChange {
    /// None.
    Nothing,
    /// Down, and up again.
    Retrain,
    /// Up again if it was down for good; else down, and up again.
    Enable,
    /// Down for good.
    Disable,
}

impl LinkChange {
    /// Does it. `at` must not be locked.
    pub(super) fn carry_out(self, at: &PortRef) {
        let disabled = at.port().is_some_and(|port| port.config().disabled);
        match self {
            LinkChange::Nothing => {}
            LinkChange::Disable => at.node.links.set_disabled(at, true),
            LinkChange::Enable if disabled => at.node.links.set_disabled(at, false),
            // A port that is off stays so if it is told to go down.
            LinkChange::Retrain if disabled => {}
            LinkChange::Enable | LinkChange::Retrain => at.node.links.retrain(at),
        }
    }
}

/// What the state fields of a Set mean for the link and for the logical state.
pub(super) fn next(
    now: PortState,
    asked: &PortInfo,
) -> Result<(LinkChange, Option<PortState>), Fault> {
    // Sleeping is not supported, neither at once nor when the link is lost.
    if !matches!(asked.down_default(), 0 | 2) {
        return Err(Fault::Value);
    }
    let link = match asked.phys_state() {
        0 => LinkChange::Nothing,
        2 => LinkChange::Enable,
        3 => LinkChange::Disable,
        _ => return Err(Fault::Value),
    };
    match (asked.port_state(), link, now) {
        (0, link, _) => Ok((link, None)),
        (1, LinkChange::Nothing, _) => Ok((LinkChange::Retrain, None)),
        (1, link, _) => Ok((link, None)),
        (3, LinkChange::Nothing, PortState::Init | PortState::Armed) => {
            Ok((LinkChange::Nothing, Some(PortState::Armed)))
        }
        (4, LinkChange::Nothing, PortState::Armed | PortState::Active) => {
            Ok((LinkChange::Nothing, Some(PortState::Active)))
        }
        _ => Err(Fault::Value),
    }
}

/// What is switched on after a Set.
pub(super) fn enabled(config: &PortConfig, asked: &PortInfo) -> Result<Enabled, Fault> {
    config
        .enabled
        .choose(
            config.rate,
            asked.width_enabled(),
            asked.speed_enabled(),
            asked.speed_extended_enabled(),
        )
        .ok_or(Fault::Value)
}
