# SPDX-License-Identifier: GPL-2.0-or-later
# The configuration: one typed table, its reader and its printer.
$(eval $(call room,schemas tdm driver slowctl/param $(addprefix daemon/,core data feed store),inih))
