// SPDX-License-Identifier: GPL-2.0
/*
 * Mainline's SMI with one of its faults mended, M1 of Documentation/rules.rst, and no other: so that a switch
 * passes SMPs on by mainline's own way, for scripts/bench/smi to compare with. A livepatch asks for the address
 * handle on the port of the switch that has agents, port 0, whatever the port that the SMP leaves by.
 *
 * It also measures what a call through a livepatch costs: `redirection` of /sys/module/bench_mended/parameters
 * has how often the clock ticks for a hundred calls of a function through the patch, less those of direct calls.
 * Under QEMU's -icount the clock counts instructions.
 */

#include <linux/livepatch.h>
#include <linux/module.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_verbs.h>

static struct ib_ah *create_ah_from_wc(struct ib_pd *pd, const struct ib_wc *wc,
				       const struct ib_grh *grh, u32 port)
{
	u32 own = rdma_cap_ib_switch(pd->device) ? 0 : port;
	struct rdma_ah_attr attr;
	struct ib_ah *ah;
	int status;

	status = ib_init_ah_attr_from_wc(pd->device, own, wc, grh, &attr);
	if (status)
		return ERR_PTR(status);
	ah = rdma_create_ah(pd, &attr, RDMA_CREATE_AH_SLEEPABLE);
	rdma_destroy_ah_attr(&attr);
	return ah;
}

/* Stands for a function that does nothing much. No SMP leads here. */
static int get_mad_data_offset(u8 mgmt_class)
{
	return IB_MGMT_MAD_HDR;
}

static struct klp_func funcs[] = {
	{ .old_name = "ib_create_ah_from_wc", .new_func = create_ah_from_wc },
	{ .old_name = "ib_get_mad_data_offset", .new_func = get_mad_data_offset },
	{ }
};

static struct klp_object objects[] = {
	{ .name = IS_MODULE(CONFIG_INFINIBAND) ? "ib_core" : NULL, .funcs = funcs },
	{ }
};

static struct klp_patch patch = { .mod = THIS_MODULE, .objs = objects };

#define CALLS 100

/* Instructions of so many calls. */
static u64 calls(int (*function)(u8))
{
	u64 began = rdtsc();
	int call;

	for (call = 0; call < CALLS; call++) {
		OPTIMIZER_HIDE_VAR(function);
		function(IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE);
	}
	return rdtsc() - began;
}

static int redirection_get(char *buffer, const struct kernel_param *param)
{
	u64 patched, direct;

	/* Once before, so that nothing is done for the first time. */
	calls(ib_get_mad_data_offset);
	patched = calls(ib_get_mad_data_offset);
	direct = calls(get_mad_data_offset);
	return sysfs_emit(buffer, "%lld\n", patched - direct);
}

static const struct kernel_param_ops redirection_ops = { .get = redirection_get };

module_param_cb(redirection, &redirection_ops, NULL, 0400);
MODULE_PARM_DESC(redirection, "Ticks of a hundred calls through the livepatch, less those of direct calls");

static int __init mended_init(void)
{
	return klp_enable_patch(&patch);
}

static void __exit mended_exit(void)
{
}

module_init(mended_init);
module_exit(mended_exit);
MODULE_DESCRIPTION("Mainline's SMI with its address handle of a switch mended");
MODULE_LICENSE("GPL");
MODULE_INFO(livepatch, "Y");
