// SPDX-License-Identifier: GPL-2.0

//! Sends what a port held back, in a context of its own.

use super::link::{
    Waiting,
    CAPACITY, //
};
use crate::{
    port::PortRef,
    ticker::{
        Tick,
        Ticker, //
    },
    wire, //
};
use kernel::{
    prelude::*,
    sync::{
        Arc,
        ArcBorrow, //
    },
    time::Msecs, //
};

/// Sends what a port held back.
///
/// It keeps the node, so that packets may be on their way when its device goes: they find no link.
#[pin_data]
pub(super) struct Delivery {
    at: PortRef,
    #[pin]
    ticker: Ticker<Self>,
}

impl Delivery {
    /// Of that port.
    pub(super) fn new(at: PortRef) -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                at,
                ticker <- Ticker::new(),
            }),
            GFP_KERNEL,
        )
    }

    /// Begins. [`Delivery::stop`] has to follow.
    pub(super) fn start(self: &Arc<Self>) {
        self.ticker.start(self.clone());
    }

    /// Sends no more, and waits for what is being sent. May sleep.
    pub(super) fn stop(&self) {
        self.ticker.stop();
    }

    /// Looks after what is due in `delay`. Works in any context.
    pub(super) fn wake_in(&self, delay: Msecs) {
        self.ticker.wake_in(delay);
    }

    /// Sends a packet.
    pub(super) fn send(&self, waiting: &Waiting) {
        wire::release(&self.at, &waiting.packet, waiting.forwarded);
    }
}

impl Tick for Delivery {
    fn tick(this: ArcBorrow<'_, Self>) {
        let Some(port) = this.at.port() else { return };
        // Taken out one at a time, since nothing may be locked while a packet is on its way. No more at once
        // than there is room for: more may come as fast as they leave.
        for _ in 0..CAPACITY {
            let Some(waiting) = port.faults(|faults| faults.take_due()).flatten() else {
                break;
            };
            this.send(&waiting);
        }
        port.faults(|faults| faults.rearm());
    }
}
