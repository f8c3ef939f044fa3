// SPDX-License-Identifier: GPL-2.0

//! `faults/NAME/`: what goes wrong in the software of a live node.
//!
//! `mkdir` lets there be faults, none of which happens yet; `rmdir` ends them all. They belong to the
//! node that is there, and not to one of its name that comes later.
//!
//! A knob reads `off` or what was written to it, and `hits=N`: how often it happened since then. WHEN
//! is which of the SMPs that it could happen to: `all`, `nth K`, `every K` or `percent P [seed N]`.
//!
//! | Attribute         | Values                       | Meaning                                      |
//! |-------------------|------------------------------|----------------------------------------------|
//! | `match`           | see [`Filter`]               | To which SMPs; `all` at first                |
//! | `wrong_port`      | `off`, `+1 WHEN`, `A:B,… WHEN` | SMPs on a directed route leave by another port |
//! | `swallow_transit` | `off`, WHEN                  | Responses in transit are not passed on       |
//! | `check_mkey`      | `off`, WHEN                  | SMPs in transit are not passed on if their M_Key is not that of the switch |
//! | `swallow_answers` | `off`, WHEN                  | Requests are carried out and not answered    |
//! | `answer_status`   | `off`, `ATTR=STATUS,… WHEN`  | Requests are answered with a status and not carried out |
//! | `ports_from_zero` | `off`, WHEN                  | AttributeModifier n is taken for port n + 1  |
//!
//! The first three are for switches. Those of a port are in [`port`].

mod port;

use self::port::PortFaultsDir;
use super::text;
use crate::{
    compat::configfs_attrs,
    fabric::Fabric,
    faults::{
        Filter,
        Knob,
        NodeFaults,
        Setting, //
    },
    node::Node,
    provider::NodeType, //
};
use kernel::{
    configfs::{
        AttributeOperations,
        Group,
        GroupOperations,
        ItemType, //
    },
    fmt,
    page::PAGE_SIZE,
    prelude::*,
    str::CStr,
    sync::Arc, //
};

/// `faults/`.
pub(super) struct Faults;

impl Faults {
    /// What configfs has to know.
    pub(super) fn item_type(&self) -> &'static ItemType<Group<Self>, Self> {
        configfs_attrs! {
            container: Group<Faults>,
            data: Faults,
            child: NodeFaultsDir,
            attributes: [],
        }
    }
}

#[vtable]
impl GroupOperations for Faults {
    type Child = NodeFaultsDir;

    fn make_group(&self, name: &CStr) -> Result<impl PinInit<Group<NodeFaultsDir>, Error>> {
        let item_type = configfs_attrs! {
            container: Group<NodeFaultsDir>,
            data: NodeFaultsDir,
            child: PortFaultsDir,
            attributes: [
                match: 0,
                wrong_port: 1,
                swallow_transit: 2,
                check_mkey: 3,
                swallow_answers: 4,
                answer_status: 5,
                ports_from_zero: 6,
            ],
        };
        let dir = NodeFaultsDir::new(super::fabric()?, name)?;
        Ok(Group::new(name.try_into()?, item_type, Ok(dir)))
    }
}

/// A live node, for faults to be staged there.
#[derive(Clone)]
struct Place {
    fabric: Arc<Fabric>,
    node: Arc<Node>,
}

impl Place {
    /// Refuses if the node has gone.
    fn check(&self) -> Result {
        if self.fabric.has(&self.node) {
            return Ok(());
        }
        let name = self.node.name();
        pr_err!(
            "faults/{}: that node has gone: rmdir, and mkdir if there is another\n",
            name
        );
        Err(ENODEV)
    }
}

/// `faults/NAME/`.
pub(super) struct NodeFaultsDir(Place);

impl NodeFaultsDir {
    /// The directory of that name.
    fn new(fabric: Arc<Fabric>, name: &CStr) -> Result<Self> {
        let Some(node) = fabric.find(name.to_bytes()) else {
            pr_err!("faults/{}: there is no live node of that name\n", name);
            return Err(ENODEV);
        };
        for port in node.addressed_ports() {
            port.counters.count_faults()?;
        }
        let faults = KBox::new(NodeFaults::new(), GFP_KERNEL)?;
        // There are none: configfs has one directory of a name.
        node.software.stage(faults)?;
        Ok(Self(Place { fabric, node }))
    }

    /// Shows something of the faults.
    fn show(
        &self,
        f: &mut dyn fmt::Write,
        write: impl FnOnce(&mut NodeFaults, &mut dyn fmt::Write) -> fmt::Result,
    ) -> fmt::Result {
        // A directory stands for them, so that they are there.
        let shown = self.0.node.software.faults(|faults| write(faults, f));
        shown.unwrap_or(Err(fmt::Error))
    }

    /// Changes the filter.
    fn set_filter(&self, page: &[u8]) -> Result {
        self.0.check()?;
        let node = &self.0.node;
        let filter = Filter::parse(text::line(page)).ok_or_else(|| {
            text::refuse(fmt!("faults/{}/match", node.name()), page, Filter::CAN_BE)
        })?;
        node.software.faults(|faults| faults.filter = filter);
        Ok(())
    }

    /// Sets a knob.
    fn set<T: Setting>(
        &self,
        name: &str,
        page: &[u8],
        pick: impl FnOnce(&mut NodeFaults) -> &mut Knob<T>,
    ) -> Result {
        self.0.check()?;
        let node = &self.0.node;
        let knob = Knob::parse(text::line(page), node.external_ports())
            .ok_or_else(|| text::refuse(fmt!("faults/{}/{name}", node.name()), page, T::CAN_BE))?;
        node.software.faults(|faults| *pick(faults) = knob);
        Ok(())
    }

    /// Sets a knob that a channel adapter does not have, for it passes nothing on.
    fn set_transit<T: Setting>(
        &self,
        name: &str,
        page: &[u8],
        pick: impl FnOnce(&mut NodeFaults) -> &mut Knob<T>,
    ) -> Result {
        if self.0.node.node_type != NodeType::Switch {
            let node = self.0.node.name();
            pr_err!("faults/{}/{}: only a switch passes SMPs on\n", node, name);
            return Err(EINVAL);
        }
        self.set(name, page, pick)
    }
}

impl Drop for NodeFaultsDir {
    fn drop(&mut self) {
        self.0.node.software.unstage();
    }
}

#[vtable]
impl GroupOperations for NodeFaultsDir {
    type Child = PortFaultsDir;

    fn make_group(&self, name: &CStr) -> Result<impl PinInit<Group<PortFaultsDir>, Error>> {
        let dir = PortFaultsDir::new(self.0.clone(), name)?;
        let item_type = PortFaultsDir::item_type();
        Ok(Group::new(name.try_into()?, item_type, Ok(dir)))
    }
}

text::attributes! { NodeFaultsDir {
    0: |dir: &NodeFaultsDir, f| dir.show(f, |faults, f| faults.filter.show(f)),
       |dir: &NodeFaultsDir, page| dir.set_filter(page);
    1: |dir: &NodeFaultsDir, f| dir.show(f, |faults, f| faults.wrong_port.show(f)),
       |dir: &NodeFaultsDir, page| {
           dir.set_transit("wrong_port", page, |faults| &mut faults.wrong_port)
       };
    2: |dir: &NodeFaultsDir, f| dir.show(f, |faults, f| faults.swallow_transit.show(f)),
       |dir: &NodeFaultsDir, page| {
           dir.set_transit("swallow_transit", page, |faults| &mut faults.swallow_transit)
       };
    3: |dir: &NodeFaultsDir, f| dir.show(f, |faults, f| faults.check_mkey.show(f)),
       |dir: &NodeFaultsDir, page| {
           dir.set_transit("check_mkey", page, |faults| &mut faults.check_mkey)
       };
    4: |dir: &NodeFaultsDir, f| dir.show(f, |faults, f| faults.swallow_answers.show(f)),
       |dir: &NodeFaultsDir, page| {
           dir.set("swallow_answers", page, |faults| &mut faults.swallow_answers)
       };
    5: |dir: &NodeFaultsDir, f| dir.show(f, |faults, f| faults.answer_status.show(f)),
       |dir: &NodeFaultsDir, page| {
           dir.set("answer_status", page, |faults| &mut faults.answer_status)
       };
    6: |dir: &NodeFaultsDir, f| dir.show(f, |faults, f| faults.ports_from_zero.show(f)),
       |dir: &NodeFaultsDir, page| {
           dir.set("ports_from_zero", page, |faults| &mut faults.ports_from_zero)
       };
} }
