/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inline functions and macros of the RDMA core that Rust cannot call, as functions.
 */
#ifndef _IB_SMI_HELPERS_H
#define _IB_SMI_HELPERS_H

#include <rdma/ib_verbs.h>

u64 ib_smi_dma_map_single(struct ib_device *dev, void *addr, size_t size,
			  enum dma_data_direction dir);
int ib_smi_dma_mapping_error(struct ib_device *dev, u64 addr);
void ib_smi_dma_unmap_single(struct ib_device *dev, u64 addr, size_t size,
			     enum dma_data_direction dir);
void ib_smi_dma_sync_for_device(struct ib_device *dev, u64 addr, size_t size);
unsigned long ib_smi_lock_irqsave(spinlock_t *lock);
void ib_smi_unlock_irqrestore(spinlock_t *lock, unsigned long flags);

#endif /* _IB_SMI_HELPERS_H */
