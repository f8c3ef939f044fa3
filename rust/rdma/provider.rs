// SPDX-License-Identifier: GPL-2.0

//! Safe wrappers over the RDMA core, as the driver of a device sees it.
//!
//! A driver implements [`Provider`] for the data of one device and gets an `ib_device` by way of
//! [`Registration`]. Everything that the C side hands over as a pointer arrives here as a Rust type,
//! and what a driver may only do while a queue pair lives needs an [`Alive`] that proves it. Only what
//! a device for management datagrams needs is here: QP0 and QP1, no memory registration, no user
//! space verbs.
//!
//! C header: [`include/rdma/ib_verbs.h`](srctree/include/rdma/ib_verbs.h)

mod ah;
mod anchor;
mod attr;
mod cm;
mod cq;
mod device;
mod event;
mod mad;
mod ops;
mod qp;
mod wc;
mod wr;

use kernel::{
    prelude::*,
    sync::{
        Arc,
        ArcBorrow, //
    },
    ModuleMetadata, //
};

pub(crate) use self::{
    ah::{
        AhAttr,
        Grh, //
    },
    anchor::{
        Alive,
        Anchor,
        Pass,
        Queue, //
    },
    attr::{
        DeviceAttr,
        NodeType,
        PhysState,
        PortAttr,
        PortState, //
    },
    cm::Watch,
    cq::{
        Notify,
        WcBuffer, //
    },
    device::{
        DeviceInfo,
        Registration, //
    },
    event::{
        PortEvent,
        Reporter, //
    },
    mad::{
        MadOrigin,
        MadResult,
        MAD_SIZE,
        OPA_MAD_SIZE, //
    },
    qp::{
        QpCaps,
        QpInit,
        QpKind,
        QpModify,
        QpState, //
    },
    wc::{
        Opcode,
        QpId,
        Status,
        Wc, //
    },
    wr::{
        RecvBuffer,
        RecvWr,
        SendWr, //
    },
};

/// Size of the area before the datagram in every receive buffer.
pub(crate) const GRH_SIZE: usize = 40;

/// What the driver of one device has to do.
///
/// The functions without `self` work on objects that outlive the call by the rules of the C API: a
/// queue is not posted to while it is destroyed.
pub(crate) trait Provider: Send + Sync + Sized + 'static {
    /// The module that may not go while a device is in use.
    type Module: ModuleMetadata;

    /// A completion queue.
    type Cq: Send + Sync + 'static;

    /// A queue pair.
    type Qp: Send + Sync + 'static;

    /// The key that every scatter and gather entry has to carry.
    const LOCAL_DMA_LKEY: u32;

    /// Which P_Key a port of Omni-Path answers with.
    const OPA_PKEY_INDEX: u16;

    /// The way back to the device.
    fn reporter(&self) -> &Reporter;

    /// The device is registered now.
    fn registered(this: &Arc<Self>);

    /// The device is about to be unregistered: what goes on by itself has to end here. May sleep.
    fn unregistering(&self);

    /// Describes the device.
    fn query_device(&self) -> DeviceAttr;

    /// Describes a port; a switch has only port 0 here.
    fn query_port(&self, port: u32) -> Result<PortAttr>;

    /// Sets and clears capability bits of a port.
    fn modify_port(&self, port: u32, set: u32, clear: u32) -> Result;

    /// Changes the node description.
    fn set_node_desc(&self, desc: &[u8; 64]) -> Result;

    /// Reads an entry of a port's GID table.
    fn query_gid(&self, port: u32, index: usize) -> Result<[u8; 16]>;

    /// Reads an entry of a port's P_Key table.
    fn query_pkey(&self, port: u32, index: u16) -> Result<u16>;

    /// Makes a completion queue of at least `depth` entries.
    fn create_cq(&self, depth: u32) -> Result<Self::Cq>;

    /// Moves completions to `out`, as many as fit.
    fn poll_cq(cq: &Self::Cq, out: &mut WcBuffer<'_>);

    /// Arms the queue. Returns whether completions are already there.
    fn req_notify_cq(cq: &Self::Cq, notify: Notify) -> bool;

    /// Makes QP0 or QP1 of a port.
    fn create_qp(&self, init: QpInit<'_, Self>, anchor: Arc<Anchor>) -> Result<Self::Qp>;

    /// Changes state and attributes.
    fn modify_qp(qp: &Self::Qp, change: &QpModify, alive: Alive<'_>) -> Result;

    /// The state of a queue pair.
    fn qp_state(qp: &Self::Qp) -> QpState;

    /// Takes the queue pair out of reach of arriving packets. They may still be at work on it.
    fn unplug_qp(&self, qp: &Self::Qp);

    /// Destroys the queue pair; nothing is at work on it any more.
    fn destroy_qp(&self, qp: Self::Qp);

    /// Posts one send. May not sleep.
    fn post_send(&self, qp: &Self::Qp, wr: &SendWr<'_>, alive: Alive<'_>) -> Result;

    /// Posts one receive buffer. May not sleep.
    fn post_recv(&self, qp: &Self::Qp, wr: RecvWr, alive: Alive<'_>) -> Result;

    /// Looks at a datagram that arrived, before any agent does, and may answer it in `reply`.
    fn process_mad(
        this: ArcBorrow<'_, Self>,
        port: u32,
        origin: Option<MadOrigin>,
        request: &[u8; MAD_SIZE],
        reply: &mut [u8; MAD_SIZE],
    ) -> MadResult;

    /// The same for a datagram of Omni-Path, at a port that has them. `request` may have any length.
    fn process_opa_mad(
        this: ArcBorrow<'_, Self>,
        port: u32,
        origin: Option<MadOrigin>,
        request: &[u8],
        reply: &mut [u8; OPA_MAD_SIZE],
    ) -> MadResult;
}
