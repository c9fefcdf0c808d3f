#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Does the thread sanitizer with our suppressions still catch a race in our own hand-over?
#   seeded_race.sh PROGRAM      PROGRAM is seeded_race built with -fsanitize=thread
# The seeded race must be reported and end the program with 66, the sound hand-over must not. Ends with
# "N passed, N failed".
set -u
program=${1:?usage: seeded_race.sh PROGRAM}
here=$(cd "$(dirname "$0")/.." && pwd)
options="suppressions=$here/tsan.supp exitcode=66 halt_on_error=0"
passed=0 failed=0

# Addresses that are laid out at random can be where the sanitizer wants its shadow.
run() { TSAN_OPTIONS=$options setarch -R timeout 60 "$program" "$1" 2>&1; }

check() { # name, condition's exit code, output
	if [ "$2" = 0 ]; then
		passed=$((passed + 1))
		echo "ok      $1"
	else
		failed=$((failed + 1))
		echo "FAILED  $1"
		printf '%s\n' "$3" | head -40
	fi
}

out=$(run seeded)
rc=$?
[ $rc = 66 ] && grep -q "WARNING: ThreadSanitizer: data race" <<<"$out" &&
	grep -q "seeded_race.c" <<<"$out"
check "a hand-over without release is reported as a data race" $? "exit $rc: $out"

out=$(run sound)
rc=$?
[ $rc = 0 ] && ! grep -q "ThreadSanitizer" <<<"$out"
check "the hand-over as it is, is not" $? "exit $rc: $out"

# The suppressions name libraries, and nothing of ours.
out=$(grep -vE '^[[:space:]]*(#|$)' "$here/tsan.supp" | grep -vE '^called_from_lib:lib[a-z0-9_-]+\.so|^race:lib[a-z0-9_-]+\.so')
[ -z "$out" ]
check "suppressions name shared libraries only" $? "$out"

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
