#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# mainline.sh DIR: the module against the newest kernel in the backports of Debian's stable release, which is some
# weeks behind Linus's, with the compiler of that release. Both are unpacked in DIR, once: remove it for a newer one.
# Needs root and mmdebstrap. Ends with "N passed, N failed".
set -eu
suite=trixie
mirror=http://deb.debian.org/debian
root=$(realpath -m "${1:?usage: mainline.sh DIR}")
cd "$(dirname "$0")"

# Packages are unpacked, not configured: the links between directories are missing.
if [ ! -d "$root" ]; then
	rm -rf "$root.new"
	mmdebstrap --quiet --mode=root --variant=extract \
		--include="linux-headers-amd64/$suite-backports,gcc,make,coreutils,dash,bash,sed,grep,findutils,mawk,perl-base" \
		$suite "$root.new" "deb $mirror $suite main" "deb $mirror $suite-backports main"
	for d in bin sbin lib lib64; do
		[ -e "$root.new/$d" ] || ln -s usr/$d "$root.new/$d"
	done
	[ -e "$root.new/usr/bin/awk" ] || ln -s mawk "$root.new/usr/bin/awk"
	: >"$root.new/kernel-headers"
	mv "$root.new" "$root"
elif [ ! -e "$root/kernel-headers" ]; then
	echo "mainline.sh: $root is there, and is no tree of kernel headers" >&2
	exit 1
fi
headers=$(cd "$root" && echo usr/src/linux-headers-*-amd64)
release=${headers#usr/src/linux-headers-}
rm -rf "$root/src" && mkdir -p "$root/src/driver" "$root/proc"
cp -r ../kernel ../*.h "$root/src/driver/"
cp ../../Makefile "$root/src/"
if log=$(unshare --mount sh -c 'mount -t proc proc "$1/proc" && shift && exec chroot "$@"' sh "$root" "$root" \
	/usr/bin/env PATH=/usr/bin:/usr/sbin make -s -C /src/driver/kernel OUT=/src/module KVERSION="$release" \
	KDIR="/$headers" KFLAGS=W=1 2>&1) && ! grep -E 'warning|error:' <<<"$log"; then
	echo "ok      $release"
	echo "1 passed, 0 failed"
else
	echo "$log" | tail -40
	echo "FAILED  $release"
	echo "0 passed, 1 failed"
	exit 1
fi
