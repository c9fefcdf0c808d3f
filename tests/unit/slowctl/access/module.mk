# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_access,,daemon/core slowctl/access,libzmq))
$(eval $(call tests,test_file_guard,,slowctl/access))
