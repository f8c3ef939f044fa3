# SPDX-License-Identifier: GPL-2.0
"""The documents build without a warning, and agree with the sources that they describe."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path("/src")
DOCS = SRC / "Documentation"
HEADER = SRC / "include/trace/events/ib_smi.h"
TEXTS = [SRC / "README.md", *sorted(DOCS.glob("*.rst"))]


def section(document, title):
    """The text below a title, up to the next title of any level."""
    text = (DOCS / document).read_text(encoding="utf-8")
    found = re.search(rf"^{re.escape(title)}\n([=\-])\1+\n(.*?)(?=^[^\n]+\n(?:={{3,}}|-{{3,}})\n\n|\Z)", text,
                      re.MULTILINE | re.DOTALL)
    assert found, f"{document} has no section '{title}'"
    return found[2]


def rows(document, title):
    """The rows of the first table of a section, as tuples of cells, with the lines of a cell joined."""
    lines = iter(section(document, title).splitlines())
    ruler = next(line for line in lines if re.fullmatch(r"=+( +=+)+", line))
    columns = [match.span() for match in re.finditer("=+", ruler)]
    columns[-1] = (columns[-1][0], None)
    next(line for line in lines if line == ruler)
    found = []
    for line in lines:
        if line == ruler:
            return found
        cells = [line[start:end].strip() for start, end in columns]
        if cells[0]:
            found.append(cells)
        else:
            found[-1] = [" ".join(filter(None, pair)) for pair in zip(found[-1], cells)]
    raise AssertionError(f"a table in '{title}' of {document} does not end")


def literal(cell):
    """The text of a cell that is all literal."""
    found = re.fullmatch(r"``([^`]+)``", cell)
    assert found, f"not a literal: {cell}"
    return found[1]


def symbols(name):
    """A table of the header's: names by number."""
    found = re.search(rf"#define show_ib_smi_{name}\(.*?\n\n", HEADER.read_text(), re.DOTALL)
    assert found, f"no table of {name}s in {HEADER}"
    pairs = re.findall(r'\{ (\d+), "([^"]+)" \}', found[0])
    assert len({number for number, _ in pairs}) == len(pairs)
    return {int(number): text for number, text in pairs}


def enum(path, name):
    """An enum of Rust with numbers and a `name()` of every enumerator: names by number."""
    text = (SRC / path).read_text()
    body = re.search(rf"enum {name} \{{\n(.*?)\n\}}", text, re.DOTALL)[1]
    numbers = dict(re.findall(r"^    (\w+) = (\d+),", body, re.MULTILINE))
    names = dict(re.findall(r'Self::(\w+) => "([^"]+)"', re.search(rf"\nimpl {name} \{{\n(.*?)\n\}}", text, re.DOTALL)[1]))
    assert numbers and numbers.keys() == names.keys()
    return {int(number): names[item] for item, number in numbers.items()}


def test_the_documents_build_without_a_warning(tmp_path):
    done = subprocess.run(
        [sys.executable, "-B", "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", DOCS, tmp_path / "html",
         "-d", tmp_path / "doctrees"],
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_event_is_documented():
    defined = re.findall(r"^DEFINE_EVENT\(\w+, (\w+),", HEADER.read_text(), re.MULTILINE)
    assert sorted(defined) == sorted(literal(event) for event, _ in rows("events.rst", "Events"))


def test_every_field_is_documented():
    text = re.search(r"TP_STRUCT__entry\((.*?)\n\t\),", HEADER.read_text(), re.DOTALL)[1]
    fields = {name: kind for kind, name in re.findall(r"__field\((\w+), (\w+)\)", text)}
    fields |= dict.fromkeys(re.findall(r"__string\((\w+),", text), "string")
    fields |= {name: f"array of {kind}" for kind, name in re.findall(r"__dynamic_array\((\w+), (\w+),", text)}
    assert len(fields) == len(re.findall(r"^\t\t__\w+\(", text, re.MULTILINE))
    documented = {literal(name): kind for name, kind, *_ in rows("events.rst", "Fields")}
    assert documented == fields


def test_the_words_of_an_event_are_documented():
    words = set(re.findall(r"(\w+)=(?:0x)?%", re.search(r'TP_printk\("(.*?)"', HEADER.read_text())[1]))
    documented = {word for _, _, cell, _ in rows("events.rst", "Fields") for word in re.findall(r"``(\w+)=", cell)}
    assert documented == words


def test_verdicts_agree():
    text = (SRC / "rust/ib_smi/hop.rs").read_text()
    body = re.search(r"fn verdict_name\(.*?\n\}\n", text, re.DOTALL)[0]
    names = {int(number): name for number, name in re.findall(r'(\d) => "(\w+)"', body)}
    names[len(names)] = re.search(r'_ => "(\w+)"', body)[1]
    assert f"const VERDICTS: usize = {len(names)};" in text
    assert symbols("verdict") == names
    assert {int(number): name for number, name, _ in rows("events.rst", "Verdicts")} == names


def test_points_agree():
    assert symbols("point") == enum("rust/ib_smi/hop.rs", "Point")


def test_formats_agree():
    body = re.search(r"enum Format \{\n(.*?)\n\}", (SRC / "rust/ib_smi/smp.rs").read_text(), re.DOTALL)[1]
    names = {int(number): name.lower() for name, number in re.findall(r"^    (\w+) = (\d+),", body, re.MULTILINE)}
    assert names and symbols("format") == names


def test_rules_agree():
    assert symbols("rule") == {0: "-"} | enum("rust/dr/rule.rs", "Rule")


def test_reasons_agree():
    obstacles = enum("rust/ib_smi/hop.rs", "Obstacle")
    assert symbols("reason") == {0: "-"} | enum("rust/dr/reason.rs", "Reason") | obstacles
    assert {int(number): literal(name) for number, name, _ in rows("events.rst", "Reasons")} == obstacles


def test_troubleshooting_has_every_reason():
    told = {literal(name) for name, _ in rows("troubleshooting.rst", '"DROPPED": at hop k by rule r')}
    assert told == set(symbols("reason").values()) - {"-"}


def test_what_differs_between_kernels_is_in_one_file():
    versions = re.compile(r"linux_\d+_\d+|LINUX_VERSION_CODE|KERNEL_VERSION\(")
    sources = [path for folder in ("rust", "samples", "kunit", "include") for path in (SRC / folder).rglob("*")
               if path.suffix in (".rs", ".c", ".h") and versions.search(path.read_text(encoding="utf-8"))]
    assert sources == [SRC / "rust/compat.rs"]


def test_call_sites_are_where_they_are_said_to_be():
    """Of dynamic debug, by file, line and text."""
    sites = re.findall(r"^    (rust/ib_smi/\S+):(\d+) \[ib_smi\]\w+ =_ (\".*\")$", (DOCS / "tracing.rst").read_text(), re.MULTILINE)
    assert len(sites) == 6
    for file, number, text in sites:
        line = (SRC / file).read_text().splitlines()[int(number) - 1]
        assert "dyn_debug!(" in line and text.replace("\n", "\\n") in line, (file, number)


def test_parameters_agree():
    done = subprocess.run(["modinfo", "-F", "parm", SRC / "build/stock/ibfabric.ko"], capture_output=True, text=True,
                          check=True)
    shown = dict(re.fullmatch(r"(\w+):.* \((\w+)\)", line).groups() for line in done.stdout.splitlines())
    source = (SRC / "samples/ibfabric/ibfabric.rs").read_text()
    defaults = dict(re.findall(r"^        (\w+): \w+ \{\s+default: (\w+),", source, re.MULTILINE))
    defaults |= dict(re.findall(r'^static \w+ \*?(\w+)(?: = "?(\w+)"?)?;', (SRC / "samples/ibfabric/helpers.c").read_text(),
                                re.MULTILINE))
    defaults = {name: {"true": "1", "false": "0", "": "0"}.get(value, value) for name, value in defaults.items()}
    table = rows("fabric.rst", "Parameters")
    assert {literal(name): kind for name, kind, *_ in table} == shown
    assert {literal(name): default for name, _, _, default, _ in table} == defaults
    ranges = dict(re.findall(r"^(\w+):.*?(\d+ to \d+) ", done.stdout, re.MULTILINE))
    assert ranges
    assert {literal(name): limits for name, _, limits, *_ in table if literal(name) in ranges} == ranges


def test_debugfs_files_agree():
    source = (SRC / "samples/ibfabric/debug.rs").read_text()
    modes = {"show": "0400", "take": "0200", "control": "0600"}
    files = {name: modes[kind] for kind, name in re.findall(r'files\.(\w+)\(c"(\w+)"', source)}
    assert {literal(name): mode for name, mode, _ in rows("fabric.rst", "Files")} == files


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_what_a_text_names_is_there(path):
    text = path.read_text(encoding="utf-8")
    listed = subprocess.run(["make", "help"], cwd=SRC, capture_output=True, text=True, check=True).stdout
    targets = set(re.findall(r"^  ([a-z-]+) ", listed, re.MULTILINE))
    named = set(re.findall(r"(?:^ *|[`$#] ?|sudo )make ([a-z][a-z_-]*)(?![\w=])", text, re.MULTILINE))
    assert named <= targets
    files = re.findall(r"(?<![\w./])(?:scripts|rust|include|samples|kunit|Documentation|LICENSES)/[\w./-]*\w", text)
    assert [name for name in files if not (SRC / name).exists()] == []
    links = re.findall(r"\]\(([^)#:]+)\)", text) if path.suffix == ".md" else []
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_the_readme_names_the_two_commands():
    text = (SRC / "README.md").read_text(encoding="utf-8")
    assert "make demo" in text and "make test" in text
