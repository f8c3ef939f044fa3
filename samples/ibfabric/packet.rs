// SPDX-License-Identifier: GPL-2.0

//! A datagram on its way.

use crate::{
    provider::{
        QpKind,
        GRH_SIZE,
        MAD_SIZE, //
    },
    view::wire_view, //
};

/// The LID that stands for "whoever is at the other end of the link".
pub(crate) const LID_PERMISSIVE: u16 = 0xffff;

/// A management datagram with what the headers around it say.
pub(crate) struct Packet {
    /// Source LID.
    pub(crate) slid: u16,
    /// Destination LID.
    pub(crate) dlid: u16,
    /// Service level.
    pub(crate) sl: u8,
    /// Source queue pair.
    pub(crate) src_qp: u32,
    /// Destination queue pair.
    pub(crate) dest: QpKind,
    /// The key of the destination, which QP0 does not look at.
    pub(crate) qkey: u32,
    /// Which P_Key, by index, as there is but one table.
    pub(crate) pkey_index: u16,
    /// Whether the receiver shall be told at once.
    pub(crate) solicited: bool,
    /// The global route header, if there is one.
    pub(crate) grh: Option<[u8; GRH_SIZE]>,
    /// The datagram.
    pub(crate) data: [u8; MAD_SIZE],
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
