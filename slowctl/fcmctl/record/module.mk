# SPDX-License-Identifier: GPL-2.0-or-later
# Recordings and data messages, as lines and as capture files.
$(eval $(call room,schemas tdm $(addprefix slowctl/,query fcmctl/show fcmctl/core),jansson))
