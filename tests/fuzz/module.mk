# SPDX-License-Identifier: GPL-2.0-or-later
# Fuzz targets: built by `make fuzz` only, with clang and below build/fuzz; not part of `all`. Each also without libFuzzer,
# as a test that runs its corpus.
#   $(eval $(call fuzz_target,NAME,SOURCES,LIBS,PKGS))            -> $(B)/bin/fuzz_NAME, $(B)/tests/test_fuzz_NAME
define fuzz_target
fuzz_targets += $(B)/bin/fuzz_$(1)
unit_tests   += $(B)/tests/test_fuzz_$(1)
$(call objs,tests/fuzz/fuzz_$(1).c $(2)): pkgs += $(4)
all_objs += $(call objs,tests/fuzz/fuzz_$(1).c $(2))
$(B)/bin/fuzz_$(1): $(call objs,tests/fuzz/fuzz_$(1).c $(2)) $(patsubst %,$(B)/lib/lib%.a,$(3))
	@mkdir -p $$(@D)
	@echo "  LD      $$@"
	$$(Q)$$(CC) $$(program_flags) -fsanitize=fuzzer -o $$@ \
	    $(call objs,tests/fuzz/fuzz_$(1).c $(2)) $(patsubst %,$(B)/lib/lib%.a,$(3)) $$(call pkgl,$(4)) -lm
$(B)/tests/test_fuzz_$(1): $(call objs,tests/fuzz/fuzz_$(1).c tests/fuzz/replay.c $(2)) $(patsubst %,$(B)/lib/lib%.a,$(3))
	@mkdir -p $$(@D)
	@echo "  LD      $$@"
	$$(Q)$$(CC) $$(program_flags) -o $$@ $(call objs,tests/fuzz/fuzz_$(1).c tests/fuzz/replay.c $(2)) \
	    $(patsubst %,$(B)/lib/lib%.a,$(3)) $$(call pkgl,$(4)) -lm
endef
all_objs += $(call objs,tests/fuzz/replay.c)

$(eval $(call fuzz_target,word,,slowctl tdm,jansson sqlite3 inih libisal))
$(eval $(call fuzz_target,config,,common slowctl tdm,jansson sqlite3 inih libsystemd libisal))
$(eval $(call fuzz_target,args,,fcmctl slowctl emuworld emuplay tdm,jansson libzmq ncursesw sqlite3 inih libisal libxxhash))
$(eval $(call fuzz_target,keys,,slowctl,libzmq))
$(eval $(call fuzz_target,data,,fcmdata fcmctl tdm,libzmq jansson libisal))
$(eval $(call fuzz_target,gps,,timing tdm,libgps libisal))
$(eval $(call fuzz_target,fibre,,tdm,libisal))
$(eval $(call fuzz_target,record,tests/fuzz/fcmctl_rig.c,fcmctl slowctl tdm,jansson libzmq ncursesw sqlite3 inih libisal))
$(eval $(call fuzz_target,owner,,data tdm,libisal))
$(eval $(call fuzz_target,member,,publisher doors slowctl data tdm,libzmq jansson libisal libsystemd))
$(eval $(call fuzz_target,answer,tests/fuzz/fcmctl_rig.c,fcmctl slowctl tdm,jansson libzmq ncursesw sqlite3 inih libisal))
# The daemon's main.c is in the target itself.
$(eval $(call fuzz_target,control,$(filter-out daemon/main.c,$(wildcard daemon/*.c)),slowctl tdm nanet3,libevent libzmq jansson sqlite3 libgps inih libsystemd libisal))

fuzz-build: $(fuzz_targets)
.PHONY: fuzz-build
