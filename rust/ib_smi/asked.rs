// SPDX-License-Identifier: GPL-2.0

//! Which requests agents of this host have sent to their own node.
//!
//! ib_mad hands an SMP that returns to its own node to whichever agent the high word of the TID names,
//! asked or not, and some agents take what they get for the answer to a request of theirs. The TID of
//! what is no answer always names the agent that sends it, hence an answer with the TID of a request that
//! was handed over here goes to the one who asked.

use super::smp::{
    self,
    Smp, //
};
use kernel::sync::atomic::{
    ordering,
    Atomic, //
};

/// How many requests are remembered: far more than are ever waiting for their own node's SM.
const REMEMBERED: usize = 256;

/// The TIDs of the last requests; 0 where there is none, which names no agent.
static TIDS: [Atomic<u64>; REMEMBERED] = [const { Atomic::new(0) }; REMEMBERED];

/// Where the next one goes.
static NEXT: Atomic<u32> = Atomic::new(0);

/// Remembers a request.
pub(crate) fn remember(request: &Smp) {
    let at = NEXT.fetch_add(1u32, ordering::Relaxed) as usize % REMEMBERED;
    if let Some(entry) = TIDS.get(at) {
        entry.store(smp::tid(request), ordering::Relaxed);
    }
}

/// Returns whether an answer belongs to one of the last requests.
pub(crate) fn answers(answer: &Smp) -> bool {
    let tid = smp::tid(answer);
    tid != 0
        && TIDS
            .iter()
            .any(|entry| entry.load(ordering::Relaxed) == tid)
}
