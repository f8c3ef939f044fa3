// SPDX-License-Identifier: GPL-2.0

//! What the ledger knows of a request.

use crate::{
    dr::{
        MAX_HOPS,
        PATH_LEN, //
    },
    ib_smi::{
        hop::{
            reasons,
            verdict_name,
            Hop,
            Point, //
        }, //
    }, //
};
use kernel::fmt;

const NANOS_A_MICRO: u64 = 1_000;
const NANOS_A_MILLI: u64 = 1_000_000;

/// A request, and its answer.
#[derive(Clone, Copy)]
pub(super) struct Record {
    /// Counts requests.
    pub(super) sequence: u64,
    /// When it left, in nanoseconds.
    pub(super) sent: u64,
    /// When its answer came; 0 if none has.
    pub(super) done: u64,
    /// The index of the device that has sent it.
    pub(super) device: u32,
    /// The port of the agent that has.
    pub(super) port: u32,
    pub(super) attr_mod: u32,
    pub(super) dr_dlid: u32,
    /// How long ib_mad waits before it sends again or gives up.
    pub(super) timeout_ms: u32,
    /// How often ib_mad sends again.
    pub(super) retries: u32,
    pub(super) attr_id: u16,
    /// Of the answer.
    pub(super) status: u16,
    pub(super) method: u8,
    pub(super) hop_cnt: u8,
}

impl Record {
    /// Words of a record.
    pub(super) const WORDS: usize = 8;

    /// The words that are looked at by themselves, by their numbers.
    pub(super) const SENT: usize = 1;
    pub(super) const DONE: usize = 2;
    pub(super) const OWNER: usize = 3;
    pub(super) const ATTRIBUTE: usize = 6;
    /// Until when ib_mad waits for an answer; 0 if it came.
    pub(super) const UNTIL: usize = 7;

    /// Gives the words to `put`, by their numbers.
    #[inline]
    pub(super) fn each_word(&self, mut put: impl FnMut(usize, u64)) {
        put(0, self.sequence);
        put(Self::SENT, self.sent);
        put(Self::DONE, self.done);
        put(Self::OWNER, owner(self.device, self.port));
        put(4, pair(self.attr_mod, self.dr_dlid));
        put(5, pair(self.timeout_ms, self.retries));
        let low = u32::from(self.method) << 8 | u32::from(self.hop_cnt);
        put(
            Self::ATTRIBUTE,
            with_status(pair(u32::from(self.attr_id) << 16, low), self.status),
        );
        let waiting = self.sent.saturating_add(self.patience());
        put(Self::UNTIL, if self.done == 0 { waiting } else { 0 });
    }

    /// Makes a record of the words that `get` returns, by their numbers.
    pub(super) fn from_words(get: impl Fn(usize) -> u64) -> Self {
        let (device, port) = halves(get(Self::OWNER));
        let (attr_mod, dr_dlid) = halves(get(4));
        let (timeout_ms, retries) = halves(get(5));
        let (high, low) = halves(get(Self::ATTRIBUTE));
        let [_, _, method, hop_cnt] = low.to_be_bytes();
        let [id_high, id_low, status_high, status_low] = high.to_be_bytes();
        Self {
            sequence: get(0),
            sent: get(Self::SENT),
            done: get(Self::DONE),
            device,
            port,
            attr_mod,
            dr_dlid,
            timeout_ms,
            retries,
            attr_id: u16::from_be_bytes([id_high, id_low]),
            status: u16::from_be_bytes([status_high, status_low]),
            method,
            hop_cnt,
        }
    }

    /// How long ib_mad waits, in nanoseconds.
    #[inline]
    fn patience(&self) -> u64 {
        u64::from(self.timeout_ms)
            .saturating_mul(u64::from(self.retries).saturating_add(1))
            .saturating_mul(NANOS_A_MILLI)
    }

    /// Returns whether ib_mad still waits for an answer at the time `now`.
    fn is_waiting(&self, now: u64) -> bool {
        self.done == 0 && now.saturating_sub(self.sent) <= self.patience()
    }

    /// What has become of the request.
    fn state(&self, now: u64, last: &Last) -> &'static str {
        match self.done {
            0 if last.is_refusal() => "refused",
            0 if self.is_waiting(now) => "waiting",
            0 => "lost",
            done if done.saturating_sub(self.sent) > self.patience() => "late",
            _ => "answered",
        }
    }

    /// Writes the line of the request, whose path is given. `name` writes the name of a device, by its index.
    pub(super) fn show(
        &self,
        f: &mut fmt::Formatter<'_>,
        (tid, path): (u64, &[u8; PATH_LEN]),
        now: u64,
        last: &Last,
        mut name: impl FnMut(&mut fmt::Formatter<'_>, u32) -> fmt::Result,
    ) -> fmt::Result {
        write!(f, "seq={} device=", self.sequence)?;
        name(f, self.device)?;
        write!(
            f,
            " port={} tid={tid:#x} method={:#04x} attr={:#06x} mod={:#x} hops={} path=0",
            self.port, self.method, self.attr_id, self.attr_mod, self.hop_cnt,
        )?;
        let hops = self.hop_cnt.min(MAX_HOPS).into();
        for element in path.iter().skip(1).take(hops) {
            write!(f, ",{element}")?;
        }
        write!(
            f,
            " drdlid={:#06x} timeout_ms={} retries={} age_us={} state={}",
            self.dr_dlid,
            self.timeout_ms,
            self.retries,
            now.saturating_sub(self.sent) / NANOS_A_MICRO,
            self.state(now, last),
        )?;
        if self.done != 0 {
            let rtt = self.done.saturating_sub(self.sent) / NANOS_A_MICRO;
            write!(f, " rtt_us={rtt} status={:#x}", self.status)?;
        }
        last.show(f, now, name)
    }
}

/// What was seen last of a request.
pub(super) struct Last {
    /// When, in nanoseconds.
    when: u64,
    /// The index of the device, or [`Last::UNKNOWN`].
    device: u32,
    port: u32,
    point: u8,
    verdict: u8,
    reason: u8,
    ingress: u8,
    egress: u8,
    hop_ptr: u8,
}

impl Last {
    /// Words of it.
    pub(super) const WORDS: usize = 3;

    /// The index of no device.
    const UNKNOWN: u32 = u32::MAX;

    /// What was decided, or went wrong for `reason`, at a hop.
    #[inline(always)]
    pub(super) fn new(when: u64, hop: &Hop<'_>, reason: u8) -> Self {
        let (verdict, egress, _) = hop.outcome();
        Self {
            when,
            device: hop
                .origin
                .device
                .map_or(Self::UNKNOWN, |device| device.index()),
            port: hop.origin.port,
            point: hop.point as u8,
            verdict,
            reason,
            ingress: hop.ingress,
            egress,
            hop_ptr: hop.decision.hop_ptr,
        }
    }

    #[inline(always)]
    pub(super) fn to_words(&self) -> [u64; Self::WORDS] {
        let bytes = [
            self.point,
            self.verdict,
            self.reason,
            self.ingress,
            self.egress,
            self.hop_ptr,
            0,
            0,
        ];
        [
            self.when,
            pair(self.device, self.port),
            u64::from_be_bytes(bytes),
        ]
    }

    pub(super) fn from_words([when, place, bytes]: [u64; Self::WORDS]) -> Self {
        let (device, port) = halves(place);
        let [point, verdict, reason, ingress, egress, hop_ptr, _, _] = bytes.to_be_bytes();
        Self {
            when,
            device,
            port,
            point,
            verdict,
            reason,
            ingress,
            egress,
            hop_ptr,
        }
    }

    /// Returns whether the request did not leave its node.
    fn is_refusal(&self) -> bool {
        self.point == Point::Send as u8 && self.reason != 0
    }

    fn show(
        &self,
        f: &mut fmt::Formatter<'_>,
        now: u64,
        mut name: impl FnMut(&mut fmt::Formatter<'_>, u32) -> fmt::Result,
    ) -> fmt::Result {
        let point = Point::ALL
            .iter()
            .find(|point| **point as u8 == self.point)
            .map_or("-", |point| point.name());
        write!(f, " last={point}@")?;
        name(f, self.device)?;
        writeln!(
            f,
            ":{} in={} out={} hop={} verdict={} reason={} last_us={}",
            self.port,
            self.ingress,
            self.egress,
            self.hop_ptr,
            verdict_name(self.verdict),
            reason_name(self.reason),
            now.saturating_sub(self.when) / NANOS_A_MICRO,
        )
    }
}

/// The name of a reason, by its number; `-` if there is none.
fn reason_name(number: u8) -> &'static str {
    reasons()
        .find(|(of, _)| *of == number)
        .map_or("-", |(_, name)| name)
}

/// Whose a request is, as a word: the index of the device, and the port.
#[inline]
pub(super) fn owner(device: u32, port: u32) -> u64 {
    pair(device, port)
}

/// The word of the attribute, with the status of the answer in it.
#[inline]
pub(super) fn with_status(word: u64, status: u16) -> u64 {
    let at = u32::BITS;
    word & !(u64::from(u16::MAX) << at) | u64::from(status) << at
}

/// Two halves as a word.
#[inline]
fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// The halves of a word.
#[inline]
fn halves(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}
