#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# End to end: otelprof export into a real Collector, into otelprof's own sink, and into the
# published protobuf classes; ten agents through the Collector as a gateway; otelprof mcp with
# the protocol's published client.
#
#     sh tests/system/e2e/run.sh OTELPROF DIR [CELL...]
#
# The Collector and the classes are built or fetched once into $OTELPROF_CACHE; what is not
# there is left out and said, unless OTELPROF_E2E=1 or CI=true and no CELL (then it is made: see
# build-collector.sh). Collectors of other versions that are there are used too.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}
version=${COLLECTOR_VERSION:-0.159.0}
collector=$cache/collector/$version/otelcol-test
venv=$cache/opentelemetry-proto
mcp=$cache/mcp

make=
[ "${OTELPROF_E2E:-}" != 1 ] && [ "${CI:-}" != true ] || [ $# -gt 2 ] || make=yes

# Go 1.25 or later can build today's Collector.
have_go() {
	command -v go >/dev/null &&
		go version | grep -q -E 'go(1\.(2[5-9]|[3-9][0-9])|[2-9])'
}

if [ ! -x "$collector" ] && [ -n "$make" ] && have_go; then
	nice -n 19 sh "$here/build-collector.sh" >/dev/null || echo "the Collector did not build"
fi
if [ ! -x "$venv/bin/python" ] && [ -n "$make" ]; then
	python3 -m venv "$venv" &&
		"$venv/bin/pip" -q install "opentelemetry-proto>=1.41" ||
		rm -rf "$venv"
fi
if [ ! -x "$mcp/bin/python" ] && [ -n "$make" ]; then
	python3 -m venv "$mcp" && "$mcp/bin/pip" -q install "mcp>=1" || rm -rf "$mcp"
fi
# Built again where it is older than its sources.
agents=
if [ -n "$make" ] || [ -x "$cache/gateway/gateway" ]; then
	! have_go || agents=$(nice -n 19 sh "$here/../../bench/gateway/build.sh") ||
		echo "the gateway's agents did not build"
fi
otelprof=$1
dir=$2
shift 2
for program in "$cache"/collector/*/otelcol-test; do
	[ ! -x "$program" ] || set -- --collector "$program" "$@"
done
exec python3 "$here/e2e.py" --otelprof "$otelprof" --dir "$dir" --classes "$venv/bin/python" \
	--mcp "$mcp/bin/python" ${agents:+--agents "$agents"} "$@"
