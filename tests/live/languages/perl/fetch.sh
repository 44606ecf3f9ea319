#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Perls: Debian's in roots from debootstrap, and one without threads from Debian's source. Prints
# "VERSION PROGRAM ROOT" for each. Roots named in OTELPROF_CHROOTS (spaces between) and this
# machine's own are taken where they have that Perl; others are made in the cache, about 250 MB each.
#
#     tests/live/languages/perl/fetch.sh [VERSION...]  default: 5.32 5.36 5.36-unthreaded 5.40 5.42
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/live/framework/root.sh
. "$here/../../framework/root.sh"
cache=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}

suite_of() {
	case $1 in
	5.32) echo bullseye ;;
	5.36) echo bookworm ;;
	5.40) echo trixie ;;
	5.42) echo sid ;;
	*)
		echo "no Debian suite is known for Perl $1" >&2
		return 1
		;;
	esac
}

has() {
	chroot "$1" /usr/bin/perl -MTime::HiRes -V:version 2>/dev/null | grep -q "'$2\."
}

# Debian's source of this machine's Perl, configured without threads.
build() (
	set -eu
	out=$cache/perl-unthreaded
	rm -rf "$out.tmp"
	sh "$here/../python/source.sh" "$out.tmp" perl
	cd "$out.tmp"/perl-5.36*/
	chmod +x Configure
	./Configure -des -Uusethreads -Dcc=gcc -Doptimize=-O2 -Dprefix="$out" -Dman1dir=none \
		-Dman3dir=none
	make -j2
	make install
	rm -rf "$out.tmp"
)

fetch() (
	set -eu
	if [ "$1" = 5.36-unthreaded ]; then
		program=$cache/perl-unthreaded/bin/perl
		[ -x "$program" ] || build >"$cache/perl-unthreaded.log" 2>&1 || {
			tail -n 3 "$cache/perl-unthreaded.log" >&2
			exit 1
		}
		echo "$1 $program /"
		exit
	fi
	for root in ${OTELPROF_CHROOTS:-} "$cache/roots/perl$1" /; do
		if has "$root" "$1"; then
			echo "$1 /usr/bin/perl $root"
			exit
		fi
	done
	make_root "$cache/roots/perl$1" "$(suite_of "$1")" perl || exit 1
	echo "$1 /usr/bin/perl $cache/roots/perl$1"
)

[ $# -gt 0 ] || set -- 5.32 5.36 5.36-unthreaded 5.40 5.42
mkdir -p "$cache/roots"
status=0
for version in "$@"; do
	fetch "$version" || status=1
done
exit $status
