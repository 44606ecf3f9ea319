#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Debian roots with a PHP each, from debootstrap, which checks the archive's signatures.
# Prints "VERSION ROOT" for each. Roots named in OTELPROF_CHROOTS (spaces between) and this
# machine's own are taken where they have that PHP with OPcache; others are made in the cache,
# about 200 MB each.
#
#     tests/live/languages/php/fetch.sh [VERSION...]   default: 7.4 8.2 8.4 8.5 8.6 8.2-zts
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/live/framework/root.sh
. "$here/../../framework/root.sh"
cache=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}/roots

suite_of() {
	case $1 in
	7.4) echo bullseye ;;
	8.2) echo bookworm ;;
	8.4) echo trixie ;;
	8.5 | 8.6) echo sid ;; # and experimental over it
	*)
		echo "no Debian suite is known for PHP $1" >&2
		return 1
		;;
	esac
}

# From 8.5 on OPcache is a part of PHP.
add_php() {
	case $1 in
	*8.5*) add_experimental "$1" php8.5-cli ;;
	*) add_experimental "$1" php8.6-cli/experimental php8.6-common/experimental \
		php8.6-readline/experimental php-common/experimental ;;
	esac
}

fetch() (
	set -eu
	for root in ${OTELPROF_CHROOTS:-} "$cache/php$1" /; do
		if [ -x "$root/usr/bin/php$1" ] && chroot "$root" "/usr/bin/php$1" -r \
			'exit(extension_loaded("Zend OPcache") ? 0 : 1);' 2>/dev/null; then
			echo "$1 $root"
			exit
		fi
	done
	if [ "$1" = 8.2-zts ]; then
		sh "$here/build_zts.sh" "$cache/php$1" || exit 1
		echo "$1 $cache/php$1"
		exit
	fi
	suite=$(suite_of "$1")
	if [ "$suite" = sid ]; then
		make_root "$cache/php$1" sid ca-certificates add_php || exit 1
	else
		make_root "$cache/php$1" "$suite" "php$1-cli,php$1-opcache" || exit 1
	fi
	echo "$1 $cache/php$1"
)

[ $# -gt 0 ] || set -- 7.4 8.2 8.4 8.5 8.6 8.2-zts
mkdir -p "$cache"
status=0
for version in "$@"; do
	fetch "$version" || status=1
done
exit $status
