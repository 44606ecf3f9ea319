#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unpack Debian's Prometheus into $OTELPROF_CACHE, and print the folder of its programs. Not
# installed: the package would start it on this machine.
set -eu

dir=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}/kube/prometheus
if [ ! -x "$dir/usr/bin/promtool" ]; then
	mkdir -p "$dir"
	cd "$dir"
	apt-get -qq download prometheus >&2
	dpkg-deb -x prometheus_*.deb .
	rm prometheus_*.deb
fi
echo "$dir/usr/bin"
