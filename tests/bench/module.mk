# SPDX-License-Identifier: GPL-2.0-or-later
# Programs that measure. bench.py and memory.py are what `make bench` and `make bench-memory` run.

usage := tests/bench/usage.c

# frames of the emulator's floors through the daemon's own code, against memcpy
$(eval $(call program,bench-demux,$(addprefix tests/bench/,bench_demux.c least.c sea_frames.c),daemon/data driver/emu/world))

# blocks of the same frames as a file, for readers of blocks: python_hits.py, tests/system/test_python.py
$(eval $(call program,sea-blocks,$(addprefix tests/bench/,sea_blocks.c sea_frames.c),tdm/blocks driver/emu/world))

# steps of the phase, drifts and noise
$(eval $(call program,bench-phase,tests/bench/bench_phase.c,daemon/phase))

# the way of a block to a consumer: bare ZeroMQ, the publisher alone, a consumer that only acknowledges
$(eval $(call program,bench-zmq,tests/bench/bench_zmq.c $(usage),driver/perf daemon/data,libzmq))
$(eval $(call program,bench-forward,$(addprefix tests/bench/,bench_forward.c sea_frames.c) $(usage),driver/perf daemon/publish driver/emu/world))
$(eval $(call program,bench-consumer,tests/bench/bench_consumer.c $(usage),daemon/consumer driver/perf,libzmq))

# the journal of commands against a bare fdatasync; a word's own way; a set as its client sees it
$(eval $(call program,bench-journal,tests/bench/bench_journal.c $(usage),driver/perf daemon/store,sqlite3))
$(eval $(call program,bench-trip,tests/bench/bench_trip.c $(usage),driver/perf tdm))
$(eval $(call program,bench-set,tests/bench/bench_set.c $(usage),driver/perf,jansson))

# the peer, where it is installed: tests/setup/setup.sh bench
ifeq ($(shell pkg-config --exists libavformat libavcodec libavutil && echo yes),yes)
$(eval $(call program,bench-libav,tests/bench/bench_libav.c $(usage),driver/perf,libavformat libavcodec libavutil))
endif
