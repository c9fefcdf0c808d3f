# SPDX-License-Identifier: GPL-2.0-or-later
# Recordings and black boxes.
$(eval $(call room,tdm tdm/blocks driver $(addprefix daemon/,core data),jansson))
