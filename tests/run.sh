#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build and run what a change must pass. See docs/testing.md.
#
#     sh tests/run.sh [--full | --matrix] [--no-install] [--write-versions] [--list] [SUITE...]
#
#     --full          every test, in both builds, and real Collectors; an hour and a quarter
#     --matrix        also every version of the runtimes, the kernels in qemu, real programs and
#                     servers
#     --no-install    install no packages
#     --write-versions  write what this run measured of runtimes into docs/runtimes/versions.md
#     --list          only print the suites of the level
#     SUITE           these alone, of whatever level
#
# Ends with "N passed, N failed, N skipped". Exit status: 1 if something failed or, with CI=true,
# if a suite that must run was skipped.
set -eu

cd "$(dirname "$0")/.."
packages=tests
for option; do
	case $option in
	--no-install | --list) packages= ;;
	--matrix) packages=${packages:+matrix wild} ;;
	--full | --write-versions) ;;
	-*)
		sed -n '3,17s/^# \{0,1\}//p' "$0"
		exit 2
		;;
	esac
done
for list in $packages; do
	sh examples/install.sh "$list" || echo "goes on without"
done
exec python3 tests/run.py "$@"
