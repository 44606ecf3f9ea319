#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Make a Debian root with the JDKs that the tests want, or complete the one that is there.
#
#     jdks.sh ROOT [VERSION...]
#
# Prints the home of each JDK as "VERSION PATH", PATH as the host sees it. Exits with 77 and
# a reason where that cannot be had: no root rights, no debootstrap, no mirror.
set -eu

[ $# -ge 1 ] || { echo "usage: $0 ROOT [VERSION...]" >&2; exit 2; }
root=$1
shift
[ $# -gt 0 ] || set -- 8 11 17 21 25
suite=sid # the one suite that has them all

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
	debootstrap --variant=minbase "$suite" "$root" ${OTELPROF_MIRROR:+"$OTELPROF_MIRROR"} \
		>"$root.log" 2>&1 ||
		skip "debootstrap failed: $root.log"
	# A JDK's configuration writes manual page alternatives here.
	mkdir -p "$root/usr/share/man/man1"
	touch "$root.done"
fi

want=
for version in "$@"; do
	[ -x "$root/usr/lib/jvm/java-$version-openjdk-amd64/bin/java" ] ||
		want="$want openjdk-$version-jdk-headless"
done
if [ -n "$want" ]; then
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
		skip "packages could not be installed: $root.log"
	fi
	[ -z "$mounted" ] || umount "$root/proc"
fi
for version in "$@"; do
	echo "$version $root/usr/lib/jvm/java-$version-openjdk-amd64"
done
