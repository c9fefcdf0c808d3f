# SPDX-License-Identifier: GPL-2.0-or-later
# Command lines by a table, for nanet3-emu and nanet3-perf.
$(eval $(call room,))
