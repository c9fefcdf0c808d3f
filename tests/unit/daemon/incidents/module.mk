# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_reason_kinds,,daemon/incidents))
$(eval $(call tests,test_incident,,daemon/incidents))
