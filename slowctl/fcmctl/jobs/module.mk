# SPDX-License-Identifier: GPL-2.0-or-later
# Many commands as one job.
$(eval $(call room,$(addprefix slowctl/,param fcmctl/show fcmctl/core),jansson))
