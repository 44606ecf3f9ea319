#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build a Collector with the OTLP receiver and the file and debug exporters, with the
# Collector's own builder. About 8 minutes of CPU time. Prints the path of the program.
set -eu

version=${COLLECTOR_VERSION:-0.159.0}
providers=${COLLECTOR_PROVIDERS:-1.65.0}
dir=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}/collector/$version
program=$dir/otelcol-test

if [ ! -x "$program" ]; then
	mkdir -p "$dir/bin"
	core=go.opentelemetry.io/collector
	contrib=github.com/open-telemetry/opentelemetry-collector-contrib
	cat >"$dir/manifest.yaml" <<CONF
dist:
  module: example.com/otelcol-test
  name: otelcol-test
  version: $version
  output_path: $dir/src
receivers:
  - gomod: $core/receiver/otlpreceiver v$version
exporters:
  - gomod: $core/exporter/debugexporter v$version
  - gomod: $contrib/exporter/fileexporter v$version
providers:
  - gomod: $core/confmap/provider/envprovider v$providers
  - gomod: $core/confmap/provider/fileprovider v$providers
  - gomod: $core/confmap/provider/yamlprovider v$providers
CONF
	GOBIN=$dir/bin go install "$core/cmd/builder@v$version" >&2
	CGO_ENABLED=0 "$dir/bin/builder" --config="$dir/manifest.yaml" >&2
	mv "$dir/src/otelcol-test" "$program"
	rm -rf "$dir/src" "$dir/bin"
fi
echo "$program"
