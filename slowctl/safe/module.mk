# SPDX-License-Identifier: GPL-2.0-or-later
# Making safe: high voltage down, then power off. No I/O.
$(eval $(call room,$(addprefix slowctl/,param engine)))
