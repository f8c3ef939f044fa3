// SPDX-License-Identifier: GPL-2.0

//! Any SMP at any node: the rules decide as the oracle does, and as mainline's `smi.c` but for the known
//! deviations, if that is there.

use dr_check::{
    case::{
        Case,
        Layout,
        Packet,
        Side, //
    },
    deviation,
    differential,
    enumeration,
    mainline,
    oracle, //
};

/// How many bytes a case takes.
const LEN: usize = 16 + 128;

/// What libFuzzer calls with bytes of its choice.
///
/// # Safety
///
/// `bytes` must point to `len` bytes.
#[no_mangle]
pub unsafe extern "C" fn LLVMFuzzerTestOneInput(bytes: *const u8, len: usize) -> i32 {
    if len < LEN {
        return 0;
    }
    // SAFETY: By the safety requirements.
    let bytes = unsafe { &*bytes.cast::<[u8; LEN]>() };
    let case = read(bytes);
    let mut packet = Packet::new(&case);
    for side in Side::ALL {
        judge(side, &case, &mut packet);
    }
    0
}

/// The case that bytes stand for.
fn read(bytes: &[u8; LEN]) -> Case {
    let word = |at: usize| u32::from_be_bytes(std::array::from_fn(|byte| bytes[at + byte]));
    let path = |at: usize| std::array::from_fn(|hop| bytes[at + hop]);
    let flag = |bit: u8| (bytes[0] >> bit) & 1 != 0;
    let layout = if flag(0) { Layout::Opa } else { Layout::Ib };
    let lid = |given: bool, at: usize| {
        let (lid, permissive) = match layout {
            Layout::Ib => (word(at) & 0xFFFF, 0xFFFF),
            Layout::Opa => (word(at), u32::MAX),
        };
        (given && lid != permissive).then_some(lid)
    };
    let switch = flag(1);
    let ports = bytes[1].clamp(1, 254);
    let port = 1 + bytes[2] % ports;
    Case {
        layout,
        switch,
        ports,
        port,
        returning: flag(2),
        hop_ptr: bytes[3],
        hop_cnt: bytes[4],
        slid: lid(flag(3), 8),
        dlid: lid(flag(4), 12),
        initial: path(16),
        back: path(80),
    }
}

/// Judges a case by all who know the rules.
fn judge(side: Side, case: &Case, packet: &mut Packet) {
    let decision = enumeration::library(side, case, packet);
    let expected = oracle::judge(side, case);
    assert_eq!(
        enumeration::outcome(decision),
        expected,
        "{side:?} {case:?}"
    );
    if !differential::comparable(side, case) {
        return;
    }
    if let Some(other) = mainline::judge(side, case, packet) {
        let same = differential::same(case, &decision, &other);
        assert_eq!(
            same,
            deviation::of(side, case).is_none(),
            "{side:?} {case:?}: {decision:?}, mainline {other:?}"
        );
    }
}
