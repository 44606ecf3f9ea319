#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Get the Prometheus operator's kinds, as its module publishes them, into $OTELPROF_CACHE, and
# print the folder.
set -eu

version=${PROMETHEUS_OPERATOR_VERSION:-0.82.0}
dir=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}/kube/prometheus-operator-$version
module=github.com/prometheus-operator/prometheus-operator
if [ ! -e "$dir/prometheusrules.yaml" ]; then
	from=$(cd / && go mod download -json "$module@v$version" |
		sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
	mkdir -p "$dir"
	for name in podmonitors prometheusrules; do
		cp "$from/example/prometheus-operator-crd/monitoring.coreos.com_$name.yaml" \
			"$dir/$name.yaml"
	done
	chmod u+w "$dir"/*.yaml
fi
echo "$dir"
