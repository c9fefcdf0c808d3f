# SPDX-License-Identifier: GPL-2.0-or-later
# Every byte on the fibre.
$(eval $(call room,schemas,libisal))
