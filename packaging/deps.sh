#!/bin/sh
# deps.sh - installs the Debian or Ubuntu packages that mcp-exec needs, and only those that are missing.
#
# usage: deps.sh build|deb|bench|test|vm|print
#   build  what compiles it and runs it     deb  that, and what makes a package of it     bench  what `make bench` uses
#   test   all of these, and what the tests use     vm     deb, and what `make vm` uses     print  lists all, installs nothing
# shellcheck disable=SC2086 # Lists of packages are meant to fall apart.
set -eu

build="gcc make pkg-config libc6-dev libevent-dev libcjson-dev libseccomp-dev libcap-dev libnl-3-dev libnl-route-3-dev
	python3"
libraries="libevent_core libcjson libseccomp libcap libnl-3.0 libnl-route-3.0"
deb="build-essential debhelper xz-utils"
# python3-munkres keeps matplotlib's fonttools from asking for scipy, which brings a compiler.
bench="bubblewrap util-linux wrk python3-munkres python3-numpy python3-pandas python3-matplotlib"
# libblas3 is the reference BLAS; tests use it and OpenBLAS, whichever is the system's choice. mmdebstrap makes roots of
# other releases. The shells are those that completions are for.
test="zsh fish lintian binutils clang libcmocka-dev cppcheck clang-tidy clang-format git mandoc mmdebstrap nginx systemd
	libopenblas0-pthread libblas3 liblapack3
	python3-yaml python3-jinja2 python3-pil python3-prometheus-client"
# Virtual machines with other releases, and the clients that call them.
vm="qemu-system-x86 mmdebstrap e2fsprogs"

installed()
{
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing()
{
	for package in $1; do
		installed "$package" || printf ' %s' "$package"
	done
}

# The compiler of another architecture, and what may have come from elsewhere than from a package.
test_extra()
{
	case $(dpkg --print-architecture) in
	amd64) echo gcc-aarch64-linux-gnu libc6-dev-arm64-cross ;;
	arm64) echo gcc-x86-64-linux-gnu libc6-dev-amd64-cross ;;
	esac
	clients
}

clients()
{
	command -v node >/dev/null || echo nodejs
	command -v npm >/dev/null || echo npm
}

refuse()
{
	printf '%s\nmissing packages:%s\n' "$1" "$2" >&2
	exit 1
}

# Debian starts nginx when it installs it, on port 80 of every address. The tests start one of their own.
rest()
{
	if [ -d /run/systemd/system ]; then
		$as_root systemctl disable --now nginx.service
	else
		$as_root service nginx stop || :
	fi
}

install()
{
	list=$(missing "$1")
	[ -n "$list" ] || return 0
	command -v apt-get >/dev/null || refuse 'There is no apt-get here; please install by hand.' "$list"
	as_root=
	if [ "$(id -u)" != 0 ]; then
		command -v sudo >/dev/null || refuse 'Installing needs root, and there is no sudo.' "$list"
		as_root=sudo
	fi
	echo "installing:$list"
	apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300"
	$apt install -y --no-install-recommends $list ||
		{ $apt update && $apt install -y --no-install-recommends $list; }
	case " $list " in *' nginx '*) rest ;; esac
}

case "${1:-}" in
build | deb | bench | test | vm | print) ;;
*)
	echo "usage: $0 build|deb|bench|test|vm|print" >&2
	exit 64
	;;
esac
if ! command -v dpkg-query >/dev/null; then
	[ "$1" != print ] || { echo build: $build; echo deb: $deb; echo bench: $bench; echo test: $test; echo vm: $vm; exit 0; }
	# Another distribution: its names are not known here, but whether the libraries are there can be asked.
	pkg-config --exists $libraries 2>/dev/null && exit 0
	refuse 'This is neither Debian nor Ubuntu; please install what corresponds to these.' " $build"
fi
case "$1" in
build) install "$build" ;;
deb) install "$build $deb" ;;
bench) install "$build $bench" ;;
test) install "$build $deb $bench $test $(test_extra)" ;;
vm) install "$build $deb $vm $(clients)" ;;
print)
	echo build: $build
	echo deb: $deb
	echo bench: $bench
	extra=$(test_extra)
	echo test: $test $extra
	echo vm: $vm
	;;
esac
