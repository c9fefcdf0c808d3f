# SPDX-License-Identifier: LGPL-2.1-or-later
# libfcmdata: the data message for consumers. Hits and checksums are tdm's; both libraries carry their own copy, under
# no name but fcmdata_*: the static one is linked into one object, whose other names are made local.
# A room that stands alone: it brings its copies of what it uses.
uses_daemon/consumer     := schemas tdm tdm/blocks slowctl/access
with_daemon/consumer     := daemon/consumer
packages_daemon/consumer := libzmq jansson libisal
archive_daemon/consumer  := $(B)/lib/libfcmdata.a
archives                 += $(B)/lib/libfcmdata.a

fcmdata_sources := $(addprefix daemon/consumer/,check.c items.c recordings.c track.c handle.c member.c receive.c) \
                   $(addprefix tdm/,frame.c hit.c hit_run.c deframe.c record.c recording.c) \
                   $(addprefix tdm/blocks/,assemble.c block.c lane.c recorded.c hit_rows.c) $(addprefix slowctl/access/,keyfile.c access.c file_guard.c)
fcmdata_so      := libfcmdata.so.0
fcmdata_objs    := $(patsubst %.c,$(B)/pic/%.o,$(fcmdata_sources))
$(eval $(call shared,fcmdata,0,$(fcmdata_sources),daemon/consumer/fcmdata.map,$(packages_daemon/consumer)))

$(B)/lib/libfcmdata.a: $(fcmdata_objs)
	@mkdir -p $(@D)
	$(Q)$(LD) -r -o $(B)/pic/fcmdata.o $^
	$(Q)$(OBJCOPY) --wildcard --keep-global-symbol='fcmdata_*' $(B)/pic/fcmdata.o
	$(Q)rm -f $@ && $(AR) rcs $@ $(B)/pic/fcmdata.o

install-fcmdata: $(B)/lib/$(fcmdata_so) $(B)/lib/libfcmdata.a ## install libfcmdata alone: libraries, headers, pkg-config, manual page; the Python package
	install -d $(DESTDIR)$(libdir)/pkgconfig $(DESTDIR)$(includedir)/fcmdata \
	    $(DESTDIR)$(prefix)/share/man/man3 $(DESTDIR)$(prefix)/share/doc/fcm-server \
	    $(DESTDIR)$(pythondir)/fcmdata $(DESTDIR)$(pythondir)/fcmdata-$(VERSION).dist-info
	install -m 644 $(B)/lib/$(fcmdata_so) $(B)/lib/libfcmdata.a $(DESTDIR)$(libdir)/
	ln -sf $(fcmdata_so) $(DESTDIR)$(libdir)/libfcmdata.so
	sed 's|@prefix@|$(prefix)|; s|@libdir@|$(libdir)|; s|@includedir@|$(includedir)|; s|@version@|$(VERSION)|' \
	    daemon/consumer/fcmdata.pc.in > $(DESTDIR)$(libdir)/pkgconfig/fcmdata.pc
	sed 's|"schemas/\(fcm_[a-z]*.h\)"|"\1"|' daemon/consumer/fcmdata.h > $(DESTDIR)$(includedir)/fcmdata/fcmdata.h
	sed 's|"daemon/consumer/fcmdata.h"|"fcmdata.h"|' daemon/consumer/fcmdata.hpp > $(DESTDIR)$(includedir)/fcmdata/fcmdata.hpp
	install -m 644 schemas/fcm_data.h schemas/fcm_hits.h $(DESTDIR)$(includedir)/fcmdata/
	install -m 644 daemon/consumer/fcmdata.3 $(DESTDIR)$(prefix)/share/man/man3/
	install -m 644 schemas/fcm_data.py $(DESTDIR)$(pythondir)/
	install -m 644 daemon/consumer/fcmdata/*.py daemon/consumer/fcmdata/py.typed $(DESTDIR)$(pythondir)/fcmdata/
	$(PYTHON) -B -c 'import sys; sys.path[:0] = ["daemon/consumer"]; import wheel_backend; print(wheel_backend.metadata())' \
	    > $(DESTDIR)$(pythondir)/fcmdata-$(VERSION).dist-info/METADATA
	install -m 644 daemon/consumer/PYTHON.md $(DESTDIR)$(prefix)/share/doc/fcm-server/fcmdata-python.md
	install -d $(DESTDIR)$(prefix)/share/doc/fcm-server/examples
	install -m 644 daemon/consumer/examples/common.py $(DESTDIR)$(prefix)/share/doc/fcm-server/examples/
	install -m 755 $(filter-out %/common.py,$(wildcard daemon/consumer/examples/*.py)) $(DESTDIR)$(prefix)/share/doc/fcm-server/examples/

.PHONY: install-fcmdata
