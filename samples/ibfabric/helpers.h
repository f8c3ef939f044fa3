/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the fabric needs from C: module parameters of types that `module!` does not have, before Linux 7.3
 * at least.
 */
#ifndef _IBFABRIC_HELPERS_H
#define _IBFABRIC_HELPERS_H

#include <linux/types.h>

const char *ibfabric_topology(void);
bool ibfabric_preset(void);
bool ibfabric_opa(void);

#endif /* _IBFABRIC_HELPERS_H */
