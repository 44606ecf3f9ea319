#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Debian's Erlangs. Prints "VERSION ROOT" for each. Roots named in OTELPROF_CHROOTS (spaces between)
# and this machine's own are taken where they have that one. Others are made in the cache, about
# 300 MB each, but not with -n.
#
#     tests/live/languages/erlang/fetch.sh [-n] [VERSION...]  default: 25 27
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/live/framework/root.sh
. "$here/../../framework/root.sh"
cache=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}
make=1

suite_of() {
	case $1 in
	25) echo bookworm ;;
	27) echo trixie ;;
	*)
		echo "no Debian suite is known for Erlang $1" >&2
		return 1
		;;
	esac
}

fetch() (
	set -eu
	for root in ${OTELPROF_CHROOTS:-} "$cache/roots/erlang$1" /; do
		if [ -x "$root/usr/bin/erl" ] && [ -d "$root/usr/lib/erlang/releases/$1" ]; then
			echo "$1 $root"
			exit
		fi
	done
	[ "$make" ] || {
		echo "erlang-base $1 is not installed" >&2
		exit 1
	}
	make_root "$cache/roots/erlang$1" "$(suite_of "$1")" erlang-base || exit 1
	echo "$1 $cache/roots/erlang$1"
)

if [ "${1:-}" = -n ]; then
	make=
	shift
fi
[ $# -gt 0 ] || set -- 25 27
mkdir -p "$cache/roots"
status=0
for version in "$@"; do
	fetch "$version" || status=1
done
exit $status
