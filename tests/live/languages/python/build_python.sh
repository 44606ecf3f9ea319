#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build CPython 3.11 of Debian's source in ways that no package has, once, in the cache: linked
# statically (s), with musl (m), with musl statically (n). Some 3 minutes of CPU time, without
# modules in C that are files. Prints "LETTER PROGRAM HOME" for each.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
out=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}/odd-python
work=$out.tmp

fail() {
	echo "$*" >&2
	exit 1
}

tell() {
	for letter in s m n; do
		echo "$letter $out/$letter/python $out"
	done
	exit
}

[ ! -e "$out/done" ] || tell
for tool in apt-get dpkg-source gcc musl-gcc make; do
	command -v $tool >/dev/null || fail "no $tool"
done
rm -rf "$work" "$out"
mkdir -p "$work"
cd "$work"
sh "$here/source.sh" "$work" python3.11 || fail "no source of python3.11"
source=$(find "$work" -mindepth 1 -maxdepth 1 -name 'python3.11-*' -type d)

# musl-gcc says that it makes programs for glibc.
cat >musl-cc <<'END'
#!/bin/sh
case "$*" in
*print-multiarch*) echo "$(uname -m)-linux-musl" ;;
*) exec musl-gcc "$@" ;;
esac
END
chmod 755 musl-cc

# build FOLDER COMPILER FLAGS
build() {
	mkdir -p "$work/$1"
	cd "$work/$1"
	"$source/configure" CC="$2" CFLAGS=-O2 LDFLAGS="$3" --without-ensurepip \
		--disable-test-modules ac_cv_func_getaddrinfo=yes >>"$work/log" 2>&1 ||
		fail "$1 is not configured: $work/log"
	make -j2 LINKFORSHARED=" " python >>"$work/log" 2>&1 || fail "$1 is not built: $work/log"
	mkdir -p "$out/$1"
	cp python "$out/$1/python"
}

build s gcc -static
build n "$work/musl-cc" -static
build m "$work/musl-cc" ""
mkdir -p "$out/lib"
rm -rf "$source/Lib/test"
cp -r "$source/Lib" "$out/lib/python3.11"
touch "$out/done"
rm -rf "$work"
tell
