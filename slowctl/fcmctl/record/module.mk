# SPDX-License-Identifier: GPL-2.0-or-later
# Recordings, as lines and as capture files.
$(eval $(call room,tdm $(addprefix slowctl/,query fcmctl/show fcmctl/core),jansson))
