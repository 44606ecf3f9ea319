#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Print a Debian root with a CPython that has trampolines for perf (3.13): one of
# OTELPROF_CHROOTS (spaces between), or one made in the cache, about 250 MB.
set -eu

# shellcheck source=tests/live/framework/root.sh
. "$(dirname "$0")/../../framework/root.sh"
cache=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}/roots
root=$cache/trixie-python

for try in ${OTELPROF_CHROOTS:-} "$root"; do
	if [ -x "$try/usr/bin/python3.13" ]; then
		echo "$try"
		exit
	fi
done
make_root "$root" trixie python3 || exit 1
echo "$root"
