# SPDX-License-Identifier: GPL-2.0
"""The running fabric: what the module shows in debugfs and takes in configfs."""

import os
import subprocess
import sys
import time
from pathlib import Path

CONFIG = Path("/sys/kernel/config/ibfabric")
DEBUG = Path("/sys/kernel/debug/ibfabric")
MODULE = Path("/sys/module/ibfabric")
TOP = Path(__file__).resolve().parents[2]


class FabricError(Exception):
    """What the fabric does not do, and why."""


def run(*command):
    """Runs a command. Returns whether it succeeded, and what it said."""
    # Root's commands are found by who has become root and kept the PATH of a user.
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          env={**os.environ, "PATH": path})
    return done.returncode == 0, done.stdout.strip()


def find_module():
    """The module that was built for the running kernel."""
    release = os.uname().release
    folders = [os.environ["MODULES"]] if "MODULES" in os.environ else []
    for folder in [*folders, TOP / "build" / release, *sorted((TOP / "build").glob("*"))]:
        file = Path(folder) / "ibfabric.ko"
        if file.exists() and run("modinfo", "-F", "vermagic", str(file))[1].startswith(f"{release} "):
            return file
    raise FabricError(f"no ibfabric.ko for this kernel ({release}): build one, or load it before")


def ensure_module():
    """Loads the module if need be. Returns whether it was."""
    if MODULE.exists():
        if not CONFIG.exists():
            raise FabricError(f"{CONFIG} is not there: is configfs mounted?")
        return False
    for name in ("configfs", "ib_core", "ib_umad"):
        run("modprobe", name)
    fine, said = run("insmod", str(find_module()), "topology=none")
    if not fine:
        raise FabricError(f"the module could not be loaded: {said}")
    if not CONFIG.exists():
        raise FabricError(f"{CONFIG} is not there: is configfs mounted?")
    return True


class KernelLog:
    """The kernel log from here on."""

    def __enter__(self):
        self.file = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.file, 0, os.SEEK_END)
        return self

    def __exit__(self, *_):
        os.close(self.file)

    def last_word(self):
        """The last thing that the module has said; None if it has not."""
        said = None
        while True:
            try:
                _, _, text = os.read(self.file, 8192).decode(errors="replace").partition(";")
            except BrokenPipeError:
                # What was next is gone, there was so much.
                continue
            except BlockingIOError:
                return said
            if text.startswith("ibfabric: "):
                said = text.splitlines()[0].partition(": ")[2]


def attempt(what, action, *arguments):
    """Does something to the fabric, and says why if it fails."""
    with KernelLog() as log:
        try:
            action(*arguments)
        except OSError as error:
            # Where there is nothing to write to, root is refused too.
            silent = "it can be read only" if isinstance(error, PermissionError) else "the kernel log says nothing"
            raise FabricError(f"{what}: {os.strerror(error.errno)}: {log.last_word() or silent}") from error


def write(path, value):
    """Writes an attribute."""
    attempt(f"{path} = {value!r}", lambda: path.write_bytes(f"{value}\n".encode()))


def read_lines(name):
    """The lines of a file in debugfs, as words."""
    try:
        return [line.split() for line in (DEBUG / name).read_text().splitlines()]
    except FileNotFoundError as error:
        raise FabricError("there is no fabric: the module ibfabric is not loaded, or debugfs not mounted") from error


class Progress:
    """A line that counts up: on a terminal in place, otherwise now and then."""

    def __init__(self, what, total):
        self.what, self.total, self.next = what, total, 0.0

    def step(self, done):
        """So many are done."""
        now = time.monotonic()
        terminal = sys.stderr.isatty()
        if now < self.next and done != self.total:
            return
        self.next = now + (0.2 if terminal else 5)
        end = "\r" if terminal and done != self.total else "\n"
        print(f"{self.what}: {done} of {self.total}", end=end, file=sys.stderr, flush=True)


def node_settings(node):
    """The attributes of a node, in the order in which they are written."""
    rates = [(port.width, port.speed) for port in node.ports.values()]
    width, speed = max(set(rates), key=rates.count) if rates else ("4x", "QDR")
    settings = {"type": node.kind, "guid": f"{node.guid:#x}", "system_guid": f"{node.system_guid or 0:#x}",
                "description": node.description, "ports": node.port_count, "width": width, "speed": speed}
    for name, value in (("vendor_id", node.vendor), ("device_id", node.device)):
        if value is not None:
            settings[name] = value
    if node.enhanced:
        settings["enhanced_port0"] = 1
    return settings


def port_settings(node, number, usual):
    """The attributes in which a port differs from the others."""
    port = node.ports[number]
    settings = {name: value for name, value in (("width", port.width), ("speed", port.speed)) if usual[name] != value}
    if port.guid is not None and port.guid != node.guid + number:
        settings["guid"] = f"{port.guid:#x}"
    return settings


def add_node(node):
    """Builds a node."""
    folder = CONFIG / "nodes" / node.name
    attempt(folder, folder.mkdir)
    usual = node_settings(node)
    for name, value in usual.items():
        write(folder / name, value)
    for number in node.ports:
        special = port_settings(node, number, usual)
        if special:
            attempt(folder / str(number), (folder / str(number)).mkdir)
        for name, value in special.items():
            write(folder / str(number) / name, value)
    write(folder / "live", 1)


def build(topology):
    """Builds all nodes, then all links."""
    progress = Progress("nodes", len(topology.nodes))
    # libibumad looks at the first 64 ports only, and it is from HCAs that tools are used.
    hcas_first = sorted(topology.nodes.values(), key=lambda node: node.kind == "switch")
    for done, node in enumerate(hcas_first, 1):
        add_node(node)
        progress.step(done)
    links = list(topology.links())
    progress = Progress("links", len(links))
    for done, (a, a_port, b, b_port) in enumerate(links, 1):
        folder = CONFIG / "links" / f"{a.name}:{a_port}-{b.name}:{b_port}"
        attempt(folder, folder.mkdir)
        progress.step(done)


def clear():
    """Removes all faults, links and nodes that directories stand for."""
    for kind in ("faults", "links", "nodes"):
        folders = [entry for entry in (CONFIG / kind).iterdir() if entry.is_dir()]
        progress = Progress(f"{kind} removed", len(folders))
        for done, folder in enumerate(folders, 1):
            for child in folder.iterdir():
                if child.is_dir():
                    attempt(child, child.rmdir)
            attempt(folder, folder.rmdir)
            progress.step(done)


def remove_module():
    """Unloads the module."""
    fine, said = run("rmmod", "ibfabric")
    if not fine:
        raise FabricError(f"the module could not be removed: {said}")


def load(topology, preset=False):
    """Puts a description into an empty fabric. Removes everything again if that fails."""
    loaded = ensure_module()
    if read_lines("nodes") or any(entry.is_dir() for entry in (CONFIG / "nodes").iterdir()):
        raise FabricError("the fabric is not empty: unload it first")
    try:
        build(topology)
        if preset:
            write(CONFIG / "preset", 1)
    except BaseException:
        print("removing what is there so far", file=sys.stderr)
        clear()
        if loaded:
            remove_module()
        raise


def unload(keep=False):
    """Removes all, and the module too unless it shall be kept."""
    if not MODULE.exists():
        raise FabricError("the module ibfabric is not loaded")
    clear()
    if not keep:
        remove_module()


def nodes():
    """All nodes: (name, kind, GUID, number of ports, description)."""
    for name, kind, guid, ports, *_ in read_lines("nodes"):
        try:
            description = Path(f"/sys/class/infiniband/{name}/node_desc").read_text(errors="replace").strip()
        except OSError:
            description = ""
        yield name, kind, guid, int(ports), description


def links():
    """All links: (name, port, name, port, state, rate). One that is down has no rate."""
    ports = {port: (state, f"{width} {speed}") for port, state, _, width, speed in read_lines("ports")}
    for a, b, *down in read_lines("links"):
        state, rate = ("Down", "-") if down else ports.get(a, ("Down", "-"))
        yield *a.rsplit(":", 1), *b.rsplit(":", 1), state, rate


def set_link(text, state):
    """Takes a link down or up. It is named by both ends (hca0:1-sw0:2) or one (hca0:1)."""
    for a, a_port, b, b_port, *_ in links():
        ends = (f"{a}:{a_port}", f"{b}:{b_port}")
        names = ("-".join(ends), "-".join(reversed(ends)))
        if text in (*ends, *names):
            folder = next((CONFIG / "links" / name for name in names if (CONFIG / "links" / name).is_dir()), None)
            if folder is None:
                # One that the module's parameters made is taken over.
                folder = CONFIG / "links" / names[0]
                attempt(folder, folder.mkdir)
            return write(folder / "state", state)
    raise FabricError(f"there is no link {text}: 'list' shows all")
