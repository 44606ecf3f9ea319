#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build the peer from the Go module proxy, its launcher and the sink. Prints the folder.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
version=${PEER_VERSION:-v0.0.202633}
dir=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}/bench
mkdir -p "$dir/peer"

if [ ! -x "$dir/ebpf-profiler-$version" ]; then
	cat >"$dir/peer/go.mod" <<CONF
module example.com/peer

go 1.25

require go.opentelemetry.io/ebpf-profiler $version
CONF
	(cd "$dir/peer" && CGO_ENABLED=0 go build -mod=mod \
		-o "$dir/ebpf-profiler-$version.tmp" go.opentelemetry.io/ebpf-profiler) >&2
	mv "$dir/ebpf-profiler-$version.tmp" "$dir/ebpf-profiler-$version"
fi
ln -sf "ebpf-profiler-$version" "$dir/ebpf-profiler"

if [ ! -x "$dir/tables" ] || [ "$here/tables/main.go" -nt "$dir/tables" ]; then
	mkdir -p "$dir/peer/tables"
	cp "$here/tables/main.go" "$dir/peer/tables/"
	(cd "$dir/peer" && CGO_ENABLED=0 go build -mod=mod -o "$dir/tables" ./tables) >&2
fi

if [ ! -x "$dir/sink" ] || [ "$here/sink/main.go" -nt "$dir/sink" ] ||
	[ "$here/wire.go" -nt "$dir/sink" ]; then
	rm -rf "$dir/sink-src"
	cp -r "$here/sink" "$dir/sink-src"
	cp "$here/wire.go" "$dir/sink-src/"
	(cd "$dir/sink-src" && CGO_ENABLED=0 go build -mod=mod -o "$dir/sink" .) >&2
fi

if [ ! -x "$dir/launch" ] || [ "$here/launch.c" -nt "$dir/launch" ]; then
	${CC:-cc} -O2 -Wall -Wextra -o "$dir/launch" "$here/launch.c"
fi
echo "$dir"
