# SPDX-License-Identifier: GPL-2.0
"""OpenSM for tests: started at a port of a guest, waited for, stopped, and asked what it complained of."""

import re

# So that a log that is read has all of it.
SETTINGS = ("force_log_flush TRUE",)
# By force, which is faster: what one of them leaves behind is no business of the next one.
STOP = "pkill -KILL -x opensm; while pgrep -x opensm >/dev/null; do sleep 0.1; done\n"


def port_guid(guest, device, port=1):
    """The GUID of a port, as the kernel has it: the low half of its first GID."""
    gid = guest.check(f"cat /sys/class/infiniband/{device}/ports/{port}/gids/0").strip().replace(":", "")
    return int(gid[16:], 16)


def start(guest, device, log, options="", settings=(), port=1):
    """Starts OpenSM at a port. It writes its log at once only if told so, and remembers LIDs in a folder of its own."""
    lines = "\n".join((*SETTINGS, *settings))
    guest.check(f"rm -f {log}; mkdir -p /var/cache/opensm/{device}\n"
                f"export OSM_CACHE_DIR=/var/cache/opensm/{device}; rm -f $OSM_CACHE_DIR/*\n"
                f"cat >{log}.conf <<'END'\n{lines}\nEND\n"
                f"opensm -B -F {log}.conf -g {port_guid(guest, device, port):#x} -f {log} {options} >/dev/null")


def stop(guest):
    """Stops all of them."""
    guest.check(STOP)


def wait(guest, log, text, seconds=90, times=1):
    """Waits until something was logged so many times, and returns the lines that have it.

    What OpenSM tells its standard output too is in the log twice, once without a time: `-> ` before a text
    leaves that one out.
    """
    guest.check(f"for i in $(seq {seconds * 2}); do [ $(grep -c -e '{text}' {log}) -ge {times} ] && exit 0; sleep 0.5; done\n"
                f"tail -n 40 {log}; exit 1", timeout=seconds * 3)
    return guest.check(f"grep -e '{text}' {log}").splitlines()


def errors(guest, log):
    """What OpenSM has to complain about."""
    return guest.check(f"grep -E 'ERR [0-9A-F]{{4}}' {log} || true").splitlines()


def engines(guest, log):
    """The routing engines that wrote forwarding tables, in the order of the sweeps."""
    return re.findall(r"(\S+) tables configured on all switches", guest.check(f"cat {log}"))


def up(guest):
    """The states of all ports of the kernel's devices, and their LIDs by port."""
    lines = guest.check("cd /sys/class/infiniband && grep . */ports/*/state */ports/*/lid").splitlines()
    states, lids = {}, {}
    for line in lines:
        path, _, value = line.partition(":")
        device, _, port, name = path.split("/")
        if name == "lid":
            lids[f"{device}:{port}"] = int(value, 16)
        else:
            states[f"{device}:{port}"] = value.partition(":")[2].strip()
    return states, lids
