# SPDX-License-Identifier: GPL-2.0-or-later
# Metrics of a station in the text format of Prometheus. Pure.
$(eval $(call room,slowctl/param daemon/core,jansson))
