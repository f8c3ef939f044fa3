// SPDX-License-Identifier: GPL-2.0

//! Who takes an SMP that is for this node and not for its SMA?
//!
//! ib_mad looks for an agent by class and method, and drops what it finds none for, without a word. That
//! is looked up here too, but only for what no SMA answers, and nothing depends on it but what is told.
//!
//! C function: `find_mad_agent()`.

use super::{
    origin::Origin,
    ports,
    smp::{
        self,
        Header,
        Smp, //
    }, //
};
use crate::{
    bindings,
    rdma::agent::Agent, //
};

/// The attribute that is a subnet manager's.
const SM_INFO: u16 = 0x0020;

/// Returns whether ib_mad will drop an SMP that came in for this node.
///
/// That can be foreseen of a Trap alone. Whatever else may be answered by the SMA, if only with an error, or by
/// ib_mad itself; and an answer goes to whom its TID names, which cannot be looked up.
#[inline]
pub(crate) fn is_missing(origin: Origin<'_>, smp: &Smp) -> bool {
    smp::method(smp) == bindings::IB_MGMT_METHOD_TRAP && !has_agent(origin, smp)
}

/// Returns whether ib_mad has dropped an SMP that was sent to its own node and that no SMA answered.
///
/// ib_mad does not answer these itself. Get and Set of all but SMInfo are the SMA's, which may drop them.
pub(crate) fn is_missing_within(origin: Origin<'_>, smp: &Smp) -> bool {
    let sm_info = Header::read(smp).attr_id == SM_INFO;
    (sm_info || !is_get_or_set(smp)) && !smp::is_answer(smp) && !has_agent(origin, smp)
}

#[inline]
fn is_get_or_set(smp: &Smp) -> bool {
    matches!(
        smp::method(smp),
        bindings::IB_MGMT_METHOD_GET | bindings::IB_MGMT_METHOD_SET
    )
}

/// Returns whether an agent on the port has registered for the version and method of a directed-route
/// SMP. It is taken to be so where the port is not known.
#[cold]
fn has_agent(origin: Origin<'_>, smp: &Smp) -> bool {
    let find = |device| {
        ports::with_agent(device, origin.port, |agent| {
            registered(agent, smp[2].into(), smp[3].into())
        })
    };
    origin.device.and_then(find).unwrap_or(true)
}

/// Returns whether ib_mad has an agent for directed-route SMPs of the version and method on the port that
/// ours is on.
fn registered(ours: &Agent, version: usize, method: usize) -> bool {
    /// Where ib_mad keeps the agents of the directed-route class.
    const DIRECTED_ROUTE: usize = 0;
    // SAFETY: The queue pair is one that ib_mad made: its context is this.
    let port = unsafe { (*(*ours.qp()).qp_context.cast::<bindings::ib_mad_qp_info>()).port_priv };
    // SAFETY: The port stays as long as its agents; ib_mad initialised the lock.
    let lock = unsafe { &raw mut (*port).reg_lock };
    // SAFETY: As above.
    let flags = unsafe { bindings::ib_smi_lock_irqsave(lock) };
    // SAFETY: The lock guards the tables.
    let found = unsafe {
        let class = (*port).version.get(version).map(|version| version.class);
        class
            .and_then(|class| class.as_ref())
            .and_then(|class| class.method_table.get(DIRECTED_ROUTE))
            .and_then(|methods| methods.as_ref())
            .and_then(|methods| methods.agent.get(method))
            .is_some_and(|agent| !agent.is_null())
    };
    // SAFETY: Locked above.
    unsafe { bindings::ib_smi_unlock_irqrestore(lock, flags) };
    found
}
