#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build the Debian packages of another architecture, in a Debian of its own with the cross
# compiler and the other's libraries:
#
#     sh tests/system/packages/cross.sh TREE ARCH OUT
#
# TREE is the source with its debian/, and OUT a folder for the packages. That Debian (1.3 GB)
# is kept in $OTELPROF_CACHE. Needs root and mmdebstrap, and nothing of the other
# architecture is run.
set -eu

tree=$1
arch=$2
out=$3
root=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}/roots/cross-$arch
native=$(dpkg --print-architecture)

if [ "${OTELPROF_CROSS_INSIDE:-}" != 1 ]; then
	OTELPROF_CROSS_INSIDE=1 exec unshare --mount --propagation private sh "$0" "$@"
fi

inside() {
	chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/nonexistent LC_ALL=C.UTF-8 \
		DEBIAN_FRONTEND=noninteractive DEB_BUILD_OPTIONS=nocheck "$@"
}

if [ ! -e "$root.done" ]; then
	rm -rf "$root"
	mkdir -p "$(dirname "$root")"
	# shellcheck disable=SC2086
	mmdebstrap --quiet --mode=root --variant=apt --architectures="$native,$arch" \
		--skip=cleanup/apt/lists bookworm "$root" ${DEBIAN_MIRROR:-}
	touch "$root.done"
fi
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
rm -rf "$root/srv/out"
mkdir "$root/srv/out"
cp -a "$tree" "$root/srv/out/source"
chown -R 0:0 "$root/srv/out"
inside apt-get -qq update
inside apt-get -qq install -y --no-install-recommends "crossbuild-essential-$arch"
inside apt-get -qq build-dep -y --no-install-recommends -a "$arch" /srv/out/source
inside sh -c "cd /srv/out/source && dpkg-buildpackage -us -uc -b -a$arch -Pcross,nocheck"
cp "$root"/srv/out/*.deb "$out"
rm -rf "$root/srv/out"
