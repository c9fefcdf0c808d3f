# SPDX-License-Identifier: GPL-2.0-or-later
# Programs that run in a guest, on the real kernel module. On this machine there is no board for them.

# $(eval $(call guest_test,NAME)) -> build/vm/bin/NAME
define guest_test
guest_tests += $(B)/vm/bin/$(1)
all_objs += $(call objs,tests/vm/$(1).c)
$(call objs,tests/vm/$(1).c): pkgs += cmocka
$(B)/vm/bin/$(1): $(call objs,tests/vm/$(1).c tests/vm/guest.c) $(B)/lib/libnanet3.a $(B)/lib/libtdm.a
	@mkdir -p $$(@D)
	@echo "  LD      $$@"
	$$(Q)$$(CC) $$(program_flags) -o $$@ $$^ $$(call pkgl,cmocka libisal)
endef

all_objs += $(call objs,tests/vm/guest.c)
$(call objs,tests/vm/guest.c): pkgs += cmocka

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
