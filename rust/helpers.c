// SPDX-License-Identifier: GPL-2.0
/*
 * Inline functions and macros of the RDMA core that Rust cannot call, as functions.
 */

#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include "helpers.h"

u32 ib_smi_first_port(const struct ib_device *device)
{
	return rdma_start_port(device);
}

u32 ib_smi_last_port(const struct ib_device *device)
{
	return rdma_end_port(device);
}

bool ib_smi_cap_smi(const struct ib_device *device, u32 port)
{
	return rdma_cap_ib_smi(device, port);
}

bool ib_smi_cap_opa(const struct ib_device *device, u32 port)
{
	return rdma_cap_opa_mad((struct ib_device *)device, port);
}

/* The MAD layer registers agents for QP1 on no other port. */
bool ib_smi_cap_gsi(const struct ib_device *device, u32 port)
{
	return rdma_cap_ib_cm(device, port);
}

/* Also sets the type, which depends on the port: IB or OPA. */
struct ib_ah *ib_smi_create_ah(struct ib_pd *pd, u32 port, u32 dlid, u32 flags)
{
	struct rdma_ah_attr attr = { .type = rdma_ah_find_type(pd->device, port) };

	rdma_ah_set_port_num(&attr, port);
	rdma_ah_set_dlid(&attr, dlid);
	return rdma_create_ah(pd, &attr, flags);
}

u64 ib_smi_dma_map(struct ib_device *device, void *addr, size_t size)
{
	return ib_dma_map_single(device, addr, size, DMA_TO_DEVICE);
}

int ib_smi_dma_mapping_error(struct ib_device *device, u64 addr)
{
	return ib_dma_mapping_error(device, addr);
}

void ib_smi_dma_unmap(struct ib_device *device, u64 addr, size_t size)
{
	ib_dma_unmap_single(device, addr, size, DMA_TO_DEVICE);
}

void ib_smi_dma_sync(struct ib_device *device, u64 addr, size_t size)
{
	ib_dma_sync_single_for_device(device, addr, size, DMA_TO_DEVICE);
}

void ib_smi_synchronize_rcu_tasks(void)
{
	synchronize_rcu_tasks();
}

/* Of those whose readers take no memory barrier. */
int ib_smi_init_srcu(struct srcu_struct *srcu, const char *name, struct lock_class_key *key)
{
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	return __init_srcu_struct_fast(srcu, name, key);
#else
	return init_srcu_struct_fast(srcu);
#endif
}

/* What it returns is for ib_smi_srcu_read_unlock(). */
unsigned long ib_smi_srcu_read_lock(struct srcu_struct *srcu)
{
	return (unsigned long)srcu_read_lock_fast(srcu);
}

void ib_smi_srcu_read_unlock(struct srcu_struct *srcu, unsigned long section)
{
	srcu_read_unlock_fast(srcu, (struct srcu_ctr __percpu *)section);
}

unsigned long ib_smi_lock_irqsave(spinlock_t *lock)
{
	unsigned long flags;

	spin_lock_irqsave(lock, flags);
	return flags;
}

void ib_smi_unlock_irqrestore(spinlock_t *lock, unsigned long flags)
{
	spin_unlock_irqrestore(lock, flags);
}
