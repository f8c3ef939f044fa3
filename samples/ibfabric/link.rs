// SPDX-License-Identifier: GPL-2.0

//! Links: whether two ports hear each other, which depends on both ends.

use crate::{
    compat::{
        new_spinlock_irq,
        SpinLockIrq, //
    },
    port::PortRef,
    provider::{
        PhysState,
        PortEvent,
        PortState, //
    },
    rate::Rate,
};
use kernel::{prelude::*, sync::Arc};

/// Makes one change to links at a time. Taken before the locks of ports, never within them.
#[pin_data]
pub(crate) struct LinkLock {
    #[pin]
    lock: SpinLockIrq<()>,
}

impl LinkLock {
    /// Makes the lock.
    pub(crate) fn new() -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                lock <- new_spinlock_irq!((), "ibfabric_links"),
            }),
            GFP_KERNEL,
        )
    }

    /// Plugs a link in between two ports that have none.
    pub(crate) fn plug(&self, a: &PortRef, b: &PortRef) -> Result {
        let _one_at_a_time = self.lock.lock();
        let (port_a, port_b) = (a.port().ok_or(EINVAL)?, b.port().ok_or(EINVAL)?);
        if port_a.peer().is_some() || port_b.peer().is_some() {
            return Err(EBUSY);
        }
        port_a.set_peer(Some(b.clone()));
        port_b.set_peer(Some(a.clone()));
        settle(a);
        Ok(())
    }

    /// Pulls out the link of a port, if there is one.
    pub(crate) fn unplug(&self, at: &PortRef) {
        let _one_at_a_time = self.lock.lock();
        let Some(port) = at.port() else { return };
        let Some(peer) = port.set_peer(None) else {
            return;
        };
        settle(at);
        if let Some(port) = peer.port() {
            port.set_peer(None);
        }
        settle(&peer);
    }

    /// Disables a port, or enables it again.
    pub(crate) fn set_disabled(&self, at: &PortRef, disabled: bool) {
        let _one_at_a_time = self.lock.lock();
        if let Some(port) = at.port() {
            port.configure(|config| config.disabled = disabled);
        }
        settle(at);
    }

    /// Takes a link down and lets it come up again.
    pub(crate) fn retrain(&self, at: &PortRef) {
        let _one_at_a_time = self.lock.lock();
        bring(at, None);
        if let Some(peer) = at.port().and_then(|port| port.peer()) {
            bring(&peer, None);
        }
        settle(at);
    }
}

/// Brings the link of a port to the state that follows from both ends.
fn settle(at: &PortRef) {
    let Some(port) = at.port() else { return };
    let peer = port.peer();
    let rate = peer.as_ref().and_then(PortRef::port).and_then(|other| {
        let (here, there) = (port.config(), other.config());
        let enabled = !here.disabled && !there.disabled;
        enabled
            .then(|| here.enabled.common(&there.enabled))
            .flatten()
    });
    bring(at, rate);
    if let Some(peer) = peer {
        bring(&peer, rate);
    }
}

/// Brings one end of a link up at a rate, or down without one, and tells who has to know.
fn bring(at: &PortRef, rate: Option<Rate>) {
    let Some(port) = at.port() else { return };
    let (before, after) = port.configure(|config| {
        let before = config.state;
        config.phys_state = match (rate, config.disabled) {
            (Some(_), _) => PhysState::LinkUp,
            (None, true) => PhysState::Disabled,
            (None, false) => PhysState::Polling,
        };
        config.active = rate.unwrap_or(config.rate);
        match (rate, before) {
            (Some(_), PortState::Down) => config.state = PortState::Init,
            (Some(_), _) => {}
            (None, _) => config.state = PortState::Down,
        }
        (before, config.state)
    });
    if before != PortState::Down && after == PortState::Down {
        port.counters.link_downed.bump();
    }
    if before != after {
        at.node.port_state_changed();
        // The core has one event for every state in which a port is not active.
        at.node.report(port, PortEvent::Error);
    }
}
