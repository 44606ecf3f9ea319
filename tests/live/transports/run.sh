#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Long outages, and a real Collector with TLS (outage.py, collector.py; 3 minutes).
#
#     sh tests/live/transports/run.sh BUILD
#
# The Collector is the one that tests/system/e2e builds. Where it is not there, that is left out and
# said.
set -u

here=$(cd "$(dirname "$0")" && pwd)
build=$1
cache=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}
collector=$cache/collector/${COLLECTOR_VERSION:-0.159.0}/otelcol-test
sender=$build/tests/live/transports/sender
export OTELPROF_MODULE_DIR="$build/lib"

if [ ! -x "$sender" ]; then
	echo "skip delivery all: built without gRPC or HTTP"
	exit 0
fi
outage() {
	python3 "$here/outage.py" --sender "$sender" --protocol "$1" \
		--otelprof "$build/examples/otelprof/otelprof"
}

# Both wait most of the time, and side by side half as long.
status=0
http=$(mktemp)
trap 'rm -f "$http"' EXIT
outage http >"$http" 2>&1 &
outage grpc || status=1
wait $! || status=1
cat "$http"
if [ -x "$collector" ]; then
	python3 "$here/collector.py" --collector "$collector" --sender "$sender" \
		--certs "$here/certs.sh" || status=1
else
	echo "skip delivery collector: tests/system/e2e did not build one"
fi
exit $status
