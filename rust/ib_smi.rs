// SPDX-License-Identifier: GPL-2.0

//! ib_smi.

use kernel::prelude::*;

#[path = "bindings/bindings.rs"]
mod bindings;

module! {
    type: IbSmi,
    name: "ib_smi",
    authors: ["ib_smi contributors"],
    description: "InfiniBand Subnet Management Interface: directed-route SMPs",
    license: "GPL",
}

struct IbSmi;

impl kernel::Module for IbSmi {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        pr_info!("{} {} {}\n", size_of::<bindings::ib_mad_private>(), size_of::<bindings::ib_device>(), core::mem::offset_of!(bindings::ib_mad_private, mad));
        Ok(IbSmi)
    }
}
