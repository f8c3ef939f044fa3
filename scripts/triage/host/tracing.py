# SPDX-License-Identifier: GPL-2.0
"""What tells of SMPs: trace events, counters of discards, the ledger."""

TRACEFS = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
DEBUGFS = "/sys/kernel/debug"


def tracing(host):
    """The state of tracing."""
    mounts = [line.split() for line in (host.text("/proc/mounts") or "").splitlines()]
    tracefs = next((words[1] for words in mounts if len(words) > 2 and words[2] == "tracefs"), None)
    folder = tracefs or TRACEFS[0]
    events = f"{folder}/events/ib_smi"
    return {
        "tracefs": tracefs, "debugfs": any(len(words) > 2 and words[2] == "debugfs" for words in mounts),
        # Of what may not be looked into it is not known.
        "has_events": host.exists(events) or (None if tracefs and not host.names(folder) else False), "tracing_on": host.text(f"{folder}/tracing_on") != "0",
        "events": {name.removeprefix("ib_smi_"): host.text(f"{events}/{name}/enable") == "1"
                   for name in host.names(events) if name.startswith("ib_smi_")},
        "triggers": [name for name in host.names(events) if has_lines(host.text(f"{events}/{name}/trigger"))],
        "discards": discards(host), "ledger": ledger(host)}


def has_lines(text):
    """Whether a file has lines that are no comments."""
    return any(line and not line.startswith("#") for line in (text or "").splitlines())


def discards(host):
    """The reasons that have been counted: {reason: count}; None where they cannot be read."""
    text = host.text(f"{DEBUGFS}/ib_smi/discards")
    if text is None:
        return None
    pairs = (line.split() for line in text.splitlines())
    return {words[0]: int(words[1]) for words in pairs if len(words) == 2 and words[1].isdigit() and words[1] != "0"}


def ledger(host):
    """How many requests are in which state; None if there is no ledger."""
    text = host.text(f"{DEBUGFS}/ib_smi/ledger")
    if text is None:
        return None
    states = {}
    for line in text.splitlines():
        for word in line.split():
            if word.startswith("state="):
                states[word[6:]] = states.get(word[6:], 0) + 1
    return states
