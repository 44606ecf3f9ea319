#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build a real kube-apiserver from the Go module proxy, and print its path. About 430 s of
# CPU time and 2 GB of memory; kept in $OTELPROF_CACHE.
set -eu

version=${KUBE_VERSION:-1.35.4}
dir=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}/kube/$version
program=$dir/kube-apiserver

if [ ! -x "$program" ]; then
	src=$dir/src
	rm -rf "$src"
	mkdir -p "$src"
	cd "$src"
	cat >go.mod <<MOD
module example.com/apiserver

go 1.24
MOD
	# Kubernetes replaces its staging modules by folders of its own tree, which no other
	# module sees: here by the same modules as published, 1.N.P's being v0.N.P.
	mod=$(go mod download -json "k8s.io/kubernetes@v$version" |
		sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
	sed -n "s,^[[:space:]]*\(k8s.io/[^ ]*\) => ./staging/.*,replace \1 => \1 v0.${version#1.},p" \
		"$mod" >replaces
	[ -s replaces ] || {
		echo "no staging modules in $mod" >&2
		exit 1
	}
	cat replaces >>go.mod
	go mod edit -go="$(sed -n 's/^go //p' "$mod")" \
		-require="k8s.io/kubernetes@v$version"
	# The version is what the server calls itself; without it, it is v0.0.0-master.
	set -- -X "k8s.io/component-base/version.gitVersion=v$version" \
		-X k8s.io/component-base/version.gitMajor=1 \
		-X "k8s.io/component-base/version.gitMinor=$(echo "$version" | cut -d. -f2)"
	CGO_ENABLED=0 go build -mod=mod -p 2 -trimpath -ldflags "-s -w $*" -o "$program.new" \
		k8s.io/kubernetes/cmd/kube-apiserver >&2
	mv "$program.new" "$program"
	cd "$dir"
	rm -rf "$src"
fi
echo "$program"
