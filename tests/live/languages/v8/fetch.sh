#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that embed V8: Deno and workerd from npm, which checks what it gets (40 MB each), and this
# host's Chromium (Debian's package). Prints "NAME PROGRAM" for each.
#
#     tests/live/languages/v8/fetch.sh [NAME...]        default: deno workerd chromium
set -eu

cache=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}/v8

from_npm() (
	set -eu
	name=$1 package=$2 file=$3
	if [ ! -x "$cache/$name/$file" ]; then
		command -v npm >/dev/null || {
			echo "no npm" >&2
			exit 1
		}
		rm -rf "$cache/$name.tmp"
		mkdir -p "$cache/$name.tmp"
		cd "$cache/$name.tmp"
		npm pack --silent "$package" >npm.log 2>&1 || {
			tail -n 2 npm.log >&2
			exit 1
		}
		tar -xzf ./*.tgz
		rm -f ./*.tgz npm.log
		chmod +x "package/$file"
		mv "$cache/$name.tmp/package" "$cache/$name"
	fi
	echo "$name $cache/$name/$file"
)

fetch() (
	set -eu
	case $1 in
	# the versions whose layouts lib/runtime/node/node.layout has
	deno) from_npm deno @deno/linux-x64-glibc@2.9.6 deno ;;
	workerd) from_npm workerd @cloudflare/workerd-linux-64@1.20261117.1 bin/workerd ;;
	chromium)
		if [ ! -x /usr/lib/chromium/chromium ]; then
			echo "no Chromium here" >&2
			exit 1
		fi
		echo "chromium /usr/lib/chromium/chromium"
		;;
	esac
)

[ $# -gt 0 ] || set -- deno workerd chromium
mkdir -p "$cache"
status=0
for name in "$@"; do
	fetch "$name" || status=1
done
exit $status
