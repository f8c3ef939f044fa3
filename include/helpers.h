/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inline functions and macros of the RDMA core that Rust cannot call, as functions.
 */
#ifndef _IB_SMI_HELPERS_H
#define _IB_SMI_HELPERS_H

#include <linux/srcu.h>
#include <rdma/ib_verbs.h>

u32 ib_smi_first_port(const struct ib_device *device);
u32 ib_smi_last_port(const struct ib_device *device);
bool ib_smi_cap_smi(const struct ib_device *device, u32 port);
bool ib_smi_cap_opa(const struct ib_device *device, u32 port);
bool ib_smi_cap_gsi(const struct ib_device *device, u32 port);
struct ib_ah *ib_smi_create_ah(struct ib_pd *pd, u32 port, u32 dlid, u32 flags);
u64 ib_smi_dma_map(struct ib_device *device, void *addr, size_t size);
int ib_smi_dma_mapping_error(struct ib_device *device, u64 addr);
void ib_smi_dma_unmap(struct ib_device *device, u64 addr, size_t size);
void ib_smi_dma_sync(struct ib_device *device, u64 addr, size_t size);
void ib_smi_synchronize_rcu_tasks(void);
int ib_smi_init_srcu(struct srcu_struct *srcu, const char *name, struct lock_class_key *key);
unsigned long ib_smi_srcu_read_lock(struct srcu_struct *srcu);
void ib_smi_srcu_read_unlock(struct srcu_struct *srcu, unsigned long section);
unsigned long ib_smi_lock_irqsave(spinlock_t *lock);
void ib_smi_unlock_irqrestore(spinlock_t *lock, unsigned long flags);

#endif /* _IB_SMI_HELPERS_H */
