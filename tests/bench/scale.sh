#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the profiler costs by number: of CPUs, idle processes, execs a second, containers.
#
#     sh tests/bench/scale.sh [--quick] [--build DIR]
#
#     --quick      small numbers: to see that it works
#     --build DIR  a release build (default: build-tests/release, built if absent)
#
# Needs root; 15 minutes, and 2 GiB for 10,000 processes.
set -eu

cd "$(dirname "$0")/../.."
build=$PWD/build-tests/release
options=
while [ $# -gt 0 ]; do
	case $1 in
	--quick) options="--idle 0,50,200 --churn 50 --churn-seconds 10 --churn-beside 0,50 --containers 10 --seconds 3" ;;
	--build)
		build=$2
		shift
		;;
	*)
		sed -n '3,10s/^# \{0,1\}//p' "$0"
		exit 2
		;;
	esac
	shift
done

if [ ! -f "$build/build.ninja" ]; then
	meson setup "$build" --buildtype=release >/dev/null
fi
ninja -C "$build" >/dev/null
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
${CC:-cc} -O2 -Wall -Wextra -o "$dir/crowd" tests/bench/crowd.c
# shellcheck disable=SC2086
python3 tests/bench/scale.py --build "$build" --crowd "$dir/crowd" $options
