// SPDX-License-Identifier: GPL-2.0
/*
 * For kernels with KASAN: keeps it quiet about two faults of mainline's that have nothing to do with us
 * and would hide ours. A report of KASAN taints the kernel, and with that taint lockdep stops to look.
 *
 * M14: ib_sa looks at ports that a switch does not have, when the switch is registered.
 * M2:  without ib_smi, so does ib_core when a switch answers or passes something on.
 */

#include <linux/fprobe.h>
#include <linux/kasan.h>
#include <linux/module.h>
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

static int __init quiet_init(void)
{
	int ret = register_fprobe(&m14, "ib_sa_add_one", NULL);

	if (ret)
		return ret;
	ret = register_fprobe(&m2, "ib_create_ah_from_wc", NULL);
	if (ret)
		unregister_fprobe(&m14);
	return ret;
}

static void __exit quiet_exit(void)
{
	unregister_fprobe(&m2);
	unregister_fprobe(&m14);
}

module_init(quiet_init);
module_exit(quiet_exit);
MODULE_DESCRIPTION("Keeps KASAN quiet about known faults of mainline's");
MODULE_LICENSE("GPL");
