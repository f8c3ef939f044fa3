// SPDX-License-Identifier: GPL-2.0

//! Waits until the nodes have nothing to do: what is thrown faster than they take it would be lost for
//! lack of receive buffers, and tell nothing of the rules.

use std::fs::{
    self,
    File, //
};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::{
    Duration,
    Instant, //
};

/// How long a node may take for what it has got.
const PATIENCE: Duration = Duration::from_secs(60);

/// The files `queue` of ib_smi, one a port.
pub struct Queues {
    files: Vec<File>,
    /// How many receive buffers each has when none is in use.
    buffers: Vec<u64>,
    text: Vec<u8>,
}

impl Queues {
    /// Opens them. Nothing is going on then.
    pub fn open() -> io::Result<Self> {
        let mut queues = Self {
            files: Vec::new(),
            buffers: Vec::new(),
            text: vec![0; 512],
        };
        for device in fs::read_dir(Path::new("/sys/kernel/debug/ib_smi"))? {
            let device = device?.path();
            if !device.is_dir() {
                continue;
            }
            for port in fs::read_dir(device)? {
                queues.files.push(File::open(port?.path().join("queue"))?);
            }
        }
        for at in 0..queues.files.len() {
            let buffers = queues.levels(at)?.0;
            queues.buffers.push(buffers);
        }
        Ok(queues)
    }

    /// The receive buffers of a port that are posted, and how many sends are not done.
    fn levels(&mut self, at: usize) -> io::Result<(u64, u64)> {
        let read = self.files[at].read_at(&mut self.text, 0)?;
        let (mut buffers, mut sends) = (0, 0);
        for line in String::from_utf8_lossy(&self.text[..read]).lines() {
            let Some((name, Ok(value))) = line.split_once(' ').map(|(n, v)| (n, v.parse::<u64>()))
            else {
                continue;
            };
            match name {
                "receive_posted" => buffers = value,
                "send_posted" | "send_waiting" | "own_posted" | "own_waiting" => sends += value,
                _ => {}
            }
        }
        Ok((buffers, sends))
    }

    /// Waits until all ports are idle, and were so a moment before.
    pub fn settle(&mut self) -> io::Result<()> {
        let start = Instant::now();
        let mut quiet = 0;
        while quiet < 2 {
            thread::sleep(Duration::from_micros(200));
            let mut idle = true;
            for at in 0..self.files.len() {
                idle = idle && self.levels(at)? == (self.buffers[at], 0);
            }
            quiet = if idle { quiet + 1 } else { 0 };
            if start.elapsed() > PATIENCE {
                return Err(io::Error::other(
                    "a node is not done with what it has got: see `queue`",
                ));
            }
        }
        Ok(())
    }
}
