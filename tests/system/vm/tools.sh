#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Write into folder $1 what builds for aarch64: tools named as the known-answer programs call
# them (gcc, g++, strip, objcopy, rustc, go), and cross.ini for meson.
#
#     tests/system/vm/tools.sh DIR SYSROOT RUST
set -eu

dir=$1 sysroot=$2 rust=$3
go=$(command -v go || true)
meson_lib=$sysroot/usr/lib/aarch64-linux-gnu
mkdir -p "$dir/bin"

# $1: name, the rest: command before its arguments
tool() {
	name=$1
	shift
	printf '#!/bin/sh\nexec %s "$@"\n' "$*" >"$dir/bin/$name"
	chmod +x "$dir/bin/$name"
}

tool gcc "/usr/bin/aarch64-linux-gnu-gcc --sysroot=$sysroot"
tool g++ "/usr/bin/aarch64-linux-gnu-g++ --sysroot=$sysroot"
tool strip /usr/bin/aarch64-linux-gnu-strip
tool objcopy /usr/bin/aarch64-linux-gnu-objcopy
tool clang-14 "/usr/bin/clang-14 --target=aarch64-linux-gnu --sysroot=$sysroot"
tool rustc "env LD_LIBRARY_PATH=$rust/usr/lib/x86_64-linux-gnu $rust/usr/bin/rustc" \
	"--sysroot $sysroot/usr --target aarch64-unknown-linux-gnu -C linker=$dir/bin/gcc"
[ -z "$go" ] || tool go "env CGO_ENABLED=0 GOARCH=arm64 $go"
# There is no musl for it: the cells that need one say so.
rm -f "$dir/bin/musl-gcc"

cat >"$dir/cross.ini" <<INI
[binaries]
c = '$dir/bin/gcc'
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'

[properties]
sys_root = '$sysroot'
pkg_config_libdir = ['$meson_lib/pkgconfig', '$sysroot/usr/share/pkgconfig']
needs_exe_wrapper = true

[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
INI
