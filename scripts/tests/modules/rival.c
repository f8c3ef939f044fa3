// SPDX-License-Identifier: GPL-2.0
/*
 * Another livepatch of ib_core, as a distribution may ship one: it takes a function that ib_smi leaves
 * alone, and one that ib_smi takes too. Both do what they have to.
 */

#include <linux/livepatch.h>
#include <linux/module.h>
#include <rdma/ib_smi.h>
#include <rdma/ib_verbs.h>

static unsigned long calls;
module_param(calls, ulong, 0444);
MODULE_PARM_DESC(calls, "How often its functions were called");

/* Lanes of 2.5 Gbit/s; nobody in the tests asks for any but the slowest. */
static int rival_rate_to_mult(enum ib_rate rate)
{
	calls++;
	return 1;
}

/* The next element of the path that the SMP follows. */
static int rival_get_fwd_port(struct ib_smp *smp)
{
	calls++;
	if (ib_get_smp_direction(smp))
		return smp->hop_ptr ? smp->return_path[smp->hop_ptr - 1] : 0;
	return smp->hop_ptr < IB_SMP_MAX_PATH_HOPS - 1 ? smp->initial_path[smp->hop_ptr + 1] : 0;
}

static struct klp_func funcs[] = {
	{ .old_name = "ib_rate_to_mult", .new_func = rival_rate_to_mult },
	{ .old_name = "smi_get_fwd_port", .new_func = rival_get_fwd_port },
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
