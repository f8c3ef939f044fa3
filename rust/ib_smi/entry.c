// SPDX-License-Identifier: GPL-2.0
/*
 * Where ib_core's calls arrive. rustc does not emit `__fentry__`, without which neither the function
 * tracer nor a kprobe event nor BPF can attach to a function; the C compiler does. And each function
 * stays on the stack while its body runs, which is how livepatch knows that a task is in there (see
 * Kbuild).
 */

#include "entry.h"

enum smi_action ib_smi_handle_dr_smp_recv(struct ib_smp *smp, bool is_switch, u32 port_num,
					  int phys_port_cnt)
{
	return rust_handle_dr_smp_recv(smp, is_switch, port_num, phys_port_cnt);
}

enum smi_action ib_smi_handle_dr_smp_send(struct ib_smp *smp, bool is_switch, u32 port_num)
{
	return rust_handle_dr_smp_send(smp, is_switch, port_num);
}

enum smi_forward_action ib_smi_check_forward_dr_smp(struct ib_smp *smp)
{
	return rust_check_forward_dr_smp(smp);
}

int ib_smi_get_fwd_port(struct ib_smp *smp)
{
	return rust_get_fwd_port(smp);
}

enum smi_action ib_smi_opa_handle_dr_smp_recv(struct opa_smp *smp, bool is_switch, u32 port_num,
					      int phys_port_cnt)
{
	return rust_opa_handle_dr_smp_recv(smp, is_switch, port_num, phys_port_cnt);
}

enum smi_action ib_smi_opa_handle_dr_smp_send(struct opa_smp *smp, bool is_switch, u32 port_num)
{
	return rust_opa_handle_dr_smp_send(smp, is_switch, port_num);
}

enum smi_forward_action ib_smi_opa_check_forward_dr_smp(struct opa_smp *smp)
{
	return rust_opa_check_forward_dr_smp(smp);
}

int ib_smi_opa_get_fwd_port(struct opa_smp *smp)
{
	return rust_opa_get_fwd_port(smp);
}

void ib_smi_agent_send_response(const struct ib_mad_hdr *mad, const struct ib_grh *grh,
				const struct ib_wc *wc, const struct ib_device *device,
				int port_num, int qpn, size_t mad_len, bool opa)
{
	rust_agent_send_response(mad, grh, wc, device, port_num, qpn, mad_len, opa);
}

void ib_smi_local_completions(struct work_struct *work)
{
	rust_local_completions(work);
}
