// SPDX-License-Identifier: GPL-2.0

//! SMPs that come in: what stands against them beside the rules, and that no discard is silent.

use super::{
    apply::same,
    made_up::{
        arrive,
        format,
        MadeUp, //
    },
    names::count, //
};
use crate::{
    ib_smi::{
        arrival,
        listener,
        livepatch,
        origin::Origin,
        trace::{
            self,
            Fired, //
        }, //
    },
    packet::{
        request,
        response,
        Packet, //
    },
    table::{
        Row,
        Table,
        Test, //
    }, //
};
use kernel::{
    fmt,
    prelude::*, //
};

/// The port that all come in by.
const INGRESS: u8 = 3;

/// What the node is, and what is known of it.
#[derive(Clone, Copy)]
enum Node {
    /// A switch of which no more is known.
    Switch,
    /// A switch with an SMA.
    WithSma,
    /// A switch without one.
    WithoutSma,
    /// A channel adapter without one.
    Ca,
}

/// What becomes of the SMP.
enum Fate {
    /// It is let pass, with these bytes (place, value) changed.
    Pass(&'static [(usize, u8)]),
    /// The same, but nobody listens.
    Unheard(&'static [(usize, u8)]),
    /// Discarded for the reason of this number and name.
    Discard(u8, &'static str),
}

use Fate::{
    Discard,
    Pass,
    Unheard, //
};

/// An SMP at a node whose livepatch is complete or in transition.
pub(crate) struct Arrival {
    name: &'static str,
    settled: bool,
    node: Node,
    smp: Packet,
    fate: Fate,
}

impl fmt::Display for Arrival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Row for Arrival {
    fn check(&self, test: &Test) -> Result {
        for smp in self.smp.in_both() {
            self.check_one(test, &smp)?;
        }
        Ok(())
    }
}

impl Arrival {
    fn check_one(&self, test: &Test, packet: &Packet) -> Result {
        let made_up = MadeUp::new(matches!(self.node, Node::WithSma))?;
        let origin = match self.node {
            Node::Switch => Origin::UNKNOWN,
            _ => Origin {
                device: Some(made_up.device()),
                port: 0,
            },
        };
        let node = arrival::node(!matches!(self.node, Node::Ca), 4);

        let before = packet.bytes();
        let mut expected = before;
        let unheard = matches!(self.fate, Unheard(_));
        let (discarded, number, name) = match self.fate {
            Pass(_) => (false, 0, "hop-count"),
            Unheard(_) => (false, 41, "no-listener"),
            Discard(number, name) => (true, number, name),
        };
        if let Pass(changed) | Unheard(changed) = self.fate {
            for &(at, value) in changed {
                // Where the Return Path begins, behind which nothing changes.
                let at = if packet.opa && at >= 192 {
                    at - 192 + 104
                } else {
                    at
                };
                *expected.get_mut(at).ok_or(EINVAL)? = value;
            }
        }
        let counted = count(name)?;
        trace::fired();
        livepatch::settle(self.settled);
        listener::miss(unheard);
        let mut after = before;
        let got = arrive(&mut after, format(packet), origin, node, INGRESS);
        livepatch::settle(true);
        listener::miss(false);

        test.equal("discarded", got, discarded);
        same(test, &after, &expected);
        let fired = Fired {
            recv: 1,
            send: 0,
            discard: (discarded || unheard).into(),
            reason: number.into(),
        };
        test.equal("events", trace::fired(), fired);
        let counted = counted + u64::from(discarded || unheard);
        test.equal("counter", count(name)?, counted);
        Ok(())
    }
}

/// SMPs with the livepatch complete, and in transition.
pub(crate) struct Arrivals;

#[rustfmt::skip]
impl Table for Arrivals {
    type Row = Arrival;

    const ROWS: &'static [Arrival] = &[
        Arrival { name: "transit", settled: true, node: Node::WithSma,
            smp: request(1, 2).initial(&[1, 2]), fate: Pass(&[(193, INGRESS)]) },
        Arrival { name: "transit, no SMA", settled: true, node: Node::WithoutSma,
            smp: request(1, 2).initial(&[1, 2]), fate: Pass(&[(193, INGRESS)]) },
        Arrival { name: "end", settled: true, node: Node::WithSma,
            smp: request(2, 2), fate: Pass(&[(6, 3), (194, INGRESS)]) },
        Arrival { name: "end, device unknown", settled: true, node: Node::Switch,
            smp: request(2, 2), fate: Pass(&[(6, 3), (194, INGRESS)]) },
        Arrival { name: "end, no SMA", settled: true, node: Node::WithoutSma,
            smp: request(2, 2), fate: Discard(33, "no-sma") },
        Arrival { name: "end at a CA, no SMA", settled: true, node: Node::Ca,
            smp: request(2, 2), fate: Discard(33, "no-sma") },
        Arrival { name: "end, nobody listens", settled: true, node: Node::WithSma,
            smp: request(2, 2), fate: Unheard(&[(6, 3), (194, INGRESS)]) },
        Arrival { name: "end without a hop", settled: true, node: Node::WithSma,
            smp: request(0, 0), fate: Pass(&[(6, 1)]) },
        Arrival { name: "end, DrDLID 7", settled: true, node: Node::WithoutSma,
            smp: request(2, 2).dlid(7), fate: Pass(&[(194, INGRESS)]) },
        Arrival { name: "start, DrSLID 5", settled: true, node: Node::Switch,
            smp: request(0, 2).initial(&[4, 1]).slid(5), fate: Pass(&[]) },
        Arrival { name: "return, start", settled: true, node: Node::Switch,
            smp: response(3, 2).back(&[2, 1]), fate: Pass(&[]) },
        Arrival { name: "return, transit", settled: true, node: Node::Switch,
            smp: response(2, 2).back(&[2, 1]), fate: Pass(&[]) },
        Arrival { name: "return, end, no SMA", settled: true, node: Node::Ca,
            smp: response(1, 2).back(&[2, 1]), fate: Pass(&[(6, 0)]) },
        Arrival { name: "return, end, DrSLID 5", settled: true, node: Node::Switch,
            smp: response(1, 2).back(&[2, 1]).slid(5), fate: Pass(&[]) },

        Arrival { name: "Hop Count 64", settled: true, node: Node::Switch,
            smp: request(1, 64).initial(&[1]), fate: Discard(1, "hop-count") },
        Arrival { name: "beyond the end", settled: true, node: Node::Switch,
            smp: request(4, 2), fate: Discard(2, "hop-pointer") },
        Arrival { name: "no such port", settled: true, node: Node::Switch,
            smp: request(1, 2).initial(&[1, 5]), fate: Discard(3, "no-such-port") },
        Arrival { name: "port 0", settled: true, node: Node::Switch,
            smp: request(1, 2).initial(&[1, 0]), fate: Discard(4, "port-zero") },
        Arrival { name: "transit at a CA", settled: true, node: Node::Ca,
            smp: request(1, 2).initial(&[1, 2]), fate: Discard(5, "ca-in-transit") },
        Arrival { name: "never started", settled: true, node: Node::Switch,
            smp: request(0, 2).initial(&[1, 2]), fate: Discard(6, "not-from-wire") },

        Arrival { name: "in transition: transit", settled: false, node: Node::WithSma,
            smp: request(1, 2).initial(&[1, 2]), fate: Pass(&[(193, INGRESS)]) },
        Arrival { name: "in transition: end", settled: false, node: Node::WithSma,
            smp: request(2, 2), fate: Pass(&[(6, 3), (194, INGRESS)]) },
        Arrival { name: "in transition: end without a hop", settled: false, node: Node::WithSma,
            smp: request(0, 0), fate: Discard(32, "in-transition") },
        Arrival { name: "in transition: end, DrDLID 7", settled: false, node: Node::Switch,
            smp: request(2, 2).dlid(7), fate: Discard(32, "in-transition") },
        Arrival { name: "in transition: start, DrSLID 5", settled: false, node: Node::Switch,
            smp: request(0, 2).initial(&[4, 1]).slid(5), fate: Discard(32, "in-transition") },
        Arrival { name: "in transition: return, start", settled: false, node: Node::Switch,
            smp: response(3, 2).back(&[2, 1]), fate: Discard(32, "in-transition") },
        Arrival { name: "in transition: return, transit", settled: false, node: Node::Switch,
            smp: response(2, 2).back(&[2, 1]), fate: Pass(&[]) },
        Arrival { name: "in transition: return, end", settled: false, node: Node::Switch,
            smp: response(1, 2).back(&[2, 1]), fate: Pass(&[(6, 0)]) },
        Arrival { name: "in transition: return, end, DrSLID 5", settled: false, node: Node::Switch,
            smp: response(1, 2).back(&[2, 1]).slid(5), fate: Discard(32, "in-transition") },
        Arrival { name: "in transition: port 0", settled: false, node: Node::Switch,
            smp: request(1, 2).initial(&[1, 0]), fate: Discard(4, "port-zero") },
    ];
}

const _: () = assert!(Arrivals::ROWS.len() == 30);
