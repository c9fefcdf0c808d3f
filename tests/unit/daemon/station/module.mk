# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_keys,,daemon/station,libzmq))
$(eval $(call tests,test_questions,,daemon/ops))
