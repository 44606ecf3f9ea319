#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unpack Debian's etcd into $OTELPROF_CACHE, and print its path. Not installed: the package
# would start it on this machine.
set -eu

dir=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}/kube/etcd
if [ ! -x "$dir/usr/bin/etcd" ]; then
	mkdir -p "$dir"
	cd "$dir"
	apt-get -qq download etcd-server >&2
	dpkg-deb -x etcd-server_*.deb .
	rm etcd-server_*.deb
fi
echo "$dir/usr/bin/etcd"
