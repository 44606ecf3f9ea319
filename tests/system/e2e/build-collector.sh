#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build the Collector of examples/collector/builder.yaml with the Collector's own builder and
# print the path of the program:
#
#     sh tests/system/e2e/build-collector.sh [VERSION]
#
# VERSION is 0.159.0 (the default) or another that stands below. The library is built from
# this tree and installed beside the program, which finds it there. Nothing is built again
# that has not changed. With nothing cached the first version costs about 4 minutes of CPU
# time and the next 2; a change of the receiver 20 s.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
example=$top/examples/collector
version=${1:-${COLLECTOR_VERSION:-0.159.0}}
base=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}/collector
dir=$base/$version
program=$dir/otelcol-test
prefix=$base/prefix
core=go.opentelemetry.io/collector

# The stable modules' version, and those of k8sattributesprocessor and filterprocessor.
case $version in
0.159.0) providers=1.65.0 k8s=0.159.0 filter=0.159.0 ;;
# k8sattributesprocessor v1.3 and filterprocessor v0.164 are this version's, but need modules that
# proxies may lack.
0.164.0) providers=1.70.0 k8s=1.2.0 filter=0.161.0 ;;
*)
	echo "build-collector.sh: no versions of modules are known for $version" >&2
	exit 2
	;;
esac

mkdir -p "$dir"
exec 9>"$base/lock"
flock 9

library() {
	# A build of another tree would install that one's headers and library.
	[ "$(cat "$base/lib-source" 2>/dev/null)" = "$top" ] || rm -rf "$base/lib-build"
	echo "$top" >"$base/lib-source"
	[ -f "$base/lib-build/build.ninja" ] ||
		meson setup "$base/lib-build" "$top" --buildtype=release -Dtests=false \
			-Dgrpc=disabled --prefix="$prefix" --libdir=lib >"$base/lib.log" 2>&1
	meson install -C "$base/lib-build" >>"$base/lib.log" 2>&1
}

# What the program is made of; the library is shared, and so not part of it.
sources() {
	cd "$top"
	go version
	find tests/system/e2e/build-collector.sh examples/collector/builder.yaml include/otelprof \
		examples/collector/otelprofreceiver -type f ! -name '*_test.go' |
		LC_ALL=C sort | xargs sha256sum
}

manifest() {
	sed -e "s/v0\.159\.0/v$version/" -e "s/v1\.65\.0/v$providers/" \
		-e "s/\(k8sattributesprocessor\) v.*/\1 v$k8s/" \
		-e "s/\(filterprocessor\) v.*/\1 v$filter/" \
		-e "s/^\( *version:\) .*/\1 $version/" \
		-e "s|path: \./|path: $example/|" \
		-e "s|\(output_path:\) .*|\1 $dir/src|" \
		"$example/builder.yaml"
}

# A module of the Collector's insides from v0.163 on, which proxies may lack: before, it was
# part of the root module, and what that holds is enough.
stand_in() {
	inside=$core/internal/statusutil
	case $version in 0.159.0) return ;; esac
	! (cd "$dir" && go mod download "$inside@v$version" 2>/dev/null) || return 0
	old=$(cd "$dir" && go mod download -json "$core@v0.162.0" |
		sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
	mkdir -p "$dir/statusutil"
	cp "$old/internal/statusutil/helper.go" "$dir/statusutil/"
	printf 'module %s\n\ngo 1.25\n' "$inside" >"$dir/statusutil/go.mod"
	printf 'replaces:\n  - %s => %s\n' "$inside" "$dir/statusutil"
}

collector() {
	{
		manifest
		stand_in
	} >"$dir/manifest.yaml"
	export CGO_ENABLED=1 PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
	export CGO_LDFLAGS="-Wl,-rpath,$prefix/lib"
	GOBIN=$dir/bin CGO_ENABLED=0 go install "$core/cmd/builder@v$version" || return
	rm -rf "$dir/src"
	# The builder wants what the tests of all modules need; the program itself does not.
	"$dir/bin/builder" --config="$dir/manifest.yaml" ||
		(cd "$dir/src" && go mod tidy -e && go build -trimpath -ldflags="-s -w" \
			-o otelcol-profiling .) || return
	mv "$dir/src/otelcol-profiling" "$program"
	rm -rf "${dir:?}/src" "${dir:?}/bin" "$dir/statusutil"
}

library || {
	tail -n 20 "$base/lib.log" >&2
	exit 1
}
stamp=$(sources | sha256sum)
if [ ! -x "$program" ] || [ "$(cat "$dir/stamp" 2>/dev/null)" != "$stamp" ]; then
	rm -f "$dir/stamp"
	collector >"$dir/build.log" 2>&1 || {
		tail -n 20 "$dir/build.log" >&2
		exit 1
	}
	echo "$stamp" >"$dir/stamp"
fi
echo "$program"
