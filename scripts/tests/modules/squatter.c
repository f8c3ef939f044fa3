// SPDX-License-Identifier: GPL-2.0
/*
 * Holds one of ib_core's functions in a way that allows no livepatch: a kprobe with a handler that runs behind
 * the instruction is free to send the processor elsewhere.
 */

#include <linux/kprobes.h>
#include <linux/module.h>

static void behind(struct kprobe *probe, struct pt_regs *regs, unsigned long flags)
{
}

static struct kprobe probe = {
	.symbol_name = "smi_get_fwd_port",
	.post_handler = behind,
};

static int __init squatter_init(void)
{
	return register_kprobe(&probe);
}

static void __exit squatter_exit(void)
{
	unregister_kprobe(&probe);
}

module_init(squatter_init);
module_exit(squatter_exit);
MODULE_DESCRIPTION("Holds a function of ib_core");
MODULE_LICENSE("GPL");
