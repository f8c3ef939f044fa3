# SPDX-License-Identifier: GPL-2.0
"""Dynamic debug and the static keys of the trace events: what they cost while they are off, and that each is
turned on and off by itself.

The flags and queries are those of the kernel's dynamic-debug-howto; the sites are read from the sources.
"""

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from guestlib.guest import Guest, new_results
from smp import make

SRC = Path("/src")
MODULE = SRC / "build/stock/ib_smi.ko"
CONTROL = "/proc/dynamic_debug/control"

# Flag d prints a stack, which is what is asked for.
EXPECTED_REPORTS = [r"dump_stack_lvl[\s\S]*\[ib_smi\]"]


class Site(NamedTuple):
    """A call of `dyn_debug!`."""

    file: str
    line: int
    function: str
    format: str


def sites():
    """The calls of `dyn_debug!` in the sources."""
    found = []
    for path in sorted((SRC / "rust").rglob("*.rs")):
        text = path.read_text(encoding="utf-8")
        for match in re.finditer(r'^[ \t]+dyn_debug!\(\s*(\w+):\s*"([^"]*)"', text, re.MULTILINE):
            line = text.count("\n", 0, text.index("dyn_debug!", match.start())) + 1
            found.append(Site(str(path.relative_to(SRC)), line, match[1], match[2]))
    assert found
    return found


def events():
    """The trace events that the header defines."""
    header = (SRC / "include/trace/events/ib_smi.h").read_text()
    return re.findall(r"^DEFINE_EVENT\(\w+, (\w+),", header, re.MULTILINE)


class TestOff:
    """What a site costs while it is off, from the instructions of the module as it was built."""

    @pytest.fixture(scope="class")
    def code(self):
        """The instructions of every section: {(section, address): Instruction}."""
        return disassembly()

    @pytest.fixture(scope="class")
    def entries(self):
        """The jump table: [(key, code, target)], for the keys of sites and events."""
        found = [entry for entry in jump_table() if is_ours(entry[0])]
        assert found
        return found

    def test_every_site_and_every_event_has_a_key(self, entries):
        keys = {key for key, _, _ in entries}
        assert {key for key in keys if key[0] != "__dyndbg"} == {(f"__tracepoint_{event}", 8) for event in events()}
        # A site is 56 bytes: four pointers, the bit field, and the key behind it.
        assert {key for key in keys if key[0] == "__dyndbg"} == {("__dyndbg", 56 * n + 40) for n in range(len(sites()))}

    def test_each_is_one_nop(self, code, entries):
        for key, place, target in entries:
            # As arch/x86 has them: a nop of the size of a near or a short jump.
            assert code[place].bytes in ("0f 1f 44 00 00", "66 90"), key
            assert target != place

    def test_nothing_is_made_ready_before_it_is_known_to_be_on(self, code, entries):
        # From where the jump leads, if it is on, straight to the call: what is between is the arguments.
        calls = {first_call(code, target) for _, _, target in entries}
        assert {callee for _, callee in calls} <= {"print", "fire"}
        # There is no other call, and no way to one of these while all is off.
        everywhere = {(place, callee) for place in code if (callee := callee_of(code, place))}
        assert everywhere == calls
        within = {code[place].symbol for _, place, _ in entries}
        assert reached(code, within).isdisjoint(place for place, _ in calls)


class Instruction(NamedTuple):
    """An instruction, as objdump prints it."""

    bytes: str
    text: str
    following: int
    # (section or symbol, offset) of its relocation.
    reference: tuple
    symbol: str


def tool(*command):
    """The output of a binary tool."""
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=True).stdout


def disassembly():
    """All instructions by section and address."""
    found, section, symbol = {}, None, None
    for line in tool("objdump", "-drw", MODULE).splitlines():
        if match := re.fullmatch(r"Disassembly of section (\S+):", line):
            section = match[1]
        elif match := re.fullmatch(r"[0-9a-f]+ <(.*)>:", line):
            symbol = match[1]
        elif match := re.fullmatch(r" *([0-9a-f]+):\t((?:[0-9a-f]{2} )+) *\t?([^\t]*)(?:\t[0-9a-f]+: \S+\t(\S+))?", line):
            address, data = int(match[1], 16), match[2].split()
            found[section, address] = Instruction(
                " ".join(data), match[3].strip(), address + len(data), reference(match[4]), symbol)
    return found


def reference(text):
    """A symbol or section and an offset, from objdump's or readelf's text."""
    if not text:
        return ()
    name, sign, offset = re.fullmatch(r"(.+?)(?:([+-])(?:0x)?([0-9a-f]+))?", text).groups()
    return name, int(f"{sign or '+'}{offset or 0}", 16)


def jump_table():
    """The entries of `__jump_table`: key, code and target as (section or symbol, offset)."""
    text = tool("readelf", "-rW", MODULE).partition("'.rela__jump_table'")[2].partition("\n\n")[0]
    relocations = {}
    for line in text.splitlines():
        if match := re.fullmatch(r"([0-9a-f]+) +[0-9a-f]+ R_X86_64_PC(?:32|64) +[0-9a-f]+ +(\S+) ([+-]) ([0-9a-f]+)", line):
            relocations[int(match[1], 16)] = match[2], int(match[3] + match[4], 16)
    # struct jump_entry: two of 32 bits and the key. The last bits of the key are flags.
    for entry in range(0, max(relocations), 16):
        name, offset = relocations[entry + 8]
        yield (name, offset & ~3), relocations[entry], relocations[entry + 4]


def is_ours(key):
    """Whether a key is that of a site or of one of our events, and none of the kernel's own."""
    return key[0] == "__dyndbg" or key[0].startswith("__tracepoint_ib_smi_")


def destination(code, place):
    """Where a call or jump goes to, as (section, address) or (symbol, 0)."""
    instruction = code[place]
    if instruction.reference:
        name, offset = instruction.reference
        # Relative to the next instruction, which is four bytes behind the reference.
        return name, offset + 4
    target = re.search(r"\b([0-9a-f]+) <", instruction.text)
    return (place[0], int(target[1], 16)) if target else None


def callee_of(code, place):
    """`print` or `fire` if the instruction goes there: a call, or a jump that leaves its function."""
    instruction = code[place]
    if not re.match(r"(call|jmp)\b", instruction.text):
        return None
    there = code.get(destination(code, place))
    if there is None or there.symbol == instruction.symbol:
        return None
    if "Site5print" in there.symbol:
        return "print"
    return "fire" if "5trace4fire" in there.symbol else None


def first_call(code, place):
    """The first call from here on, along jumps that are always taken."""
    for _ in range(100):
        instruction = code[place]
        callee = callee_of(code, place)
        if callee or instruction.text.startswith(("call", "ret")):
            return place, callee
        if instruction.text.startswith("jmp"):
            place = destination(code, place)
        else:
            place = place[0], instruction.following
    raise AssertionError("no call")


def reached(code, functions):
    """The places that are reached from the beginnings of functions, with every nop of the jump table as it is."""
    waiting, found, begun = [], set(), set()
    for place, instruction in code.items():
        if instruction.symbol in functions and (place[0], instruction.symbol) not in begun:
            begun.add((place[0], instruction.symbol))
            waiting.append(place)
    while waiting:
        place = waiting.pop()
        if place in found or place not in code:
            continue
        found.add(place)
        text = code[place].text
        if text.startswith("j"):
            waiting.append(destination(code, place))
        if not text.startswith(("jmp", "ret", "ud2")):
            waiting.append((place[0], code[place].following))
    return found


@pytest.fixture(name="pair")
def pair_fixture(guest_stock):
    """Two HCAs and a switch, the module loaded, all sites off."""
    guest_stock.check(
        "modprobe ib_umad\n"
        "[ -d /sys/module/ibfabric ] || insmod $MODULES/ibfabric.ko topology=pair\n"
        "[ -d /sys/module/ib_smi ] || /src/scripts/load\n"
        f"echo 'module ib_smi =_' >{CONTROL}")
    return guest_stock


# An exchange of hca0 with hca1 through the switch, and one of hca0 with itself.
EXCHANGE = "{ /src/scripts/dr-smp -C hca0 0,1,2 && /src/scripts/dr-smp -C hca0 0; } >/dev/null"

# How often each site is met by it, by the word that its message begins with.
MET = {"send": 2, "recv": 4, "forward": 2, "reply": 1}


def query(guest, words):
    """Writes a query."""
    guest.check(f"cat >{CONTROL} <<'END'\n{words}\nEND")


def listed(guest):
    """The sites as the kernel lists them: {Site: flags}."""
    found = {}
    for line in guest.check(f"grep '\\[ib_smi\\]' {CONTROL}").splitlines():
        file, number, function, flags, text = re.fullmatch(r'(\S+):(\d+) \[ib_smi\](\S+) =(\S+) "(.*)"', line).groups()
        found[Site(file, int(number), function, text)] = flags
    return found


def on(guest):
    """The sites that print."""
    return {site for site, flags in listed(guest).items() if "p" in flags}


def messages(guest, command=EXCHANGE):
    """The messages of the module's sites during a command, without time stamps."""
    guest.dmesg(clear=True)
    guest.check(command)
    lines = [re.sub(r"^\[ *\d+\.\d+\] ", "", line) for line in guest.dmesg().splitlines()]
    return [line for line in lines if "ib_smi: " in line and " device=" in line]


def word_of(message):
    """The word that a site's message begins with."""
    return re.search(r"ib_smi: (\w+): ", message)[1]


@pytest.mark.kernel
def test_every_site_is_listed_and_off(pair):
    assert listed(pair) == {site: "_" for site in sites()}


@pytest.mark.parametrize("site", sites(), ids=lambda site: f"{Path(site.file).name}:{site.line}")
def test_each_site_is_turned_on_and_off_by_itself(pair, site):
    query(pair, f"file {site.file} line {site.line} +p")
    assert on(pair) == {site}
    word = site.format.partition(":")[0]
    assert [word_of(message) for message in messages(pair)] == [word] * MET.get(word, 0)
    query(pair, f"file {site.file} line {site.line} -p")
    assert on(pair) == set()
    assert messages(pair) == []


@pytest.mark.kernel
def test_a_message_says_what_was_sent(pair):
    query(pair, "module ib_smi format recv: +p")
    # What C14-9 and C14-13 ask of each node, for Initial Path 0,1,2 from hca0 by sw0 to hca1.
    assert messages(pair, "/src/scripts/dr-smp -C hca0 0,1,2 >/dev/null") == [
        "ib_smi: recv: port=0 request in=1 out=2 hop=1,2/2 verdict=forward lid=0x0 rule=C14-9:2 reason=- device=sw0",
        "ib_smi: recv: port=1 request in=1 out=0 hop=2,3/2 verdict=local lid=0x0 rule=C14-9:3 reason=- device=hca1",
        "ib_smi: recv: port=0 response in=2 out=1 hop=2,1/2 verdict=forward lid=0x0 rule=C14-13:2 reason=- device=sw0",
        "ib_smi: recv: port=1 response in=1 out=0 hop=1,0/2 verdict=local lid=0x0 rule=C14-13:3 reason=- device=hca0",
    ]


@pytest.mark.kernel
def test_a_discard_is_told(pair):
    query(pair, "module ib_smi +p")
    smp = make(1, 2, (1, 9))
    told = messages(pair, f"echo 'sw0 1 {smp.hex()} ' >/sys/kernel/debug/ibfabric/inject; sleep 0.5")
    assert told == ["ib_smi: recv: port=0 request in=1 out=0 hop=1,1/2 verdict=discard lid=0x0 rule=C14-9:2 "
                    "reason=no-such-port device=sw0"]


ARRIVAL = [site for site in sites() if site.format.startswith("recv:")][0]

QUERIES = [
    ("module ib_smi", lambda site: True),
    ("module ib_*", lambda site: True),
    (f"file {ARRIVAL.file}", lambda site: site.file == ARRIVAL.file),
    (f"file {Path(ARRIVAL.file).name}", lambda site: site.file == ARRIVAL.file),
    (f"file */{Path(ARRIVAL.file).name}", lambda site: site.file == ARRIVAL.file),
    (f"file {Path(ARRIVAL.file).name}:{ARRIVAL.function}", lambda site: site == ARRIVAL),
    ("func tell", lambda site: site.function == "tell"),
    ("func p*s", lambda site: site.function == "pass"),
    (f"module ib_smi line {ARRIVAL.line}", lambda site: site.line == ARRIVAL.line),
    (f"module ib_smi line {ARRIVAL.line - 1}-{ARRIVAL.line + 1}", lambda site: abs(site.line - ARRIVAL.line) <= 1),
    (f"module ib_smi line -{ARRIVAL.line}", lambda site: site.line <= ARRIVAL.line),
    (f"module ib_smi line {ARRIVAL.line}-", lambda site: site.line >= ARRIVAL.line),
    ("module ib_smi format reply:", lambda site: "reply:" in site.format),
    ('module ib_smi format "an answer"', lambda site: "an answer" in site.format),
    (f"file {ARRIVAL.file} func tell format send:", lambda site: False),
]


@pytest.mark.parametrize("words, selects", QUERIES, ids=[words for words, _ in QUERIES])
def test_each_query_selects(pair, words, selects):
    query(pair, f"{words} +p")
    assert on(pair) == set(filter(selects, sites()))
    query(pair, "module ib_smi =_")


# The prefix of each flag, in the order in which they are put together.
PREFIXES = {
    "p": "",
    "pm": "ib_smi: ",
    "pf": f"{ARRIVAL.function}: ",
    "ps": f"{ARRIVAL.file}: ",
    "pl": f"{ARRIVAL.line}: ",
    "pt": "[TASK] ",
    "pmfslt": f"[TASK] ib_smi:{ARRIVAL.function}:{ARRIVAL.file}:{ARRIVAL.line}: ",
}


@pytest.mark.parametrize("flags", PREFIXES)
def test_each_flag_has_its_effect(pair, flags):
    query(pair, f"module ib_smi format recv: +{flags}")
    assert set(listed(pair)[ARRIVAL]) == set(flags)
    told = messages(pair)
    assert len(told) == MET["recv"]
    for message in told:
        assert re.sub(r"\[\d+\]", "[TASK]", message.partition("ib_smi: recv: ")[0]) == PREFIXES[flags]


def test_flag_d_adds_a_call_trace(pair):
    query(pair, "module ib_smi format recv: +pd")
    pair.dmesg(clear=True)
    pair.check("/src/scripts/dr-smp -C hca0 0,1 >/dev/null")
    query(pair, "module ib_smi =_")
    log = pair.dmesg()
    assert log.count("Call Trace:") == 2
    assert "ib_mad_recv_done+" in log and "rust_handle_dr_smp_recv+" in log


def test_flags_without_p_print_nothing(pair):
    query(pair, "module ib_smi +mfslt")
    assert messages(pair) == []


def test_a_query_that_is_wrong_is_refused(pair):
    status, _, _ = pair.run(f"echo 'module ib_smi +x' >{CONTROL}")
    assert status != 0
    assert on(pair) == set()


@pytest.mark.kernel
def test_from_insmod_on(pair):
    pair.check("/src/scripts/unload && /src/scripts/load dyndbg=+p")
    assert on(pair) == set(sites())
    pair.check("/src/scripts/unload && /src/scripts/load 'dyndbg=\"file arrival.rs +pm; func pass +p\"'")
    assert listed(pair) == {
        site: "pm" if site.file.endswith("/arrival.rs") else "p" if site.function == "pass" else "_" for site in sites()}
    pair.check("/src/scripts/unload && /src/scripts/load")
    assert on(pair) == set()


def test_from_the_command_line_of_the_kernel():
    """modprobe reads it and passes it on; insmod and the kernel do not, for a module that is loaded later."""
    with Guest("stock", results=new_results("test_dyndbg-command-line"), append="ib_smi.dyndbg=+pf") as guest:
        guest.check(
            "modprobe ib_core; root=/tmp/modules; dir=$root/lib/modules/$(uname -r); mkdir -p $dir\n"
            "cp $MODULES/ib_smi.ko $dir; touch $dir/modules.order $dir/modules.builtin\n"
            "depmod -b $root 2>/dev/null; modprobe -d $root ib_smi")
        assert listed(guest) == {site: "pf" for site in sites()}
        guest.check("while ! /src/scripts/unload; do sleep 1; done")
        guest.check("/src/scripts/load")
        assert on(guest) == set()
