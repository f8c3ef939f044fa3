// SPDX-License-Identifier: GPL-2.0

//! Address handles: where a datagram goes.
//!
//! C header: [`include/rdma/ib_verbs.h`](srctree/include/rdma/ib_verbs.h)

use crate::bindings;
use kernel::{
    ffi::c_int,
    prelude::*, //
};

/// The global route of an address handle.
#[derive(Clone, Copy)]
pub(crate) struct Grh {
    /// The destination.
    pub(crate) dgid: [u8; 16],
    /// Which GID of the port to send from.
    pub(crate) sgid_index: u8,
    /// Flow label, 20 bits.
    pub(crate) flow_label: u32,
    /// How many routers may pass it on.
    pub(crate) hop_limit: u8,
    /// Traffic class.
    pub(crate) traffic_class: u8,
}

/// An address vector, as it was given to `create_ah`.
#[derive(Clone, Copy)]
pub(crate) struct AhAttr {
    /// Destination LID.
    pub(crate) dlid: u16,
    /// Low bits of the source LID.
    pub(crate) src_path_bits: u8,
    /// Service level.
    pub(crate) sl: u8,
    /// The port to send from; 0 on a switch.
    pub(crate) port: u32,
    /// The global route, if the datagram carries one.
    pub(crate) grh: Option<Grh>,
}

impl AhAttr {
    /// Reads the C form.
    fn from_c(attr: &bindings::rdma_ah_attr) -> Result<Self> {
        if attr.type_ != bindings::rdma_ah_attr_type_RDMA_AH_ATTR_TYPE_IB {
            return Err(EINVAL);
        }
        // SAFETY: `type_` says that this member of the union is the one in use.
        let ib = unsafe { attr.__bindgen_anon_1.ib.as_ref() };
        let grh = if u32::from(attr.ah_flags) & bindings::ib_ah_flags_IB_AH_GRH != 0 {
            // SAFETY: Every bit pattern is a valid `raw`.
            let dgid = unsafe { *attr.grh.dgid.raw.as_ref() };
            Some(Grh {
                dgid,
                sgid_index: attr.grh.sgid_index,
                flow_label: attr.grh.flow_label,
                hop_limit: attr.grh.hop_limit,
                traffic_class: attr.grh.traffic_class,
            })
        } else {
            None
        };
        Ok(Self {
            dlid: ib.dlid,
            src_path_bits: ib.src_path_bits,
            sl: attr.sl,
            port: attr.port_num,
            grh,
        })
    }

    /// The C form.
    fn to_c(self) -> bindings::rdma_ah_attr {
        let mut attr = bindings::rdma_ah_attr {
            type_: bindings::rdma_ah_attr_type_RDMA_AH_ATTR_TYPE_IB,
            sl: self.sl,
            port_num: self.port,
            ..Default::default()
        };
        // SAFETY: `type_` is set to match.
        let ib = unsafe { attr.__bindgen_anon_1.ib.as_mut() };
        ib.dlid = self.dlid;
        ib.src_path_bits = self.src_path_bits;
        if let Some(grh) = self.grh {
            // CAST: A flag, 1.
            attr.ah_flags = bindings::ib_ah_flags_IB_AH_GRH as u8;
            // SAFETY: Every bit pattern is a valid `raw`.
            let dgid = unsafe { attr.grh.dgid.raw.as_mut() };
            *dgid = grh.dgid;
            attr.grh.sgid_index = grh.sgid_index;
            attr.grh.flow_label = grh.flow_label;
            attr.grh.hop_limit = grh.hop_limit;
            attr.grh.traffic_class = grh.traffic_class;
        }
        attr
    }
}

/// What the RDMA core allocates for an address handle.
///
/// # Invariants
///
/// After `create_ah`, `attr` is valid until `destroy_ah`.
#[repr(C)]
pub(super) struct Ah {
    base: bindings::ib_ah,
    attr: AhAttr,
}

/// Reads the address vector of a handle.
///
/// # Safety
///
/// `ah` must be null, or a handle of a device of ours that is not destroyed during the call.
pub(super) unsafe fn attr(ah: *mut bindings::ib_ah) -> Option<AhAttr> {
    if ah.is_null() {
        return None;
    }
    // SAFETY: By the requirements, and since `base` is the first member of `Ah`.
    Some(unsafe { (*ah.cast::<Ah>()).attr })
}

/// `create_ah`: needs nothing but memory, which the core has allocated already.
///
/// # Safety
///
/// For the core only, which calls it as `struct ib_device_ops` has it.
pub(super) unsafe extern "C" fn create(
    ah: *mut bindings::ib_ah,
    init: *mut bindings::rdma_ah_init_attr,
    _udata: *mut bindings::ib_udata,
) -> c_int {
    kernel::error::from_result(|| {
        // SAFETY: The core passes valid attributes.
        let init = unsafe { &*init };
        // SAFETY: The core passes valid attributes.
        let attr = AhAttr::from_c(unsafe { &*init.ah_attr })?;
        // SAFETY: The core allocated `size_ib_ah` bytes for this handle, which is that of `Ah`.
        let slot = unsafe { &raw mut (*ah.cast::<Ah>()).attr };
        // INVARIANT: Established here.
        // SAFETY: Nobody else knows the handle yet.
        unsafe { slot.write(attr) };
        Ok(0)
    })
}

/// `query_ah`: all that it was made with. The MAD layer matches answers to requests by the global route.
///
/// # Safety
///
/// For the core only, which calls it as `struct ib_device_ops` has it.
pub(super) unsafe extern "C" fn query(
    ah: *mut bindings::ib_ah,
    out: *mut bindings::rdma_ah_attr,
) -> c_int {
    // SAFETY: The core passes a live handle of ours.
    let Some(attr) = (unsafe { attr(ah) }) else {
        return EINVAL.to_errno();
    };
    // SAFETY: The core passes valid memory for the answer, which need not be initialised.
    unsafe { out.write(attr.to_c()) };
    0
}

/// `destroy_ah`.
///
/// # Safety
///
/// For the core only, which calls it as `struct ib_device_ops` has it.
pub(super) unsafe extern "C" fn destroy(_ah: *mut bindings::ib_ah, _flags: u32) -> c_int {
    0
}
