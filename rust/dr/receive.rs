// SPDX-License-Identifier: GPL-2.0

//! An SMP that came in from the wire.
//!
//! Source: InfiniBand Architecture Specification, volume 1, section 14.2.2: C14-6, C14-9 for the
//! way out, C14-13 for the way back.

use super::{
    Decision,
    Direction,
    DrSmp,
    Node,
    Reason,
    Record,
    Rule,
    Verdict,
    MAX_HOPS, //
};

/// Judges an SMP that came in from the wire through the external port `ingress` of `node`.
#[inline]
pub fn receive(smp: &DrSmp<'_>, node: Node, ingress: u8) -> Decision {
    if smp.hop_cnt > MAX_HOPS {
        return Decision::discard(smp, Rule::C14_6, Reason::HopCount);
    }
    match smp.direction {
        Direction::Outgoing => outgoing(smp, node, ingress),
        Direction::Returning => returning(smp, node),
    }
}

/// C14-9. Hop Count is known to be 63 at most.
#[inline]
fn outgoing(smp: &DrSmp<'_>, node: Node, ingress: u8) -> Decision {
    let hop = smp.hop_ptr;
    let next = hop.wrapping_add(1);
    let record = Record {
        element: hop,
        port: ingress,
    };

    if hop < smp.hop_cnt {
        if hop == 0 {
            start(smp, node)
        } else if !node.is_switch() {
            Decision::discard(smp, Rule::C14_9_2, Reason::CaInTransit)
        } else {
            let egress = smp.initial(next);
            Decision::forward(smp, node, Rule::C14_9_2, egress, next).recording(record)
        }
    } else if hop == smp.hop_cnt {
        let end = Decision::end(smp, node.is_switch(), Rule::C14_9_3, smp.dr_dlid, next);
        // Element 0 is reserved: without a hop there is nothing to record.
        if hop == 0 {
            end
        } else {
            end.recording(record)
        }
    } else if smp.past_end() {
        Decision::new(Rule::C14_9_4, Verdict::Local, hop)
    } else {
        Decision::discard(smp, Rule::C14_9_5, Reason::HopPointer)
    }
}

/// C14-9:1 from the wire: only the switch at which a leading LID-routed part ends starts the
/// directed-route part. Nothing is recorded: the way back ends here too.
#[inline]
fn start(smp: &DrSmp<'_>, node: Node) -> Decision {
    if !smp.dr_slid.is_set() {
        Decision::discard(smp, Rule::C14_9_1, Reason::NotFromWire)
    } else if !node.is_switch() {
        Decision::discard(smp, Rule::C14_9_1, Reason::CaInTransit)
    } else {
        Decision::forward(smp, node, Rule::C14_9_1, smp.initial(1), 1)
    }
}

/// C14-13. Hop Count is known to be 63 at most.
#[inline]
fn returning(smp: &DrSmp<'_>, node: Node) -> Decision {
    let hop = smp.hop_ptr;
    let next = hop.wrapping_sub(1);

    match hop {
        0 => Decision::new(Rule::C14_13_4, Verdict::Local, hop),
        1 => Decision::end(smp, node.is_switch(), Rule::C14_13_3, smp.dr_slid, next),
        _ if next > smp.hop_cnt => Decision::discard(smp, Rule::C14_13_5, Reason::HopPointer),
        _ => {
            let rule = if next == smp.hop_cnt {
                Rule::C14_13_1
            } else {
                Rule::C14_13_2
            };
            if node.is_switch() {
                Decision::forward(smp, node, rule, smp.returned(next), next)
            } else {
                Decision::discard(smp, rule, Reason::CaInTransit)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        DrLid,
        NodeKind,
        PATH_LEN, //
    };
    use super::*;
    use Direction::{
        Outgoing,
        Returning, //
    };

    const CA: NodeKind = NodeKind::Ca;
    const SWITCH: NodeKind = NodeKind::Switch;
    const NONE: DrLid = DrLid::Permissive;

    struct Row {
        what: &'static str,
        kind: NodeKind,
        direction: Direction,
        hop: (u8, u8),
        path: [u8; 2],
        lids: (DrLid, DrLid),
        verdict: Verdict,
        hop_ptr: u8,
        record: Option<u8>,
        rule: &'static str,
    }

    /// Four external ports, in through port 3, `path` from element 1 on in the path that counts.
    fn check(row: Row) {
        let mut path = [9; PATH_LEN];
        path[1..3].copy_from_slice(&row.path);
        let other = [4; PATH_LEN];
        let (initial_path, return_path) = match row.direction {
            Outgoing => (&path, &other),
            Returning => (&other, &path),
        };
        let smp = DrSmp {
            direction: row.direction,
            hop_ptr: row.hop.0,
            hop_cnt: row.hop.1,
            dr_slid: row.lids.0,
            dr_dlid: row.lids.1,
            initial_path,
            return_path,
        };
        let node = Node {
            kind: row.kind,
            ports: 4,
        };
        let decision = receive(&smp, node, 3);
        assert_eq!(decision.verdict, row.verdict, "{}", row.what);
        assert_eq!(decision.hop_ptr, row.hop_ptr, "{}", row.what);
        let record = row.record.map(|element| Record { element, port: 3 });
        assert_eq!(decision.record, record, "{}", row.what);
        assert_eq!(decision.rule.name(), row.rule, "{}", row.what);
    }

    #[test]
    #[rustfmt::skip]
    fn way_out() {
        use DrLid::Lid;
        use Verdict::{Discard, Forward, Local, Route};

        check(Row { what: "start after a LID-routed part", kind: SWITCH, direction: Outgoing, hop: (0, 2), path: [2, 1],
            lids: (Lid(5), NONE), verdict: Forward { egress: 2 }, hop_ptr: 1, record: None, rule: "C14-9:1" });
        check(Row { what: "never started", kind: SWITCH, direction: Outgoing, hop: (0, 2), path: [2, 1],
            lids: (NONE, NONE), verdict: Discard(Reason::NotFromWire), hop_ptr: 0, record: None, rule: "C14-9:1" });
        check(Row { what: "start at a CA", kind: CA, direction: Outgoing, hop: (0, 2), path: [2, 1],
            lids: (Lid(5), NONE), verdict: Discard(Reason::CaInTransit), hop_ptr: 0, record: None, rule: "C14-9:1" });
        check(Row { what: "transit", kind: SWITCH, direction: Outgoing, hop: (1, 2), path: [1, 2],
            lids: (NONE, NONE), verdict: Forward { egress: 2 }, hop_ptr: 2, record: Some(1), rule: "C14-9:2" });
        check(Row { what: "transit, both LIDs set", kind: SWITCH, direction: Outgoing, hop: (1, 2), path: [1, 2],
            lids: (Lid(5), Lid(7)), verdict: Forward { egress: 2 }, hop_ptr: 2, record: Some(1), rule: "C14-9:2" });
        check(Row { what: "U-turn", kind: SWITCH, direction: Outgoing, hop: (1, 2), path: [1, 3],
            lids: (NONE, NONE), verdict: Forward { egress: 3 }, hop_ptr: 2, record: Some(1), rule: "C14-9:2" });
        check(Row { what: "egress 0", kind: SWITCH, direction: Outgoing, hop: (1, 2), path: [1, 0],
            lids: (NONE, NONE), verdict: Discard(Reason::PortZero), hop_ptr: 1, record: None, rule: "C14-9:2" });
        check(Row { what: "egress n+1", kind: SWITCH, direction: Outgoing, hop: (1, 2), path: [1, 5],
            lids: (NONE, NONE), verdict: Discard(Reason::NoSuchPort), hop_ptr: 1, record: None, rule: "C14-9:2" });
        check(Row { what: "transit at a CA", kind: CA, direction: Outgoing, hop: (1, 2), path: [1, 2],
            lids: (NONE, NONE), verdict: Discard(Reason::CaInTransit), hop_ptr: 1, record: None, rule: "C14-9:2" });
        check(Row { what: "end", kind: CA, direction: Outgoing, hop: (2, 2), path: [1, 2],
            lids: (NONE, NONE), verdict: Local, hop_ptr: 3, record: Some(2), rule: "C14-9:3" });
        check(Row { what: "end without a hop", kind: SWITCH, direction: Outgoing, hop: (0, 0), path: [1, 2],
            lids: (NONE, NONE), verdict: Local, hop_ptr: 1, record: None, rule: "C14-9:3" });
        check(Row { what: "end, on by LID", kind: SWITCH, direction: Outgoing, hop: (2, 2), path: [1, 2],
            lids: (NONE, Lid(7)), verdict: Route(Some(7)), hop_ptr: 3, record: Some(2), rule: "C14-9:3" });
        check(Row { what: "end at a CA, on by LID", kind: CA, direction: Outgoing, hop: (2, 2), path: [1, 2],
            lids: (NONE, Lid(7)), verdict: Discard(Reason::CaInTransit), hop_ptr: 2, record: None, rule: "C14-9:3" });
        check(Row { what: "past the end", kind: CA, direction: Outgoing, hop: (3, 2), path: [1, 2],
            lids: (NONE, Lid(7)), verdict: Local, hop_ptr: 3, record: None, rule: "C14-9:4" });
        check(Row { what: "beyond", kind: SWITCH, direction: Outgoing, hop: (4, 2), path: [1, 2],
            lids: (NONE, NONE), verdict: Discard(Reason::HopPointer), hop_ptr: 4, record: None, rule: "C14-9:5" });
        check(Row { what: "too many hops", kind: SWITCH, direction: Outgoing, hop: (1, 64), path: [1, 2],
            lids: (NONE, NONE), verdict: Discard(Reason::HopCount), hop_ptr: 1, record: None, rule: "C14-6" });
    }

    #[test]
    #[rustfmt::skip]
    fn way_back() {
        use DrLid::Lid;
        use Verdict::{Discard, Forward, Local, Route};

        check(Row { what: "start after a LID-routed part", kind: SWITCH, direction: Returning, hop: (3, 2), path: [2, 1],
            lids: (NONE, Lid(7)), verdict: Forward { egress: 1 }, hop_ptr: 2, record: None, rule: "C14-13:1" });
        check(Row { what: "start at a CA", kind: CA, direction: Returning, hop: (3, 2), path: [2, 1],
            lids: (NONE, Lid(7)), verdict: Discard(Reason::CaInTransit), hop_ptr: 3, record: None, rule: "C14-13:1" });
        check(Row { what: "transit", kind: SWITCH, direction: Returning, hop: (2, 2), path: [1, 2],
            lids: (NONE, NONE), verdict: Forward { egress: 1 }, hop_ptr: 1, record: None, rule: "C14-13:2" });
        check(Row { what: "egress 0", kind: SWITCH, direction: Returning, hop: (2, 2), path: [0, 2],
            lids: (NONE, NONE), verdict: Discard(Reason::PortZero), hop_ptr: 2, record: None, rule: "C14-13:2" });
        check(Row { what: "egress n+1", kind: SWITCH, direction: Returning, hop: (2, 2), path: [5, 2],
            lids: (NONE, NONE), verdict: Discard(Reason::NoSuchPort), hop_ptr: 2, record: None, rule: "C14-13:2" });
        check(Row { what: "transit at a CA", kind: CA, direction: Returning, hop: (2, 2), path: [1, 2],
            lids: (NONE, NONE), verdict: Discard(Reason::CaInTransit), hop_ptr: 2, record: None, rule: "C14-13:2" });
        check(Row { what: "end", kind: CA, direction: Returning, hop: (1, 2), path: [1, 2],
            lids: (NONE, NONE), verdict: Local, hop_ptr: 0, record: None, rule: "C14-13:3" });
        check(Row { what: "end, on by LID", kind: SWITCH, direction: Returning, hop: (1, 0), path: [1, 2],
            lids: (Lid(5), NONE), verdict: Route(Some(5)), hop_ptr: 0, record: None, rule: "C14-13:3" });
        check(Row { what: "end at a CA, on by LID", kind: CA, direction: Returning, hop: (1, 2), path: [1, 2],
            lids: (Lid(5), NONE), verdict: Discard(Reason::CaInTransit), hop_ptr: 1, record: None, rule: "C14-13:3" });
        check(Row { what: "past the end", kind: CA, direction: Returning, hop: (0, 2), path: [1, 2],
            lids: (NONE, NONE), verdict: Local, hop_ptr: 0, record: None, rule: "C14-13:4" });
        check(Row { what: "beyond", kind: SWITCH, direction: Returning, hop: (255, 2), path: [1, 2],
            lids: (NONE, NONE), verdict: Discard(Reason::HopPointer), hop_ptr: 255, record: None, rule: "C14-13:5" });
        check(Row { what: "too many hops", kind: SWITCH, direction: Returning, hop: (0, 255), path: [1, 2],
            lids: (NONE, NONE), verdict: Discard(Reason::HopCount), hop_ptr: 0, record: None, rule: "C14-6" });
    }
}
