// SPDX-License-Identifier: GPL-2.0

//! `/sys/kernel/debug/ib_smi`: what was counted, for root.
//!
//! `DEVICE/PORT/` has a port's `decisions`, `discards` and `queue`; `counters` has all of them, each line
//! with device and port in front; `discards` are all there were; `ledger` is what became of requests.
//! Every file is made to be read by programs: one thing a line, words apart by blanks.

use super::{
    counters::{
        Discards,
        Tally,
        DISCARDS,
        NOBODY, //
    },
    ledger,
    ports::Ports, //
};
use crate::{
    debugfs::{
        self,
        Shown, //
    },
    rdma::device::Device, //
};
use kernel::{
    alloc::KVec,
    fmt,
    prelude::*,
    str::CString,
    sync::{
        global_lock,
        Arc, //
    },
    uaccess::UserSliceReader, //
};

/// What is counted of a device.
pub(super) struct Sheet {
    pub(super) device: &'static Device,
    pub(super) pages: KVec<Arc<Page>>,
}

/// What is counted of a port.
pub(super) struct Page {
    pub(super) device: &'static Device,
    pub(super) port: u32,
    pub(super) tally: Tally,
}

/// What is shown of a device.
struct Entry {
    /// None if it could not be made.
    folder: Option<Shown<Sheet>>,
    sheet: Arc<Sheet>,
}

/// The folder, and what it has of devices.
struct Top {
    folder: Arc<debugfs::Folder>,
    shown: KVec<Entry>,
}

global_lock! {
    // SAFETY: Initialised by `Folder::open()`, before any device is added.
    unsafe(uninit) static TOP: Mutex<Option<Top>> = None;
}

/// The open folder, with its own files; gone when dropped, in this order: who reads a file may want the lock.
pub(crate) struct Folder {
    _closed: Closed,
    _folder: Arc<debugfs::Folder>,
}

/// Takes the folder away from those who add devices, when dropped.
struct Closed;

impl Drop for Closed {
    fn drop(&mut self) {
        *TOP.lock() = None;
    }
}

impl Folder {
    /// Opens the folder. To be called once, before the first device is added.
    pub(crate) fn open() -> Result<Self> {
        let folder = Arc::new(debugfs::Folder::new(c"ib_smi", None), GFP_KERNEL)?;
        // SAFETY: Called once, before anybody locks.
        unsafe { TOP.init() };
        let files = folder.files();
        files.show(c"discards", &(), all_discards);
        files.show(c"counters", &(), all_counters);
        files.control(c"ledger", &(), ledger, control);
        *TOP.lock() = Some(Top {
            folder: folder.clone(),
            shown: KVec::new(),
        });
        Ok(Self {
            _closed: Closed,
            _folder: folder,
        })
    }
}

/// A device's place in the folder; gone when dropped.
pub(super) struct Place(Arc<Sheet>);

impl Place {
    /// Shows what is counted of a device.
    pub(super) fn take(sheet: Arc<Sheet>) -> Result<Self> {
        let mut top = TOP.lock();
        let top = top.as_mut().ok_or(ENODEV)?;
        let folder = folder(&top.folder, &sheet);
        top.shown.push(
            Entry {
                folder,
                sheet: sheet.clone(),
            },
            GFP_KERNEL,
        )?;
        Ok(Self(sheet))
    }

    /// Shows it under the name that the device has now.
    pub(super) fn rename(&self) {
        let mut top = TOP.lock();
        let Some(Top {
            folder: within,
            shown,
        }) = top.as_mut()
        else {
            return;
        };
        for shown in shown.iter_mut() {
            if Arc::ptr_eq(&shown.sheet, &self.0) {
                // The new name may be the old one.
                shown.folder = None;
                shown.folder = folder(within, &shown.sheet);
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(top) = TOP.lock().as_mut() {
            top.shown
                .retain(|shown| !Arc::ptr_eq(&shown.sheet, &self.0));
        }
    }
}

/// Makes a device's folder. It is an aid: without it, everything else works.
fn folder(within: &Arc<debugfs::Folder>, sheet: &Arc<Sheet>) -> Option<Shown<Sheet>> {
    let made = make_folder(within, sheet).inspect_err(|error| {
        pr_err!(
            "{}: not shown in debugfs (error {})\n",
            sheet.device.name(),
            error.to_errno()
        )
    });
    made.ok()
}

fn make_folder(within: &Arc<debugfs::Folder>, sheet: &Arc<Sheet>) -> Result<Shown<Sheet>> {
    let name = CString::try_from_fmt(fmt!("{}", sheet.device.name()))?;
    Ok(Shown::new(
        &name,
        Some(within.clone()),
        sheet.clone(),
        |files, sheet| {
            for page in sheet.pages.iter().map(|page| &**page) {
                if let Ok(port) = CString::try_from_fmt(fmt!("{}", page.port)) {
                    let files = files.folder(&port);
                    files.show(c"decisions", page, decisions);
                    files.show(c"discards", page, discards);
                    files.show(c"queue", page, queue);
                }
            }
        },
    ))
}

/// `POINT RULE VERDICT COUNT`, a line a decision that there was.
fn decisions(page: &Page, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    page.tally.each_decision(|point, rule, verdict, count| {
        writeln!(f, "{point} {rule} {verdict} {count}")
    })
}

/// `REASON COUNT`, a line a reason that there can be.
fn discards(page: &Page, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write_discards(&page.tally.discards, f)
}

/// The same, of all ports and of what concerned none.
fn all_discards(_: &(), f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write_discards(&DISCARDS, f)
}

fn write_discards(discards: &Discards, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    discards.each(|reason, count| writeln!(f, "{reason} {count}"))
}

/// `WHAT COUNT`, a line each: QP0's send and receive queues now.
fn queue(page: &Page, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let levels = Ports::of(page.device, |ports| ports.levels(page.port));
    match levels.flatten() {
        Some(levels) => levels.each(|what, count| writeln!(f, "{what} {count}")),
        None => Ok(()),
    }
}

/// `DEVICE PORT decision POINT RULE VERDICT COUNT` and `DEVICE PORT discard REASON COUNT`, a line for
/// each that there was. What concerned no port has `-` and `-` in front.
fn all_counters(_: &(), f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if let Some(top) = TOP.lock().as_ref() {
        for page in top.shown.iter().flat_map(|shown| &shown.sheet.pages) {
            write_counters(fmt!("{} {}", page.device.name(), page.port), &page.tally, f)?;
        }
    }
    write_counters(fmt!("- -"), &NOBODY, f)
}

fn write_counters(
    whose: fmt::Arguments<'_>,
    tally: &Tally,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    tally.each_decision(|point, rule, verdict, count| {
        writeln!(f, "{whose} decision {point} {rule} {verdict} {count}")
    })?;
    tally.discards.each(|reason, count| match count {
        0 => Ok(()),
        _ => writeln!(f, "{whose} discard {reason} {count}"),
    })
}

/// A line on the ledger itself, then a line a request.
fn ledger(_: &(), f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let top = TOP.lock();
    ledger::show(f, |f, index| {
        let mut devices = top
            .iter()
            .flat_map(|top| top.shown.iter())
            .map(|shown| shown.sheet.device);
        match devices.find(|device| device.index() == index) {
            Some(device) => fmt::Display::fmt(device.name(), f),
            None => f.write_str("-"),
        }
    })
}

/// Takes `on`, `off` or `clear`.
fn control(_: &(), reader: &mut UserSliceReader) -> Result {
    let mut word = [0; 8];
    let word = word.get_mut(..reader.len()).ok_or(EINVAL)?;
    reader.read_slice(word)?;
    ledger::control(word.trim_ascii())
}
