# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_receiver test_book test_words,,slowctl/notify,jansson))
