#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build the agents and the sink of the gateway's tests; prints the path of the program.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
dir=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}/gateway
program=$dir/gateway
mkdir -p "$dir"
exec 9>"$dir/lock"
flock 9

stamp=$(cat "$here"/*.go "$here/../wire.go" "$here/go.mod" | sha256sum)
if [ ! -x "$program" ] || [ "$(cat "$dir/stamp" 2>/dev/null)" != "$stamp" ]; then
	rm -rf "$dir/src"
	mkdir "$dir/src"
	cp "$here"/*.go "$here/../wire.go" "$here/go.mod" "$dir/src/"
	(cd "$dir/src" && CGO_ENABLED=0 go build -mod=mod -o "$program.tmp" .) >&2
	mv "$program.tmp" "$program"
	echo "$stamp" >"$dir/stamp"
fi
echo "$program"
