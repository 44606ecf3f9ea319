#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Make the root file system of an image: programs, in /bin, with the shared libraries they
# load and the certificates of public CAs. No shell and no package manager.
#
#     sh examples/kubernetes/rootfs.sh DIR PROGRAM...
set -eu

[ $# -ge 2 ] || {
	sed -n '3,6s/^# \{0,1\}//p' "$0" >&2
	exit 2
}
dir=$1
shift

mkdir -p "$dir/bin" "$dir/etc/ssl/certs"
for program; do
	install -m 755 "$program" "$dir/bin/"
	# The dynamic linker has a line of its own; libraries follow "=>".
	libraries=$(ldd "$program" 2>/dev/null || true)
	if echo "$libraries" | grep 'not found' >&2; then
		exit 1
	fi
	for library in $(echo "$libraries" |
		sed -n 's/^.*=> \(\/[^ ]*\) (.*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (.*/\1/p'); do
		# Libraries outside Debian's folders go where the dynamic linker searches.
		case $library in
		/lib/* | /lib64/* | /usr/lib/*) target=$dir$library ;;
		*) target=$dir/usr/lib/$(basename "$library") ;;
		esac
		install -D -m 755 "$library" "$target"
	done
done
echo 'hosts: files dns' >"$dir/etc/nsswitch.conf"
cp -L /etc/ssl/certs/ca-certificates.crt "$dir/etc/ssl/certs/"
