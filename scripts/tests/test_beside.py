# SPDX-License-Identifier: GPL-2.0
"""The module beside others on the same functions: another livepatch, a kprobe, an fprobe, the function tracer.

All of them sit at the entry of ib_core's functions. Each has to see every call, and an SMP has to go its way
as if nobody looked.
"""

import re
import subprocess
from pathlib import Path

import pytest

from conftest import KERNEL
from smp import WAY, follow

PROCESSORS = 2
TRACING = "/sys/kernel/tracing"
RIVAL = "/sys/kernel/livepatch/rival"

# How often ib_core calls each function for that: once a node that it comes in at; where it stays; and for what
# leaves a node. A switch passes it on as soon as it is judged, so that nothing more is asked there.
CALLS = {
    "smi_handle_dr_smp_recv": 4,
    "smi_check_forward_dr_smp": 2,
    "smi_get_fwd_port": 0,
    "smi_handle_dr_smp_send": 1,
    "agent_send_response": 1,
}

# By ib_core's own `smi_check_forward_dr_smp()`, and so by the rival's, a request that is for this node goes through
# the function for what leaves; no device is known to that, for ib_mad's structures around the two differ.
RIVALS_CALLS = {**CALLS, "smi_handle_dr_smp_send": 2}
RIVALS_WAY = [*WAY[:4], ("send", "-", "request", 3, 3, "C14-9:4"), *WAY[4:]]

TRACERS = ["kprobe", "fprobe", "function"]


def attach(guest):
    """Puts a probe of each kind on each function."""
    lines = [f"p:beside/kprobe_{name} {name}" for name in CALLS] + [f"f:beside/fprobe_{name} {name}" for name in CALLS]
    guest.check(
        f"cd {TRACING}\n" + "\n".join(f"echo '{line}' >>dynamic_events" for line in lines) +
        "\necho 1 >events/beside/enable && mkdir instances/beside && cd instances/beside\n"
        f"echo '{' '.join(CALLS)}' >set_ftrace_filter && echo function >current_tracer")


def detach(guest):
    """Takes all of them away."""
    guest.check(f"cd {TRACING} && rmdir instances/beside && echo 0 >events/beside/enable && echo >dynamic_events")


def calls(guest):
    """How often each tracer has seen each function since it was asked last."""
    seen = guest.check(f"cd {TRACING} && cat trace instances/beside/trace && echo >trace && echo >instances/beside/trace")
    words = [word.rstrip(":") for line in seen.splitlines() for word in line.split()]
    return {tracer: {name: words.count(name if tracer == "function" else f"{tracer}_{name}") for name in CALLS}
            for tracer in TRACERS}


def check(guest, on_top):
    """An SMP goes its way, and all have seen all of it. Of two livepatches the one `on_top` is asked."""
    guest.check(f"echo >{TRACING}/instances/beside/trace")
    before = asked(guest)
    events = follow(guest, "smpquery -C hca0 -D nodedesc 0,1,2 >/dev/null")
    (story,) = [story for story in events.values() if story[0]["attr"] == "0x0010"]
    steps = [(e["event"], e["device"], e["way"], int(e["before"]), int(e["after"]), e["rule"]) for e in story]
    seen = calls(guest)
    way, each = (RIVALS_WAY, RIVALS_CALLS) if on_top == "rival" else (WAY, CALLS)
    assert steps == way
    # smpquery asks for NodeInfo first: it goes the same way.
    expected = {name: len(events) * count for name, count in each.items()}
    assert seen == {tracer: expected for tracer in TRACERS}
    assert asked(guest) - before == (expected["smi_check_forward_dr_smp"] if on_top == "rival" else 0)


def asked(guest):
    """How often the rival's `smi_check_forward_dr_smp()` was called, if there is a rival."""
    return int(guest.check("[ ! -d /sys/module/rival ] || cat /sys/module/rival/parameters/asked") or 0)


def load(guest, what):
    """Loads the module, the rival or the tracers."""
    if what == "tracers":
        attach(guest)
    elif what == "rival":
        guest.check(f"insmod $MODULES/rival.ko && while [ $(cat {RIVAL}/transition) = 1 ]; do sleep 0.2; done")
    else:
        guest.check("/src/scripts/load")


def unload(guest, what):
    """Undoes that."""
    if what == "tracers":
        detach(guest)
    elif what == "rival":
        guest.check(
            f"echo 0 >{RIVAL}/enabled && while [ -d {RIVAL} ]; do sleep 0.2; done\n"
            "for try in $(seq 20); do ! rmmod rival 2>/dev/null || exit 0; sleep 0.2; done; rmmod rival", timeout=60)
    else:
        guest.check("/src/scripts/unload")


@pytest.fixture(name="pair")
def pair_fixture(guest_stock):
    """Two HCAs and a switch, without the module."""
    guest_stock.check(
        "modprobe ib_umad; [ -d /sys/module/ibfabric ] || insmod $MODULES/ibfabric.ko topology=pair\n"
        "[ ! -d /sys/module/ib_smi ] || /src/scripts/unload")
    return guest_stock


@pytest.mark.parametrize("order", [
    pytest.param(order, id=" ".join(order), marks=marks) for order, marks in (
        (("module", "rival", "tracers"), ()),
        (("rival", "tracers", "module"), pytest.mark.long),
        (("tracers", "module", "rival"), pytest.mark.long))
])
def test_all_at_once(pair, order):
    for what in order:
        load(pair, what)
    # The livepatch that came last has the function.
    check(pair, max("module", "rival", key=order.index))
    # Away in the same order: what came first goes from below the others.
    for what in order[:-1]:
        unload(pair, what)
    unload(pair, order[-1])


def test_the_rival_goes_and_the_module_stays(pair):
    for what in ("module", "rival", "tracers"):
        load(pair, what)
    unload(pair, "rival")
    check(pair, "module")
    load(pair, "rival")
    check(pair, "rival")
    for what in ("rival", "tracers", "module"):
        unload(pair, what)


def test_each_replacement_stays_on_the_stack():
    """It calls its body, and does not jump there."""
    code = subprocess.run(["objdump", "-dr", "--no-show-raw-insn", f"/src/build/{KERNEL}/ib_smi.ko"],
                          capture_output=True, text=True, check=True).stdout
    ways = re.findall(r"\t(\w+) .*\n\t+\w+: R_X86_64_PLT32\t(rust_\w+)-", code)
    bodies = re.findall(r"(rust_\w+)\(", Path("/src/rust/ib_smi/entry.c").read_text())
    assert len(bodies) == 10
    assert sorted(way for way in ways if way[1] in bodies) == sorted(("call", body) for body in bodies)


def test_unloading_waits_for_who_is_in_a_replacement(pair):
    """Livepatch looks for the replacements on the stacks of all tasks, and gives a function back only when no task
    runs it. One that sleeps in the handler of an agent, which is called from within, comes back to our code."""
    load(pair, "module")
    pair.check("insmod $MODULES/sleeper.ko && echo 0 >/sys/kernel/livepatch/ib_smi/enabled && sleep 5")
    assert pair.run("grep -q 1 /sys/kernel/livepatch/ib_smi/transition")[0] == 0
    pair.check("echo 1 >/sys/module/sleeper/parameters/awake")
    unload(pair, "module")
    pair.check("rmmod sleeper")


# Where ib_core cannot be patched.


def is_gone(guest):
    """Whether nothing is left of a module that could not be loaded."""
    return guest.run("ls -d /sys/module/ib_smi /sys/kernel/livepatch/ib_smi /sys/kernel/debug/ib_smi")[1] == ""


def held(guest):
    """The functions that somebody may send elsewhere: they have the flag I."""
    text = guest.check(f"cat {TRACING}/enabled_functions")
    return {name for name in CALLS if re.search(rf"^{name} .*\(\d+\)[ R]* I ", text, re.MULTILINE)}


def refuse(guest, module):
    """Loads a module that has to be refused, and returns what the kernel's log says of it."""
    guest.dmesg(clear=True)
    status, _, told = guest.run(f"/src/scripts/load {module}")
    assert status == 1 and told.endswith(": dmesg says why\n"), told
    return [text for text in (re.sub(r"^(<\d+>)?\[ *[\d.]+\] ", "", line) for line in guest.dmesg().splitlines())
            if re.match(r"livepatch|ib_smi", text)]


def test_a_function_that_there_is_not(pair):
    pair.check(
        "python3 -c \"data = open('$MODULES/ib_smi.ko', 'rb').read()\n"
        "name = b'\\0smi_get_fwd_port\\0'\n"
        "assert data.count(name) == 1\n"
        "open('/tmp/ib_smi.ko', 'wb').write(data.replace(name, b'\\0smi_got_fwd_port\\0'))\"")
    assert refuse(pair, "/tmp/ib_smi.ko") == [
        "livepatch: symbol 'smi_got_fwd_port' not found in symbol table",
        "ib_smi: ib_core could not be patched (error -22): the kernel log says why",
    ]
    assert held(pair) == set() and is_gone(pair)
    load(pair, "module")
    assert held(pair) == set(CALLS) and not is_gone(pair)
    unload(pair, "module")
    assert held(pair) == set() and is_gone(pair)


def test_a_function_that_somebody_holds(pair):
    pair.check("insmod $MODULES/squatter.ko")
    assert held(pair) == {"smi_get_fwd_port"}
    assert refuse(pair, "$MODULES/ib_smi.ko") == [
        "livepatch: enabling patch 'ib_smi'",
        "livepatch: failed to register ftrace handler for function 'smi_get_fwd_port' (-16)",
        "livepatch: failed to patch object 'ib_core'",
        "livepatch: failed to enable patch 'ib_smi'",
        "livepatch: 'ib_smi': unpatching complete",
        "ib_smi: ib_core could not be patched (error -16): the kernel log says why",
    ]
    # What was patched before that one is ib_core's again.
    assert held(pair) == {"smi_get_fwd_port"} and is_gone(pair)
    pair.check("rmmod squatter")
    assert held(pair) == set()
    load(pair, "module")
    assert "hca1" in pair.check("smpquery -C hca0 -D nodedesc 0,1,2")
    unload(pair, "module")
