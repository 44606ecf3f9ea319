#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the heap sampler costs the worst program: a loop of malloc() and free().
#
#     heap.sh BUILD [ROUNDS]
#
# Prints the CPU ns of a pair of calls without the sampler, with it while nobody listens, and
# with it while otelprof does; medians of the rounds, and ratios to the first. Needs root.
set -eu
build=$1
rounds=${2:-5}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
root=$(cd "$(dirname "$0")/../.." && pwd)
sampler=$(cd "$build" && pwd)/lib/preload/heap/libotelprof-heap.so
otelprof=$build/examples/otelprof/otelprof
cc -O2 -o "$dir/malloc_loop" "$root/tests/live/kinds/heap/malloc_loop.c"

# The last line: by then whoever listens does.
last() { tail -n 1; }

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

echo "| bytes | none, ns | nobody listens | somebody does |"
echo "|---|---|---|---|"
for bytes in 16 64 1024 65536; do
	for _ in $(seq "$rounds"); do
		"$dir/malloc_loop" "$bytes" 3 | last >>"$dir/none.$bytes"
		LD_PRELOAD=$sampler "$dir/malloc_loop" "$bytes" 3 | last >>"$dir/off.$bytes"
		LD_PRELOAD=$sampler "$dir/malloc_loop" "$bytes" 7 >"$dir/on" &
		loop=$!
		"$otelprof" record --kinds heap -p $loop -d 4 -o "$dir/heap.otlp" 2>"$dir/log" ||
			cat "$dir/log" >&2
		wait $loop
		sed -n 5p "$dir/on" >>"$dir/on.$bytes"
	done
	none=$(median "$dir/none.$bytes")
	off=$(median "$dir/off.$bytes")
	on=$(median "$dir/on.$bytes")
	awk -v b="$bytes" -v n="$none" -v o="$off" -v l="$on" 'BEGIN {
		printf "| %s | %.2f | %.2f: %.3f | %.2f: %.3f |\n", b, n, o, o / n, l, l / n }'
done
