# SPDX-License-Identifier: GPL-2.0-or-later
# Programs that measure. bench.py and memory.py are what `make bench` and `make bench-memory` run.

# frames of the emulator's floors through the daemon's own code, against memcpy
$(eval $(call program,bench-demux,$(addprefix tests/bench/,bench_demux.c sea_frames.c),data emuworld emuplay tdm,libisal libxxhash))
