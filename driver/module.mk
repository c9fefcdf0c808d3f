# SPDX-License-Identifier: GPL-2.0-or-later
# The contract of the board and its driver: headers only.
$(eval $(call room,))
