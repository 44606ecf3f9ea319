#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build and run all that a change must pass. See docs/testing.md.
#
#     sh tests/run.sh [--matrix] [--quick] [--no-install] [--write-matrix] [SUITE...]
#
#     --matrix        every cell of the live tests, the kernels in qemu, real programs, and what
#                     takes long to build: k8s, backends, valgrind
#     --quick         the sanitizer build's suites alone
#     --no-install    do not install packages
#     --write-matrix  write the suites of this run into docs/test-matrix.md, and with --matrix the
#                     versions of runtimes into docs/runtimes/versions.md
#     SUITE           meson live python go php hotspot node mixed jit planted e2e delivery
#                     collector k8s vm backends valgrind packages wild servers hostile: these alone
#
# Ends with "N passed, N failed, N skipped". Exit status: 1 if something failed or, with
# CI=true, if a suite of $OTELPROF_MUST (default: meson live) was skipped.
set -eu

cd "$(dirname "$0")/.."
top=$PWD
out=${OTELPROF_BUILD:-$top/build-tests}
cache=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}
must=${OTELPROF_MUST:-meson live}
matrix= quick= quick_cells=--quick install=yes write= suites=
release= # builds or fails, once that was tried
unset why

for option; do
	case $option in
	--matrix) matrix=yes quick_cells= ;;
	--quick) quick=yes ;;
	--no-install) install= ;;
	--write-matrix) write=yes ;;
	meson | live | python | go | php | hotspot | node | mixed | jit | planted | e2e | delivery | collector | k8s | vm | backends | valgrind | packages | wild | servers | hostile) suites="$suites $option" ;;
	*)
		sed -n '3,18s/^# \{0,1\}//p' "$0"
		exit 2
		;;
	esac
done
if [ -z "$suites" ]; then
	suites=meson
	[ -n "$quick" ] || suites="meson live python go php hotspot node mixed jit planted e2e delivery collector packages hostile"
	[ -z "$matrix" ] || suites="$suites k8s backends valgrind vm wild servers"
fi

mkdir -p "$out"
results=$out/results
: >"$results"

began=$(date +%s)

# A title, and the minutes and seconds since the run began.
say() {
	since=$(($(date +%s) - began))
	printf '\n== %s (%d:%02d)\n' "$*" $((since / 60)) $((since % 60))
}

# One result: STATUS (ok, FAIL, skip) SUITE CELL: TEXT.
result() {
	echo "$*" | tee -a "$results"
}

# Run a command that prints results of $suite itself, into $out/$1.log and, as lines and with
# their figures, into $out/$1.results; all else that it prints is shown.
collect_once() {
	to=$1
	shift
	status=0
	"$@" >"$out/$to.log" 2>&1 || status=$?
	grep -v '^figures ' "$out/$to.log" || true
	grep -E '^(ok|FAIL|skip|figures) [a-z0-9-]+ ' "$out/$to.log" >"$out/$to.results" || true
	case $status in
	0 | 77) ;;
	*)
		grep -q '^FAIL' "$out/$to.results" ||
			echo "FAIL $suite run: exit $status with no result" |
			tee -a "$out/$to.results"
		;;
	esac
}

# Was there a failure in $out/$1.results that a second run may tell to be a matter of luck?
# One or two of many: more are no luck, and would take as long again.
try_again() {
	count=$(grep -c '^FAIL' "$out/$1.results" || true)
	[ "$count" -gt 0 ] && [ "$count" -le 2 ]
}

# The results of $1 and of its second run are one: see "unsteady" in docs/testing.md.
merge() {
	python3 tests/report.py again "$out/$1.results" "$out/$1-again.results" >"$out/$1.merged"
	mv "$out/$1.merged" "$out/$1.results"
	grep -E '^ok .*: unsteady: ' "$out/$1.results" || true
}

# Run suite $1 by the rest of the arguments, once more where a cell or two of it failed.
collect() {
	suite=$1
	shift
	collect_once "$suite" "$@"
	if try_again "$suite"; then
		echo "-- $suite once more, since not all of it passed"
		collect_once "$suite-again" "$@"
		merge "$suite"
	fi
	cat "$out/$suite.results" >>"$results"
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

# Tests of meson in build $dir, named $named in the results, with more options of meson;
# results into $out/$1.results.
meson_once() {
	to=$1
	shift
	log=$dir/meson-logs/testlog.json
	rm -f "$log"
	# A busy machine may need more time than the tests allow themselves.
	meson test -C "$dir" --no-rebuild --print-errorlogs --timeout-multiplier 3 "$@" \
		>"$out/$to.log" 2>&1 ||
		grep -v -E '^ *[0-9]+/[0-9]+ .* (OK|SKIP) ' "$out/$to.log" | tail -n 150
	python3 tests/report.py meson "$named" "$log" >"$out/$to.results"
	grep -E "^(FAIL|skip) $named " "$out/$to.results" || true
}

# The suites of meson in build $1, named $2 in the results, with more options of meson. A test
# or two that failed are run once more, one at a time.
meson_suites() {
	dir=$out/$1
	named=$2
	shift 2
	meson_once "$named" "$@"
	if try_again "$named"; then
		echo "-- once more, since not all passed"
		tests=$(python3 tests/report.py failed "$dir/meson-logs/testlog.json")
		# shellcheck disable=SC2086
		meson_once "$named-again" --num-processes 1 $tests
		merge "$named"
	fi
	cat "$out/$named.results" >>"$results"
}

# Build the release, once a run: an old one would be tested in place of the tree. Where it does
# not build, suite $1 has failed.
have_release() {
	if [ -z "$release" ]; then
		release=fails
		! build release --buildtype=release || release=builds
	fi
	[ "$release" = builds ] || {
		result "FAIL $1 all: the release build fails"
		return 1
	}
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
	# The suite check reads sources alone, and leaks show where the sanitizers look. The suite
	# once is of long tests that another build tells nothing new.
	! have_release release || meson_suites release release \
		--no-suite check --no-suite memory --no-suite once
}

otelprof=$out/release/examples/otelprof/otelprof

# Nothing where otelprof can profile, otherwise why not.
why_not_live() {
	[ "$(id -u)" -eq 0 ] || {
		echo "not root"
		return
	}
	"$otelprof" doctor >"$out/doctor.log" 2>&1 ||
		echo "otelprof doctor: $(grep -i -m 1 missing "$out/doctor.log" || echo failed)"
}

# Run suite $1, titled $2, by the rest of the arguments where otelprof can profile.
live() {
	suite=$1
	say "$2"
	shift 2
	have_release "$suite" || return 0
	: "${why=$(why_not_live)}" # asked once a run
	if [ -n "$why" ]; then
		result "skip $suite all: $why"
	else
		collect "$suite" "$@"
	fi
}

# Suite $1, titled $2, by tests/live/$3 with more options.
truth() {
	suite=$1
	title=$2
	program=tests/live/$3
	shift 3
	live "$suite" "$title" python3 "$program" --otelprof "$otelprof" --dir "$out/truth" "$@"
}

run_live() {
	# shellcheck disable=SC2086
	truth truth "known-answer programs" languages/native/run.py $quick_cells
	truth robust "a host that is not as it should be" host/robust.py
	truth changing "files that change" host/changing.py
	truth identity "whose samples they are" host/identity.py
}

run_python() {
	# shellcheck disable=SC2086
	truth python "Python" languages/python/python.py $quick_cells
}

run_go() {
	# shellcheck disable=SC2086
	truth go "Go" languages/go/golang.py $quick_cells
}

run_php() {
	# shellcheck disable=SC2086
	live php "PHP" python3 tests/live/languages/php/php.py --otelprof "$otelprof" --dir "$out/php" $quick_cells
}

# --quick takes the JDK of this host; the others are fetched into the cache.
run_hotspot() {
	# shellcheck disable=SC2086
	live hotspot "HotSpot" python3 tests/live/languages/hotspot/hotspot.py --otelprof "$otelprof" \
		--dir "$out/truth" --root "${OTELPROF_JDKS:-$cache/sid-jdk}" $quick_cells
}

run_jit() {
	live jit "code that names itself in perf maps" python3 tests/live/languages/jit/jit.py \
		--otelprof "$otelprof" --dir "$out/jit"
}

run_planted() {
	live planted "planted hot spots in the report for assistants" \
		python3 tests/live/planted/planted.py --otelprof "$otelprof" --dir "$out/planted"
}

# --quick takes one version; all are fetched into the cache.
run_node() {
	# shellcheck disable=SC2086
	live node "Node.js" python3 tests/live/languages/node/node.py --otelprof "$otelprof" --dir "$out/node" \
		$quick_cells
}

run_e2e() {
	live e2e "a real Collector" sh tests/system/e2e/run.sh "$otelprof" "$out/e2e"
}

# After e2e, which builds the Collector.
run_delivery() {
	say "outages"
	! have_release delivery || collect delivery sh tests/live/transports/run.sh "$out/release"
}

run_collector() {
	live collector "the receiver in Collectors" sh tests/system/collector/run.sh "$out/collector"
}

# After e2e, which builds the Collector.
run_k8s() {
	live k8s "Kubernetes" sh tests/system/k8s/run.sh "$otelprof" "$out/k8s"
}

run_backends() {
	live backends "what backends make of it" python3 tests/system/backends/run.py \
		--otelprof "$otelprof" --write "$out/release/tests/system/otlp/otlp_write" --dir "$out/backends"
}

run_valgrind() {
	say "unit tests under valgrind"
	collect valgrind sh tests/system/valgrind/run.sh "$out/valgrind"
}

run_packages() {
	say "Debian packages, licences, scripts"
	cells="licences sbom shell yaml chart site unit build lintian"
	[ -z "$matrix" ] || cells=
	# shellcheck disable=SC2086
	collect packages python3 tests/system/packages/packages.py --dir "$out/packages" $cells
	live image "the container image" python3 tests/system/packages/image.py --otelprof "$otelprof" \
		--packages "$out/packages/build" --dir "$out/image"
}

run_vm() {
	say "kernels"
	have_release vm || return 0
	collect vm python3 tests/system/vm/vm.py --build "$out/release" --dir "$out/vm"
	say "kernels of aarch64"
	collect vm-arm64 python3 tests/system/vm/vm.py --arch aarch64 --dir "$out/vm"
}

# Packages of four registries: what is not there is skipped.
run_servers() {
	live servers "servers and jobs beside the runtimes' own profilers" \
		python3 tests/system/servers/run.py --otelprof "$otelprof" --dir "$out/servers"
}

run_hostile() {
	live hostile "hostile programs" python3 tests/live/hostile/hostile.py --otelprof "$otelprof" \
		--dir "$out/hostile" none all
}

# Too many packages for other suites: where they are not, its programs are skipped.
run_mixed() {
	live mixed "several runtimes, and short scripts" python3 tests/live/languages/mixed/mixed.py \
		--otelprof "$otelprof" --dir "$out/mixed"
}

run_wild() {
	[ -z "$install" ] || sh examples/install.sh wild || echo "goes on without"
	live wild "real programs" sh tests/system/wild/run.sh --otelprof "$otelprof" --why
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
	$report matrix "$results" "$commit" docs/test-matrix.md >"$out/test-matrix.md"
	mv "$out/test-matrix.md" docs/test-matrix.md
	if [ -n "$matrix" ]; then
		table=docs/runtimes/versions.md
		python3 tests/live/languages/versions.py "$results" "$commit" $table >"$out/versions.md"
		mv "$out/versions.md" $table
	fi
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
