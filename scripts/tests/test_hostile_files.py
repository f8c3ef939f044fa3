# SPDX-License-Identifier: GPL-2.0
"""Descriptions of fabrics that are damaged or made to do harm: they are read, or refused with the line that is wrong."""

import string
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
WORDS = st.sampled_from([
    "Switch", "Ca", "Hca", "Rt", "vendid=0x2c9", "devid=0xbd36", "sysimgguid=0x1", "switchguid=0x2(2)", "caguid=0x3",
    '"S-0000000000000002"', '"H-0000000000000003"', '"Sw1"', '"a"', '""', '"', "[1]", "[0]", "[255]", "[1](3)", "(", ")",
    "#", "lid", "4xQDR", "12xNDR", "9xQDR", "w=4", "s=1", "s=9", "w=", "=", "enhanced port 0", "base port 0", "36", "0",
    "254", "255", "٣", "99999999999999999999", "\u2028", "\x00", "\x85", "\xa0", "Chassis 1", "ibwarn: [1]"])
TEXTS = st.lists(st.one_of(WORDS, st.text(max_size=8), st.just("\n"), st.just(" ")), max_size=60).map("".join)
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
        if len(text) < 20_000:
            yield text


FILES = list(files())


@st.composite
def damaged(draw):
    """One of the files with parts cut out, doubled, moved or replaced."""
    text = draw(st.sampled_from(FILES))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.sampled_from([0, 1, 2, 8, 40, 400])))
        part = text[start:end]
        new = draw(st.one_of(st.just(""), st.just(part * 2), WORDS, st.text(alphabet=string.printable, max_size=4),
                             st.just(part[::-1])))
        text = text[:start] + new + text[end:]
    return text


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


def test_a_chosen_guid_is_nobody_elses():
    text = 'Switch 4 "Sw1"\n[1] "S-021bfb0000000100"[1]\n\nSwitch 4 "S-021bfb0000000100"\n[1] "Sw1"[1]\n'
    assert judge(text) is not None


@FUZZ
@given(damaged())
def test_damaged_files(text):
    judge(text)


@FUZZ
@given(st.sampled_from(FILES))
def test_a_whole_file_is_read_and_written_again(text):
    topology = judge(text)
    if topology is not None:
        again = judge(dump.dump(topology, "again"))
        assert again is not None and not list(compare.differences(topology, again))
