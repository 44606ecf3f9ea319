#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Print a Debian root with a CPython that has trampolines for perf (3.13): one of
# OTELPROF_CHROOTS (spaces between), or one made in the cache, about 250 MB.
set -eu

cache=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}/roots
root=$cache/trixie-python

for try in ${OTELPROF_CHROOTS:-} "$root"; do
	if [ -x "$try/usr/bin/python3.13" ]; then
		echo "$try"
		exit
	fi
done
[ "$(id -u)" -eq 0 ] || {
	echo "making a root needs root" >&2
	exit 1
}
command -v debootstrap >/dev/null || {
	echo "no debootstrap" >&2
	exit 1
}
mkdir -p "$cache"
rm -rf --one-file-system "$root.tmp"
debootstrap --variant=minbase --include=python3 trixie "$root.tmp" \
	${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >"$root.log" 2>&1 || {
	tail -n 3 "$root.log" >&2
	exit 1
}
rm -rf "$root.tmp/var/cache/apt/archives" "$root.log"
mv "$root.tmp" "$root"
echo "$root"
