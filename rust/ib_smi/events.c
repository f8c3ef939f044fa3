// SPDX-License-Identifier: GPL-2.0
#include "trace/events/ib_smi.h"
