# SPDX-License-Identifier: GPL-2.0-or-later
# FCM-Server: one makefile, a module.mk per folder, everything built below build/.
#
# A folder's module.mk says what it builds with three calls:
#   $(eval $(call library,NAME,SOURCES,PKGS))            -> build/lib/libNAME.a
#   $(eval $(call program,NAME,SOURCES,LIBS,PKGS))       -> build/bin/NAME
#   $(eval $(call unit_test,NAME,SOURCES,LIBS,PKGS))     -> build/tests/NAME, run by check-unit
# LIBS are names of our own static libraries, in link order; PKGS are pkg-config names.

SHELL      := /bin/bash
VERSION    := 0.1.0
prefix     ?= /usr
sysconfdir ?= /etc
unitdir    ?= $(prefix)/lib/systemd/system
B          ?= build
CC         ?= cc
CFLAGS     ?= -O2 -g
PYTHON     := /usr/bin/python3

WARN       := -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
              -Wpointer-arith -Wno-missing-field-initializers
WERROR     ?= -Werror
our_flags   = -std=gnu11 $(WARN) $(WERROR) -I. -D_GNU_SOURCE -DFCM_VERSION='"$(VERSION)"' \
              -fno-strict-aliasing -pthread -MMD -MP $(SANITIZE)

.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

objs  = $(patsubst %.c,$(B)/obj/%.o,$(filter %.c,$(1)))
pkgc  = $(if $(1),$(shell pkg-config --cflags $(1)))
pkgl  = $(if $(1),$(shell pkg-config --libs $(1)))

libraries  :=
programs   :=
unit_tests :=
all_objs   :=

define library
libraries += $(B)/lib/lib$(1).a
all_objs  += $(call objs,$(2))
$(call objs,$(2)): pkgs += $(3)
$(B)/lib/lib$(1).a: $(call objs,$(2))
	@mkdir -p $$(@D)
	$$(Q)rm -f $$@ && $(AR) rcs $$@ $$^
endef

define program
programs += $(B)/bin/$(1)
all_objs += $(call objs,$(2))
$(call objs,$(2)): pkgs += $(4)
$(B)/bin/$(1): $(call objs,$(2)) $(patsubst %,$(B)/lib/lib%.a,$(3))
	@mkdir -p $$(@D)
	@echo "  LD      $$@"
	$$(Q)$$(CC) $$(CFLAGS) $$(SANITIZE) $$(LDFLAGS) -pthread -o $$@ $(call objs,$(2)) \
	    $(patsubst %,$(B)/lib/lib%.a,$(3)) $$(call pkgl,$(4)) -lm
endef

define unit_test
unit_tests += $(B)/tests/$(1)
all_objs += $(call objs,$(2))
$(call objs,$(2)): pkgs += $(4) cmocka
$(B)/tests/$(1): $(call objs,$(2)) $(patsubst %,$(B)/lib/lib%.a,$(3))
	@mkdir -p $$(@D)
	@echo "  LD      $$@"
	$$(Q)$$(CC) $$(CFLAGS) $$(SANITIZE) $$(LDFLAGS) -pthread -o $$@ $(call objs,$(2)) \
	    $(patsubst %,$(B)/lib/lib%.a,$(3)) $$(call pkgl,$(4) cmocka) -lm
endef

Q := $(if $(V),,@)

modules := $(wildcard tdm/module.mk driver/lib/module.mk driver/emu/module.mk slowctl/module.mk \
             daemon/module.mk schemas/module.mk systemd/module.mk tests/module.mk \
             tests/unit/module.mk tests/system/module.mk tests/bench/module.mk)
include $(modules)

$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(CC) $(our_flags) $(CPPFLAGS) $(CFLAGS) $(call pkgc,$(sort $(pkgs))) -c -o $@ $<

all: $(libraries) $(programs) ## build everything below build/
tests-build: $(unit_tests)

help: ## list the targets
	@awk -F':.*## ' '/^[a-z][a-z-]*:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

clean: ## remove build/
	rm -rf build

check-unit: $(unit_tests) ## the cmocka unit tests
	@rc=0; for t in $(unit_tests); do echo "== $${t##*/}"; $$t || rc=1; done; exit $$rc

.PHONY: all help clean check-unit tests-build

-include $(sort $(all_objs:.o=.d))
