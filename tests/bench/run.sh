#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measure the product against its main peer, the OpenTelemetry eBPF profiler.
#
#     sh tests/bench/run.sh [--quick] [--build DIR] [LOAD...]
#
#     --quick      one round, short: to see that it works; its figures mean little
#     --build DIR  a release build (default: build-tests/release, built if absent)
#     LOAD         native clang python, which are the default, or java node go php
#
# Needs root, Go 1.25 or later and clang-14; 15 minutes. A quiet machine gives better
# figures, but what matters are the ratios of one run: rounds of both take turns.
set -eu

cd "$(dirname "$0")/../.."
build=$PWD/build-tests/release
options=
loads=
while [ $# -gt 0 ]; do
	case $1 in
	--quick) options="--rounds 1 --warm 10 --seconds 10" ;;
	--build)
		build=$2
		shift
		;;
	native | clang | python | java | node | go | php) loads="$loads $1" ;;
	*)
		sed -n '3,11s/^# \{0,1\}//p' "$0"
		exit 2
		;;
	esac
	shift
done

tools=$(sh tests/bench/build-peer.sh)
if [ ! -f "$build/build.ninja" ]; then
	meson setup "$build" --buildtype=release >/dev/null
fi
ninja -C "$build" >/dev/null
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# shellcheck disable=SC2086
python3 tests/bench/bench.py --build "$build" --tools "$tools" --dir "$dir" $options $loads
