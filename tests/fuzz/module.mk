# SPDX-License-Identifier: GPL-2.0-or-later
# Fuzz targets: built by `make fuzz` only, with clang and below build/fuzz. Not part of `all`.
#   $(eval $(call fuzz_target,NAME,SOURCES,LIBS,PKGS))            -> $(B)/bin/fuzz_NAME
define fuzz_target
fuzz_targets += $(B)/bin/fuzz_$(1)
$(call objs,tests/fuzz/fuzz_$(1).c $(2)): pkgs += $(4)
all_objs += $(call objs,tests/fuzz/fuzz_$(1).c $(2))
$(B)/bin/fuzz_$(1): $(call objs,tests/fuzz/fuzz_$(1).c $(2)) $(patsubst %,$(B)/lib/lib%.a,$(3))
	@mkdir -p $$(@D)
	@echo "  LD      $$@"
	$$(Q)$$(CC) $$(program_flags) -fsanitize=fuzzer -o $$@ \
	    $(call objs,tests/fuzz/fuzz_$(1).c $(2)) $(patsubst %,$(B)/lib/lib%.a,$(3)) $$(call pkgl,$(4)) -lm
endef

$(eval $(call fuzz_target,word,,slowctl tdm,jansson sqlite3 inih libisal))
$(eval $(call fuzz_target,config,,common slowctl tdm,jansson sqlite3 inih libsystemd libisal))
$(eval $(call fuzz_target,args,,fcmctl slowctl emuworld emuplay tdm,jansson libzmq ncursesw sqlite3 inih libisal libxxhash))
# The daemon's main.c is in the target itself.
$(eval $(call fuzz_target,control,$(filter-out daemon/main.c,$(wildcard daemon/*.c)),slowctl tdm nanet3,libevent libzmq jansson sqlite3 libgps inih libsystemd libisal))

fuzz-build: $(fuzz_targets)
.PHONY: fuzz-build
