// SPDX-License-Identifier: GPL-2.0
/*
 * What mainline makes of a directed-route SMP: the functions of smi.c in the order in which mad.c
 * and agent.c call them. The kernel's smi.c is linked in; the order is ours, after Linux 7.3:
 *
 *   compose_receive()   mad.c, handle_ib_smi() and handle_opa_smi(): receive, check_forward, then
 *                       send and check_local, or the forward through agent_send_response()
 *   compose_send()      mad.c, handle_outgoing_dr_smp(), down to the two check_local functions
 *
 * agent_send_response() is taken as if its address handle could be had on a switch (M1): it sets
 * the port of the work request and goes on into handle_outgoing_dr_smp(). The device has a
 * process_mad.
 */
#include "smi.h"
#include "opa_smi.h"

enum fate {
	FATE_DROPPED,	/* no post, no message */
	FATE_LOCAL,	/* to process_mad and the local agents */
	FATE_POSTED,	/* on the wire */
};

/* Read by src/mainline.rs. */
struct composed {
	u32 fate;
	u32 port;	/* if posted: the port of the work request */
	u32 hop_ptr;
};

static struct ib_device device = { .ops = { .process_mad = &device } };

/* An OPA DrSLID has to fit into 16 bits. */
static bool ib_slid_refused(const struct ib_smp *smp)
{
	return false;
}

static bool opa_slid_refused(const struct opa_smp *smp)
{
	return smp->route.dr.dr_slid != OPA_LID_PERMISSIVE &&
	       be32_to_cpu(smp->route.dr.dr_slid) & 0xffff0000;
}

#define COMPOSE(smp_type, pre, mid, slid, dlid, permissive)					\
static struct composed pre##_done(const struct smp_type *smp, enum fate fate, u32 port)		\
{												\
	return (struct composed){ .fate = fate, .port = port, .hop_ptr = smp->hop_ptr };	\
}												\
												\
static struct composed pre##_send(struct smp_type *smp, bool is_switch, u32 port)		\
{												\
	if ((pre##_get_smp_direction(smp) ? smp->dlid : smp->slid) == (permissive) &&		\
	    mid##handle_dr_smp_send(smp, is_switch, port) == IB_SMI_DISCARD)		\
		return pre##_done(smp, FATE_DROPPED, 0);					\
	if (pre##_slid_refused(smp))								\
		return pre##_done(smp, FATE_DROPPED, 0);					\
	if (mid##check_local_smp(smp, &device) == IB_SMI_DISCARD &&				\
	    mid##check_local_returning_smp(smp, &device) == IB_SMI_DISCARD)			\
		return pre##_done(smp, FATE_POSTED, port);					\
	return pre##_done(smp, FATE_LOCAL, 0);							\
}												\
												\
static struct composed pre##_receive(struct smp_type *smp, bool is_switch, u32 ports, u32 port)	\
{												\
	if (mid##handle_dr_smp_recv(smp, is_switch, port, ports) == IB_SMI_DISCARD)		\
		return pre##_done(smp, FATE_DROPPED, 0);					\
	switch (mid##check_forward_dr_smp(smp)) {						\
	case IB_SMI_LOCAL:									\
		break;										\
	case IB_SMI_SEND:									\
		if (mid##handle_dr_smp_send(smp, is_switch, port) == IB_SMI_DISCARD ||	\
		    mid##check_local_smp(smp, &device) == IB_SMI_DISCARD)			\
			return pre##_done(smp, FATE_DROPPED, 0);				\
		break;										\
	case IB_SMI_FORWARD:									\
		if (is_switch)									\
			return pre##_send(smp, is_switch, mid##get_fwd_port(smp));		\
		break;										\
	}											\
	return pre##_done(smp, FATE_LOCAL, 0);							\
}

COMPOSE(ib_smp, ib, smi_, dr_slid, dr_dlid, IB_LID_PERMISSIVE)
COMPOSE(opa_smp, opa, opa_smi_, route.dr.dr_slid, route.dr.dr_dlid, OPA_LID_PERMISSIVE)

/* An SMP came in through `port`. */
void compose_receive(void *smp, bool opa, bool is_switch, u32 ports, u32 port,
		     struct composed *out)
{
	*out = opa ? opa_receive(smp, is_switch, ports, port) :
		     ib_receive(smp, is_switch, ports, port);
}

/*
 * A local agent sends an SMP; `port` is that of the work request on a switch, otherwise the
 * agent's. The answer to an SMP from the wire goes the same way, `port` being the one that it came
 * in by.
 */
void compose_send(void *smp, bool opa, bool is_switch, u32 port, struct composed *out)
{
	*out = opa ? opa_send(smp, is_switch, port) : ib_send(smp, is_switch, port);
}
