# SPDX-License-Identifier: GPL-2.0-or-later
# The clock's states, leap seconds, gpsd's client.
$(eval $(call room,tdm tdm/blocks daemon/core,libgps))
