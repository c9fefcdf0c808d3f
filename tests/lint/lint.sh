#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Format, rooms, links, names of modules, modes, manual pages, units, hardening, cppcheck, clang-tidy.
# Ends with "N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit 1
passed=0 failed=0

check() { # name, command...
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then
		passed=$((passed + 1))
		echo "ok      $name"
	else
		failed=$((failed + 1))
		echo "FAILED  $name"
		printf '%s\n' "$out" | head -60
	fi
}

format() {
	local files
	files=$(tests/lint/files.sh '*.c' '*.h') || return 1
	xargs clang-format --dry-run --Werror <<<"$files"
}

# What begins with #! can be typed by its name, as the READMEs have it.
executable() {
	local files not
	files=$(tests/lint/files.sh '*.sh' '*.py') || return 1
	not=$(while read -r f; do [ -x "$f" ] || sed -n "1s|^#!.*|$f|p" "$f"; done <<<"$files")
	[ -z "$not" ] || { echo "begins with #! and is not executable:"; echo "$not"; return 1; }
}

# Tests import from two folders: of two modules of one name they would get either.
modules() {
	local files twice
	files=$(tests/lint/files.sh '*.py') || return 1
	twice=$(sed 's|.*/||' <<<"$files" | sort | uniq -d)
	[ -z "$twice" ] || { echo "two modules of one name: $twice"; return 1; }
}

manuals() {
	local pages
	pages=$(tests/lint/files.sh '*.[1358]') || return 1
	# shellcheck disable=SC2086
	mandoc -Tlint -W warning $pages
}

# The Makefile's version is that of the newest entries and of the Python module; DKMS and pkg-config take it from there.
versions() {
	local version rc=0
	version=$(sed -n 's/^VERSION *:= *//p' Makefile)
	[ "$(sed -n 's/^## \([0-9.]*\).*/\1/p' CHANGELOG.md | head -1)" = "$version" ] ||
		{ echo "the newest entry of CHANGELOG.md is not of $version"; rc=1; }
	[ "$(sed -n '1s/.*(\(.*\)).*/\1/p' debian/changelog)" = "$version" ] ||
		{ echo "the newest entry of debian/changelog is not of $version"; rc=1; }
	grep -q "^__version__ = \"$version\"" daemon/consumer/fcmdata/__init__.py ||
		{ echo "the Python package fcmdata is not of $version"; rc=1; }
	return $rc
}

# What `make` needs is what the packages' build needs: the libraries of setup.sh are in debian/control.
build_depends() {
	local p rc=0
	for p in $(sed -n '/^run="/,/"$/p' tests/setup/setup.sh | tr ' "=' '\n' | grep -- '-dev$' | grep -v '^libc6-dev$'); do
		grep -q "^ $p,$" debian/control || { echo "debian/control has no $p"; rc=1; }
	done
	return $rc
}

# What programs link with is what it was, or `make abi` has been run on purpose.
interfaces() {
	local rc=0
	abidiff driver/lib/libnanet3.abi "${B:-build}/lib/libnanet3.so.0" || rc=1
	abidiff daemon/consumer/libfcmdata.abi "${B:-build}/lib/libfcmdata.so.0" || rc=1
	[ $rc = 0 ] || echo "if that is meant: a new symbol in a version node of its own (*.map), then make abi"
	return $rc
}

# It reads no system headers, but must know what the lists of <sys/queue.h> are.
cppchecked() {
	cppcheck --quiet --std=c11 --error-exitcode=1 --inline-suppr -I. \
		--include="/usr/include/$(gcc -print-multiarch)/sys/queue.h" \
		--enable=warning,performance,portability --suppress=missingIncludeSystem \
		--suppress=unknownMacro -D_GNU_SOURCE -D__linux__ -DFCM_VERSION='""' -DFCM_DATADIR='""' \
		-j2 tdm driver slowctl daemon
}

# One file a run: with several, clang-tidy 14 reports va_lists as uninitialised that are not. Its analyzer visits
# at most $NODES states of a function; with its own limit of 225000 it takes four times as long (`make analyze`).
tidy() {
	local flags
	flags="-std=gnu11 -I. -D_GNU_SOURCE -DFCM_VERSION='\"0\"' -DFCM_DATADIR='\"\"' $(pkg-config --cflags libevent libzmq \
		sqlite3 libgps libisal jansson libsystemd inih libbsd libxxhash ncursesw smartcols fftw3 hdf5 sndfile) \
		-Xclang -analyzer-config -Xclang max-nodes=${NODES:-30000}"
	tests/lint/files.sh 'tdm/*.c' 'driver/lib/*.c' 'driver/perf/*.c' 'driver/emu/*.c' 'slowctl/*.c' 'daemon/*.c' |
		xargs -P2 -n1 sh -c 'clang-tidy --quiet "$@" -- '"$flags" tidy 2>/dev/null
}

# A unit of $tree, and the most that systemd-analyze may call its exposure, in tenths.
exposed() {
	local out
	out=$(systemd-analyze security --offline=true --no-pager --root="$tree" --threshold="$2" "$1" 2>&1) ||
		{ echo "$1 is exposed by more than $2:"; grep -v '^✓' <<<"$out"; return 1; }
}

# What `make install` puts in place, as systemd sees it. systemd's own units and ExecReload's command
# must be in the tree too; the manual pages that the unit names are looked for, not rendered.
units() {
	local tree page filters rc=0
	tree=$(mktemp -d)
	trap 'rm -rf "$tree"' RETURN
	make -s --no-print-directory install B="${B:-build}" DESTDIR="$tree" >/dev/null || return 1
	grep -q "^PACKAGE_VERSION=\"[0-9.]*\"" "$tree"/usr/src/nanet3-*/dkms.conf ||
		{ echo "no sources for DKMS"; rc=1; }
	page="dkms install nanet3/$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' "$tree"/usr/src/nanet3-*/dkms.conf) "
	[ "$(grep -lF "$page" README.md driver/kernel/README.md | wc -l)" = 2 ] ||
		{ echo "a README names another version of the module"; rc=1; }
	cp -rn /lib/systemd/system/. "$tree/usr/lib/systemd/system/"
	install -D /bin/kill "$tree/bin/kill"
	install -D /bin/mkdir "$tree/bin/mkdir"
	install -D -m 644 -t "$tree/etc/systemd/system/fcm-server@0.service.d" systemd/examples/*.conf
	systemd-analyze verify --man=no --recursive-errors=yes --root="$tree" fcm-server@0.service \
		nanet3-selftest@0.service fcm-page@0.service fcm-notify@0.service fcm-emulator@0.service \
		fcm-server.target || rc=1
	exposed fcm-page@0.service 15 || rc=1
	exposed fcm-server@0.service 17 || rc=1
	exposed fcm-emulator@0.service 16 || rc=1
	exposed nanet3-selftest@0.service 7 || rc=1
	exposed fcm-notify@0.service 62 || rc=1
	# It starts sendmail, which is setgid or setuid: systemd.exec(5), NoNewPrivileges=, lists what forbids that.
	filters='NoNewPrivileges|DynamicUser|LockPersonality|MemoryDenyWriteExecute|PrivateDevices|PrivateUsers'
	filters="$filters|ProtectClock|ProtectHostname|ProtectKernel[A-Za-z]*|Restrict[A-Z][A-Za-z]*|SystemCall[A-Za-z]*"
	! grep -nE "^($filters)=" systemd/fcm-notify@.service || { echo "fcm-notify could start no sendmail"; rc=1; }
	for page in $(sed -n 's/^Documentation=//p' systemd/*.service systemd/*.target | tr ' ' '\n' |
		sed -n 's/^man:\(.*\)(\(.\))$/man\2\/\1.\2/p'); do
		[ -f "$tree/usr/share/man/$page" ] || { echo "no manual page $page"; rc=1; }
	done
	mkdir -p "$tree/etc"
	systemd-sysusers --root="$tree" >/dev/null || rc=1
	journalctl --root="$tree" --update-catalog || rc=1
	[ "$(journalctl --root="$tree" --dump-catalog | grep -c '^-- ')" = "$(grep -c '^-- ' systemd/fcm-server.catalog)" ] ||
		{ echo "the journal does not read systemd/fcm-server.catalog"; rc=1; }
	# Ownership can only be given by root.
	if [ "$(id -u)" = 0 ]; then
		systemd-tmpfiles --create --root="$tree" fcm-server.conf || rc=1
	fi
	return $rc
}

check "rooms" tests/lint/rooms.py "${B:-build}"
check "licences" tests/lint/licences.py
check "operations" tests/lint/operations.py "${B:-build}"
check "runbook" tests/lint/runbook.py "${B:-build}"
check "links" tests/lint/links.py
check "python modules" modules
check "executable" executable
check "versions" versions
check "build dependencies" build_depends
check "interfaces of libraries" interfaces
check "clang-format" format
check "manual pages" manuals
check "units" units
check "hardening" tests/lint/hardening.py "${B:-build}"
check "cppcheck" cppchecked
check "clang-tidy" tidy
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
