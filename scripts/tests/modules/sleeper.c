// SPDX-License-Identifier: GPL-2.0
/*
 * An agent that takes its time, until it is told to go on: asks the SMA of its own node, and sleeps in the handler that is called when the
 * request is sent. ib_mad calls it from local_completions().
 */

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_smi.h>
#include <rdma/ib_verbs.h>

static char *device = "hca0";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "Whose port 1 it is on");

static bool awake;
module_param(awake, bool, 0644);
MODULE_PARM_DESC(awake, "Written: it sleeps no longer");

static struct ib_mad_agent *agent;
static DECLARE_COMPLETION(sleeps);

static void sent(struct ib_mad_agent *mad_agent, struct ib_mad_send_wc *wc)
{
	complete(&sleeps);
	while (!READ_ONCE(awake))
		msleep(20);
	ib_free_send_mad(wc->send_buf);
}

static void received(struct ib_mad_agent *mad_agent, struct ib_mad_send_buf *send_buf,
		     struct ib_mad_recv_wc *wc)
{
	ib_free_recv_mad(wc);
}

static int ask(void)
{
	struct ib_mad_send_buf *buf;
	struct ib_smp *smp;
	int ret;

	buf = ib_create_send_mad(agent, 0, 0, 0, IB_MGMT_MAD_HDR, IB_MGMT_MAD_DATA, GFP_KERNEL,
				 IB_MGMT_BASE_VERSION);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	smp = buf->mad;
	smp->base_version = IB_MGMT_BASE_VERSION;
	smp->mgmt_class = IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE;
	smp->class_version = 1;
	smp->method = IB_MGMT_METHOD_GET;
	smp->tid = cpu_to_be64((u64)agent->hi_tid << 32 | 1);
	smp->attr_id = IB_SMP_ATTR_NODE_INFO;
	smp->dr_slid = IB_LID_PERMISSIVE;
	smp->dr_dlid = IB_LID_PERMISSIVE;
	buf->timeout_ms = 100;
	ret = ib_post_send_mad(buf, NULL);
	if (ret)
		ib_free_send_mad(buf);
	return ret;
}

static int add(struct ib_device *added)
{
	int ret;

	if (strcmp(dev_name(&added->dev), device))
		return -EOPNOTSUPP;
	agent = ib_register_mad_agent(added, 1, IB_QPT_SMI, NULL, 0, sent, received, NULL, 0);
	ret = PTR_ERR_OR_ZERO(agent);
	if (ret)
		return ret;
	ret = ask();
	if (ret)
		ib_unregister_mad_agent(agent);
	else
		wait_for_completion(&sleeps);
	return ret;
}

static void remove(struct ib_device *removed, void *data)
{
	ib_unregister_mad_agent(agent);
}

static struct ib_client client = {
	.name = "sleeper",
	.add = add,
	.remove = remove,
};

static int __init sleeper_init(void)
{
	return ib_register_client(&client);
}

static void __exit sleeper_exit(void)
{
	ib_unregister_client(&client);
}

module_init(sleeper_init);
module_exit(sleeper_exit);
MODULE_DESCRIPTION("A MAD agent that takes its time");
MODULE_LICENSE("GPL");
