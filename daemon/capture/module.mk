# SPDX-License-Identifier: GPL-2.0-or-later
# The board: the thread that owns its rings, the main thread's look at its registers, runs.
$(eval $(call room,tdm tdm/blocks driver driver/lib $(addprefix daemon/,core phase data)))
