# SPDX-License-Identifier: GPL-2.0-or-later
# What goes over a wire or into a file: headers only.
$(eval $(call room,))
