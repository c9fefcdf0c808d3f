# SPDX-License-Identifier: GPL-2.0-or-later
# Transports of the control protocol and the dispatch of its requests.
$(eval $(call room,schemas $(addprefix slowctl/,param access) $(addprefix daemon/,core net),jansson libevent libzmq))
