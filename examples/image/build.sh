#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Make a container image with the program otelprof of Debian packages, as an OCI image layout:
#
#     sh examples/image/build.sh DIR PACKAGES [MIRROR...]
#
# DIR is the layout, which must not exist yet. PACKAGES is a folder with the .deb files that
# dpkg-buildpackage made, of one version, of amd64, of arm64 or of both: there is an image for
# each, tagged VERSION-amd64 and VERSION-arm64, and an index of them, VERSION (with - for ~ and
# +, which a tag may not have). MIRROR is as for mmdebstrap(1), which takes Debian's own
# without it. Environment:
#
#     SUITE              Debian's release, by default bookworm; the packages must be built for it
#     MODE               mmdebstrap's --mode, by default auto; where a user may not make
#                        namespaces, build as root
#     SOURCE_DATE_EPOCH  the time of all files, by default that of debian/changelog
#     SOURCE, REVISION   where the source is, for the annotations
#
# Needs mmdebstrap, umoci, dpkg-dev and python3, and no root. Nothing of the image is run, so
# an image of another architecture needs no emulation. The same packages and mirror give the
# same bytes.
set -eu
umask 022 # mmdebstrap's user, who is another one in a namespace, must be able to read it all

[ $# -ge 2 ] || {
	sed -n '3,22s/^# \{0,1\}//p' "$0" >&2
	exit 2
}
here=$(cd "$(dirname "$0")" && pwd)
layout=${1%/}
packages=$2
shift 2
[ ! -e "$layout" ] || {
	echo "build.sh: $layout exists" >&2
	exit 1
}
: "${SOURCE_DATE_EPOCH=$(dpkg-parsechangelog -l "$here/../../debian/changelog" -S Timestamp)}"
export SOURCE_DATE_EPOCH
created=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)

# Several versions in one folder are what dpkg-buildpackage leaves in the end.
first=
archs=
for deb in "$packages"/otelprof_*.deb; do
	[ -e "$deb" ] || {
		echo "build.sh: no package otelprof in $packages" >&2
		exit 1
	}
	arch=$(dpkg-deb -f "$deb" Architecture)
	full=$(dpkg-deb -f "$deb" Version)
	: "${first:=$full}"
	[ "$full" = "$first" ] || {
		echo "build.sh: $packages has versions $first and $full; leave one" >&2
		exit 1
	}
	archs="$archs $arch"
done
version=${full%-*}
name=$(printf %s "$version" | tr '~+' '--')

work=
new=
# Without the second trap a signal would end dash before it runs the first.
trap 'rm -rf "$work" "$new"' EXIT
trap 'exit 1' HUP INT TERM
work=$(mktemp -d)
chmod 755 "$work"
# The layout is made beside its place, and moved when it is whole.
new=$(mktemp -d "$layout.XXXXXX")
made=$new/layout
cp "$here/finish.sh" "$work"

# Annotations of the manifest, and the same as labels, which other tools read.
annotate() {
	[ -z "$2" ] || set -- "$1" "org.opencontainers.image.$1=$2"
	[ -z "${2:-}" ] || umoci config --image "$image" --no-history --created "$created" \
		--manifest.annotation "$2" --config.label "$2"
}

tags=
for arch in $archs; do
	mkdir "$work/$arch"
	for deb in otelprof_"$full"_"$arch" libotelprof0_"$full"_"$arch" \
		libotelprof0-grpc_"$full"_"$arch" libotelprof0-http_"$full"_"$arch" \
		libotelprof-common_"$full"_all; do
		install -m 644 "$packages/$deb.deb" "$work/$arch"
	done
	(cd "$work/$arch" && dpkg-scanpackages --multiversion . 2>/dev/null >Packages)
	echo "deb [trusted=yes] copy:$work/$arch ./" >"$work/$arch/otelprof.list"

	# The packages and what they depend on, unpacked: no shell and no package manager.
	mmdebstrap --quiet --mode="${MODE:-auto}" --variant=extract --format=tar \
		--architectures="$arch" --skip=cleanup/apt,cleanup/mmdebstrap,output/dev \
		--include=otelprof,libotelprof0-grpc,libotelprof0-http \
		--setup-hook="cp '$work/$arch/otelprof.list' \"\$1/etc/apt/sources.list.d\"" \
		--extract-hook="sh '$work/finish.sh' \"\$1\"" \
		"${SUITE:-bookworm}" "$work/$arch.tar" "$@"

	tag=$name-$arch
	image=$made:$tag
	[ -e "$made" ] || umoci init --layout "$made"
	umoci new --image "$image"
	umoci raw add-layer --image "$image" --history.created "$created" \
		--history.comment "Debian packages" "$work/$arch.tar"
	umoci config --image "$image" --no-history --created "$created" --os linux \
		--architecture "$arch" --config.entrypoint /usr/bin/otelprof --config.cmd export \
		--config.workingdir / \
		--config.env PATH=/usr/sbin:/usr/bin:/sbin:/bin --config.env LANG=C.UTF-8
	annotate title otelprof
	annotate description "profiler of every process of a host, by eBPF"
	annotate version "$version"
	annotate created "$created"
	annotate licenses "Apache-2.0 AND (GPL-2.0-only OR BSD-2-Clause)"
	annotate source "${SOURCE:-}"
	annotate revision "${REVISION:-}"
	tags="$tags $tag"
	rm -r "${work:?}/$arch" "$work/$arch.tar"
done
umoci gc --layout "$made"
# shellcheck disable=SC2086
python3 "$here/index.py" "$made" "$name" "$created" $tags
mv -T "$made" "$layout"
