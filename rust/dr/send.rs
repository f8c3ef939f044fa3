// SPDX-License-Identifier: GPL-2.0

//! An SMP that the node itself sends: its SM, its SMA or a client in user space.
//!
//! Source: InfiniBand Architecture Specification, volume 1, section 14.2.2: C14-6, C14-9 for the
//! way out, C14-13 for the way back.

use super::{
    Decision,
    Direction,
    DrSmp,
    Node,
    Reason,
    Rule,
    Verdict,
    MAX_HOPS, //
};

/// Judges an SMP that `node` itself sends through its port `egress`.
///
/// `egress` is the port of the sending agent. The agent of a switch sits on port 0, from which
/// every external port can be reached: there 0 means any.
#[inline]
pub fn send(smp: &DrSmp<'_>, node: Node, egress: u8) -> Decision {
    if smp.hop_cnt > MAX_HOPS {
        return Decision::discard(smp, Rule::C14_6, Reason::HopCount);
    }
    match smp.direction {
        Direction::Outgoing => outgoing(smp, node, egress),
        Direction::Returning => returning(smp, node, egress),
    }
}

/// C14-9. Hop Count is known to be 63 at most.
#[inline]
fn outgoing(smp: &DrSmp<'_>, node: Node, egress: u8) -> Decision {
    let hop = smp.hop_ptr;
    let next = hop.wrapping_add(1);

    if hop == 0 && smp.dr_slid.is_set() {
        // The directed-route part starts at the end of the LID-routed one.
        Decision::new(Rule::Lid, Verdict::Route(None), hop)
    } else if hop < smp.hop_cnt {
        let rule = if hop == 0 {
            Rule::C14_9_1
        } else {
            Rule::C14_9_2
        };
        if hop == 0 || node.is_switch() {
            through(smp, node, egress, rule, smp.initial(next), next)
        } else {
            Decision::discard(smp, rule, Reason::CaInTransit)
        }
    } else if hop == smp.hop_cnt {
        Decision::end(smp, node.is_switch(), Rule::C14_9_3, smp.dr_dlid, next)
    } else if smp.past_end() {
        Decision::new(Rule::C14_9_4, Verdict::Local, hop)
    } else {
        Decision::discard(smp, Rule::C14_9_5, Reason::HopPointer)
    }
}

/// C14-13. Hop Count is known to be 63 at most.
#[inline]
fn returning(smp: &DrSmp<'_>, node: Node, egress: u8) -> Decision {
    let hop = smp.hop_ptr;
    let next = hop.wrapping_sub(1);

    if smp.past_end() && smp.dr_dlid.is_set() {
        // The directed-route part starts at the end of the LID-routed one.
        Decision::new(Rule::Lid, Verdict::Route(None), hop)
    } else if hop == 0 {
        Decision::new(Rule::C14_13_4, Verdict::Local, hop)
    } else if hop == 1 {
        // Without a hop the responder itself is the end of the directed-route part.
        let routes = node.is_switch() || smp.hop_cnt == 0;
        Decision::end(smp, routes, Rule::C14_13_3, smp.dr_slid, next)
    } else if next == smp.hop_cnt {
        through(smp, node, egress, Rule::C14_13_1, smp.returned(next), next)
    } else if next > smp.hop_cnt {
        Decision::discard(smp, Rule::C14_13_5, Reason::HopPointer)
    } else if node.is_switch() {
        through(smp, node, egress, Rule::C14_13_2, smp.returned(next), next)
    } else {
        Decision::discard(smp, Rule::C14_13_2, Reason::CaInTransit)
    }
}

/// Out through `port` of the path, if the node has it and the sending agent reaches it.
#[inline]
fn through(smp: &DrSmp<'_>, node: Node, egress: u8, rule: Rule, port: u8, hop_ptr: u8) -> Decision {
    let any = node.is_switch() && egress == 0;
    if any || port == egress || !node.has(port) {
        Decision::forward(smp, node, rule, port, hop_ptr)
    } else {
        Decision::discard(smp, rule, Reason::WrongPort)
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
    use DrLid::{
        Lid,
        Permissive, //
    };
    use Verdict::{
        Discard,
        Forward,
        Local,
        Route, //
    };

    const CA: NodeKind = NodeKind::Ca;
    const SWITCH: NodeKind = NodeKind::Switch;

    struct Row {
        what: &'static str,
        node: (NodeKind, u8),
        direction: Direction,
        hop: (u8, u8),
        path: [u8; 2],
        lids: (DrLid, DrLid),
        verdict: Verdict,
        hop_ptr: u8,
        rule: &'static str,
    }

    /// Four external ports; `node` is the kind and the sending agent's port, `path` counts from
    /// element 1 on.
    fn check(row: Row) {
        let mut path = [9; PATH_LEN];
        path[1..3].copy_from_slice(&row.path);
        let other = [9; PATH_LEN];
        let (initial_path, return_path) = match row.direction {
            Direction::Outgoing => (&path, &other),
            Direction::Returning => (&other, &path),
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
            kind: row.node.0,
            ports: 4,
        };
        let decision = send(&smp, node, row.node.1);
        assert_eq!(decision.verdict, row.verdict, "{}", row.what);
        assert_eq!(decision.hop_ptr, row.hop_ptr, "{}", row.what);
        assert_eq!(decision.record, None, "{}", row.what);
        assert_eq!(decision.rule.name(), row.rule, "{}", row.what);
    }

    #[test]
    #[rustfmt::skip]
    fn way_out() {
        use Direction::Outgoing;

        check(Row { what: "start", node: (CA, 1), direction: Outgoing, hop: (0, 2), path: [1, 2],
            lids: (Permissive, Lid(7)), verdict: Forward { egress: 1 }, hop_ptr: 1, rule: "C14-9:1" });
        check(Row { what: "start from port 0", node: (SWITCH, 0), direction: Outgoing, hop: (0, 2), path: [4, 2],
            lids: (Permissive, Permissive), verdict: Forward { egress: 4 }, hop_ptr: 1, rule: "C14-9:1" });
        check(Row { what: "another port", node: (CA, 1), direction: Outgoing, hop: (0, 2), path: [2, 2],
            lids: (Permissive, Permissive), verdict: Discard(Reason::WrongPort), hop_ptr: 0, rule: "C14-9:1" });
        check(Row { what: "port 0", node: (SWITCH, 0), direction: Outgoing, hop: (0, 2), path: [0, 2],
            lids: (Permissive, Permissive), verdict: Discard(Reason::PortZero), hop_ptr: 0, rule: "C14-9:1" });
        check(Row { what: "port n+1", node: (CA, 1), direction: Outgoing, hop: (0, 2), path: [5, 2],
            lids: (Permissive, Permissive), verdict: Discard(Reason::NoSuchPort), hop_ptr: 0, rule: "C14-9:1" });
        check(Row { what: "LID-routed part first", node: (CA, 1), direction: Outgoing, hop: (0, 2), path: [9, 9],
            lids: (Lid(5), Permissive), verdict: Route(None), hop_ptr: 0, rule: "LID" });
        check(Row { what: "LID-routed part alone", node: (CA, 1), direction: Outgoing, hop: (0, 0), path: [9, 9],
            lids: (Lid(5), Permissive), verdict: Route(None), hop_ptr: 0, rule: "LID" });
        check(Row { what: "transit", node: (SWITCH, 2), direction: Outgoing, hop: (1, 2), path: [1, 2],
            lids: (Lid(5), Permissive), verdict: Forward { egress: 2 }, hop_ptr: 2, rule: "C14-9:2" });
        check(Row { what: "transit at a CA", node: (CA, 2), direction: Outgoing, hop: (1, 2), path: [1, 2],
            lids: (Permissive, Permissive), verdict: Discard(Reason::CaInTransit), hop_ptr: 1, rule: "C14-9:2" });
        check(Row { what: "to itself", node: (CA, 1), direction: Outgoing, hop: (0, 0), path: [9, 9],
            lids: (Permissive, Permissive), verdict: Local, hop_ptr: 1, rule: "C14-9:3" });
        check(Row { what: "end, on by LID", node: (SWITCH, 0), direction: Outgoing, hop: (0, 0), path: [9, 9],
            lids: (Permissive, Lid(7)), verdict: Route(Some(7)), hop_ptr: 1, rule: "C14-9:3" });
        check(Row { what: "end at a CA, on by LID", node: (CA, 1), direction: Outgoing, hop: (0, 0), path: [9, 9],
            lids: (Permissive, Lid(7)), verdict: Discard(Reason::CaInTransit), hop_ptr: 0, rule: "C14-9:3" });
        check(Row { what: "past the end", node: (CA, 1), direction: Outgoing, hop: (3, 2), path: [9, 9],
            lids: (Lid(5), Permissive), verdict: Local, hop_ptr: 3, rule: "C14-9:4" });
        check(Row { what: "beyond", node: (CA, 1), direction: Outgoing, hop: (4, 2), path: [9, 9],
            lids: (Lid(5), Permissive), verdict: Discard(Reason::HopPointer), hop_ptr: 4, rule: "C14-9:5" });
        check(Row { what: "too many hops", node: (CA, 1), direction: Outgoing, hop: (0, 64), path: [1, 2],
            lids: (Lid(5), Permissive), verdict: Discard(Reason::HopCount), hop_ptr: 0, rule: "C14-6" });
    }

    #[test]
    #[rustfmt::skip]
    fn way_back() {
        use Direction::Returning;

        check(Row { what: "answer", node: (CA, 2), direction: Returning, hop: (3, 2), path: [1, 2],
            lids: (Permissive, Permissive), verdict: Forward { egress: 2 }, hop_ptr: 2, rule: "C14-13:1" });
        check(Row { what: "answer by another port", node: (SWITCH, 1), direction: Returning, hop: (3, 2), path: [1, 2],
            lids: (Permissive, Permissive), verdict: Discard(Reason::WrongPort), hop_ptr: 3, rule: "C14-13:1" });
        check(Row { what: "LID-routed part first", node: (CA, 1), direction: Returning, hop: (3, 2), path: [9, 9],
            lids: (Permissive, Lid(7)), verdict: Route(None), hop_ptr: 3, rule: "LID" });
        check(Row { what: "transit", node: (SWITCH, 0), direction: Returning, hop: (2, 2), path: [1, 2],
            lids: (Permissive, Lid(7)), verdict: Forward { egress: 1 }, hop_ptr: 1, rule: "C14-13:2" });
        check(Row { what: "transit at a CA", node: (CA, 1), direction: Returning, hop: (2, 2), path: [1, 2],
            lids: (Permissive, Permissive), verdict: Discard(Reason::CaInTransit), hop_ptr: 2, rule: "C14-13:2" });
        check(Row { what: "end", node: (CA, 1), direction: Returning, hop: (1, 2), path: [1, 2],
            lids: (Permissive, Permissive), verdict: Local, hop_ptr: 0, rule: "C14-13:3" });
        check(Row { what: "end, on by LID", node: (SWITCH, 1), direction: Returning, hop: (1, 2), path: [1, 2],
            lids: (Lid(5), Permissive), verdict: Route(Some(5)), hop_ptr: 0, rule: "C14-13:3" });
        check(Row { what: "answer without a hop, by LID", node: (CA, 1), direction: Returning, hop: (1, 0), path: [1, 2],
            lids: (Lid(5), Permissive), verdict: Route(Some(5)), hop_ptr: 0, rule: "C14-13:3" });
        check(Row { what: "end at a CA, on by LID", node: (CA, 1), direction: Returning, hop: (1, 2), path: [1, 2],
            lids: (Lid(5), Permissive), verdict: Discard(Reason::CaInTransit), hop_ptr: 1, rule: "C14-13:3" });
        check(Row { what: "past the end", node: (CA, 1), direction: Returning, hop: (0, 2), path: [1, 2],
            lids: (Permissive, Permissive), verdict: Local, hop_ptr: 0, rule: "C14-13:4" });
        check(Row { what: "beyond", node: (SWITCH, 0), direction: Returning, hop: (4, 2), path: [1, 2],
            lids: (Permissive, Lid(7)), verdict: Discard(Reason::HopPointer), hop_ptr: 4, rule: "C14-13:5" });
        check(Row { what: "too many hops", node: (SWITCH, 0), direction: Returning, hop: (65, 64), path: [1, 2],
            lids: (Permissive, Lid(7)), verdict: Discard(Reason::HopCount), hop_ptr: 65, rule: "C14-6" });
    }
}
