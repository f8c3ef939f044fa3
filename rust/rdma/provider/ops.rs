// SPDX-License-Identifier: GPL-2.0

//! The table of a device's operations, and those that belong to no object.
//!
//! Without every operation of `ib_device_check_mandatory()` the core silently leaves the MAD layer
//! away, so that memory registration has to be here too, if only to be refused.
//!
//! C header: [`include/rdma/ib_verbs.h`](srctree/include/rdma/ib_verbs.h)

use super::{
    ah,
    cq,
    device,
    mad,
    qp,
    Provider, //
};
use crate::{
    bindings,
    compat::{
        eopnotsupp,
        this_module, //
    }, //
};
use core::{
    marker::PhantomData,
    mem::MaybeUninit,
    ptr, //
};
use kernel::{
    error::from_result,
    ffi::c_int,
    prelude::*, //
};

/// The operations of the devices of `P`.
pub(super) struct Table<P: Provider>(PhantomData<P>);

impl<P: Provider> Table<P> {
    /// The core allocates objects with `kzalloc`, which aligns to this at least.
    const ALIGNED: () = assert!(align_of::<qp::Qp<P>>() <= 8 && align_of::<cq::Cq<P>>() <= 8);

    /// The table itself.
    pub(super) const OPS: bindings::ib_device_ops = {
        let () = Self::ALIGNED;
        bindings::ib_device_ops {
            owner: this_module::<P::Module>().as_ptr(),
            driver_id: bindings::rdma_driver_id_RDMA_DRIVER_UNKNOWN,
            query_device: Some(query_device::<P>),
            modify_device: Some(modify_device::<P>),
            query_port: Some(query_port::<P>),
            modify_port: Some(modify_port::<P>),
            get_port_immutable: Some(get_port_immutable::<P>),
            get_link_layer: Some(get_link_layer),
            query_gid: Some(query_gid::<P>),
            query_pkey: Some(query_pkey::<P>),
            alloc_pd: Some(alloc_pd),
            dealloc_pd: Some(dealloc_pd),
            create_ah: Some(ah::create),
            query_ah: Some(ah::query),
            destroy_ah: Some(ah::destroy),
            create_cq: Some(cq::create::<P>),
            destroy_cq: Some(cq::destroy::<P>),
            poll_cq: Some(cq::poll::<P>),
            req_notify_cq: Some(cq::req_notify::<P>),
            create_qp: Some(qp::create::<P>),
            modify_qp: Some(qp::modify::<P>),
            query_qp: Some(qp::query::<P>),
            destroy_qp: Some(qp::destroy::<P>),
            post_send: Some(qp::post_send::<P>),
            post_recv: Some(qp::post_recv::<P>),
            get_dma_mr: Some(get_dma_mr),
            reg_user_mr: Some(reg_user_mr),
            dereg_mr: Some(dereg_mr),
            process_mad: Some(mad::process::<P>),
            size_ib_ah: size_of::<ah::Ah>(),
            size_ib_cq: size_of::<cq::Cq<P>>(),
            size_ib_pd: size_of::<bindings::ib_pd>(),
            size_ib_qp: size_of::<qp::Qp<P>>(),
            // SAFETY: Numbers, pointers and optional functions, of which zero is a valid value.
            ..unsafe { MaybeUninit::zeroed().assume_init() }
        }
    };
}

/// `query_device`.
///
/// # Safety
///
/// For the core only, which calls it as `struct ib_device_ops` has it.
unsafe extern "C" fn query_device<P: Provider>(
    device: *mut bindings::ib_device,
    attr: *mut bindings::ib_device_attr,
    udata: *mut bindings::ib_udata,
) -> c_int {
    if !udata.is_null() {
        return EINVAL.to_errno();
    }
    // SAFETY: The core passes a registered device of ours.
    let device = unsafe { device::data::<P>(device) };
    // SAFETY: The core passes valid memory for the answer.
    device.query_device().to_c(unsafe { &mut *attr });
    0
}

/// `modify_device`: the node description only.
///
/// # Safety
///
/// For the core only, which calls it as `struct ib_device_ops` has it.
unsafe extern "C" fn modify_device<P: Provider>(
    device: *mut bindings::ib_device,
    mask: c_int,
    modify: *mut bindings::ib_device_modify,
) -> c_int {
    from_result(|| {
        // CAST: A flag.
        if mask & !(bindings::ib_device_modify_flags_IB_DEVICE_MODIFY_NODE_DESC as c_int) != 0 {
            return Err(eopnotsupp());
        }
        // SAFETY: The core passes valid attributes.
        let desc = unsafe { &*(&raw const (*modify).node_desc).cast::<[u8; 64]>() };
        // SAFETY: The core passes a registered device of ours.
        unsafe { device::data::<P>(device) }.set_node_desc(desc)?;
        // SAFETY: As above; the core keeps a copy for sysfs there, as all drivers do.
        unsafe { (*device).node_desc = (*modify).node_desc };
        Ok(0)
    })
}

/// `query_port`.
///
/// # Safety
///
/// For the core only, which calls it as `struct ib_device_ops` has it.
unsafe extern "C" fn query_port<P: Provider>(
    device: *mut bindings::ib_device,
    port: u32,
    attr: *mut bindings::ib_port_attr,
) -> c_int {
    from_result(|| {
        // SAFETY: The core passes a registered device of ours.
        let answer = unsafe { device::data::<P>(device) }.query_port(port)?;
        // SAFETY: The core passes valid memory for the answer.
        answer.to_c(unsafe { &mut *attr });
        Ok(0)
    })
}

/// `modify_port`: capability bits only, of which `IsSM` is the one that counts.
///
/// # Safety
///
/// For the core only, which calls it as `struct ib_device_ops` has it.
unsafe extern "C" fn modify_port<P: Provider>(
    device: *mut bindings::ib_device,
    port: u32,
    _mask: c_int,
    modify: *mut bindings::ib_port_modify,
) -> c_int {
    from_result(|| {
        // SAFETY: The core passes valid attributes.
        let modify = unsafe { &*modify };
        // SAFETY: The core passes a registered device of ours.
        let device = unsafe { device::data::<P>(device) };
        device.modify_port(port, modify.set_port_cap_mask, modify.clr_port_cap_mask)?;
        Ok(0)
    })
}

/// `get_port_immutable`.
///
/// # Safety
///
/// For the core only, which calls it as `struct ib_device_ops` has it.
unsafe extern "C" fn get_port_immutable<P: Provider>(
    device: *mut bindings::ib_device,
    port: u32,
    out: *mut bindings::ib_port_immutable,
) -> c_int {
    from_result(|| {
        // SAFETY: The core passes a device of ours that it is registering.
        let attr = unsafe { device::data::<P>(device) }.query_port(port)?;
        // SAFETY: The core passes valid memory for the answer.
        let out = unsafe { &mut *out };
        out.gid_tbl_len = c_int::try_from(attr.gids)?;
        out.pkey_tbl_len = attr.pkeys.into();
        let (flags, max_mad_size) = if attr.opa {
            // Without `RDMA_CORE_CAP_OPA_AH`: addresses are InfiniBand's, with LIDs of 16 bits.
            (bindings::RDMA_CORE_PORT_INTEL_OPA, mad::OPA_MAD_SIZE)
        } else {
            (bindings::RDMA_CORE_PORT_IBA_IB, mad::MAD_SIZE)
        };
        out.core_cap_flags = flags;
        if port == 0 {
            // ib_core's SA client asks for this of the wrong port when a switch goes, and would leave a
            // delayed work behind that an event on port 0 has queued.
            out.core_cap_flags &= !bindings::RDMA_CORE_CAP_IB_SA;
        }
        out.max_mad_size = u32::try_from(max_mad_size)?;
        Ok(0)
    })
}

/// `get_link_layer`.
///
/// # Safety
///
/// For the core only, which calls it as `struct ib_device_ops` has it.
unsafe extern "C" fn get_link_layer(
    _device: *mut bindings::ib_device,
    _port: u32,
) -> bindings::rdma_link_layer {
    bindings::rdma_link_layer_IB_LINK_LAYER_INFINIBAND
}

/// `query_gid`.
///
/// # Safety
///
/// For the core only, which calls it as `struct ib_device_ops` has it.
unsafe extern "C" fn query_gid<P: Provider>(
    device: *mut bindings::ib_device,
    port: u32,
    index: c_int,
    gid: *mut bindings::ib_gid,
) -> c_int {
    from_result(|| {
        // SAFETY: The core passes a registered device of ours.
        let device = unsafe { device::data::<P>(device) };
        let answer = device.query_gid(port, usize::try_from(index)?)?;
        // SAFETY: The core passes valid memory for the answer, 16 bytes in every form.
        unsafe { gid.cast::<[u8; 16]>().write(answer) };
        Ok(0)
    })
}

/// `query_pkey`.
///
/// # Safety
///
/// For the core only, which calls it as `struct ib_device_ops` has it.
unsafe extern "C" fn query_pkey<P: Provider>(
    device: *mut bindings::ib_device,
    port: u32,
    index: u16,
    pkey: *mut u16,
) -> c_int {
    from_result(|| {
        // SAFETY: The core passes a registered device of ours.
        let answer = unsafe { device::data::<P>(device) }.query_pkey(port, index)?;
        // SAFETY: The core passes valid memory for the answer.
        unsafe { pkey.write(answer) };
        Ok(0)
    })
}

/// `alloc_pd`: there is nothing to protect.
///
/// # Safety
///
/// For the core only, which calls it as `struct ib_device_ops` has it.
unsafe extern "C" fn alloc_pd(_pd: *mut bindings::ib_pd, _udata: *mut bindings::ib_udata) -> c_int {
    0
}

/// `dealloc_pd`.
///
/// # Safety
///
/// For the core only, which calls it as `struct ib_device_ops` has it.
unsafe extern "C" fn dealloc_pd(
    _pd: *mut bindings::ib_pd,
    _udata: *mut bindings::ib_udata,
) -> c_int {
    0
}

/// An error as a pointer, as `ERR_PTR()` makes them.
fn err_ptr(error: Error) -> *mut bindings::ib_mr {
    // CAST: Sign extension is what `ERR_PTR()` does.
    ptr::without_provenance_mut(error.to_errno() as isize as usize)
}

/// `get_dma_mr`: never called, for there is a local DMA key.
///
/// # Safety
///
/// For the core only, which calls it as `struct ib_device_ops` has it.
unsafe extern "C" fn get_dma_mr(_pd: *mut bindings::ib_pd, _access: c_int) -> *mut bindings::ib_mr {
    err_ptr(eopnotsupp())
}

/// `reg_user_mr`: refused.
///
/// # Safety
///
/// For the core only, which calls it as `struct ib_device_ops` has it.
unsafe extern "C" fn reg_user_mr(
    _pd: *mut bindings::ib_pd,
    _start: u64,
    _length: u64,
    _virt_addr: u64,
    _access: c_int,
    _dmah: *mut bindings::ib_dmah,
    _udata: *mut bindings::ib_udata,
) -> *mut bindings::ib_mr {
    err_ptr(eopnotsupp())
}

/// `dereg_mr`: there is none.
///
/// # Safety
///
/// For the core only, which calls it as `struct ib_device_ops` has it.
unsafe extern "C" fn dereg_mr(_mr: *mut bindings::ib_mr, _udata: *mut bindings::ib_udata) -> c_int {
    EINVAL.to_errno()
}
