// SPDX-License-Identifier: GPL-2.0

//! No SMP goes on for ever: each node that lets one go moves its Hop Pointer, towards the end.

use dr::{
    receive,
    Decision,
    Direction,
    DrLid,
    DrSmp,
    Node,
    NodeKind,
    Verdict,
    MAX_HOPS,
    PATH_LEN, //
};

/// The same port everywhere, as between two switches that are cabled by it.
const PORT: u8 = 3;
const PATH: [u8; PATH_LEN] = [PORT; PATH_LEN];

/// Calls `f` with every SMP that can come in, but for the values of its LIDs and the ports in its paths.
fn each_smp(mut f: impl FnMut(DrSmp<'static>)) {
    const LIDS: [DrLid; 2] = [DrLid::Permissive, DrLid::Lid(7)];
    for direction in [Direction::Outgoing, Direction::Returning] {
        for (hop_ptr, hop_cnt) in
            (0..=u8::MAX).flat_map(|ptr| (0..=u8::MAX).map(move |cnt| (ptr, cnt)))
        {
            for (dr_slid, dr_dlid) in LIDS.iter().flat_map(|slid| LIDS.map(|dlid| (*slid, dlid))) {
                f(DrSmp {
                    direction,
                    hop_ptr,
                    hop_cnt,
                    dr_slid,
                    dr_dlid,
                    initial_path: &PATH,
                    return_path: &PATH,
                });
            }
        }
    }
}

/// What a node decides about an SMP that came in by [`PORT`].
fn judge(smp: &DrSmp<'_>, kind: NodeKind) -> Decision {
    receive(smp, Node { kind, ports: 4 }, PORT)
}

#[test]
fn what_leaves_is_one_hop_further() {
    let mut left = 0;
    each_smp(|smp| {
        for kind in [NodeKind::Switch, NodeKind::Ca] {
            let decision = judge(&smp, kind);
            if let Verdict::Forward { .. } | Verdict::Route(_) = decision.verdict {
                let moved = match smp.direction {
                    Direction::Outgoing => smp.hop_ptr.checked_add(1),
                    Direction::Returning => smp.hop_ptr.checked_sub(1),
                };
                assert_eq!(moved, Some(decision.hop_ptr), "{smp:?}");
                assert_eq!(kind, NodeKind::Switch, "{smp:?}");
                left += 1;
            }
        }
    });
    assert!(left > 1000);
}

#[test]
fn between_two_switches_it_ends_within_its_hop_count() {
    let mut longest = 0;
    each_smp(|mut smp| {
        let mut steps = 0;
        loop {
            let decision = judge(&smp, NodeKind::Switch);
            match decision.verdict {
                // Wherever its LID leads: here, to the other switch again.
                Verdict::Forward { .. } | Verdict::Route(_) => steps += 1,
                Verdict::Local | Verdict::Discard(_) => break,
            }
            smp.hop_ptr = decision.hop_ptr;
            assert!(steps <= u32::from(smp.hop_cnt) + 1, "{smp:?}");
        }
        longest = longest.max(steps);
    });
    // Every hop that there can be, and the LID-routed part behind.
    assert_eq!(longest, u32::from(MAX_HOPS) + 1);
}
