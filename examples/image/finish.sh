#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a root file system of unpacked packages needs to be an image's: see build.sh. Called by
# mmdebstrap, whose apt it asks for two packages more.
#
#     sh finish.sh ROOT
set -eu

root=${1:?the root file system}
cd / # the folder that it was called in may be closed to this user
more=$root/more
export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"

# These two depend on a shell and more, of which an image needs nothing.
mkdir "$more"
(cd "$more" && apt-get -qq -o APT::Sandbox::User=root download base-files ca-certificates)
for deb in "$more"/*.deb; do
	dpkg-deb --fsys-tarfile "$deb" | tar -C "$root" --keep-directory-symlink -xf -
done
mkdir -p "$root/etc/ssl/certs"
cat "$root"/usr/share/ca-certificates/mozilla/*.crt >"$root/etc/ssl/certs/ca-certificates.crt"
echo root:x:0:0:root:/root:/usr/sbin/nologin >"$root/etc/passwd"
echo root:x:0: >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"

# What scanners of images read where there is no dpkg: a file for each package.
mkdir -p "$root/var/lib/dpkg/status.d"
for deb in "$more"/*.deb "$root"/var/cache/apt/archives/*.deb; do
	[ -e "$deb" ] || continue
	name=$(dpkg-deb -f "$deb" Package)
	{
		dpkg-deb -f "$deb"
		echo 'Status: install ok installed'
	} >"$root/var/lib/dpkg/status.d/$name"
done

rm -rf "$APT_CONFIG" "$more" "$root/var/cache" "$root/var/log" "$root/var/lib/apt" "$root"/etc/apt \
	"$root/etc/dpkg" "$root/etc/update-motd.d" "$root/etc/fstab" "$root/etc/hostname" \
	"$root/etc/resolv.conf" "$root/usr/share/man" "$root/usr/share/locale" \
	"$root/usr/share/lintian" "$root/usr/share/ca-certificates" "$root"/usr/lib/*/gconv \
	"$root"/usr/sbin/update-ca-certificates "$root"/usr/share/*-completion \
	"$root/usr/share/fish" "$root/usr/share/zsh"
find "$root/var/lib/dpkg" -maxdepth 1 -mindepth 1 ! -name status.d -exec rm -rf {} +
# Texts of licences stay.
find "$root/usr/share/doc" -type f ! -name copyright -delete
# No program of the image needs more rights than its caller's.
find "$root" -xdev -type f -perm /6000 -exec chmod a-s {} +
