// SPDX-License-Identifier: GPL-2.0

//! What faults did at a port, since the first one was staged there.

use crate::counters::Counter;
use kernel::fmt;

/// Declares the counters with the names that debugfs has for them.
macro_rules! fault_counters {
    ($($(#[$meta:meta])* $name:ident: $shown:literal,)*) => {
        /// The counters. Those of a node's software are at the port whose agent it is.
        pub(crate) struct FaultCounters {
            $($(#[$meta])* pub(crate) $name: Counter,)*
        }

        impl FaultCounters {
            /// All at zero.
            pub(crate) const fn new() -> Self {
                Self { $($name: Counter::new(),)* }
            }

            /// Writes them, each with a blank before it.
            pub(crate) fn show(&self, f: &mut dyn fmt::Write) -> fmt::Result {
                $(write!(f, concat!(" ", $shown, "={}"), self.$name.get())?;)*
                Ok(())
            }
        }
    };
}

fault_counters! {
    /// Packets that were sent and did not arrive.
    dropped: "fault_dropped",
    /// Packets that were held back.
    delayed: "fault_delayed",
    /// Packets that were sent twice.
    duplicated: "fault_duplicated",
    /// Packets that lost their end.
    truncated: "fault_truncated",
    /// Packets with a byte changed.
    corrupted: "fault_corrupted",
    /// Packets that found no room to be held back.
    lost: "fault_lost",
    /// SMPs sent out of a wrong port.
    misrouted: "fault_misrouted",
    /// Responses that the node took and did not pass on, or did not give.
    swallowed: "fault_swallowed",
    /// SMPs that were not passed on for their M_Key.
    mkey: "fault_mkey",
    /// Requests answered with a status that is not theirs.
    status: "fault_status",
    /// Requests whose port was taken for the one behind it.
    numbered: "fault_numbered",
    /// Posts of sends that were refused.
    posts: "fault_posts",
    /// Sends that completed with an error.
    sends: "fault_sends",
}
