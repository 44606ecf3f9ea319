#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Print a LuaJIT that writes /tmp/perf-PID.map: Debian's source built with the define that asks
# for it, because Debian's own build does not have it. Made once, in the cache.
set -eu

cache=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}
out=$cache/luajit
work=$out.tmp

fail() {
	echo "$*" >&2
	exit 1
}

if [ -x "$out/luajit" ]; then
	echo "$out/luajit"
	exit
fi
for tool in apt-get dpkg-source gcc make; do
	command -v $tool >/dev/null || fail "no $tool"
done

rm -rf "$work"
mkdir -p "$work"
sh "$(dirname "$0")/../python/source.sh" "$work" luajit || fail "no source of luajit"
source=$(find "$work" -mindepth 1 -maxdepth 1 -name 'luajit-*' -type d)
make -C "$source/src" -j2 XCFLAGS=-DLUAJIT_USE_PERFTOOLS luajit >>"$work/log" 2>&1 ||
	fail "luajit is not built: $(tail -n 1 "$work/log")"
mkdir -p "$out"
cp "$source/src/luajit" "$out/luajit.new"
mv "$out/luajit.new" "$out/luajit"
rm -rf "$work"
echo "$out/luajit"
