# SPDX-License-Identifier: GPL-2.0-or-later
# What fcmctl prints: times, values, tables, plots; as text or JSON.
$(eval $(call room,,jansson smartcols))
