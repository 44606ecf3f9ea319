#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# From a fresh Debian 12 to a flame graph, as root:
#
#     sh examples/quickstart.sh [SECONDS]
#
# Installs what the build needs, builds into build/, starts a receiver, profiles 10 seconds of
# that same build into profile.html and over gRPC, and says in five lines where the time
# went. Leaves profile.html and profiles-otlp/ in the directory it was started from.
set -eu

seconds=${1:-10}
here=$PWD
top=$(cd "$(dirname "$0")/.." && pwd)
build=${OTELPROF_BUILD:-$top/build}

step() {
	printf '\n== %s\n' "$*"
}

step "packages"
sh "$top/examples/install.sh"

step "build"
[ -f "$build/build.ninja" ] || meson setup "$build" "$top" -Dtests=false >"$here/build.log" 2>&1 ||
	{ tail -n 20 "$here/build.log"; exit 1; }
ninja -C "$build" >"$here/build.log" 2>&1 || { tail -n 40 "$here/build.log"; exit 1; }
rm -f "$here/build.log"
otelprof=$build/examples/otelprof/otelprof
"$otelprof" --version

step "what this machine can do"
"$otelprof" doctor

step "the receiver"
log=$(mktemp -d)
"$otelprof" sink --listen 127.0.0.1:0 --dir "$here/profiles-otlp" >"$log/out" 2>"$log/err" &
sink=$!
trap 'kill $sink 2>/dev/null || :; rm -rf "$log"' EXIT
port=
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	port=$(sed -n 's/.*listening on 127.0.0.1:\([0-9][0-9]*\)$/\1/p' "$log/err")
	[ -z "$port" ] || break
	sleep 0.5
done
[ -n "$port" ] || { cat "$log/err"; exit 1; }
echo "listens on 127.0.0.1:$port"

# The load: the compiler, which builds the library again.
step "$seconds seconds of this host, which builds the library again: gRPC and profile.html"
meson setup "$log/build" "$top" -Dtests=false -Dgrpc=disabled -Dhttp=disabled >/dev/null
"$otelprof" export -F 99 -d "$seconds" --endpoint "http://127.0.0.1:$port" &
export=$!
"$otelprof" record -F 99 -d "$seconds" -o "$here/profile.html" -- ninja -C "$log/build" \
	>"$log/ninja" 2>"$log/record" || { cat "$log/record"; exit 1; }
wait $export

# The sink exits with 1 if a request broke a rule of the profiles signal.
step "what the receiver got"
kill -TERM $sink
status=0
wait $sink || status=$?
cat "$log/out"
[ $status -eq 0 ] || exit $status

step "where the time went; the rest is in $here/profile.html, for any browser"
cat "$log/record"
