#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Debian roots with a Ruby each, from debootstrap, which checks the archive's signatures. Prints
# "VERSION ROOT" for each. Roots named in OTELPROF_CHROOTS (spaces between) and this machine's own
# are taken where they have that Ruby; others are made in the cache, about 250 MB each.
#
#     tests/live/languages/ruby/fetch.sh [VERSION...]        default: 2.7 3.1 3.3 3.4
set -eu

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

# Ruby 3.4 is in experimental, which is no suite of its own.
add_experimental() {
	sed 's/ sid / experimental /' "$1/etc/apt/sources.list" >"$1/etc/apt/sources.list.d/more.list"
	chroot "$1" apt-get update
	chroot "$1" apt-get install -y --no-install-recommends -t experimental ruby3.4
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
	[ "$(id -u)" -eq 0 ] || {
		echo "making a root needs root" >&2
		exit 1
	}
	command -v debootstrap >/dev/null || {
		echo "no debootstrap" >&2
		exit 1
	}
	package=ruby$1
	[ "$suite" != sid ] || package=ca-certificates
	rm -rf --one-file-system "$cache/ruby$1.tmp"
	{
		debootstrap --variant=minbase --include="$package" "$suite" "$cache/ruby$1.tmp" \
			${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} &&
			{ [ "$suite" != sid ] || add_experimental "$cache/ruby$1.tmp"; }
	} >"$cache/ruby$1.log" 2>&1 || {
		tail -n 3 "$cache/ruby$1.log" >&2
		exit 1
	}
	rm -rf "$cache/ruby$1.tmp/var/cache/apt/archives" "$cache/ruby$1.log"
	mv "$cache/ruby$1.tmp" "$cache/ruby$1"
	echo "$1 $cache/ruby$1"
)

[ $# -gt 0 ] || set -- 2.7 3.1 3.3 3.4
mkdir -p "$cache"
status=0
for version in "$@"; do
	fetch "$version" || status=1
done
exit $status
