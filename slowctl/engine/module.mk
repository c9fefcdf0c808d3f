# SPDX-License-Identifier: GPL-2.0-or-later
# The command engine: commands to the floors, polling. No I/O.
$(eval $(call room,schemas tdm slowctl/param))
