# SPDX-License-Identifier: GPL-2.0-or-later
# Parameters: dictionary, values and their age, limits.
$(eval $(call room,tdm,inih sqlite3))
