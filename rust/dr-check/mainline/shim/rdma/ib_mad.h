/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kernel's ib_smi.h, opa_smi.h, smi.h and smi.c need of the rest of the kernel, for a
 * build in user space. Takes the place of the kernel's header of the same name.
 */
#ifndef SHIM_RDMA_IB_MAD_H
#define SHIM_RDMA_IB_MAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16, __be16;
typedef uint32_t u32, __be32;
typedef uint64_t u64, __be64;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define cpu_to_be16(x) ((__be16)__builtin_bswap16(x))
#define cpu_to_be32(x) ((__be32)__builtin_bswap32(x))
#else
#define cpu_to_be16(x) ((__be16)(x))
#define cpu_to_be32(x) ((__be32)(x))
#endif
#define be32_to_cpu(x) ((u32)cpu_to_be32(x))

#define IB_LID_PERMISSIVE cpu_to_be16(0xFFFF)
#define IB_MGMT_BASE_VERSION 1
#define IB_MGMT_CLASS_SUBN_LID_ROUTED 0x01
#define IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE 0x81
#define IB_MGMT_METHOD_GET 0x01

/* smi.h only asks whether the device has a process_mad. */
struct ib_device {
	struct {
		const void *process_mad;
	} ops;
};

#endif
