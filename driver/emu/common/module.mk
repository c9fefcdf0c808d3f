# SPDX-License-Identifier: GPL-2.0-or-later
# What the rooms of the emulator say to each other: headers only.
$(eval $(call room,driver))
