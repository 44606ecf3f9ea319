#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build and run all that a change must pass. See docs/testing.md.
#
#     sh tests/run.sh [--matrix] [--quick] [--no-install] [--write-matrix] [SUITE...]
#
#     --matrix        every cell of the live tests, and the kernels in qemu
#     --quick         the sanitizer build's suites alone
#     --no-install    do not install packages
#     --write-matrix  write docs/test-matrix.md from this run
#     SUITE           meson live python e2e delivery collector k8s vm backends
#                     valgrind: these alone
#
# Ends with "N passed, N failed, N skipped". Exit status: 1 if something failed or, with
# CI=true, if a suite of $OTELPROF_MUST (default: meson live) was skipped.
set -eu

cd "$(dirname "$0")/.."
top=$PWD
out=${OTELPROF_BUILD:-$top/build-tests}
cache=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}
must=${OTELPROF_MUST:-meson live}
matrix= quick= install=yes write= suites=

for option; do
	case $option in
	--matrix) matrix=yes ;;
	--quick) quick=yes ;;
	--no-install) install= ;;
	--write-matrix) write=yes ;;
	meson | live | python | e2e | delivery | collector | k8s | vm | backends | valgrind) suites="$suites $option" ;;
	*)
		sed -n '3,16s/^# \{0,1\}//p' "$0"
		exit 2
		;;
	esac
done
if [ -z "$suites" ]; then
	suites=meson
	[ -n "$quick" ] || suites="meson live python e2e delivery collector k8s backends valgrind"
	[ -z "$matrix" ] || suites="$suites vm"
fi

mkdir -p "$out"
results=$out/results
: >"$results"

say() {
	printf '\n== %s\n' "$*"
}

# One result: STATUS (ok, FAIL, skip) SUITE CELL: TEXT.
result() {
	echo "$*" | tee -a "$results"
}

# Run a command that prints results itself; all it prints is shown.
collect() {
	suite=$1
	shift
	status=0
	"$@" >"$out/$suite.log" 2>&1 || status=$?
	cat "$out/$suite.log"
	grep -E '^(ok|FAIL|skip) [a-z0-9]+ ' "$out/$suite.log" >>"$results" || true
	case $status in
	0 | 77) ;;
	*)
		grep -q '^FAIL' "$out/$suite.log" ||
			result "FAIL $suite run: exit $status with no result"
		;;
	esac
}

# Configure (once) and build $1 with the rest of the arguments.
build() {
	dir=$out/$1
	shift
	if [ ! -f "$dir/build.ninja" ]; then
		meson setup "$dir" "$@" >"$dir.log" 2>&1 || {
			tail -n 20 "$dir.log"
			return 1
		}
	fi
	ninja -C "$dir" >"$dir.log" 2>&1 || {
		tail -n 40 "$dir.log"
		return 1
	}
}

# The suites of meson in build $1, named $2 in the results.
meson_suites() {
	rm -f "$out/$1/meson-logs/testlog.json"
	meson test -C "$out/$1" --no-rebuild --print-errorlogs >"$out/$1.tests.log" 2>&1 ||
		grep -v -E '^ *[0-9]+/[0-9]+ .* (OK|SKIP) ' "$out/$1.tests.log" | tail -n 150
	python3 tests/report.py meson "$2" "$out/$1/meson-logs/testlog.json" >>"$results"
	grep -E "^(FAIL|skip) $2 " "$results" || true
}

run_meson() {
	say "sanitizer build and its suites"
	if build dev --native-file tests/dev.ini; then
		meson_suites dev sanitized
	else
		result "FAIL sanitized build: does not build"
	fi
	[ -z "$quick" ] || return 0
	say "release build and its suites"
	if build release --buildtype=release; then
		meson_suites release release
	else
		result "FAIL release build: does not build"
	fi
}

otelprof=$out/release/examples/otelprof/otelprof

# Whether live tests can run here; otherwise the reason.
why_not_live() {
	# Always: an old binary would be tested in place of the tree.
	build release --buildtype=release >"$out/why.log" 2>&1 || {
		echo "the release build fails"
		return
	}
	[ "$(id -u)" -eq 0 ] || {
		echo "not root"
		return
	}
	"$otelprof" doctor >"$out/doctor.log" 2>&1 || {
		echo "otelprof doctor: $(grep -i -m 1 missing "$out/doctor.log" || echo failed)"
	}
}

run_live() {
	say "known-answer programs"
	why=$(why_not_live)
	case $why in
	'') ;;
	the*)
		result "FAIL live all: $why"
		return
		;;
	*)
		result "skip live all: $why"
		return
		;;
	esac
	option=--quick
	[ -z "$matrix" ] || option=
	# shellcheck disable=SC2086
	collect truth python3 tests/truth/run.py --otelprof "$otelprof" --dir "$out/truth" $option
	collect robust python3 tests/truth/robust.py --otelprof "$otelprof" --dir "$out/truth"
	collect changing python3 tests/truth/changing.py --otelprof "$otelprof" \
		--dir "$out/truth"
	collect identity python3 tests/truth/identity.py --otelprof "$otelprof" \
		--dir "$out/truth"
}

run_python() {
	say "Python"
	why=$(why_not_live)
	if [ -n "$why" ]; then
		result "skip python all: $why"
	else
		option=--quick
		[ -z "$matrix" ] || option=
		# shellcheck disable=SC2086
		collect python python3 tests/truth/python.py --otelprof "$otelprof" \
			--dir "$out/truth" $option
	fi
}

run_e2e() {
	say "a real Collector"
	why=$(why_not_live)
	if [ -n "$why" ]; then
		result "skip e2e all: $why"
	else
		collect e2e sh tests/e2e/run.sh "$otelprof" "$out/e2e"
	fi
}

# After e2e, which builds the Collector.
run_delivery() {
	say "outages"
	if build release --buildtype=release; then
		collect delivery sh tests/export/run.sh "$out/release"
	else
		result "FAIL delivery all: the release build fails"
	fi
}

run_collector() {
	say "the receiver in Collectors"
	why=$(why_not_live)
	if [ -n "$why" ]; then
		result "skip collector all: $why"
	else
		collect collector sh tests/collector/run.sh "$out/collector"
	fi
}

# After e2e, which builds the Collector.
run_k8s() {
	say "Kubernetes"
	why=$(why_not_live)
	if [ -n "$why" ]; then
		result "skip k8s all: $why"
	else
		collect k8s sh tests/k8s/run.sh "$otelprof" "$out/k8s"
	fi
}

run_backends() {
	say "what backends make of it"
	why=$(why_not_live)
	if [ -n "$why" ]; then
		result "skip backends all: $why"
	else
		collect backends python3 tests/backends/run.py --otelprof "$otelprof" \
			--write "$out/release/tests/otlp/otlp_write" --dir "$out/backends"
	fi
}

run_valgrind() {
	say "unit tests under valgrind"
	collect valgrind sh tests/valgrind/run.sh "$out/valgrind"
}

run_vm() {
	say "kernels"
	build release --buildtype=release || {
		result "FAIL vm all: the release build fails"
		return
	}
	python3 tests/truth/build.py "$out/truth" c-gcc >/dev/null
	collect vm python3 tests/vm/vm.py --build "$out/release" --truth "$out/truth" \
		--logs "$out/vm"
}

if [ -n "$install" ]; then
	say "packages"
	list=tests
	[ -z "$matrix" ] || list=matrix
	sh examples/install.sh $list || echo "goes on without"
fi
export OTELPROF_CACHE="$cache"
for suite in $suites; do
	"run_$suite"
done

say "summary"
report="python3 tests/report.py"
if [ -n "$write" ]; then
	commit=$(git describe --always --dirty 2>/dev/null || echo "no git")
	$report matrix "$results" "$commit" "$suites" >docs/test-matrix.md
fi
$report summary "$results"
missed=
if [ "${CI:-}" = true ]; then
	for suite in $must; do
		case $suite in
		meson) grep -q '^ok sanitized ' "$results" || missed="$missed meson" ;;
		live) grep -q '^ok truth ' "$results" || missed="$missed live" ;;
		*) grep -q "^ok $suite " "$results" || missed="$missed $suite" ;;
		esac
	done
	[ -z "$missed" ] || echo "must run here and did not:$missed"
fi
$report count "$results"
! grep -q '^FAIL' "$results" && [ -z "$missed" ]
