// SPDX-License-Identifier: GPL-2.0

//! `faults/NAME/PORT/`: what goes wrong with what a port sends.
//!
//! PORT is 1 to 254, and 0 for the queue pairs of a switch. `rmdir` ends it all; what is held back
//! leaves then. WHEN and `hits=N` are as for nodes.
//!
//! | Attribute                | Values                          | Meaning                           |
//! |--------------------------|---------------------------------|-----------------------------------|
//! | `match`                  | see [`Filter`]                  | To which packets; `all` at first  |
//! | `drop`                   | `off`, WHEN                     | They are sent and do not arrive   |
//! | `delay`                  | `off`, `MS WHEN`, 1 to 60000    | They leave later, in order        |
//! | `duplicate`              | `off`, WHEN                     | They are sent twice               |
//! | `truncate`               | `off`, `BYTES WHEN`, 1 to 255   | Only so many bytes of the datagram arrive |
//! | `corrupt`                | `off`, `OFFSET set\|xor VALUE WHEN` | A byte is another             |
//! | `queue`                  | read only                       | What is held back, and what found no room |
//! | `smi_posts`, `gsi_posts` | `off`, how many                 | The next posts to QP0 or QP1 are refused |
//! | `smi_sends`, `gsi_sends` | `off`, how many                 | The next sends complete with an error |
//! | `smi_stall`, `gsi_stall` | `off`, `on`                     | Completions of sends come later, when it is off |
//!
//! A packet is dropped, or else changed, then doubled, then delayed.

use super::{
    text,
    Place, //
};
use crate::{
    compat::configfs_attrs,
    faults::{
        Countdown,
        Filter,
        Knob,
        LinkFaults,
        SendFaults,
        Setting,
        Stall, //
    },
    port::{
        Port,
        PortRef, //
    },
    provider::{
        NodeType,
        QpKind, //
    }, //
};
use kernel::{
    configfs::{
        AttributeOperations,
        Group,
        ItemType, //
    },
    fmt,
    page::PAGE_SIZE,
    prelude::*,
    str::CStr, //
};

/// `faults/NAME/PORT/`.
pub(crate) struct PortFaultsDir {
    place: Place,
    number: u8,
}

impl PortFaultsDir {
    /// The directory of that name.
    pub(super) fn new(place: Place, name: &CStr) -> Result<Self> {
        place.check()?;
        let node = &place.node;
        let number = text::port_number(name).filter(|number| node.port(*number).is_some());
        let Some(number) = number else {
            let first = match node.node_type {
                NodeType::Ca => 1,
                NodeType::Switch => 0,
            };
            let last = node.external_ports();
            pr_err!(
                "faults/{}/{}: ports are {} to {}\n",
                node.name(),
                name,
                first,
                last
            );
            return Err(EINVAL);
        };
        let port = place.node.port(number).ok_or(EINVAL)?;
        port.counters.count_faults()?;
        if number != 0 {
            let node = place.node.clone();
            // There are none: configfs has one directory of a name.
            port.stage(LinkFaults::new(PortRef { node, number })?)
                .map_err(|faults| {
                    faults.end();
                    EBUSY
                })?;
        }
        Ok(Self { place, number })
    }

    /// What configfs has to know.
    pub(super) fn item_type() -> &'static ItemType<Group<Self>, Self> {
        configfs_attrs! {
            container: Group<PortFaultsDir>,
            data: PortFaultsDir,
            attributes: [
                match: 0,
                drop: 1,
                delay: 2,
                duplicate: 3,
                truncate: 4,
                corrupt: 5,
                queue: 6,
                smi_posts: 7,
                smi_sends: 8,
                gsi_posts: 9,
                gsi_sends: 10,
                smi_stall: 11,
                gsi_stall: 12,
            ],
        }
    }

    /// The port.
    fn port(&self) -> Option<&Port> {
        self.place.node.port(self.number)
    }

    /// Says that an attribute cannot be changed here.
    fn refuse(&self, name: &str, why: &str) -> Error {
        let node = self.place.node.name();
        pr_err!("faults/{}/{}/{}: {}\n", node, self.number, name, why);
        EINVAL
    }

    /// Says that a text is not what an attribute takes.
    fn refuse_text(&self, name: &str, page: &[u8], can_be: &str) -> Error {
        let node = self.place.node.name();
        text::refuse(fmt!("faults/{node}/{}/{name}", self.number), page, can_be)
    }

    /// Shows something of the faults of the link; port 0 has no link, and so none.
    fn show(
        &self,
        f: &mut dyn fmt::Write,
        write: impl FnOnce(&mut LinkFaults, &mut dyn fmt::Write) -> fmt::Result,
    ) -> fmt::Result {
        let shown = self
            .port()
            .and_then(|port| port.faults(|faults| write(faults, f)));
        match shown {
            Some(shown) => shown,
            None => f.write_str("-"),
        }
    }

    /// Changes faults of the link.
    fn change(&self, name: &str, apply: impl FnOnce(&mut LinkFaults)) -> Result {
        self.place.check()?;
        self.port()
            .and_then(|port| port.faults(apply))
            .ok_or_else(|| self.refuse(name, "port 0 has no link"))
    }

    /// Changes the filter.
    fn set_filter(&self, page: &[u8]) -> Result {
        let filter = Filter::parse(text::line(page))
            .ok_or_else(|| self.refuse_text("match", page, Filter::CAN_BE))?;
        self.change("match", |faults| faults.filter = filter)
    }

    /// Sets a knob.
    fn set<T: Setting>(
        &self,
        name: &str,
        page: &[u8],
        pick: impl FnOnce(&mut LinkFaults) -> &mut Knob<T>,
    ) -> Result {
        let knob = Knob::parse(text::line(page), self.place.node.external_ports())
            .ok_or_else(|| self.refuse_text(name, page, T::CAN_BE))?;
        self.change(name, |faults| *pick(faults) = knob)
    }

    /// Shows a fault of a queue pair.
    fn show_sends(
        &self,
        f: &mut dyn fmt::Write,
        kind: QpKind,
        write: impl FnOnce(&SendFaults, &mut dyn fmt::Write) -> fmt::Result,
    ) -> fmt::Result {
        let faults = self
            .port()
            .and_then(|port| port.send_faults(kind, |faults| *faults));
        match faults {
            Some(faults) => write(&faults, f),
            None => f.write_str("-"),
        }
    }

    /// Sets a fault of a queue pair.
    fn set_sends(
        &self,
        name: &str,
        page: &[u8],
        kind: QpKind,
        pick: impl FnOnce(&mut SendFaults) -> &mut Countdown,
    ) -> Result {
        self.place.check()?;
        let countdown = Countdown::parse(text::line(page))
            .ok_or_else(|| self.refuse_text(name, page, Countdown::CAN_BE))?;
        self.change_sends(name, kind, |faults| *pick(faults) = countdown)
    }

    /// Begins or ends to hold back the completions of a queue pair.
    fn set_stall(&self, name: &str, page: &[u8], kind: QpKind) -> Result {
        self.place.check()?;
        let on = Stall::parse(text::line(page))
            .ok_or_else(|| self.refuse_text(name, page, Stall::CAN_BE))?;
        self.change_sends(name, kind, |faults| {
            if on {
                faults.stall.begin();
            }
        })?;
        // A node that went meanwhile may have ended what was held back before this began, and nobody would end
        // this: unregistering it would wait for ever. One that is still there will end it when it goes.
        let there = if on { self.place.check() } else { Ok(()) };
        if let (true, Some(port)) = (!on || there.is_err(), self.port()) {
            port.unstall(&[kind]);
        }
        there
    }

    /// Changes faults of a queue pair.
    fn change_sends(
        &self,
        name: &str,
        kind: QpKind,
        apply: impl FnOnce(&mut SendFaults),
    ) -> Result {
        let node = &self.place.node;
        let port = self.port().filter(|port| node.has_lid(port));
        port.and_then(|port| port.send_faults(kind, apply))
            .ok_or_else(|| self.refuse(name, "this port has no such queue pair"))
    }
}

impl Drop for PortFaultsDir {
    fn drop(&mut self) {
        let Some(port) = self.port() else { return };
        if let Some(faults) = port.unstage() {
            faults.end();
        }
        let kinds = [QpKind::Smi, QpKind::Gsi];
        port.unstall(&kinds);
        for kind in kinds {
            port.send_faults(kind, |faults| *faults = SendFaults::default());
        }
    }
}

text::attributes! { PortFaultsDir {
    0: |dir: &PortFaultsDir, f| dir.show(f, |faults, f| faults.filter.show(f)),
       |dir: &PortFaultsDir, page| dir.set_filter(page);
    1: |dir: &PortFaultsDir, f| dir.show(f, |faults, f| faults.drop.show(f)),
       |dir: &PortFaultsDir, page| dir.set("drop", page, |faults| &mut faults.drop);
    2: |dir: &PortFaultsDir, f| dir.show(f, |faults, f| faults.delay.show(f)),
       |dir: &PortFaultsDir, page| {
           dir.set("delay", page, |faults| &mut faults.delay)?;
           // What was held back for another time is not held back any longer.
           dir.change("delay", LinkFaults::release)
       };
    3: |dir: &PortFaultsDir, f| dir.show(f, |faults, f| faults.duplicate.show(f)),
       |dir: &PortFaultsDir, page| dir.set("duplicate", page, |faults| &mut faults.duplicate);
    4: |dir: &PortFaultsDir, f| dir.show(f, |faults, f| faults.truncate.show(f)),
       |dir: &PortFaultsDir, page| dir.set("truncate", page, |faults| &mut faults.truncate);
    5: |dir: &PortFaultsDir, f| dir.show(f, |faults, f| faults.corrupt.show(f)),
       |dir: &PortFaultsDir, page| dir.set("corrupt", page, |faults| &mut faults.corrupt);
    6: |dir: &PortFaultsDir, f| dir.show(f, |faults, f| faults.show_queue(f));
    7: |dir: &PortFaultsDir, f| dir.show_sends(f, QpKind::Smi, |faults, f| faults.posts.show(f)),
       |dir: &PortFaultsDir, page| {
           dir.set_sends("smi_posts", page, QpKind::Smi, |faults| &mut faults.posts)
       };
    8: |dir: &PortFaultsDir, f| dir.show_sends(f, QpKind::Smi, |faults, f| faults.sends.show(f)),
       |dir: &PortFaultsDir, page| {
           dir.set_sends("smi_sends", page, QpKind::Smi, |faults| &mut faults.sends)
       };
    9: |dir: &PortFaultsDir, f| dir.show_sends(f, QpKind::Gsi, |faults, f| faults.posts.show(f)),
       |dir: &PortFaultsDir, page| {
           dir.set_sends("gsi_posts", page, QpKind::Gsi, |faults| &mut faults.posts)
       };
    10: |dir: &PortFaultsDir, f| dir.show_sends(f, QpKind::Gsi, |faults, f| faults.sends.show(f)),
       |dir: &PortFaultsDir, page| {
           dir.set_sends("gsi_sends", page, QpKind::Gsi, |faults| &mut faults.sends)
       };
    11: |dir: &PortFaultsDir, f| dir.show_sends(f, QpKind::Smi, |faults, f| faults.stall.show(f)),
        |dir: &PortFaultsDir, page| dir.set_stall("smi_stall", page, QpKind::Smi);
    12: |dir: &PortFaultsDir, f| dir.show_sends(f, QpKind::Gsi, |faults, f| faults.stall.show(f)),
        |dir: &PortFaultsDir, page| dir.set_stall("gsi_stall", page, QpKind::Gsi);
} }
