#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Print the folder of Erlang's runtime: this host's, or one unpacked in the cache from Debian's
# package, which is not installed, because that would start its name server.
set -eu

out=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}/erlang

fail() {
	echo "$*" >&2
	exit 1
}

for root in / "$out/"; do
	if [ -x "${root}usr/lib/erlang/bin/erl" ]; then
		echo "${root}usr/lib/erlang"
		exit
	fi
done
for tool in apt-get dpkg-deb; do
	command -v $tool >/dev/null || fail "no $tool"
done
rm -rf "$out.tmp"
mkdir -p "$out.tmp"
cd "$out.tmp"
apt-get -q download erlang-base libsctp1 >log 2>&1 || fail "no erlang-base: $(tail -n 1 log)"
for file in *.deb; do
	dpkg-deb -x "$file" .
	rm "$file"
done
mv "$out.tmp" "$out"
echo "$out/usr/lib/erlang"
