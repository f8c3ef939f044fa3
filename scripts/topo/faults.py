# SPDX-License-Identifier: GPL-2.0
"""Faults that are staged: the directories below `faults` in configfs."""

from .fabric import CONFIG, FabricError, attempt, write

FAULTS = CONFIG / "faults"


def folder(place):
    """The directory of a node (sw0) or a port (sw0:1)."""
    if not FAULTS.is_dir():
        raise FabricError("there is no fabric: the module ibfabric is not loaded, or configfs not mounted")
    name, colon, port = place.partition(":")
    if not name or "/" in place or colon and not port.isdecimal():
        raise FabricError(f"'{place}' is no place: a node is named as sw0, a port as sw0:1")
    return FAULTS / name / port if colon else FAULTS / name


def folders(path):
    """The directories in a directory."""
    return sorted(entry for entry in path.iterdir() if entry.is_dir())


def knobs(path):
    """The attributes of a directory, with their values."""
    return {file.name: file.read_text().strip() for file in sorted(path.iterdir()) if file.is_file()}


def stage(place, settings):
    """Sets knobs: (name, value). What directories are missing is made, and removed again if one is refused."""
    path, made = folder(place), []
    try:
        for each in (path.parent, path):
            if not each.is_dir():
                attempt(f"faults at {place}", each.mkdir)
                made.append(each)
        for name, value in settings:
            if not (path / name).is_file():
                raise FabricError(f"{place} has no fault '{name}', but {', '.join(knobs(path))}")
            write(path / name, value)
    except FabricError:
        for each in reversed(made):
            attempt(f"faults at {place}", each.rmdir)
        raise


def idle(value):
    """Whether a knob is as it is when nothing was staged, and did nothing."""
    return value in ("off hits=0", "all", "-") or value.startswith("waiting=0 ") and value.endswith(" lost=0")


def show(place=None):
    """What is staged, as lines `PLACE KNOB VALUE`; of one place, all knobs."""
    if place:
        path = folder(place)
        if not path.is_dir():
            return off(place)
        return [f"{place} {name} {value}" for name, value in knobs(path).items()]
    places = []
    for node in folders(folder("all").parent):
        places.append((node.name, node))
        places += [(f"{node.name}:{port.name}", port) for port in folders(node)]
    return [f"{name} {knob} {value}" for name, path in places for knob, value in knobs(path).items() if not idle(value)]


def off(place):
    """The knobs of a place where nothing is staged."""
    path = folder(place)
    above = path.parent.is_dir()
    stage(place, [])
    try:
        return show(place)
    finally:
        clear(place if above else path.parent.name)


def clear(place=None):
    """Ends what is staged: everywhere, at a node with its ports, or at a port."""
    paths = [folder(place)] if place else folders(folder("all").parent)
    for path in paths:
        if not path.is_dir():
            raise FabricError(f"nothing is staged at {place}")
        for each in [*folders(path), path]:
            attempt(each, each.rmdir)
