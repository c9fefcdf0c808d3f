# SPDX-License-Identifier: GPL-2.0-or-later
# fcm-page: a read-only page of the station, by HTTP.
$(eval $(call room,slowctl/param slowctl/query slowctl/reader slowctl/metrics daemon/consumer daemon/core,jansson libevent fftw3))
$(eval $(call program,fcm-page,slowctl/page/main.c,slowctl/page,libevent))
