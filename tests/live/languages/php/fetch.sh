#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Debian roots with a PHP each, from debootstrap, which checks the archive's signatures.
# Prints "VERSION ROOT" for each. Roots named in OTELPROF_CHROOTS (spaces between) and this
# machine's own are taken where they have that PHP with OPcache; others are made in the cache,
# about 200 MB each.
#
#     tests/live/languages/php/fetch.sh [VERSION...]        default: 7.4 8.2 8.4
set -eu

# shellcheck source=tests/live/framework/root.sh
. "$(dirname "$0")/../../framework/root.sh"
cache=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}/roots

suite_of() {
	case $1 in
	7.4) echo bullseye ;;
	8.2) echo bookworm ;;
	8.4) echo trixie ;;
	*)
		echo "no Debian suite is known for PHP $1" >&2
		return 1
		;;
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
	suite=$(suite_of "$1")
	make_root "$cache/php$1" "$suite" "php$1-cli,php$1-opcache" || exit 1
	echo "$1 $cache/php$1"
)

[ $# -gt 0 ] || set -- 7.4 8.2 8.4
mkdir -p "$cache"
status=0
for version in "$@"; do
	fetch "$version" || status=1
done
exit $status
