#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the servers are made of, in the cache: prints its folder.
#
#     fetch.sh python    gunicorn, Flask, py-spy from PyPI
#     fetch.sh node      Express, TypeScript from npm
#     fetch.sh java      Jetty, H2, async-profiler from Maven Central
#     fetch.sh go        a program of this folder, with the standard library alone
#     fetch.sh dotnet    a program of this folder, by the SDK of OTELPROF_DOTNET or beside the tree
#     fetch.sh erlang    a program of this folder, and Cowboy out of Debian's RabbitMQ
#     fetch.sh lua       nginx's Lua module with OpenResty's LuaJIT, which Debian's luajit conflicts with
#     fetch.sh ruby      nothing: says what of Sinatra, puma and stackprof is missing; perl: Mojolicious
#
# On failure one line says why.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
kit=${OTELPROF_CACHE:-$HOME/.cache/otelprof-tests}/servers/$1
made=$kit/made
wanted=$(cat "$here/fetch.sh" "$here"/sources/*.java "$here/sources/pom.xml" \
	"$here/sources/service.go" "$here/sources/web.cs" "$here/sources/web.erl" | cksum)

need() {
	command -v "$1" >/dev/null || {
		echo "no $1" >&2
		exit 1
	}
}

try() {
	"$@" >"$kit/log" 2>&1 || {
		grep -i -E 'error|not found|could not' "$kit/log" | tail -n 1 >&2
		exit 1
	}
}

make_python() {
	need python3
	try python3 -m venv "$kit"
	try "$kit/bin/pip" install -q Flask==3.0.3 gunicorn==23.0.0 py-spy==0.4.0
}

make_node() {
	need npm
	cd "$kit"
	echo '{"private": true}' >package.json
	try npm install --no-audit --no-fund express@4.21.2 typescript@5.7.2
}

profiler_machine() {
	case $(uname -m) in
	x86_64) echo x64 ;;
	aarch64) echo arm64 ;;
	*) uname -m ;;
	esac
}

make_java() {
	need mvn
	need javac
	need unzip
	mkdir -p "$kit/classes"
	cp "$here/sources/pom.xml" "$kit/pom.xml"
	try mvn -q -B -f "$kit/pom.xml" dependency:copy-dependencies "-DoutputDirectory=$kit/jars"
	try unzip -q -o -j "$kit"/jars/async-profiler-*.jar "linux-$(profiler_machine)/*" -d "$kit"
	try javac -cp "$kit/jars/*" -d "$kit/classes" "$here"/sources/*.java
}

make_go() {
	need go
	cd "$kit"
	try go build -o "$kit/service" "$here/sources/service.go"
}

make_dotnet() {
	shared=$here/../../../../shared/runtimes/dotnet.sh
	dotnet=${OTELPROF_DOTNET:-dotnet}
	if [ "$dotnet" = dotnet ] && [ -e "$shared" ]; then
		dotnet=$(bash -c '. "$0" sdk && command -v dotnet' "$shared")
	fi
	need "$dotnet"
	root=$(dirname "$(readlink -f "$(command -v "$dotnet")")")
	ln -s "$root" "$kit/root"
	cd "$kit"
	set -- "$root"/packs/*.App.Ref/8.*/ref/net8.0/*.dll
	for pack; do
		set -- "$@" "-r:$pack"
		shift
	done
	try "$root/dotnet" "$root"/sdk/*/Roslyn/bincore/csc.dll -nologo -optimize+ -debug:portable \
		-out:web.dll "$@" "$here/sources/web.cs"
	echo '{"runtimeOptions":{"framework":{"name":"Microsoft.AspNetCore.App","version":"8.0.0"}}}' \
		>web.runtimeconfig.json
}

make_erlang() {
	need erlc
	cd "$kit"
	try apt-get download rabbitmq-server erlang-asn1 erlang-crypto erlang-public-key erlang-ssl
	for deb in *.deb; do
		dpkg -x "$deb" .
	done
	rm -- *.deb
	try erlc -o "$kit" "$here/sources/web.erl"
}

make_lua() {
	need nginx
	cd "$kit"
	try apt-get download libnginx-mod-http-lua libnginx-mod-http-ndk libluajit2-5.1-2 \
		lua-resty-core lua-resty-lrucache
	for deb in *.deb; do
		dpkg -x "$deb" .
	done
	mv usr/lib/*-linux-gnu/libluajit* .
}

make_ruby() {
	need puma
	try ruby -e 'require "sinatra/base"; require "stackprof"'
}

make_perl() {
	try perl -MMojolicious -e 1
}

if [ "$(cat "$made" 2>/dev/null)" != "$wanted" ]; then
	rm -rf "$kit"
	mkdir -p "$kit"
	"make_$1"
	echo "$wanted" >"$made"
fi
echo "$kit"
