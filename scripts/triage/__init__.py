# SPDX-License-Identifier: GPL-2.0
"""What became of directed-route SMPs: their ways put together from trace events, judged, and told.

In the order in which a trace goes through: `source` reads it, `event` takes its lines apart, `gather`
puts events together to requests (`way`), with what is known of cables (`wiring`); `judge` finds what
happened (`verdict`), `advice` what to do; `tell`, `draw` and `report` say so. `live` makes the trace.
"""
