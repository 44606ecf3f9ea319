#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build CPython of Debian's source in ways that no package has, once each, in the cache: 3.11 linked
# statically (3.11s), with musl (3.11m), with musl statically (3.11n), and 3.13 without the global
# lock (3.13t). Some 3 minutes of CPU time each. Only 3.13t has modules in C that are files. Prints
# "VERSION PROGRAM HOME" for each.
#
#     build_python.sh VERSION...
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}/built-python
work=$cache.tmp

fail() {
	echo "$*" >&2
	exit 1
}

# musl-gcc says that it makes programs for glibc.
make_musl_cc() {
	cat >"$work/musl-cc" <<'END'
#!/bin/sh
case "$*" in
*print-multiarch*) echo "$(uname -m)-linux-musl" ;;
*) exec musl-gcc "$@" ;;
esac
END
	chmod 755 "$work/musl-cc"
}

# build VERSION PACKAGE SUITE COMPILER LDFLAGS OPTION: SUITE "" is the host's.
build() {
	rm -rf "$work" "${cache:?}/$1"
	mkdir -p "$work/build" "$cache/$1/lib"
	sh "$here/source.sh" "$work" "$2" ${3:+"$3"} || fail "no source of $2"
	source=$(find "$work" -mindepth 1 -maxdepth 1 -name "$2-*" -type d)
	make_musl_cc
	cd "$work/build"
	"$source/configure" CC="$4" CFLAGS=-O2 LDFLAGS="$5" --without-ensurepip ${6:+"$6"} \
		--disable-test-modules ac_cv_func_getaddrinfo=yes >"$work/log" 2>&1 ||
		fail "$1 is not configured: $work/log"
	case $1 in *t) export="-Wl,--export-dynamic" ;; *) export=" " ;; esac
	make -j2 LINKFORSHARED="$export" python >>"$work/log" 2>&1 || fail "$1 is not built: $work/log"
	rm -rf "$source/Lib/test"
	lib=$cache/$1/lib/$2${1##*[0-9msn]}
	cp python "$cache/$1/python"
	cp -r "$source/Lib" "$lib"
	if [ "$export" != " " ]; then
		make -j2 LINKFORSHARED="$export" sharedmods >>"$work/log" 2>&1 ||
			fail "$1 has no modules: $work/log"
		mkdir "$lib/lib-dynload"
		cp build/lib.*/*.so "$lib/lib-dynload/"
	fi
	touch "$cache/$1/done"
	rm -rf "$work"
}

for tool in apt-get dpkg-source gcc musl-gcc make; do
	command -v $tool >/dev/null || fail "no $tool"
done
for version in "$@"; do
	[ -e "$cache/$version/done" ] || case $version in
	3.11s) build 3.11s python3.11 "" gcc -static "" ;;
	3.11m) build 3.11m python3.11 "" "$work/musl-cc" "" "" ;;
	3.11n) build 3.11n python3.11 "" "$work/musl-cc" -static "" ;;
	3.13t) build 3.13t python3.13 trixie gcc "" --disable-gil ;;
	*) fail "$version is not known" ;;
	esac
	echo "$version $cache/$version/python $cache/$version"
done
