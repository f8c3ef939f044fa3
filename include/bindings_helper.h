/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What bindgen reads: the headers whose C API the in-tree `bindings` crate does not have.
 */

#include <linux/livepatch.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_smi.h>
#include <rdma/ib_verbs.h>
#include <rdma/opa_smi.h>

/*
 * Private to ib_core, from the source of the very kernel that is built against: `mad_priv.h` has the
 * layout around an SMP's buffer, the others the prototypes of the functions that are replaced.
 */
#include "agent.h"
#include "mad_priv.h"
#include "opa_smi.h"
#include "smi.h"

#include "entry.h"
#include "helpers.h"
#include "../samples/ibfabric/helpers.h"
#include "trace/events/ib_smi.h"
