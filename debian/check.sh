#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# check.sh DIR: the packages in DIR, which are built first if the tree has changed since: lintian, hardening, a second
# build elsewhere that makes the same files, a build and a station on Debian 13, and in a fresh Debian 12 root their
# life: a version before installed, upgraded while a station runs, autopkgtests, removed, purged. Needs root, mmdebstrap
# and a Debian mirror. Ends with "N passed, N failed"; QUICK=1 leaves out the other builds. DIR/tested-packages.txt has
# the versions of all packages that were there.
set -u
out=$(realpath -m "${1:?usage: check.sh DIR}")
cd "$(dirname "$0")/.." || exit 1
mirror=${MIRROR:-http://deb.debian.org}
version=$(sed -n 's/^VERSION *:= *//p' Makefile)
before=0.1.99
name=fcm-server-$version
root=$out-check/root
passed=0 failed=0

check() { # name, command...
	local what=$1
	shift
	if "$@" >"$out-check/log" 2>&1; then
		passed=$((passed + 1))
		echo "ok      $what"
	else
		failed=$((failed + 1))
		echo "FAILED  $what"
		tail -40 "$out-check/log"
	fi
}

die() {
	echo "check.sh: $1" >&2
	exit 1
}

# -- the packages

packages_of_tree() {
	debian/dist.sh "$out-check" >/dev/null || return 1
	cmp -s "$out-check/$name.tar.xz" "$out/$name.tar.xz" && ls "$out"/*.changes >/dev/null 2>&1 || debian/deb.sh "$out"
}

lintian_says_nothing() {
	lintian --allow-root --fail-on error,warning "$out"/*.changes
}

compiled_hardened() {
	blhc --all "$out/build.log"
}

# Control flow: lint looks at the objects (tests/lint/hardening.py); of a whole program it says no, because Debian's
# start files have no marks. libnanet3 calls no function that has a checked form.
files_hardened() {
	local programs
	rm -rf "$out-check/unpacked" && mkdir "$out-check/unpacked"
	for deb in "$out"/*.deb; do
		case $deb in *-dbgsym_*) ;; *) dpkg-deb -x "$deb" "$out-check/unpacked" ;; esac
	done
	programs=$(find "$out-check/unpacked" -type f \( -path '*/bin/*' -o -path '*/sbin/*' -o -name fcm-consumer \
		-o -name 'libfcmdata.so.*' \))
	[ -n "$programs" ] || return 1
	# shellcheck disable=SC2086
	hardening-check --nocfprotection $programs &&
		hardening-check --nocfprotection --nofortify "$(find "$out-check/unpacked" -name 'libnanet3.so.*')"
}

same_again() {
	local deb rc=0
	DEB_BUILD_OPTIONS=nocheck debian/deb.sh "$out-check/again/and/elsewhere" || return 1
	for deb in "$out"/*.deb "$out"/*.dsc; do
		cmp "$deb" "$out-check/again/and/elsewhere/${deb##*/}" || rc=1
	done
	return $rc
}

books_are_there() {
	local page
	for page in index operator administrator consumer maintainer protocol; do
		dpkg-deb --fsys-tarfile "$out"/fcm-server-doc_*.deb | tar -tf - | grep "/html/\(books/\)\?$page\.html$" || return 1
	done
}

# An upgrade restarts what runs. To start the target would start what an operator has stopped.
starts_nothing() {
	local deb
	for deb in "$out"/*.deb; do
		! dpkg-deb --info "$deb" postinst 2>/dev/null | grep -E 'deb-systemd-invoke start|_dh_action=start' || return 1
	done
}

# -- their life

inside() {
	chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
		DEBIAN_FRONTEND=noninteractive "$@"
}

enter() { # root
	mount -t proc proc "$1/proc" && mount -t sysfs -o ro sys "$1/sys" && mount --bind /dev "$1/dev" &&
		mount --bind /dev/pts "$1/dev/pts" && mount --bind /dev/shm "$1/dev/shm" &&
		mount --bind "${out%/*}" "$1/debs"
}

# What was mounted is unmounted before anything is removed.
leave() {
	local m r
	for r in "$root" "$out-check/build-root"; do
		[ ! -e "$r/usr/bin/fcm-server-emulator" ] || root=$r inside fcm-server-emulator stop --all >/dev/null 2>&1
		for m in debs dev/shm dev/pts dev proc sys; do
			! mountpoint -q "$r/$m" || umount "$r/$m" || die "$r/$m stays mounted: umount it"
		done
	done
}

new_root() { # release, directory, packages
	local release=$1
	shift
	leave
	rm -rf --one-file-system "$1"
	mmdebstrap --quiet --mode=root --variant=minbase --include="$2" "$release" "$1" "deb $mirror/debian $release main" \
		"deb $mirror/debian $release-updates main" "deb $mirror/debian-security $release-security main" || return 1
	mkdir -p "$1/debs" && cp /etc/resolv.conf "$1/etc/resolv.conf" && enter "$1" && chroot "$1" apt-get -q update
}

# The tarball with nothing but what debian/control asks for, unit tests too, as a user without rights.
clean_build() { # release
	local build=$out-check/build-root
	new_root "$1" "$build" build-essential,ca-certificates || return 1
	mkdir "$build/src" && tar -C "$build/src" -xf "$out/$name.tar.xz" &&
		DEBIAN_FRONTEND=noninteractive chroot "$build" apt-get -q build-dep -y --no-install-recommends "/src/$name" &&
		chroot "$build" useradd builder && chroot "$build" chown -R builder /src &&
		chroot "$build" runuser -u builder -- env -i PATH=/usr/bin:/bin LC_ALL=C.UTF-8 HOME=/nonexistent \
			sh -c "cd '/src/$name' && dpkg-buildpackage -us -uc -b -j${JOBS:-2}" &&
		ls "$build"/src/*.deb
}

# Where they were built: the module for that release's kernel, and a training station.
works_there() {
	local root=$out-check/build-root
	rm -f "$root"/src/*-dbgsym_*.deb
	inside sh -c 'apt-get -q install -y --no-install-recommends linux-headers-amd64 /src/*.deb' && module_is "$version" &&
		inside fcm-server-emulator start && becomes_well station || return 1
	inside fcm-server-emulator stop
}

fresh_root() {
	new_root bookworm "$root" systemd,udev,apt-utils,dpkg-dev,ca-certificates
}

# The packages of a directory below that of $out, without their debugging symbols.
debs_of() {
	local deb
	for deb in "$1"/*.deb; do
		case $deb in *-dbgsym_*) ;; *) echo "/debs${deb#"${out%/*}"}" ;; esac
	done
}

install_all() { # directory
	# shellcheck disable=SC2046
	inside apt-get -q install -y --no-install-recommends linux-headers-amd64 python3-zmq $(debs_of "$1")
}

# What people have made: a database, keys, a configuration, an enabled instance.
people_work() {
	mkdir -p "$root/etc/fcm-server" "$root/var/lib/fcm-server/0/recordings" &&
		inside fcm-server --example-config >"$root/etc/fcm-server/board-0.conf" &&
		echo secret >"$root/etc/fcm-server/network-0.key" &&
		echo data >"$root/var/lib/fcm-server/0/recordings/data" &&
		inside chown -R fcm:fcm /var/lib/fcm-server/0 &&
		inside fcm-server --board 0 --check-config &&
		inside systemctl enable fcm-server@0.service fcm-page@0.service
}

# Made as fcm-server.tmpfiles says, also the right of the readers.
accounts_and_directories() {
	inside getent passwd fcm && inside getent group fcm-reader nanet3 && inside id -nG fcm | grep -w nanet3 &&
		[ "$(inside stat -c %U:%G:%a /var/lib/fcm-server)" = fcm:fcm:750 ]
}

module_is() { # version
	inside dkms status nanet3 | tee /dev/stderr | grep "nanet3/$1\.[0-9]*, .*: installed" &&
		[ "$(inside dkms status nanet3 | wc -l)" = 1 ]
}

station() {
	inside fcmctl --dir /var/lib/fcm-server-emulator/0 "$@"
}

# name of a number in the status, in JSON, by Python's eval
of_status() {
	station --json status | python3 -c "import json, sys; s = json.load(sys.stdin); print($1)"
}

becomes_well() { # fcmctl...
	for _ in $(seq 30); do
		"$@" status | tee "$out-check/status"
		! grep -q ^WELL "$out-check/status" || return 0
		sleep 1
	done
	return 1
}

station_starts() {
	inside fcm-server-emulator start && station set floor1.om0.hv 1399 --reason "before the upgrade"
}

upgrade_under_load() {
	local pid was now
	was=$(of_status 's["uptime_s"]') || return 1
	install_all "$out" || return 1
	# Nothing of the upgrade has stopped it; now it is replaced as systemd does.
	station --json status >"$out-check/status" || return 1
	grep "\"$before\"" "$out-check/status" || { echo "the old daemon does not run any more"; return 1; }
	pid=$(pgrep -f "^/usr/lib/fcm-server-emulator/fcm-server .*--config /var/lib/fcm-server-emulator/0/") || return 1
	kill "$pid"
	for _ in $(seq 100); do
		now=$(of_status 's["uptime_s"]' 2>/dev/null) && python3 -c "import sys; sys.exit(not $now < $was)" && break
		sleep 0.3
	done
	station --json status | grep "\"$version\"" || { echo "no daemon of $version"; return 1; }
	sleep 3
}

# The station is stopped: its database has only what was lost at the very start, before the links were locked, and the
# command.
nothing_lost() {
	inside fcm-server-emulator stop || return 1
	station --json ledger show --since 1d --limit 10000 | python3 -c "
import json, sys
ledger = json.load(sys.stdin)
codes = {x['code'] for x in ledger['losses']}
print(ledger['balanced'], codes)
sys.exit(not (ledger['balanced'] and codes <= {'alignment', 'link-down'}))" || return 1
	station command list | grep 'om0.hv .*1399'
}

# The units need a systemd that runs: the root is booted for them, with this machine's kernel.
units_start() {
	local boot rc
	leave
	systemd-nspawn --quiet -D "$root" --boot --register=no --keep-unit --console=pipe </dev/null >"$out-check/boot.log" 2>&1 &
	boot=$!
	for _ in $(seq 100); do
		! machine $boot systemctl is-system-running --wait 2>/dev/null || break
		sleep 0.3
	done
	machine $boot systemctl enable --now fcm-emulator@1.service &&
		becomes_well machine $boot fcmctl --dir /var/lib/fcm-emulator/1 &&
		machine $boot systemctl disable --now fcm-emulator@1.service
	rc=$?
	[ $rc = 0 ] || machine $boot journalctl -u fcm-emulator@1 --no-pager
	kill $boot
	wait $boot
	enter "$root" && return $rc
}

machine() { # nspawn's pid, command...
	nsenter -t "$(pgrep -P "$1")" -a "${@:2}"
}

autopkgtests() {
	local rc
	rm -rf "$out-check/tree" "$out-check/autopkgtest"
	mkdir "$out-check/tree" && tar -C "$out-check/tree" -xf "$out/$name.tar.xz" || return 1
	# shellcheck disable=SC2046
	autopkgtest --no-built-binaries --output-dir="$out-check/autopkgtest" \
		$(debs_of "$out" | sed "s|^/debs|${out%/*}|") "$out-check/tree/$name/" -- chroot "$root"
	rc=$?
	cat "$out-check/autopkgtest/summary" 2>/dev/null
	return $rc
}

installed_names() {
	for deb in "$out"/*.deb; do
		case $deb in *-dbgsym_*) ;; *) dpkg-deb -f "$deb" Package ;; esac
	done
}

removed_and_kept() {
	inside fcm-server-emulator start || return 1
	# shellcheck disable=SC2046
	inside apt-get -q remove -y $(installed_names) || return 1
	[ -s "$root/etc/fcm-server/board-0.conf" ] && [ -s "$root/etc/fcm-server/network-0.key" ] &&
		[ -s "$root/var/lib/fcm-server/0/recordings/data" ] && [ -s "$root/var/lib/fcm-server-emulator/0/station.db" ] &&
		[ ! -e "$root/usr/sbin/fcm-server" ] && ! pgrep -f /var/lib/fcm-server-emulator/0/ &&
		! ls "$root"/usr/src/nanet3-* "$root"/var/lib/dkms/nanet3 2>/dev/null
}

purged() {
	local left
	# shellcheck disable=SC2046
	inside dpkg --purge $(installed_names) || return 1
	# apt and dpkg keep a log of what they did; the kernel's index of modules may name the module that was.
	left=$(cd "$root" && find . -xdev \
		\( -path ./debs -o -path ./var/log -o -path ./proc -o -path ./sys -o -path ./tmp \) -prune -o \
		\( -iname '*fcm-*' -o -iname '*fcmctl*' -o -iname '*fcmdata*' -o -iname '*fcm_*' -o -iname '*nanet3*' \) -print)
	[ -z "$left" ] || { echo "left: $left"; return 1; }
}

tested_against() {
	# shellcheck disable=SC2016
	inside dpkg-query -W -f '${Package}\t${Version}\t${Architecture}\n' >"$out/tested-packages.txt"
}

main() {
	[ "$(id -u)" = 0 ] || die "needs root"
	mkdir -p "$out-check"
	trap leave EXIT
	leave
	check "packages" packages_of_tree
	[ "$failed" = 0 ] || die "no packages"
	check "lintian: no error, no warning" lintian_says_nothing
	check "blhc: compiled with all of Debian's hardening" compiled_hardened
	check "hardening-check: programs and libraries" files_hardened
	check "no installation starts a unit" starts_nothing
	check "the books are in the package" books_are_there
	if [ -z "${QUICK:-}" ]; then
		check "a second build in another directory makes the same files" same_again
		check "built in a fresh Debian 12 root by its build dependencies, unit tests pass" clean_build bookworm
		check "built in a fresh Debian 13 root, unit tests pass" clean_build trixie
		check "Debian 13: installed, DKMS has built the module, a training station is WELL" works_there
	fi
	check "a version before: $before" debian/before.sh "$out" "$before" "$out-check/before"
	check "a fresh Debian 12 root" fresh_root
	check "install $before" install_all "$out-check/before"
	check "users, groups, directories" accounts_and_directories
	check "DKMS has built the module" module_is "$before"
	check "data and configuration of people" people_work
	check "a training station starts" station_starts
	check "upgrade to $version under load, the daemon is replaced" upgrade_under_load
	check "nothing is lost by it, the journal goes on" nothing_lost
	check "DKMS has built the new module, and only that" module_is "$version"
	check "the unit of a training station starts under systemd: WELL" units_start
	check "versions of all packages that were tested with: ${out##*/}/tested-packages.txt" tested_against
	check "autopkgtests" autopkgtests
	sed 's/^/        /' "$out-check/autopkgtest/summary" 2>/dev/null
	check "removed: programs are gone, data and configuration are kept" removed_and_kept
	check "purged: nothing is left" purged
	echo "$passed passed, $failed failed"
}

# One line: the shell reads a script as it goes on, and somebody may edit this one.
main && exit $((failed > 0))
