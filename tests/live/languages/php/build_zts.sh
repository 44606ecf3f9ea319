#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build PHP 8.2 of Debian's source for threads (ZTS), which no package has, once, in the cache. Some
# 8 minutes of CPU time. ROOT gets /usr/bin/php8.2-zts, with OPcache, and the libraries it needs.
#
#     build_zts.sh ROOT
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$1
work=$root.tmp

fail() {
	echo "$*" >&2
	exit 1
}

for tool in apt-get dpkg-source gcc make; do
	command -v $tool >/dev/null || fail "no $tool"
done
rm -rf "$work" "$root"
mkdir -p "$work"
sh "$here/../python/source.sh" "$work" php8.2 || fail "no source of php8.2"
cd "$(find "$work" -mindepth 1 -maxdepth 1 -name 'php8.2-*' -type d)"
{
	./configure --disable-all --enable-zts --enable-opcache --with-config-file-path=/etc CFLAGS=-O2 &&
		make -j2
} >"$work/log" 2>&1 || fail "PHP is not built: $work/log"
new=$work/root
mkdir -p "$new/usr/bin" "$new/usr/lib" "$new/etc" "$new/tmp"
cp sapi/cli/php "$new/usr/bin/php8.2-zts"
cp modules/opcache.so "$new/usr/lib/"
echo zend_extension=/usr/lib/opcache.so >"$new/etc/php.ini"
ldd sapi/cli/php modules/opcache.so | grep -o '/[^ :]*\.so[^ :]*' | sort -u | while read -r file; do
	mkdir -p "$new$(dirname "$file")"
	cp -L "$file" "$new$file"
done
mv "$new" "$root"
rm -rf "$work"
