#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The CPythons of Debian's sid, with their debug builds, into the root of tests/live/languages/hotspot's JDKs.
# Prints the root. What cannot be had is told on stderr.
set -eu

root=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}/sid-jdk

# One at a time, because sid drops the oldest.
for version in 3.13 3.14 3.15; do
	sh "$(dirname "$0")/../../framework/sid.sh" "$root" "python$version" "python$version-dbg" || true
done
echo "$root"
