// SPDX-License-Identifier: GPL-2.0
/*
 * Another livepatch of ib_core, as a distribution may ship one: it takes a function that ib_smi leaves
 * alone, and one that ib_smi takes too. Both do what they have to.
 */

#include <linux/livepatch.h>
#include <linux/module.h>
#include <rdma/ib_smi.h>
#include <rdma/ib_verbs.h>

#include "smi.h"

static unsigned long asked;
module_param(asked, ulong, 0444);
MODULE_PARM_DESC(asked, "How often it was asked what becomes of an SMP");

/* Lanes of 2.5 Gbit/s; nobody in the tests asks for any but the slowest. */
static int rival_rate_to_mult(enum ib_rate rate)
{
	return 1;
}

/* As ib_core's own. */
static enum smi_forward_action rival_check_forward(struct ib_smp *smp)
{
	u8 at = smp->hop_ptr, end = smp->hop_cnt;

	asked++;
	if (ib_get_smp_direction(smp)) {
		if (at >= 2 && at <= end)
			return IB_SMI_FORWARD;
		return at == 1 && smp->dr_slid != IB_LID_PERMISSIVE ? IB_SMI_SEND : IB_SMI_LOCAL;
	}
	if (at && at < end)
		return IB_SMI_FORWARD;
	if (at == end)
		return smp->dr_dlid == IB_LID_PERMISSIVE ? IB_SMI_SEND : IB_SMI_LOCAL;
	return at == end + 1 ? IB_SMI_SEND : IB_SMI_LOCAL;
}

static struct klp_func funcs[] = {
	{ .old_name = "ib_rate_to_mult", .new_func = rival_rate_to_mult },
	{ .old_name = "smi_check_forward_dr_smp", .new_func = rival_check_forward },
	{ }
};

static struct klp_object objects[] = {
	{ .name = "ib_core", .funcs = funcs },
	{ }
};

static struct klp_patch patch = {
	.mod = THIS_MODULE,
	.objs = objects,
};

static int __init rival_init(void)
{
	return klp_enable_patch(&patch);
}

static void __exit rival_exit(void)
{
}

module_init(rival_init);
module_exit(rival_exit);
MODULE_INFO(livepatch, "Y");
MODULE_DESCRIPTION("Another livepatch of ib_core");
MODULE_LICENSE("GPL");
