#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# dist.sh DIR: the sources as DIR/fcm-server-VERSION.tar.xz, without what is built. In a git work tree the files that
# git knows, as they are now; in an unpacked tarball all files. Two runs over the same files make the same tarball.
set -euo pipefail
out=$(realpath -m "${1:?usage: dist.sh DIR}")
cd "$(dirname "$0")/.."
name=fcm-server-$(sed -n 's/^VERSION *:= *//p' Makefile)
time=$(date -d "$(sed -n 's/^ -- .*>  //p' debian/changelog | head -1)" +%s)

mkdir -p "$out"
tests/lint/files.sh | LC_ALL=C sort | tar --create --no-recursion --transform="s|^|$name/|" --format=gnu \
	--mtime="@$time" --owner=0 --group=0 --numeric-owner --mode=u+rw,go=rX,a-s --files-from=- |
	xz -T1 >"$out/$name.tar.xz.new"
mv "$out/$name.tar.xz.new" "$out/$name.tar.xz"
echo "$out/$name.tar.xz"
