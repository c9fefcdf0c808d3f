# SPDX-License-Identifier: GPL-2.0-or-later
# The thread that owns the board's rings.
$(eval $(call room,tdm driver driver/lib $(addprefix daemon/,core data)))
