# SPDX-License-Identifier: GPL-2.0-or-later
# Threads, queues, log: what every part of the daemon may use.
$(eval $(call room,,libevent libxxhash))
