// SPDX-License-Identifier: GPL-2.0

//! What the module keeps of each device's ports to send with.

use super::{
    counters::Tally,
    direct::Queue,
    folder::{
        Page,
        Place,
        Sheet, //
    },
    origin::Origin,
    send_queue::Levels, //
};
use crate::rdma::{
    agent::{
        Agent,
        SpecialQp, //
    },
    client::{
        Client,
        Look,
        Registered,
        Registration, //
    },
    device::Device, //
};
use kernel::{
    alloc::KVec,
    prelude::*,
    sync::Arc, //
};

/// A port of the MAD layer's: one of a CA's, or port 0 of a switch.
pub(super) struct Port {
    number: u32,
    /// What is counted of it.
    page: Arc<Page>,
    /// To send directed-route SMPs with.
    pub(super) direct: Option<Pin<KBox<Queue>>>,
    /// To answer LID-routed SMPs with, through ib_mad.
    pub(super) smi: Option<Agent>,
    /// To answer GMPs with, through ib_mad.
    pub(super) gsi: Option<Agent>,
}

impl Port {
    /// Opens a port, as far as it goes: one that cannot send in one way still sends in the others.
    fn open(device: &'static Device, number: u32) -> Result<Self> {
        let failed = |what: &str, error: &Error| {
            pr_err!(
                "{} port {number}: no {what} (error {})\n",
                device.name(),
                error.to_errno()
            )
        };
        let agent = |has: bool, what, qp| {
            has.then(|| Agent::register(device, number, qp))?
                .inspect_err(|error| failed(what, error))
                .ok()
        };
        let has_smi = device.has_smi(number);
        Ok(Self {
            number,
            page: Arc::new(
                Page {
                    device,
                    port: number,
                    tally: Tally::new(),
                },
                GFP_KERNEL,
            )?,
            smi: agent(has_smi, "agent on QP0", SpecialQp::Smi),
            gsi: agent(device.has_gsi(number), "agent on QP1", SpecialQp::Gsi),
            direct: agent(has_smi, "agent on QP0", SpecialQp::Smi).and_then(|agent| {
                Queue::new(agent)
                    .inspect_err(|error| failed("send slots on QP0", error))
                    .ok()
            }),
        })
    }

    /// Returns the counters.
    #[inline]
    pub(super) fn tally(&self) -> &Tally {
        &self.page.tally
    }
}

/// The ports of a device.
pub(crate) struct Ports {
    device: &'static Device,
    ports: KVec<Port>,
    /// An aid: without it, everything else works.
    place: Option<Place>,
}

static REGISTRATION: Registration<Ports> = Registration::new();

impl Ports {
    /// Returns the port of that number: on a switch, port 0.
    pub(super) fn get(&self, number: u32) -> Option<&Port> {
        self.ports.iter().find(|port| port.number == number)
    }

    /// How full QP0 of a port is.
    pub(super) fn levels(&self, number: u32) -> Option<Levels> {
        Some(self.get(number)?.direct.as_ref()?.levels())
    }

    /// Calls `f`, which may sleep, with the ports of the device.
    #[inline]
    pub(super) fn of<R>(device: &Device, f: impl FnOnce(&Self) -> R) -> Option<R> {
        REGISTRATION.with(device, f)
    }

    /// Looks at the ports of the device that an SMP concerns.
    #[inline]
    pub(super) fn at(origin: Origin<'_>) -> Found<'_> {
        Found {
            look: origin.device.map(|device| REGISTRATION.look(device)),
            number: origin.port,
        }
    }

    /// Opens the ports of all devices, those that come later too, until the guard is dropped.
    pub(crate) fn open_all() -> Result<Registered<Self>> {
        REGISTRATION.register()
    }
}

/// A port that is being looked at: it stays as long as this. One may sleep meanwhile.
pub(super) struct Found<'a> {
    look: Option<Look<'a, Ports>>,
    number: u32,
}

impl Found<'_> {
    /// The port, if we have it.
    #[inline]
    pub(super) fn port(&self) -> Option<&Port> {
        self.look.as_ref()?.get()?.get(self.number)
    }
}

/// Calls `f`, which may sleep, with the counters of a port; returns whether it has some.
#[inline]
pub(super) fn with_tally(device: &Device, number: u32, f: impl FnOnce(&Tally)) -> Option<()> {
    Ports::of(device, |ports| ports.get(number).map(Port::tally).map(f)).flatten()
}

/// Calls `f`, which may sleep, with our agent on QP0 of a port.
pub(super) fn with_agent<R>(
    device: &Device,
    number: u32,
    f: impl FnOnce(&Agent) -> R,
) -> Option<R> {
    Ports::of(device, |ports| ports.get(number)?.smi.as_ref().map(f)).flatten()
}

impl Client for Ports {
    const NAME: &'static CStr = c"ib_smi";

    fn registration() -> &'static Registration<Self> {
        &REGISTRATION
    }

    fn add(device: &'static Device) -> Result<Arc<Self>> {
        let (mut ports, mut pages) = (KVec::new(), KVec::new());
        for number in device.mad_ports() {
            let port = Port::open(device, number)?;
            pages.push(port.page.clone(), GFP_KERNEL)?;
            ports.push(port, GFP_KERNEL)?;
        }
        let place = Arc::new(Sheet { device, pages }, GFP_KERNEL)
            .map_err(Error::from)
            .and_then(Place::take)
            .inspect_err(|error| {
                pr_err!(
                    "{}: not counted in debugfs (error {})\n",
                    device.name(),
                    error.to_errno()
                )
            })
            .ok();
        Ok(Arc::new(
            Self {
                device,
                ports,
                place,
            },
            GFP_KERNEL,
        )?)
    }

    #[inline]
    fn device(&self) -> &Device {
        self.device
    }

    fn renamed(&self) {
        if let Some(place) = &self.place {
            place.rename();
        }
    }
}
