#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Build the instrumented kernel (debug.config) of a series from Debian's linux-source, once: 5 to 25 minutes.
#   debug_kernel.sh CACHE SERIES    leaves bzImage and build (for modules) in CACHE/debug-SERIES
# The stamp holds the source's version and the fragment's checksum: a change of either builds anew.
set -eu

cache=$1
here=$(cd "$(dirname "$0")" && pwd)
package=linux-source-$2
debug=$cache/debug-$2

mkdir -p "$cache/debs" "$debug"
cache=$(cd "$cache" && pwd)
debug=$cache/debug-$2
exec 9>"$debug/lock"
flock 9

version=$(apt-cache policy "$package" | sed -n 's/.*Candidate: //p')
built=$(cut -d' ' -f1 "$debug/stamp" 2>/dev/null || true)
# What the archive offers today must not throw away a kernel that is good: only another fragment does.
want="${built:-$version} $(sha256sum <"$here/debug.config" | cut -d' ' -f1)"
[ "$(cat "$debug/stamp" 2>/dev/null || true)" != "$want" ] || exit 0

deb=$(find "$cache/debs" -name "${package}_*.deb" | sort -V | tail -n 1)
if [ -z "$deb" ]; then
	(cd "$cache/debs" && apt-get -qq download "$package")
	deb=$(find "$cache/debs" -name "${package}_*.deb" | sort -V | tail -n 1)
fi
want="$(dpkg-deb -f "$deb" Version) ${want#* }"

echo "vm: building the instrumented kernel in $debug; this is done once, log in $debug/log"
if [ ! -f "$debug/source/Makefile" ]; then
	rm -rf "$debug/source" "$debug/unpack"
	mkdir -p "$debug/source" "$debug/unpack"
	dpkg-deb -x "$deb" "$debug/unpack"
	tar -C "$debug/source" --strip-components=1 -xf "$debug/unpack/usr/src/$package.tar.xz"
	rm -rf "$debug/unpack"
fi
mkdir -p "$debug/build"
kmake() { nice -n 19 make -C "$debug/source" O="$debug/build" "$@" >>"$debug/log" 2>&1; }
: >"$debug/log"
sed "s/^#$2 //" "$here/debug.config" >"$debug/fragment"
kmake KCONFIG_ALLCONFIG="$debug/fragment" allnoconfig
grep -E '^CONFIG' "$debug/fragment" | while IFS='=' read -r name value; do
	if [ "$value" = n ]; then
		! grep -q "^$name=" "$debug/build/.config" || echo "vm: $name is set"
	else
		grep -q "^$name=$value\$" "$debug/build/.config" || echo "vm: $name=$value did not take"
	fi
done >"$debug/refused"
if [ -s "$debug/refused" ]; then
	cat "$debug/refused" >&2
	exit 1
fi
kmake -j"$(nproc)" bzImage modules || { tail -n 20 "$debug/log" >&2; exit 1; }
cp "$debug/build/arch/x86/boot/bzImage" "$debug/bzImage"
cp "$debug/build/include/config/kernel.release" "$debug/release"
echo "$want" >"$debug/stamp"
