# SPDX-License-Identifier: GPL-2.0-or-later
# What an output is; CSV, numpy and sound.
$(eval $(call room,daemon/consumer,sndfile))
