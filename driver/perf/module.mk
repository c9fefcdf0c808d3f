# SPDX-License-Identifier: GPL-2.0-or-later
# nanet3-perf: the papers' loop-back tests. Everything but its main() is a library, for the unit tests.
$(eval $(call library,perf,$(addprefix driver/perf/,options.c statistics.c pattern.c selftest.c loopback.c \
    sizes.c latency.c bandwidth.c receive.c translation.c check.c table.c report.c)))
$(eval $(call program,nanet3-perf,driver/perf/main.c,perf nanet3,))
