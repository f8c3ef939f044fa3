/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the fabric needs from C: a module parameter that is a string, which `module!` does not have.
 */
#ifndef _IBFABRIC_HELPERS_H
#define _IBFABRIC_HELPERS_H

const char *ibfabric_topology(void);

#endif /* _IBFABRIC_HELPERS_H */
