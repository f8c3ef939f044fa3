# SPDX-License-Identifier: GPL-2.0
"""What the benchmarks make of what they have measured, and that the documents quote it."""

import csv
import re
import sys
from pathlib import Path

import pytest

SRC = Path("/src")
sys.path.insert(0, str(SRC / "scripts" / "bench"))

# pylint: disable=wrong-import-position
import notes  # noqa: E402
import table  # noqa: E402

TABLES = SRC / "Documentation" / "benchmarks"
# What a note takes itself, in what follows.
COST = 9


def written(path, *rows):
    """A file as bench/clock.c leaves it: rows of begin, end, device, what and result."""
    path.write_bytes(b"".join(notes.FORMAT.pack(*row[:3], notes.WHAT.index(row[3]), row[4]) for row in rows))
    return notes.read(path)


NOTHING = ((0, 20, 0, "NOTHING", 0), (20 + COST, 50, 0, "NOTHING", 0))


def test_the_layout_is_that_of_the_clock():
    text = (SRC / "bench/clock.c").read_text()
    body = re.sub(r"/\*.*?\*/", "", re.search(r"enum what \{(.*?)\};", text, re.DOTALL)[1], flags=re.DOTALL)
    assert tuple(re.findall(r"\w+", body)) == notes.WHAT
    fields = re.search(r"struct note \{(.*?)\};", text, re.DOTALL)[1]
    kinds = [kind for kind, names in re.findall(r"(\w+) ([\w, ]+);", fields) for _ in names.split(",")]
    assert notes.FORMAT.format == "=" + "".join({"u64": "Q", "u32": "I", "u16": "H", "s16": "h"}[kind] for kind in kinds)


def test_the_work_around_the_driver_is_counted(tmp_path):
    """A hop: 100 to the address handle, 200 from there to the post, 40 to the next buffer, 50 to the end."""
    found = list(notes.pieces(written(
        tmp_path / "log", *NOTHING,
        (1000, 1100, 3, "POLL", 1),
        (1200 + COST, 1300, 3, "AH_MAKE", 0),
        (1500 + COST, 2000, 3, "SEND", 0),
        (2040 + COST, 2100, 3, "RECV", 0),
        (2150 + COST, 2200, 3, "ARM", 0))))
    assert found == [notes.Piece("hop", 3, 1100, 300, 90)]


def test_a_request_is_counted_around_its_post(tmp_path):
    found = list(notes.pieces(written(
        tmp_path / "log", *NOTHING, (1000, 2500, 1, "ASK", 0), (1388 + COST, 2000, 1, "SEND", 0))))
    # What a note takes is before each of both parts.
    assert found == [notes.Piece("request", 1, 1000, 388, 500 - COST)]


@pytest.mark.parametrize("other", [(1150, 1160, 4, "POLL", 0), (1150, 1160, 4, "ASK", 0)])
def test_a_piece_that_is_interrupted_does_not_count(tmp_path, other):
    found = list(notes.pieces(written(
        tmp_path / "log", *NOTHING, (1000, 1100, 3, "POLL", 1), other, (1500, 2000, 3, "SEND", 0),
        (2150, 2200, 3, "ARM", 0))))
    assert found == []


def test_several_completions_at_once_do_not_count(tmp_path):
    rows = (1000, 1100, 3, "POLL", 2), (1500, 2000, 3, "SEND", 0), (2150, 2200, 3, "ARM", 0)
    assert not list(notes.pieces(written(tmp_path / "log", *NOTHING, *rows)))


def test_rounds(tmp_path):
    found = written(tmp_path / "log", (0, 10, 0, "ASK", 0), (100, 110, 0, "ANSWER", 0), (200, 210, 0, "ASK", 0),
                    (500, 510, 0, "ANSWER", 0))
    assert notes.rounds(found) == (100, 2 * 1e9 / 500)


def test_figures_have_their_spread():
    assert table.Figure([3000, 2000, 1000]).text() == "2,000 (1,000 to 3,000)"
    assert table.Figure([2000, 2000]).text() == "2,000"
    assert (table.Figure([2, 4]) / table.Figure([4, 4])).text(2) == "0.75 (0.50 to 1.00)"
    assert table.Figure([0.41]).goal(0.4) == "≤ 0.40, missed"
    assert table.Figure([0.40]).goal(0.4) == "≤ 0.40, met"


def test_every_table_is_in_the_document():
    text = (SRC / "Documentation/benchmarks.rst").read_text(encoding="utf-8")
    quoted = re.findall(r":file: benchmarks/(\w+)\.csv", text)
    assert sorted(quoted) == sorted(table.TABLES) == sorted(path.stem for path in TABLES.glob("*.csv"))


@pytest.mark.parametrize("name", table.TABLES)
def test_tables_are_complete(name):
    with (TABLES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert len(rows) > 1 and {len(row) for row in rows} == {len(rows[0])}
    goals = [row[-1] for row in rows[1:] if rows[0][-1] == "goal" and row[-1]]
    assert all(re.fullmatch(r"≤ [\d.]+, (met|missed)", goal) for goal in goals)
