#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Debian roots with a Ruby each, from debootstrap, which checks the archive's signatures. Prints
# "VERSION ROOT" for each. Roots named in OTELPROF_CHROOTS (spaces between) and this machine's own
# are taken where they have that Ruby; others are made in the cache, about 250 MB each.
#
#     tests/live/languages/ruby/fetch.sh [VERSION...]        default: 2.7 3.1 3.3 3.4
set -eu

# shellcheck source=tests/live/framework/root.sh
. "$(dirname "$0")/../../framework/root.sh"
cache=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}/roots

suite_of() {
	case $1 in
	2.7) echo bullseye ;;
	3.1) echo bookworm ;;
	3.3) echo trixie ;;
	3.4) echo sid ;; # and experimental over it
	*)
		echo "no Debian suite is known for Ruby $1" >&2
		return 1
		;;
	esac
}

add_ruby() {
	add_experimental "$1" -t experimental ruby3.4
}

fetch() (
	set -eu
	for root in ${OTELPROF_CHROOTS:-} "$cache/ruby$1" /; do
		if [ -x "$root/usr/bin/ruby$1" ]; then
			echo "$1 $root"
			exit
		fi
	done
	suite=$(suite_of "$1")
	if [ "$suite" = sid ]; then
		make_root "$cache/ruby$1" sid ca-certificates add_ruby || exit 1
	else
		make_root "$cache/ruby$1" "$suite" "ruby$1" || exit 1
	fi
	echo "$1 $cache/ruby$1"
)

[ $# -gt 0 ] || set -- 2.7 3.1 3.3 3.4
mkdir -p "$cache"
status=0
for version in "$@"; do
	fetch "$version" || status=1
done
exit $status
