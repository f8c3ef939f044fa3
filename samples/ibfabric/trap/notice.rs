// SPDX-License-Identifier: GPL-2.0

//! Attribute Notice, which is what a trap carries.
//!
//! C header: [`include/rdma/ib_mad.h`](srctree/include/rdma/ib_mad.h)

use crate::{
    packet::LID_PERMISSIVE,
    provider::{
        NodeType,
        MAD_SIZE, //
    },
    sma::smp::{
        self,
        Smp, //
    },
    view::wire_view,
};

/// How much of a return path a notice has room for.
const PATH: usize = 30;

wire_view! {
    /// The parts that all notices have.
    Notice[64] {
        /// Whether the number is one of the specification's.
        generic, set_generic: bits(0, 7, 1);
        /// How bad it is.
        kind, set_kind: bits(0, 0, 7);
        /// The kind of node, 24 bits of which the upper ones are zero.
        producer, set_producer: u16(2);
        /// The trap's number.
        number, set_number: u16(4);
        /// The LID of who tells.
        issuer, set_issuer: u16(6);
    }
}

wire_view! {
    /// The notice of trap 128: the state of a link of a switch changed.
    LinkState[64] {
        /// The switch.
        lid, set_lid: u16(10);
    }
}

wire_view! {
    /// The notice of trap 144: something that the port tells of itself changed.
    LocalChange[64] {
        /// The port.
        lid, set_lid: u16(12);
        /// Whether it is something else than the capability mask.
        other, set_other: bits(15, 0, 1);
        /// The capability mask as it is now.
        cap_mask, set_cap_mask: u32(16);
        /// Whether it is the node description.
        node_desc, set_node_desc: bits(21, 0, 1);
    }
}

wire_view! {
    /// The notice of trap 256: an SMP had a wrong management key.
    BadKeyNotice[64] {
        /// Who sent it.
        lid, set_lid: u16(12);
        /// Its DrSLID.
        dr_slid, set_dr_slid: u16(14);
        /// Its method.
        method, set_method: u8(16);
        /// Its attribute.
        attribute, set_attribute: u16(18);
        /// Its modifier.
        modifier, set_modifier: u32(20);
        /// Its key.
        mkey, set_mkey: u64(24);
        /// Whether it came on a directed route.
        directed, set_directed: bits(33, 7, 1);
        /// Whether the path has no room here.
        truncated, set_truncated: bits(33, 6, 1);
        /// Its Hop Count.
        hop_count, set_hop_count: bits(33, 0, 6);
        /// Its Return Path, element 0 included as in the SMP.
        path, set_path: bytes(34, 30);
    }
}

/// An SMP that was refused for its management key.
#[derive(Clone, Copy)]
pub(crate) struct BadKey {
    slid: u16,
    directed: bool,
    dr_slid: u16,
    method: u8,
    attribute: u16,
    modifier: u32,
    key: u64,
    hop_count: u8,
    path: [u8; PATH],
}

impl BadKey {
    /// What there is to tell of an SMP from `slid`.
    pub(crate) fn new(smp: &Smp, slid: u16) -> Self {
        let directed = smp.class() == smp::CLASS_DIRECTED_ROUTE;
        let mut path = [0; PATH];
        let hops = usize::from(smp.hop_count()).saturating_add(1);
        for (to, from) in path.iter_mut().zip(smp.return_path()).take(hops) {
            *to = if directed { from } else { 0 };
        }
        Self {
            slid,
            directed,
            dr_slid: if directed { smp.dr_slid() } else { 0 },
            method: smp.method(),
            attribute: smp.attribute(),
            modifier: smp.modifier(),
            key: smp.mkey(),
            hop_count: if directed { smp.hop_count() } else { 0 },
            path,
        }
    }

    /// The notice.
    fn notice(&self) -> [u8; 64] {
        let mut notice = BadKeyNotice::zeroed();
        notice.set_lid(self.slid);
        notice.set_dr_slid(self.dr_slid);
        notice.set_method(self.method);
        notice.set_attribute(self.attribute);
        notice.set_modifier(self.modifier);
        notice.set_mkey(self.key);
        notice.set_directed(self.directed.into());
        notice.set_truncated((usize::from(self.hop_count) >= PATH).into());
        notice.set_hop_count(self.hop_count);
        notice.set_path(&self.path);
        notice.0
    }
}

/// Something that a subnet manager should hear of.
#[derive(Clone, Copy)]
pub(crate) enum Trap {
    /// The state of a link of this switch changed.
    LinkState,
    /// The capability mask of the port changed, or else the description of the node.
    LocalChange {
        /// The node's description did.
        node_desc: bool,
    },
    /// An SMP had a wrong management key.
    BadKey(BadKey),
}

/// How many kinds of traps there are.
pub(super) const KINDS: usize = 3;

/// Who tells.
pub(super) struct Issuer {
    /// The kind of node.
    pub(super) node_type: NodeType,
    /// The port's LID.
    pub(super) lid: u16,
    /// The port's capabilities.
    pub(super) cap_mask: u32,
}

impl Trap {
    /// The place of its kind.
    pub(super) fn kind(&self) -> usize {
        match self {
            Trap::LinkState => 0,
            Trap::LocalChange { .. } => 1,
            Trap::BadKey(_) => 2,
        }
    }

    /// The SMP. Its management key is zero, so that it does not give the port's away.
    pub(super) fn smp(&self, tid: u64, issuer: &Issuer) -> [u8; MAD_SIZE] {
        const URGENT: u8 = 1;
        const SECURITY: u8 = 2;
        const INFORMATIONAL: u8 = 4;
        let (number, kind, details) = match self {
            Trap::LinkState => {
                let mut notice = LinkState::zeroed();
                notice.set_lid(issuer.lid);
                (128, URGENT, notice.0)
            }
            Trap::LocalChange { node_desc } => {
                let mut notice = LocalChange::zeroed();
                notice.set_lid(issuer.lid);
                notice.set_other((*node_desc).into());
                notice.set_cap_mask(issuer.cap_mask);
                notice.set_node_desc((*node_desc).into());
                (144, INFORMATIONAL, notice.0)
            }
            Trap::BadKey(bad) => (256, SECURITY, bad.notice()),
        };
        let mut notice = Notice(details);
        notice.set_generic(1);
        notice.set_kind(kind);
        notice.set_producer(match issuer.node_type {
            NodeType::Ca => 1,
            NodeType::Switch => 2,
        });
        notice.set_number(number);
        notice.set_issuer(issuer.lid);
        let mut smp = Smp::zeroed();
        smp.set_base_version(1);
        smp.set_class(smp::CLASS_LID_ROUTED);
        smp.set_class_version(smp::CLASS_VERSION);
        smp.set_method(smp::METHOD_TRAP);
        smp.set_tid(tid);
        smp.set_attribute(smp::NOTICE);
        smp.set_dr_slid(LID_PERMISSIVE);
        smp.set_dr_dlid(LID_PERMISSIVE);
        smp.set_data(&notice.0);
        smp.0
    }
}
