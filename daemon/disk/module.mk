# SPDX-License-Identifier: GPL-2.0-or-later
# What the daemon does while the database's disk does not answer.
$(eval $(call room,slowctl/engine slowctl/safe $(addprefix daemon/,core store)))
