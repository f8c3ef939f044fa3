// SPDX-License-Identifier: GPL-2.0

//! `dr-judge`: judges directed-route SMPs, one a line, by the rules that the kernel module uses.

use std::io::{
    self,
    BufRead,
    BufReader,
    BufWriter,
    Write, //
};
use std::process::ExitCode;

use dr::{
    receive,
    send,
    Decision,
    DrSmp,
    Verdict, //
};

use line::{
    Line,
    Side, //
};

#[path = "dr-judge/line.rs"]
mod line;

const HELP: &str = "\
dr-judge: judges directed-route SMPs by the rules of the InfiniBand architecture.

usage: dr-judge [--send] < SMPS

Reads one SMP a line:

    sw=4 in=1 <512 hex digits>    came in through port 1 of a switch with 4 external ports
    ca=2 in=1 <512 hex digits>    came in through port 1 of a channel adapter with 2 ports

The fields may come in any order, the hex digits in groups. `#` starts a comment, which ends with
the line; blank lines are skipped. With --send the node itself sends the SMP, through the port
`out=1` in the place of `in=1`; the agent of a switch may say `out=0`, for any port.

Prints one line for each SMP:

    verdict=forward egress=2 lid=- hop=1,2 rule=C14-9:2 reason=-

    verdict  local, forward (through the port `egress`), route (to the LID `lid`; `-` if the LID is
             not in the SMP) or discard
    hop      the Hop Pointer before, and as the SMP leaves or is handed up
    rule     the rule that decided, by its name in the specification
    reason   why it is discarded

A line that is not understood is reported on standard error, and the exit status is 1.

    --send      judge the sending side
    -h, --help  print this text
";

fn main() -> ExitCode {
    let mut side = Side::Receive;
    for argument in std::env::args_os().skip(1) {
        match argument.to_str() {
            Some("--send") => side = Side::Send,
            Some("-h" | "--help") => {
                return match io::stdout().write_all(HELP.as_bytes()) {
                    Ok(()) => ExitCode::SUCCESS,
                    Err(error) => output_failed(&error, ExitCode::SUCCESS),
                };
            }
            _ => {
                complain(format_args!(
                    "unknown argument {argument:?}; expected --send, --help or nothing"
                ));
                return ExitCode::from(2);
            }
        }
    }
    judge_all(side)
}

/// Judges every line of standard input.
fn judge_all(side: Side) -> ExitCode {
    let mut input = BufReader::with_capacity(1 << 16, io::stdin().lock());
    let mut output = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut status = ExitCode::SUCCESS;
    let mut text = Vec::new();
    for number in 1u64.. {
        text.clear();
        match input.read_until(b'\n', &mut text) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => {
                complain(format_args!("cannot read standard input: {error}"));
                status = ExitCode::FAILURE;
                break;
            }
        }
        match Line::parse(&text, side) {
            Ok(None) => {}
            Ok(Some(line)) => {
                if let Err(error) = judge(&line, side, &mut output) {
                    return output_failed(&error, status);
                }
            }
            Err(error) => {
                complain(format_args!("line {number}: {error}"));
                status = ExitCode::FAILURE;
            }
        }
        // Whoever waits for an answer before the next question gets it.
        if input.buffer().is_empty() {
            if let Err(error) = output.flush() {
                return output_failed(&error, status);
            }
        }
    }
    match output.flush() {
        Ok(()) => status,
        Err(error) => output_failed(&error, status),
    }
}

/// Judges one line and prints the decision.
fn judge(line: &Line, side: Side, output: &mut impl Write) -> io::Result<()> {
    let smp = DrSmp::from_ib(&line.packet);
    let decision = match side {
        Side::Receive => receive(&smp, line.node, line.port),
        Side::Send => send(&smp, line.node, line.port),
    };
    print(smp.hop_ptr, &decision, output)
}

/// Prints a decision about an SMP that had the Hop Pointer `arrived`.
fn print(arrived: u8, decision: &Decision, output: &mut impl Write) -> io::Result<()> {
    match decision.verdict {
        Verdict::Local => write!(output, "verdict=local egress=- lid=-")?,
        Verdict::Forward { egress } => write!(output, "verdict=forward egress={egress} lid=-")?,
        Verdict::Route(Some(lid)) => write!(output, "verdict=route egress=- lid={lid:#06x}")?,
        Verdict::Route(None) => write!(output, "verdict=route egress=- lid=-")?,
        Verdict::Discard(_) => write!(output, "verdict=discard egress=- lid=-")?,
    }
    let reason = match decision.verdict {
        Verdict::Discard(reason) => reason.name(),
        _ => "-",
    };
    writeln!(
        output,
        " hop={arrived},{} rule={} reason={reason}",
        decision.hop_ptr,
        decision.rule.name()
    )
}

/// A reader that went away is no failure; anything else that keeps the output back is.
fn output_failed(error: &io::Error, status: ExitCode) -> ExitCode {
    if error.kind() == io::ErrorKind::BrokenPipe {
        status
    } else {
        complain(format_args!("cannot write standard output: {error}"));
        ExitCode::FAILURE
    }
}

/// A message on standard error. There is nowhere to complain if that is closed.
fn complain(message: std::fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "dr-judge: {message}");
}
