#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deb.sh DIR: the packages, their source and their .buildinfo, from a tarball of this tree, in DIR, which is emptied
# first. DIR/build.log has what the compilers were called with.
set -eu
out=$(realpath -m "${1:?usage: deb.sh DIR}")
cd "$(dirname "$0")/.."
name=fcm-server-$(sed -n 's/^VERSION *:= *//p' Makefile)
rm -rf "$out"
debian/dist.sh "$out" >/dev/null
tar -C "$out" -xf "$out/$name.tar.xz"
cd "$out/$name"
echo "dpkg-buildpackage, with its log in $out/build.log ..."
# What a make passes to its children, B= for instance, is not for the make of the packages.
if ! env -i PATH="$PATH" HOME=/nonexistent LC_ALL=C.UTF-8 ${DEB_BUILD_OPTIONS:+DEB_BUILD_OPTIONS="$DEB_BUILD_OPTIONS"} \
	${DEB_BUILD_PROFILES:+DEB_BUILD_PROFILES="$DEB_BUILD_PROFILES"} \
	dpkg-buildpackage -us -uc "-j${JOBS:-2}" >"$out/build.log" 2>&1; then
	tail -40 "$out/build.log"
	exit 1
fi
ls "$out"/*.deb "$out"/*.buildinfo
