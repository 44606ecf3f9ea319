#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The unit tests of the calls and of delivery under ThreadSanitizer: races, and locks in two orders.
#
#     sh tests/system/valgrind/tsan.sh OUT [TEST...]
#
# About 6 minutes on 2 cores, most of them for the build. Prints "ok|FAIL|skip tsan TEST: ...".
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
out=$1
shift
build=$out/build
names=${*:-test_budget test_config test_doctor test_events test_flush test_settings test_stop test_waits
test_delivery test_spill test_stuck test_file test_file_thread test_request test_retry test_opening}

mkdir -p "$out"
cc -g -O1 -D_GNU_SOURCE -shared -fPIC -o "$out/join.so" "$here/join.c" -lpthread
if [ ! -f "$build/build.ninja" ]; then
	meson setup "$build" "$top" --buildtype=debugoptimized -Db_sanitize=thread -Db_lundef=false \
		>"$out/build.log" 2>&1 || {
		echo "FAIL tsan build: meson setup fails, see $out/build.log"
		exit 1
	}
fi
targets=
for name in $names; do
	targets="$targets $(cd "$top" && find tests/unit/api tests/unit/export -name "$name.c" | sed 's/\.c$//')"
done
# shellcheck disable=SC2086
ninja -C "$build" $targets >"$out/build.log" 2>&1 || {
	echo "FAIL tsan build: does not build, see $out/build.log"
	exit 1
}

status=0
for target in $targets; do
	name=${target##*/}
	log=$out/$name.log
	r=0
	# shellcheck disable=SC2015
	LD_PRELOAD=$out/join.so TSAN_OPTIONS="suppressions=$here/tsan.supp" timeout 600 "$build/$target" >"$log" 2>&1 || r=$?
	if [ $r = 0 ]; then
		echo "ok tsan $name: no race"
	elif [ $r = 77 ]; then
		echo "skip tsan $name: $(tail -n 1 "$log")"
	else
		status=1
		echo "FAIL tsan $name: exit $r, $(grep -c 'WARNING: ThreadSanitizer' "$log") warnings, see $log"
	fi
done
exit $status
