#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unpack the source of a package into a folder, from the archives of Debian that this host has
# packages from. Changes nothing on the host, and needs no root rights.
#
#     source.sh FOLDER PACKAGE [SUITE]     default: the host's
set -eu

folder=$1
package=$2
mkdir -p "$folder/apt/lists/partial" "$folder/apt/sources.d"
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
	if [ -f "$file" ] && grep -q debian "$file"; then
		sed "s/^Types:.*/Types: deb-src/; s/^deb /deb-src /${3:+; s/^Suites:.*/Suites: $3/}" "$file" \
			>"$folder/apt/sources.d/$(basename "$file")"
	fi
done
cd "$folder"

ask() {
	tool=$1
	shift
	"$tool" -q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$folder/apt/sources.d" \
		-o Dir::State::Lists="$folder/apt/lists" -o Dir::Cache::pkgcache= \
		-o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root \
		-o Acquire::Languages=none "$@" 2>>apt/log
}

ask apt-get update >>apt/log || true # an archive without sources is no matter
# An index may be newer than what its archive still has.
for version in $(ask apt-cache showsrc "$package" | sed -n 's/^Version: //p' | sort -ruV); do
	if ask apt-get source "$package=$version" >>apt/log; then
		exit 0
	fi
done
tail -n 1 apt/log >&2
exit 1
