#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# files.sh [PATTERN...]: the tree's sources that match, or all, a line each. In a git work tree the files that git knows
# and that are there; in an unpacked tarball all that are not built. A pattern is as git's: * also stands for a /, and
# one that begins with :! takes files out. None at all is a failure: a check that has looked at nothing has not passed.
set -euo pipefail
cd "$(dirname "$0")/../.."

all() {
	if [ -e .git ]; then
		git ls-files
	else
		find . \( -path ./build -o -name __pycache__ -o -path './debian/.*' -o -path ./debian/tmp -o -path './debian/*.d' \) \
			-prune -o -type f -printf '%P\n' | LC_ALL=C sort
	fi
}

# $1 = a file, then patterns.
matches() {
	local file=$1 pattern is=1
	shift
	for pattern in "$@"; do
		# shellcheck disable=SC2053
		case $pattern in
		':!'*) [[ $file != ${pattern#:!} ]] || return 1 ;;
		*) [[ $file != $pattern ]] || is=0 ;;
		esac
	done
	return $is
}

found=
while read -r f; do
	if [ -f "$f" ] && { [ $# = 0 ] || matches "$f" "$@"; }; then
		found=yes
		echo "$f"
	fi
done < <(all)
[ -n "$found" ] || { echo "files.sh: nothing to check: $*" >&2; exit 1; }
