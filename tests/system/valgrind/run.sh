#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The unit tests under valgrind's memcheck, in a plain debug build: values that were never
# written, which no sanitizer of ours sees, and leaks.
#
#     sh tests/system/valgrind/run.sh OUT [TEST...]
#
# About 2 minutes on 2 cores. Prints "ok|FAIL|skip valgrind TEST: ...".
set -eu

top=$(cd "$(dirname "$0")/../../.." && pwd)
out=$1
shift
build=$out/build

# Test functions that cannot hold under valgrind.
without=
# /proc/PID/exe of such a program, and of its children, is valgrind.
without="$without test_symbols/every_function_of_nm"
without="$without test_life/exec test_life/exit test_life/fork test_life/parents-table test_life/read-late"
without="$without test_processes/before-exec test_first_samples/before-exit"
without="$without test_events/a_process_comes_changes_and_goes test_life/copy"
without="$without test_matches/fork_inherits_and_exec_changes"
# valgrind 3.19 does not know openat2(2), by which debug files and perf maps are opened.
without="$without test_symbols/debuglink test_symbols/build_id_directory"
without="$without test_processes/anon test_open/not_a_file test_open/owner test_open/swapped_mapping"
without="$without test_open/debug_owner test_new_files/ended"
# Nor the child that reads what may stall: it is made by clone3(2); nor userfaultfd(2).
without="$without test_open/no_task_outlives test_stall/child test_stall/copy test_stall/environment"
without="$without test_stall/file test_stall/gone test_stall/locked test_stall/many test_stall/memory test_stall/path"
# valgrind's own mappings come and go while these tests compare the process's.
without="$without test_processes/scan test_maps/slices"
# How soon a perf map that grows is read again follows from how long the last time took.
without="$without test_perfmap/grows_line_by_line test_perfmap/later_lines_hold"
# Bounds of time.
without="$without test_limits/sparse_records"
# What a file may be read is more with every second, and under valgrind a read takes so long that
# the limit is never met.
without="$without test_elf/sparse"
# What a thread was writing at a fork stays in the child.
without="$without test_file_thread/a_fork_while_it_writes"
# It has no trap flag.
without="$without test_interrupted/each_instruction"

if ! command -v valgrind >/dev/null; then
	echo "skip valgrind all: valgrind is not installed"
	exit 77
fi
mkdir -p "$out"
[ -f "$build/build.ninja" ] || meson setup "$build" "$top" --buildtype=debug >"$out/build.log" 2>&1 || {
	echo "FAIL valgrind build: meson setup fails, see $out/build.log"
	exit 1
}
ninja -C "$build" >"$out/build.log" 2>&1 || {
	echo "FAIL valgrind build: does not build, see $out/build.log"
	exit 1
}

# Whole tests that cannot hold. test_debugfile: openat2(2). heap_plugin: the operator new throws,
# and does not under valgrind. test_counts and test_instance_numbers: bounds of time.
# test_stack_chunks and test_work walk copies of their own stacks, of which parts were never
# written.
out_of_reach="heap_plugin test_counts test_debugfile test_instance_numbers test_stack_chunks
test_work"

# Of the suite unit those that are programs of ours: the others are scripts.
tests=$*
# shellcheck disable=SC2086
[ -n "$tests" ] || tests=$(meson introspect --tests "$build" | python3 -c '
import json, os, sys
build = os.path.abspath(sys.argv[1])
for test in json.load(sys.stdin):
    if any(s.split(":")[-1] == "unit" for s in test["suite"]) and \
            os.path.abspath(test["cmd"][0]).startswith(build + os.sep) and \
            test["name"] not in sys.argv[2:]:
        print(test["name"])
' "$build" $out_of_reach)

status=0
# shellcheck disable=SC2086
OTELPROF_TEST_WITHOUT="$without" nice meson test -C "$build" --no-rebuild --timeout-multiplier 20 \
	--num-processes 2 --print-errorlogs --logbase memcheck --wrap "valgrind -q \
--error-exitcode=99 --leak-check=full --show-leak-kinds=definite,indirect \
--errors-for-leak-kinds=definite,indirect --num-callers=30 \
--suppressions=$top/tests/system/valgrind/memcheck.supp" $tests >"$out/tests.log" 2>&1 || status=1
[ $status = 0 ] || grep -v -E '^ *[0-9]+/[0-9]+ .* (OK|SKIP) |^--[0-9]+--' "$out/tests.log" |
	head -n 100
# meson adds the wrapper's name to that of the log.
python3 "$top/tests/report.py" meson valgrind "$build/meson-logs/memcheck-valgrind.json"
exit $status
