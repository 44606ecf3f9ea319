#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Run the README's commands on a fresh Debian 12: a minimal root made by debootstrap, with
# nothing but what the commands install themselves.
#
#     sh tests/system/chroot/fresh.sh [--keep] [DIR [COMMAND...]]
#
# DIR (default: a temporary one) gets the root and is removed without --keep; one that is
# there already is used again. COMMAND replaces the README's two. As root; about 3 GB.
set -eu

keep=
if [ "${1:-}" = --keep ]; then
	keep=yes
	shift
fi
if [ -z "${OTELPROF_FRESH:-}" ]; then
	# All mounts below are made in a namespace of our own and end with it.
	OTELPROF_FRESH=1 exec unshare -m --propagation private sh "$0" ${keep:+--keep} "$@"
fi

top=$(cd "$(dirname "$0")/../../.." && pwd)
root=${1:-}
[ $# -eq 0 ] || shift
if [ -z "$root" ]; then
	root=$(mktemp -d)
	rmdir "$root"
fi

cleanup() {
	[ -z "$keep" ] || return 0
	# With all that is mounted below it.
	umount -l "$root" 2>/dev/null || true
	# Never across a mount that is still there.
	rm -rf --one-file-system "$root"
}
trap cleanup EXIT

if [ ! -x "$root/bin/sh" ]; then
	debootstrap --variant=minbase bookworm "$root" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >"$root.debootstrap.log" 2>&1 || {
		tail -n 20 "$root.debootstrap.log"
		exit 1
	}
	rm -f "$root.debootstrap.log"
fi
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
# Where this machine reaches the registries through a proxy that signs its own certificates, so
# does the root: the package ca-certificates adds what stands here.
if [ -f /etc/ssl/certs/ca-certificates.crt ]; then
	mkdir -p "$root/usr/local/share/ca-certificates"
	cp -L /etc/ssl/certs/ca-certificates.crt "$root/usr/local/share/ca-certificates/host.crt"
fi
# As the installer of Debian leaves it; debootstrap alone leaves none.
[ -f "$root/etc/hosts" ] || printf '127.0.0.1\tlocalhost\n' >"$root/etc/hosts"
# A mount of its own, as / is on a machine: unshare(1) makes / private.
mount --bind "$root" "$root"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount -t sysfs sys "$root/sys"
mount -t bpf bpf "$root/sys/fs/bpf"
mount -t tracefs tracefs "$root/sys/kernel/tracing" 2>/dev/null || true
[ ! -d /sys/fs/cgroup ] || mount --rbind /sys/fs/cgroup "$root/sys/fs/cgroup"

# The tree as committed and changed, without what was built.
rm -rf "$root/src"
mkdir "$root/src"
(cd "$top" && git ls-files -z --cached --others --exclude-standard |
	tar --null --ignore-failed-read -T - -cf - 2>/dev/null) | tar -C "$root/src" -xf -

inside() {
	echo "== $*"
	chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		HOME=/root LANG=C.UTF-8 ${CI:+CI="$CI"} sh -c "cd /src && $*"
}

status=0
if [ $# -gt 0 ]; then
	inside "$*" || status=$?
else
	inside sh examples/quickstart.sh || status=$?
	inside sh tests/run.sh || status=$?
fi
echo "fresh Debian 12: exit $status"
exit "$status"
