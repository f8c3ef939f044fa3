# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What every script shares: where things are, and how to talk to the user. Sourced, never run.

set -euo pipefail

# Root's commands are found by who has become root and kept the PATH of a user.
PATH=$PATH:/usr/sbin:/sbin

# A script that another one of ours started dies with it, and so does what it started in turn. The
# Makefile and scripts/guest ask for the same.
if [ -n "${IB_SMI_LEASH:-}" ] && [ "$IB_SMI_LEASH" != $$ ]; then
	IB_SMI_LEASH=$$ exec setpriv --pdeathsig TERM "$0" "$@"
fi
export IB_SMI_LEASH=$$

# The checkout, and the folder that keeps everything too large to build twice.
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CACHE=${IB_SMI_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/ib_smi}
# shellcheck disable=SC2034
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

# Prints the comment at the top of a script, which is its help.
usage() {
	sed -n '4,/^$/s/^# \{0,1\}//p' "$0"
}
case ${1:-} in
# What scripts/guest takes, it knows better itself.
-h | --help)
	[ "${0##*/}" = guest ] || {
		usage
		exit 0
	}
	;;
esac

# Prints the value of a line `NAME=value` in scripts/pins.
pin() {
	sed -n "s/^$1=//p" "$TOP/scripts/pins"
}

# Prints the names of Debian's kernels, and of all kernels: with those that are built of scripts/configs.
stock_kernels() {
	sed -n 's/^\(stock\(-[^=]*\)*\)=.*/\1/p' "$TOP/scripts/pins"
}
kernels() {
	stock_kernels
	basename -s .config "$TOP"/scripts/configs/*.config
}

# Ends with a message unless there is such a kernel: known_kernel NAME
known_kernel() {
	local all
	all=$(kernels)
	grep -qxF -e "$1" <<<"$all" || die "unknown kernel '$1': there are $(paste -sd' ' <<<"$all")"
}

# Prints the release that is wanted of a kernel: Debian's own, or the one whose source it is built from.
release_of() {
	case $1 in
	stock*) pin "$1" ;;
	*) pin stock ;;
	esac
}

# Prints the series of a release: 7.3 for 7.3.4+deb13-amd64.
series_of() {
	cut -d. -f1,2 <<<"$1"
}

# Prints the folder in the cache of a kernel's source, with its build folder in it.
linux_of() {
	echo "linux-$(series_of "$(release_of "$1")")"
}

# Options of a guest of one processor whose clock counts instructions. The processor has no fast string instructions,
# of which the clock would count each byte.
# shellcheck disable=SC2034 # for who includes this
COUNTING=(--icount --qemu=-cpu "--qemu=max,-erms,-fsrm,-fsrs,-fzrm")

# Ends with a message if there are arguments: no_arguments "$@"
no_arguments() {
	[ $# = 0 ] || die "scripts/${0##*/} takes no arguments"
}

# need_root COMMAND...: what to run as root, for the message.
need_root() {
	[ "$(id -u)" = 0 ] || die "this needs root: try 'sudo $*'"
}

# need_space DIR MEGABYTES
need_space() {
	local free
	mkdir -p "$1"
	free=$(df -Pm "$1" | awk 'NR == 2 { print $4 }')
	[ "$free" -ge "$2" ] ||
		die "$1 has $free MB free, but $2 MB are needed: free some, or point IB_SMI_CACHE at a larger disk"
}

# Says every half minute what a log's last line is, for as long as this script lives. It waits by
# reading a pipe that stays empty, because a sleep would outlive it.
heartbeat() {
	local quiet seconds=0
	exec {quiet}<> <(:)
	while ! read -rt 1 -u "$quiet" && kill -0 $$ 2>/dev/null; do
		seconds=$((seconds + 1))
		[ $((seconds % 30)) != 0 ] || say "  … $(tail -n 1 "$1" | tr -d '\r' | cut -c1-70)"
	done
}

# Runs a command whose mounts and processes are gone when it ends, or when this script does.
contained() {
	setpriv --pdeathsig KILL \
		unshare --mount --pid --fork --kill-child --mount-proc --propagation private "$@"
}

# Runs a command with its output in a log, which is shown when the command fails.
# logged NAME COMMAND...
logged() {
	local log=$LOGS/$1.log status=0 beat
	shift
	mkdir -p "$LOGS"
	: >"$log"
	heartbeat "$log" &
	beat=$!
	"$@" >"$log" 2>&1 </dev/null || status=$?
	kill "$beat" 2>/dev/null || true
	wait "$beat" 2>/dev/null || true
	if [ "$status" != 0 ]; then
		tail -n 25 "$log" >&2
		explain "$log"
		die "'$1' failed with status $status, its whole output is in $log"
	fi
}

# Says in plain words what a failed command's log means, where that is known.
explain() {
	if grep -qE 'Temporary failure resolving|Could not resolve|Could not connect|Unable to connect|Connection (refused|timed out|failed)|Network is unreachable' "$1"; then
		say "the Debian archive cannot be reached: check the network and the proxy settings, or name a mirror in IB_SMI_MIRROR"
	elif grep -qE 'NO_PUBKEY|no longer valid|Release file .* (is not valid yet|expired)' "$1"; then
		say "the archive's signature cannot be checked: is the clock right, and the package debian-archive-keyring recent enough?"
	elif grep -qE 'No space left on device' "$1"; then
		say "the disk is full: free some space, or point IB_SMI_CACHE at a larger disk"
	fi
}

# Prints the word for make that chooses the compiler of a kernel and of its modules: toolchain KERNEL
toolchain() {
	case $1 in
	debug | kcsan) echo LLVM=1 ;;
	*) echo LLVM= ;;
	esac
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
