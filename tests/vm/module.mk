# SPDX-License-Identifier: GPL-2.0-or-later
# Programs that run in a guest, on the real kernel module. On this machine there is no board for them.

# $(eval $(call guest_test,NAME)) -> build/vm/bin/NAME
define guest_test
guest_tests += $(B)/vm/bin/$(1)
$(call linked_program,vm/bin/$(1),tests/vm/$(1).c tests/vm/guest.c,driver/lib tdm,cmocka)
endef

$(eval $(call guest_test,guest_ring))
$(eval $(call guest_test,guest_owner))
$(eval $(call guest_test,guest_buffer))
$(eval $(call guest_test,guest_abuse))
$(eval $(call guest_test,guest_fault))
$(eval $(call guest_test,guest_stuck))
$(eval $(call guest_test,guest_recover))
$(eval $(call guest_test,guest_sys))
$(eval $(call guest_test,guest_inject))
$(eval $(call guest_test,fuzz_ioctl))
$(eval $(call guest_test,break_board))
