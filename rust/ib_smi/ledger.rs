// SPDX-License-Identifier: GPL-2.0

//! The ledger: what became of the directed-route requests that this host has sent.
//!
//! A request is entered when it leaves, and its answer when it comes back to the port that has asked;
//! in between, whatever hop of this host meets the SMP is noted as the last thing that was seen of it.
//! The ledger is bounded: a new request takes the place of the oldest that is done, or, if none is, of
//! the oldest of all, which is counted. It never waits, and who reads it holds up nobody.
//!
//! A request whose first part is LID-routed is not in it, for ib_mad does not show it to the SMI.

mod record;
mod slot;

use self::{
    record::{
        owner,
        Last,
        Record, //
    },
    slot::Slot, //
};
use super::{
    hop::{
        Hop,
        Point, //
    },
    origin::{
        Departing,
        Origin, //
    },
    smp::{
        self,
        Header,
        Smp, //
    }, //
};
use crate::{
    dr::{
        Direction,
        Verdict, //
    },
    once, //
};
use kernel::{
    alloc::KVVec,
    fmt,
    prelude::*,
    sync::atomic::{
        ordering,
        Atomic, //
    }, //
};

/// Slots that may hold the same request.
const WAYS: usize = 4;

type Set = [Slot; WAYS];

/// The most requests that a ledger can hold.
const LIMIT: u32 = 1 << 16;

/// The table, null if there is none.
static TABLE: Atomic<*const Table> = Atomic::new(core::ptr::null());

/// The same while the ledger is on, null while it is off.
static ON: Atomic<*const Table> = Atomic::new(core::ptr::null());

/// The slots, and what is counted of them.
struct Table {
    /// A power of two of sets.
    sets: KVVec<Set>,
    /// Requests that were entered.
    entered: Atomic<u64>,
    /// Requests that had to go while they were waiting.
    evicted: Atomic<u64>,
    /// What could not be entered since somebody else wrote there.
    missed: Atomic<u64>,
}

/// The ledger of this module; gone when dropped.
///
/// To be dropped when no SMP is handled any more.
pub(crate) struct Ledger {
    _table: Option<KBox<Table>>,
}

impl Ledger {
    /// Opens a ledger of at least so many requests; of none, it cannot be switched on.
    pub(crate) fn open(size: u32) -> Result<Self> {
        if size == 0 {
            return Ok(Self { _table: None });
        }
        if size > LIMIT {
            pr_err!("ledger={size} is out of range: it can be 0 to {LIMIT}\n");
            return Err(EINVAL);
        }
        let count = (size as usize).max(WAYS).next_power_of_two() / WAYS;
        let mut sets = KVVec::with_capacity(count, GFP_KERNEL)?;
        for _ in 0..count {
            sets.push([const { Slot::new() }; WAYS], GFP_KERNEL)?;
        }
        let table = KBox::new(
            Table {
                sets,
                entered: Atomic::new(0),
                evicted: Atomic::new(0),
                missed: Atomic::new(0),
            },
            GFP_KERNEL,
        )?;
        TABLE.store(&*table, ordering::Release);
        ON.store(&*table, ordering::Release);
        Ok(Self {
            _table: Some(table),
        })
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        ON.store(core::ptr::null(), ordering::Relaxed);
        TABLE.store(core::ptr::null(), ordering::Relaxed);
    }
}

/// The table, if it is to be used.
#[inline]
fn table() -> Option<&'static Table> {
    // SAFETY: Null, or the table of a `Ledger`, which outlives all use of it.
    unsafe { once::read(&ON).as_ref() }
}

/// The table, if there is one.
fn opened() -> Option<&'static Table> {
    // SAFETY: As above.
    unsafe { once::read(&TABLE).as_ref() }
}

/// The time, in nanoseconds.
fn now() -> u64 {
    // SAFETY: Always safe to call.
    unsafe { kernel::bindings::ktime_get_mono_fast_ns() }
}

/// Enters a request that is about to leave, if an answer is expected; notes the hop in any case.
#[inline]
pub(crate) fn enter(hop: &Hop<'_>, departing: &Departing) {
    if let Some(table) = table() {
        table.enter(hop, departing);
    }
}

/// Notes a hop of this host.
#[inline]
pub(crate) fn note(hop: &Hop<'_>) {
    if let Some(table) = table() {
        table.note(hop, 0);
    }
}

/// Notes that an SMP was lost.
pub(crate) fn note_loss(hop: &Hop<'_>) {
    if let Some(table) = table() {
        table.note(hop, hop.reason_number());
    }
}

/// Notes that an answer of the node itself reaches who has asked.
pub(crate) fn answered_within(origin: Origin<'_>, answer: &Smp) {
    if let Some(table) = table() {
        let now = now();
        for slot in table.of(smp::tid(answer)) {
            table.answered(slot, origin, answer, now);
        }
    }
}

/// Switches the ledger: `on`, `off`, or `clear`.
pub(crate) fn control(word: &[u8]) -> Result {
    let table = opened().ok_or(ENODEV)?;
    match word {
        b"on" => ON.store(table, ordering::Release),
        b"off" => ON.store(core::ptr::null(), ordering::Relaxed),
        b"clear" => table.slots().for_each(Slot::clear),
        _ => return Err(EINVAL),
    }
    Ok(())
}

/// Shows the ledger. `name` writes the name of a device, by its index.
pub(crate) fn show(
    f: &mut fmt::Formatter<'_>,
    mut name: impl FnMut(&mut fmt::Formatter<'_>, u32) -> fmt::Result,
) -> fmt::Result {
    let Some(table) = opened() else {
        return writeln!(f, "off size=0 entered=0 evicted=0 missed=0");
    };
    writeln!(
        f,
        "{} size={} entered={} evicted={} missed={}",
        if self::table().is_some() { "on" } else { "off" },
        table.sets.len() * WAYS,
        table.entered.load(ordering::Relaxed),
        table.evicted.load(ordering::Relaxed),
        table.missed.load(ordering::Relaxed),
    )?;
    let now = now();
    for slot in table.slots() {
        if let Some((tid, record, path)) = slot.read() {
            record.show(f, (tid, &path), now, &slot.last(), &mut name)?;
        }
    }
    Ok(())
}

impl Table {
    /// All slots.
    fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.sets.iter().flatten()
    }

    /// The slots where a request with this TID may be.
    #[inline]
    fn set(&self, tid: u64) -> Option<&Set> {
        // The high word names the agent, the low word counts.
        let hash = (tid ^ (tid >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.sets
            .get(hash as usize & self.sets.len().wrapping_sub(1))
    }

    /// The slots that have a request with this TID.
    #[inline]
    fn of(&self, tid: u64) -> impl Iterator<Item = &Slot> {
        let set = self.set(tid).into_iter().flatten();
        set.filter(move |slot| slot.tid() == tid)
    }

    #[inline(never)]
    fn enter(&self, hop: &Hop<'_>, departing: &Departing) {
        let (timeout_ms, retries) = departing.patience();
        let route = hop.route();
        let request = route.direction == Direction::Outgoing && !smp::is_answer(hop.smp);
        let (Some(device), true, true) = (hop.origin.device, request, timeout_ms > 0) else {
            return self.note(hop, 0);
        };
        let header = Header::read(hop.smp);
        let now = now();
        let record = Record {
            sequence: self.entered.fetch_add(1u64, ordering::Relaxed),
            sent: now,
            done: 0,
            device: device.index(),
            port: hop.origin.port,
            attr_mod: header.attr_mod,
            dr_dlid: hop.format.lid(route.dr_dlid),
            timeout_ms,
            retries,
            attr_id: header.attr_id,
            status: 0,
            method: header.method,
            hop_cnt: route.hop_cnt,
        };
        let owner = owner(record.device, record.port);
        let Some(slot) = self.place(header.tid, owner, now) else {
            return;
        };
        if slot.write(header.tid, &record, route.initial_path) {
            slot.note(&Last::new(now, hop, 0));
        } else {
            self.missed.add(1u64, ordering::Relaxed);
        }
    }

    /// Finds the slot for a request: the one that it has been in before, a free one, that of the oldest
    /// that is done, or that of the oldest.
    #[inline]
    fn place(&self, tid: u64, owner: u64, now: u64) -> Option<&Slot> {
        /// Above all times.
        const WAITING: u64 = 1 << 63;
        let (mut least, mut place) = (u64::MAX, None);
        for slot in self.set(tid)? {
            let rank = match slot.tid() {
                held if held == tid && slot.is_of(owner) => return Some(slot),
                0 => 0,
                _ if slot.is_waiting(now) => slot.sent() | WAITING,
                _ => slot.sent(),
            };
            if rank < least {
                (least, place) = (rank, Some(slot));
            }
        }
        if least >= WAITING {
            self.evicted.add(1u64, ordering::Relaxed);
        }
        place
    }

    /// Notes a hop in the slots that have the request, if there are any.
    #[inline(never)]
    fn note(&self, hop: &Hop<'_>, reason: u8) {
        let tid = smp::tid(hop.smp);
        let Some(set) = self.set(tid) else { return };
        let (mut found, mut count) = (None, 0);
        for slot in set {
            if slot.tid() == tid {
                found = Some(slot);
                count += 1;
            }
        }
        match found {
            Some(slot) if count == 1 => self.note_in(slot, hop, reason, true),
            Some(_) => self.note_in_each(hop, reason),
            None => (),
        }
    }

    /// The same where several requests have the TID.
    #[cold]
    #[inline(never)]
    fn note_in_each(&self, hop: &Hop<'_>, reason: u8) {
        for slot in self.of(smp::tid(hop.smp)) {
            // At another node, the TID does not tell whose it is.
            let own = owner_at(hop.origin).is_some_and(|owner| slot.is_of(owner));
            self.note_in(slot, hop, reason, own);
        }
    }

    /// Notes a hop of the request in a slot, if it is `own`; and that it is answered, if it is that.
    #[inline(always)]
    fn note_in(&self, slot: &Slot, hop: &Hop<'_>, reason: u8, own: bool) {
        let now = now();
        if own {
            slot.note(&Last::new(now, hop, reason));
        }
        if hop.point == Point::Recv
            && reason == 0
            && hop.decision.verdict == Verdict::Local
            && hop.route().direction == Direction::Returning
            // Or ib_mad does not take it for an answer.
            && smp::is_answer(hop.smp)
        {
            self.answered(slot, hop.origin, hop.smp, now);
        }
    }

    /// Notes the answer to a request, if it comes to the port that has asked.
    fn answered(&self, slot: &Slot, origin: Origin<'_>, answer: &Smp, now: u64) {
        let Some(owner) = owner_at(origin) else {
            return;
        };
        let status = Header::read(answer).status;
        if !slot.finish(smp::tid(answer), owner, now, status) {
            self.missed.add(1u64, ordering::Relaxed);
        }
    }
}

/// Who has sent what leaves from there, if that is known.
#[inline]
fn owner_at(origin: Origin<'_>) -> Option<u64> {
    let device = origin.device?;
    Some(owner(device.index(), origin.port))
}
