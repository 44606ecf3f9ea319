#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Make a Debian 12 system for guests in the cache: busybox, Python and the libraries that
# otelprof needs; for arm64 also the headers to build it with the cross compiler, and beside it
# an x86-64 rustc of the same release, whose standard library for aarch64 Debian has; and one of
# language runtimes, and one of Debian 13's. Prints the four folders.
#
#     tests/system/vm/sysroot.sh amd64|arm64
set -eu

here=$(cd "$(dirname "$0")" && pwd)
arch=$1
cache=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}/guests
version=2 # of what is below: another one makes the folders again
amd64="libc6 libstdc++6 libbpf1 libelf1 libdw1 zlib1g libzstd1 liblzma5 libssl3 libbsd0
	busybox-static python3.11-minimal libpython3.11-stdlib"
arm64="$amd64 libc6-dev linux-libc-dev libstdc++-12-dev libbpf-dev libelf-dev libdw-dev
	zlib1g-dev libzstd-dev liblzma-dev libiberty-dev libssl-dev libbsd-dev libnanopb-dev
	libstd-rust-dev"

runtimes="php8.2-cli php8.2-opcache openjdk-17-jre-headless ruby3.1 perl"
trixie="busybox-static ruby3.3 perl"

mkdir -p "$cache"
# shellcheck source=tests/system/vm/apt.sh
. "$here/apt.sh"

# Unpack packages $4… of suite $2 and architecture $3 into folder $1, whole or not at all.
make() (
	set -eu
	[ "$(cat "$cache/$1/.version" 2>/dev/null)" != "$version" ] || exit 0
	apt_root "$2" "$3"
	done=$cache/$1
	rm -rf "${done:?}" "$done.tmp"
	shift 3
	apt_unpack "$done.tmp" "$@"
	echo "$version" >"$done.tmp/.version"
	mv "$done.tmp" "$done"
)

# shellcheck disable=SC2086
case $arch in
amd64)
	make amd64 bookworm amd64 $amd64
	make amd64-runtimes bookworm amd64 $runtimes
	make amd64-trixie trixie amd64 $trixie
	;;
arm64)
	make arm64 bookworm arm64 $arm64
	make arm64-runtimes bookworm arm64 $runtimes
	make arm64-trixie trixie arm64 $trixie
	make rust bookworm amd64 rustc
	;;
esac
echo "$cache/$arch"
echo "$cache/rust"
echo "$cache/$arch-runtimes"
echo "$cache/$arch-trixie"
