/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One event a decision point, and one for every discard. All have the same fields, so that one
 * filter, one histogram or one script serves them all.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM ib_smi

#if !defined(_TRACE_IB_SMI_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_IB_SMI_H

#include <linux/tracepoint.h>
#include <rdma/ib_verbs.h>

#ifndef _IB_SMI_HOP
#define _IB_SMI_HOP
/*
 * What was decided about an SMP at one hop. Of the SMP, it has what it was on arrival, in host byte
 * order.
 *
 * @device: the node, or NULL if it is unknown
 * @path: the elements of the path that the SMP travels, Initial Path or Return Path, from element 1
 * @port: the port of the MAD agent: 0 on a switch
 * @lid: the LID that it is routed to, 0 if it is not
 * @status: without the D bit, which is @returning
 * @ingress: the port that the SMP came in by, 0 if the node itself made it
 * @egress: the port that it leaves by, 0 if it does not leave or leaves by LID
 * @hop_before, @hop_after: the Hop Pointer, and as it leaves or is handed up
 * @path_len: elements of @path, 0 if Hop Count is above 63
 * @point, @format, @verdict, @rule, @reason: numbers, see below
 */
struct ib_smi_hop {
	const struct ib_device *device;
	const u8 *path;
	u64 tid;
	u32 port;
	u32 lid;
	u32 attr_mod;
	u32 dr_slid;
	u32 dr_dlid;
	u16 attr_id;
	u16 status;
	u8 mgmt_class;
	u8 method;
	u8 returning;
	u8 ingress;
	u8 egress;
	u8 hop_before;
	u8 hop_after;
	u8 hop_cnt;
	u8 path_len;
	u8 is_switch;
	u8 point;
	u8 format;
	u8 verdict;
	u8 rule;
	u8 reason;
};
#endif

/* The numbers are those of `Point`, `Format`, `Verdict`, `Rule`, `Reason` and `Obstacle` in Rust. */
#define show_ib_smi_point(number) __print_symbolic(number,		\
	{ 0, "recv" }, { 1, "forward" }, { 2, "reply" }, { 3, "send" },	\
	{ 4, "local" })

#define show_ib_smi_format(number) __print_symbolic(number,		\
	{ 0, "ib" }, { 1, "opa" })

#define show_ib_smi_verdict(number) __print_symbolic(number,		\
	{ 0, "local" }, { 1, "forward" }, { 2, "route" }, { 3, "discard" })

#define show_ib_smi_rule(number) __print_symbolic(number,		\
	{ 0, "-" }, { 1, "C14-6" },					\
	{ 2, "C14-9:1" }, { 3, "C14-9:2" }, { 4, "C14-9:3" },		\
	{ 5, "C14-9:4" }, { 6, "C14-9:5" }, { 7, "C14-10.1.1" },	\
	{ 8, "C14-13:1" }, { 9, "C14-13:2" }, { 10, "C14-13:3" },	\
	{ 11, "C14-13:4" }, { 12, "C14-13:5" }, { 13, "LID" })

#define show_ib_smi_reason(number) __print_symbolic(number,		\
	{ 0, "-" }, { 1, "hop-count" }, { 2, "hop-pointer" },		\
	{ 3, "no-such-port" }, { 4, "port-zero" },			\
	{ 5, "ca-in-transit" }, { 6, "not-from-wire" },			\
	{ 7, "wrong-port" }, { 8, "nowhere-to-go" },			\
	{ 9, "not-returning" }, { 32, "in-transition" },		\
	{ 33, "no-sma" }, { 34, "not-by-lid" }, { 35, "no-agent" },	\
	{ 36, "queue-full" }, { 37, "no-memory" }, { 38, "post-failed" },	\
	{ 39, "not-asked" }, { 40, "send-failed" }, { 41, "no-listener" }, \
	{ 42, "too-short" })

DECLARE_EVENT_CLASS(ib_smi_hop,
	TP_PROTO(const struct ib_smi_hop *hop),
	TP_ARGS(hop),
	TP_STRUCT__entry(
		/* Not dev_name(), which may be freed when the device is renamed. */
		__string(device, hop->device ? hop->device->name : "-")
		__field(u64, tid)
		__field(u32, port)
		__field(u32, attr_mod)
		__field(u32, lid)
		__field(u32, dr_slid)
		__field(u32, dr_dlid)
		__field(u16, attr_id)
		__field(u16, status)
		__field(u8, mgmt_class)
		__field(u8, is_switch)
		__field(u8, returning)
		__field(u8, method)
		__field(u8, ingress)
		__field(u8, egress)
		__field(u8, hop_before)
		__field(u8, hop_after)
		__field(u8, hop_cnt)
		__field(u8, point)
		__field(u8, format)
		__field(u8, verdict)
		__field(u8, rule)
		__field(u8, reason)
		__dynamic_array(u8, path, hop->path_len)
	),
	TP_fast_assign(
		__assign_str(device);
		__entry->tid = hop->tid;
		__entry->port = hop->port;
		__entry->attr_mod = hop->attr_mod;
		__entry->lid = hop->lid;
		__entry->dr_slid = hop->dr_slid;
		__entry->dr_dlid = hop->dr_dlid;
		__entry->attr_id = hop->attr_id;
		__entry->status = hop->status;
		__entry->mgmt_class = hop->mgmt_class;
		__entry->is_switch = hop->is_switch;
		__entry->returning = hop->returning;
		__entry->method = hop->method;
		__entry->ingress = hop->ingress;
		__entry->egress = hop->egress;
		__entry->hop_before = hop->hop_before;
		__entry->hop_after = hop->hop_after;
		__entry->hop_cnt = hop->hop_cnt;
		__entry->point = hop->point;
		__entry->format = hop->format;
		__entry->verdict = hop->verdict;
		__entry->rule = hop->rule;
		__entry->reason = hop->reason;
		memcpy(__get_dynamic_array(path), hop->path, hop->path_len);
	),
	TP_printk("%s port %u %s %s in=%u out=%u hop=%u,%u/%u verdict=%s lid=0x%x rule=%s reason=%s path=%s method=0x%02x attr=0x%04x mod=0x%x status=0x%x tid=0x%llx drslid=0x%04x drdlid=0x%04x class=0x%02x point=%s format=%s",
		__get_str(device), __entry->port,
		__entry->is_switch ? "switch" : "ca",
		__entry->returning ? "response" : "request",
		__entry->ingress, __entry->egress,
		__entry->hop_before, __entry->hop_after, __entry->hop_cnt,
		show_ib_smi_verdict(__entry->verdict), __entry->lid,
		show_ib_smi_rule(__entry->rule),
		show_ib_smi_reason(__entry->reason),
		__print_array(__get_dynamic_array(path),
			      __get_dynamic_array_len(path), 1),
		__entry->method, __entry->attr_id, __entry->attr_mod, __entry->status,
		__entry->tid, __entry->dr_slid, __entry->dr_dlid,
		__entry->mgmt_class, show_ib_smi_point(__entry->point),
		show_ib_smi_format(__entry->format))
);

/* An SMP came in from the wire. */
DEFINE_EVENT(ib_smi_hop, ib_smi_recv,
	TP_PROTO(const struct ib_smi_hop *hop), TP_ARGS(hop));

/* A switch passes an SMP on. */
DEFINE_EVENT(ib_smi_hop, ib_smi_forward,
	TP_PROTO(const struct ib_smi_hop *hop), TP_ARGS(hop));

/* The node's SMA answers an SMP that came in from the wire. */
DEFINE_EVENT(ib_smi_hop, ib_smi_reply,
	TP_PROTO(const struct ib_smi_hop *hop), TP_ARGS(hop));

/* The node itself sends: its SM, or any client of the MAD layer. */
DEFINE_EVENT(ib_smi_hop, ib_smi_send,
	TP_PROTO(const struct ib_smi_hop *hop), TP_ARGS(hop));

/*
 * An SMP was discarded, at any of the points above, or was lost behind it. @point says where. An
 * answer of another class that is lost here is told too, without a route.
 */
DEFINE_EVENT(ib_smi_hop, ib_smi_discard,
	TP_PROTO(const struct ib_smi_hop *hop), TP_ARGS(hop));

#endif /* _TRACE_IB_SMI_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH trace/events
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE ib_smi
#include <trace/define_trace.h>
