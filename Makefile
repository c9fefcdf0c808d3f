# SPDX-License-Identifier: GPL-2.0-or-later
# FCM-Server: one makefile, a module.mk per folder, everything built below build/.
#
# A room is a folder: its sources are one archive, and it may use the rooms below it that its module.mk names. A
# folder's module.mk says what is built there with four calls; $(here) is the folder:
#   $(eval $(call room,ROOMS,PKGS))                         -> an archive of the folder's *.c but main.c
#   $(eval $(call shared,NAME,MAJOR,SOURCES,MAP,PKGS))      -> build/lib/libNAME.so.MAJOR, for others; exports what MAP says
#   $(eval $(call program,NAME,SOURCES,ROOMS,PKGS))         -> build/bin/NAME
#   $(eval $(call tests,NAMES,SOURCES,ROOMS,PKGS))          -> build/tests/NAME, run by check-unit: each from NAME.c and SOURCES
# ROOMS bring with them the rooms that they use; PKGS, packages of pkg-config, are those of the sources themselves.

SHELL      := /bin/bash
VERSION    := 0.3.0
prefix     ?= /usr
sysconfdir ?= /etc
libdir     ?= $(prefix)/lib
includedir ?= $(prefix)/include
pythondir  ?= $(prefix)/lib/python3/dist-packages
unitdir    ?= $(prefix)/lib/systemd/system
B          ?= build
CC         ?= cc
OBJCOPY    ?= objcopy
CFLAGS     ?= -O2 -g
PYTHON     := /usr/bin/python3

WARN       := -Wall -Wextra -Wno-unused-parameter -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
              -Wpointer-arith -Wno-missing-field-initializers
WERROR     ?= -Werror
our_flags   = -std=gnu11 $(WARN) $(WERROR) -I. -D_GNU_SOURCE -DFCM_VERSION='"$(VERSION)"' \
              -DFCM_DATADIR='"$(prefix)/share/fcm-server"' \
              -fno-strict-aliasing -pthread -MMD -MP $(harden) $(fortify) $(SANITIZE)

# The programs parse what comes from a network and from the deep sea: an overflow that the tests have missed shall end
# the process, not let an attacker in. tests/lint/hardening.py looks at what was built. Each of these can be replaced.
HARDEN_CFLAGS  ?= -fstack-protector-strong -fstack-clash-protection -fcf-protection \
                  -Wformat -Wformat-security -Werror=format-security
HARDEN_PIE     ?= -fPIE
HARDEN_LDFLAGS ?= -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack
HARDEN_FORTIFY ?= -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
# Not under the sanitizers, which see more: with a stack protector gcc 12 misaligns the frames that ASan's search for
# use after return has on the heap.
harden          = $(if $(SANITIZE),,$(HARDEN_CFLAGS))
# Fortifying needs optimisation, hides calls from the sanitizers, and gives way to the level that a packager chose.
optimised       = $(filter-out -O0,$(filter -O%,$(CFLAGS)))
fortify         = $(if $(optimised),$(if $(SANITIZE)$(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),,$(HARDEN_FORTIFY)))
link_flags      = $(CFLAGS) $(SANITIZE) $(HARDEN_LDFLAGS) $(LDFLAGS) -pthread
program_flags   = $(HARDEN_PIE) $(HARDEN_PIE:-fPIE=-pie) $(link_flags)

.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

objs  = $(patsubst %.c,$(B)/obj/%.o,$(filter %.c,$(1)))
pkgc  = $(if $(1),$(shell pkg-config --cflags $(1)))
pkgl  = $(if $(1),$(shell pkg-config --libs $(1)))

# Lowest first. What a room uses stands before it.
rooms := schemas tdm tdm/blocks driver driver/options driver/lib driver/perf $(addprefix driver/emu/,common floor play world board host qemu) driver/emu \
         $(addprefix slowctl/,param access engine safe alarm query) daemon/consumer \
         $(addprefix slowctl/fcmctl/,show core record backup jobs watch doctor) slowctl/fcmctl \
         $(addprefix daemon/,core phase time data net feed control capture record store config disk publish incidents alarms station ops convert/output convert/hdf5 convert) slowctl/reader slowctl/metrics slowctl/page slowctl/notify

archives   :=
programs   :=
unit_tests :=
all_objs   :=

here      = $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
reversed  = $(if $(1),$(call reversed,$(wordlist 2,$(words $(1)),$(1))) $(firstword $(1)))
top_down := $(call reversed,$(rooms))

# Of some rooms: they and all that they bring, highest first; the archives; the packages.
with      = $(filter $(foreach r,$(1),$(with_$(r))),$(top_down))
linked    = $(strip $(foreach r,$(call with,$(1)),$(archive_$(r))))
packages  = $(sort $(foreach r,$(call with,$(1)),$(packages_$(r))) $(2))

define room
$(if $(filter $(here),$(rooms)),,$(error $(here) is not in the list of rooms))
$(foreach r,$(1),$(if $(with_$(r)),,$(error $(here) uses $(r), which is no room below it)))
uses_$(here)     := $(1)
with_$(here)     := $(call with,$(1)) $(here)
packages_$(here) := $(2)
$(if $(wildcard $(here)/*.c),$(call archive,$(here),$(filter-out %/main.c,$(wildcard $(here)/*.c)),$(call packages,$(1),$(2))))
endef

define archive
archive_$(1) := $(B)/rooms/$(1).a
archives     += $(B)/rooms/$(1).a
all_objs     += $(call objs,$(2))
$(call objs,$(2)): pkgs += $(3)
# The folder's own time changes when a source is removed.
$(B)/rooms/$(1).a: $(call objs,$(2)) $(1)
	@mkdir -p $$(@D)
	$$(Q)rm -f $$@ && $(AR) rcs $$@ $$(filter %.o,$$^)
endef

define shared
all_objs += $(patsubst %.c,$(B)/pic/%.o,$(3))
$(patsubst %.c,$(B)/pic/%.o,$(3)): pkgs += $(5)
$(B)/lib/lib$(1).so.$(2): $(patsubst %.c,$(B)/pic/%.o,$(3)) $(4)
	@mkdir -p $$(@D)
	@echo "  LD      $$@"
	$$(Q)$$(CC) $$(link_flags) -shared -Wl,-soname,lib$(1).so.$(2) \
	    -Wl,--version-script=$(4) -o $$@ $(patsubst %.c,$(B)/pic/%.o,$(3)) $$(call pkgl,$(5))

all: $(B)/lib/lib$(1).so.$(2)
endef

# build/NAME from sources, rooms, packages
define linked_program
all_objs += $(call objs,$(2))
$(call objs,$(2)): pkgs += $(call packages,$(3),$(4))
$(B)/$(1): $(call objs,$(2)) $(call linked,$(3))
	@mkdir -p $$(@D)
	@echo "  LD      $$@"
	$$(Q)$$(CC) $$(program_flags) $(5) -o $$@ $(call objs,$(2)) $(call linked,$(3)) \
	    $$(call pkgl,$(call packages,$(3),$(4))) -lm
endef

define program
programs += $(B)/bin/$(1)
$(call linked_program,bin/$(1),$(2),$(3),$(4))
endef

# Sources of other folders are named with their path.
define tests
$(foreach t,$(1),$(eval $(call unit_test,$(t),$(foreach f,$(t).c $(2),$(if $(findstring /,$(f)),,$(here)/)$(f)),$(3),$(4))))
endef

define unit_test
unit_tests += $(B)/tests/$(1)
$(call linked_program,tests/$(1),$(2),$(3),$(4) cmocka)
endef

Q := $(if $(V),,@)

include $(wildcard $(addsuffix /module.mk,$(rooms) daemon \
             $(sort $(shell find tests/unit -mindepth 2 -name module.mk -printf '%h ')) \
             tests/fuzz tests/system tests/bench tests/vm))

# PLAIN: a folder that is built without SANITIZE.
$(if $(PLAIN),$(eval $(B)/obj/$(PLAIN)/%.o: override SANITIZE :=))

$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(CC) $(our_flags) $(HARDEN_PIE) $(CPPFLAGS) $(CFLAGS) $(call pkgc,$(sort $(pkgs))) -c -o $@ $<

$(B)/pic/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC PIC  $<"
	$(Q)$(CC) $(our_flags) -fPIC $(CPPFLAGS) $(CFLAGS) $(call pkgc,$(sort $(pkgs))) -c -o $@ $<

# What has the version in it is compiled again when that is another.
$(patsubst %.c,$(B)/obj/%.o,$(shell grep -rlw --include='*.c' FCM_VERSION daemon driver slowctl tests/unit)): $(B)/version

$(B)/version: FORCE
	@mkdir -p $(@D)
	@echo '$(VERSION)' | cmp -s - $@ || echo '$(VERSION)' >$@

all: $(archives) $(programs) ## build everything below build/
tests-build: $(unit_tests)

rooms: ## the rooms, lowest first, and what each may use
	@$(foreach r,$(rooms),echo "$(r): $(uses_$(r))";)

help: ## list the targets
	@awk -F':.*## ' '/^[a-z][a-z-]*:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# A running station lives in its build directory: `make run` holds run.lock there, `make clean` looks.
clean: ## remove build/ (and B, where one was named)
	@for d in build $(B); do \
	    [ ! -e $$d/run.lock ] || flock -n $$d/run.lock true || \
	    { echo "make clean: the station of a make run lives in $$d/run: end it first" >&2; exit 1; }; \
	done
	rm -rf --one-file-system build $(B)

setup: ## install missing Debian packages, by name
	@tests/setup/setup.sh check

run: ## the whole station on the emulator and a real gpsd; SECONDS=10 ends by itself with a summary, SCENARIO=FILE breaks things
	@tests/setup/setup.sh run
	@$(MAKE) --no-print-directory -j2 all
	@mkdir -p $(B) && exec 9>$(B)/run.lock && \
	    { flock -n 9 || { echo "make run: another one runs in $(B)/run: end it first" >&2; exit 1; }; } && \
	    exec $(PYTHON) tests/system/run.py --bin $(B)/bin --dir $(B)/run \
	    $(if $(SECONDS),--seconds $(SECONDS)) $(if $(SCENARIO),--scenario $(SCENARIO)) $(RUN_ARGS)

drill: ## a station on which things go wrong: find out what, and answer; FAULTS=8 APART=45 seconds, SEED=an earlier one
	@tests/setup/setup.sh run
	@$(MAKE) --no-print-directory -j2 all
	@mkdir -p $(B) && exec 9>$(B)/run.lock && \
	    { flock -n 9 || { echo "make drill: a station runs in $(B)/run: end it first" >&2; exit 1; }; } && \
	    exec $(PYTHON) tests/drill/drill.py --bin $(B)/bin --dir $(B)/run $(if $(FAULTS),--faults $(FAULTS)) \
	    $(if $(APART),--apart $(APART)) $(if $(SEED),--seed $(SEED))

stage = tests/setup/stage.sh
check: ## set up, build, lint and pass all tests
	@$(stage) set-up tests/setup/setup.sh check
	@$(stage) build $(MAKE) --no-print-directory -j2 all tests-build
	@$(stage) "lint and unit tests" $(MAKE) --no-print-directory -j2 -Otarget lint check-unit
	@$(stage) "system tests" $(MAKE) --no-print-directory check-system

check-unit: $(unit_tests) ## the cmocka unit tests, four at a time: some wait
	@printf '%s\n' $(unit_tests) | xargs -P4 -I{} sh -c \
	    'out=$$($(TEST_ENV) {} 2>&1); rc=$$?; printf "== %s\n%s\n" {} "$$out"; exit $$rc'

check-system: all tests-build ## real processes: daemon, emulator, gpsd, consumers; TEST=name for one
	@$(PYTHON) tests/system/run_all.py --bin $(B)/bin --tests $(B)/tests $(TEST)

check-long: all tests-build ## the system tests that take minutes each
	@$(PYTHON) tests/system/run_all.py --bin $(B)/bin --tests $(B)/tests --long

check-page: all tests-build ## the page of a station in Chromium, every fault; its quick part is of check-system
	@$(PYTHON) tests/system/run_all.py --bin $(B)/bin --tests $(B)/tests page
	@$(PYTHON) tests/system/run_all.py --bin $(B)/bin --tests $(B)/tests --long page

check-attack: all tests-build ## an intruder on a running station: its doors, its memory, its descriptors; part of check-long
	@$(PYTHON) tests/system/test_attack.py --bin $(B)/bin --tests $(B)/tests

lint: all ## format, rooms, clang-tidy, cppcheck, manual pages, units, hardening
	@B=$(B) tests/lint/lint.sh

abi: all ## the libraries' interfaces as they are now become those that lint compares with
	@for lib in driver/lib/libnanet3 daemon/consumer/libfcmdata; do \
	    abidw --no-corpus-path --no-comp-dir-path --no-show-locs $(B)/lib/$${lib##*/}.so.0 --out-file $$lib.abi; done

analyze: all ## lint, with clang's analyzer at its full depth: minutes
	@B=$(B) NODES=225000 tests/lint/lint.sh

asan: ## unit and system tests under the address and undefined-behaviour sanitizers
	@tests/setup/setup.sh check
	@$(MAKE) --no-print-directory -j2 B=build/asan SANITIZE="$(asan_flags)" CFLAGS="-O1 -g" all tests-build
	@$(MAKE) --no-print-directory B=build/asan SANITIZE="$(asan_flags)" CFLAGS="-O1 -g" \
	    TEST_ENV="env ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1" \
	    check-unit
	@$(PYTHON) tests/system/run_all.py --bin build/asan/bin --tests build/asan/tests --sanitized
	@$(PYTHON) tests/system/run_all.py --bin build/asan/bin --tests build/asan/tests --sanitized store_faults
	@$(MAKE) --no-print-directory fuzz SECONDS=5

# Only the daemon has threads, and the unit tests named here: the rest would run slowly for nothing. The
# emulator must keep real time beside the instrumented daemon and is taken as it is. Of the system tests
# those run in which the daemon need not be back within the rings' two seconds: instrumented, it is not.
# tdm/ knows no threads, it works on what its caller owns; instrumented, it does not keep real time.
tsan_make   = $(MAKE) --no-print-directory B=build/tsan PLAIN=tdm SANITIZE="-fsanitize=thread" CFLAGS="-O2 -g" \
              unit_tests="$(addprefix build/tsan/tests/,test_block test_column test_capture test_capture_killed test_capture_runs test_feed test_listener \
              test_log test_monitors test_user_names test_network test_publisher test_publisher_feed \
              test_publisher_keys test_queue test_store test_store_archive test_store_away \
              test_store_journal test_store_life test_worker)"
tsan_supp   = suppressions=$(CURDIR)/tests/tsan.supp
tsan: ## the daemon's threads under the thread sanitizer (tests/tsan.supp names libraries), and a seeded race
	@tests/setup/setup.sh check
	@$(MAKE) --no-print-directory -j2 all
	@$(tsan_make) -j2 build/tsan/bin/fcm-server build/tsan/bin/seeded_race tests-build
	@tests/system/seeded_race.sh build/tsan/bin/seeded_race
	@$(tsan_make) TEST_ENV="setarch -R env TSAN_OPTIONS=$(tsan_supp)" check-unit
	@rm -rf build/tsan/station && mkdir build/tsan/station && cp build/bin/* build/tsan/station/ && \
	    cp build/tsan/bin/fcm-server build/tsan/station/
	@TSAN_OPTIONS=$(tsan_supp) setarch -R $(PYTHON) tests/system/run_all.py \
	    --bin build/tsan/station --tests build/tests --sanitized station consumer_attack control_attack network feed

asan_flags := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer

bench: ## the figures of the data path, both sides in one run: bench NAME VALUE UNIT goal GOAL
	@tests/setup/setup.sh check
	@$(MAKE) --no-print-directory -j2 all
	@$(PYTHON) tests/bench/bench.py --bin $(B)/bin $(if $(wildcard $(vm_cache)/vmlinux-*),--vm-cache $(vm_cache))

bench-vm: ## the loop-back figures on the real driver in a guest, beside the emulator's socket
	@tests/setup/setup.sh vm
	@$(MAKE) --no-print-directory -j2 all
	@$(PYTHON) tests/bench/bench.py --bin $(B)/bin --vm-cache $(vm_cache) --only 'put_|receive'

bench-memory: ## do daemon and database grow, do hits drift? A station at design load for MINUTES=5; a day: 1440
	@tests/setup/setup.sh check
	@$(MAKE) --no-print-directory -j2 all
	@$(PYTHON) tests/bench/memory.py --bin $(B)/bin --minutes $(or $(MINUTES),5)

soak: ## everything at once for MINUTES=5: full line rate, random faults by SEED=1, consumers and daemon killed; RATE=mbps a link
	@tests/setup/setup.sh check
	@$(MAKE) --no-print-directory -j2 all
	@$(PYTHON) tests/soak/soak.py --bin $(B)/bin --dir $(B)/soak $(if $(MINUTES),--minutes $(MINUTES)) \
	    $(if $(SEED),--seed $(SEED)) $(if $(RATE),--rate $(RATE)) $(SOAK_ARGS)

fuzz: ## whatever reads what others send or leave, each for SECONDS=60: tests/fuzz/README.md; TEST=name
	@tests/setup/setup.sh fuzz
	@$(MAKE) --no-print-directory -j2 B=build/fuzz CC=clang WERROR= CFLAGS="-O1 -g" \
	    SANITIZE="$(asan_flags) -fsanitize=fuzzer-no-link" fuzz-build
	@$(PYTHON) tests/fuzz/fuzz.py --bin build/fuzz/bin --seconds $(or $(SECONDS),60) $(TEST)

crash: ## the daemon killed -9 under commands, KILLS=500 SEED=1: nothing executed twice, nothing lost, nothing left open
	@tests/setup/setup.sh check
	@$(MAKE) --no-print-directory -j2 all
	@$(PYTHON) tests/soak/crash.py --bin $(B)/bin --kills $(or $(KILLS),500) --seed $(or $(SEED),1)

runs: ## run changes among reboots, losses, new rings and kills, CHANGES=300 SEED=1: all answered; journal, blocks and status agree
	@tests/setup/setup.sh check
	@$(MAKE) --no-print-directory -j2 all
	@$(PYTHON) tests/soak/runs.py --bin $(B)/bin --changes $(or $(CHANGES),300) --seed $(or $(SEED),1)

# The kernel module; not part of `all`: it needs a kernel's headers.
module: ## the kernel module, for KVERSION=... with headers in /lib/modules
	@$(MAKE) --no-print-directory -C driver/kernel module \
	    OUT=$(abspath $(B))/module/$(or $(KVERSION),$(shell uname -r))

module-check: ## the module against kernel headers (W=1, sparse), checkpatch, kernel-doc, DKMS; HEADERS=DIR fetches every Debian kernel's
	@driver/kernel/check.sh $(if $(HEADERS),--fetch $(HEADERS))

module-mainline: ## the module against the newest kernel in the backports of Debian stable, unpacked in DIR=build/mainline; needs root, mmdebstrap
	@driver/kernel/mainline.sh $(or $(DIR),$(B)/mainline)

# Kernels for the guests, made once: FCM_VM_CACHE keeps them beyond `make clean`.
vm_cache = $(or $(FCM_VM_CACHE),$(B)/vm-cache)
run_vm   = $(PYTHON) tests/vm/run_vm.py --build $(B) --cache $(vm_cache) $(if $(TEST),--only $(TEST)) \
    $(if $(V),--verbose)
system_vm = $(PYTHON) tests/vm/system_vm.py --build $(B) --cache $(vm_cache) --debs $(B)/deb --before $(B)/deb-before
vm_build = $(PYTHON) tests/vm/test_report.py -q && \
    $(MAKE) --no-print-directory -j2 all $(B)/tests/test_contract $(guest_tests)

check-vm: ## the kernel module in Debian's kernels in QEMU, the board emulated; BOOT=name, TEST=name, V=1: tests/vm/README.md
	@tests/setup/setup.sh vm
	@$(vm_build)
	@$(run_vm) $(BOOT)

check-system-vm: all ## a whole machine in QEMU: our packages, DKMS, systemd, an upgrade, doctor; needs root, mmdebstrap and a mirror
	@tests/setup/setup.sh vm
	@tests/setup/setup.sh check-deb
	@DEB_BUILD_OPTIONS=nocheck debian/deb.sh $(abspath $(B))/deb >/dev/null
	@debian/before.sh $(B)/deb 0.1.99 $(B)/deb-before
	@$(system_vm)

check-vm-debug: ## six boots with KASAN, lockdep, kmemleak, UBSAN, fault injection; builds both kernels once (5 to 25 min each)
	@tests/setup/setup.sh vm-debug
	@$(vm_build)
	@$(run_vm) --debug $(BOOT)

fuzz-ioctl: ## requests to the driver at random in the instrumented 6.1; SECONDS=600 SEED=1
	@tests/setup/setup.sh vm-debug
	@$(vm_build)
	@$(run_vm) --debug --seconds $(or $(SECONDS),600) --seed $(or $(SEED),1) fuzz

soak-vm: ## the daemon on the real driver in a guest, the board lost once a minute for MINUTES=10
	@tests/setup/setup.sh vm
	@$(vm_build)
	@$(run_vm) --seconds $$((60 * $(or $(MINUTES),10))) outages

install-module: ## the kernel module's sources, where DKMS looks for them
	@$(MAKE) --no-print-directory -C driver/kernel install \
	    DESTDIR=$(if $(DESTDIR),$(abspath $(DESTDIR)))

# Where the training station (fcm-server-emulator(1)) has its parts.
emulator     = $(prefix)/share/fcm-server-emulator
emulator_bin = $(prefix)/lib/fcm-server-emulator

install: all install-lib install-fcmdata install-module ## install below $(DESTDIR)$(prefix)
	install -d $(DESTDIR)$(prefix)/bin $(DESTDIR)$(prefix)/sbin $(DESTDIR)$(prefix)/share/fcm-server/sql \
	    $(DESTDIR)$(prefix)/share/fcm-server/page \
	    $(DESTDIR)$(prefix)/share/doc/fcm-server $(DESTDIR)$(prefix)/share/man/man1 \
	    $(DESTDIR)$(prefix)/share/man/man5 $(DESTDIR)$(prefix)/share/man/man8 \
	    $(DESTDIR)$(unitdir) $(DESTDIR)$(prefix)/lib/sysusers.d $(DESTDIR)$(prefix)/lib/tmpfiles.d \
	    $(DESTDIR)$(prefix)/lib/systemd/catalog $(DESTDIR)$(prefix)/lib/udev/rules.d $(DESTDIR)$(sysconfdir)/fcm-server \
	    $(DESTDIR)$(prefix)/share/doc/fcm-server/systemd $(DESTDIR)$(emulator)/scenarios $(DESTDIR)$(emulator_bin) \
	    $(DESTDIR)$(prefix)/share/bash-completion/completions \
	    $(DESTDIR)$(prefix)/share/zsh/vendor-completions
	install -m 755 $(B)/bin/fcm-server $(DESTDIR)$(prefix)/sbin/
	install -m 755 $(B)/bin/fcmctl $(B)/bin/fcm-page $(B)/bin/fcm-notify $(B)/bin/fcm-convert \
	    $(B)/bin/nanet3-emu $(B)/bin/nanet3-perf $(DESTDIR)$(prefix)/bin/
	install -m 644 slowctl/page/www/* $(DESTDIR)$(prefix)/share/fcm-server/page/
	install -m 644 schemas/parameters.conf schemas/control.schema.json schemas/fcm.lua \
	    slowctl/metrics/fcm.rules.yml slowctl/metrics/fcm.grafana.json \
	    $(DESTDIR)$(prefix)/share/fcm-server/
	install -m 644 schemas/sql/*.sql $(DESTDIR)$(prefix)/share/fcm-server/sql/
	install -m 644 README.md COPYING SOURCES.md LICENSES/* daemon/convert/LAYOUT.md slowctl/metrics/METRICS.md schemas/control.md schemas/example.conf schemas/consumer_example.py \
	    schemas/datamanager_example.py \
	    $(DESTDIR)$(prefix)/share/doc/fcm-server/
	install -m 644 slowctl/fcmctl.1 driver/emu/nanet3-emu.1 driver/perf/nanet3-perf.1 daemon/convert/fcm-convert.1 \
	    training/fcm-server-emulator.1 \
	    $(DESTDIR)$(prefix)/share/man/man1/
	$(B)/bin/fcmctl completion bash > $(DESTDIR)$(prefix)/share/bash-completion/completions/fcmctl
	$(B)/bin/fcmctl completion zsh > $(DESTDIR)$(prefix)/share/zsh/vendor-completions/_fcmctl
	install -m 644 daemon/fcm-server.conf.5 $(DESTDIR)$(prefix)/share/man/man5/
	install -m 644 daemon/fcm-server.8 slowctl/page/fcm-page.8 \
	    slowctl/notify/fcm-notify.8 $(DESTDIR)$(prefix)/share/man/man8/
	sed 's|/usr/sbin/|$(prefix)/sbin/|; s|/etc/fcm-server|$(sysconfdir)/fcm-server|' \
	    systemd/fcm-server@.service > $(DESTDIR)$(unitdir)/fcm-server@.service
	for unit in fcm-page@ fcm-notify@ fcm-emulator@; do sed 's|/usr/bin/|$(prefix)/bin/|; s|/etc/fcm-server|$(sysconfdir)/fcm-server|' \
	    systemd/$$unit.service > $(DESTDIR)$(unitdir)/$$unit.service; done
	sed 's|/usr/bin/|$(prefix)/bin/|' \
	    systemd/nanet3-selftest@.service > $(DESTDIR)$(unitdir)/nanet3-selftest@.service
	install -m 644 systemd/fcm-server.target $(DESTDIR)$(unitdir)/
	install -m 644 systemd/examples/*.conf $(DESTDIR)$(prefix)/share/doc/fcm-server/systemd/
	install -m 644 systemd/fcm-server.sysusers $(DESTDIR)$(prefix)/lib/sysusers.d/fcm-server.conf
	install -m 644 systemd/nanet3.sysusers $(DESTDIR)$(prefix)/lib/sysusers.d/nanet3.conf
	install -m 644 systemd/fcm-server.tmpfiles $(DESTDIR)$(prefix)/lib/tmpfiles.d/fcm-server.conf
	install -m 644 systemd/fcm-server.catalog $(DESTDIR)$(prefix)/lib/systemd/catalog/
	install -m 644 systemd/60-nanet3.rules $(DESTDIR)$(prefix)/lib/udev/rules.d/
	install -m 755 training/fcm_server_emulator.py $(DESTDIR)$(emulator)/
	install -m 644 tests/system/station.py tests/system/run.py tests/system/page_server.py $(DESTDIR)$(emulator)/
	install -m 644 tests/data/scenarios/*.scn $(DESTDIR)$(emulator)/scenarios/
	ln -sf ../share/fcm-server-emulator/fcm_server_emulator.py $(DESTDIR)$(prefix)/bin/fcm-server-emulator
	install -m 755 $(B)/bin/fcm-consumer $(DESTDIR)$(emulator_bin)/
	ln -sf $(addprefix ../../bin/,fcmctl fcm-page nanet3-emu) ../../sbin/fcm-server $(DESTDIR)$(emulator_bin)/

books: ## the manual pages and the Markdown files as HTML books, below build/books: books/README.md
	@tests/setup/setup.sh books
	@$(PYTHON) -B books/books.py $(B)/books

# A tarball of the sources, the same from the same sources, by a time that is the changelog's of debian/.
dist: ## build/dist/fcm-server-VERSION.tar.xz: the sources, from git or from an unpacked tarball
	@debian/dist.sh $(abspath $(B))/dist

deb: ## the Debian packages, below build/deb: debian/README.md; DEB_BUILD_OPTIONS=nocheck for no unit tests
	@tests/setup/setup.sh deb
	@debian/deb.sh $(abspath $(B))/deb

check-deb: ## lintian, hardening and a second build of the packages; installed, tested, upgraded, removed, purged in a Debian root; needs root, mmdebstrap
	@tests/setup/setup.sh check-deb
	@debian/check.sh $(abspath $(B))/deb

.PHONY: FORCE all rooms help clean setup run drill books check module module-check module-mainline check-vm check-system-vm check-vm-debug fuzz-ioctl soak-vm check-unit check-system check-long check-page check-attack lint abi analyze asan tsan bench bench-vm bench-memory soak fuzz crash runs install install-module tests-build dist deb check-deb

-include $(sort $(all_objs:.o=.d))
