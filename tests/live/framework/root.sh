#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# For fetch scripts, which read it with ".": Debian roots from debootstrap, which checks the
# archive's signatures.

# make_root ROOT SUITE PACKAGES [FUNCTION]: PACKAGES with commas between. FUNCTION gets the root
# before it has its name, so that a root that is there is whole. Fails with the reason on stderr.
make_root() {
	[ "$(id -u)" -eq 0 ] || {
		echo "making a root needs root" >&2
		return 1
	}
	command -v debootstrap >/dev/null || {
		echo "no debootstrap" >&2
		return 1
	}
	mkdir -p "${1%/*}"
	rm -rf --one-file-system "$1.tmp"
	{
		debootstrap --variant=minbase --include="$3" "$2" "$1.tmp" \
			${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} && ${4:-true} "$1.tmp"
	} >"$1.log" 2>&1 || {
		tail -n 3 "$1.log" >&2
		return 1
	}
	rm -rf "$1.tmp/var/cache/apt/archives" "$1.log"
	mv "$1.tmp" "$1"
}

# add_experimental ROOT ARGUMENT...: install packages of Debian's experimental, which is no suite of
# its own, in a root of sid. ARGUMENTs are apt-get's. Its list of files may be weeks old.
add_experimental() {
	sed 's/ sid / experimental /' "$1/etc/apt/sources.list" >"$1/etc/apt/sources.list.d/more.list"
	chroot "$1" apt-get -o Acquire::Check-Valid-Until=false update
	root=$1
	shift
	chroot "$root" apt-get install -y --no-install-recommends "$@"
}
