/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The functions that stand in for ib_core's, and their bodies in Rust.
 */
#ifndef _IB_SMI_ENTRY_H
#define _IB_SMI_ENTRY_H

#include "agent.h"
#include "opa_smi.h"
#include "smi.h"

enum smi_action ib_smi_handle_dr_smp_recv(struct ib_smp *smp, bool is_switch, u32 port_num,
					  int phys_port_cnt);
enum smi_action ib_smi_handle_dr_smp_send(struct ib_smp *smp, bool is_switch, u32 port_num);
enum smi_forward_action ib_smi_check_forward_dr_smp(struct ib_smp *smp);
int ib_smi_get_fwd_port(struct ib_smp *smp);
enum smi_action ib_smi_opa_handle_dr_smp_recv(struct opa_smp *smp, bool is_switch, u32 port_num,
					      int phys_port_cnt);
enum smi_action ib_smi_opa_handle_dr_smp_send(struct opa_smp *smp, bool is_switch, u32 port_num);
enum smi_forward_action ib_smi_opa_check_forward_dr_smp(struct opa_smp *smp);
int ib_smi_opa_get_fwd_port(struct opa_smp *smp);
void ib_smi_agent_send_response(const struct ib_mad_hdr *mad, const struct ib_grh *grh,
				const struct ib_wc *wc, const struct ib_device *device,
				int port_num, int qpn, size_t mad_len, bool opa);

void ib_smi_local_completions(struct work_struct *work);

enum smi_action rust_handle_dr_smp_recv(struct ib_smp *smp, bool is_switch, u32 port_num,
					int phys_port_cnt);
enum smi_action rust_handle_dr_smp_send(struct ib_smp *smp, bool is_switch, u32 port_num);
enum smi_forward_action rust_check_forward_dr_smp(struct ib_smp *smp);
int rust_get_fwd_port(struct ib_smp *smp);
enum smi_action rust_opa_handle_dr_smp_recv(struct opa_smp *smp, bool is_switch, u32 port_num,
					    int phys_port_cnt);
enum smi_action rust_opa_handle_dr_smp_send(struct opa_smp *smp, bool is_switch, u32 port_num);
enum smi_forward_action rust_opa_check_forward_dr_smp(struct opa_smp *smp);
int rust_opa_get_fwd_port(struct opa_smp *smp);
void rust_agent_send_response(const struct ib_mad_hdr *mad, const struct ib_grh *grh,
			      const struct ib_wc *wc, const struct ib_device *device,
			      int port_num, int qpn, size_t mad_len, bool opa);
void rust_local_completions(struct work_struct *work);

#endif /* _IB_SMI_ENTRY_H */
