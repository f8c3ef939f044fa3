// SPDX-License-Identifier: GPL-2.0

#include <linux/moduleparam.h>

#include "helpers.h"

static char *topology = "none";
module_param(topology, charp, 0444);
MODULE_PARM_DESC(topology,
		 "What to begin with: none, pair (two HCAs and a switch), direct (two HCAs), chain or fattree");

const char *ibfabric_topology(void)
{
	return topology;
}
