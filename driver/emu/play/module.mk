# SPDX-License-Identifier: GPL-2.0-or-later
# A recording in the place of the world's floors.
$(eval $(call room,tdm driver driver/emu/common))
