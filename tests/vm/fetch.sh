#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fetch the Debian kernels of the matrix into the cache. The packages are downloaded with
# apt, which checks the archive's signatures, in an apt root of our own: nothing of the
# host's configuration is used or changed. Prints "VERSION IMAGE" for each kernel.
#
#     tests/vm/fetch.sh [VERSION...]        default: 5.10 6.1 6.12 7.2
set -eu

cache=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}/kernels
# Where this machine itself has its packages from.
mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' "Origin: Debian" |
	grep -v security | head -n 1)}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

suite_of() {
	case $1 in
	5.10) echo bullseye ;;
	6.1) echo bookworm ;;
	6.12) echo trixie ;;
	*) echo sid ;;
	esac
}

# The newest package with kernel $1 in an apt root: from 6.19 on linux-binary-* has the
# image and linux-image-* only depends on it.
package_of() {
	version=$(printf '%s' "$1" | sed 's/\./\\./g')
	for kind in binary image; do
		apt_ apt-cache pkgnames "linux-$kind-$1" |
			grep -E "^linux-$kind-$version[.0-9]*[-+][-+.a-z0-9]*cloud-amd64$" |
			sort -V | tail -n 1
	done | head -n 1
}

apt_() {
	program=$1
	shift
	APT_CONFIG=$root/apt.conf "$program" "$@"
}

setup_root() {
	root=$cache/apt/$1
	mkdir -p "$root/lists/partial" "$root/archives/partial"
	[ -s "$root/status" ] || : >"$root/status"
	printf 'deb [signed-by=%s arch=amd64] %s %s main\n' "$keyring" "$mirror" "$1" \
		>"$root/sources.list"
	cat >"$root/apt.conf" <<CONF
Dir::State "$root";
Dir::State::status "$root/status";
Dir::State::lists "$root/lists";
Dir::Cache "$root";
Dir::Cache::archives "$root/archives";
Dir::Etc::sourcelist "$root/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Architecture "amd64";
APT::Architectures { "amd64"; };
APT::Get::AllowUnauthenticated "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Check-Valid-Until "false";
CONF
	if [ -z "$(ls "$root/lists" | grep _Packages || true)" ]; then
		apt_ apt-get -qq update >&2
	fi
}

# Print "VERSION IMAGE" of kernel $1. Runs in a shell of its own, where set -e holds.
fetch() (
	set -eu
	image=$cache/$1/vmlinuz
	if [ ! -s "$image" ]; then
		setup_root "$(suite_of "$1")"
		package=$(package_of "$1")
		if [ -z "$package" ]; then
			echo "no cloud kernel $1 in $(suite_of "$1")" >&2
			exit 1
		fi
		tmp=$cache/$1.tmp
		rm -rf "$tmp"
		mkdir -p "$tmp/root"
		cd "$tmp"
		apt_ apt-get -qq download "$package" >&2
		dpkg-deb -x ./*.deb root
		mv "$(find root -name 'vmlinuz*' -type f | head -n 1)" vmlinuz
		echo "$package" >package
		rm -rf root ./*.deb "${cache:?}/$1"
		mv "$tmp" "$cache/$1"
	fi
	echo "$1 $image"
)

[ $# -gt 0 ] || set -- 5.10 6.1 6.12 7.2
mkdir -p "$cache"
status=0
for version in "$@"; do
	set +e
	fetch "$version"
	[ $? -eq 0 ] || status=1
	set -e
done
exit $status
