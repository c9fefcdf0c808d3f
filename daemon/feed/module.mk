# SPDX-License-Identifier: GPL-2.0-or-later
# The TriDAS feed.
$(eval $(call room,tdm driver $(addprefix daemon/,core data net)))
