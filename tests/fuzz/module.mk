# SPDX-License-Identifier: GPL-2.0-or-later
# Fuzz targets: built by `make fuzz` only, with clang and below build/fuzz; not part of `all`. Each also without libFuzzer,
# as a test that runs its corpus.
#   $(eval $(call fuzz_target,NAME,SOURCES,ROOMS,PKGS))            -> $(B)/bin/fuzz_NAME, $(B)/tests/test_fuzz_NAME
define fuzz_target
fuzz_targets += $(B)/bin/fuzz_$(1)
unit_tests   += $(B)/tests/test_fuzz_$(1)
$(call linked_program,bin/fuzz_$(1),tests/fuzz/fuzz_$(1).c $(2),$(3),$(4),-fsanitize=fuzzer)
$(call linked_program,tests/test_fuzz_$(1),tests/fuzz/fuzz_$(1).c tests/fuzz/replay.c $(2),$(3),$(4))
endef

$(eval $(call fuzz_target,word,,slowctl/engine))
$(eval $(call fuzz_target,config,,daemon/config))
$(eval $(call fuzz_target,args,,slowctl/fcmctl driver/emu))
$(eval $(call fuzz_target,keys,,slowctl/access))
$(eval $(call fuzz_target,data,,daemon/consumer slowctl/fcmctl/core))
$(eval $(call fuzz_target,gps,,daemon/time))
$(eval $(call fuzz_target,fibre,,tdm))
$(eval $(call fuzz_target,record,tests/fuzz/fcmctl_rig.c,slowctl/fcmctl))
$(eval $(call fuzz_target,owner,,daemon/capture))
$(eval $(call fuzz_target,member,,daemon/publish))
$(eval $(call fuzz_target,answer,tests/fuzz/fcmctl_rig.c,slowctl/fcmctl))
# The daemon's main.c is in the target itself.
$(eval $(call fuzz_target,control,,daemon/ops daemon/feed,libsystemd))

fuzz-build: $(fuzz_targets)
.PHONY: fuzz-build
