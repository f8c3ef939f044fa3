// SPDX-License-Identifier: GPL-2.0
/*
 * The bodies of the trace events, which only C macros can make.
 */

#define CREATE_TRACE_POINTS
#define CREATE_RUST_TRACE_POINTS
#include "trace/events/ib_smi.h"
