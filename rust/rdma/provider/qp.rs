// SPDX-License-Identifier: GPL-2.0

//! Queue pairs, as the core calls them: QP0 and QP1 of a port.
//!
//! C header: [`include/rdma/ib_verbs.h`](srctree/include/rdma/ib_verbs.h)

mod attr;

pub(crate) use self::attr::{
    QpCaps,
    QpInit,
    QpKind,
    QpModify,
    QpState, //
};
use super::{
    anchor::Anchor,
    cq, device,
    wr::{
        RecvWr,
        SendWr, //
    },
    Provider,
};
use crate::{
    bindings,
    compat::eopnotsupp, //
};
use core::{
    mem::MaybeUninit,
    ptr::NonNull, //
};
use kernel::{
    error::from_result,
    ffi::c_int,
    prelude::*,
    sync::Arc, //
};

/// What a live queue pair has on our side.
struct Inner<P: Provider> {
    kind: QpKind,
    qp: P::Qp,
    anchor: Arc<Anchor>,
}

/// What the RDMA core allocates for a queue pair.
///
/// # Invariants
///
/// `inner` is initialised from `create_qp` to `destroy_qp`.
#[repr(C)]
pub(super) struct Qp<P: Provider> {
    base: bindings::ib_qp,
    inner: MaybeUninit<Inner<P>>,
}

/// Our side of a queue pair.
///
/// # Safety
///
/// `qp` must be a queue pair of a device of `P`, alive for `'a`.
unsafe fn inner<'a, P: Provider>(qp: *mut bindings::ib_qp) -> &'a Inner<P> {
    // SAFETY: By the requirements; `base` is the first member.
    let slot = unsafe { &(*qp.cast::<Qp<P>>()).inner };
    // SAFETY: By the type invariants.
    unsafe { slot.assume_init_ref() }
}

/// The device of a queue pair.
///
/// # Safety
///
/// As for [`inner`].
unsafe fn device_of<'a, P: Provider>(qp: *mut bindings::ib_qp) -> &'a P {
    // SAFETY: By the requirements.
    let device = unsafe { (*qp).device };
    // SAFETY: It is a device of `P`, and outlives its queue pairs.
    unsafe { device::data::<P>(device) }
}

/// `create_qp`.
///
/// # Safety
///
/// For the core only, which calls it as `struct ib_device_ops` has it.
pub(super) unsafe extern "C" fn create<P: Provider>(
    qp: *mut bindings::ib_qp,
    attr: *mut bindings::ib_qp_init_attr,
    udata: *mut bindings::ib_udata,
) -> c_int {
    from_result(|| {
        // SAFETY: The core passes valid attributes.
        let attr = unsafe { &*attr };
        if !udata.is_null() || !attr.srq.is_null() {
            return Err(eopnotsupp());
        }
        let kind = QpKind::from_c(attr.qp_type)?;
        // SAFETY: The core keeps these until after `destroy_qp`, which closes the anchor.
        let anchor = unsafe {
            Anchor::new(
                NonNull::new(qp).ok_or(EINVAL)?,
                NonNull::new(attr.send_cq).ok_or(EINVAL)?,
                NonNull::new(attr.recv_cq).ok_or(EINVAL)?,
            )
        }?;
        let init = QpInit::<P> {
            kind,
            port: attr.port_num,
            // SAFETY: The core passes a live queue of the same device.
            send_cq: unsafe { cq::inner::<P>(attr.send_cq) },
            // SAFETY: As above.
            recv_cq: unsafe { cq::inner::<P>(attr.recv_cq) },
            caps: QpCaps {
                max_send_wr: attr.cap.max_send_wr,
                max_recv_wr: attr.cap.max_recv_wr,
                max_send_sge: attr.cap.max_send_sge,
                max_recv_sge: attr.cap.max_recv_sge,
            },
            signal_all: attr.sq_sig_type == bindings::ib_sig_type_IB_SIGNAL_ALL_WR,
        };
        // SAFETY: The core has set the device.
        let device = unsafe { device_of::<P>(qp) };
        // Packets may arrive from here on; they know only the anchor.
        let inner = Inner {
            kind,
            qp: device.create_qp(init, anchor.clone())?,
            anchor,
        };
        // SAFETY: The core allocated `size_ib_qp` bytes, which is that of `Qp`.
        let slot = unsafe { &mut (*qp.cast::<Qp<P>>()).inner };
        // INVARIANT: Established here.
        slot.write(inner);
        // SAFETY: The core passes a valid queue pair.
        unsafe { (*qp).qp_num = kind.number() };
        Ok(0)
    })
}

/// `destroy_qp`.
///
/// # Safety
///
/// For the core only, which calls it as `struct ib_device_ops` has it.
pub(super) unsafe extern "C" fn destroy<P: Provider>(
    qp: *mut bindings::ib_qp,
    _udata: *mut bindings::ib_udata,
) -> c_int {
    // SAFETY: The core passes a live queue pair of ours.
    let device = unsafe { device_of::<P>(qp) };
    // SAFETY: As above, and as in `inner`.
    let slot = unsafe { &(*qp.cast::<Qp<P>>()).inner };
    // SAFETY: By the type invariants; the core forgets the queue pair after this.
    let inner = unsafe { slot.assume_init_read() };
    device.unplug_qp(&inner.qp);
    inner.anchor.close();
    device.destroy_qp(inner.qp);
    0
}

/// `modify_qp`.
///
/// # Safety
///
/// For the core only, which calls it as `struct ib_device_ops` has it.
pub(super) unsafe extern "C" fn modify<P: Provider>(
    qp: *mut bindings::ib_qp,
    attr: *mut bindings::ib_qp_attr,
    mask: c_int,
    _udata: *mut bindings::ib_udata,
) -> c_int {
    from_result(|| {
        // SAFETY: The core passes valid attributes.
        let attr = unsafe { &*attr };
        // SAFETY: The core passes a live queue pair of ours.
        let inner = unsafe { inner::<P>(qp) };
        // CAST: Flags are small positive numbers.
        let has = |flag: bindings::ib_qp_attr_mask| mask & flag as c_int != 0;
        let change = QpModify {
            current: has(bindings::ib_qp_attr_mask_IB_QP_CUR_STATE)
                .then(|| QpState::from_c(attr.cur_qp_state))
                .transpose()?,
            next: has(bindings::ib_qp_attr_mask_IB_QP_STATE)
                .then(|| QpState::from_c(attr.qp_state))
                .transpose()?,
            qkey: has(bindings::ib_qp_attr_mask_IB_QP_QKEY).then_some(attr.qkey),
            kind: inner.kind,
            mask,
        };
        // SAFETY: The core does not destroy a queue pair that it modifies.
        let alive = unsafe { inner.anchor.assume_alive() };
        P::modify_qp(&inner.qp, &change, alive)?;
        Ok(0)
    })
}

/// `query_qp`.
///
/// # Safety
///
/// For the core only, which calls it as `struct ib_device_ops` has it.
pub(super) unsafe extern "C" fn query<P: Provider>(
    qp: *mut bindings::ib_qp,
    attr: *mut bindings::ib_qp_attr,
    _mask: c_int,
    init: *mut bindings::ib_qp_init_attr,
) -> c_int {
    // SAFETY: The core passes a live queue pair of ours.
    let inner = unsafe { inner::<P>(qp) };
    let state = P::qp_state(&inner.qp).to_c();
    // What a special queue pair does not have is zero: the core tells user space some of it.
    let attr_now = bindings::ib_qp_attr {
        qp_state: state,
        cur_qp_state: state,
        ..Default::default()
    };
    // SAFETY: The core passes valid memory for the answer, which need not be initialised.
    unsafe { attr.write(attr_now) };
    let init_now = bindings::ib_qp_init_attr {
        qp_type: inner.kind.to_c(),
        ..Default::default()
    };
    // SAFETY: As above.
    unsafe { init.write(init_now) };
    0
}

/// `post_send`.
///
/// # Safety
///
/// For the core only, which calls it as `struct ib_device_ops` has it.
pub(super) unsafe extern "C" fn post_send<P: Provider>(
    qp: *mut bindings::ib_qp,
    wr: *const bindings::ib_send_wr,
    bad: *mut *const bindings::ib_send_wr,
) -> c_int {
    // SAFETY: The core passes a live queue pair of ours.
    let inner = unsafe { inner::<P>(qp) };
    // SAFETY: As above.
    let device = unsafe { device_of::<P>(qp) };
    // SAFETY: Consumers do not post to a queue pair that they destroy.
    let alive = unsafe { inner.anchor.assume_alive() };
    let mut next = wr;
    while !next.is_null() {
        // SAFETY: Consumers owe valid requests, datagrams on these queue pairs.
        let request = unsafe { SendWr::from_raw(next) };
        if let Err(error) = device.post_send(&inner.qp, &request, alive) {
            // SAFETY: `ib_post_send` always passes a place for it.
            unsafe { *bad = next };
            return error.to_errno();
        }
        // SAFETY: A valid request, as above.
        next = unsafe { (*next).next };
    }
    0
}

/// `post_recv`.
///
/// # Safety
///
/// For the core only, which calls it as `struct ib_device_ops` has it.
pub(super) unsafe extern "C" fn post_recv<P: Provider>(
    qp: *mut bindings::ib_qp,
    wr: *const bindings::ib_recv_wr,
    bad: *mut *const bindings::ib_recv_wr,
) -> c_int {
    // SAFETY: The core passes a live queue pair of ours.
    let inner = unsafe { inner::<P>(qp) };
    // SAFETY: As above.
    let device = unsafe { device_of::<P>(qp) };
    // SAFETY: Consumers do not post to a queue pair that they destroy.
    let alive = unsafe { inner.anchor.assume_alive() };
    let mut next = wr;
    while !next.is_null() {
        // SAFETY: Consumers owe valid requests.
        let request = unsafe { RecvWr::from_raw(next, P::LOCAL_DMA_LKEY) };
        if let Err(error) = request.and_then(|wr| device.post_recv(&inner.qp, wr, alive)) {
            // SAFETY: `ib_post_recv` always passes a place for it.
            unsafe { *bad = next };
            return error.to_errno();
        }
        // SAFETY: A valid request, as above.
        next = unsafe { (*next).next };
    }
    0
}
