# SPDX-License-Identifier: LGPL-2.1-or-later
# Who may do what: roles, files with keys.
$(eval $(call room,slowctl/param,libzmq))
