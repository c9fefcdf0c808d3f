# SPDX-License-Identifier: GPL-2.0-or-later
# Programs of the system tests, one block a part. Blocks are independent of each other.

# consumers: a consumer process, and the judge of what it recorded
$(eval $(call program,fcm-consumer,$(addprefix tests/system/,fcm-consumer.c consumer_check.c),daemon/consumer tdm,libzmq jansson libxxhash))
$(eval $(call program,record-check,tests/system/record_check.c,tdm,libxxhash))
$(eval $(call program,truth-compare,$(addprefix tests/system/,truth_compare.c truth_book.c),driver/emu/floor,jansson sqlite3))
$(eval $(call program,feed-compare,tests/system/feed_compare.c,tdm,libxxhash))
$(eval $(call program,recording-blocks,tests/system/recording_blocks.c,daemon/consumer))
$(eval $(call program,convert-hour,tests/system/convert_hour.c,daemon/convert tdm))
$(eval $(call program,data-layout,tests/system/data_layout.c,schemas))

# dissector: frames as a capture file
$(eval $(call program,tdm-capture,tests/system/tdm_capture.c tests/bench/sea_frames.c,daemon/data driver/emu/world))

# the thread sanitizer: a race on purpose, for seeded_race.sh
$(eval $(call program,seeded_race,tests/system/seeded_race.c))

# crash campaign: preloaded into the daemon, kills it at named points
all_objs += $(B)/pic/tests/system/kill_at.o
$(B)/lib/kill-at.so: $(B)/pic/tests/system/kill_at.o
	@mkdir -p $(@D)
	@echo "  LD      $@"
	$(Q)$(CC) $(CFLAGS) $(HARDEN_LDFLAGS) $(LDFLAGS) -pthread -shared -o $@ $<

all: $(B)/lib/kill-at.so
