// SPDX-License-Identifier: GPL-2.0

//! Writes to all umad devices, by clients that come and go.
//!
//! C header: `include/uapi/rdma/ib_user_mad.h`.

use crate::{
    idle::Queues,
    wire,
    Options, //
};
use smi_fuzz::{
    umad::{
        low_tid,
        Client,
        Write,
        AGENTS,
        HEADER,
        OLD_HEADER, //
    }, //
};
use std::collections::HashMap;
use std::ffi::{
    c_int,
    c_ulong, //
};
use std::fs::{
    self,
    File, //
};
use std::io::{
    self,
    ErrorKind,
    Read,
    Write as _, //
};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;
use std::time::{
    Duration,
    Instant, //
};

const REGISTER_AGENT: c_ulong = 0xC01C_1B01;
const ENABLE_PKEY: c_ulong = 0x0000_1B03;
const O_NONBLOCK: c_int = 0o4000;
const TIMED_OUT: u32 = 110;

/// So many writes, then all that is due is waited for, and all clients are closed and opened again.
const ROUND: u64 = 1024;

/// So many writes, then all is read that is there.
const BATCH: u64 = 64;

/// How long answers and reports of timeouts may take.
const PATIENCE: Duration = Duration::from_secs(60);

extern "C" {
    fn ioctl(fd: c_int, request: c_ulong, argument: *mut u8) -> c_int;
}

/// What came of it.
#[derive(Default)]
struct Counts {
    written: u64,
    taken: u64,
    due: u64,
    answers: u64,
    timeouts: u64,
    errors: u64,
    unasked: u64,
    overdue: u64,
}

/// A client's file, and how many of each transaction ID are due.
struct Open {
    file: File,
    header: usize,
    due: HashMap<u32, u32>,
}

/// Throws, or prints, all of them.
pub fn run(options: &Options) -> io::Result<()> {
    let (paths, clients) = clients(options.opa)?;
    let mut output = io::stdout().lock();
    if options.print {
        for index in options.numbers() {
            let write = Write::make(options.seed, index, &clients);
            let path = &paths[write.client];
            write!(output, "{index} {path} ")?;
            for byte in &write.bytes {
                write!(output, "{byte:02x}")?;
            }
            writeln!(output)?;
        }
        return Ok(());
    }
    let mut counts = Counts::default();
    let mut queues = Queues::open()?;
    let numbers = options.numbers();
    let mut next = numbers.start;
    while next < numbers.end {
        let end = numbers.end.min(next.saturating_add(ROUND));
        round(options.seed, next..end, &paths, &clients, &mut counts)?;
        next = end;
    }
    queues.settle()?;
    counts.print(&mut output)
}

/// Two clients of every umad device, one without P_Key index.
fn clients(opa: bool) -> io::Result<(Vec<String>, Vec<Client>)> {
    let (mut paths, mut clients) = (Vec::new(), Vec::new());
    let mut names = Vec::new();
    for entry in fs::read_dir("/sys/class/infiniband_mad")? {
        names.push(entry?.file_name().into_string().unwrap_or_default());
    }
    names.retain(|name| name.starts_with("umad"));
    names.sort();
    for name in names {
        let folder = Path::new("/sys/class/infiniband_mad").join(&name);
        let device = fs::read_to_string(folder.join("ibdev"))?;
        let port = fs::read_to_string(folder.join("port"))?.trim().parse();
        for pkey in [true, false] {
            let found = wire::sites(opa)?
                .into_iter()
                .find(|site| site.name == device.trim());
            let (Some(site), Ok(port)) = (found, &port) else {
                continue;
            };
            paths.push(format!("/dev/infiniband/{name}"));
            clients.push(Client {
                site,
                port: *port,
                pkey,
            });
        }
    }
    if clients.is_empty() {
        return Err(io::Error::other(
            "the fabric has no umad device: modprobe ib_umad",
        ));
    }
    Ok((paths, clients))
}

/// One round: opens all clients, writes, and waits for what is due.
fn round(
    seed: u64,
    numbers: std::ops::Range<u64>,
    paths: &[String],
    clients: &[Client],
    counts: &mut Counts,
) -> io::Result<()> {
    let mut files = Vec::new();
    for (path, client) in paths.iter().zip(clients) {
        files.push(Open::new(path, client)?);
    }
    for index in numbers {
        let write = Write::make(seed, index, clients);
        files[write.client].write(&write, counts);
        if index % BATCH == BATCH - 1 {
            for open in &mut files {
                open.drain(counts)?;
            }
        }
    }
    let start = Instant::now();
    while files.iter().any(|open| !open.due.is_empty()) && start.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(2));
        for open in &mut files {
            open.drain(counts)?;
        }
    }
    for open in &files {
        for (tid, times) in &open.due {
            counts.overdue += u64::from(*times);
            // There is more to be found out by `--print`.
            writeln!(io::stderr(), "overdue: low TID {tid:#x}")?;
        }
    }
    Ok(())
}

impl Open {
    /// Opens a client and registers its agents.
    fn new(path: &str, client: &Client) -> io::Result<Self> {
        let file = File::options()
            .read(true)
            .write(true)
            .custom_flags(O_NONBLOCK)
            .open(path)?;
        if client.pkey {
            control(&file, ENABLE_PKEY, &mut [])?;
        }
        let last = if client.site.opa {
            AGENTS.len()
        } else {
            AGENTS.len() - 1
        };
        for (class, version, qpn, rmpp) in &AGENTS[..last] {
            // id, method mask, then these.
            let mut request = [0; 28];
            request[20..23].copy_from_slice(&[*qpn, *class, *version]);
            request[26] = *rmpp;
            control(&file, REGISTER_AGENT, &mut request)?;
        }
        Ok(Self {
            file,
            header: if client.pkey { HEADER } else { OLD_HEADER },
            due: HashMap::new(),
        })
    }

    /// Writes.
    fn write(&mut self, write: &Write, counts: &mut Counts) {
        counts.written += 1;
        if self.file.write(&write.bytes).is_err() {
            return;
        }
        counts.taken += 1;
        if let Some(tid) = write.due {
            counts.due += 1;
            *self.due.entry(tid).or_default() += 1;
        }
    }

    /// Reads all that is there.
    fn drain(&mut self, counts: &mut Counts) -> io::Result<()> {
        let mut buffer = [0; HEADER + 4096];
        loop {
            let read = match self.file.read(&mut buffer) {
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            let status = u32::from_ne_bytes([buffer[4], buffer[5], buffer[6], buffer[7]]);
            match status {
                0 => counts.answers += 1,
                TIMED_OUT => counts.timeouts += 1,
                _ => counts.errors += 1,
            }
            let mad = buffer.get(self.header..read).unwrap_or(&[]);
            let tid = (mad.len() >= 16).then(|| low_tid(mad));
            let Some(times) = tid.and_then(|tid| self.due.get_mut(&tid)) else {
                counts.unasked += 1;
                continue;
            };
            *times -= 1;
            if let (0, Some(tid)) = (*times, tid) {
                self.due.remove(&tid);
            }
        }
    }
}

/// Calls ioctl with the bytes of a structure, or without.
fn control(file: &File, request: c_ulong, bytes: &mut [u8]) -> io::Result<()> {
    // SAFETY: The bytes are as many as the request has in its number, or it takes none; the file is
    // open.
    match unsafe { ioctl(file.as_raw_fd(), request, bytes.as_mut_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

impl Counts {
    /// Prints all.
    fn print(&self, output: &mut impl io::Write) -> io::Result<()> {
        for (name, count) in [
            ("written", self.written),
            ("taken", self.taken),
            ("due", self.due),
            ("answers", self.answers),
            ("timeouts", self.timeouts),
            ("errors", self.errors),
            ("unasked", self.unasked),
            ("overdue", self.overdue),
        ] {
            writeln!(output, "{name} {count}")?;
        }
        Ok(())
    }
}
