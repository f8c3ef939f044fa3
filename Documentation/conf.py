# SPDX-License-Identifier: GPL-2.0
"""Sphinx: what the documents in this folder need to become HTML, without anything from elsewhere."""

project = "ib_smi"
root_doc = "index"
extensions = ["sphinx.ext.autosectionlabel"]
autosectionlabel_prefix_document = True
html_theme = "alabaster"
html_show_sphinx = False
html_copy_source = False
html_sidebars = {"**": ["localtoc.html", "relations.html"]}
# Examples are of shells, traces and tables; none is in a language to be coloured.
highlight_language = "none"
