#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build helm from the Go module proxy, and print its path. About three minutes of CPU time;
# kept in $OTELPROF_CACHE.
set -eu

version=${HELM_VERSION:-3.19.0}
dir=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}/helm/$version

if [ ! -x "$dir/helm" ]; then
	command -v go >/dev/null || {
		echo "there is no Go" >&2
		exit 1
	}
	mkdir -p "$dir"
	GOBIN=$dir CGO_ENABLED=0 GOFLAGS=-mod=mod nice -n 10 \
		go install -p 2 -trimpath -ldflags "-s -w" "helm.sh/helm/v3/cmd/helm@v$version" >&2
fi
echo "$dir/helm"
