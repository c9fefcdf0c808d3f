#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Format, include order, manual pages, units, cppcheck, clang-tidy. Ends with "N passed, N failed".
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

sources() { git ls-files '*.c' '*.h' | while read -r f; do [ -f "$f" ] && echo "$f"; done; }

format() { sources | xargs clang-format --dry-run --Werror; }

spdx() {
	local missing
	missing=$(git ls-files '*.c' '*.h' '*.sh' '*.py' '*.mk' Makefile |
		xargs grep -L 'SPDX-License-Identifier: GPL-2.0')
	[ -z "$missing" ] || { echo "no SPDX line: $missing"; return 1; }
}

manuals() {
	local pages
	pages=$(git ls-files | grep -E '\.[158]$')
	[ -n "$pages" ] || { echo "no manual pages found"; return 1; }
	# shellcheck disable=SC2086
	mandoc -Tlint -W warning $pages
}

cppchecked() {
	cppcheck --quiet --std=c11 --error-exitcode=1 --inline-suppr -I. \
		--enable=warning,performance,portability --suppress=missingIncludeSystem \
		--suppress=unknownMacro -D_GNU_SOURCE -D__linux__ -DFCM_VERSION='""' \
		-j2 tdm driver slowctl daemon
}

tidy() {
	local flags
	flags="-std=gnu11 -I. -D_GNU_SOURCE -DFCM_VERSION=\"\" $(pkg-config --cflags libevent libzmq \
		sqlite3 libgps libisal jansson libsystemd inih libbsd libxxhash ncursesw)"
	# shellcheck disable=SC2086
	git ls-files 'tdm/*.c' 'driver/lib/*.c' 'driver/emu/*.c' 'slowctl/*.c' 'daemon/*.c' |
		xargs -P2 -n4 sh -c 'clang-tidy --quiet "$@" -- '"$flags" tidy
}

check "include order" tests/lint/include-order.sh
check "SPDX lines" spdx
check "clang-format" format
check "manual pages" manuals
check "cppcheck" cppchecked
check "clang-tidy" tidy
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
