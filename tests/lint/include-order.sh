#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Includes run one way between the folders, as the design says. Prints every line that does not.
#   tdm          itself, schemas (what is recorded)
#   driver/      driver/nanet3*.h; driver/lib: itself; driver/perf: itself, driver/lib; driver/emu: itself, tdm
#   slowctl      tdm, schemas, itself
#   daemon       slowctl, tdm, driver/lib, driver/nanet3*.h, schemas, itself
#   daemon/consumer  tdm, schemas, files with keys (slowctl/keyfile.h), itself; no other part of the daemon includes it
#   schemas      nothing of ours
set -eu
rc=0

may() { # folder, allowed patterns (ERE)
	find "$1" -maxdepth "$3" -name '*.[ch]' | sort | while read -r f; do
		grep -nE '^#include "' "$f" | grep -vE "^[0-9]+:#include \"($2)" |
			while read -r line; do echo "$f:$line   <- may include only: $2"; done
	done
}

out=$(
	may tdm 'tdm/|schemas/' 9
	may schemas 'schemas/' 9
	may driver/lib 'driver/lib/|driver/nanet3' 9
	may driver/perf 'driver/perf/|driver/lib/|driver/nanet3' 9
	may driver/emu 'driver/emu/|driver/nanet3|tdm/' 9
	may slowctl 'slowctl/|tdm/|schemas/' 9
	may daemon 'daemon/|slowctl/|tdm/|driver/lib/|driver/nanet3|schemas/' 9
	may daemon/consumer 'daemon/consumer/|tdm/|schemas/|slowctl/keyfile\.h' 9
	grep -nE '^#include "daemon/consumer/' daemon/*.[ch] || true
)
if [ -n "$out" ]; then
	echo "$out"
	rc=1
fi

# Only one file speaks to gpsd, two to systemd; only the store opens the database for writing.
one() { # pattern, files
	found=$(grep -lE "$1" -r daemon slowctl tdm driver --include='*.c' | grep -vE "$2" || true)
	if [ -n "$found" ]; then
		echo "$found: uses $1, which belongs in $2 alone"
		rc=1
	fi
}
one '#include <gps.h>' '^daemon/gps\.c$'
one '#include <systemd/sd-daemon.h>' '^daemon/(main|listener)\.c$'
one 'SQLITE_OPEN_READWRITE' '^daemon/store[a-z_]*\.c$'
exit $rc
