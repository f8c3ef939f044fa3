# SPDX-License-Identifier: GPL-2.0
"""Descriptions of fabrics that are damaged or made to do harm: they are read, or refused with the line that is wrong."""

import os
import random
import re
import string
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, configuration, given, settings, strategies as st

sys.path.insert(0, str(Path(__file__).parents[1]))

# pylint: disable=wrong-import-position
from topo import compare, dump, generate, parse  # noqa: E402
from topo.model import MAX_PORTS, TopologyError  # noqa: E402

EXAMPLES = 300
# Not in the checkout.
configuration.set_hypothesis_home_dir("/tmp/hypothesis")

# What lines are made of, and what a parser could stumble over.
WORDS = [
    "Switch", "Ca", "Hca", "Rt", "vendid=0x2c9", "devid=0xbd36", "sysimgguid=0x1", "switchguid=0x2(2)", "caguid=0x3",
    '"S-0000000000000002"', '"H-0000000000000003"', '"Sw1"', '"a"', '""', '"', "[1]", "[0]", "[255]", "[1](3)", "(", ")",
    "#", "lid", "4xQDR", "12xNDR", "9xQDR", "w=4", "s=1", "s=9", "w=", "=", "enhanced port 0", "base port 0", "36", "0",
    "254", "255", "٣", "99999999999999999999", "\u2028", "\x00", "\x85", "\xa0", "Chassis 1", "ibwarn: [1]"]
TEXTS = st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=8), st.just("\n"), st.just(" ")), max_size=60).map("".join)
FUZZ = settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None,
                suppress_health_check=[HealthCheck.too_slow])


def judge(text):
    """Reads a text. Returns what it describes, or nothing if that was refused as it should be."""
    try:
        topology = parse.parse(text, "file")
    except TopologyError as error:
        place, _, what = str(error).partition(": ")
        file, _, line = place.partition(":")
        # The line is one of the text's.
        assert file == "file" and 1 <= int(line) <= text.count("\n") + 1, error
        assert what.strip() and "\n" not in str(error), error
        return None
    sound(topology)
    return topology


def sound(topology):
    """What is read can be built: each link has two ends, and no number is too large for its attribute."""
    assert topology.nodes
    guids = [node.guid for node in topology.nodes.values()]
    assert len(set(guids)) == len(guids) and all(0 < guid < 1 << 64 for guid in guids)
    for node in topology.nodes.values():
        assert 1 <= node.port_count <= MAX_PORTS
        assert len(node.description.encode()) <= 64 and "\n" not in node.description
        for number, port in node.ports.items():
            back = topology.nodes[port.peer].ports[port.peer_port]
            assert (back.peer, back.peer_port) == (node.key, number)


@FUZZ
@given(TEXTS)
def test_any_text(text):
    judge(text)


def files():
    """Descriptions of ours, and the public ones if they are there."""
    for make in (lambda b: generate.fat_tree(b, 2, 4), lambda b: generate.torus(b, (3, 3), 1)):
        builder = generate.Builder()
        make(builder)
        yield dump.dump(builder.finish(), "generated")
    for file in sorted(entry for entry in Path("/shared/topologies").rglob("*") if entry.is_file()):
        text = file.read_text(encoding="utf-8", errors="replace")
        if len(text) < 8_000:
            yield text


FILES = list(files())


TOKEN = re.compile(r'"[^"]*"|\[\d+\]|\b\w+\b')


def cut(chance, text):
    """Something within is missing, doubled or replaced."""
    start = chance.randint(0, len(text))
    part = text[start:start + chance.choice((0, 1, 2, 8, 40, 400))]
    return text[:start] + chance.choice(("", part * 2, chance.choice(WORDS), chance.choice(string.printable))) + text[start + len(part):]


def move(chance, text):
    """A line is somewhere else, or there too."""
    lines = text.split("\n")
    line = chance.choice(lines)
    if chance.random() < 0.5:
        lines.remove(line)
    lines.insert(chance.randint(0, len(lines)), line)
    return "\n".join(lines)


def swap(chance, text):
    """A word is another one of the file's: a number, a port, the name of a node."""
    words = list(TOKEN.finditer(text))
    if not words:
        return text
    place = chance.choice(words)
    kin = [word[0] for word in words if word[0][0] == place[0][0]]
    return text[:place.start()] + chance.choice(kin) + text[place.end():]


def test_damaged_files():
    read = 0
    for seed in range(3000):
        chance = random.Random(seed)
        text = chance.choice(FILES)
        for _ in range(chance.randint(1, 3)):
            text = chance.choice((cut, move, swap))(chance, text)
        try:
            read += judge(text) is not None
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r}\n{text}") from error
    # Some damage is harmless, some is not.
    assert 300 < read < 2700


@pytest.mark.parametrize("text, line", [
    (f'Switch {"9" * 5000} "a"\n', 1),
    (f'Switch 4 "a"\n[1] "a"[{"9" * 5000}]\n', 2),
    ('Switch \u0663 "a"\n', 1),
    ('Switch 4 "a"\n[1] "b"[1]\n', 2),
    ("", 1),
])
def test_the_line_is_named(text, line):
    with pytest.raises(TopologyError, match=f"^file:{line}: "):
        parse.parse(text, "file")


def ibfabric(*words, **more):
    """Runs a command on descriptions. Returns its status and output."""
    done = subprocess.run([sys.executable, "-B", Path(__file__).parents[1] / "ibfabric", *words], capture_output=True,
                          check=False, env={**os.environ, "PYTHONIOENCODING": "ascii"}, **more)
    return done.returncode, done.stdout + done.stderr


def test_descriptions_in_any_alphabet(tmp_path):
    text = 'Switch 4 "a" # "caf\u00e9" base port 0 lid 0 lmc 0\n'
    assert ibfabric("check", "-", input=text.encode("iso8859-1")) == (0, b"1 switches, 0 HCAs, 0 links\n")
    for name, content in (("a", text), ("b", text.replace("\u00e9", "e"))):
        (tmp_path / name).write_text(content, encoding="utf-8")
    status, said = ibfabric("compare", tmp_path / "a", tmp_path / "b")
    assert status == 1 and b"caf\\xe9" in said


def test_a_chosen_guid_is_nobody_elses():
    text = 'Switch 4 "Sw1"\n[1] "S-021bfb0000000100"[1]\n\nSwitch 4 "S-021bfb0000000100"\n[1] "Sw1"[1]\n'
    assert judge(text) is not None


@FUZZ
@given(st.sampled_from(FILES))
def test_a_whole_file_is_read_and_written_again(text):
    topology = judge(text)
    if topology is not None:
        again = judge(dump.dump(topology, "again"))
        assert again is not None and not list(compare.differences(topology, again))
