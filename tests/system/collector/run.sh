#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The Collector's receiver: its own tests with Go, and pipelines of Collectors that are built
# with it.
#
#     sh tests/system/collector/run.sh DIR
#
# Collectors are built once into $OTELPROF_CACHE (tests/system/e2e/build-collector.sh); one that is
# not there yet is left out and said, unless OTELPROF_E2E=1 or CI=true.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
cache=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}
oldest=0.148.0 stable=1.54.0 # what the receiver's go.mod asks for
newest=0.164.0 newest_stable=1.70.0
versions="0.159.0 $newest"
mkdir -p "$1"
dir=$(cd "$1" && pwd)
failed= passed=

make=
[ "${OTELPROF_E2E:-}" != 1 ] && [ "${CI:-}" != true ] || make=yes

say() {
	echo "$1 collector $2: $3"
	case $1 in
	FAIL) failed=yes ;;
	ok) passed=yes ;;
	esac
}

# Go 1.26 or later can build today's Collector.
if ! command -v go >/dev/null || ! go version | grep -q -E 'go(1\.(2[6-9]|[3-9][0-9])|[2-9])'; then
	say skip all "needs Go 1.26 or later"
	exit 77
fi

collectors=
for version in $versions; do
	if [ ! -x "$cache/collector/$version/otelcol-test" ] && [ -z "$make" ]; then
		say skip "build-$version" "not built (OTELPROF_E2E=1 builds it)"
		continue
	fi
	start=$(date +%s)
	if program=$(nice sh "$top/tests/system/e2e/build-collector.sh" "$version"); then
		say ok "build-$version" "$(($(date +%s) - start)) s"
		collectors="$collectors --collector $program"
	else
		say FAIL "build-$version" "does not build"
	fi
done
if [ -z "$collectors" ]; then
	[ -z "$failed" ] || exit 1
	exit 77
fi

# The receiver's tests, in directory $2 with options $3.
go_tests() {
	start=$(date +%s)
	# shellcheck disable=SC2086
	if (cd "$2" && go vet ./... && OTELPROF_LIVE=1 nice go test $3 ./... -v) >"$dir/$1.log" 2>&1; then
		say ok "$1" "$(grep -c '^--- PASS' "$dir/$1.log") passed, $(($(date +%s) - start)) s $(
			sed -n 's/.*: \(before .*\)/(\1)/p' "$dir/$1.log")"
	else
		say FAIL "$1" "see $dir/$1.log"
		grep -v -E '^ *(--- PASS|=== )' "$dir/$1.log" | tail -n 30
	fi
}

export PKG_CONFIG_PATH="$cache/collector/prefix/lib/pkgconfig"
export CGO_ENABLED=1 CGO_LDFLAGS="-Wl,-rpath,$cache/collector/prefix/lib"
receiver=$top/examples/collector/otelprofreceiver
if [ -z "$(gofmt -l "$receiver")" ]; then
	say ok gofmt "$receiver"
else
	say FAIL gofmt "$(gofmt -l "$receiver")"
fi
go_tests "go-$oldest" "$receiver" ""
go_tests "go-$oldest-asan" "$receiver" "-asan -short" # leaks fail it, the library's too
rm -rf "$dir/newest"
cp -r "$receiver" "$dir/newest"
sed -i "s/v$oldest/v$newest/; s/v$stable/v$newest_stable/" "$dir/newest/go.mod"
if (cd "$dir/newest" && go mod tidy) >"$dir/newest.log" 2>&1; then
	go_tests "go-$newest" "$dir/newest" "-race -short"
else
	say FAIL "go-$newest" "$(tail -n 1 "$dir/newest.log")"
fi

# shellcheck disable=SC2086
status=0
python3 "$here/collector.py" --dir "$dir" --configs "$top/examples/collector" $collectors ||
	status=$?
case $status in
0) passed=yes ;;
77) ;;
*) failed=yes ;;
esac
[ -z "$failed" ] || exit 1
[ -n "$passed" ] || exit 77
