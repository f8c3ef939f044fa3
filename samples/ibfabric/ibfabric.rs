// SPDX-License-Identifier: GPL-2.0

//! A virtual InfiniBand fabric: software HCAs and switches on the real RDMA core, joined by links.
//!
//! Every node is an `ib_device` of its own, so that all of them are there in `ibstat`, in
//! `/dev/infiniband` and to the kernel's MAD layer. A datagram that one of them sends crosses the
//! links and comes out of another's queue pair. What a switch does in hardware, forwarding by LID, is
//! done here; what its software does, directed routes, is left to the MAD layer.
//!
//! A packet's way through the rooms: [`qp`] (posted), [`wire`] (carried), [`qp`] (received),
//! [`cq`] (completed), [`sma`] (answered).

#[path = "../../rust/bindings/bindings.rs"]
mod bindings;
#[path = "../../rust/compat.rs"]
mod compat;
#[path = "../../rust/configfs.rs"]
mod configfs;
#[path = "../../rust/debugfs.rs"]
mod debugfs;
#[path = "../../rust/rdma"]
mod rdma {
    //! Safe wrappers over the RDMA core, of which only the provider's side is used here.

    pub(crate) mod provider;
}

mod capture;
mod config;
mod counters;
mod cq;
mod datagram;
mod debug;
mod enabled;
mod fabric;
mod faults;
mod inject;
mod lft;
mod link;
mod managed;
mod mft;
mod mkey;
mod node;
mod packet;
mod params;
mod pma;
mod port;
mod qp;
mod rate;
mod ring;
mod routing;
mod slvl;
mod sma;
mod ticker;
mod topology;
mod trap;
mod view;
mod wire;
mod words;

use kernel::{
    prelude::*,
    sync::Arc, //
};
use rdma::provider;

module! {
    type: IbFabric,
    name: "ibfabric",
    authors: ["ib_smi contributors"],
    description: "A virtual InfiniBand fabric of HCAs and switches",
    license: "GPL",
    params: {
        switches: u8 {
            default: 3,
            description: "Switches of a chain, 1 to 62",
        },
        leaves: u8 {
            default: 2,
            description: "Leaf switches of a fat tree, 1 to 64",
        },
        spines: u8 {
            default: 2,
            description: "Spine switches of a fat tree, 1 to 64",
        },
        hosts: u8 {
            default: 2,
            description: "HCAs at every leaf of a fat tree, 1 to 64",
        },
        capture: u16 {
            default: 0,
            description: "How many of the last packets on wires to keep for debugfs",
        },
    },
}

/// The module: a fabric, and its views in configfs and debugfs.
///
/// Dropped in this order: nobody can change the fabric any more, nor look at it, when it goes.
struct IbFabric {
    _config: config::Config,
    _debug: debug::Debug,
    _fabric: Arc<fabric::Fabric>,
    _watch: provider::Watch,
}

impl kernel::Module for IbFabric {
    fn init(module: &'static ThisModule) -> Result<Self> {
        let params = params::Params::read()?;
        let watch = provider::Watch::new(module)?;
        let plan = topology::plan(&params)?;
        let fabric = fabric::Fabric::build(&plan, &params)?;
        pr_info!("{} nodes, {} links\n", plan.nodes.len(), plan.links.len());
        let debug = debug::new(fabric.clone());
        // Last, for a directory must not come to a module that cannot be loaded.
        // SAFETY: A module is initialised once.
        let config = unsafe { config::Config::new(fabric.clone()) }?;
        Ok(Self {
            _config: config,
            _debug: debug,
            _fabric: fabric,
            _watch: watch,
        })
    }
}
