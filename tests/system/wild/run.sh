#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Profile real programs under load, one at a time, and say how many of their stacks end
# early; the OpenTelemetry eBPF profiler beside. See docs/wild.md.
#
#     sh tests/system/wild/run.sh [OPTION...] [PROGRAM...]
#
#     --otelprof FILE  the program to test (default: the one of build-tests/release)
#     --peer FILE      the peer (default: built by tests/bench/build-peer.sh)
#     --no-peer        this project's profiler alone
#     --seconds N      of each program, and of its CPU time (default 8)
#     --hz N           samples a second and CPU (default 99)
#     --why            list where stacks end early or oddly: reason, file, frames
#     --list           the programs that are known
#     --dir DIR        for inputs and recordings (default: OTELPROF_CACHE/wild)
#
# Needs root, cgroup v2, the packages of "examples/install.sh wild"; programs that are not
# there are skipped. Nothing of what it starts outlives it.
set -eu

cd "$(dirname "$0")/../../.."
otelprof=
peer=
no_peer=
rest=
while [ $# -gt 0 ]; do
	case $1 in
	--otelprof | --peer | --seconds | --hz | --dir)
		[ $# -gt 1 ] || {
			echo "run.sh: $1 wants a value" >&2
			exit 2
		}
		case $1 in
		--otelprof) otelprof=$2 ;;
		--peer) peer=$2 ;;
		*) rest="$rest $1 $2" ;;
		esac
		shift
		;;
	--no-peer) no_peer=yes ;;
	--why | --list) rest="$rest $1" ;;
	-*)
		sed -n '3,18s/^# \{0,1\}//p' "$0"
		exit 2
		;;
	*) rest="$rest $1" ;;
	esac
	shift
done

if [ -z "$otelprof" ]; then
	build=${OTELPROF_BUILD:-build-tests}/release
	[ -f "$build/build.ninja" ] || meson setup "$build" --buildtype=release >/dev/null
	ninja -C "$build" >/dev/null
	otelprof=$build/examples/otelprof/otelprof
fi
tools=
if [ -z "$no_peer" ]; then
	tools=$(sh tests/bench/build-peer.sh) || echo "no peer: it does not build" >&2
fi
# shellcheck disable=SC2086
exec python3 tests/system/wild/wild.py --otelprof "$otelprof" ${tools:+--tools "$tools"} \
	${peer:+--peer "$peer"} $rest
