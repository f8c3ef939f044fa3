// SPDX-License-Identifier: GPL-2.0

//! What the ledger says after some SMPs.

use super::made_up::{
    arrive,
    Flaw,
    MadeUp,
    AGENT_PORT, //
};
use crate::{
    ib_smi::{
        arrival,
        departure,
        ledger::{
            self,
            Ledger, //
        },
        origin::Origin,
        smp::Format, //
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
use core::fmt::Write as _;
use kernel::{
    fmt,
    prelude::*,
    str::Formatter,
    time::{
        delay::fsleep,
        Delta, //
    }, //
};

/// What happens.
enum Step {
    /// The made-up CA sends a request by port 4, and ib_mad waits so many milliseconds.
    Send(Packet, u32),
    /// An SMP comes in at the CA.
    Recv(Packet),
    /// An SMP comes in at a switch that is not known.
    Pass(Packet),
    /// The node's own SMA answers.
    Within(Packet),
    /// Time goes by, in milliseconds.
    Wait(i64),
    /// Root writes into the file; whether that fails.
    Write(&'static [u8], bool),
}

use Step::{
    Pass,
    Recv,
    Send,
    Wait,
    Within,
    Write, //
};

/// A ledger of some size, and what it says in the end: its first line, and the others without times.
pub(crate) struct Entry {
    name: &'static str,
    size: u32,
    steps: &'static [Step],
    head: &'static str,
    lines: &'static [&'static str],
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The ledger as a file.
struct File;

impl fmt::Display for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ledger::show(f, |f, index| {
            f.write_str(if index == 0 { "made_up" } else { "-" })
        })
    }
}

impl Step {
    fn take(&self, test: &Test, made_up: &mut MadeUp) {
        match self {
            Send(packet, timeout) => {
                let smp = made_up.departing(packet, Flaw::None);
                made_up.wait(*timeout);
                // SAFETY: The SMP has such a structure behind it.
                unsafe { departure::judge(smp, Format::Ib, false, 4) };
            }
            Recv(packet) => {
                let origin = Origin {
                    device: Some(made_up.device()),
                    port: AGENT_PORT.into(),
                };
                let node = arrival::node(false, 4);
                arrive(&mut packet.bytes(), Format::Ib, origin, node, AGENT_PORT);
            }
            Pass(packet) => {
                let node = arrival::node(true, 4);
                arrive(&mut packet.bytes(), Format::Ib, Origin::UNKNOWN, node, 3);
            }
            Within(packet) => {
                let origin = Origin {
                    device: Some(made_up.device()),
                    port: AGENT_PORT.into(),
                };
                ledger::answered_within(origin, &packet.bytes());
            }
            Wait(millis) => fsleep(Delta::from_millis(*millis)),
            Write(word, fails) => {
                test.equal("control fails", ledger::control(word).is_err(), *fails);
            }
        }
    }
}

impl Row for Entry {
    fn check(&self, test: &Test) -> Result {
        let mut made_up = MadeUp::new(true)?;
        let _ledger = Ledger::open(self.size)?;
        for step in self.steps {
            step.take(test, &mut made_up);
        }
        // Times grow from one look to the next, so that the length is not known before.
        let mut text = KVec::from_elem(0, 4096, GFP_KERNEL)?;
        let mut writer = Formatter::new(&mut text);
        writer.write_fmt(fmt!("{File}")).map_err(|_| EINVAL)?;
        let len = writer.bytes_written();
        let text = text.get(..len).ok_or(EINVAL)?;
        let mut got = core::str::from_utf8(text).map_err(|_| EINVAL)?.lines();
        test.equal("first line", got.next(), Some(self.head));
        for expected in self.lines {
            test.equal(
                "line",
                got.next().is_some_and(|line| same(line, expected)),
                true,
            );
        }
        test.equal("lines", got.next(), None);
        Ok(())
    }
}

/// Returns whether a line has the words that are expected, but for those that tell times.
fn same(line: &str, expected: &str) -> bool {
    let is_time = |word: &str| {
        let name = word.split('=').next();
        name.is_some_and(|name| name.ends_with("_us"))
    };
    let words = line.split(' ').filter(|word| !is_time(word));
    let equal = words.clone().eq(expected.split(' '));
    if !equal {
        pr_info!("got: {line}\n");
    }
    equal
}

/// Asks the neighbour of port 4 for what is behind its port 2.
const ASK: Packet = request(0, 2).initial(&[4, 2]).tid(0x7_0000_0001);

/// The same on its way, and its answer at the end.
const ON_ITS_WAY: Packet = request(1, 2).initial(&[4, 2]).tid(0x7_0000_0001);
const ANSWER: Packet = response(1, 2).back(&[9, 3]).tid(0x7_0000_0001);

/// What it is shown as: sequence number, timeout, and what follows. The attribute and its modifier are
/// noise.
macro_rules! ask {
    ($seq:literal, $timeout:literal, $rest:literal) => {
        concat!(
            "seq=",
            $seq,
            " device=made_up port=9 tid=0x700000001 method=0x01 attr=0xffda ",
            "mod=0x4bbd98c7 hops=2 path=0,4,2 drdlid=0xffff timeout_ms=",
            $timeout,
            " retries=2 ",
            $rest,
        )
    };
}

/// Requests that are waited for, answered, lost and refused.
pub(crate) struct Entries;

#[rustfmt::skip]
impl Table for Entries {
    type Row = Entry;

    const ROWS: &'static [Entry] = &[
        Entry { name: "nothing happened", size: 5, steps: &[],
            head: "on size=8 entered=0 evicted=0 missed=0", lines: &[] },
        Entry { name: "no ledger", size: 0,
            steps: &[Send(ASK, 1000), Write(b"on", true)],
            head: "off size=0 entered=0 evicted=0 missed=0", lines: &[] },
        Entry { name: "waiting", size: 4,
            steps: &[Send(ASK, 60_000)],
            head: "on size=4 entered=1 evicted=0 missed=0",
            lines: &[ask!(0, 60000, "state=waiting last=send@made_up:9 in=0 out=4 hop=1 verdict=forward reason=-")] },
        Entry { name: "seen on its way", size: 4,
            steps: &[Send(ASK, 60_000), Pass(ON_ITS_WAY)],
            head: "on size=4 entered=1 evicted=0 missed=0",
            lines: &[ask!(0, 60000, "state=waiting last=recv@-:0 in=3 out=2 hop=2 verdict=forward reason=-")] },
        Entry { name: "lost on its way", size: 4,
            steps: &[Send(ASK, 1), Pass(ON_ITS_WAY.initial(&[4, 0])), Wait(10)],
            head: "on size=4 entered=1 evicted=0 missed=0",
            lines: &[ask!(0, 1, "state=lost last=recv@-:0 in=3 out=0 hop=1 verdict=discard reason=port-zero")] },
        Entry { name: "refused", size: 4,
            steps: &[Send(ASK.initial(&[2, 2]), 60_000)],
            head: "on size=4 entered=1 evicted=0 missed=0",
            lines: &["seq=0 device=made_up port=9 tid=0x700000001 method=0x01 attr=0xffda mod=0x4bbd98c7 hops=2 path=0,2,2 drdlid=0xffff timeout_ms=60000 retries=2 state=refused last=send@made_up:9 in=0 out=0 hop=0 verdict=discard reason=wrong-port"] },
        Entry { name: "answered", size: 4,
            steps: &[Send(ASK, 60_000), Recv(ANSWER)],
            head: "on size=4 entered=1 evicted=0 missed=0",
            lines: &[ask!(0, 60000, "state=answered status=0x7f1c last=recv@made_up:9 in=9 out=0 hop=0 verdict=local reason=-")] },
        Entry { name: "answered within the node", size: 4,
            steps: &[Send(ASK, 60_000), Within(ANSWER)],
            head: "on size=4 entered=1 evicted=0 missed=0",
            lines: &[ask!(0, 60000, "state=answered status=0x7f1c last=send@made_up:9 in=0 out=4 hop=1 verdict=forward reason=-")] },
        Entry { name: "answered late", size: 4,
            steps: &[Send(ASK, 1), Wait(10), Recv(ANSWER)],
            head: "on size=4 entered=1 evicted=0 missed=0",
            lines: &[ask!(0, 1, "state=late status=0x7f1c last=recv@made_up:9 in=9 out=0 hop=0 verdict=local reason=-")] },
        Entry { name: "an answer to another", size: 4,
            steps: &[Send(ASK, 60_000), Recv(ANSWER.tid(0x7_0000_0002))],
            head: "on size=4 entered=1 evicted=0 missed=0",
            lines: &[ask!(0, 60000, "state=waiting last=send@made_up:9 in=0 out=4 hop=1 verdict=forward reason=-")] },
        Entry { name: "what comes back is no answer", size: 4,
            steps: &[Send(ASK, 60_000), Recv(ANSWER.method(0x02))],
            head: "on size=4 entered=1 evicted=0 missed=0",
            lines: &[ask!(0, 60000, "state=waiting last=recv@made_up:9 in=9 out=0 hop=0 verdict=local reason=-")] },
        Entry { name: "an answer elsewhere", size: 4,
            steps: &[Send(ASK, 60_000), Pass(ANSWER)],
            head: "on size=4 entered=1 evicted=0 missed=0",
            lines: &[ask!(0, 60000, "state=waiting last=recv@-:0 in=3 out=0 hop=0 verdict=local reason=-")] },
        Entry { name: "sent again", size: 4,
            steps: &[Send(ASK, 60_000), Send(ASK, 60_000)],
            head: "on size=4 entered=2 evicted=0 missed=0",
            lines: &[ask!(1, 60000, "state=waiting last=send@made_up:9 in=0 out=4 hop=1 verdict=forward reason=-")] },
        Entry { name: "no answer is expected", size: 4,
            steps: &[Send(ASK, 0), Send(response(3, 2).back(&[1, 9]), 60_000)],
            head: "on size=4 entered=0 evicted=0 missed=0", lines: &[] },
        Entry { name: "off", size: 4,
            steps: &[Write(b"off", false), Send(ASK, 60_000), Write(b"bad", true)],
            head: "off size=4 entered=0 evicted=0 missed=0", lines: &[] },
        Entry { name: "on again", size: 4,
            steps: &[Write(b"off", false), Write(b"on", false), Send(ASK, 60_000), Write(b"clear", false)],
            head: "on size=4 entered=1 evicted=0 missed=0", lines: &[] },
        Entry { name: "the oldest has to go", size: 4,
            steps: &[Send(ASK.tid(5), 60_000), Send(ASK.tid(6), 60_000), Send(ASK.tid(7), 60_000),
                Send(ASK.tid(8), 60_000), Send(ASK, 60_000), Write(b"off", false), Within(ANSWER.tid(5))],
            head: "off size=4 entered=5 evicted=1 missed=0",
            lines: &[ask!(4, 60000, "state=waiting last=send@made_up:9 in=0 out=4 hop=1 verdict=forward reason=-"),
                OLD[0], OLD[1], OLD[2]] },
        Entry { name: "what is answered goes first", size: 4,
            steps: &[Send(ASK, 60_000), Send(ASK.tid(6), 60_000), Send(ASK.tid(7), 60_000),
                Send(ASK.tid(8), 60_000), Within(ANSWER.tid(6)), Send(ASK.tid(6), 60_000), Recv(ANSWER.tid(6)),
                Send(ASK.tid(9), 60_000), Write(b"clear", false)],
            head: "on size=4 entered=6 evicted=0 missed=0", lines: &[] },
    ];
}

/// Requests 6 to 8 of four and one.
const OLD: [&str; 3] = [
    "seq=1 device=made_up port=9 tid=0x6 method=0x01 attr=0xffda mod=0x4bbd98c7 hops=2 path=0,4,2 drdlid=0xffff timeout_ms=60000 retries=2 state=waiting last=send@made_up:9 in=0 out=4 hop=1 verdict=forward reason=-",
    "seq=2 device=made_up port=9 tid=0x7 method=0x01 attr=0xffda mod=0x4bbd98c7 hops=2 path=0,4,2 drdlid=0xffff timeout_ms=60000 retries=2 state=waiting last=send@made_up:9 in=0 out=4 hop=1 verdict=forward reason=-",
    "seq=3 device=made_up port=9 tid=0x8 method=0x01 attr=0xffda mod=0x4bbd98c7 hops=2 path=0,4,2 drdlid=0xffff timeout_ms=60000 retries=2 state=waiting last=send@made_up:9 in=0 out=4 hop=1 verdict=forward reason=-",
];

const _: () = assert!(Entries::ROWS.len() == 18);
