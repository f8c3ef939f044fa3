// SPDX-License-Identifier: GPL-2.0

//! The trace events `ib_smi:*`, as functions.
//!
//! The in-tree `declare_trace!` looks for events in the kernel's own bindings, which cannot know
//! those of an external module; the one here looks in ours.
//!
//! C header: `include/trace/events/ib_smi.h`

use super::hop::Hop;
use crate::bindings;

/// Declares a function that fires the event of the same name: one patched nop while it is off.
macro_rules! events {
    ($($(#[$attr:meta])* $name:ident => $event:ident;)*) => {$(
        $(#[$attr])*
        #[inline(always)]
        pub(crate) fn $name(hop: &Hop<'_>) {
            #[cfg(CONFIG_TRACEPOINTS)]
            kernel::macros::paste! {
                // SAFETY: The key is that of a tracepoint, defined in C.
                let enabled = unsafe {
                    kernel::jump_label::static_branch_unlikely!(
                        bindings::[<__tracepoint_ $event>],
                        kernel::bindings::tracepoint,
                        key
                    )
                };
                if enabled {
                    fire(hop, bindings::[<rust_do_trace_ $event>]);
                }
            }
            #[cfg(not(CONFIG_TRACEPOINTS))]
            let _ = hop;
        }
    )*};
}

events! {
    /// An SMP came in from the wire.
    recv => ib_smi_recv;
    /// A switch passes an SMP on.
    forward => ib_smi_forward;
    /// The node's SMA answers an SMP that came in from the wire.
    reply => ib_smi_reply;
    /// The node itself sends.
    send => ib_smi_send;
    /// An SMP was discarded.
    discard => ib_smi_discard;
}

/// Hands the hop to the event, off the hot path.
#[cfg(CONFIG_TRACEPOINTS)]
#[cold]
#[inline(never)]
fn fire(hop: &Hop<'_>, event: unsafe extern "C" fn(*const bindings::ib_smi_hop)) {
    let hop = hop.to_c();
    // SAFETY: The event reads what `hop` points to during the call: the device, which is registered,
    // and the SMP, both of which `Hop` borrows.
    unsafe { event(&hop) };
}
