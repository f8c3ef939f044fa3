// SPDX-License-Identifier: GPL-2.0

//! `nodes/NAME/PORT/`: a port of a node.
//!
//! Only a port that differs from the others needs a directory, and one to be looked at or disabled.
//! PORT is its number, 1 to 254. A node that is live keeps a port as it is when the directory
//! goes, until it goes live anew.
//!
//! | Attribute    | Values                        | Default           | Meaning                      |
//! |--------------|-------------------------------|-------------------|------------------------------|
//! | `guid`       | 64 bits, not all 1; 0: usual  | 0                 | Port GUID, of a CA only; usually that of the node plus PORT |
//! | `width`      | as of the node                | that of the node  | Most lanes                   |
//! | `speed`      | as of the node                | that of the node  | Fastest speed of a lane      |
//! | `disabled`   | 0, 1                          | 0                 | Keeps the link down from this end; at any time |
//! | `state`      | `Down`, `Initialize`, `Armed`, `Active` | read only | PortInfo.PortState         |
//! | `phys_state` | `Polling`, `Disabled`, `LinkUp`         | read only | PortInfo.PortPhysicalState |
//! | `peer`       | NAME:PORT, or `-`                       | read only | The other end of the link  |

use super::{
    node::{
        parse_guid,
        PlannedNode,
        State,
        GUID, //
    },
    text, //
};
use crate::{
    compat::configfs_attrs,
    node::{
        NodeSpec,
        PortSpec, //
    },
    port::PortRef,
    provider::{
        NodeType,
        PhysState,
        PortState, //
    },
    rate::{
        Speed,
        Width, //
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
    str::CStr,
    sync::Arc, //
};

/// `nodes/NAME/PORT/`.
pub(super) struct PortDir {
    node: Arc<PlannedNode>,
    number: u8,
}

impl PortDir {
    /// The directory of that name.
    pub(super) fn new(node: Arc<PlannedNode>, name: &CStr) -> Result<Self> {
        let most = node.look(|state| match state.live {
            Some(_) => state.spec.ports,
            None => NodeSpec::MAX_PORTS,
        });
        let number = text::port_number(name).filter(|number| (1..=most).contains(number));
        let Some(number) = number else {
            pr_err!("nodes/{}/{}: ports are 1 to {}\n", node.name(), name, most);
            return Err(EINVAL);
        };
        // A port that the node will not have is noticed when it goes live.
        node.set_port(PortSpec::new(number))?;
        Ok(Self { node, number })
    }

    /// What configfs has to know.
    pub(super) fn item_type() -> &'static ItemType<Group<Self>, Self> {
        configfs_attrs! {
            container: Group<PortDir>,
            data: PortDir,
            attributes: [
                guid: 0,
                width: 1,
                speed: 2,
                disabled: 3,
                state: 4,
                phys_state: 5,
                peer: 6,
            ],
        }
    }

    /// Changes how the port differs.
    fn change(
        &self,
        what: &str,
        page: &[u8],
        can_be: &str,
        apply: impl FnOnce(&mut PortSpec, &[u8]) -> Option<()>,
    ) -> Result {
        let apply = |spec: &mut NodeSpec, page: &[u8]| {
            let mut port = spec.port(self.number);
            apply(&mut port, page)?;
            spec.set_port(port).ok()
        };
        self.node
            .change(fmt!("{}/{what}", self.number), page, can_be, apply)
    }

    /// The port, while its node is live.
    fn live(&self) -> Option<PortRef> {
        let node = self.node.look(|state| state.live.clone())?;
        Some(PortRef {
            node,
            number: self.number,
        })
    }

    /// The GUID, or 0 before it is known. Ports of a switch have that of port 0.
    fn guid(&self) -> u64 {
        let Some(PortRef { node, number }) = self.live() else {
            return self.spec(|_, port| port.guid.unwrap_or(0));
        };
        let number = match node.node_type {
            NodeType::Ca => number,
            NodeType::Switch => 0,
        };
        node.port(number).map_or(0, |port| port.guid)
    }

    /// Whether the port is disabled, or will be.
    fn is_disabled(&self) -> bool {
        match self.live().as_ref().and_then(PortRef::port) {
            Some(port) => port.config().disabled,
            None => self.spec(|_, port| port.disabled),
        }
    }

    /// Disables the port, or enables it.
    fn set_disabled(&self, page: &[u8]) -> Result {
        let Some(disabled) = text::switch(page) else {
            return Err(text::refuse(
                fmt!("nodes/{}/{}/disabled", self.node.name(), self.number),
                page,
                "0 or 1",
            ));
        };
        let mut port = self.spec(|_, port| *port);
        port.disabled = disabled;
        self.node.set_port(port)?;
        if let Some(at) = self.live() {
            self.node.fabric().set_disabled(&at, disabled);
        }
        Ok(())
    }

    /// Looks at the description.
    fn spec<R>(&self, look: impl FnOnce(&NodeSpec, &PortSpec) -> R) -> R {
        let look = |State { spec, .. }: &State| look(spec, &spec.port(self.number));
        self.node.look(look)
    }

    /// The states of the port.
    fn states(&self) -> (PortState, PhysState) {
        match self.live().as_ref().and_then(PortRef::port) {
            Some(port) => {
                let config = port.config();
                (config.state, config.phys_state)
            }
            None => (PortState::Down, PhysState::Polling),
        }
    }
}

impl Drop for PortDir {
    fn drop(&mut self) {
        self.node.forget_port(self.number);
    }
}

text::attributes! { PortDir {
    0: |dir: &PortDir, f: &mut dyn fmt::Write| write!(f, "{:#018x}", dir.guid()),
       |dir: &PortDir, page| dir.change("guid", page, GUID, |port, page| {
           port.guid = parse_guid(page)?;
           Some(())
       });
    1: |dir: &PortDir, f: &mut dyn fmt::Write| {
           f.write_str(dir.spec(|node, port| node.rate(port)).width.name())
       },
       |dir: &PortDir, page| dir.change("width", page, Width::NAMES, |port, page| {
           port.width = Some(Width::parse(text::line(page))?);
           Some(())
       });
    2: |dir: &PortDir, f: &mut dyn fmt::Write| {
           f.write_str(dir.spec(|node, port| node.rate(port)).speed.name())
       },
       |dir: &PortDir, page| dir.change("speed", page, Speed::NAMES, |port, page| {
           port.speed = Some(Speed::parse(text::line(page))?);
           Some(())
       });
    3: |dir: &PortDir, f: &mut dyn fmt::Write| write!(f, "{}", u8::from(dir.is_disabled())),
       |dir: &PortDir, page| dir.set_disabled(page);
    4: |dir: &PortDir, f: &mut dyn fmt::Write| f.write_str(dir.states().0.name());
    5: |dir: &PortDir, f: &mut dyn fmt::Write| f.write_str(dir.states().1.name());
    6: |dir: &PortDir, f: &mut dyn fmt::Write| {
           let live = dir.live();
           match live.as_ref().and_then(PortRef::port).and_then(|port| port.peer()) {
               Some(peer) => write!(f, "{}:{}", peer.node.name(), peer.number),
               None => f.write_str("-"),
           }
       };
} }
