# SPDX-License-Identifier: GPL-2.0-or-later
# fcm-server: all rooms together.
$(eval $(call program,fcm-server,daemon/main.c,daemon/ops daemon/feed,libsystemd))
