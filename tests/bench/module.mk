# SPDX-License-Identifier: GPL-2.0-or-later
# Programs that measure. bench.py and memory.py are what `make bench` and `make bench-memory` run.

# frames of the emulator's floors through the daemon's own code, against memcpy
$(eval $(call program,bench-demux,$(addprefix tests/bench/,bench_demux.c least.c sea_frames.c),data emuworld emuplay tdm,libisal libxxhash))

# the way of a block to a consumer: bare ZeroMQ, the publisher alone, a consumer that only acknowledges
$(eval $(call library,benchusage,tests/bench/usage.c,))
$(eval $(call program,bench-zmq,tests/bench/bench_zmq.c,benchusage perf data tdm,libzmq libisal))
$(eval $(call program,bench-forward,$(addprefix tests/bench/,bench_forward.c sea_frames.c),benchusage perf publisher doors slowctl data emuworld emuplay tdm,libzmq jansson libisal libxxhash libsystemd))
$(eval $(call program,bench-consumer,tests/bench/bench_consumer.c,fcmdata benchusage perf nanet3,libzmq jansson libisal))

# the journal of commands against a bare fdatasync; a word's own way; a set as its client sees it
$(eval $(call program,bench-journal,tests/bench/bench_journal.c,benchusage perf store slowctl data timing tdm,inih jansson sqlite3 libisal libgps))
$(eval $(call program,bench-trip,tests/bench/bench_trip.c,benchusage perf nanet3 tdm,libisal))
$(eval $(call program,bench-set,tests/bench/bench_set.c,benchusage perf,jansson))

# the peer, where it is installed: tests/setup/setup.sh bench
ifeq ($(shell pkg-config --exists libavformat libavcodec libavutil && echo yes),yes)
$(eval $(call program,bench-libav,tests/bench/bench_libav.c,benchusage perf,libavformat libavcodec libavutil))
endif
