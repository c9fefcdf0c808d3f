#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Install the Debian packages that are missing, by name. Says which; uses sudo only when not root.
#   setup.sh run     what building and running a station needs
#   setup.sh check   that, and what the tests and lint need
#   setup.sh fuzz    what building and running needs, and clang with libFuzzer
#   setup.sh bench   as check, and the peer that make bench compares with where it is installed: libavformat
#   setup.sh books   what building the books needs
#   setup.sh deb     what building the Debian packages needs
#   setup.sh check-deb   that, and what testing them needs
#   setup.sh vm      what the tests of the kernel module need: a guest's kernel is downloaded, not installed
#   setup.sh vm-debug   that, and what building the instrumented kernels needs
set -eu

run="gcc make pkg-config libc6-dev libevent-dev libzmq3-dev libsqlite3-dev libgps-dev libisal-dev
 libjansson-dev libsystemd-dev libinih-dev libbsd-dev libmd-dev libxxhash-dev libncurses-dev libsmartcols-dev
 libfftw3-dev libhdf5-dev libsndfile1-dev libjs-dygraphs gpsd tzdata python3"
check="$run g++ libcmocka-dev sqlite3 bindfs strace python3-zmq python3-nacl python3-numpy python3-h5py python3-pandas python3-tables python3-jsonschema python3-matplotlib gnuplot-nox clang-format
 clang-tidy cppcheck abigail-tools mandoc systemd tshark zsh curl locales flac chromium chromium-driver
 python3-selenium prometheus python3-markdown-it"

fuzz="$run clang libclang-rt-14-dev"
bench="$check libavformat-dev libavcodec-dev"
vm="$run libcmocka-dev python3-numpy qemu-system-x86 busybox-static linux-headers-amd64 kmod systemd xz-utils"
debug="$vm flex bison bc libelf-dev libssl-dev zstd"
books="mandoc python3 python3-markdown-it"
deb="$run $books dpkg-dev fakeroot debhelper dh-python dh-dkms libcmocka-dev sqlite3"
check_deb="$deb lintian blhc devscripts autopkgtest mmdebstrap systemd-container"

case "${1:-}" in
run) want=$run ;;
check) want=$check ;;
fuzz) want=$fuzz ;;
bench) want=$bench ;;
books) want=$books ;;
deb) want=$deb ;;
check-deb) want=$check_deb ;;
vm) want=$vm ;;
vm-debug) want=$debug ;;
*) echo "usage: setup.sh run|check|fuzz|bench|books|deb|check-deb|vm|vm-debug" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null 2>&1; then
	echo "setup: this is not a Debian system; install the equivalents of: $want" >&2
	exit 1
fi

missing=
for p in $want; do
	case "$(dpkg-query -W -f='${Status}' "$p" 2>/dev/null || true)" in
	"install ok installed") ;;
	*) missing="$missing $p" ;;
	esac
done

# $@ = packages, by apt-get; 1 when we may not.
install() {
	if [ "$(id -u)" = 0 ]; then
		as_root=
	elif command -v sudo >/dev/null 2>&1; then
		as_root=sudo
	else
		echo "setup: not root and no sudo; ask your administrator for:" >&2
		echo "  apt-get install $*" >&2
		return 1
	fi
	$as_root apt-get -qq update &&
		# The packages of gpsd and prometheus would start services; tests start their own. tshark's asks who
		# may capture: nobody else, the default, will do.
		$as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
			apt-get -qq install -y --no-install-recommends "$@" >/dev/null
}

if [ -n "$missing" ]; then
	echo "setup: installing Debian packages:$missing"
	# shellcheck disable=SC2086
	install $missing
fi

# A table of leap seconds that has expired is a warning of every station's, no reason to stop.
expires=$(sed -n 's/^#@[[:space:]]*//p' /usr/share/zoneinfo/leap-seconds.list)
if [ "$(($(date +%s) + 2208988800))" -ge "${expires:-0}" ]; then
	echo "setup: the table of leap seconds has expired: bringing tzdata up to date"
	install tzdata || echo "setup: that failed; the station will say so too" >&2
fi

# $1 = a setting of transparent huge pages, $2 = what it shall be.
huge_pages() {
	file=/sys/kernel/mm/transparent_hugepage/$1
	[ -w "$file" ] || return 0
	case "$(cat "$file")" in
	*"[never]"* | *"[madvise]"*)
		echo "$2" >"$file" && echo "setup: huge pages, until the next boot: $1 is $2" ;;
	esac
}

# In a virtual machine, a miss of the TLB can cost microseconds. With pages of 4 KiB the emulator's rings then take
# more than half of a core (nanet3-emu(1)), and reading a recording takes twice as long.
if systemd-detect-virt --quiet --vm 2>/dev/null; then
	huge_pages shmem_enabled advise
	huge_pages enabled always # as Debian's kernels have it
fi
