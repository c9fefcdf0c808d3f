# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_parse_machine test_redact test_bounded,,slowctl/fcmctl/doctor))
