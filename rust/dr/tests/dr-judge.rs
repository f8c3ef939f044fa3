// SPDX-License-Identifier: GPL-2.0

//! `dr-judge` from the outside: lines in, lines out.

use std::io::{
    BufRead,
    BufReader,
    Read,
    Write, //
};
use std::process::{
    Command,
    Output,
    Stdio, //
};

/// Runs `dr-judge` with `arguments` on `input`.
fn judge(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_dr-judge"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    // It does not read on after a usage error.
    let _ = writer.join().unwrap();
    output
}

/// An SMP in hex: the D bit, Hop Pointer, Hop Count, DrSLID, DrDLID, and the path of its direction
/// from element 1 on.
fn smp(returning: bool, hop: (u8, u8), lids: (u16, u16), path: &[u8]) -> String {
    let mut bytes = [0; 256];
    bytes[..4].copy_from_slice(&[1, 0x81, 1, if returning { 0x81 } else { 1 }]);
    bytes[4] = if returning { 0x80 } else { 0 };
    bytes[6] = hop.0;
    bytes[7] = hop.1;
    bytes[32..34].copy_from_slice(&lids.0.to_be_bytes());
    bytes[34..36].copy_from_slice(&lids.1.to_be_bytes());
    let start = if returning { 193 } else { 129 };
    bytes[start..start + path.len()].copy_from_slice(path);
    bytes
        .iter()
        .fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

/// A transit at a switch, out through port 2.
fn transit() -> String {
    smp(false, (1, 2), (0xFFFF, 0xFFFF), &[1, 2])
}

const TRANSIT: &str = "verdict=forward egress=2 lid=- hop=1,2 rule=C14-9:2 reason=-\n";

struct Row<'a> {
    arguments: &'a [&'a str],
    input: &'a str,
    output: &'a str,
}

/// One good input, whose output is known.
fn check(row: Row<'_>) {
    let output = judge(row.arguments, row.input.as_bytes());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        row.output,
        "{}",
        row.input
    );
    assert!(output.status.success());
}

/// One bad line, third of the input between two good ones; the message holds `expected`.
fn refuse(arguments: &[&str], line: &[u8], expected: &str) {
    let good = match arguments {
        [] => format!("sw=4 in=1 {}\n", transit()),
        _ => format!("sw=4 out=2 {}\n", transit()),
    };
    let input = [good.as_bytes(), b"\n", line, b"\n", good.as_bytes()].concat();
    let output = judge(arguments, &input);
    let answer = TRANSIT.repeat(2);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        answer,
        "{expected}"
    );
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.starts_with("dr-judge: line 3: "), "{message}");
    assert!(
        message.contains(expected),
        "{message} should say {expected}"
    );
    assert!(message.contains("expected "), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn every_verdict() {
    let rows = [
        ("sw=4 in=1", transit(), TRANSIT),
        (
            "ca=2 in=2",
            smp(false, (2, 2), (0xFFFF, 0xFFFF), &[1, 2]),
            "verdict=local egress=- lid=- hop=2,3 rule=C14-9:3 reason=-\n",
        ),
        (
            "sw=4 in=1",
            smp(false, (1, 1), (0xFFFF, 7), &[1]),
            "verdict=route egress=- lid=0x0007 hop=1,2 rule=C14-9:3 reason=-\n",
        ),
        (
            "sw=254 in=254",
            smp(true, (1, 2), (0xBFFF, 0xFFFF), &[1]),
            "verdict=route egress=- lid=0xbfff hop=1,0 rule=C14-13:3 reason=-\n",
        ),
        (
            "sw=4 in=1",
            smp(false, (1, 2), (0xFFFF, 0xFFFF), &[1, 0]),
            "verdict=discard egress=- lid=- hop=1,1 rule=C14-9:2 reason=port-zero\n",
        ),
        (
            "ca=1 in=1",
            smp(true, (255, 255), (0xFFFF, 0xFFFF), &[]),
            "verdict=discard egress=- lid=- hop=255,255 rule=C14-6 reason=hop-count\n",
        ),
    ];
    let mut input = String::new();
    let mut output = String::new();
    for (node, packet, line) in &rows {
        input += &format!("{node} {packet}\n");
        output += line;
    }
    check(Row {
        arguments: &[],
        input: &input,
        output: &output,
    });
}

#[test]
fn sending_side() {
    let start = smp(false, (0, 2), (0xFFFF, 0xFFFF), &[2, 1]);
    let leading = smp(false, (0, 2), (5, 0xFFFF), &[2, 1]);
    let forward = "verdict=forward egress=2 lid=- hop=0,1 rule=C14-9:1 reason=-\n";
    let rows = [
        ("sw=4 out=2", &start, forward),
        ("sw=4 out=0", &start, forward),
        (
            "ca=2 out=1",
            &start,
            "verdict=discard egress=- lid=- hop=0,0 rule=C14-9:1 reason=wrong-port\n",
        ),
        (
            "ca=2 out=1",
            &leading,
            "verdict=route egress=- lid=- hop=0,0 rule=LID reason=-\n",
        ),
    ];
    for (node, packet, output) in rows {
        check(Row {
            arguments: &["--send"],
            input: &format!("{node} {packet}\n"),
            output,
        });
    }
}

#[test]
fn forms_of_a_line() {
    let hex = transit();
    let upper = hex.to_uppercase();
    let (left, right) = hex.split_at(31);
    for input in [
        format!("sw=4 in=1 {hex}\n"),
        format!("sw=4 in=1 {hex}"),
        format!("sw=4 in=1 {hex}\r\n"),
        format!("{upper}\tin=1   sw=4  \n"),
        format!("  in=001 sw=004 {hex}# a comment = here\n"),
        format!("sw=4 in=1 {left} {right} # in groups\n"),
        format!("# a comment\n\n  \t\r\n   # another\nsw=4 in=1 {hex}\n\n"),
    ] {
        check(Row {
            arguments: &[],
            input: &input,
            output: TRANSIT,
        });
    }
    let mut latin = b"# caf\xE9\n".to_vec();
    latin.extend_from_slice(format!("sw=4 in=1 {hex}\n").as_bytes());
    assert_eq!(judge(&[], &latin).stdout, TRANSIT.as_bytes());
    check(Row {
        arguments: &[],
        input: "",
        output: "",
    });
}

#[test]
fn malformed_lines() {
    let hex = transit();
    let lid_routed = hex.replacen("0181", "0101", 1);
    for (line, expected) in [
        (format!("in=1 {hex}"), "field missing; expected sw= or ca="),
        (format!("sw=4 {hex}"), "field missing; expected in="),
        ("sw=4 in=1".into(), "0 hex digits; expected 512"),
        (format!("sw=0 in=1 {hex}"), "\"sw=0\"; expected 1 to 254"),
        (
            format!("ca=255 in=1 {hex}"),
            "\"ca=255\"; expected 1 to 254",
        ),
        (
            format!("sw=256 in=1 {hex}"),
            "\"sw=256\"; expected 1 to 254",
        ),
        (format!("sw= in=1 {hex}"), "\"sw=\"; expected 1 to 254"),
        (format!("sw=+4 in=1 {hex}"), "\"sw=+4\"; expected 1 to 254"),
        (format!("sw=-4 in=1 {hex}"), "\"sw=-4\"; expected 1 to 254"),
        (
            format!("sw=four in=1 {hex}"),
            "\"sw=four\"; expected 1 to 254",
        ),
        (format!("sw=4 in=0 {hex}"), "\"in=0\"; expected 1 to 4"),
        (format!("sw=4 in=5 {hex}"), "\"in=5\"; expected 1 to 4"),
        (format!("in=5 sw=4 {hex}"), "\"in=5\"; expected 1 to 4"),
        (format!("sw=4 in=1 in=2 {hex}"), "\"in=2\" is one too many"),
        (format!("sw=4 ca=1 in=1 {hex}"), "\"ca=1\" is one too many"),
        (format!("sw=4 out=1 {hex}"), "unknown field \"out=1\""),
        (format!("SW=4 in=1 {hex}"), "unknown field \"SW=4\""),
        (
            format!("sw=4 in=1 {}", &hex[1..]),
            "511 hex digits, an odd number",
        ),
        (format!("sw=4 in=1 {}", &hex[2..]), "510 hex digits"),
        (format!("sw=4 in=1 {hex}00"), "514 hex digits"),
        (format!("sw=4 in=1 0x{hex}"), "'x' is no hex digit"),
        (
            format!("sw=4 in=1 {}\u{e9}", &hex[1..]),
            "'é' is no hex digit",
        ),
        (
            format!("sw=4 in=1 {lid_routed}"),
            "not a directed-route SMP: management class 0x01",
        ),
    ] {
        refuse(&[], line.as_bytes(), expected);
    }
    refuse(&[], b"sw=4 in=1 \xFF\xFE", "not UTF-8");
    refuse(
        &["--send"],
        format!("sw=4 in=1 {hex}").as_bytes(),
        "unknown field \"in=1\"",
    );
    refuse(
        &["--send"],
        format!("sw=4 {hex}").as_bytes(),
        "field missing; expected out=",
    );
    refuse(
        &["--send"],
        format!("sw=4 out=5 {hex}").as_bytes(),
        "\"out=5\"; expected 0 to 4",
    );
    refuse(
        &["--send"],
        format!("ca=4 out=0 {hex}").as_bytes(),
        "\"out=0\"; expected 1 to 4",
    );
}

#[test]
fn arguments() {
    for help in ["-h", "--help"] {
        let output = judge(&[help], b"");
        assert!(output.status.success());
        assert!(String::from_utf8_lossy(&output.stdout).contains("usage: dr-judge [--send]"));
    }
    let output = judge(&["--sned"], b"");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("\"--sned\""));
    assert!(output.stdout.is_empty());
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_dr-judge"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        let lines = format!("sw=4 in=1 {}\n", transit()).repeat(100);
        // Ends when the reader has gone.
        while stdin.write_all(lines.as_bytes()).is_ok() {}
    });
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    stdout.read_line(&mut first).unwrap();
    assert_eq!(first, TRANSIT);
    drop(stdout);
    writer.join().unwrap();
    assert!(child.wait().unwrap().success());
    let mut message = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut message)
        .unwrap();
    assert_eq!(message, "");
}

#[test]
fn answers_before_the_input_ends() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_dr-judge"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for _ in 0..3 {
        writeln!(stdin, "sw=4 in=1 {}", transit()).unwrap();
        let mut answer = String::new();
        stdout.read_line(&mut answer).unwrap();
        assert_eq!(answer, TRANSIT);
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}
