// SPDX-License-Identifier: GPL-2.0

//! A datagram on its way.

use crate::{
    datagram::Datagram,
    mft,
    provider::{
        PortState,
        QpKind,
        GRH_SIZE, //
    },
    view::wire_view, //
};

/// The LID that stands for "whoever is at the other end of the link".
pub(crate) const LID_PERMISSIVE: u16 = 0xffff;

/// The queue pair number of packets to a multicast group.
const QPN_MULTICAST: u32 = 0xff_ffff;

/// A management datagram with what the headers around it say.
#[derive(Clone)]
pub(crate) struct Packet {
    /// Source LID.
    pub(crate) slid: u16,
    /// Destination LID.
    pub(crate) dlid: u16,
    /// Service level.
    pub(crate) sl: u8,
    /// Source queue pair.
    pub(crate) source: QpKind,
    /// Destination queue pair number.
    pub(crate) dest_qp: u32,
    /// The key of the destination, which QP0 does not look at.
    pub(crate) qkey: u32,
    /// The P_Key, which QP0 does not look at.
    pub(crate) pkey: u16,
    /// Whether the receiver shall be told at once.
    pub(crate) solicited: bool,
    /// The global route header, if there is one.
    pub(crate) grh: Option<[u8; GRH_SIZE]>,
    /// The datagram.
    pub(crate) data: Datagram,
    /// How often a fault held it back.
    pub(crate) strikes: u8,
}

impl Packet {
    /// Whether it is for a queue pair for subnet management, on the virtual lane of its own.
    pub(crate) fn is_smp(&self) -> bool {
        self.dest_qp == QpKind::Smi.number()
    }

    /// Whether it goes to the node at the other end of the link, whoever that is.
    pub(crate) fn is_for_anyone(&self) -> bool {
        self.dlid == LID_PERMISSIVE && self.is_smp()
    }

    /// Whether it goes to all of a group.
    pub(crate) fn is_multicast(&self) -> bool {
        (mft::FIRST_LID..LID_PERMISSIVE).contains(&self.dlid)
    }

    /// Which queue pair it is for, of those that there are. QP1 takes what is sent to a group, for
    /// there are no queue pairs that could be attached to one.
    pub(crate) fn dest(&self) -> Option<QpKind> {
        if self.is_smp() {
            (!self.is_multicast()).then_some(QpKind::Smi)
        } else if self.dest_qp == QpKind::Gsi.number()
            || self.dest_qp == QPN_MULTICAST && self.is_multicast()
        {
            Some(QpKind::Gsi)
        } else {
            None
        }
    }

    /// Whether a link in that state lets it out. Only SMPs use a link that is not active yet.
    pub(crate) fn may_leave(&self, state: PortState) -> bool {
        match state {
            PortState::Down => false,
            PortState::Init | PortState::Armed => self.is_smp(),
            PortState::Active => true,
        }
    }

    /// Whether a link in that state lets it in: before the other side is active, this one is armed.
    pub(crate) fn may_enter(&self, state: PortState) -> bool {
        match state {
            PortState::Down => false,
            PortState::Init => self.is_smp(),
            PortState::Armed | PortState::Active => true,
        }
    }
}

wire_view! {
    /// A global route header.
    GrhView[40] {
        /// Version, traffic class and flow label.
        version_class_flow, set_version_class_flow: u32(0);
        /// Length of what follows.
        length, set_length: u16(4);
        /// Kind of what follows.
        next_header, set_next_header: u8(6);
        /// How many routers may pass it on.
        hop_limit, set_hop_limit: u8(7);
        /// Source.
        sgid, set_sgid: bytes(8, 16);
        /// Destination.
        dgid, set_dgid: bytes(24, 16);
    }
}
