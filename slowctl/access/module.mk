# SPDX-License-Identifier: GPL-2.0-or-later
# Who may do what: roles, files with keys.
$(eval $(call room,slowctl/param,libzmq))
