// SPDX-License-Identifier: GPL-2.0

//! A node as a device of the RDMA core.

use super::{
    Node,
    GIDS,
    MAX_CQE,
    PKEYS,
    REVISION, //
};
use crate::{
    cq::Cq,
    pma,
    port,
    provider::{
        Alive,
        Anchor,
        DeviceAttr,
        MadOrigin,
        MadResult,
        NodeType,
        Notify,
        PortAttr,
        Provider,
        QpInit,
        QpKind,
        QpModify,
        QpState,
        RecvWr,
        Reporter,
        SendWr,
        WcBuffer,
        MAD_SIZE,
        OPA_MAD_SIZE, //
    },
    qp::{
        self,
        Qp, //
    },
    sma,
    trap::Trap,
    IbFabric, //
};
use kernel::{
    prelude::*,
    sync::{
        Arc,
        ArcBorrow, //
    },
};

impl Node {
    /// The port that a datagram came in by, of which the core tells the port whose agent it is for.
    fn ingress(&self, port: u32, origin: Option<MadOrigin>) -> Option<u8> {
        let ingress = match (self.node_type, origin) {
            (NodeType::Switch, Some(origin)) => origin.port,
            _ => port,
        };
        u8::try_from(ingress).ok()
    }
}

impl Provider for Node {
    type Module = IbFabric;
    type Cq = Arc<Cq>;
    type Qp = Arc<Qp>;

    const LOCAL_DMA_LKEY: u32 = qp::LOCAL_DMA_LKEY;
    const OPA_PKEY_INDEX: u16 = port::MANAGEMENT;

    fn reporter(&self) -> &Reporter {
        &self.reporter
    }

    fn registered(this: &Arc<Self>) {
        this.traps.start(this.clone());
    }

    fn unregistering(&self) {
        self.traps.stop();
        // Who has sent waits for it.
        for port in self.addressed_ports() {
            port.unstall(&[QpKind::Smi, QpKind::Gsi]);
        }
    }

    fn query_device(&self) -> DeviceAttr {
        DeviceAttr {
            sys_image_guid: self.system_guid,
            vendor_id: self.vendor_id,
            part_id: self.device_id.into(),
            revision: REVISION,
            ports: self.external_ports().into(),
            max_wr: qp::MAX_WR,
            max_cqe: MAX_CQE,
            max_send_sge: qp::MAX_SEND_SGE,
            max_pkeys: PKEYS,
        }
    }

    fn query_port(&self, port: u32) -> Result<PortAttr> {
        let config = self.find(port)?.config();
        Ok(PortAttr {
            state: config.state,
            phys_state: config.phys_state,
            lid: config.lid,
            lmc: config.lmc,
            sm_lid: config.sm_lid,
            sm_sl: config.sm_sl,
            cap_mask: config.cap_mask,
            subnet_prefix: config.gid_prefix,
            subnet_timeout: config.subnet_timeout,
            max_mtu: port::MTU_2048,
            active_mtu: config.mtu,
            active_width: config.active.width.bit(),
            active_speed: config.active.speed.core_number(),
            gids: GIDS.into(),
            pkeys: PKEYS,
            opa: self.opa,
        })
    }

    fn modify_port(&self, port: u32, set: u32, clear: u32) -> Result {
        let port = self.find(port)?;
        let before = port.configure(|config| {
            let next = config.cap_mask & !clear | set;
            core::mem::replace(&mut config.cap_mask, next)
        });
        if before != before & !clear | set {
            self.raise(port, Trap::LocalChange { node_desc: false });
        }
        Ok(())
    }

    fn set_node_desc(&self, desc: &[u8; 64]) -> Result {
        let before = core::mem::replace(&mut *self.desc.lock(), *desc);
        if before != *desc {
            for port in self.addressed_ports() {
                self.raise(port, Trap::LocalChange { node_desc: true });
            }
        }
        Ok(())
    }

    fn query_gid(&self, port: u32, index: usize) -> Result<[u8; 16]> {
        let port = self.find(port)?;
        if index >= usize::from(GIDS) {
            return Err(EINVAL);
        }
        Ok(Self::gid(port, &port.config(), index))
    }

    fn query_pkey(&self, port: u32, index: u16) -> Result<u16> {
        let pkeys = self.find(port)?.pkeys();
        pkeys.get(usize::from(index)).copied().ok_or(EINVAL)
    }

    fn create_cq(&self, depth: u32) -> Result<Arc<Cq>> {
        if depth == 0 || depth > MAX_CQE {
            return Err(EINVAL);
        }
        Cq::new(depth)
    }

    fn poll_cq(cq: &Arc<Cq>, out: &mut WcBuffer<'_>) {
        cq.poll(out);
    }

    fn req_notify_cq(cq: &Arc<Cq>, notify: Notify) -> bool {
        cq.arm(notify)
    }

    fn create_qp(&self, init: QpInit<'_, Self>, anchor: Arc<Anchor>) -> Result<Arc<Qp>> {
        let port = self.find(init.port)?;
        let qp = Qp::new(port.number, &init, anchor)?;
        port.plug(init.kind, qp.clone())?;
        Ok(qp)
    }

    fn modify_qp(qp: &Arc<Qp>, change: &QpModify, alive: Alive<'_>) -> Result {
        qp.modify(change, alive)
    }

    fn qp_state(qp: &Arc<Qp>) -> QpState {
        qp.state()
    }

    fn unplug_qp(&self, qp: &Arc<Qp>) {
        if let Some(port) = self.port(qp.port) {
            port.unplug(qp.kind);
        }
    }

    fn destroy_qp(&self, qp: Arc<Qp>) {
        drop(qp);
    }

    fn post_send(&self, qp: &Arc<Qp>, wr: &SendWr<'_>, alive: Alive<'_>) -> Result {
        qp.post_send(self, wr, alive)
    }

    fn post_recv(&self, qp: &Arc<Qp>, wr: RecvWr, alive: Alive<'_>) -> Result {
        qp.post_recv(self, wr, alive)
    }

    fn process_mad(
        this: ArcBorrow<'_, Self>,
        port: u32,
        origin: Option<MadOrigin>,
        request: &[u8; MAD_SIZE],
        reply: &mut [u8; MAD_SIZE],
    ) -> MadResult {
        if pma::is_for(request) {
            return pma::process(&this, request, reply);
        }
        match this.ingress(port, origin) {
            Some(ingress) => sma::process(this, ingress, origin, request, reply),
            None => MadResult::Consumed,
        }
    }

    fn process_opa_mad(
        this: ArcBorrow<'_, Self>,
        port: u32,
        origin: Option<MadOrigin>,
        request: &[u8],
        reply: &mut [u8; OPA_MAD_SIZE],
    ) -> MadResult {
        match this.ingress(port, origin) {
            Some(ingress) => sma::opa::process(&this, ingress, request, reply),
            None => MadResult::Consumed,
        }
    }
}
