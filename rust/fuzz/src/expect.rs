// SPDX-License-Identifier: GPL-2.0

//! How a node judges an SMP, by the oracle of `dr-check`.
//!
//! The places of the fields are written down here once more, from `include/rdma/ib_smi.h` and
//! `opa_smi.h`, so that what the module reads is checked too.

use crate::smp::{
    DIRECTED_ROUTE,
    IB_LEN,
    OPA_HEADER, //
};
use crate::wire::Site;
pub use dr_check::case::{
    Layout,
    Side, //
};
use dr_check::{
    case::Case,
    oracle::{
        self,
        Fate,
        REASONS,
        RULES, //
    },
};

/// A decision, by the names that trace events and counters have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The rule.
    pub rule: &'static str,
    /// What becomes of it.
    pub verdict: &'static str,
    /// Why it is discarded.
    pub reason: Option<&'static str>,
    /// Whether it is for this node, and nobody there takes it: there is neither a subnet manager nor
    /// any other agent.
    pub unheard: bool,
}

/// How `site` judges `mad`, which came in by the external port `port`; nothing if ib_mad does not ask, or
/// if it is too short: then it is discarded, and what names a rule is what was in the buffer before.
pub fn judge(site: &Site, port: u8, mad: &[u8]) -> Option<Judged> {
    if mad.len() < OPA_HEADER {
        return None;
    }
    let (opa, versions) = (site.opa, (mad[0], mad[2]));
    if mad[1] != DIRECTED_ROUTE || !(versions.0 == 1 || opa && versions.0 == 0x80) {
        return None;
    }
    let layout = if opa && versions == (0x80, 0x80) {
        Layout::Opa
    } else {
        Layout::Ib
    };
    if layout == Layout::Ib && mad.len() < IB_LEN {
        return None;
    }
    let outcome = oracle::judge(Side::Receive, &case(site, port, mad, layout));
    let (verdict, reason) = match outcome.fate {
        Fate::Keep => ("local", None),
        Fate::Leave(_) => ("forward", None),
        Fate::ByLid(_) => ("route", None),
        Fate::Drop(reason) => ("discard", name(&REASONS, reason)),
    };
    Some(Judged {
        rule: name(&RULES, outcome.rule)?,
        verdict,
        reason,
        // A Trap is for a subnet manager, of which there is none.
        unheard: verdict == "local" && mad[3] == 0x05,
    })
}

/// Whether the agent on `port` of `site`, which on a switch is 0, gets `mad` onto the wire as a directed
/// route. What stays within the node may find nobody who answers, and no timeout is reported then.
pub fn leaves(site: &Site, port: u8, mad: &[u8]) -> bool {
    if mad.len() < OPA_HEADER || mad[1] != DIRECTED_ROUTE {
        return false;
    }
    let layout = if site.opa && mad[2] == 0x80 {
        Layout::Opa
    } else {
        Layout::Ib
    };
    let outcome = oracle::judge(Side::Send, &case(site, port, mad, layout));
    matches!(outcome.fate, Fate::Leave(_))
}

/// The name of a number.
fn name(names: &[(u8, &'static str)], number: u8) -> Option<&'static str> {
    names
        .iter()
        .find(|(found, _)| *found == number)
        .map(|(_, name)| *name)
}

/// The case that a packet is. What is behind the end of a short one is taken for zero.
pub fn case(site: &Site, port: u8, mad: &[u8], layout: Layout) -> Case {
    let mut head = [0; IB_LEN];
    let len = mad.len().min(IB_LEN);
    head[..len].copy_from_slice(&mad[..len]);
    let path = |at: usize| -> [u8; 64] { std::array::from_fn(|hop| head[at + hop]) };
    let wide = |at: usize| u32::from_be_bytes(std::array::from_fn(|byte| head[at + byte]));
    let (lids, permissive, paths) = match layout {
        Layout::Ib => ([wide(32) >> 16, wide(32) & 0xFFFF], 0xFFFF, [128, 192]),
        Layout::Opa => ([wide(32), wide(36)], u32::MAX, [40, 104]),
    };
    let [slid, dlid] = lids.map(|lid| (lid != permissive).then_some(lid));
    Case {
        layout,
        switch: site.switch,
        ports: site.ports,
        port,
        returning: head[4] & 0x80 != 0,
        hop_ptr: head[6],
        hop_cnt: head[7],
        slid,
        dlid,
        initial: path(paths[0]),
        back: path(paths[1]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(switch: bool, opa: bool) -> Site {
        Site {
            name: "node".into(),
            switch,
            ports: 4,
            opa,
        }
    }

    fn smp(hops: (u8, u8), path: [u8; 2]) -> [u8; 256] {
        let mut mad = [0; 256];
        mad[..8].copy_from_slice(&[1, 0x81, 1, 1, 0, 0, hops.0, hops.1]);
        mad[32..36].fill(0xFF);
        mad[129..131].copy_from_slice(&path);
        mad
    }

    #[test]
    fn vectors_of_the_specification() {
        // V1, V2, V3 and V6 of the project's table of vectors.
        for (switch, path, verdict, reason) in [
            (true, [1, 2], "forward", None),
            (true, [1, 0], "discard", Some("port-zero")),
            (true, [1, 5], "discard", Some("no-such-port")),
            (false, [1, 2], "discard", Some("ca-in-transit")),
        ] {
            let judged = judge(&site(switch, false), 1, &smp((1, 2), path)).unwrap();
            let expected = Judged {
                rule: "C14-9:2",
                verdict,
                reason,
                unheard: false,
            };
            assert_eq!(judged, expected);
        }
    }

    #[test]
    fn what_ib_mad_does_not_ask_about() {
        let mut mad = smp((1, 2), [1, 2]);
        mad[1] = 0x01;
        assert_eq!(judge(&site(true, false), 1, &mad), None);
        mad[..2].copy_from_slice(&[0x80, 0x81]);
        assert_eq!(judge(&site(true, false), 1, &mad), None);
        assert!(judge(&site(true, true), 1, &mad).is_some());
    }

    #[test]
    fn a_trap_is_for_an_agent() {
        let mut mad = smp((2, 2), [1, 2]);
        for (method, unheard) in [(1, false), (2, false), (5, true), (7, false), (0x81, false)] {
            mad[3] = method;
            let judged = judge(&site(false, false), 1, &mad).unwrap();
            assert_eq!((judged.verdict, judged.unheard), ("local", unheard));
        }
    }
}
