# SPDX-License-Identifier: LGPL-2.1-or-later
# Every byte on the fibre.
$(eval $(call room,schemas,libisal))
