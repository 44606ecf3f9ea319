#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Make a Debian root of sid with these packages, or complete the one that is there.
#
#     sid.sh ROOT PACKAGE...
#
# Exits with 77 and a reason where that cannot be had: no root rights, no debootstrap, no
# mirror, no such package.
set -eu

[ $# -ge 2 ] || { echo "usage: $0 ROOT PACKAGE..." >&2; exit 2; }
root=$1
shift

skip() {
	echo "skipped: $*" >&2
	exit 77
}

# The .done file says that debootstrap got to its end.
if [ ! -e "$root.done" ]; then
	[ "$(id -u)" = 0 ] || skip "debootstrap needs root"
	command -v debootstrap >/dev/null || skip "debootstrap is not installed"
	rm -rf "$root"
	mkdir -p "$root"
	# Without OTELPROF_MIRROR debootstrap takes its own.
	debootstrap --variant=minbase sid "$root" ${OTELPROF_MIRROR:+"$OTELPROF_MIRROR"} \
		>"$root.log" 2>&1 ||
		skip "debootstrap failed: $root.log"
	# A JDK's configuration writes manual page alternatives here.
	mkdir -p "$root/usr/share/man/man1"
	touch "$root.done"
fi

want=
for package in "$@"; do
	grep -A 1 -x "Package: $package" "$root/var/lib/dpkg/status" |
		grep -q '^Status: .* installed$' || want="$want $package"
done
[ -n "$want" ] || exit 0
[ "$(id -u)" = 0 ] || skip "packages can be installed by root alone"
mounted=
if ! mountpoint -q "$root/proc"; then
	mount -t proc proc "$root/proc" && mounted=1
fi
# shellcheck disable=SC2086 # a list of packages
# A mirror may be a snapshot whose index has run out.
if ! { chroot "$root" apt-get -q -o Acquire::Check-Valid-Until=false update &&
	DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get -qy \
		install --no-install-recommends $want &&
	chroot "$root" apt-get clean; } >>"$root.log" 2>&1; then
	[ -z "$mounted" ] || umount "$root/proc"
	skip "no package$want: $root.log"
fi
[ -z "$mounted" ] || umount "$root/proc"
