// SPDX-License-Identifier: GPL-2.0

//! An answer of the node's own SMA to an SMP that came in from the wire.
//!
//! Never for an agent of this node: nobody here asked.
//!
//! Source: InfiniBand Architecture Specification, volume 1, section 14.2.2: C14-6, C14-10.1.1 and
//! C14-13 for the responder.

use super::{
    Decision,
    Direction,
    DrLid,
    DrSmp,
    Node,
    Reason,
    Rule,
    Verdict,
    MAX_HOPS, //
};

/// Judges the answer `smp` (D is 1, the Hop Pointer as the request was handed up with: Hop
/// Count + 1) of `node`'s own SMA to an SMP that came in from the wire through `ingress`.
///
/// A channel adapter answers by the port that it was asked through, whose QP0 sends by no other.
#[inline]
pub fn reply(smp: &DrSmp<'_>, node: Node, ingress: u8) -> Decision {
    if smp.hop_cnt > MAX_HOPS {
        Decision::discard(smp, Rule::C14_6, Reason::HopCount)
    } else if smp.direction != Direction::Returning {
        Decision::discard(smp, Rule::C14_10_1_1, Reason::NotReturning)
    } else if !smp.past_end() {
        Decision::discard(smp, Rule::C14_13_5, Reason::HopPointer)
    } else if smp.dr_dlid.is_set() {
        // To the SLID that the request came with; the directed-route part starts there.
        Decision::new(Rule::Lid, Verdict::Route(None), smp.hop_ptr)
    } else if smp.hop_cnt == 0 {
        match smp.dr_slid {
            DrLid::Lid(lid) => Decision::new(Rule::C14_13_3, Verdict::Route(Some(lid)), 0),
            DrLid::Permissive => Decision::discard(smp, Rule::C14_13_3, Reason::NowhereToGo),
        }
    } else {
        let hop = smp.hop_cnt;
        let egress = smp.returned(hop);
        if node.has(egress) && !node.is_switch() && egress != ingress {
            Decision::discard(smp, Rule::C14_13_1, Reason::WrongPort)
        } else {
            Decision::forward(smp, node, Rule::C14_13_1, egress, hop)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        NodeKind,
        PATH_LEN, //
    };
    use super::*;
    use Direction::{
        Outgoing,
        Returning, //
    };
    use DrLid::{
        Lid,
        Permissive, //
    };
    use Verdict::{
        Discard,
        Forward,
        Route, //
    };

    struct Row {
        what: &'static str,
        direction: Direction,
        hop: (u8, u8),
        port: u8,
        lids: (DrLid, DrLid),
        verdict: Verdict,
        hop_ptr: u8,
        rule: &'static str,
    }

    /// Four external ports, the request came in by the last, `port` is Return Path's element 2. A CA
    /// and a switch answer alike.
    fn check(row: Row) {
        let mut return_path = [9; PATH_LEN];
        return_path[2] = row.port;
        let smp = DrSmp {
            direction: row.direction,
            hop_ptr: row.hop.0,
            hop_cnt: row.hop.1,
            dr_slid: row.lids.0,
            dr_dlid: row.lids.1,
            initial_path: &[9; PATH_LEN],
            return_path: &return_path,
        };
        for kind in [NodeKind::Ca, NodeKind::Switch] {
            let decision = reply(&smp, Node { kind, ports: 4 }, 4);
            assert_eq!(decision.verdict, row.verdict, "{}", row.what);
            assert_eq!(decision.hop_ptr, row.hop_ptr, "{}", row.what);
            assert_eq!(decision.record, None, "{}", row.what);
            assert_eq!(decision.rule.name(), row.rule, "{}", row.what);
        }
    }

    #[test]
    #[rustfmt::skip]
    fn answers() {
        check(Row { what: "along the path", direction: Returning, hop: (3, 2), port: 4,
            lids: (Lid(5), Permissive), verdict: Forward { egress: 4 }, hop_ptr: 2, rule: "C14-13:1" });
        check(Row { what: "port 0", direction: Returning, hop: (3, 2), port: 0,
            lids: (Permissive, Permissive), verdict: Discard(Reason::PortZero), hop_ptr: 3, rule: "C14-13:1" });
        check(Row { what: "port n+1", direction: Returning, hop: (3, 2), port: 5,
            lids: (Permissive, Permissive), verdict: Discard(Reason::NoSuchPort), hop_ptr: 3, rule: "C14-13:1" });
        check(Row { what: "LID-routed part first", direction: Returning, hop: (3, 2), port: 9,
            lids: (Lid(5), Lid(7)), verdict: Route(None), hop_ptr: 3, rule: "LID" });
        check(Row { what: "LID-routed part first, without a hop", direction: Returning, hop: (1, 0), port: 9,
            lids: (Lid(5), Lid(7)), verdict: Route(None), hop_ptr: 1, rule: "LID" });
        check(Row { what: "by LID alone", direction: Returning, hop: (1, 0), port: 9,
            lids: (Lid(5), Permissive), verdict: Route(Some(5)), hop_ptr: 0, rule: "C14-13:3" });
        check(Row { what: "nowhere to go", direction: Returning, hop: (1, 0), port: 9,
            lids: (Permissive, Permissive), verdict: Discard(Reason::NowhereToGo), hop_ptr: 1, rule: "C14-13:3" });
        check(Row { what: "no answer", direction: Outgoing, hop: (3, 2), port: 4,
            lids: (Permissive, Permissive), verdict: Discard(Reason::NotReturning), hop_ptr: 3, rule: "C14-10.1.1" });
        check(Row { what: "not at the end", direction: Returning, hop: (2, 2), port: 4,
            lids: (Permissive, Lid(7)), verdict: Discard(Reason::HopPointer), hop_ptr: 2, rule: "C14-13:5" });
        check(Row { what: "too many hops", direction: Returning, hop: (65, 64), port: 4,
            lids: (Permissive, Lid(7)), verdict: Discard(Reason::HopCount), hop_ptr: 65, rule: "C14-6" });
    }

    #[test]
    fn a_ca_answers_by_the_port_it_was_asked_through() {
        let smp = DrSmp {
            direction: Returning,
            hop_ptr: 3,
            hop_cnt: 2,
            dr_slid: Permissive,
            dr_dlid: Permissive,
            initial_path: &[9; PATH_LEN],
            return_path: &[2; PATH_LEN],
        };
        let verdict = |kind, ingress| reply(&smp, Node { kind, ports: 4 }, ingress).verdict;
        assert_eq!(verdict(NodeKind::Ca, 1), Discard(Reason::WrongPort));
        assert_eq!(verdict(NodeKind::Ca, 2), Forward { egress: 2 });
        assert_eq!(verdict(NodeKind::Switch, 1), Forward { egress: 2 });
    }
}
