// SPDX-License-Identifier: GPL-2.0

#include "helpers.h"

u64 ib_smi_dma_map_single(struct ib_device *dev, void *addr, size_t size,
			  enum dma_data_direction dir)
{
	return ib_dma_map_single(dev, addr, size, dir);
}

int ib_smi_dma_mapping_error(struct ib_device *dev, u64 addr)
{
	return ib_dma_mapping_error(dev, addr);
}

void ib_smi_dma_unmap_single(struct ib_device *dev, u64 addr, size_t size,
			     enum dma_data_direction dir)
{
	ib_dma_unmap_single(dev, addr, size, dir);
}

void ib_smi_dma_sync_for_device(struct ib_device *dev, u64 addr, size_t size)
{
	ib_dma_sync_single_for_device(dev, addr, size, DMA_TO_DEVICE);
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
