#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Make a Debian root with the JDKs that the tests want, or complete the one that is there.
#
#     jdks.sh ROOT [VERSION...]
#
# Prints the home of each JDK as "VERSION PATH", PATH as the host sees it. Exits with 77 and
# a reason where that cannot be had: see tests/live/framework/sid.sh. Sid is the one suite that has
# them all.
set -eu

[ $# -ge 1 ] || { echo "usage: $0 ROOT [VERSION...]" >&2; exit 2; }
root=$1
shift
# Sid drops releases that are not kept for years: those it may lack.
free=
[ $# -gt 0 ] || { set -- 8 11 17 21 25; free="26 27"; }

packages=
for version in "$@"; do
	packages="$packages openjdk-$version-jdk-headless"
done
# shellcheck disable=SC2086 # a list of packages
sh "$(dirname "$0")/../../framework/sid.sh" "$root" $packages
for version in $free; do
	sh "$(dirname "$0")/../../framework/sid.sh" "$root" "openjdk-$version-jdk-headless" &&
		set -- "$@" "$version"
done
for version in "$@"; do
	echo "$version $root/usr/lib/jvm/java-$version-openjdk-amd64"
done
