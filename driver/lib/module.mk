# SPDX-License-Identifier: LGPL-2.1-or-later
# libnanet3: a board for one process, by device or by the emulator's socket. Needs no other library.
# Our own programs link the static library; the shared one is for others.
$(eval $(call room,driver))
$(eval $(call shared,nanet3,0,$(wildcard driver/lib/*.c),driver/lib/nanet3.map))
nanet3_so := libnanet3.so.0

$(B)/lib/libnanet3.a: $(archive_driver/lib)
	@mkdir -p $(@D)
	$(Q)cp $< $@

all: $(B)/lib/libnanet3.a

install-lib: $(B)/lib/$(nanet3_so) $(B)/lib/libnanet3.a ## install libnanet3 alone: libraries, headers, pkg-config, manual page
	install -d $(DESTDIR)$(libdir)/pkgconfig $(DESTDIR)$(includedir)/nanet3 \
	    $(DESTDIR)$(prefix)/share/man/man3
	install -m 644 $(B)/lib/$(nanet3_so) $(B)/lib/libnanet3.a $(DESTDIR)$(libdir)/
	ln -sf $(nanet3_so) $(DESTDIR)$(libdir)/libnanet3.so
	sed 's|@prefix@|$(prefix)|; s|@libdir@|$(libdir)|; s|@includedir@|$(includedir)|; s|@version@|$(VERSION)|' \
	    driver/lib/nanet3.pc.in > $(DESTDIR)$(libdir)/pkgconfig/nanet3.pc
	sed 's|"driver/nanet3.h"|"nanet3.h"|' driver/lib/libnanet3.h > $(DESTDIR)$(includedir)/nanet3/libnanet3.h
	install -m 644 driver/nanet3.h $(DESTDIR)$(includedir)/nanet3/
	install -m 644 driver/lib/nanet3.3 $(DESTDIR)$(prefix)/share/man/man3/

.PHONY: install-lib
