# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154 # $cache is the sourcing script's
# Debian packages of any suite and architecture, downloaded by apt, which checks the archive's
# signatures, in an apt root of our own: nothing of the host's configuration is used or
# changed. To be sourced by a script that sets $cache.

# Where this machine itself has its packages from.
mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' "Origin: Debian" |
	grep -v security | head -n 1)}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# Run apt program $1 in the root that apt_root chose.
apt_() {
	program=$1
	shift
	APT_CONFIG=$root/apt.conf "$program" "$@"
}

# Choose, and make where needed, the apt root of suite $1 and architecture $2.
apt_root() {
	root=$cache/apt/$1-$2
	mkdir -p "$root/lists/partial" "$root/archives/partial"
	[ -s "$root/status" ] || : >"$root/status"
	printf 'deb [signed-by=%s arch=%s] %s %s main\n' "$keyring" "$2" "$mirror" "$1" \
		>"$root/sources.list"
	cat >"$root/apt.conf" <<CONF
Dir::State "$root";
Dir::State::status "$root/status";
Dir::State::lists "$root/lists";
Dir::Cache "$root";
Dir::Cache::archives "$root/archives";
Dir::Etc::sourcelist "$root/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Architecture "$2";
APT::Architectures { "$2"; };
APT::Get::AllowUnauthenticated "false";
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Check-Valid-Until "false";
CONF
	if [ -z "$(find "$root/lists" -name '*_Packages*')" ]; then
		apt_ apt-get -qq update >&2
	fi
}

# Download packages $2… and all they depend on, and unpack them into $1, where /bin, /lib
# and /sbin are links into /usr. No maintainer script is run.
apt_unpack() {
	into=$1
	shift
	mkdir -p "$into/usr/bin" "$into/usr/sbin" "$into/usr/lib"
	for folder in bin sbin lib; do
		[ -e "$into/$folder" ] || ln -s "usr/$folder" "$into/$folder"
	done
	apt_ apt-get -qq -y --download-only install "$@" >&2
	for package in "$root"/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$package" |
			tar -x -C "$into" --keep-directory-symlink
	done
	rm -f "$root"/archives/*.deb
}
