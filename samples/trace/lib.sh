# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the recipes share: a tracing instance of their own, in which nothing of anybody else's is touched,
# and which is gone when they end; and what to do when something is missing. Sourced, never run.

set -euo pipefail
# Root's commands are found by who has become root and kept the PATH of a user.
PATH=$PATH:/usr/sbin:/sbin
# So that what has been set up is undone, at whatever point somebody ends the recipe.
trap 'exit 130' INT
trap 'exit 143' TERM

NAME=$(basename "$0")
# The status of a recipe that cannot work. Otherwise it is the command's.
BROKEN=125

# The functions of ib_core that decide about directed-route SMPs, by their original names.
# shellcheck disable=SC2034
ORIGINALS=(smi_handle_dr_smp_recv smi_handle_dr_smp_send smi_check_forward_dr_smp smi_get_fwd_port
	opa_smi_handle_dr_smp_recv opa_smi_handle_dr_smp_send opa_smi_check_forward_dr_smp opa_smi_get_fwd_port
	agent_send_response)

# What stands in for them while ib_smi is loaded, by names that can be traced.
# shellcheck disable=SC2034
REPLACEMENTS=(ib_smi_handle_dr_smp_recv ib_smi_handle_dr_smp_send ib_smi_check_forward_dr_smp
	ib_smi_get_fwd_port ib_smi_opa_handle_dr_smp_recv ib_smi_opa_handle_dr_smp_send
	ib_smi_opa_check_forward_dr_smp ib_smi_opa_get_fwd_port ib_smi_agent_send_response)

COMMAND=()
# The command's status, with which the recipe ends.
STATUS=0
# Pairs of a file and a text: writing them, the last one first, undoes what was done.
UNDO=()
INSTANCE=

die() {
	echo "$NAME: error: $*" >&2
	exit $BROKEN
}

# Prints the comment at the top of the recipe, which is its help.
usage() {
	sed -n '4,/^$/s/^# \{0,1\}//p' "$0"
	exit 0
}

# Splits the command line: what is before `--` goes to ARGS, what is behind it to COMMAND.
# arguments MOST "$@", where MOST is how many arguments the recipe takes before `--`.
arguments() {
	local most=$1
	shift
	ARGS=()
	while [ $# -gt 0 ]; do
		case $1 in
		--)
			shift
			COMMAND=("$@")
			break
			;;
		-h | --help) usage ;;
		*) ARGS+=("$1") ;;
		esac
		shift
	done
	[ "${#ARGS[@]}" -le "$most" ] || die "too many arguments, see $NAME --help: a command stands behind '--'"
	[ "${#COMMAND[@]}" = 0 ] || command -v "${COMMAND[0]}" >/dev/null || die "there is no command '${COMMAND[0]}'"
	[ "$(id -u)" = 0 ] || die "this needs root"
	T=$(tracefs)
}

# Prints where tracefs is.
tracefs() {
	local dir
	for dir in ${TRACEFS:-/sys/kernel/tracing /sys/kernel/debug/tracing}; do
		[ ! -e "$dir/trace" ] || {
			echo "$dir"
			return
		}
	done
	die "there is no tracefs: try 'mount -t tracefs tracefs /sys/kernel/tracing'; without CONFIG_FTRACE the kernel has none"
}

loaded() {
	[ -d "$T/events/ib_smi" ]
}

# The events of ib_smi are there while it is loaded, and no longer.
need_ib_smi() {
	loaded || die "there are no events ib_smi:*, because ib_smi is not loaded: load it with scripts/load. Without it," \
		"functions, graph, kprobes, fprobes, tid, record, perf-script and bpf (slowest, latency) work"
}

# The events of ib_mad are those of ib_core.
need_ib_mad() {
	[ -d "$T/events/ib_mad" ] || die "there are no events ib_mad:*: load ib_core with 'modprobe ib_core'"
}

# need_tool COMMAND PACKAGE
need_tool() {
	command -v "$1" >/dev/null || die "$1 is not installed: it is in the package $2"
}

# Writes a text to a file of tracefs, and remembers what undoes it: put FILE TEXT [UNDO [WHY IT MAY FAIL]]
put() {
	# Before it is done, so that nothing is left if the recipe is ended in between.
	[ -z "${3:-}" ] || UNDO+=("$1" "$3")
	if ! printf '%s\n' "$2" 2>/dev/null >>"$1"; then
		grep -hF -B 1 -A 1 "Command: $2" ${INSTANCE:+"$INSTANCE/error_log"} "$T/error_log" 2>/dev/null |
			tail -n 3 >&2 || true
		die "the kernel does not take '$2' in $1${4:+: $4}"
	fi
}

# Sets a trigger of an event in the instance: trigger EVENT TEXT
trigger() {
	[ -e "$INSTANCE/events/$1/trigger" ] || die "there is no event $1"
	put "$INSTANCE/events/$1/trigger" "$2" "!$2"
}

# Sets a filter of every event of a group: filter GROUP TEXT. The group's own file takes any text.
filter() {
	local file
	for file in "$INSTANCE/events/$1"/*/filter; do
		put "$file" "$2" "" "the fields are in ${file%/*}/format"
	done
}

# Turns events on in the instance: enable GROUP[/EVENT]
enable() {
	put "$INSTANCE/events/$1/enable" 1 0
}

# Makes a dynamic event: dynamic TYPE GROUP/EVENT DEFINITION
dynamic() {
	put "$T/dynamic_events" "$1:$2 $3" "-:$2" \
		"is ib_core loaded ('modprobe ib_core'), and can the kernel do it (CONFIG_KPROBE_EVENTS, CONFIG_FPROBE_EVENTS, CONFIG_SYNTH_EVENTS)?"
}

# Makes the instance. What it traces is read with `show`.
instance() {
	INSTANCE=$T/instances/$NAME.$$
	trap cleanup EXIT
	# It may be there though mkdir was killed.
	mkdir "$INSTANCE" 2>/dev/null ||
		die "cannot make a tracing instance in $T/instances: is the kernel locked down, or out of memory?"
	# A clock that is the same on all CPUs, or a hop may be told before the one that it follows.
	put "$INSTANCE/trace_clock" mono
}

# Lets functions be traced, those of ib_smi too while it is loaded: trace_functions TRACER FUNCTION...
trace_functions() {
	local tracer=$1 function
	shift
	grep -qw "$tracer" "$T/available_tracers" ||
		die "this kernel has no tracer '$tracer' (CONFIG_FUNCTION_TRACER, CONFIG_FUNCTION_GRAPH_TRACER): the recipes with events and kprobes may work"
	for function in "$@"; do
		put "$INSTANCE/set_ftrace_filter" "$function" "" \
			"$function cannot be traced: is ib_core loaded ('modprobe ib_core')?"
	done
	put "$INSTANCE/current_tracer" "$tracer" nop
}

# Sets an option of the instance if this kernel has it: option NAME
option() {
	[ ! -e "$INSTANCE/options/$1" ] || put "$INSTANCE/options/$1" 1
}

# Runs the command, whose output goes to stderr; without one, waits for Ctrl-C.
run() {
	local waiting
	trap : INT TERM
	if [ "${#COMMAND[@]}" -gt 0 ]; then
		"${COMMAND[@]}" >&2 || STATUS=$?
	else
		echo "$NAME: tracing until Ctrl-C" >&2
		sleep infinity &
		waiting=$!
		wait $waiting || true
		kill $waiting 2>/dev/null || true
	fi
	trap 'exit 130' INT
	trap 'exit 143' TERM
	[ -z "$INSTANCE" ] || put "$INSTANCE/tracing_on" 0
}

# Prints what was traced, without the comments. Names of programs are any bytes.
show() {
	LC_ALL=C grep -av '^#' "$INSTANCE/trace" || echo "$NAME: nothing was traced" >&2
}

# Ends with the command's status.
finish() {
	exit "$STATUS"
}

# Makes a folder for a tool that runs the command by itself, and WORDS, the command for it. Tools split it at
# blanks, or do not pass on its status: hence a script.
for_a_tool() {
	FOLDER=
	trap '[ -z "$FOLDER" ] || rm -rf "$FOLDER"' EXIT
	# Out of reach of a Ctrl-C, or it may be ended before it has said what it has made.
	FOLDER=$(setsid -w mktemp -d)
	WORDS=()
	[ "${#COMMAND[@]}" -gt 0 ] || return 0
	{
		printf '%q ' "${COMMAND[@]}"
		printf '>&2\necho $? >%q\n' "$FOLDER/status"
	} >"$FOLDER/command"
	# shellcheck disable=SC2034
	WORDS=(/bin/bash "$FOLDER/command")
}

# Runs a tool, and takes over the status of the command that it has run: tool OUTPUT NAME ARGUMENT...
tool() {
	local output=$1 status=0
	shift
	trap : INT TERM
	"$@" >"$output" || status=$?
	trap 'exit 130' INT
	trap 'exit 143' TERM
	if [ -e "$FOLDER/status" ]; then
		STATUS=$(cat "$FOLDER/status")
	elif [ "${#COMMAND[@]}" -gt 0 ] && [ "$status" != 0 ]; then
		cat "$output" >&2
		die "$1 has failed, see above"
	fi
}

cleanup() {
	local n
	set +e
	trap '' INT TERM
	for ((n = ${#UNDO[@]} - 2; n >= 0; n -= 2)); do
		printf '%s\n' "${UNDO[n + 1]}" 2>/dev/null >>"${UNDO[n]}"
	done
	[ ! -d "$INSTANCE" ] || rmdir "$INSTANCE"
}

# Prints the numbers and names of a field of the events, `NUMBER NAME` a line: names point|format|verdict|rule|reason
names() {
	sed -n "s/.*__print_symbolic(REC->$1,\([^)]*\)).*/\1/p" "$T/events/ib_smi/ib_smi_discard/format" |
		sed 's/}/\n/g' | sed -n 's/.*{ *\([0-9]*\), "\(.*\)".*/\1 \2/p'
}

# Puts in the names for the numbers of a histogram's keys.
named() {
	awk -v fields="point format verdict rule reason" '
		FILENAME != "-" { names[$1 " " $2] = $3; next }
		{
			n = split(fields, field, " ")
			for (i = 1; i <= n; i++)
				if (match($0, "[{, ]" field[i] ": +[0-9]+")) {
					found = substr($0, RSTART, RLENGTH)
					number = found
					sub(/.*: +/, "", number)
					name = names[field[i] " " number]
					sub(/[0-9]+$/, number " " name, found)
					$0 = substr($0, 1, RSTART - 1) found substr($0, RSTART + RLENGTH)
				}
			print
		}' <(for field in point format verdict rule reason; do names $field | sed "s/^/$field /"; done) -
}

# Prints 64 bits with their bytes the other way round: the events of ib_mad keep network byte order.
swapped() {
	local digits
	digits=$(printf '%016x' $(($1)))
	echo "0x${digits:14:2}${digits:12:2}${digits:10:2}${digits:8:2}${digits:6:2}${digits:4:2}${digits:2:2}${digits:0:2}"
}

# Puts in the TID where a tool cannot evaluate the text of ib_mad's events, which calls be64_to_cpu(), and
# prints the fields as they are.
readable() {
	local line
	while IFS= read -r line; do
		if [[ $line =~ ^(.*)'[FAILED TO PARSE]'(.*[ r](tid=)([0-9]+).*)$ ]]; then
			line="${BASH_REMATCH[1]}tid $(swapped "${BASH_REMATCH[4]}") raw:${BASH_REMATCH[2]}"
		fi
		printf '%s\n' "$line"
	done
}

# Makes numbers of the arrays of bytes that stand for numbers in network byte order.
network_order() {
	awk '{
		while (match($0, /(tid|attr|drslid|drdlid)=\{[^}]*\}/)) {
			found = substr($0, RSTART, RLENGTH)
			name = substr(found, 1, index(found, "=") - 1)
			n = split(substr(found, length(name) + 3, length(found) - length(name) - 3), byte, ",")
			digits = ""
			for (i = 1; i <= n; i++) {
				sub(/^0x/, "", byte[i])
				digits = digits (length(byte[i]) < 2 ? "0" : "") byte[i]
			}
			$0 = substr($0, 1, RSTART - 1) name "=0x" digits substr($0, RSTART + RLENGTH)
		}
		print
	}'
}
