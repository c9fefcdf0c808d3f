# SPDX-License-Identifier: GPL-2.0-or-later
# nanet3-perf: the papers' loop-back tests. Everything but its main() is for the unit tests, too.
$(eval $(call room,driver driver/lib driver/options))
$(eval $(call program,nanet3-perf,driver/perf/main.c,driver/perf,))
