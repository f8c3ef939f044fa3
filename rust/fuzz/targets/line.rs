// SPDX-License-Identifier: GPL-2.0

//! A line of `dr-judge`: any bytes are read or refused, and what was read reads the same when it is
//! written in the plainest form.

#[path = "../../dr/bin/dr-judge/line.rs"]
#[allow(unreachable_pub)]
mod line;

use dr::NodeKind;
use line::{
    Line,
    Side, //
};
use std::fmt::Write;

/// What libFuzzer calls with bytes of its choice.
///
/// # Safety
///
/// `bytes` must point to `len` bytes.
#[no_mangle]
pub unsafe extern "C" fn LLVMFuzzerTestOneInput(bytes: *const u8, len: usize) -> i32 {
    if len == 0 {
        return 0;
    }
    // SAFETY: By the safety requirements.
    let text = unsafe { std::slice::from_raw_parts(bytes, len) };
    for side in [Side::Receive, Side::Send] {
        match Line::parse(text, side) {
            Ok(None) => {}
            Ok(Some(line)) => check(&line, side),
            // It says what is wrong in words.
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    0
}

/// Writes a line and reads it again.
fn check(line: &Line, side: Side) {
    let kind = match line.node.kind {
        NodeKind::Switch => "sw",
        NodeKind::Ca => "ca",
    };
    let port = match side {
        Side::Receive => "in",
        Side::Send => "out",
    };
    let mut text = format!("{kind}={} {port}={} ", line.node.ports, line.port);
    for byte in line.packet {
        let _ = write!(text, "{byte:02x}");
    }
    match Line::parse(text.as_bytes(), side) {
        Ok(Some(again)) => {
            assert_eq!((again.node, again.port), (line.node, line.port));
            assert_eq!(again.packet, line.packet);
        }
        Ok(None) => panic!("nothing is read from: {text}"),
        Err(error) => panic!("{error}: {text}"),
    }
}
