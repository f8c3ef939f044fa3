# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What every script shares: where things are, and how to talk to the user. Sourced, never run.

set -euo pipefail

# The checkout, and the folder that keeps everything too large to build twice.
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CACHE=${IB_SMI_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/ib_smi}
SYSROOT=$CACHE/sysroot
LOGS=$CACHE/logs

# Prints a progress line with the time since the outermost script began.
export IB_SMI_T0=${IB_SMI_T0:-$(date +%s)}
say() {
	local t=$(($(date +%s) - IB_SMI_T0))
	printf '[%2d:%02d] %s\n' $((t / 60)) $((t % 60)) "$*" >&2
}

die() {
	say "error: $*"
	exit 1
}

need_root() {
	[ "$(id -u)" = 0 ] || die "this sets up a sysroot and boots guests, which needs root: try 'sudo $*'"
}

# need_space DIR MEGABYTES
need_space() {
	local free
	free=$(df -Pm "$1" | awk 'NR == 2 { print $4 }')
	[ "$free" -ge "$2" ] ||
		die "$1 has $free MB free, but $2 MB are needed: free some, or point IB_SMI_CACHE at a larger disk"
}

# Runs a command with its output in a log, which is shown when the command fails.
# logged NAME COMMAND...
logged() {
	local log=$LOGS/$1.log
	shift
	mkdir -p "$LOGS"
	if ! "$@" >"$log" 2>&1 </dev/null; then
		tail -n 25 "$log" >&2
		die "'$1' failed, its whole output is in $log"
	fi
}

# Takes a lock for the rest of this script, so that two runs do not build the same thing at once.
# lock NAME
lock() {
	mkdir -p "$CACHE"
	exec {LOCK_FD}>"$CACHE/.$1.lock"
	flock -n "$LOCK_FD" || {
		say "another run is setting up the $1, waiting for it"
		flock "$LOCK_FD"
	}
}
