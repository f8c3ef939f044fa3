// SPDX-License-Identifier: GPL-2.0

//! Safe wrappers over the RDMA core, as its consumers see it.
//!
//! The provider's side, which only the virtual fabric needs, is in `rdma/provider.rs`.

pub(crate) mod agent;
pub(crate) mod client;
pub(crate) mod device;
