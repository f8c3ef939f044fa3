// SPDX-License-Identifier: GPL-2.0
/*
 * A clock between the MAD layer and the drivers, for scripts/bench/smi: it notes when the MAD layer calls a
 * driver and when the driver returns, and asks for SMPs itself. What lies between two notes is the MAD
 * layer's own work, and that of the module, without the driver's. Nothing else is changed.
 *
 * /sys/kernel/debug/bench_clock has
 *
 *   ask	write only: `DEVICE PORT TIMES WINDOW PAUSE PATH`, such as `hca0 1 100 1 1000 1,2,5`, asks for
 *		NodeInfo so often, by the ports of the path, with so many requests on their way at once and so
 *		many microseconds between them
 *   log	the notes since, as `struct note`, in the byte order of the host
 *
 * The clock is the time stamp counter: under QEMU's -icount it counts instructions.
 */

#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/semaphore.h>
#include <linux/vmalloc.h>
#include <linux/xarray.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_smi.h>
#include <rdma/ib_verbs.h>

/* What is noted. Read by scripts/bench/notes.py. */
enum what {
	/* The driver is called, and returns. */
	POLL, ARM, SEND, RECV, MAD, AH_MAKE, AH_FREE,
	/* The request is posted; its answer, and its end, are told. */
	ASK, ANSWER, END,
	/* Nothing, twice in a row: what a note itself takes. */
	NOTHING,
};

struct note {
	u64 in, out;
	u32 device;	/* the index of the device */
	u16 what;
	s16 result;
};

#define NOTES (1 << 20)

static struct note *notes;
static atomic_t noted;
static struct debugfs_blob_wrapper log;

/* What the drivers, which are all the same one, had there. */
static typeof_member(struct ib_device, ops) driver;

/* The devices, by index. They do not go while somebody asks. */
static DEFINE_XARRAY(devices);

static void note(enum what what, const struct ib_device *device, u64 in, int result)
{
	unsigned int at = atomic_inc_return(&noted) - 1;

	if (at < NOTES) {
		struct note *note = &notes[at];

		note->device = device->index;
		note->what = what;
		note->result = result;
		note->in = in;
		note->out = rdtsc();
	}
}

/* Calls, between two looks at the clock. */
#define NOTED(what, device, call) ({			\
	u64 in_ = rdtsc();				\
	int result_ = (call);				\
							\
	note(what, device, in_, result_);		\
	result_;					\
})

static int clock_poll_cq(struct ib_cq *cq, int count, struct ib_wc *wc)
{
	return NOTED(POLL, cq->device, driver.poll_cq(cq, count, wc));
}

static int clock_req_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags)
{
	return NOTED(ARM, cq->device, driver.req_notify_cq(cq, flags));
}

static int clock_post_send(struct ib_qp *qp, const struct ib_send_wr *wr,
			   const struct ib_send_wr **bad)
{
	return NOTED(SEND, qp->device, driver.post_send(qp, wr, bad));
}

static int clock_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr,
			   const struct ib_recv_wr **bad)
{
	return NOTED(RECV, qp->device, driver.post_recv(qp, wr, bad));
}

static int clock_process_mad(struct ib_device *device, int flags, u32 port, const struct ib_wc *wc,
			     const struct ib_grh *grh, const struct ib_mad *in,
			     struct ib_mad *out, size_t *out_size, u16 *pkey_index)
{
	return NOTED(MAD, device, driver.process_mad(device, flags, port, wc, grh, in, out,
						     out_size, pkey_index));
}

static int clock_create_ah(struct ib_ah *ah, struct rdma_ah_init_attr *attr,
			   struct ib_udata *udata)
{
	return NOTED(AH_MAKE, ah->device, driver.create_ah(ah, attr, udata));
}

static int clock_destroy_ah(struct ib_ah *ah, u32 flags)
{
	return NOTED(AH_FREE, ah->device, driver.destroy_ah(ah, flags));
}

static noinline int clock_nothing(struct ib_device *device)
{
	return NOTED(NOTHING, device, 0);
}

static int clock_add(struct ib_device *device)
{
	if (!driver.post_send)
		driver = device->ops;
	if (driver.post_send != device->ops.post_send)
		return -EOPNOTSUPP;
	if (xa_err(xa_store(&devices, device->index, device, GFP_KERNEL)))
		return -ENOMEM;
	device->ops.poll_cq = clock_poll_cq;
	device->ops.req_notify_cq = clock_req_notify_cq;
	device->ops.post_send = clock_post_send;
	device->ops.post_recv = clock_post_recv;
	device->ops.process_mad = clock_process_mad;
	device->ops.create_ah = clock_create_ah;
	device->ops.destroy_ah = clock_destroy_ah;
	return 0;
}

static void clock_remove(struct ib_device *device, void *data)
{
	xa_erase(&devices, device->index);
	device->ops.poll_cq = driver.poll_cq;
	device->ops.req_notify_cq = driver.req_notify_cq;
	device->ops.post_send = driver.post_send;
	device->ops.post_recv = driver.post_recv;
	device->ops.process_mad = driver.process_mad;
	device->ops.create_ah = driver.create_ah;
	device->ops.destroy_ah = driver.destroy_ah;
}

static struct ib_client client = { .name = "bench_clock", .add = clock_add, .remove = clock_remove };

/* Who asks. */
struct asker {
	struct ib_mad_agent *agent;
	struct ib_ah *ah;
	/* Requests that may still be sent before one has ended. */
	struct semaphore window;
	atomic_t failed;
	u8 path[IB_SMP_MAX_PATH_HOPS];
	u8 hops;
};

static void answered(struct ib_mad_agent *agent, struct ib_mad_send_buf *request,
		     struct ib_mad_recv_wc *wc)
{
	struct asker *asker = agent->context;
	struct ib_smp *smp = (struct ib_smp *)wc->recv_buf.mad;
	u64 in = rdtsc();

	if (smp->status & ~IB_SMP_DIRECTION)
		atomic_inc(&asker->failed);
	ib_free_recv_mad(wc);
	note(ANSWER, agent->device, in, 0);
}

static void ended(struct ib_mad_agent *agent, struct ib_mad_send_wc *wc)
{
	struct asker *asker = agent->context;
	u64 in = rdtsc();

	if (wc->status != IB_WC_SUCCESS)
		atomic_inc(&asker->failed);
	ib_free_send_mad(wc->send_buf);
	up(&asker->window);
	note(END, agent->device, in, wc->status);
}

static int ask_once(struct asker *asker)
{
	struct ib_mad_send_buf *request;
	struct ib_smp *smp;
	int status;

	request = ib_create_send_mad(asker->agent, 0, 0, 0, IB_MGMT_MAD_HDR, IB_MGMT_MAD_DATA,
				     GFP_KERNEL, IB_MGMT_BASE_VERSION);
	if (IS_ERR(request))
		return PTR_ERR(request);
	request->ah = asker->ah;
	request->timeout_ms = 2000;
	smp = request->mad;
	smp->base_version = IB_MGMT_BASE_VERSION;
	smp->mgmt_class = IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE;
	smp->class_version = 1;
	smp->method = IB_MGMT_METHOD_GET;
	smp->hop_cnt = asker->hops;
	smp->tid = cpu_to_be64((u64)asker->agent->hi_tid << 32 | (u32)atomic_read(&noted));
	smp->attr_id = IB_SMP_ATTR_NODE_INFO;
	smp->dr_slid = IB_LID_PERMISSIVE;
	smp->dr_dlid = IB_LID_PERMISSIVE;
	memcpy(smp->initial_path, asker->path, sizeof(asker->path));
	status = NOTED(ASK, asker->agent->device, ib_post_send_mad(request, NULL));
	if (status)
		ib_free_send_mad(request);
	return status;
}

/* Asks so often, and waits for the last answer. */
static int ask_all(struct asker *asker, int times, int window, int pause)
{
	int status = 0, left;

	clock_nothing(asker->agent->device);
	clock_nothing(asker->agent->device);
	sema_init(&asker->window, window);
	for (left = times; left && !status; left--) {
		down(&asker->window);
		if (pause)
			fsleep(pause);
		status = ask_once(asker);
		if (status)
			up(&asker->window);
	}
	for (left = window; left; left--)
		down(&asker->window);
	if (!status && atomic_read(&asker->failed))
		status = -ETIMEDOUT;
	return status;
}

static int ask(struct ib_device *device, u32 port, int times, int window, int pause,
	       struct asker *asker)
{
	struct rdma_ah_attr attr = { .type = rdma_ah_find_type(device, port) };
	int status;

	asker->agent = ib_register_mad_agent(device, port, IB_QPT_SMI, NULL, 0, ended, answered,
					     asker, 0);
	if (IS_ERR(asker->agent))
		return PTR_ERR(asker->agent);
	rdma_ah_set_port_num(&attr, port);
	rdma_ah_set_dlid(&attr, be16_to_cpu(IB_LID_PERMISSIVE));
	asker->ah = rdma_create_ah(asker->agent->qp->pd, &attr, RDMA_CREATE_AH_SLEEPABLE);
	status = PTR_ERR_OR_ZERO(asker->ah);
	if (!status) {
		status = ask_all(asker, times, window, pause);
		rdma_destroy_ah(asker->ah, RDMA_DESTROY_AH_SLEEPABLE);
	}
	ib_unregister_mad_agent(asker->agent);
	return status;
}

static struct ib_device *find(const char *name)
{
	struct ib_device *device;
	unsigned long index;

	xa_for_each(&devices, index, device)
		if (!strcmp(dev_name(&device->dev), name))
			return device;
	return NULL;
}

static ssize_t ask_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	char text[256], name[IB_DEVICE_NAME_MAX], *path, *word;
	int times, window, pause, end = 0, status;
	struct asker asker = {};
	struct ib_device *device;
	u32 port;

	if (len >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, len))
		return -EFAULT;
	text[len] = 0;
	if (sscanf(text, "%63s %u %d %d %d %n", name, &port, &times, &window, &pause, &end) < 5 ||
	    !end || times < 1 || window < 1)
		return -EINVAL;
	path = strim(text + end);
	while ((word = strsep(&path, ",")) != NULL) {
		if (asker.hops + 1 >= IB_SMP_MAX_PATH_HOPS ||
		    kstrtou8(word, 10, &asker.path[asker.hops + 1]))
			return -EINVAL;
		asker.hops++;
	}
	device = find(name);
	if (!device)
		return -ENODEV;
	atomic_set(&noted, 0);
	status = ask(device, port, times, window, pause, &asker);
	log.size = min(atomic_read(&noted), NOTES) * sizeof(*notes);
	return status ?: len;
}

static const struct file_operations ask_file = { .owner = THIS_MODULE, .write = ask_write };
static struct dentry *dir;

static int __init clock_init(void)
{
	int status;

	notes = vzalloc(NOTES * sizeof(*notes));
	if (!notes)
		return -ENOMEM;
	log.data = notes;
	status = ib_register_client(&client);
	if (status) {
		vfree(notes);
		return status;
	}
	dir = debugfs_create_dir("bench_clock", NULL);
	debugfs_create_file("ask", 0200, dir, NULL, &ask_file);
	debugfs_create_blob("log", 0400, dir, &log);
	return 0;
}

static void __exit clock_exit(void)
{
	debugfs_remove(dir);
	ib_unregister_client(&client);
	vfree(notes);
}

module_init(clock_init);
module_exit(clock_exit);
MODULE_DESCRIPTION("Clock between the MAD layer and the drivers");
MODULE_LICENSE("GPL");
