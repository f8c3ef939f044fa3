/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM ib_smi

#if !defined(_TRACE_IB_SMI_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_IB_SMI_H

#include <linux/tracepoint.h>
#include <rdma/ib_smi.h>

#endif /* _TRACE_IB_SMI_H */
