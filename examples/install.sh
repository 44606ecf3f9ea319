#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Install the Debian packages that building needs, and with arguments more:
#
#     sh examples/install.sh           to build and run
#     sh examples/install.sh tests     and for tests/run.sh
#     sh examples/install.sh matrix    and for tests/run.sh --matrix
#     sh examples/install.sh wild      to build, and for tests/system/wild/run.sh
#
# Nothing is done where all of them are there already.
set -eu

packages="
	bpftool clang-14 llvm-14 gcc libc6-dev meson ninja-build pkg-config python3
	libbpf-dev libelf-dev libdw-dev libdeflate-dev zlib1g-dev libzstd-dev liblzma-dev libiberty-dev
	libssl-dev libbsd-dev nanopb libnanopb-dev protobuf-compiler libgrpc-dev libcurl4-openssl-dev
	libjson-c-dev libncurses-dev scdoc"
tests="
	g++ binutils musl-tools rustc-web cargo-web golang-go xz-utils python3-protobuf procps
	libbz2-dev libuv1-dev
	ca-certificates openssl python3-venv python3-yaml runc iproute2
	libc6-dev-arm64-cross gcc-aarch64-linux-gnu clang-format-14 valgrind
	abigail-tools build-essential chromium debhelper debootstrap debuginfod dpkg-dev dwz elfutils
	erlang-base erlang-dev fakeroot fish git linux-perf lintian luajit mmdebstrap openjdk-17-jdk-headless perl shellcheck systemd
	php8.2-cli php8.2-opcache tmux uidmap umoci uwsgi-core uwsgi-plugin-python3 yamllint zsh"
wild="
	erlang-base ghc gprolog guile-3.0 luajit ocaml-nox php8.2-cli
	pypy3 python3-capstone python3-venv qemu-user-static r-base-core sbcl
	p7zip-full brotli cargo-web chromium ffmpeg flac g++ gawk gccgo-12 ghostscript golang-go
	graphviz imagemagick libjxl-tools lld mariadb-server memcached musl-tools
	nginx-light openssl postgresql postgresql-contrib redis-server redis-tools sqlite3
	util-linux wrk x265 xz-utils zstd
	apache2 chicken-bin crystal fpc gforth gnat gstreamer1.0-plugins-base gstreamer1.0-plugins-good
	gstreamer1.0-tools ldc libchicken-dev libnginx-mod-http-lua llvm-14-runtime mono-mcs mono-runtime
	nim polyml racket tcc"
matrix="
	qemu-system-x86 qemu-system-arm qemu-user-static g++-aarch64-linux-gnu e2fsprogs util-linux
	libphp8.2-embed php8.2-dev libpython3.11-dev wrk maven"

case ${1:-} in
tests) packages="$packages $tests" ;;
matrix) packages="$packages $tests $matrix" ;;
wild) packages="$packages $wild" ;;
esac

# A tool that is installed from another source (such as a newer Go) is not installed
# again.
missing=
for package in $packages; do
	case $package in
	golang-go) ! command -v go >/dev/null || continue ;;
	rustc-web) ! command -v rustc >/dev/null || continue ;;
	openjdk-*) ! command -v javac >/dev/null || continue ;;
	cargo-web) ! command -v cargo >/dev/null || continue ;;
	esac
	status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
	[ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
	echo "install.sh: as root: apt-get install$missing" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
# Prevent the servers of these packages from being started.
policy=/usr/sbin/policy-rc.d
if [ "${1:-}" = wild ] && [ ! -e $policy ]; then
	trap 'rm -f $policy' EXIT
	printf '#!/bin/sh\nexit 101\n' >$policy
	chmod 755 $policy
fi
apt-get -qq update
# shellcheck disable=SC2086
apt-get -qq install -y --no-install-recommends $missing >/dev/null
