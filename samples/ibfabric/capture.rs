// SPDX-License-Identifier: GPL-2.0

//! Remembers the last packets on wires, for tests and the curious. Costs nothing when off.

use crate::{
    compat::{
        new_spinlock_irq,
        SpinLockIrq, //
    },
    datagram::Datagram,
    node::Node,
    packet::Packet,
    port::PortRef,
    ring::Ring, //
};
use kernel::{
    fmt,
    prelude::*,
    sync::Arc,
    time::{
        Instant,
        Monotonic, //
    }, //
};

/// A packet on a wire.
#[derive(Clone)]
struct Sighting {
    /// When.
    time: Instant<Monotonic>,
    /// From which port.
    from: (Name, u8),
    /// To which port.
    to: (Name, u8),
    /// Source LID.
    slid: u16,
    /// Destination LID.
    dlid: u16,
    /// The datagram.
    data: Datagram,
}

/// The name of a node, kept without a reference to it.
type Name = [u8; MAX_NAME];

/// No name of a node is longer: `IB_DEVICE_NAME_MAX`, less the nul.
const MAX_NAME: usize = 63;

/// Copies a name.
fn name_of(node: &Node) -> Name {
    let mut name = [0; MAX_NAME];
    for (to, from) in name.iter_mut().zip(node.name().bytes()) {
        *to = from;
    }
    name
}

/// The part under the lock.
struct Inner {
    ring: Ring<Sighting>,
    /// How many were seen before the oldest that is remembered.
    forgotten: u64,
}

/// The memory.
#[pin_data]
pub(crate) struct Capture {
    capacity: usize,
    start: Instant<Monotonic>,
    #[pin]
    inner: SpinLockIrq<Inner>,
}

impl Capture {
    /// Remembers the last `capacity` packets.
    pub(crate) fn new(capacity: usize) -> Result<Arc<Self>> {
        let ring = Ring::new(capacity)?;
        Arc::pin_init(
            pin_init!(Self {
                capacity,
                start: Instant::now(),
                inner <- new_spinlock_irq!(Inner { ring, forgotten: 0 }, "ibfabric_capture"),
            }),
            GFP_KERNEL,
        )
    }

    /// Takes note of a packet that goes over a link.
    pub(crate) fn record(&self, node: &Node, port: u8, peer: &PortRef, packet: &Packet) {
        if self.capacity == 0 {
            return;
        }
        let sighting = Sighting {
            time: Instant::now(),
            from: (name_of(node), port),
            to: (name_of(&peer.node), peer.number),
            slid: packet.slid,
            dlid: packet.dlid,
            data: packet.data.clone(),
        };
        let mut inner = self.inner.lock();
        if inner.ring.len() >= self.capacity {
            inner.ring.pop();
            inner.forgotten = inner.forgotten.saturating_add(1);
        }
        // There is room now.
        let _ = inner.ring.push(sighting);
    }

    /// The oldest packet that is still remembered, of those from number `next` on; with its number.
    fn find(&self, next: u64) -> Option<(u64, Sighting)> {
        let inner = self.inner.lock();
        let number = next.max(inner.forgotten);
        let offset = usize::try_from(number.saturating_sub(inner.forgotten)).ok()?;
        Some((number, inner.ring.get(offset)?.clone()))
    }

    /// How many were seen so far.
    fn count(&self) -> u64 {
        let inner = self.inner.lock();
        let remembered = u64::try_from(inner.ring.len()).unwrap_or(u64::MAX);
        inner.forgotten.saturating_add(remembered)
    }

    /// Writes one line a packet: microseconds since load, from, to, LIDs, datagram.
    ///
    /// Those that come meanwhile are left out, for they may come faster than they can be written.
    pub(crate) fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.count();
        let mut next = 0u64;
        while let Some((number, seen)) = self.find(next).filter(|(number, _)| *number < end) {
            next = number.saturating_add(1);
            let since = (seen.time - self.start).as_micros_ceil();
            write!(f, "{since} ")?;
            for (name, port) in [&seen.from, &seen.to] {
                for byte in name.iter().take_while(|byte| **byte != 0) {
                    write!(f, "{}", char::from(*byte))?;
                }
                write!(f, ":{port} ")?;
            }
            write!(f, "slid={:#06x} dlid={:#06x} ", seen.slid, seen.dlid)?;
            for byte in seen.data.parts().into_iter().flatten() {
                write!(f, "{byte:02x}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
