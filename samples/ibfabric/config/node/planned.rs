// SPDX-License-Identifier: GPL-2.0

//! A node as its directory describes it, before it is there and while it is.

use crate::{
    config::text,
    fabric::Fabric,
    node::{
        Node,
        NodeSpec,
        PortSpec, //
    },
    provider::NodeType, //
};
use kernel::{
    fmt,
    new_mutex,
    prelude::*,
    str::{
        CStr,
        CString, //
    },
    sync::{
        Arc,
        Mutex, //
    }, //
};

/// What is behind a directory.
pub(crate) struct State {
    /// What the node shall be, or is.
    pub(crate) spec: NodeSpec,
    /// The node, while it is there.
    pub(crate) live: Option<Arc<Node>>,
}

/// A node to be, shared by its directory and those of its ports.
#[pin_data]
pub(crate) struct PlannedNode {
    fabric: Arc<Fabric>,
    name: CString,
    #[pin]
    state: Mutex<State>,
}

impl PlannedNode {
    /// An empty description.
    pub(super) fn new(fabric: Arc<Fabric>, name: &CStr) -> Result<Arc<Self>> {
        let name = CString::try_from(name)?;
        let state = State {
            spec: NodeSpec::new(NodeType::Ca, 1),
            live: None,
        };
        Arc::pin_init(
            pin_init!(Self {
                fabric,
                name,
                state <- new_mutex!(state, "ibfabric_config_node"),
            }),
            GFP_KERNEL,
        )
    }

    /// Takes the node of that name over, if there is one that nobody has taken over yet.
    pub(super) fn adopt(&self) {
        let mut state = self.state.lock();
        if let Some(node) = self.fabric.adopt(&self.name) {
            state.spec = NodeSpec::of(&node);
            state.live = Some(node);
        }
    }

    /// The fabric.
    pub(crate) fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// The name as text.
    pub(crate) fn name(&self) -> &str {
        self.name.to_str().unwrap_or_default()
    }

    /// Looks at what is behind the directory.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&State) -> R) -> R {
        look(&self.state.lock())
    }

    /// Changes the description, which `apply` does not if the text is wrong.
    pub(crate) fn change(
        &self,
        at: fmt::Arguments<'_>,
        page: &[u8],
        can_be: &str,
        apply: impl FnOnce(&mut NodeSpec, &[u8]) -> Option<()>,
    ) -> Result {
        let mut state = self.state.lock();
        if state.live.is_some() {
            pr_err!(
                "nodes/{}/{}: the node is live: write 0 to live first\n",
                self.name(),
                at
            );
            return Err(EBUSY);
        }
        let refused = || text::refuse(fmt!("nodes/{}/{}", self.name(), at), page, can_be);
        apply(&mut state.spec, page).ok_or_else(refused)
    }

    /// Changes how a port differs, now and for the next time the node goes live.
    pub(crate) fn set_port(&self, port: PortSpec) -> Result {
        self.state.lock().spec.set_port(port)
    }

    /// Lets a port be like the others the next time the node goes live.
    pub(crate) fn forget_port(&self, number: u8) {
        self.state.lock().spec.forget_port(number);
    }

    /// What does not go together in a description.
    fn check(&self, spec: &NodeSpec) -> Result {
        let name = self.name();
        let is_switch = spec.node_type == NodeType::Switch;
        if spec.enhanced_port0 && !is_switch {
            pr_err!("nodes/{}: only a switch has an enhanced port 0\n", name);
            return Err(EINVAL);
        }
        let last = |guid: u64| guid.checked_add(spec.ports.into());
        if !is_switch
            && spec
                .guid
                .is_some_and(|guid| last(guid).is_none_or(|last| last == u64::MAX))
        {
            pr_err!("nodes/{}/guid: its ports have those after it, which are 64 bits that are not all 1\n", name);
            return Err(EINVAL);
        }
        for port in &spec.port_specs {
            if port.number > spec.ports {
                pr_err!(
                    "nodes/{}/{}: the node has ports 1 to {}\n",
                    name,
                    port.number,
                    spec.ports
                );
                return Err(EINVAL);
            }
            if port.guid.is_some() && is_switch {
                pr_err!(
                    "nodes/{}/{}/guid: it is that of the switch\n",
                    name,
                    port.number
                );
                return Err(EINVAL);
            }
        }
        Ok(())
    }

    /// Builds the node, or takes it away.
    pub(super) fn set_live(&self, on: bool) -> Result {
        let mut state = self.state.lock();
        match (on, state.live.take()) {
            (true, Some(node)) => state.live = Some(node),
            (true, None) => {
                self.check(&state.spec)?;
                state.live = Some(self.fabric.add(&self.name, &state.spec)?);
            }
            (false, Some(node)) => self.fabric.remove(&node),
            (false, None) => {}
        }
        Ok(())
    }
}
