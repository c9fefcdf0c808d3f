#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# before.sh DIR VERSION OUT: in OUT, which is emptied first, the packages of a version before that which deb.sh has built
# in DIR: the same sources under a lower number. Only what has the number in it is compiled again.
set -eu
from=$(realpath -m "${1:?usage: before.sh DIR VERSION OUT}")
before=${2:?} out=$(realpath -m "${3:?}")
now=$(sed -n 's/^VERSION *:= *//p' "$from"/fcm-server-*/Makefile)
tree=$out/fcm-server-$before
rm -rf "$out"
mkdir -p "$out"
cp -a "$from/fcm-server-$now" "$tree"
cd "$tree"
sed -i "s/^VERSION *:= .*/VERSION := $before/" Makefile
sed -i "1s/(.*)/($before)/" debian/changelog
sed -i "s/^__version__ = .*/__version__ = \"$before\"/" daemon/consumer/fcmdata/__init__.py
rm -rf debian/.debhelper debian/debhelper-build-stamp debian/files debian/*.debhelper* debian/*.substvars
env -i PATH="$PATH" HOME=/nonexistent LC_ALL=C.UTF-8 DEB_BUILD_OPTIONS=nocheck dpkg-buildpackage -us -uc -b -nc \
	>"$out/build.log" 2>&1 || { tail -40 "$out/build.log"; exit 1; }
