#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# examples/kubernetes against a real kube-apiserver, and its pods made by runc.
#
#     sh tests/system/k8s/run.sh OTELPROF DIR [CELL...]
#
# kube-apiserver and etcd are made once into $OTELPROF_CACHE; where they are not there the
# suite is skipped, unless OTELPROF_K8S=1 or CI=true (then they are made, in 5 CPU minutes,
# with Go 1.25 or later). So are the Collectors, by tests/system/e2e/build-collector.sh; those that
# are there are brought up to date.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}
version=${KUBE_VERSION:-1.35.4}
apiserver=$cache/kube/$version/kube-apiserver
etcd=$cache/kube/etcd/usr/bin/etcd
seccomp=$cache/kube/seccomp
prometheus=$cache/kube/prometheus/usr/bin
kinds=$cache/kube/prometheus-operator-0.82.0
otelprof=$1
dir=$2
shift 2

skip() {
	echo "skip k8s all: $*"
	exit 77
}

have_go() {
	command -v go >/dev/null &&
		go version | grep -q -E 'go(1\.(2[5-9]|[3-9][0-9])|[2-9])'
}

[ "$(id -u)" -eq 0 ] || skip "not root"
for program in runc ip openssl unshare; do
	command -v "$program" >/dev/null || skip "no $program"
done
python3 -c 'import yaml' 2>/dev/null || skip "no python3-yaml"
grep -qw overlay /proc/filesystems || skip "the kernel has no overlay file system"

make=
if [ "${OTELPROF_K8S:-}" = 1 ] || [ "${CI:-}" = true ]; then
	make=yes
	[ -x "$etcd" ] || sh "$here/fetch-etcd.sh" >/dev/null || skip "etcd cannot be fetched"
	[ -x "$prometheus/promtool" ] || sh "$here/fetch-prometheus.sh" >/dev/null ||
		echo "Prometheus cannot be fetched"
	[ -d "$kinds" ] || ! have_go || sh "$here/fetch-crds.sh" >/dev/null 2>&1 ||
		echo "the Prometheus operator's kinds cannot be had"
	if [ ! -x "$seccomp" ] && have_go; then
		src=$(mktemp -d)
		cp "$here"/seccomp/* "$src"
		(cd "$src" && CGO_ENABLED=0 go build -mod=mod -o "$seccomp" .) ||
			skip "the seccomp profile's program does not build"
		rm -rf "$src"
	fi
	if [ ! -x "$apiserver" ]; then
		have_go || skip "kube-apiserver is not built, and there is no Go 1.25"
		started=$(date +%s)
		nice -n 10 sh "$here/build-apiserver.sh" >/dev/null 2>"$dir.build.log" || {
			tail -n 20 "$dir.build.log"
			echo "FAIL k8s apiserver: does not build"
			exit 1
		}
		echo "kube-apiserver built in $(($(date +%s) - started)) s"
	fi
fi
[ -x "$etcd" ] && [ -x "$apiserver" ] && [ -x "$seccomp" ] ||
	skip "no kube-apiserver in the cache (OTELPROF_K8S=1 builds it)"

set -- --etcd "$etcd" --apiserver "$apiserver" --seccomp "$seccomp" "$@"
helm=$cache/helm/${HELM_VERSION:-3.19.0}/helm
[ ! -x "$helm" ] || set -- --helm "$helm" "$@"
[ ! -x "$prometheus/promtool" ] || set -- --prometheus "$prometheus" "$@"
[ ! -d "$kinds" ] || set -- --kinds "$kinds" "$@"
for version in ${COLLECTOR_VERSIONS:-0.159.0 0.164.0}; do
	have_go || break
	[ -n "$make" ] || [ -x "$cache/collector/$version/otelcol-test" ] || continue
	collector=$(nice -n 10 sh "$here/../e2e/build-collector.sh" "$version") || {
		echo "FAIL k8s collector-$version: does not build"
		exit 1
	}
	set -- --collector "$version=$collector" "$@"
done
exec python3 "$here/k8s.py" --otelprof "$otelprof" --dir "$dir" "$@"
