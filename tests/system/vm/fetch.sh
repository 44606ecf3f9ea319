#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fetch the Debian kernels of the matrix into the cache. Prints "VERSION FOLDER" for each
# kernel; in the folder are vmlinuz and the modules that a disk and the tests' devices need, in the
# order in which they are loaded.
#
#     tests/system/vm/fetch.sh [--arm64] [VERSION...]        default: 5.10 6.1 6.12 7.2
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}/kernels
mkdir -p "$cache"
# shellcheck source=tests/system/vm/apt.sh
. "$here/apt.sh"

arch=amd64
if [ "${1:-}" = --arm64 ]; then
	arch=arm64
	shift
fi

suite_of() {
	case $1 in
	5.10) echo bullseye ;;
	6.1) echo bookworm ;;
	6.12) echo trixie ;;
	6.1[3-9]) echo trixie-backports ;;
	*) echo sid ;;
	esac
}

# The newest package with kernel $1 in the apt root: from 6.19 on linux-binary-* has the
# image, linux-modules-* the modules, and linux-image-* only depends on them.
package_of() {
	version=$(printf '%s' "$1" | sed 's/\./\\./g')
	for kind in binary image; do
		apt_ apt-cache pkgnames "linux-$kind-$1" |
			grep -E "^linux-$kind-${version}[.0-9]*[-+][-+.a-z0-9]*cloud-$arch$" |
			sort -V | tail -n 1
	done | head -n 1
}

# What ext4 on a virtio disk needs, and slow loop devices.
wanted="virtio virtio_ring virtio_mmio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci \
virtio_blk crc16 crc32c_generic libcrc32c mbcache jbd2 ext4 loop fuse"

# Copy into $2 those modules of tree $1, with a number in front that says when; what is not there
# is part of the kernel.
modules() {
	mkdir -p "$2"
	number=10
	for module in $wanted; do
		number=$((number + 1))
		file=$(find "$1" -name "$module.ko" -o -name "$module.ko.xz")
		[ -z "$file" ] || cp "$file" "$2/$number-$(basename "$file")"
	done
	for file in "$2"/*.xz; do
		[ ! -e "$file" ] || xz -d "$file"
	done
}

# Print "VERSION FOLDER" of kernel $1. Runs in a shell of its own, where set -e holds.
fetch() (
	set -eu
	folder=$cache/$arch-$1
	if [ ! -s "$folder/vmlinuz" ] || [ "$(cat "$folder/wanted" 2>/dev/null)" != "$wanted" ]; then
		apt_root "$(suite_of "$1")" "$arch"
		package=$(package_of "$1")
		if [ -z "$package" ]; then
			echo "no cloud kernel $1 in $(suite_of "$1")" >&2
			exit 1
		fi
		tmp=$cache/$arch-$1.tmp
		rm -rf "$tmp"
		mkdir -p "$tmp/root"
		cd "$tmp"
		more=$(apt_ apt-cache pkgnames "linux-modules-${package#linux-*-}" | head -n 1)
		# shellcheck disable=SC2086
		apt_ apt-get -qq download $package $more >&2
		for deb in ./*.deb; do
			dpkg-deb -x "$deb" root
		done
		mv "$(find root -name 'vmlinuz*' -type f | head -n 1)" vmlinuz
		modules root modules
		echo "$package" >package
		echo "$wanted" >wanted
		rm -rf root ./*.deb "$folder"
		mv "$tmp" "$folder"
	fi
	echo "$1 $folder"
)

[ $# -gt 0 ] || set -- 5.10 6.1 6.12 7.2
status=0
for version in "$@"; do
	set +e
	fetch "$version"
	[ $? -eq 0 ] || status=1
	set -e
done
exit $status
