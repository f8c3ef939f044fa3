# SPDX-License-Identifier: GPL-2.0
"""Draws a fabric as a graph for Graphviz."""

COLOURS = {"Active": "darkgreen", "Armed": "blue", "Initialize": "orange"}


def quote(text):
    """A string for Graphviz."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def dot(nodes, links):
    """The graph: nodes are (name, kind, description), links (name, port, name, port, state, rate).

    A link is green when it is active, orange when no subnet manager has seen it, red and dotted when down.
    """
    lines = ["graph fabric {", "\toverlap=false; splines=true; rankdir=BT;",
             "\tnode [fontname=sans fontsize=10]; edge [fontname=sans fontsize=8];"]
    for name, kind, description in nodes:
        shape = "box style=filled fillcolor=lightblue" if kind == "switch" else "ellipse"
        label = name if description in ("", name) else f"{name}\n{description}"
        lines.append(f"\t{quote(name)} [shape={shape} label={quote(label)}];".replace("\n", "\\n"))
    for a, a_port, b, b_port, state, rate in links:
        look = f"color={COLOURS[state]}" if state in COLOURS else "color=red style=dotted"
        lines.append(f"\t{quote(a)} -- {quote(b)} [taillabel={a_port} headlabel={b_port} {look}"
                     f" tooltip={quote(f'{a}:{a_port} {b}:{b_port} {state} {rate}')}];")
    return "\n".join([*lines, "}", ""])
