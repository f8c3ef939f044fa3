// SPDX-License-Identifier: GPL-2.0
/*
 * For kernels with KASAN: keeps it quiet about three faults of mainline's that have nothing to do with us
 * and would hide ours. A report of KASAN taints the kernel, and with that taint lockdep stops to look.
 *
 * M14: ib_sa looks at ports that a switch does not have, when the switch is registered.
 * M2:  without ib_smi, so does ib_core when a switch answers or passes something on.
 * M21: ib_mad copies more of an SMP to its own node than there is, on a port of Omni-Path.
 */

#include <linux/fprobe.h>
#include <linux/kasan.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_verbs.h>

static int be_quiet(struct fprobe *probe, unsigned long ip, unsigned long ret_ip,
		    struct ftrace_regs *regs, void *data)
{
	kasan_disable_current();
	return 0;
}

/* Not where the port exists: what is wrong there is no fault that is known. */
static int be_quiet_of_no_port(struct fprobe *probe, unsigned long ip, unsigned long ret_ip,
			       struct ftrace_regs *regs, void *data)
{
	struct ib_pd *pd = (struct ib_pd *)ftrace_regs_get_argument(regs, 0);
	u32 port = ftrace_regs_get_argument(regs, 3);

	if (rdma_is_port_valid(pd->device, port))
		return 1;	/* and does not call the other handler */
	kasan_disable_current();
	return 0;
}

/* Not where all that is copied is there. */
static int be_quiet_of_short_mad(struct fprobe *probe, unsigned long ip, unsigned long ret_ip,
				 struct ftrace_regs *regs, void *data)
{
	struct ib_mad_send_buf *buf = (struct ib_mad_send_buf *)ftrace_regs_get_argument(regs, 0);
	struct ib_mad_agent *agent = buf->mad_agent;

	if (!rdma_cap_opa_mad(agent->device, agent->port_num) ||
	    ((struct ib_mad_hdr *)buf->mad)->mgmt_class != IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE ||
	    ksize(buf->mad) >= sizeof(struct opa_mad))
		return 1;
	kasan_disable_current();
	return 0;
}

static void speak_again(struct fprobe *probe, unsigned long ip, unsigned long ret_ip,
			struct ftrace_regs *regs, void *data)
{
	kasan_enable_current();
}

/* An array of probes cannot be registered at once. */
static struct fprobe m14 = {
	.entry_handler = be_quiet,
	.exit_handler = speak_again,
};

static struct fprobe m2 = {
	.entry_handler = be_quiet_of_no_port,
	.exit_handler = speak_again,
};

static struct fprobe m21 = {
	.entry_handler = be_quiet_of_short_mad,
	.exit_handler = speak_again,
};

static struct {
	struct fprobe *probe;
	const char *function;
} probes[] = {
	{ &m14, "ib_sa_add_one" },
	{ &m2, "ib_create_ah_from_wc" },
	{ &m21, "ib_post_send_mad" },
};

static void quiet_exit(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		unregister_fprobe(probes[i].probe);
}

static int __init quiet_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		int ret = register_fprobe(probes[i].probe, probes[i].function, NULL);

		if (ret) {
			quiet_exit();
			return ret;
		}
	}
	return 0;
}

module_init(quiet_init);
module_exit(quiet_exit);
MODULE_DESCRIPTION("Keeps KASAN quiet about known faults of mainline's");
MODULE_LICENSE("GPL");
