// SPDX-License-Identifier: GPL-2.0

#include <linux/moduleparam.h>

#include "helpers.h"

static char *topology = "none";
module_param(topology, charp, 0444);
MODULE_PARM_DESC(topology,
		 "What to begin with: none, pair (two HCAs and a switch), direct (two HCAs), chain or fattree");

static bool preset = true;
module_param(preset, bool, 0);
MODULE_PARM_DESC(preset,
		 "Begin with LIDs, forwarding tables and active links, without a subnet manager");

static bool opa;
module_param(opa, bool, 0);
MODULE_PARM_DESC(opa, "Nodes that speak Omni-Path's management datagrams too");

const char *ibfabric_topology(void)
{
	return topology;
}

bool ibfabric_preset(void)
{
	return preset;
}

bool ibfabric_opa(void)
{
	return opa;
}
