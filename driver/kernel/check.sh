#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The module against kernels and the kernel's own checkers. Ends with "N passed, N failed".
#
#   check.sh [KDIR...]    W=1 and sparse against these build directories, or all of /lib/modules;
#                         then modinfo, checkpatch, kernel-doc, DKMS
#   check.sh --fetch DIR  the same against every set of headers that this Debian has, downloaded by name
#                         and unpacked below DIR, and the checkers of linux-source. Needs no root
#
# A tool that is not at hand is a failure, not a pass: sparse, dkms, and checkpatch, which is looked for
# in SCRIPTS (the kernel's scripts folder, unpacked from linux-source).
set -u
from=$PWD
cd "$(dirname "$0")" || exit 1
passed=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

check() { # name, command...
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then
		passed=$((passed + 1))
		echo "ok      $name"
	else
		failed=$((failed + 1))
		echo "FAILED  $name"
		printf '%s\n' "$out" | tail -40
	fi
}

# Headers and the tools they are built with, by the names that apt knows.
names() {
	apt-cache search --names-only '^linux-headers-6' | awk '{print $1}' |
		grep -E '[0-9]-(rt-|cloud-)?amd64$|common(-rt)?$' | grep -vE 'headers-6\.[0-9]+-(rt-|cloud-)?amd64'
	apt-cache search --names-only '^linux-kbuild-6' | awk '{print $1}'
}

fetch() { # directory
	local d make source
	mkdir -p "$1/debs" "$1/root"
	(cd "$1/debs" && names | xargs apt-get -qq download && apt-get -qq download linux-source-6.1) ||
		return 1
	for d in "$1"/debs/*.deb; do
		dpkg -x "$d" "$1/root" || return 1
	done
	# They name each other by absolute paths.
	for make in "$1"/root/usr/src/linux-headers-*-amd64/Makefile; do
		sed -i "s|^include /usr/src|include $1/root/usr/src|" "$make"
	done
	source=$1/root/usr/src/linux-source-6.1
	[ -d "$source" ] || tar -C "$1/root/usr/src" -xf "$source.tar.xz" linux-source-6.1/scripts
}

build() { # build directory
	local out=$work/module
	rm -rf "$out"
	make -s OUT="$out" KDIR="$1" KFLAGS="W=1 C=2 CF=-D__CHECK_ENDIAN__" >"$work/log" 2>&1 || {
		cat "$work/log"
		return 1
	}
	! grep -E 'warning|error:' "$work/log"
}

# What modinfo must tell.
info() {
	local field
	for field in filename version description author license alias vermagic parm; do
		[ -n "$(/sbin/modinfo -F $field "$work/module/nanet3.ko")" ] || {
			echo "modinfo tells no $field"
			return 1
		}
	done
}

checkpatch() {
	local f rc=0
	for f in *.c *.h; do
		local usual=  # of tracepoints, in all of the kernel
		[ "$f" != nanet3_trace.h ] || usual=--ignore=OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT
		perl "$SCRIPTS/checkpatch.pl" --terse --quiet $usual -f "$f" || rc=1
	done
	return $rc
}

kernel_doc() {
	local f out
	[ -f "$SCRIPTS/kernel-doc" ] || {
		echo "no $SCRIPTS/kernel-doc"
		return 1
	}
	for f in *.c *.h; do
		out+=$(perl "$SCRIPTS/kernel-doc" -none -Werror "$f" 2>&1)
	done
	! grep -E 'warning|error' <<<"$out"
}

# In trees of its own, whatever modules this machine has. dkms takes a release and looks for its headers.
dkms_builds() { # build directory
	local t=$work/dkms version
	mkdir -p "$t/tree" "$t/install"
	make -s install DESTDIR="$t" || return 1
	version=$(basename "$t"/usr/src/nanet3-*)
	version=${version#nanet3-}
	mok_signing_key=$t/key mok_certificate=$t/cert dkms build -m nanet3 -v "$version" -k "$(basename "$(realpath "$1")" | sed 's/^linux-headers-//')" \
		--kernelsourcedir "$1" --sourcetree "$t/usr/src" --dkmstree "$t/tree" \
		--installtree "$t/install" --no-depmod
}

if [ "${1:-}" = --fetch ]; then
	root=$(cd "$from" && realpath -m "${2:?where to}")
	fetch "$root" || exit 1
	set -- "$root"/root/usr/src/linux-headers-*-amd64
	SCRIPTS=$root/root/usr/src/linux-source-6.1/scripts
elif [ $# = 0 ]; then
	set -- /lib/modules/*/build
fi
SCRIPTS=${SCRIPTS:-/usr/src/linux-source-6.1/scripts}

for kdir; do
	check "$(basename "$(realpath "$kdir")")" build "$kdir"
done
check "modinfo" info
check "checkpatch" checkpatch
check "kernel-doc" kernel_doc
check "dkms" dkms_builds "$1"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
