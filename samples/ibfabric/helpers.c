// SPDX-License-Identifier: GPL-2.0

#include <rdma/ib_verbs.h>
